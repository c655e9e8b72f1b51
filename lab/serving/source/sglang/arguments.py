"""From parsed flags to the resolved arguments that /server_info shows: what SGLang fills in for flags left alone.

The values follow `serving.md` of this project (rules R5, R7, R11, R13, R16, R21, R25) and a recorded 0.5.11 server.
"""

import os
import random

from sglang.journal import log
from sglang.release import is_between

RECORDED_AS_NONE = ("enable_multimodal", "enable_lora", "enable_lora_overlap_loading", "experts_shared_outer_loras")


def mamba_key(arguments):
    """The name that this release gives the hybrid models' scheduler strategy: renamed in 0.5.14."""
    return "mamba_radix_cache_strategy" if "mamba_radix_cache_strategy" in arguments else "mamba_scheduler_strategy"


def uses_spec_v2():
    """Whether the second speculative worker is on: opt-in to 0.5.10, default to 0.5.13, always from 0.5.14."""
    default = "1" if is_between("0.5.11") else "0"
    return is_between("0.5.14") or os.environ.get("SGLANG_ENABLE_SPEC_V2", default).lower() in ("1", "true")


def prefill_and_decode(arguments):
    """The attention backends of the two phases."""
    stated = arguments["attention_backend"]
    return arguments["prefill_attention_backend"] or stated, arguments["decode_attention_backend"] or stated


def default_attention(model, capability):
    """The attention backend for a model and card when no flag names one."""
    major = capability[0]
    if model.is_mla:
        return "flashinfer" if major == 10 else "triton"
    if major == 9:
        return "fa3"
    if major == 10:
        return "triton" if model.is_hybrid else "trtllm_mha"
    return "flashinfer"


def default_memory_fraction(arguments, card):
    """The share of a card that weights and pools may take: what a fixed reserve leaves, as the release reckons it."""
    reserve = 512 + 1.5 * max(arguments["chunked_prefill_size"], 2048) + 128 * arguments["tp_size"]
    if arguments["speculative_algorithm"]:
        reserve += 2048
    return round((card.total - reserve) / card.total, 3)


def resolve_speculation(arguments, model):
    """NEXTN is EAGLE with the model's own layer; counts left out get the model family's usual values."""
    if arguments["speculative_algorithm"] is None:
        return
    if arguments["speculative_algorithm"] == "NEXTN":
        arguments["speculative_algorithm"] = "EAGLE"
    if arguments["max_running_requests"] is None:
        arguments["max_running_requests"] = 48
        log(
            "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting "
            "--max-running-requests."
        )
    if arguments["speculative_num_steps"] is None:
        steps, topk, tokens = (3, 1, 4) if model.model_type != "llama" else (5, 4, 8)
        arguments.update(speculative_num_steps=steps, speculative_eagle_topk=topk, speculative_num_draft_tokens=tokens)
    steps = arguments["speculative_num_steps"]
    if arguments["speculative_eagle_topk"] == 1 and arguments["speculative_num_draft_tokens"] != steps + 1:
        log("speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1")
        arguments["speculative_num_draft_tokens"] = steps + 1
    if is_between("0.5.11", "0.5.13") and uses_spec_v2():
        log("Spec v2 is enabled by default for eagle/eagle3/standalone speculative decoding.")


def resolve_hybrid(arguments, model):
    """The scheduler strategy of hybrid models and what it costs."""
    if not model.is_hybrid:
        return
    key, speculative = mamba_key(arguments), arguments["speculative_algorithm"]
    if arguments[key] == "auto":
        wanted = (
            is_between("0.5.14") and arguments["linear_attn_backend"] == "triton" and not arguments["disable_overlap_schedule"]
        )
        arguments[key] = "extra_buffer" if wanted else "no_buffer"
    if arguments[key] != "no_buffer" or arguments["disable_radix_cache"]:
        return
    if is_between("0.5.9", "0.5.9") and speculative:
        log("Disabling radix cache: speculative decoding does not support it with --mamba-scheduler-strategy no_buffer.")
        arguments["disable_radix_cache"] = True
    elif is_between("0.5.9", "0.5.13") and not speculative:
        log("Disabling overlap schedule since mamba no_buffer is not compatible with overlap schedule.")
        arguments["disable_overlap_schedule"] = True
    if is_between("0.5.11", "0.5.13") and arguments["page_size"] not in (None, 1):
        log("Setting page_size to 1: mamba no_buffer needs it.")
        arguments["page_size"] = 1


def resolve_quantized(arguments, model, capability):
    """Kernels of NVFP4 checkpoints on SM120."""
    if not model.is_fp4 or capability[0] != 12:
        return
    if arguments["fp4_gemm_runner_backend"] == "auto":
        arguments["fp4_gemm_runner_backend"] = "flashinfer_cudnn" if is_between("0.5.10", "0.5.12") else "flashinfer_cutlass"
    stated = arguments["quantization"] == "modelopt_fp4"
    if arguments["moe_runner_backend"] == "auto" and stated and is_between("0.5.13"):
        arguments["moe_runner_backend"] = "flashinfer_cutlass"


def resolve(arguments, model, cards):
    """Fills in `arguments` (a dictionary, changed in place) for this model and these cards."""
    card = cards[0]
    speculative_capture = 8
    known = {
        "tokenizer_path": arguments["model_path"],
        "served_model_name": arguments["model_path"],
        "device": "cuda",
        "sampling_backend": "flashinfer",
        "grammar_backend": "xgrammar",
        "attention_backend": default_attention(model, card.capability),
        "random_seed": random.randrange(1, 2**30),
        "chunked_prefill_size": 4096 if card.total < 60 * 1024 else 8192,
        "page_size": 1,
        "cuda_graph_max_bs": speculative_capture,
        "cuda_graph_bs": list(range(1, speculative_capture + 1)),
        "mm_attention_backend": "triton_attn",
        "mm_process_config": {},
        "custom_weight_loader": [],
        "expert_distribution_recorder_buffer_size": 1000,
        "speculative_moe_runner_backend": "auto",
        "mamba_full_memory_ratio": 0.9,
    }
    if arguments["attention_backend"] == "trtllm_mha" and arguments["page_size"] not in (16, 32, 64):
        log("TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size to 64.")
        arguments["page_size"] = 64
    resolve_speculation(arguments, model)
    resolve_hybrid(arguments, model)
    resolve_quantized(arguments, model, card.capability)
    for key, value in known.items():
        if key in arguments and arguments[key] is None:
            arguments[key] = value
    if arguments.get("enable_flashinfer_allreduce_fusion") and "flashinfer_allreduce_fusion_backend" in arguments:
        arguments.update(enable_flashinfer_allreduce_fusion=False, flashinfer_allreduce_fusion_backend="auto")
    for key in RECORDED_AS_NONE:
        if arguments.get(key) is False:
            arguments[key] = None
    if arguments.get("load_balance_method") == "auto":
        arguments["load_balance_method"] = "round_robin"
    if arguments["mem_fraction_static"] is None:
        arguments["mem_fraction_static"] = default_memory_fraction(arguments, card)

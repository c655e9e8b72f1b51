"""What the release refuses before it loads anything (exit 1) and while it loads (-9, from the scheduler).

Texts and version ranges are those of the rules R1 to R49 in this project's serving notes; each check names its rule.
"""

import os

from sglang.arguments import mamba_key, prefill_and_decode, uses_spec_v2
from sglang.release import is_between


def check_flags(arguments):
    """Refusals that need neither model nor card. Raises ValueError or AssertionError."""
    name = arguments["served_model_name"]
    if name and ":" in name:
        raise ValueError(
            "served_model_name cannot contain a colon (':') character. The colon is reserved for the 'model:adapter' syntax used "
            f"in LoRA adapter specification. Invalid value: '{name}'"
        )
    assert arguments["tp_size"] * arguments["pp_size"] % arguments["nnodes"] == 0, "tp_size must be divisible by number of nodes"
    algorithm = arguments["speculative_algorithm"]
    known = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK")
    if algorithm and algorithm.upper() not in known:  # R46
        raise ValueError(f"Unknown speculative algorithm: {algorithm}")
    others = (arguments["speculative_eagle_topk"], arguments["speculative_num_draft_tokens"])
    if algorithm and arguments["speculative_num_steps"] is None:  # R14
        assert others == (None, None)
    topk = arguments["speculative_eagle_topk"] or 1
    if algorithm and topk > 1 and is_between("0.5.9", "0.5.10") and uses_spec_v2():  # R12
        raise ValueError("Spec v2 currently only supports topk = 1 for speculative decoding.")
    backends = ("flashinfer", "fa3") + (("triton",) if is_between("0.5.13") else ())
    if algorithm and topk > 1 and (arguments["page_size"] or 1) > 1 and arguments["attention_backend"] not in backends:  # R15
        raise ValueError(
            f"speculative_eagle_topk({topk}) > 1 with page_size({arguments['page_size']}) > 1 is unstable and produces incorrect "
            "results for paged attention backends. This combination is only supported for the 'flashinfer' backend."
        )
    if arguments.get("speculative_moe_runner_backend") == "flashinfer_trtllm" and is_between("0.5.9", "0.5.11"):  # R18
        raise AssertionError(
            "Currently speculative MoE runner backend cannot be flashinfer_trtllm for risk in some draft models."
            if is_between("0.5.9", "0.5.9")
            else "Currently speculative MoE runner backend doesn't support flashinfer_trtllm, please use triton or auto backend for "
            "speculative moe runner instead."
        )


def check_trtllm_mha(arguments, capability):
    """R2 and R39: where the TensorRT-LLM attention kernels run."""
    prefill, decode = prefill_and_decode(arguments)
    major = capability[0]
    if "trtllm_mha" not in (prefill, decode) or major == 10:
        return
    if is_between("0.5.9", "0.5.9"):
        raise ValueError("TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.")
    if is_between("0.5.10", "0.5.18") and prefill == "trtllm_mha":
        raise ValueError(
            "TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). Please use a different prefill backend."
        )
    if major not in (9, 12):
        raise ValueError("TRTLLM MHA backend requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs.")
    if major == 12 and prefill == "trtllm_mha" and arguments["kv_cache_dtype"] == "fp8_e4m3":
        raise ValueError("TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax.")


def check_hybrid(arguments, model):
    """R7, R8, R10, R31, R38, R49: radix cache and scheduler strategy of hybrid models."""
    if not model.is_hybrid:
        return
    strategy, speculative = arguments[mamba_key(arguments)], arguments["speculative_algorithm"]
    radix = not arguments["disable_radix_cache"]
    buffered = strategy.startswith("extra_buffer")
    if is_between("0.5.10", "0.5.13"):
        if speculative and radix and (strategy in ("no_buffer", "auto") or not uses_spec_v2()):
            raise ValueError(
                f"Speculative decoding for {model.architecture} is not compatible with radix cache when using "
                "--mamba-scheduler-strategy no_buffer. To use radix cache with speculative decoding, please use "
                "--mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1."
            )
        if buffered and not radix:
            raise ValueError(
                "mamba extra_buffer is not compatible with --disable-radix-cache since extra_buffer is only used with radix cache. "
                "Please use --mamba-scheduler-strategy no_buffer instead."
            )
    if is_between("0.5.10", "0.5.10") and arguments["linear_attn_decode_backend"] == "flashinfer" and not buffered:
        raise ValueError(
            "FlashInfer GDN decode (--linear-attn-decode-backend flashinfer) is not compatible with --mamba-scheduler-strategy "
            "no_buffer. Use --mamba-scheduler-strategy extra_buffer instead."
        )
    if strategy == "extra_buffer_lazy" and speculative and is_between("0.5.13", "0.5.16"):
        raise AssertionError(
            "extra_buffer_lazy is not yet supported with speculative decoding. Use --mamba-scheduler-strategy extra_buffer instead."
            if is_between("0.5.13", "0.5.13")
            else "extra_buffer_lazy unsupported with spec."
        )
    if not is_between("0.5.14") or not radix:
        return
    if strategy == "no_buffer":
        assert arguments["page_size"] in (1, None), "no_buffer only supports page_size=1."
        assert arguments["disable_overlap_schedule"], (
            "no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True."
        )
        assert "trtllm_mha" not in prefill_and_decode(arguments), "no_buffer do not support trtllm_mha attention backend."
    if buffered and arguments["linear_attn_backend"] != "triton":
        raise AssertionError(f"extra_buffer is not supported for {model.architecture}; use no_buffer.")


def check_quantization(arguments, capability):
    """R22 and R45: quantization choices that are tied to kernels or cards."""
    if arguments["moe_runner_backend"] == "flashinfer_cutlass":
        assert arguments["quantization"] in ("modelopt_fp4", "modelopt_fp8", "modelopt_mixed", None), (
            f"Invalid quantization '{arguments['quantization']}'. \nFlashInfer Cutlass MOE supports only: 'modelopt_fp4', "
            "'modelopt_fp8', 'modelopt_mixed', or bfloat16 (None)."
        )
    if arguments["quantization"] == "nvfp4_online" and capability[0] != 10:
        raise ValueError("--quantization nvfp4_online is supported only on NVIDIA Blackwell SM100/SM103 GPUs.")


def check_context(arguments, model):
    """A longer context than the checkpoint's, without the variable that allows it."""
    wanted, derived = arguments["context_length"], model.context_length
    if (
        wanted is None
        or wanted <= derived
        or os.environ.get("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") in ("1", "true", "True")
    ):
        return
    raise ValueError(
        f"User-specified context_length ({wanted}) is greater than the derived context_length ({derived}). This may lead to "
        "incorrect model outputs or CUDA errors. Note that the derived context_length may differ from max_position_embeddings in "
        "the model's config. To allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
    )


def check_before_loading(arguments, model, cards):
    """Everything that ends a start with 1, in the order in which the release looks."""
    capability = cards[0].capability
    check_flags(arguments)
    check_trtllm_mha(arguments, capability)
    check_hybrid(arguments, model)
    check_quantization(arguments, capability)
    check_context(arguments, model)


def supported_on_blackwell(capability):
    """R1: the attention backends that hybrid models may use on Blackwell."""
    if is_between("0.5.16") and capability[0] == 12:
        return ["triton", "trtllm_mha", "flashinfer"]
    allowed = ["triton", "trtllm_mha"]
    if is_between("0.5.10"):
        allowed.append("fa4")
    if is_between("0.5.10", "0.5.15") or is_between("0.5.21"):
        allowed.append("flashinfer")
    return allowed


def check_backends_while_loading(arguments, model, capability):
    """R1, R19, R23, R24, R43: what the model runner asserts once it knows the card. Raises as the release does."""
    prefill, decode = prefill_and_decode(arguments)
    allowed = supported_on_blackwell(capability)
    if model.is_hybrid and not model.is_mla and capability[0] in (10, 11, 12) and not {prefill, decode} <= set(allowed):
        if is_between("0.5.16"):
            raise AssertionError(
                f"Only {allowed} backends are supported on Blackwell GPUs for hybrid GDN models. Got prefill={prefill}, "
                f"decode={decode}."
            )
        raise AssertionError(
            f"{' or '.join(allowed)} backend are the only supported backends on Blackwell GPUs for hybrid GDN "
            "models, use --attention-backend triton or --attention-backend trtllm_mha to specify the backend."
        )
    fusion = arguments.get("enable_flashinfer_allreduce_fusion") or arguments.get("flashinfer_allreduce_fusion_backend")
    if fusion and is_between("0.5.14") and capability[0] not in (9, 10):
        raise ValueError("FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.")
    if not model.is_fp4:
        return
    runner = arguments["moe_runner_backend"]
    if capability[0] < 10:
        if not is_between("0.5.13"):
            number = capability[0] * 10 + capability[1]
            raise ValueError(
                "The quantization method modelopt_fp4 is not supported for the current GPU. Minimum capability: 100. "
                f"Current capability: {number}."
            )
        if runner not in ("auto", "marlin"):
            raise ValueError(
                "Current platform does not support NVFP4 quantization with the selected MoE backend. Please use Blackwell and "
                "above, or use moe_runner_backend=marlin on SM80+."
            )
    if runner == "cutlass" and is_between("0.5.16"):
        raise NotImplementedError(
            "moe_runner_backend=cutlass is not supported for NVFP4 MoE. Use --moe-runner-backend flashinfer_cutlass instead."
        )


def check_parallelism(arguments, model):
    """R35: tensor parallelism must divide every kind of head."""
    ranks, text = arguments["tp_size"], model.text
    assert text.get("num_attention_heads", ranks) % ranks == 0
    heads = text.get("num_key_value_heads", ranks)
    assert heads % ranks == 0 if heads >= ranks else ranks % heads == 0
    if model.is_hybrid:
        assert text["linear_num_value_heads"] % ranks == 0
        assert text["linear_num_key_heads"] % ranks == 0

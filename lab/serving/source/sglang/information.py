"""What the server says about itself: /server_info, /model_info, /v1/models."""

import time

from sglang.release import VERSION


def model_info(arguments, model):
    """The body of /model_info."""
    return {
        "model_path": arguments["model_path"],
        "tokenizer_path": arguments["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "has_image_understanding": "ConditionalGeneration" in model.architecture,
        "has_audio_understanding": False,
        "model_type": model.model_type,
        "architectures": [model.architecture],
    }


def model_card(arguments, model):
    """One entry of /v1/models."""
    return {
        "id": arguments["served_model_name"],
        "object": "model",
        "created": int(time.time()),
        "owned_by": "sglang",
        "root": arguments["served_model_name"],
        "parent": None,
        "max_model_len": arguments["context_length"] or model.context_length,
    }


def server_info(arguments, model, plan, changes):
    """The body of /server_info: every resolved argument (the API key too, as SGLang does), pools and version.

    `changes` are wrong values that the control file asks for; they hide the true ones."""
    context = arguments["context_length"] or model.context_length
    stated = arguments["attention_backend"]
    state = arguments | {
        "context_length": context,
        "prefill_attention_backend": arguments["prefill_attention_backend"] or stated,
        "decode_attention_backend": arguments["decode_attention_backend"] or stated,
        "max_mamba_cache_size": plan["states"],
        "last_gen_throughput": 0.0,
        "memory_usage": {
            "weight": round(plan["weights"] / 1024, 2),
            "kvcache": round(plan["kv_cache"] / 1024, 2),
            "token_capacity": plan["tokens"],
            "graph": round(plan["graphs"] / 1024, 2),
        },
        "effective_max_running_requests_per_dp": arguments["max_running_requests"],
    }
    body = arguments | {
        "status": "ready",
        "max_total_num_tokens": plan["tokens"],
        "max_req_input_len": min(context, plan["tokens"]) - 6,
        "internal_states": [state | changes],
        "version": VERSION,
    }
    return {key: value for key, value in body.items() if key != "config"} | changes

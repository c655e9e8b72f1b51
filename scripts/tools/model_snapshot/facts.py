"""What a model's config.json says, against the facts that the stack's plan was made with."""

import json
import os

from .files import SnapshotError

# The files that hold them; they are fetched first.
CONFIGS = ("config.json", "hf_quant_config.json")
# NVIDIA's names of quantizations, as SGLang calls them.
MODELOPT = {"NVFP4": "modelopt_fp4", "FP4": "modelopt_fp4", "FP8": "modelopt_fp8", "MIXED_PRECISION": "modelopt_mixed"}
# A model with an interval but without these has full attention only.
LINEAR_KEYS = (
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
)


def read(folder, name):
    """A JSON file as an object; empty where there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            value = json.load(stream)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SnapshotError(f"{name} is not JSON: {error}") from None
    return value if isinstance(value, dict) else {}


def linear_layers(text):
    """How many layers are linear: by the list of layers, or by the interval of the full ones."""
    if isinstance(text.get("layer_types"), list):
        return text["layer_types"].count("linear_attention")
    interval = text.get("full_attention_interval")
    if interval and all(key in text for key in LINEAR_KEYS):
        return text["num_hidden_layers"] - text["num_hidden_layers"] // interval
    return 0


def quantization(root, text, modelopt):
    """The quantization in SGLang's words; None: none."""
    stated = root.get("quantization_config") or text.get("quantization_config") or modelopt.get("quantization")
    if not stated:
        return None
    method = stated.get("quant_method", "modelopt")
    return MODELOPT.get(str(stated.get("quant_algo")).upper()) if method == "modelopt" else method


def stated_config(folder):
    """What config.json says, under its own keys: those of text_config win, what is left out there is derived."""
    root = read(folder, "config.json")
    text = root | (root.get("text_config") or {})
    heads, hidden = text.get("num_attention_heads"), text.get("hidden_size")
    return text | {
        "architectures": (root.get("architectures") or text.get("architectures") or [None])[0],
        "head_dim": text.get("head_dim") or (hidden // heads if heads and hidden else None),
        "num_key_value_heads": text.get("num_key_value_heads") or heads,
        "linear_attention layers": linear_layers(text),
        "quantization": quantization(root, text, read(folder, "hf_quant_config.json")),
    }


def config_problems(folder, facts):
    """One line for every field of config.json that is not what the plan was made with (facts: {source, config})."""
    if not facts:
        return []
    stated = stated_config(folder)
    return [
        f"config.json: {key} is {json.dumps(stated.get(key))}, {facts['source']} says {json.dumps(wanted)}"
        for key, wanted in sorted(facts["config"].items())
        if stated.get(key) != wanted
    ]

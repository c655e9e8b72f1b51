"""Which compatibility rules could explain degenerate output, in the order in which to look at them."""

import re

TEXTS = {
    "R30": "Qwen3.5/3.6 needs SGLang 0.5.11: 0.5.9 repeats itself (sglang#19411), 0.5.10 computes dense models wrongly (sglang#22312)",
    "R21": "NVFP4 MoE runner: state flashinfer_cutlass; flashinfer_trtllm and flashinfer_cutedsl give NaN on SM120",
    "R25": "FP4 GEMM backend: flashinfer_cutlass can give NaN on SM120; compare with flashinfer_cudnn",
    "R28": "kv_cache_dtype auto turns into FP8 silently when the checkpoint says so: state bf16",
    "R29": "an FP8 KV cache without calibrated scales loses accuracy: state bf16",
}
CONTROL_RUN = (
    "not done: a control run without speculation needs a restart; remove the speculative settings, deploy, and run the gate again "
    "to tell whether speculation is at fault (its acceptance rate is no sign of health: loops are easy to draft)"
)


def explain(server_info, model_type):
    """[{"rule", "text"}] for a server's own /server_info (or {}) and /model_info model_type (or "")."""
    text = f"{model_type} {server_info.get('model_path', '')} {server_info.get('served_model_name', '')}".lower()
    version = str(server_info.get("version") or "")
    rules = []
    if re.search(r"qwen3[_.-]?[56]", text):
        state = (
            "not known"
            if not version
            else f"{version}, " + ("affected" if _older(version, (0, 5, 11)) else "should hold the fixes")
        )
        rules.append({"rule": "R30", "text": f"{TEXTS['R30']} (version: {state})"})
    quantization = str(server_info.get("quantization") or "").lower()
    if "fp4" in quantization or "fp4" in text or "modelopt_mixed" in quantization:
        rules += [{"rule": rule, "text": TEXTS[rule]} for rule in ("R21", "R25")]
    kv_cache = str(server_info.get("kv_cache_dtype") or "auto").lower()
    if kv_cache == "auto":
        rules.append({"rule": "R28", "text": TEXTS["R28"]})
    if kv_cache == "auto" or kv_cache.startswith("fp8"):
        rules.append({"rule": "R29", "text": TEXTS["R29"]})
    return rules


def _older(version, than):
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return bool(numbers) and tuple(int(part) for part in numbers.groups()) < than

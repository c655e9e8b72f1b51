"""Log lines after which a start of SGLang cannot succeed, and what each means.

Sources: the compatibility rules R1 to R49 (message texts of SGLang 0.5.9 to 0.5.23) and failed starts of a real
0.5.11 server. A line without a rule id has a cause outside the compatibility rules.
"""

import re


def _compiled(table):
    return tuple((re.compile(pattern), rule, meaning) for pattern, rule, meaning in table)


# (pattern, rule id or None, meaning)
FATAL_LINES = _compiled(
    (
        (
            r"supported backends on Blackwell GPUs for hybrid GDN|backends are supported on Blackwell GPUs for hybrid GDN",
            "R1",
            "this attention backend cannot run a hybrid GDN model on Blackwell; take triton",
        ),
        (
            r"TRTLLM MHA backend .*only supported on Blackwell|requires Hopper \(SM90\), Blackwell \(SM100\)",
            "R2",
            "trtllm_mha does not run on this GPU",
        ),
        (
            r"Speculative decoding for .* is not compatible with radix cache",
            "R7",
            "speculation with radix cache needs the mamba strategy extra_buffer",
        ),
        (r"extra_buffer is not compatible with --disable-radix-cache", "R8", "extra_buffer needs the radix cache"),
        (
            r"no_buffer only supports page_size=1|no_buffer do not support",
            "R10",
            "no_buffer does not fit the other flags",
        ),
        (r"Spec v2 currently only supports topk = 1", "R12", "speculation v2 needs an eagle topk of 1"),
        (
            r"[Ss]peculative MoE runner backend cannot be|doesn't support flashinfer_trtllm, please use",
            "R18",
            "the speculative MoE runner cannot be flashinfer_trtllm",
        ),
        (r"FlashInfer allreduce fusion requires SM90", "R19", "all-reduce fusion does not exist for this GPU"),
        (r"moe_runner_backend=cutlass is not supported for NVFP4", "R23", "take the MoE runner flashinfer_cutlass"),
        (
            r"does not support NVFP4 quantization|Minimum capability: \d+\. Current capability",
            "R24",
            "the checkpoint's quantization does not run on this GPU",
        ),
        (
            r"FlashInfer GDN decode .* is not compatible",
            "R31",
            "flashinfer linear attention needs another mamba strategy",
        ),
        (
            r"extra_buffer_lazy (?:is not yet supported|unsupported) with spec",
            "R38",
            "take extra_buffer with speculation",
        ),
        (r"TRTLLM FMHAv2 prefill on SM120 does not support", "R39", "trtllm_mha on SM120 needs a bf16 KV cache"),
        (r"error: unrecognized arguments:|error: ambiguous option:", "R40", "this release does not know the flag"),
        (
            r"error: argument .*invalid choice:|deprecated\. Use fp4_mx_block16",
            "R41",
            "this release does not know the value",
        ),
        (
            r"Unsupported moe_runner_backend for NVFP4 MoE",
            "R43",
            "state quantization modelopt_fp4 and flashinfer_cutlass",
        ),
        (r"nvfp4_online is supported only on", "R45", "nvfp4_online does not run on this GPU"),
        (r"Unknown speculative algorithm", "R46", "the speculative algorithm is misspelt"),
        (
            r"extra_buffer is not supported for .*; use no_buffer",
            "R49",
            "extra_buffer needs linear attention backend triton",
        ),
        (r"Repo id must be in the form", None, "the model directory does not exist"),
        (r"Unrecognized model in", None, "the model directory holds no usable config.json"),
        (r"No accelerator \(.*\) is available", None, "no GPU can be opened: device nodes missing (nvidia-uvm too?)"),
        (
            r"User-specified context_length .* is greater than the derived",
            None,
            "the context length is above the model's",
        ),
        (r"address already in use", None, "something else holds the port"),
        (r"incomplete metadata, file not fully covered", None, "a safetensors file is cut off: fetch the model again"),
        (r"invalid device ordinal", None, "tensor parallel asks for more GPUs than there are"),
        (
            r"Not enough memory\. Please try to increase --mem-fraction-static",
            None,
            "no room for a KV cache beside the weights: memory fraction too low, or the GPU is held by something else",
        ),
        (r"CUDA out of memory|torch\.OutOfMemoryError", None, "GPU memory ran out: is something else on the GPU?"),
    )
)
# SGLang goes on when an optional module fails like this, so that these lines explain a failed start but end none.
EXPLAINING_LINES = _compiled(
    (
        (r"undefined symbol:", "R36", "the kernel wheel was built for another torch"),
        (r"no kernel image is available", "R37", "a package has no code for this GPU"),
    )
)
# Printed by the parent after the cause: only the line above them tells why.
GENERIC_END = re.compile(r"Received sigquit from a child process|crashed with exit code|Triggering SIGQUIT for cleanup")
ERROR_LINE = re.compile(r"^(?:\[[^\]]*\]\s*)?(?:\w+\.)*\w*(?:Error|Exception)\b.*|.*\berror:.*", re.IGNORECASE)
NAN_LINE = re.compile(
    r"\bnan\b.*(?:detected|logits|probab|found)|(?:detected|logits|probab|found).*\bnan\b", re.IGNORECASE
)


def match(line, table=FATAL_LINES):
    """{"line", "rule", "meaning"} when the line is a known fatal one, else None."""
    for pattern, rule, meaning in table:
        if pattern.search(line):
            return {"line": line.strip(), "rule": rule, "meaning": meaning}
    return None


def decisive(lines):
    """The line that tells why a start failed: a known one, else the last error above the generic end, else the last line."""
    for table in (FATAL_LINES, EXPLAINING_LINES):
        for line in lines:
            known = match(line, table)
            if known:
                return known
    last_error = None
    for line in lines:
        if GENERIC_END.search(line):
            break
        if ERROR_LINE.match(line.strip()):
            last_error = line.strip()
    if last_error is None:
        spoken = [line.strip() for line in lines if line.strip()]
        last_error = spoken[-1] if spoken else None
    return {"line": last_error, "rule": None, "meaning": None} if last_error else None


def is_nan_report(line):
    """True when a log line reports NaN values (rules R21, R25, R27)."""
    return bool(NAN_LINE.search(line))

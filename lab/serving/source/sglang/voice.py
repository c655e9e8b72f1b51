"""Chooses how the model speaks: healthy, as the control file says, or sick for a reason that lies in the set-up."""

from sglang import answers, degenerate
from sglang.checkpoint import missing_shards
from sglang.release import is_between


def sickness(arguments, model, capability):
    """The kind of degenerate text that this release, model, card and these flags are known to give, or "good".

    R30: 0.5.9 repeats itself with Qwen3.5/3.6, whatever the attention backend. R21 and R25: NVFP4 kernels that give NaN on
    SM120. A missing shard: its weights stay random, and nothing else shows it."""
    if missing_shards(model.path):
        return "random-words"
    if model.is_hybrid and is_between("0.5.9", "0.5.9"):
        return "loop-word" if arguments["attention_backend"] == "triton" else "loop-sentence"
    if model.is_fp4 and capability[0] == 12:
        bad_runner = arguments["moe_runner_backend"] in ("flashinfer_trtllm", "flashinfer_cutedsl")
        bad_gemm = is_between("0.5.9", "0.5.9") and arguments["fp4_gemm_runner_backend"] != "flashinfer_cudnn"
        if bad_runner or bad_gemm:
            return "nan"
    return "good"


def speak(kind, question, seed, thinking):
    """(reasoning, answer) in this kind of text; reasoning is None when thinking is off. None is text that never comes."""
    if kind == "good":
        reasoning, answer = answers.answer(question, seed)
    else:
        reasoning, answer = degenerate.KINDS[kind](question, seed, thinking)
    if thinking:
        return reasoning, answer
    # A loop in the reasoning shows in the answer when the model is not to think.
    return None, answer if answer is not None or kind == "both-null" else reasoning

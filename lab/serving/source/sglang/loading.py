"""The phases of loading, as the real server's log shows them, each as long as on a warm real card times the scale."""

import time

from sglang import caches, checkpoint
from sglang.journal import log, plain
from sglang.timing import pause

# Seconds from the start of the children to the first answer: on a real card with warm caches, and more with cold ones.
WARM_CAPTURE_SECONDS = 33
COLD_CAPTURE_SECONDS = 83
CAPTURE_SIZES = 8


def load_weights(model, card, seconds):
    """Reads the shards and reports progress; `seconds` (real ones, None: as long as on the real card). Returns bytes."""
    log(f"Load weight begin. avail mem={card.free / 1024:.2f} GB")
    begun = time.monotonic()
    files = checkpoint.shards(model.path)
    for done in range(len(files) + 1):
        share = 100 * done // max(len(files), 1)
        plain(f"Multi-thread loading shards: {share:3d}% Completed | {done}/{len(files)}")
        if done < len(files):
            if seconds is None:
                pause(0.2)
            else:
                time.sleep(seconds / len(files))
    size = checkpoint.load_weights(model.path)
    used = size / 2**30
    log(
        f"Load weight end. elapsed={time.monotonic() - begun:.2f} s, type={model.architecture}, "
        f"avail mem={card.free / 1024 - used:.2f} GB, mem usage={used:.2f} GB."
    )
    return size


def report_pools(arguments, model, card, plan):
    """Says what the pools came to."""
    wanted = arguments["kv_cache_dtype"]
    kept = {"auto": "torch.bfloat16", "bf16": "torch.bfloat16"}.get(wanted, f"torch.{wanted}")
    if wanted == "fp8_e4m3" and not model.quantization.get("kv_cache_scheme"):
        log(
            "Using FP8 KV cache but no scaling factors provided. Defaulting to scaling factors of 1.0. This may lead to less "
            "accurate results!"
        )
    log(f"Using KV cache dtype: {kept}")
    if plan.states is not None:
        log(f"Mamba Cache is allocated. max_mamba_cache_size: {plan.states}, ssm_state size: {plan.recurrent / 1024:.2f}GB")
        log("Using hybrid linear attention backend for hybrid GDN models.")
    half = plan.kv_cache / 2048
    log(f"KV Cache is allocated. #tokens: {plan.tokens}, K size: {half:.2f} GB, V size: {half:.2f} GB")
    log(f"Memory pool end. avail mem={plan.left / 1024:.2f} GB")


def capture_graphs(arguments):
    """Captures CUDA graphs: the longest phase, and much longer with cold caches."""
    begun, warm = time.monotonic(), caches.is_warm("graphs")
    log("Capture cuda graph begin. This can take up to several minutes.")
    log(f"Capture cuda graph bs {list(range(1, CAPTURE_SIZES + 1))}")
    for done in range(CAPTURE_SIZES):
        plain(f"Capturing batches (bs={CAPTURE_SIZES - done}): {100 * (done + 1) // CAPTURE_SIZES:3d}%")
        pause((WARM_CAPTURE_SECONDS if warm else COLD_CAPTURE_SECONDS) / CAPTURE_SIZES)
    if arguments["speculative_algorithm"]:
        log("Capture draft cuda graph begin. This can take up to several minutes.")
    log(f"Capture cuda graph end. Time elapsed: {time.monotonic() - begun:.2f} s.")
    caches.remember("graphs")

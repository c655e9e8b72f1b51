"""Compiled-kernel caches below HOME: cold ones cost a start, and the first sampled request, a minute or two each."""

from pathlib import Path

from sglang.journal import log
from sglang.release import VERSION

FOLDERS = {"graphs": ".triton/cache", "sampling": ".cache/flashinfer"}


def marker(kind):
    """The file whose presence means that this release's kernels of a kind ("graphs" or "sampling") are compiled."""
    return Path.home() / FOLDERS[kind] / f"lab-{VERSION}-{kind}"


def is_warm(kind):
    """Whether the kernels need no compiling."""
    return marker(kind).exists()


def remember(kind):
    """Keeps what was compiled. Where HOME is not writable nothing is kept, and the next start is as slow again."""
    path = marker(kind)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        log(f"Failed to write the kernel cache {path}: {error.strerror}")

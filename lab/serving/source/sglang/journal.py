"""Log lines in SGLang's form, on stderr."""

import sys
import time

_prefix = ""


def set_rank(rank, ranks):
    """Marks this process's lines as one tensor-parallel rank's, as SGLang does when there are several."""
    global _prefix
    _prefix = f" TP{rank}" if ranks > 1 else ""


def log(text):
    """Writes one line with a time stamp."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"[{stamp}{_prefix}] {text}", file=sys.stderr, flush=True)


def plain(text):
    """Writes text without a stamp: progress bars and warnings of libraries."""
    print(text, file=sys.stderr, flush=True)

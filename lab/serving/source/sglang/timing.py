"""Time in the stand-in: everything that took N seconds on the real server takes N seconds times a scale."""

import os
import time

# A warm real server answers after 61 s; at this scale the stand-in does after about 2 s, most of it its own.
DEFAULT_SCALE = 0.02


def scale():
    """LAB_SGLANG_TIME_SCALE as a number above zero; 1 is as slow as the real server. Raises ValueError otherwise."""
    text = os.environ.get("LAB_SGLANG_TIME_SCALE", "")
    if not text:
        return DEFAULT_SCALE
    value = float(text)
    if value <= 0:
        raise ValueError(f"LAB_SGLANG_TIME_SCALE is {text!r}; allowed: a number above 0")
    return value


def scaled(real_seconds):
    """How long the stand-in takes for what took the real server so many seconds."""
    return real_seconds * scale()


def pause(real_seconds):
    """Sleeps for the scaled time."""
    time.sleep(scaled(real_seconds))

"""Disk sizes as Proxmox VE writes them: a number and an optional unit K, M, G or T."""

import re

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse(text):
    """Bytes, or None when the text is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", str(text))
    return int(float(match[1]) * UNITS[match[2]]) if match else None


def render(size):
    """The largest unit that gives a whole number: 8589934592 becomes 8G."""
    for unit in "TGMK":
        if size >= UNITS[unit] and size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)

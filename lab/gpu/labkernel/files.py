"""Places of the simulated kernel, and small helpers to read and write its files."""

from __future__ import annotations

import contextlib
import fcntl
from pathlib import Path
from typing import Iterator

STATE = Path("/run/labkernel")
PCI = Path("/sys/bus/pci")
NVIDIA_PROC = Path("/proc/driver/nvidia")

KERNEL_MESSAGES = STATE / "dmesg"
# Shown to every process of the host as /proc/modules and /proc/devices (bind mounts made at boot).
PROC_MODULES = STATE / "proc-modules"
PROC_DEVICES = STATE / "proc-devices"
# /proc/devices of the machine underneath, without NVIDIA's lines.
PROC_DEVICES_BASE = STATE / "proc-devices.base"


def read(path: Path, default: str = "") -> str:
    """The file's text without surrounding white space; the default when there is no such file."""
    try:
        return path.read_text().strip()
    except OSError:
        return default


def write(path: Path, content: str | bytes) -> None:
    """Writes in place, never by renaming: some of the files are the source of bind mounts, which stay with the inode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def log(message: str) -> None:
    """Adds a line to what `dmesg` shows."""
    uptime = float(read(Path("/proc/uptime"), "0").split()[0])
    with KERNEL_MESSAGES.open("a") as messages:
        messages.write("[%12.6f] %s\n" % (uptime, message))


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One change of the simulated kernel at a time."""
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

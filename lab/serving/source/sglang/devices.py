"""The GPUs that this process may use, as the lab's driver stand-in shows them."""

import errno
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

DRIVER = "/proc/driver/nvidia"
QUERY = "index,uuid,pci.bus_id,memory.total,memory.free,compute_cap,name"


@dataclass(frozen=True)
class Gpu:
    """One card. Memory in MiB; `capability` as a pair such as (8, 6); `node` is its device file."""

    uuid: str
    node: str
    total: int
    free: int
    capability: tuple
    name: str


def device_folder():
    """Where the device nodes are. Tests point it elsewhere; the lab does not."""
    return os.environ.get("LAB_SGLANG_DEV", "/dev")


def can_open(path):
    """Whether CUDA could open a device node: ENXIO and ENODEV mean allowed: the lab has no real driver behind it."""
    try:
        os.close(os.open(path, os.O_RDWR))
        return True
    except OSError as error:
        return error.errno in (errno.ENXIO, errno.ENODEV)


def node_of(bus_id, index):
    """The device node of a PCI address: its minor number by the driver, which need not be the index."""
    # nvidia-smi prints an eight-digit domain, /proc a four-digit one.
    address = bus_id.lower()[-12:]
    try:
        text = Path(os.environ.get("LAB_SGLANG_DRIVER", DRIVER), "gpus", address, "information").read_text(encoding="utf-8")
        minor = re.search(r"Device Minor:\s*(\d+)", text).group(1)
    except (OSError, AttributeError):
        minor = index
    return f"{device_folder()}/nvidia{minor}"


def installed():
    """Every GPU that nvidia-smi lists, in PCI order; none where it fails."""
    command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    found = []
    for line in done.stdout.splitlines():
        index, uuid, bus_id, total, free, capability, name = (field.strip() for field in line.split(",", 6))
        numbers = tuple(int(number) for number in capability.split("."))
        found.append(Gpu(uuid, node_of(bus_id, index), int(total), int(free), numbers, name))
    return found


def visible():
    """The GPUs of CUDA_VISIBLE_DEVICES (indices or UUIDs; the first wrong one ends the list), or all.

    None at all without a usable nvidiactl, nvidia-uvm and node of the card, as with the real driver."""
    folder = device_folder()
    if not (can_open(f"{folder}/nvidiactl") and can_open(f"{folder}/nvidia-uvm")):
        return []
    cards = [card for card in installed() if can_open(card.node)]
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return cards
    chosen = []
    for entry in wanted.split(","):
        entry = entry.strip()
        if entry.isdigit() and int(entry) < len(cards):
            chosen.append(cards[int(entry)])
            continue
        matching = [card for card in cards if entry.startswith("GPU-") and card.uuid.startswith(entry)]
        if len(matching) != 1:
            break
        chosen.append(matching[0])
    return chosen


def hold(card):
    """Opens the card's node and keeps it open across exec, so that nvidia-smi and fuser see this process on it."""
    descriptor = os.open(card.node, os.O_PATH)
    os.set_inheritable(descriptor, True)
    return descriptor

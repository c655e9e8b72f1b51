"""What NVIDIA's kernel driver does with the host's cards: accept or refuse them, and show itself below /proc.

Messages follow the real driver's (NVRM lines in dmesg), the files of /proc/driver/nvidia their real format.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from pathlib import Path
from typing import Any

from . import files, inventory, pci
from .inventory import Gpu

# Major number of /dev/nvidia*, fixed in the real driver too; those of uvm and caps are given out by the kernel.
NVIDIA_MAJOR = 195

_MAJORS = files.STATE / "majors"
_OPENED = files.STATE / "nvidia-opened"
_SECURE_BOOT = Path("/etc/lab/secureboot")
_KEY_ENROLLED = Path("/etc/lab/mok-enrolled")
_UNKNOWN_UUID = "GPU-????????-????-????-????-????????????"
_UNKNOWN_VBIOS = "??.??.??.??.??"


def choose_majors() -> None:
    """Once a boot: numbers that the machine's own drivers do not have, so that nobody can rely on fixed ones."""
    words = (line.split() for line in files.read(files.PROC_DEVICES_BASE).splitlines())
    used = {int(word[0]) for word in words if word and word[0].isdigit()}
    free = [major for major in (*range(234, 255), *range(500, 512)) if major not in used]
    uvm, caps = random.sample(free, 2)
    files.write(_MAJORS, "%d %d\n" % (uvm, caps))


def _majors() -> tuple[int, int]:
    uvm, caps = files.read(_MAJORS).split()
    return int(uvm), int(caps)


def secure_boot_rejects() -> bool:
    """Whether unsigned modules are refused: `touch /etc/lab/secureboot` on the host."""
    return _SECURE_BOOT.exists() and not _KEY_ENROLLED.exists()


def _version(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def refusal(gpu: Gpu, version: str, open_module: bool) -> str | None:
    """Why a driver does not take a card, as its kernel message says it; None when it does."""
    card = "NVRM: The NVIDIA GPU %s (PCI ID: %s) installed in this system " % (gpu["pci"], gpu["id"])
    if "min_driver" in gpu and _version(version) < _version(gpu["min_driver"]):
        return card + "is not supported by the NVIDIA %s driver release." % version
    if gpu.get("open_only") and not open_module:
        return card + "requires use of the NVIDIA open kernel modules."
    if gpu.get("open_never") and open_module:
        return card + "is not supported by open nvidia.ko."
    return None


def _visible() -> list[Gpu]:
    """The cards that are left to NVIDIA's driver and nouveau."""
    return [gpu for gpu in inventory.load() if not gpu.get("vfio")]


def probe(version: str, open_module: bool, nouveau_loaded: bool) -> bool:
    """Whether nvidia.ko finds a card that it can drive; says why not in the kernel's messages."""
    gpus = _visible()
    if not gpus:
        files.log("NVRM: No NVIDIA GPU found.")
        return False
    if nouveau_loaded:
        files.log("NVRM: The NVIDIA probe routine was not called for %d device(s)." % len(gpus))
        files.log("NVRM: GPU is already bound to nouveau.")
        files.log("NVRM: No NVIDIA devices probed.")
        return False
    refusals = [refusal(gpu, version, open_module) for gpu in gpus]
    for text in refusals:
        if text:
            files.log(text)
    if all(refusals):
        files.log("NVRM: None of the NVIDIA devices were initialized.")
        return False
    return True


def nodes_are_open() -> bool:
    """Whether a process of the host or of a container holds a node of the driver, which keeps the module in use."""
    majors = {NVIDIA_MAJOR, _majors()[0]}
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            status = os.stat(descriptor)
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode) and os.major(status.st_rdev) in majors:
            return True
    return False


def opened(table: dict[str, Any]) -> None:
    """A client opened the cards: from now on their UUIDs are known in /proc."""
    if "nvidia" in table:
        files.write(_OPENED, "")
        show(table)


def show(table: dict[str, Any]) -> None:
    """Makes driver links, /proc/devices and /proc/driver/nvidia follow the table of loaded modules."""
    gpus = _visible()
    module = table.get("nvidia")
    if module:
        gpus = [gpu for gpu in gpus if refusal(gpu, module["version"], module["open"]) is None]
        pci.bind("nvidia", gpus)
    else:
        pci.bind("nouveau" if "nouveau" in table else None, gpus)
        _OPENED.unlink(missing_ok=True)
    _show_majors(table)
    if module:
        _show_driver(module, gpus)
    else:
        shutil.rmtree(files.NVIDIA_PROC, ignore_errors=True)


def _show_majors(table: dict[str, Any]) -> None:
    uvm, caps = _majors()
    lines = []
    if "nvidia" in table:
        lines += ["%d nvidia" % NVIDIA_MAJOR, "%d nvidiactl" % NVIDIA_MAJOR, "%d nvidia-caps" % caps]
    if "nvidia_modeset" in table:
        lines.append("%d nvidia-modeset" % NVIDIA_MAJOR)
    if "nvidia_uvm" in table:
        lines.append("%d nvidia-uvm" % uvm)
    characters, separator, blocks = files.PROC_DEVICES_BASE.read_text().partition("\nBlock devices:")
    added = "".join(line + "\n" for line in lines)
    files.write(files.PROC_DEVICES, characters + added + separator + blocks)


def _show_driver(module: dict[str, Any], gpus: list[Gpu]) -> None:
    known = _OPENED.exists()
    kind = "Open Kernel Module for x86_64" if module["open"] else "x86_64 Kernel Module"
    files.write(
        files.NVIDIA_PROC / "version",
        "NVRM version: NVIDIA UNIX %s  %s  Release Build  (lab@lab)\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n" % (kind, module["version"]),
    )
    files.write(
        files.NVIDIA_PROC / "params",
        "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n",
    )
    for number, gpu in enumerate(gpus):
        files.write(
            files.NVIDIA_PROC / "gpus" / gpu["pci"] / "information",
            "Model: \t\t %s\nIRQ:   \t\t %d\nGPU UUID: \t %s\nVideo BIOS: \t %s\nBus Type: \t PCIe\n"
            "DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t %s\nDevice Minor: \t %d\n"
            "GPU Firmware: \t %s\nGPU Excluded:\t No\n"
            % (
                gpu["name"],
                100 + number,
                gpu["uuid"] if known else _UNKNOWN_UUID,
                gpu.get("vbios", "00.00.00.00.00") if known else _UNKNOWN_VBIOS,
                gpu["pci"],
                gpu["minor"],
                module["version"] if module["open"] else "N/A",
            ),
        )
    # What the stand-ins for nvidia-smi and libcuda know of the cards beyond that: one line a card.
    files.write(
        files.NVIDIA_PROC / ".lab",
        "".join("%(pci)s|%(minor)d|%(uuid)s|%(name)s|%(memory)d|%(cc)s\n" % gpu for gpu in gpus),
    )

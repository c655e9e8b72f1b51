"""What kernel, initramfs and udev do with the cards when a host boots: each module that a card's modalias resolves to is loaded.

First from the initramfs, with the modprobe.d that was copied into it; then from the root file system. So a blacklist that never
reached the initramfs does not keep nouveau away, as on a real host.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from . import files, inventory, kmod_commands, modules, nvidia, pci

_UNPACKED = files.STATE / "initramfs"
# What a host with proxmox-boot-tool boots from; only `proxmox-boot-tool refresh` writes there.
_BOOT_PARTITION = Path("/var/lib/lab/boot-partition")


def boot() -> None:
    """The whole of it; once a boot, before sysinit.target."""
    gpus = inventory.load()
    with files.locked():
        nvidia.choose_majors()
        pci.populate(gpus)
        nvidia.show({})
    aliases = sorted({pci.modalias(function) for gpu in gpus for function in pci.functions(gpu)})
    if aliases:
        _load_from_initramfs(aliases)
    for alias in aliases:
        kmod_commands.modprobe(["-q", "-b", alias])
    for name in _modules_to_load():
        kmod_commands.modprobe(["-q", "-b", name])


def _load_from_initramfs(aliases: list[str]) -> None:
    folder = _BOOT_PARTITION if _BOOT_PARTITION.is_dir() else Path("/boot")
    image = folder / ("initrd.img-" + os.uname().release)
    if not image.exists():
        files.log("lab: no %s" % image)
        return
    subprocess.run(["unmkinitramfs", str(image), str(_UNPACKED)], stderr=subprocess.DEVNULL, check=False)
    # With early microcode there are several archives, and the last one is the file system.
    root = _UNPACKED / "main" if (_UNPACKED / "main").is_dir() else _UNPACKED
    for alias in aliases:
        plan = subprocess.run(
            ["modprobe", "-d", str(root), "-C", str(root / "etc/modprobe.d"), "-b", "-n", "-v", alias],
            executable="/bin/kmod",
            capture_output=True,
            text=True,
            check=False,
        )
        for line in plan.stdout.splitlines():
            if line.startswith("insmod "):
                kmod_commands.insmod([line.split()[1]])
    subprocess.run(["rm", "-rf", str(_UNPACKED)], check=False)


def _modules_to_load() -> list[str]:
    sources = [*sorted(Path("/etc/modules-load.d").glob("*.conf")), Path("/etc/modules")]
    lines = [line.strip() for source in sources for line in files.read(source).splitlines()]
    return [line for line in lines if line and line[0] not in "#;"]


def opened() -> None:
    """A client opened the cards (nvidia-smi, CUDA)."""
    with files.locked():
        nvidia.opened(modules.loaded())

"""What /sys/bus/pci shows of the host's cards (a tmpfs, filled once at boot)."""

from __future__ import annotations

import shutil
from typing import Iterator, NamedTuple

from . import files
from .inventory import Gpu

_FIRST_INTERRUPT = 100
_NO_RESOURCE = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"


class Function(NamedTuple):
    """One function of a card: the GPU itself or its audio controller."""

    address: str
    vendor: str
    device: str
    subsystem_vendor: str
    subsystem_device: str
    device_class: str


def functions(gpu: Gpu) -> Iterator[Function]:
    """The PCI functions of a card, the GPU first."""
    subsystem_vendor, subsystem_device = gpu["subsys"].split(":")
    yield Function(gpu["pci"], *gpu["id"].split(":"), subsystem_vendor, subsystem_device, gpu["class"])
    if "audio" in gpu:
        address = gpu["pci"][:-1] + "1"
        yield Function(address, *gpu["audio"].split(":"), subsystem_vendor, subsystem_device, "040300")


def modalias(function: Function) -> str:
    """The text by which modprobe finds the modules for a function."""
    return "pci:v0000%sd0000%ssv0000%ssd0000%sbc%ssc%si%s" % (
        function.vendor.upper(),
        function.device.upper(),
        function.subsystem_vendor.upper(),
        function.subsystem_device.upper(),
        function.device_class[0:2],
        function.device_class[2:4],
        function.device_class[4:6],
    )


def _configuration_space(function: Function, revision: str) -> bytes:
    """The first 256 bytes that lspci reads: identifiers are little-endian."""
    space = bytearray(256)

    def put(offset: int, hexadecimal: str) -> None:
        value = bytes.fromhex(hexadecimal)[::-1]
        space[offset : offset + len(value)] = value

    put(0x00, function.vendor)
    put(0x02, function.device)
    put(0x04, "0407")  # command: memory, bus master, interrupt disabled
    put(0x06, "0010")  # status: has a capability list
    put(0x08, revision)
    put(0x09, function.device_class)
    put(0x0E, "80")  # header type: multi-function
    put(0x2C, function.subsystem_vendor)
    put(0x2E, function.subsystem_device)
    return bytes(space)


def populate(gpus: list[Gpu]) -> None:
    """Makes the devices appear; no driver is bound yet."""
    for folder in ("devices", "drivers"):
        (files.PCI / folder).mkdir(parents=True, exist_ok=True)
    for number, gpu in enumerate(gpus):
        for function in functions(gpu):
            device = files.PCI / "devices" / function.address
            attributes = {
                "vendor": "0x" + function.vendor,
                "device": "0x" + function.device,
                "subsystem_vendor": "0x" + function.subsystem_vendor,
                "subsystem_device": "0x" + function.subsystem_device,
                "class": "0x" + function.device_class,
                "revision": "0x" + gpu["rev"],
                "irq": str(_FIRST_INTERRUPT + number),
                "numa_node": "0",
                "enable": "1",
                "boot_vga": "1" if gpu.get("boot_vga") and function.device_class.startswith("03") else "0",
                "modalias": modalias(function),
                "uevent": "PCI_ID=%s:%s\nPCI_SLOT_NAME=%s"
                % (function.vendor.upper(), function.device.upper(), function.address),
            }
            for name, value in attributes.items():
                files.write(device / name, value + "\n")
            files.write(device / "config", _configuration_space(function, gpu["rev"]))
            files.write(device / "resource", _NO_RESOURCE * 13)
        if gpu.get("vfio"):
            _link("vfio-pci", gpu)


def bind(driver: str | None, gpus: list[Gpu]) -> None:
    """Shows the driver bound to these cards and to no other; None unbinds all."""
    for known in ("nvidia", "nouveau"):
        shutil.rmtree(files.PCI / "drivers" / known, ignore_errors=True)
    for device in (files.PCI / "devices").iterdir():
        link = device / "driver"
        if link.is_symlink() and link.readlink().name != "vfio-pci":
            link.unlink()
    if driver is None:
        return
    (files.PCI / "drivers" / driver).mkdir(parents=True)
    for gpu in gpus:
        _link(driver, gpu)


def _link(driver: str, gpu: Gpu) -> None:
    folder = files.PCI / "drivers" / driver
    folder.mkdir(parents=True, exist_ok=True)
    (files.PCI / "devices" / gpu["pci"] / "driver").symlink_to("../../drivers/" + driver)
    (folder / gpu["pci"]).symlink_to("../../devices/" + gpu["pci"])

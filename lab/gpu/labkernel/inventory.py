"""The GPUs of a lab host, from a JSON file {"gpus": [{...}, ...]} (default /etc/lab/gpus.json).

A card's fields:
  pci         PCI address of its first function, such as "0000:41:00.0"
  id, subsys  vendor:device of the card and of its maker, hexadecimal, such as "10de:2230"
  class, rev  PCI class (6 hexadecimal digits) and revision (2)
  audio       vendor:device of its audio function (optional)
  name        product name as nvidia-smi shows it
  uuid        "GPU-" and a UUID
  minor       number N of its node /dev/nvidiaN; not the index of nvidia-smi
  memory      MiB
  cc          CUDA compute capability, such as "8.6"
  vbios       version of its firmware (optional)
  min_driver  first driver that knows it (optional)
  open_only   true: refuses the proprietary kernel module (optional)
  open_never  true: refuses the open kernel module (optional)
  vfio        true: held by vfio-pci for a virtual machine; NVIDIA's driver never sees it (optional)
  boot_vga    true: the host's console is on this card (optional)

Run as a program, it checks the file that it is given: one line for each problem on stderr and exit status 1.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

INVENTORY = Path("/etc/lab/gpus.json")

Gpu = dict[str, Any]

_REQUIRED = {
    "pci": r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0",
    "id": r"[0-9a-f]{4}:[0-9a-f]{4}",
    "subsys": r"[0-9a-f]{4}:[0-9a-f]{4}",
    "class": r"[0-9a-f]{6}",
    "rev": r"[0-9a-f]{2}",
    "name": r".+",
    "uuid": r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "minor": r"\d{1,3}",
    "memory": r"[1-9]\d*",
    "cc": r"\d+\.\d+",
}
_OPTIONAL = {
    "audio": r"[0-9a-f]{4}:[0-9a-f]{4}",
    "vbios": r".+",
    "min_driver": r"\d{3,}\.\d+(\.\d+)?",
    "open_only": r"True|False",
    "open_never": r"True|False",
    "vfio": r"True|False",
    "boot_vga": r"True|False",
}
_UNIQUE = ("pci", "uuid", "minor")


def problems(inventory: Any) -> list[str]:
    """Everything that is wrong with a parsed inventory file, one text each."""
    if not isinstance(inventory, dict) or not isinstance(inventory.get("gpus"), list):
        return ['must be an object {"gpus": [...]}']
    found = []
    for number, gpu in enumerate(inventory["gpus"]):
        where = "gpus[%d]" % number
        if not isinstance(gpu, dict):
            found.append("%s: must be an object" % where)
            continue
        for field, pattern in {**_REQUIRED, **_OPTIONAL}.items():
            if field not in gpu:
                if field in _REQUIRED:
                    found.append("%s.%s: is missing" % (where, field))
            elif not re.fullmatch(pattern, str(gpu[field])):
                found.append("%s.%s: %r does not match %s" % (where, field, gpu[field], pattern))
        for field in sorted(set(gpu) - set(_REQUIRED) - set(_OPTIONAL)):
            found.append("%s.%s: is not a field of a card" % (where, field))
    cards = [gpu for gpu in inventory["gpus"] if isinstance(gpu, dict)]
    for field in _UNIQUE:
        values = [gpu[field] for gpu in cards if field in gpu]
        for value in sorted({value for value in values if values.count(value) > 1}, key=str):
            found.append("%s %s: more than one card has it" % (field, value))
    return found


def load(path: Path = INVENTORY) -> list[Gpu]:
    """The host's cards in PCI order; none when there is no file."""
    try:
        inventory = json.loads(path.read_text())
    except FileNotFoundError:
        return []
    return sorted(inventory["gpus"], key=lambda gpu: gpu["pci"])


def main(arguments: list[str]) -> int:
    """Checks the file named by the only argument."""
    path = Path(arguments[0])
    try:
        found = problems(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        found = [str(error)]
    for problem in found:
        print("%s: %s" % (path, problem), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

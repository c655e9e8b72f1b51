"""The table of loaded modules. What modprobe and its relatives do at last, and the only thing about them that is simulated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from . import files, nvidia

_TABLE = files.STATE / "modules.json"
_SYS_MODULE = Path("/sys/module")

Module = dict[str, Any]


class Refused(Exception):
    """The kernel's answer to a module that it does not take or give up; the text is the one of errno."""


def kernel_name(name: str) -> str:
    """The kernel spells every module with underscores."""
    return name.replace("-", "_")


def loaded() -> dict[str, Module]:
    """Name to {path, size, version, open, depends} in the order of loading."""
    return json.loads(files.read(_TABLE, "{}"))


def users(name: str) -> list[str]:
    """Loaded modules that need the named one."""
    return [other for other, module in loaded().items() if name in module["depends"]]


def modinfo(path: str, field: str) -> str:
    """One field of a module file, as real modinfo reads it."""
    result = subprocess.run(["modinfo", "-F", field, path], capture_output=True, text=True, check=False)
    return result.stdout.strip()


def insert(path: str) -> None:
    """Loads a module file. A loaded one is left as it is.

    Raises Refused: "No such device" or "Key was rejected by service"; why is in the kernel's messages.
    """
    name = kernel_name(Path(path).name.partition(".ko")[0])
    table = loaded()
    if name in table:
        return
    module = {
        "path": path,
        "size": os.stat(path).st_size,
        "version": modinfo(path, "version"),
        "open": "MIT" in modinfo(path, "license"),
        "depends": [kernel_name(depend) for depend in modinfo(path, "depends").split(",") if depend],
    }
    if nvidia.secure_boot_rejects():
        files.log("Loading of unsigned module is rejected")
        raise Refused("Key was rejected by service")
    if name == "nvidia" and not nvidia.probe(module["version"], module["open"], "nouveau" in table):
        raise Refused("No such device")
    table[name] = module
    files.log("lab: %s loaded from %s" % (name, path))
    _store(table)


def remove(name: str) -> None:
    """Unloads a module. Raises Refused with rmmod's words."""
    name = kernel_name(name)
    table = loaded()
    if name not in table:
        raise Refused("is not currently loaded")
    if users(name):
        raise Refused("is in use by: " + " ".join(users(name)))
    if name in ("nvidia", "nvidia_uvm") and nvidia.nodes_are_open():
        raise Refused("is in use")
    del table[name]
    files.log("lab: %s unloaded" % name)
    _store(table)


def _store(table: dict[str, Module]) -> None:
    files.write(_TABLE, json.dumps(table))
    lines = []
    for name, module in table.items():
        needed_by = users(name)
        lines.append(
            "%s %d %d %s Live 0x0000000000000000 (OE)\n"
            % (name, module["size"], len(needed_by), "".join(user + "," for user in needed_by) or "-")
        )
    files.write(files.PROC_MODULES, "".join(lines))
    _show_in_sys(table)
    nvidia.show(table)


def _show_in_sys(table: dict[str, Module]) -> None:
    for folder in _SYS_MODULE.iterdir():
        if folder.name not in table:
            shutil.rmtree(folder)
    for name, module in table.items():
        files.write(_SYS_MODULE / name / "initstate", "live\n")
        files.write(_SYS_MODULE / name / "refcnt", "%d\n" % len(users(name)))
        files.write(_SYS_MODULE / name / "coresize", "%d\n" % module["size"])
        holders = _SYS_MODULE / name / "holders"
        shutil.rmtree(holders, ignore_errors=True)
        holders.mkdir()
        for user in users(name):
            (holders / user).mkdir()
        if module["version"]:
            files.write(_SYS_MODULE / name / "version", module["version"] + "\n")

"""Managed by proxmox-gpu-stack: what must hold before an environment is switched to. Run by its own interpreter.

usage: smoke-test.py LOCK SMOKE_TEST_JSON ARCHITECTURES_TOOL [BUILT_WHEEL…]

Ends with 1 and one line for each thing that is wrong.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path


def normalized(name):
    """A package's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock):
    """(name, version, whether a marker decides) of every package in the lock."""
    for line in lock.replace("\\\n", " ").splitlines():
        pin = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;]+)", line)
        if pin:
            yield normalized(pin[1]), pin[2], ";" in line.split("--hash")[0]


def wrong_versions(lock, wheels):
    """Packages that are not at the version of the lock, or of the wheel that was built for them."""
    built = {}
    for wheel in wheels:
        name, version = Path(wheel).name.split("-")[:2]
        built[normalized(name)] = version
    expected = {name: (version, conditional) for name, version, conditional in pins(lock)}
    expected.update({name: (version, False) for name, version in built.items()})
    for name, (version, conditional) in expected.items():
        origin = "the wheel built for it" if name in built else "the lock"
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if not conditional:
                yield f"{name}: not installed, {origin} says {version}"
            continue
        if installed != version:
            yield f"{name}: {installed} is installed, {origin} says {version}"


def failed_imports(modules):
    """Modules that cannot be imported, in the declared order and in one process: torch before what was built for it."""
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException as error:  # whatever an import raises, SystemExit included, is a failed smoke test
            text = str(error).strip().splitlines()
            yield f"import {name}: {type(error).__name__}: {text[0] if text else 'no message'}"


def wrong_cuda(expected):
    """torch's CUDA, where one is declared."""
    if expected is None:
        return
    try:
        found = importlib.import_module("torch").version.cuda
    except Exception as error:
        yield f"torch.version.cuda: {type(error).__name__}: {error}"
        return
    if found != expected:
        yield f"torch.version.cuda is {found}, declared is {expected}"


def missing_architectures(expected, tool):
    """Architectures for which the kernels' libraries hold no code."""
    if not expected:
        return
    spec = importlib.util.find_spec("sgl_kernel")
    folders = list(spec.submodule_search_locations or []) if spec else []
    libraries = sorted(str(path) for folder in folders for path in Path(folder).rglob("*.so"))
    if not libraries:
        yield "sgl_kernel: no library in which to look for the declared architectures"
        return
    listed = subprocess.run([sys.executable, tool, *libraries], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        yield f"sgl_kernel: its architectures cannot be read: {listed.stderr.strip()}"
        return
    found = {name for names in json.loads(listed.stdout).values() for name in names}
    for name in expected:
        if name not in found:
            yield f"sgl_kernel holds no code for {name}, only for {', '.join(sorted(found)) or 'none'}"


def main():
    """Runs every test and prints what is wrong."""
    lock, declared, tool, *wheels = sys.argv[1:]
    test = json.loads(Path(declared).read_text(encoding="utf-8"))
    wrong = [
        *wrong_versions(Path(lock).read_text(encoding="utf-8"), wheels),
        *failed_imports(test.get("imports", [])),
        *wrong_cuda(test.get("cuda")),
        *missing_architectures(test.get("architectures", []), tool),
    ]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

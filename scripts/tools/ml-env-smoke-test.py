"""Managed by proxmox-gpu-stack: what must hold before an environment is switched to. Run by its own interpreter.

usage: smoke-test.py [--record FILE | --recorded FILE] LOCK SMOKE_TEST_JSON ARCHITECTURES_TOOL [BUILT_WHEEL…]

Ends with 1 and one line for each thing that is wrong.

--record leaves what the imports used outside of the environment (the interpreter's modules, the system's libraries, programs) with
its checksums, and the processor's features. --recorded is such a file of the same environment, tested in another container: where all
of that is the same here, the imports would only take the same time again, and are not repeated.
"""

import argparse
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

# Not files of the system, or different in every container whatever is installed there.
PASSING = ("/dev/", "/home/", "/proc/", "/root/", "/run/", "/sys/", "/var/")


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


class Witness:
    """Notes every file and program that Python uses from now on, as its audit events tell them."""

    def __init__(self):
        self._seen = {module.__file__ or "" for module in sys.modules.values() if hasattr(module, "__file__")}
        sys.addaudithook(self._note)

    def _note(self, event, details):
        name = details[0] if details else None
        if event == "open" and isinstance(name, (str, bytes)):
            self._seen.add(os.fsdecode(name))
        elif event == "subprocess.Popen" and isinstance(name, (str, bytes)):
            self._seen.add(shutil.which(os.fsdecode(name)) or "")

    def files(self):
        """{path: checksum} of what was used and is not the environment's own."""
        own = (os.path.realpath(sys.prefix) + "/", os.path.realpath(Path(__file__).parent) + "/")
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            self._seen.add(line.split(None, 5)[5] if line.count("/") else "")
        used = {os.path.realpath(source(path)) for path in self._seen if path.startswith("/")}
        return {path: checksum(path) for path in sorted(used) if os.path.isfile(path) and not path.startswith(own + PASSING)}


def source(path):
    """The module of a compiled file, which is not the same to the byte each time; any other file as it is."""
    try:
        return importlib.util.source_from_cache(path)
    except ValueError:
        return path


def checksum(path):
    """SHA-256 of a file, or nothing where it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def processor():
    """What the processor can do: libraries choose their code by it."""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return " ".join(sorted(found[1].split())) if found else ""


def differs_from(recorded, test):
    """Why what was tested elsewhere says nothing about here; nothing when it does."""
    try:
        there = json.loads(Path(recorded).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "no record of the test"
    if there["test"] != test:
        return "another test"
    if there["processor"] != processor():
        return "another processor"
    return next((path for path, digest in there["files"].items() if checksum(path) != digest), "")


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


def read_command_line():
    """The options and words of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--record")
    parser.add_argument("--recorded")
    parser.add_argument("lock", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("tool")
    parser.add_argument("wheels", nargs="*")
    return parser.parse_args()


def test_imports(test, options):
    """What is wrong with the imports, and with the CUDA that they bring."""
    if options.recorded:
        difference = differs_from(options.recorded, test)
        if not difference:
            print("imports not repeated: everything they use is the same as where they were tested")
            return []
        print(f"imports repeated here: {difference}")
    witness = Witness()
    wrong = [*failed_imports(test.get("imports", [])), *wrong_cuda(test.get("cuda"))]
    if options.record and not wrong:
        record = {"test": test, "processor": processor(), "files": witness.files()}
        Path(options.record).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return wrong


def main():
    """Runs every test and prints what is wrong."""
    options = read_command_line()
    test = json.loads(options.test.read_text(encoding="utf-8"))
    wrong = [
        *wrong_versions(options.lock.read_text(encoding="utf-8"), options.wheels),
        *test_imports(test, options),
        *missing_architectures(test.get("architectures", []), options.tool),
    ]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

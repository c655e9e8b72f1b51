"""What must hold before a wheel counts: its version, its GPU code, and that it imports with the environment's torch."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from .environment import BuildEnvironment
from .failure import Failure, say
from .wheel_file import metadata_of


def _normalized(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def check_name(wheel: Path, package: str, version: str) -> None:
    """The source made what the recipe names."""
    name, said = metadata_of(wheel)
    if _normalized(name) != _normalized(package) or said.split("+")[0] != version:
        raise Failure(
            f"the source makes {name} {said}, wheels.toml says {package} {version}",
            "correct package and version in wheels.toml, or name another source",
        )


def check_architectures(wheel: Path, architectures: tuple[str, ...], tool: Path, scratch: Path) -> None:
    """The wheel's libraries hold code for each of the architectures."""
    if not architectures:
        return
    shutil.rmtree(scratch, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch, [name for name in archive.namelist() if ".so" in name])
    command = [sys.executable, str(tool), "--require", ",".join(architectures), str(scratch)]
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    shutil.rmtree(scratch, ignore_errors=True)
    if result.returncode != 0:
        raise Failure(
            f"{wheel.name} has {result.stderr.strip()}",
            "correct architectures in wheels.toml, or the settings that decide what nvcc compiles for",
        )


def check_import(wheel: Path, environment: BuildEnvironment, imports: tuple[str, ...]) -> None:
    """Every module imports, in a process of its own, from the wheel as it would be installed."""
    target = environment.work / "import"
    shutil.rmtree(target, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    program = "import importlib, sys\nfor name in sys.argv[1:]:\n  importlib.import_module(name)"
    variables = {**environment.variables(), "PYTHONPATH": str(target)}
    result = subprocess.run(
        [str(environment.python), "-c", program, *imports], env=variables, text=True, capture_output=True, check=False, cwd="/"
    )
    shutil.rmtree(target, ignore_errors=True)
    if result.returncode != 0:
        error = (result.stderr.strip().splitlines() or ["no message"])[-1]
        torch = environment.torch()
        raise Failure(
            f"{wheel.name} does not import with torch {torch or '(none)'}: {error}",
            "an undefined symbol means another torch than the one it was compiled with; see patches/ for imports that may fail",
        )
    say(f"imports {', '.join(imports)}")

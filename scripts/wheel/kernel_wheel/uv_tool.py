"""uv, which makes virtual environments and runs build backends: from the wheelhouse, or by pip from its own hashed lock.

The folder is shared with the environments' own builds (scripts/tools/ml-env-build): the same place, the same lock.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from .archives import sha256_of
from .failure import Failure, say

STORE = Path("/opt/proxmox-gpu-stack")


def _unpack(wheel: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".data/scripts/uv"))
        program = folder / "bin" / "uv"
        program.parent.mkdir()
        program.write_bytes(archive.read(name))
        program.chmod(0o755)


def _install(lock: Path, folder: Path, index: str) -> None:
    command = [sys.executable, "-m", "venv", str(folder)]
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
    pip += ["--index-url", index] if index else []
    for step in (command, [*pip, "--requirement", str(lock)]):
        result = subprocess.run(step, text=True, capture_output=True, check=False)
        if result.returncode != 0:
            last = (result.stderr or result.stdout).strip().splitlines()[-3:]
            raise Failure("uv could not be installed: " + " ".join(last), "check that this container reaches its package index")


def install(lock: Path, index: str, wheels: list[Path] | None) -> Path:
    """The path of the pinned uv. `wheels`: the files of the wheelhouse; None: packages come from the index."""
    match = re.search(r"^uv==([^ \\]+)", lock.read_text("utf-8"), re.MULTILINE)
    if match is None:
        raise Failure(f"{lock} names no uv")
    folder = STORE / f"uv-{match[1]}"
    STORE.mkdir(parents=True, exist_ok=True)
    with (STORE / "tools.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if (folder / ".complete").exists():
            return folder / "bin" / "uv"
        say(f"installing uv {match[1]}")
        shutil.rmtree(folder, ignore_errors=True)
        if wheels is None:
            _install(lock, folder, index)
        else:
            found = [path for path in wheels if re.match(r"uv-.*\.whl$", path.name)]
            if not found or sha256_of(found[0]) != found[0].parent.name:
                raise Failure("the wheelhouse holds no undamaged wheel of uv", "./stack wheelhouse push STACK sends it to the host")
            _unpack(found[0], folder)
        (folder / ".complete").touch()
    return folder / "bin" / "uv"

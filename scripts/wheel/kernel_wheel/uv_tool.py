"""uv, which makes virtual environments and runs build backends: the one file that the lock names, from the wheelhouse or an index.

The folder is shared with the environments' own builds (scripts/tools/ml-env-build): the same place, the same file.
"""

from __future__ import annotations

import configparser
import fcntl
import http.client
import re
import shutil
import zipfile
from pathlib import Path

import package_index

from .archives import sha256_of
from .failure import Failure, say

STORE = Path("/opt/proxmox-gpu-stack")


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".data/scripts/uv"))
        program = folder / "bin" / "uv"
        program.parent.mkdir()
        program.write_bytes(archive.read(name))
        program.chmod(0o755)


def index_of(declared: str) -> str:
    """The declared package index, else the one that the container is configured for, as for environments."""
    try:
        return declared or package_index.machine_index()
    except configparser.Error as error:
        cause = f"pip's configuration cannot be read: {error}".replace("\n", " ")
        raise Failure(cause, "correct it in the container, or name the environment's index in the stack file") from error


def _from_wheelhouse(name: str, sha256: str, wheels: list[Path]) -> Path:
    found = next((path for path in wheels if path.name == name), None)
    if found is None or sha256_of(found) != sha256:
        raise Failure("the wheelhouse holds no undamaged wheel of uv", "./stack wheelhouse push STACK sends it to the host")
    return found


def _from_index(name: str, sha256: str, index: str, folder: Path) -> Path:
    try:
        package_index.bring(package_index.Index(index, package_index.request), name, sha256, str(folder))
    except LookupError as error:
        raise Failure(f"uv could not be had: {error.args[0]}", "run ./stack pin, then up again") from error
    except (OSError, http.client.HTTPException) as error:
        raise Failure(
            f"uv could not be had: {package_index.explain(error)}", "check that this container reaches its package index"
        ) from error
    return folder / name


def install(listed: Path, index: str, wheels: list[Path] | None) -> Path:
    """The path of the pinned uv. `listed`: SHA256 BYTES NAME; `wheels`: the files of the wheelhouse, None: it comes from the index."""
    sha256, _bytes, name = listed.read_text("utf-8").split()
    match = re.match(r"uv-([^-]+)-", name)
    if match is None:
        raise Failure(f"{listed} names no uv")
    folder = STORE / f"uv-{match[1]}"
    STORE.mkdir(parents=True, exist_ok=True)
    with (STORE / "tools.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if (folder / ".complete").exists():
            return folder / "bin" / "uv"
        say(f"installing uv {match[1]}")
        aside = folder.with_name(folder.name + ".partial")
        for left in (aside, folder):
            shutil.rmtree(left, ignore_errors=True)
        aside.mkdir()
        wheel = _from_index(name, sha256, index, aside / "wheel") if wheels is None else _from_wheelhouse(name, sha256, wheels)
        _unpack(wheel, aside)
        shutil.rmtree(aside / "wheel", ignore_errors=True)
        (aside / ".complete").touch()
        aside.rename(folder)
    return folder / "bin" / "uv"

"""Patches are applied strictly: a context that differs means that somebody must look."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .failure import Failure


def _run(folder: Path, patch: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["patch", "--batch", "--forward", "--strip=1", "--no-backup-if-mismatch", "--reject-file=-", *options, f"--input={patch}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"},
    )


def failed_hunks(output: str) -> list[str]:
    """"FILE hunk 2 (line 17)" for everything that `patch` says it could not do."""
    failed = []
    file = ""
    for line in output.splitlines():
        if named := re.match(r"(?:checking|patching) file '?([^']+?)'?$", line):
            file = named[1]
        elif hunk := re.match(r"Hunk #(\d+) (?:FAILED|ignored) at (\d+)", line):
            failed.append(f"{file} hunk {hunk[1]} (line {hunk[2]})")
        elif "can't find file to patch" in line:
            failed.append("a file that the source does not have")
        elif "Reversed (or previously applied)" in line:
            failed.append(f"{file}, which has the change already")
    return failed


def missing_files(folder: Path, patch: Path) -> list[str]:
    """Files that the patch changes and the source does not have."""
    names = re.findall(r"^--- a/(\S+)", patch.read_text("utf-8", "replace"), re.MULTILINE)
    return [name for name in names if not (folder / name).is_file()]


def apply(folder: Path, patches: list[Path], package: str) -> None:
    """Applies a package's patches in order. Raises Failure naming patch, file and hunk; nothing of that patch is applied."""
    for patch in patches:
        trial = _run(folder, patch, "--dry-run", "--fuzz=0")
        if trial.returncode == 0:
            _run(folder, patch, "--fuzz=0").check_returncode()
            continue
        missing = missing_files(folder, patch)
        where = [f"{name}, which the source does not have" for name in missing] or failed_hunks(trial.stdout + trial.stderr)
        loose = _run(folder, patch, "--dry-run", "--fuzz=2").returncode == 0
        reason = "its context differs (it would apply only with fuzz)" if loose else "the source is not what it was made for"
        told = "; ".join(where) or (trial.stdout + trial.stderr).strip().splitlines()[-1]
        raise Failure(
            f"patch {package}/{patch.name} does not apply to {told}: {reason}",
            "make the patch anew against this source, or take it out if the source has the change; "
            "`make check-patches SOURCE=ARCHIVE` tries it without a build",
        )

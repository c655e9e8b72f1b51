"""Source archives: from the wheelhouse or downloaded, never used unverified, unpacked aside."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

from .failure import Failure, say
from .recipe import Archive


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def from_wheelhouse(archive: Archive, wheelhouse: Path) -> Path | None:
    """The verified file in the wheelhouse, under whatever name; None when it is not there."""
    for path in sorted((wheelhouse / "files" / archive.sha256).glob("*")):
        if path.name.endswith(".partial"):
            continue
        if sha256_of(path) != archive.sha256:
            raise Failure(
                f"{path}, the source of {archive.name}, does not have its checksum",
                "on the host, remove that file from the wheelhouse and bring it again: ./stack wheelhouse push STACK",
            )
        return path
    return None


def download(archive: Archive, folder: Path) -> Path:
    """The verified file from its address; an interrupted download is resumed."""
    path = folder / f"{archive.sha256[:12]}-{archive.file_name}"
    if path.exists() and sha256_of(path) == archive.sha256:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    say(f"downloading {archive.url}")
    command = ["curl", "--fail", "--silent", "--show-error", "--location", "--globoff", "--retry", "5", "--retry-delay", "2"]
    command += ["--retry-connrefused", "--connect-timeout", "20", "--output", str(partial)]
    if subprocess.run([*command, "--continue-at", "-", archive.url], check=False).returncode != 0:
        partial.unlink(missing_ok=True)
        if subprocess.run([*command, archive.url], check=False).returncode != 0:
            raise Failure(
                f"{archive.url}, the source of {archive.name}, could not be downloaded",
                "check that this container reaches the address, or bring the file through the wheelhouse",
            )
    actual = sha256_of(partial)
    if actual != archive.sha256:
        partial.unlink()
        raise Failure(
            f"{archive.url} has sha256 {actual}, wheels.toml says {archive.sha256}; the file was thrown away",
            "an archive that changed under its address is a reason to stop: compare it with the one that was pinned",
        )
    partial.rename(path)
    return path


def fetch(archive: Archive, wheelhouse: Path, downloads: Path) -> Path:
    """The verified archive."""
    return from_wheelhouse(archive, wheelhouse) or download(archive, downloads)


def unpack(path: Path, folder: Path) -> None:
    """Makes `folder` the archive's single top folder."""
    aside = folder.with_name(folder.name + ".unpacking")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(aside)
        else:
            with tarfile.open(path) as archive:
                # The filter refuses names that lead out of the folder; Python before 3.11.4 has none.
                if hasattr(tarfile, "data_filter"):
                    archive.extractall(aside, filter="tar")
                else:
                    archive.extractall(aside)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise Failure(f"{path} is no archive that Python reads: {error}", "wheels.toml names .tar.gz, .tar.xz, .tar or .zip files")
    entries = [entry for entry in aside.iterdir() if entry.name != "pax_global_header"]
    if len(entries) != 1 or not entries[0].is_dir():
        names = ", ".join(sorted(entry.name for entry in entries)[:5])
        raise Failure(f"{path} must hold one folder at its top; it holds {names}", "name another archive in wheels.toml")
    shutil.rmtree(folder, ignore_errors=True)
    entries[0].rename(folder)
    shutil.rmtree(aside)

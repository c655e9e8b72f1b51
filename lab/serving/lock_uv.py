"""Pins uv with the hashes of its wheels for x86_64 and aarch64 Linux.

usage: lock_uv.py VERSION INDEX_URL FOLDER

Writes FOLDER/uv.lock.txt, a pip requirements file, and FOLDER/uv.wheelhouse.json, the file that a wheelhouse holds.
"""

import json
import sys
import urllib.parse
import urllib.request
from pathlib import Path

PLATFORMS = (
    "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "manylinux_2_28_aarch64",
)
ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json"}


def size_of(index, entry):
    """Bytes of a file: an index need not tell them."""
    if entry.get("size"):
        return entry["size"]
    with urllib.request.urlopen(urllib.parse.urljoin(f"{index.rstrip('/')}/uv/", entry["url"])) as response:
        return len(response.read())


def main():
    """Reads the index and writes both files. Ends with 1 where a platform has no wheel."""
    version, index, folder = sys.argv[1:]
    with urllib.request.urlopen(urllib.request.Request(f"{index.rstrip('/')}/uv/", headers=ACCEPT)) as response:
        files = json.load(response)["files"]
    wheels = {}
    for entry in files:
        for platform in PLATFORMS:
            if entry["filename"] == f"uv-{version}-py3-none-{platform}.whl":
                wheels[platform] = entry
    for machine in ("x86_64", "aarch64"):
        if not any(platform.endswith(machine) for platform in wheels):
            sys.exit(
                f"lock_uv: uv {version} has no wheel for {machine} Linux; wheels of that version: "
                f"{[entry['filename'] for entry in files if entry['filename'].startswith(f'uv-{version}-')]}"
            )
    hashes = sorted(entry["hashes"]["sha256"] for entry in wheels.values())
    lock = [
        "# Made by lab/serving/lock --uv; the steps install uv from it with pip --require-hashes.",
        f"uv=={version} \\",
        " \\\n".join(f"    --hash=sha256:{value}" for value in hashes),
    ]
    Path(folder, "uv.lock.txt").write_text("\n".join(lock) + "\n", encoding="utf-8")
    ours = next(entry for platform, entry in wheels.items() if platform.endswith("x86_64"))
    held = {
        "bytes": size_of(index, ours),
        "name": ours["filename"],
        "package": "uv",
        "sha256": ours["hashes"]["sha256"],
    }
    text = json.dumps({"files": [held]}, indent=2)
    Path(folder, "uv.wheelhouse.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

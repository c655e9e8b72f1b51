"""Writes wheelhouse.json beside a lock: the files of it for x86_64 Linux and Python 3.11, as pip chooses them.

usage: list_files.py PIP INDEX_URL LOCK OUT
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PLATFORMS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64", "any")
CHOICE = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none"]


def main():
    """Downloads the lock's wheels and lists them."""
    pip, index, lock, out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        command = [pip, "download", "--quiet", "--disable-pip-version-check", "--index-url", index, "--require-hashes"]
        command += ["--no-deps", "--only-binary", ":all:", "--dest", folder, "--requirement", lock, *CHOICE]
        command += [word for platform in PLATFORMS for word in ("--platform", platform)]
        subprocess.run(command, check=True)
        files = [
            {
                "bytes": path.stat().st_size,
                "name": path.name,
                "package": path.name.split("-")[0].replace("_", "-").replace(".", "-").lower(),
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(Path(folder).iterdir())
        ]
    Path(out).write_text(json.dumps({"files": files}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

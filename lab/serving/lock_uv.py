"""Prints a pip requirements file that pins uv with the hashes of its wheels for x86_64 and aarch64 Linux.

usage: lock_uv.py VERSION INDEX_URL
"""

import json
import sys
import urllib.request

PLATFORMS = (
    "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "manylinux_2_28_aarch64",
)
ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json"}


def main():
    """Reads the index and prints the file. Ends with 1 where a platform has no wheel."""
    version, index = sys.argv[1:]
    with urllib.request.urlopen(urllib.request.Request(f"{index.rstrip('/')}/uv/", headers=ACCEPT)) as response:
        files = json.load(response)["files"]
    hashes = {}
    for entry in files:
        for platform in PLATFORMS:
            if entry["filename"] == f"uv-{version}-py3-none-{platform}.whl":
                hashes[platform] = entry["hashes"]["sha256"]
    for machine in ("x86_64", "aarch64"):
        if not any(platform.endswith(machine) for platform in hashes):
            sys.exit(
                f"lock_uv: uv {version} has no wheel for {machine} Linux; wheels of that version: "
                f"{[entry['filename'] for entry in files if entry['filename'].startswith(f'uv-{version}-')]}"
            )
    print("# Made by lab/serving/lock --uv; the steps install uv from it with pip --require-hashes.")
    print(f"uv=={version} \\")
    print(" \\\n".join(f"    --hash=sha256:{value}" for value in sorted(hashes.values())))


if __name__ == "__main__":
    main()

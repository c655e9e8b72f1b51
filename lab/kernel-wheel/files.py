"""What the lab's kernel environment is made of: stand-ins made here, and packages of the machine's Python package index."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
ENVIRONMENT = REPOSITORY / "environments" / "kernel-wheel-lab"
SGLANG = REPOSITORY / "environments" / "lab-sglang-0.5.11"
TORCH = "2.9.1+lab"


def sha256_of(path):
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make(folder):
    """Builds the stand-ins into a folder: {file name: path}."""
    subprocess.run([str(HERE / "build"), str(folder)], check=True, stdout=subprocess.DEVNULL)
    wheel = [sys.executable, str(HERE.parent / "serving" / "build-wheel"), "0.5.11", str(folder)]
    subprocess.run(wheel, check=True, stdout=subprocess.DEVNULL)
    return {path.name: path for path in Path(folder).iterdir()}


def build_requirements():
    """(file pattern, name, version, sha256) of each package in build.lock."""
    text = (ENVIRONMENT / "build.lock").read_text("utf-8").replace("\\\n", " ")
    return re.findall(r"^([a-z0-9-]+)==(\S+)\s+--hash=sha256:([0-9a-f]{64})", text, re.MULTILINE)


def download(requirements, folder):
    """Downloads [(name, version, sha256)] into a folder, each file by its hash."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("".join(f"{name}=={version} --hash=sha256:{sha256}\n" for name, version, sha256 in requirements))
        listing.flush()
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp"]
        for tag in ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "any"):
            command += ["--platform", tag]
        command += ["--abi", "cp311", "--abi", "abi3", "--abi", "none", "--dest", str(folder), "--requirement", listing.name]
        subprocess.run(command, check=True)


def listed():
    """The entries of the environment's wheelhouse.json and of uv's."""
    entries = []
    for path in (ENVIRONMENT / "wheelhouse.json", REPOSITORY / "environments" / "uv.wheelhouse.json"):
        entries += json.loads(path.read_text("utf-8"))["files"]
    return entries

"""Builds the stand-in's wheel for one SGLang release: the same bytes from the same sources on every machine.

The wheel holds the modules in source/sglang and the release's flag table out of catalog/releases/<version>.json.
"""

import base64
import hashlib
import io
import json
import os
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source"
RELEASES = HERE.parent.parent / "catalog" / "releases"
# Two real packages that the stand-in uses: one pure, one with compiled wheels per interpreter and platform.
REQUIREMENTS = ("orjson>=3.10", "prometheus-client>=0.20")
FIXED_TIME = (2026, 1, 1, 0, 0, 0)
ENTRY_POINTS = "[console_scripts]\nsglang = sglang.command:main\n"


class UnknownReleaseError(Exception):
    """A version for which the catalog has no data."""


def releases():
    """The versions that can be built: those of the catalog, oldest first."""
    return sorted((path.stem for path in RELEASES.glob("*.json")), key=version_key)


def version_key(version):
    """A version as numbers that sort as releases do."""
    return [int(number) for number in version.replace("post", "").split(".")]


def release_data(version):
    """The catalog's data of a release. Raises UnknownReleaseError naming the versions there are."""
    path = RELEASES / f"{version}.json"
    if not path.is_file():
        raise UnknownReleaseError(f"no data of SGLang {version} in catalog/releases; there are {', '.join(releases())}")
    return json.loads(path.read_text(encoding="utf-8"))


def metadata(version, data):
    """The METADATA file."""
    lines = [
        "Metadata-Version: 2.1",
        "Name: sglang",
        f"Version: {version}",
        "Summary: Stand-in for SGLang in the proxmox-gpu-stack lab. It is not SGLang.",
        f"Requires-Python: {data['requiresPython']}",
        *(f"Requires-Dist: {requirement}" for requirement in REQUIREMENTS),
    ]
    return "\n".join(lines) + "\n"


def contents(version):
    """{path in the wheel: bytes} without RECORD."""
    data = release_data(version)
    files = {f"sglang/{path.name}": path.read_bytes() for path in sorted((SOURCE / "sglang").glob("*.py"))}
    table = {"version": version, "flags": data["flags"]}
    files["sglang/_release.json"] = (json.dumps(table, sort_keys=True, indent=1) + "\n").encode()
    information = f"sglang-{version}.dist-info"
    files[f"{information}/METADATA"] = metadata(version, data).encode()
    files[f"{information}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: proxmox-gpu-stack lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{information}/entry_points.txt"] = ENTRY_POINTS.encode()
    return files


def record(files, path):
    """The RECORD file: checksum and size of every file, its own line without them."""
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines) + f"{path},,\n"


def build(version):
    """The wheel as bytes: entries sorted, uncompressed, with fixed times and modes."""
    files = contents(version)
    path = f"sglang-{version}.dist-info/RECORD"
    files[path] = record(files, path).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return buffer.getvalue()


def file_name(version):
    """The wheel's file name."""
    return f"sglang-{version}-py3-none-any.whl"


def write(version, folder):
    """Builds a release's wheel into a folder, aside and then renamed. Returns its path."""
    data = build(version)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file_name(version)
    aside = folder / f".{target.name}.{os.getpid()}"
    aside.write_bytes(data)
    aside.rename(target)
    return target

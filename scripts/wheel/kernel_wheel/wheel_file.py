"""A wheel as a file: what it says of itself, and a copy with a local version."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

from .failure import Failure

EARLIEST = (1980, 1, 1, 0, 0, 0)


def metadata_of(path: Path) -> tuple[str, str]:
    """Name and version of a wheel, from its metadata."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        if len(names) != 1:
            raise Failure(f"{path} is no wheel: it holds {len(names)} METADATA files")
        text = archive.read(names[0]).decode("utf-8")
    fields = dict(re.findall(r"^(Name|Version): *(.+?)\r?$", text.split("\n\n", 1)[0], re.MULTILINE))
    return fields["Name"], fields["Version"]


def _record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")
    return f"{name},sha256={digest},{len(content)}"


def relabel(path: Path, version: str, folder: Path) -> Path:
    """A copy of the wheel in `folder` under another version. Times are fixed: the same content gives the same file."""
    distribution, old, *tags = path.name.removesuffix(".whl").split("-")
    target = folder / "-".join([distribution, version, *tags])
    target = target.with_name(target.name + ".whl")
    old_info, new_info = f"{distribution}-{old}.dist-info/", f"{distribution}-{version}.dist-info/"
    aside = target.with_name(target.name + ".new")
    record = []
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as copy:
        for entry in sorted(source.infolist(), key=lambda item: item.filename):
            if entry.is_dir() or entry.filename == old_info + "RECORD":
                continue
            content = source.read(entry)
            name = entry.filename
            if name.startswith(old_info):
                name = new_info + name.removeprefix(old_info)
                if name == new_info + "METADATA":
                    content = re.sub(rb"^Version: .*$", b"Version: " + version.encode(), content, count=1, flags=re.MULTILINE)
            _write(copy, name, content, entry.external_attr)
            record.append(_record_line(name, content))
        record.append(f"{new_info}RECORD,,")
        _write(copy, new_info + "RECORD", ("\n".join(record) + "\n").encode(), 0o644 << 16)
    aside.rename(target)
    return target


def _write(archive: zipfile.ZipFile, name: str, content: bytes, attributes: int) -> None:
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = attributes
    archive.writestr(entry, content)

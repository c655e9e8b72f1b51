#!/usr/bin/env python3
"""cuda-architectures.py [--require sm_XX[,sm_YY]] FILE...: the GPU architectures whose machine code ELF files hold.

Reads the fat binaries in the sections .nv_fatbin and __nv_relfatbin: Python's standard library only, no CUDA, compressed code too.
Prints one JSON object {file: [architectures]}. A folder stands for all shared libraries in it. With --require, the files
together must hold code for each of the named ones; ends with 1 and says what is missing.

PTX is left out: it is compiled on the machine that runs it, and says nothing about what runs at once.

The layout is NVIDIA's and undocumented. Read from what nvcc 13.0 writes for sm_80, sm_90, sm_90a, sm_100f, sm_103a, sm_120 and
sm_120a (test/scripts/fixtures), and from the wheel of sgl-kernel 0.3.21 (CUDA 12.9).
"""

from __future__ import annotations

import argparse
import json
import mmap
import re
import struct
import sys
from pathlib import Path
from typing import Iterator

MAGIC = 0xBA55ED50
HEADER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the entries
ENTRY = struct.Struct("<HHIQIIHHI")  # kind, -, header size, size, compressed size, -, minor, major, architecture
FLAGS_AT = 40
MACHINE_CODE = 2
SPECIFIC = 1 << 20  # sm_90a, sm_120a: one chip only
FAMILY = 1 << 21  # sm_100f: a family of chips


class Unreadable(Exception):
    """A file that is no 64-bit little-endian ELF file, or whose fat binaries are not laid out as known."""


def sections(data: mmap.mmap | bytes) -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of each section of an ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise Unreadable("no 64-bit little-endian ELF file")
    table = struct.unpack_from("<Q", data, 40)[0]
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + index * entry_size) for index in range(count)]
    if not headers:
        return
    names = headers[names_index][4]
    for name, _kind, _flags, _address, offset, size in headers:
        end = data.find(b"\0", names + name)
        yield data[names + name : end].decode("ascii", "replace"), offset, size


def architecture(number: int, flags: int) -> str:
    """sm_120a for 120 with the flag of code for one chip."""
    return "sm_%d%s" % (number, "a" if flags & SPECIFIC else "f" if flags & FAMILY else "")


def in_fat_binaries(data: mmap.mmap | bytes, start: int, end: int) -> Iterator[str]:
    """The architectures of all machine code between two offsets: fat binaries one after another, padded with zeros."""
    place = start
    while place + HEADER.size <= end:
        magic, _version, header_size, size = HEADER.unpack_from(data, place)
        if magic != MAGIC:
            if magic != 0:
                raise Unreadable("no fat binary at offset %d: this version of CUDA lays them out differently" % place)
            place += 4
            continue
        entry, place = place + header_size, place + header_size + size
        while entry + ENTRY.size <= place:
            kind, _, entry_header, entry_size, _, _, _, _, number = ENTRY.unpack_from(data, entry)
            if entry_header == 0:
                raise Unreadable("an entry without a header at offset %d" % entry)
            if kind == MACHINE_CODE:
                yield architecture(number, struct.unpack_from("<Q", data, entry + FLAGS_AT)[0])
            entry += entry_header + entry_size


def sort_key(name: str) -> tuple[int, str]:
    """sm_90 before sm_120."""
    return int(re.sub(r"\D", "", name)), name


def architectures_of(path: Path) -> list[str]:
    """The architectures in one file, sorted. Raises Unreadable."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            raise Unreadable("empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = {
                name
                for section, offset, size in sections(data)
                if section in (".nv_fatbin", "__nv_relfatbin")
                for name in in_fat_binaries(data, offset, offset + size)
            }
    return sorted(found, key=sort_key)


def libraries(path: Path) -> list[Path]:
    """The file itself, or the shared libraries in a folder."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if re.search(r"\.so(\.\d+)*$", file.name) and file.is_file())


def main() -> int:
    """0: listed, and everything required is there; 1: something required is missing; 2: a file cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require", default="", help="architectures that must be there, separated by commas")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    found: dict[str, list[str]] = {}
    for path in [library for given in arguments.files for library in libraries(given)]:
        try:
            found[str(path)] = architectures_of(path)
        except (OSError, Unreadable) as error:
            print("%s: %s" % (path, error), file=sys.stderr)
            return 2
    print(json.dumps(found))
    present = {name for names in found.values() for name in names}
    missing = [name for name in arguments.require.split(",") if name and name not in present]
    if missing:
        held = " ".join(sorted(present, key=sort_key)) or "no machine code"
        print("no code for %s: the files hold %s" % (" ".join(missing), held), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Storages of /etc/pve/storage.cfg: what each may hold, and the files of directory storages."""

import os
import re

from labpve import config_file, node, property_string, sizes
from labpve.errors import PveError

FOLDERS = {
    "vztmpl": "template/cache",
    "iso": "template/iso",
    "snippets": "snippets",
    "backup": "dump",
    "import": "import",
}
"""Content type -> folder below a directory storage."""

ARCHIVE = r"\.tar\.(gz|xz|zst|bz2)$"


def load():
    """Storage id -> {type, path, content, …} as the file says."""
    result, current = {}, None
    with open(node.path("/etc/pve/storage.cfg"), encoding="utf-8") as file:
        for line in file:
            header = re.match(r"(\w+):\s*(\S+)", line)
            if header:
                current = result.setdefault(header[2], {"type": header[1]})
            elif current is not None and line.strip():
                key, _, value = line.strip().partition(" ")
                current[key] = value.strip()
    return result


def contents(entry):
    """Content types that a storage allows."""
    return [kind for kind in entry.get("content", "").split(",") if kind]


def get(storage, kind=None):
    """One storage; PveError when unknown or, with `kind`, when it may not hold that content."""
    entry = load().get(storage)
    if entry is None:
        raise PveError(f"storage '{storage}' does not exist")
    if kind and kind not in contents(entry):
        raise PveError(f"storage '{storage}' is not configured for content-type '{kind}'")
    return entry


def split_volume(volume):
    """(storage, name) of a volume id."""
    match = re.fullmatch(r"([A-Za-z][\w.-]*):(\S+)", volume)
    if not match:
        raise PveError(f"unable to parse volume ID '{volume}'")
    return match[1], match[2]


def split_file(volume):
    """(storage, content type, file name) of a volume that is a file of a directory storage."""
    storage, name = split_volume(volume)
    kind, slash, file_name = name.partition("/")
    is_file = slash and kind in FOLDERS and "/" not in file_name and file_name not in ("", ".", "..")
    if get(storage)["type"] != "dir" or not is_file:
        raise PveError(f"unable to parse directory volume name '{name}'")
    return storage, kind, file_name


def file_path(volume):
    """Path of a template, image or snippet; the file need not exist."""
    storage, kind, file_name = split_file(volume)
    return node.path(f"{get(storage)['path']}/{FOLDERS[kind]}/{file_name}")


def _format_of(file_name):
    archive = re.search(ARCHIVE, file_name)
    return f"t{archive[1]}" if archive else file_name.rsplit(".", 1)[-1]


def _files(storage, entry, kind):
    folder = node.path(f"{entry['path']}/{FOLDERS[kind]}")
    for file_name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        full = f"{folder}/{file_name}"
        unfinished = file_name.startswith(".") or ".tmp_dwnl." in file_name
        if unfinished or not os.path.isfile(full) or (kind == "vztmpl" and not re.search(ARCHIVE, file_name)):
            continue
        yield {
            "volid": f"{storage}:{kind}/{file_name}",
            "content": kind,
            "format": _format_of(file_name),
            "size": os.path.getsize(full),
            "ctime": int(os.path.getmtime(full)),
        }


def container_volumes(config):
    """(option, properties) of every allocated volume of a container, detached ones included."""
    for key, value in sorted(config.options.items()):
        if re.fullmatch(r"rootfs|(mp|unused)\d+", key):
            properties = property_string.parse(value, "volume")
            if not properties.get("volume", "").startswith("/"):
                yield key, properties


def _disks(storage):
    for vmid in config_file.vmids():
        for _, properties in container_volumes(config_file.load(vmid)):
            if properties.get("volume", "").startswith(f"{storage}:"):
                size = sizes.parse(properties.get("size", "0")) or 0
                yield {
                    "volid": properties["volume"],
                    "content": "rootdir",
                    "format": "raw",
                    "size": size,
                    "vmid": vmid,
                }


def listing(storage, kind=None):
    """Content of a storage, all of it or one content type."""
    entry = get(storage)
    result = []
    if entry["type"] == "dir":
        for each in contents(entry):
            if each in FOLDERS and kind in (None, each):
                result += _files(storage, entry, each)
    if kind in (None, "rootdir", "images"):
        result += _disks(storage)
    return result


def space(entry):
    """Size, use and state of a storage in bytes; every storage lies on the host's own disk."""
    disk = os.statvfs(node.path("/var/lib"))
    total, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    return {
        "total": total,
        "avail": free,
        "used": total - free,
        "type": entry["type"],
        "content": entry.get("content", ""),
        "active": 1,
        "enabled": 1,
        "shared": 0,
    }

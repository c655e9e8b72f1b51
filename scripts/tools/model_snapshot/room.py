"""Room on the disk, and what to delete where there is too little."""

import os
import shutil

from .files import SnapshotError, files_below, human

# Endings of what lies beside a snapshot's folder, and what each is.
LEFT_OVER = {
    ".incomplete": "an unfinished download",
    ".replaced": "files that are no part of a snapshot",
    ".old": "an earlier revision",
}


def size_below(folder):
    """Bytes on the disk below a folder; what has several names counts once."""
    found = {}
    for path in files_below(folder):
        entry = os.lstat(os.path.join(folder, path))
        found[entry.st_ino] = entry.st_blocks * 512
    return sum(found.values())


def beside(path):
    """The largest folders beside a snapshot, as a person would look for what to delete."""
    parent = os.path.dirname(path)
    folders = [
        entry.path for entry in os.scandir(parent) if entry.is_dir(follow_symlinks=False) and entry.path != path + ".incomplete"
    ]
    sizes = sorted(((size_below(folder), folder) for folder in folders), reverse=True)[:5]
    kinds = {
        folder: next((kind for end, kind in LEFT_OVER.items() if end in os.path.basename(folder)), "") for _, folder in sizes
    }
    return ", ".join(f"{folder} {human(size)}{kinds[folder] and f' ({kinds[folder]})'}" for size, folder in sizes if size)


def no_room(what, path, needed):
    """The error that says what is needed, what is free, where, and what lies there."""
    parent = os.path.dirname(path)
    free = shutil.disk_usage(parent).free
    there = beside(path)
    return SnapshotError(
        f"{what} needs {human(needed)} more in {parent}, free are {human(free)}",
        "make room there, then run `up` again; what was fetched is kept" + (f". There are: {there}" if there else ""),
    )


def require_room(what, path, needed):
    if needed > shutil.disk_usage(os.path.dirname(path)).free:
        raise no_room(what, path, needed)

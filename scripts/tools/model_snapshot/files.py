"""Files of a snapshot: what identifies their content, and the record of what was verified."""

import contextlib
import hashlib
import json
import os

RECORD = ".snapshot.json"
# Folder of contents that are still on their way.
PARTIAL = ".partial"


class SnapshotError(Exception):
    """What went wrong, with the file's name, and the way on."""

    def __init__(self, cause, way_on="run `up` again when the cause is gone; what was fetched is kept and resumed"):
        super().__init__(cause)
        self.way_on = way_on


def human(count):
    """A number of bytes for a person."""
    if count < 1000:
        return f"{count} bytes"
    for unit in ("kB", "MB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} GB"


def content(file):
    """What identifies a file's content: its SHA-256, or git's blob id."""
    return file.get("sha256") or file["gitBlob"]


def new_digest(file):
    """An empty digest of the file's kind. A blob id is a SHA-1 over a header and the content."""
    return hashlib.sha256() if "sha256" in file else hashlib.sha1(b"blob %d\0" % file["bytes"])


def size_of(path):
    return os.path.getsize(path) if os.path.isfile(path) else 0


def files_below(folder):
    """Every file below a folder, as paths relative to it."""
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder)


def load_record(folder):
    """What is known of a folder's files: {repo, revision, files: {path: file}}; None where we have written nothing."""
    try:
        with open(os.path.join(folder, RECORD), encoding="utf-8") as stream:
            record = json.load(stream)
        files = {file["path"]: file for file in record["files"] if file["mtimeNs"] and content(file)}
        return {"repo": record["repo"], "revision": record["revision"], "files": files}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_untouched(folder, file):
    """Has a recorded file still the size and time that it had when its hash was compared?"""
    try:
        found = os.stat(os.path.join(folder, file["path"]))
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (file["bytes"], file["mtimeNs"])


def hash_into(digest, full, progress=None):
    """Adds a file's content to a digest; returns how many bytes that were."""
    count = 0
    with contextlib.suppress(FileNotFoundError), open(full, "rb", buffering=0) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            count += len(block)
            if progress:
                progress.add(len(block))
    return count


def has_content(full, file, progress=None):
    digest = new_digest(file)
    hash_into(digest, full, progress)
    return digest.hexdigest() == content(file)

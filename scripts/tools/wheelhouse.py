"""Brings the files of a lock into a wheelhouse, checks them, and shows them to an installer.

A wheelhouse is a folder, the same on a workstation, on a host, on NFS and behind an HTTP mirror:
files/<sha256>/<file name>. A list is a wheelhouse.json: {"files": [{"name", "sha256", "bytes", "package", "index", "url"}]}.

Exit codes: 0 fine, 1 a file cannot be had, 2 files are missing or corrupt, 3 used wrongly.
"""

import argparse
import concurrent.futures
import errno
import fcntl
import hashlib
import http.client
import json
import os
import re
import shutil
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import package_index
from model_snapshot.hub import retry_after
from package_index import explain, request

CHUNK = 1 << 20
ATTEMPTS = 6
WORKERS = 6


class WheelhouseError(Exception):
    """One line for a person: which file, and why."""


def index_at(url):
    """A package index; None: the one of this machine."""
    return package_index.Index(url or package_index.machine_index(), request)


# --- fetching --------------------------------------------------------------------------------------------------------


def path_of(folder, file):
    return os.path.join(folder, "files", file["sha256"], file["name"])


def digest_of(path):
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Progress:
    """Bytes on standard error: a line that is rewritten on a terminal, else one every ten seconds."""

    def __init__(self, files, total):
        self.files, self.total, self.done, self.fetched, self.verified = files, total, 0, 0, 0
        self.guard, self.start, self.shown = threading.Lock(), time.monotonic(), time.monotonic()
        self.terminal = sys.stderr.isatty()

    def add(self, bytes_, fetched=True):
        with self.guard:
            self.done += bytes_
            self.fetched += bytes_ if fetched else 0
            if time.monotonic() - self.shown >= (0.5 if self.terminal else 10):
                self.show()

    def is_worth_showing(self):
        """What took a second or more gets a last line."""
        return self.files > 0 and time.monotonic() - self.start >= 1

    def finish_file(self):
        with self.guard:
            self.verified += 1

    def show(self):
        self.shown = time.monotonic()
        elapsed = self.shown - self.start
        speed = self.fetched / elapsed if elapsed > 0 else 0
        left = f", {(self.total - self.done) / speed:.0f} s left" if speed > 0 and self.total >= self.done else ""
        text = (
            f"[{elapsed:.0f}s] {self.verified} of {self.files} files, {megabytes(self.done)} of {megabytes(self.total)} MB"
            f", {speed / 1e6:.0f} MB/s{left}"
        )
        print(f"\r{text:<79}" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)


def megabytes(bytes_):
    return f"{bytes_ / 1e6:.0f}"


class Fetcher:
    """Brings files into a wheelhouse: from the mirror where one is named, else from their address or their index."""

    def __init__(self, folder, mirror, default_index, named_indexes):
        self.folder, self.mirror = folder, mirror.rstrip("/") if mirror else None
        self.named = {name: index_at(url) for name, url in named_indexes.items()}
        self.default_index, self.guard = index_at(default_index) if default_index else None, threading.Lock()
        self.progress = Progress(0, 0)

    def index_for(self, file):
        name = file.get("index")
        if name is not None:
            if name not in self.named:
                raise LookupError(f"comes from the index {name}, and no --index-of {name}=URL was given")
            return self.named[name]
        with self.guard:
            if self.default_index is None:
                self.default_index = index_at(None)
            return self.default_index

    def source(self, file):
        """(address, headers)."""
        if self.mirror:
            return f"{self.mirror}/files/{file['sha256']}/{urllib.parse.quote(file['name'])}", {}
        if file.get("url"):
            return file["url"], {}
        index = self.index_for(file)
        address = index.address_of(file)
        return address, index.headers_for(address)

    def fetch(self, file):
        """Brings one file, verified. Raises WheelhouseError after the last attempt."""
        final = path_of(self.folder, file)
        os.makedirs(os.path.dirname(final), exist_ok=True)
        # Another run may be at the same file: it is waited for, and its result taken.
        with open(final + ".partial", "ab") as partial:
            fcntl.flock(partial, fcntl.LOCK_EX)
            if is_there(self.folder, file):
                self.progress.add(file.get("bytes") or 0, fetched=False)
            else:
                self.attempt(file, partial)
                os.chmod(partial.name, 0o444)
                os.replace(partial.name, final)
        if os.path.exists(partial.name):
            os.unlink(partial.name)
        self.progress.finish_file()

    def attempt(self, file, partial):
        cause, wrong = "", 0
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(min(2 ** (attempt - 2), 30))
            try:
                cause = self.receive(file, partial)
            except LookupError as error:
                raise WheelhouseError(f"{file['name']}: {error.args[0]}") from None
            except urllib.error.HTTPError as error:
                cause = explain(error)
                if error.code < 500 and error.code not in (408, 416, 429):
                    raise WheelhouseError(f"{file['name']}: {cause}") from None
                time.sleep(min(retry_after(error.headers.get("Retry-After", "")), 120))
            except (OSError, http.client.HTTPException) as error:
                cause = explain(error)
                if package_index.certificate_problem(error):
                    raise WheelhouseError(f"{file['name']}: {cause}") from None
                if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
                    break
            else:
                if cause is None:
                    return
                # A server that gives another file twice has another file.
                wrong += "sha256" in cause
                if wrong == 2:
                    raise WheelhouseError(f"{file['name']}: {cause}")
        raise WheelhouseError(f"{file['name']}: {cause}; run the same command again, it goes on where it stopped")

    def receive(self, file, partial):
        """One request. Returns None when the file is complete and right, else what is wrong with it."""
        start = os.path.getsize(partial.name)
        if file.get("bytes") and start >= file["bytes"]:
            start = 0
        address, headers = self.source(file)
        with request(address, {**headers, "Range": f"bytes={start}-"} if start else headers) as answer:
            if not start or answer.status != 206:
                start = 0
                partial.truncate(0)
            length = answer.headers.get("Content-Length")
            expected = file.get("bytes") or (start + int(length) if length else None)
            while block := answer.read(CHUNK):
                partial.write(block)
                self.progress.add(len(block))
        partial.flush()
        size = os.path.getsize(partial.name)
        if expected is not None and size < expected:
            return f"the answer broke off after {size} of {expected} bytes"
        found = digest_of(partial.name)
        if found == file["sha256"] and size == (expected or size):
            return None
        partial.truncate(0)
        self.progress.add(-size)
        return f"its sha256 is {found}, the list says {file['sha256']}; nothing of it was kept"


def fetch(folder, files, fetcher):
    """Fetches all that is not there. Returns the failures, one line each."""
    waiting = sorted((file for file in files if not is_there(folder, file)), key=lambda file: -(file.get("bytes") or 0))
    total = sum(file.get("bytes") or 0 for file in waiting)
    os.makedirs(folder, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if total > free:
        return [f"{folder} has {megabytes(free)} MB free, the files take {megabytes(total)} MB more: make room"]
    fetcher.progress = Progress(len(waiting), total)
    failures = []
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for future in concurrent.futures.as_completed([pool.submit(fetcher.fetch, file) for file in waiting]):
            if (error := future.exception()) is not None:
                failures.append(str(error) if isinstance(error, WheelhouseError) else f"{type(error).__name__}: {error}")
    if fetcher.progress.is_worth_showing():
        fetcher.progress.show()
        print(file=sys.stderr, end="\n" if fetcher.progress.terminal else "")
    return sorted(failures)


# --- what is there ---------------------------------------------------------------------------------------------------


def is_there(folder, file):
    """By size: content was compared when the file came."""
    path = path_of(folder, file)
    return os.path.isfile(path) and (not file.get("bytes") or os.path.getsize(path) == file["bytes"])


def fault(folder, file, quick):
    """What is wrong with one file; None when it is right."""
    path = path_of(folder, file)
    if not os.path.isfile(path):
        return f"missing: {file['name']} (sha256 {file['sha256']})"
    size = os.path.getsize(path)
    if file.get("bytes") and size != file["bytes"]:
        return f"corrupt: {file['name']} has {size} bytes, must have {file['bytes']}"
    if not quick and (found := digest_of(path)) != file["sha256"]:
        return f"corrupt: {file['name']} has sha256 {found}, must have {file['sha256']}"
    return None


def verify(folder, files, quick):
    """Every missing or corrupt file, one line each, in the order of the list."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for line in pool.map(lambda file: fault(folder, file, quick), files) if line]


def link(folder, files, target):
    """A flat folder of links for `--find-links`: an installer reads no folders below it."""
    os.makedirs(target, exist_ok=True)
    for file in files:
        path = os.path.join(target, file["name"])
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(os.path.abspath(path_of(folder, file)), path)


def unused(folder, files):
    """[(path below the folder, bytes)] of what no list names, without what a run is fetching now."""
    wanted = {(file["sha256"], file["name"]) for file in files}
    found = []
    root = os.path.join(folder, "files")
    for sha256 in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        for name in sorted(os.listdir(os.path.join(root, sha256))):
            if (sha256, name.removesuffix(".partial")) not in wanted:
                path = os.path.join("files", sha256, name)
                found.append((path, os.path.getsize(os.path.join(folder, path))))
    return found


def collect(folder, files, dry_run):
    """Removes what no list names, and says so."""
    found = unused(folder, files)
    for path, size in found:
        print(f"{'would remove' if dry_run else 'removed'} {path} ({size} bytes)")
        if not dry_run:
            os.unlink(os.path.join(folder, path))
            if not os.listdir(os.path.dirname(os.path.join(folder, path))):
                os.rmdir(os.path.dirname(os.path.join(folder, path)))
    total = sum(size for _, size in found)
    print(f"{len(found)} files, {megabytes(total)} MB {'would be' if dry_run else 'were'} freed")


# --- the command line ------------------------------------------------------------------------------------------------


def read_lists(paths):
    """The files of all lists, each once."""
    files = {}
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            for file in json.load(stream)["files"]:
                if not re.fullmatch(r"[0-9a-f]{64}", file["sha256"]) or "/" in file["name"] or file["name"] in ("", ".", ".."):
                    raise WheelhouseError(f"{path}: {file['name']!r} is no file name with a sha256")
                files[(file["sha256"], file["name"])] = file
    return list(files.values())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--dir", required=True, help="the wheelhouse")
    common.add_argument("--list", required=True, action="append", help="a wheelhouse.json; may be repeated")
    one = actions.add_parser("fetch", parents=[common], help="bring every file that is not there, and verify it")
    one.add_argument("--mirror", metavar="URL", help="another wheelhouse behind HTTP: everything comes from there")
    one.add_argument("--index", metavar="URL", help="package index; default: the one of this machine")
    one.add_argument("--index-of", metavar="NAME=URL", action="append", default=[], help="address of a named index")
    one = actions.add_parser("verify", parents=[common], help="name every missing or corrupt file")
    one.add_argument("--quick", action="store_true", help="compare sizes only")
    one = actions.add_parser("link", parents=[common], help="make a flat folder of links, for --find-links")
    one.add_argument("--to", required=True, metavar="FOLDER", help="the folder")
    one = actions.add_parser("gc", parents=[common], help="remove what no list names")
    one.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    return parser


def run(options):
    files = read_lists(options.list)
    if options.action == "link":
        link(options.dir, files, options.to)
        return 0
    if options.action == "gc":
        collect(options.dir, files, options.dry_run)
        return 0
    if options.action == "verify":
        faults = verify(options.dir, files, options.quick)
        print("\n".join([*faults, f"{len(files) - len(faults)} of {len(files)} files are right"]))
        return 2 if faults else 0
    named = dict(pair.split("=", 1) for pair in options.index_of)
    failures = fetch(options.dir, files, Fetcher(options.dir, options.mirror, options.index, named))
    print("\n".join([*failures, f"{len(files) - len(failures)} of {len(files)} files are there and verified"]))
    return 1 if failures else 0


def main():
    parser = arguments()
    try:
        options = parser.parse_args()
    except SystemExit as error:
        return 3 if error.code else 0
    try:
        return run(options)
    except (WheelhouseError, LookupError, OSError, ValueError) as error:
        print(f"wheelhouse: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

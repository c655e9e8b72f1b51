"""Fetch or check a model's files of one revision of a Hugging Face hub, or of a mirror that speaks its API.

  check  --repo R --revision C --path P            are all files there, of the right size? exit 1 says which are not
  fetch  --repo R --revision C --path P --endpoint E [--token-file F]

Files are fetched into PATH.incomplete (resumed when a run was cut off), verified against the hub's hashes (sha256 of
large files, git's blob hash of small ones) and switched into place as a whole. PATH/.snapshot.json remembers them.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

RECORD = ".snapshot.json"
CHUNK = 1 << 20
ATTEMPTS = 6
WORKERS = 4


class SnapshotError(Exception):
    """One line for a person: the file and the cause."""


def load_record(path):
    try:
        with open(os.path.join(path, RECORD), encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def check(path, repo, revision):
    """What is not as declared, by name and size; hashes were compared when the files came."""
    record = load_record(path)
    if record is None:
        return [f"{path} holds no verified snapshot"]
    if (record["repo"], record["revision"]) != (repo, revision):
        return [f"{path} holds {record['repo']}@{record['revision'][:12]}, declared is {repo}@{revision[:12]}"]
    problems = []
    for file in record["files"]:
        full = os.path.join(path, file["path"])
        size = os.path.getsize(full) if os.path.isfile(full) else None
        if size != file["size"]:
            problems.append(f"{file['path']}: {'missing' if size is None else f'{size} bytes'}, must be {file['size']}")
    return problems


class Hub:
    """The two requests of the hub's API that a snapshot needs."""

    def __init__(self, endpoint, repo, revision, token):
        self.base = endpoint.rstrip("/")
        self.repo = urllib.parse.quote(repo)
        self.revision = urllib.parse.quote(revision, safe="")
        self.headers = {"User-Agent": "proxmox-gpu-stack"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def open(self, url, headers=()):
        request = urllib.request.Request(url, headers={**self.headers, **dict(headers)})
        # A hub answers large files with a redirect to a signed address that must not get the token.
        return urllib.request.build_opener(DropTokenOnRedirect).open(request, timeout=60)

    def files(self):
        url = f"{self.base}/api/models/{self.repo}/revision/{self.revision}?blobs=true"
        try:
            with self.open(url) as answer:
                listing = json.load(answer)
        except urllib.error.HTTPError as error:
            raise SnapshotError(f"{url}: {explain(error)}") from None
        except OSError as error:
            raise SnapshotError(f"{url}: {error}") from None
        if listing.get("sha") and listing["sha"] != self.revision:
            raise SnapshotError(f"{url} answers for revision {listing['sha']}")
        return [self.describe(entry) for entry in listing["siblings"]]

    @staticmethod
    def describe(entry):
        name = entry["rfilename"]
        if name.startswith("/") or ".." in name.split("/"):
            raise SnapshotError(f"the hub names a file outside the snapshot: {name!r}")
        large = entry.get("lfs")
        return {
            "path": name,
            "size": large["size"] if large else entry["size"],
            "sha256": large["sha256"] if large else None,
            "blob": None if large else entry["blobId"],
        }

    def content(self, path, start):
        url = f"{self.base}/{self.repo}/resolve/{self.revision}/{urllib.parse.quote(path)}"
        return self.open(url, {"Range": f"bytes={start}-"} if start else {})


class DropTokenOnRedirect(urllib.request.HTTPRedirectHandler):
    """Follows redirects; another host does not get the Authorization header."""

    def redirect_request(self, request, *arguments):
        following = super().redirect_request(request, *arguments)
        if following is not None and following.host != request.host:
            following.remove_header("Authorization")
        return following


def explain(error):
    if error.code in (401, 403):
        return f"{error.code}: the model is gated or private; give the stack a huggingFaceToken that may read it"
    if error.code == 404:
        return "404: no such repository, revision or file"
    return f"{error.code} {error.reason}"


def matches(full, file):
    """Has the file exactly the hub's content?"""
    if file["sha256"]:
        digest = hashlib.sha256()
    else:
        digest = hashlib.sha1(f"blob {file['size']}\0".encode())
    with open(full, "rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest() == (file["sha256"] or file["blob"])


def fetch_file(hub, folder, file):
    """Brings one file into the folder, verified; raises SnapshotError after the last attempt."""
    full = os.path.join(folder, file["path"])
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if os.path.isfile(full) and os.path.getsize(full) == file["size"] and matches(full, file):
        return
    partial = full + ".partial"
    cause = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(min(2**attempt, 30))
        try:
            receive(hub, partial, file)
        except urllib.error.HTTPError as error:
            cause = explain(error)
            if error.code in (401, 403, 404):
                break
            wait = error.headers.get("Retry-After", "")
            time.sleep(min(int(wait), 120) if wait.isdigit() else 0)
            continue
        except OSError as error:
            cause = str(error) or type(error).__name__
            continue
        if os.path.getsize(partial) != file["size"]:
            cause = f"{os.path.getsize(partial)} of {file['size']} bytes came"
            continue
        if matches(partial, file):
            os.replace(partial, full)
            return
        os.unlink(partial)
        cause = "its content is not what the hub's hash says"
    raise SnapshotError(f"{file['path']}: {cause}")


def receive(hub, partial, file):
    start = os.path.getsize(partial) if os.path.exists(partial) else 0
    if start >= file["size"]:
        start = 0
    with hub.content(file["path"], start) as answer:
        resumed = start and answer.status == 206
        with open(partial, "ab" if resumed else "wb") as stream:
            shutil.copyfileobj(answer, stream, CHUNK)


def reuse(old, folder, files):
    """Files that an earlier revision already has are linked, not fetched."""
    record = load_record(old)
    known = {(f["sha256"] or f["blob"], f["size"]): f["path"] for f in record["files"]} if record else {}
    for file in files:
        source = known.get((file["sha256"] or file["blob"], file["size"]))
        target = os.path.join(folder, file["path"])
        if source and not os.path.exists(target) and os.path.isfile(os.path.join(old, source)):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.link(os.path.join(old, source), target)


def fetch(path, repo, revision, endpoint, token):
    hub = Hub(endpoint, repo, revision, token)
    files = sorted(hub.files(), key=lambda file: -file["size"])
    total = sum(file["size"] for file in files)
    folder = path + ".incomplete"
    os.makedirs(folder, exist_ok=True)
    reuse(path, folder, files)
    here = sum(file["size"] for file in files if os.path.isfile(os.path.join(folder, file["path"])))
    free = shutil.disk_usage(folder).free
    if total - here > free:
        raise SnapshotError(f"{repo} needs {total - here} more bytes in {os.path.dirname(path)}, free are {free}")
    print(f"{repo}@{revision[:12]}: {len(files)} files, {total} bytes", flush=True)
    done = 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        waiting = {pool.submit(fetch_file, hub, folder, file): file for file in files}
        for future in concurrent.futures.as_completed(waiting):
            try:
                future.result()
            except SnapshotError:
                pool.shutdown(cancel_futures=True)
                raise
            done += waiting[future]["size"]
            print(f"{waiting[future]['path']} verified ({done} of {total} bytes)", flush=True)
    switch(folder, path, {"repo": repo, "revision": revision, "files": files})


def switch(folder, path, record):
    wanted = {file["path"] for file in record["files"]}
    for parent, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(parent, name)
            if os.path.relpath(full, folder) not in wanted:
                os.unlink(full)
            else:
                os.chmod(full, 0o444)
    with open(os.path.join(folder, RECORD), "w", encoding="utf-8") as stream:
        json.dump(record, stream, indent=1, sort_keys=True)
    # Containers read the files as other users.
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, 0o755)
    os.chmod(os.path.join(folder, RECORD), 0o444)
    old = path + ".old"
    shutil.rmtree(old, ignore_errors=True)
    if os.path.exists(path):
        os.rename(path, old)
    os.rename(folder, path)
    shutil.rmtree(old, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "fetch"])
    for name in ("repo", "revision", "path"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--endpoint")
    parser.add_argument("--token-file")
    options = parser.parse_args()
    if options.action == "check":
        problems = check(options.path, options.repo, options.revision)
        print("\n".join(problems))
        return 1 if problems else 0
    token = None
    if options.token_file:
        with open(options.token_file, encoding="utf-8") as stream:
            token = stream.read().strip()
    try:
        fetch(options.path, options.repo, options.revision, options.endpoint, token)
    except SnapshotError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The hub's HTTP server: the part of the Hugging Face hub's API that a download of a snapshot uses."""

import hmac
import json
import re
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

from repository import MissingError, tree_id

# The lab's tokens: public and worthless, like its SSH keys.
TOKENS = {"hf_labreader": True, "hf_labstranger": False}
API = re.compile(r"^/api/models/(?P<name>[^/]+/[^/]+)(?:/(?P<what>revision|tree)/(?P<revision>[^/]+)(?:/(?P<path>.+))?)?$")
RESOLVE = re.compile(r"^/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)$")
LFS = re.compile(r"^/lfs/(?P<name>[^/]+/[^/]+)/(?P<revision>[0-9a-f]{40})/(?P<path>.+)$")
RANGE = re.compile(r"^bytes=(\d*)-(\d*)$")
CHUNK = 64 * 1024


class RefusedError(Exception):
    """A request that is answered with an error: status, the hub's X-Error-Code (or None) and its message."""

    def __init__(self, status, code, message, headers=None):
        super().__init__(message)
        self.status, self.code, self.headers = status, code, headers or {}


def requested_range(header, size):
    """The (first, last) byte of a Range header, or None where there is none that we understand.

    Raises RefusedError 416 for one outside the file."""
    match = RANGE.match(header or "")
    if not match or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        start, end = max(0, size - int(last)), size - 1
    else:
        start, end = int(first), min(int(last) if last else size - 1, size - 1)
    if start >= size or start > end:
        raise RefusedError(416, None, "Requested range not satisfiable", {"Content-Range": f"bytes */{size}"})
    return start, end


def lfs_fields(file):
    """What listings say about an LFS file."""
    return {"sha256": file.sha256, "size": file.size, "pointerSize": len(file.pointer)}


class Handler(BaseHTTPRequestHandler):
    """One request. The server (HubServer) holds repositories, faults and the key that signs storage links."""

    protocol_version = "HTTP/1.1"
    server_version = "lab-hub"

    def do_GET(self):
        """Answers GET and HEAD: a listing, a file or a piece of storage."""
        try:
            self.answer(urlsplit(self.path))
        except RefusedError as error:
            self.send_refusal(error)
        except MissingError as error:
            self.send_refusal(RefusedError(404, error.code, str(error)))
        except ValueError as error:
            self.send_refusal(RefusedError(500, None, f"the hub's fault file is wrong: {error}"))

    do_HEAD = do_GET

    def answer(self, url):
        """Finds what the URL asks for and sends it."""
        fault = self.server.faults.take("status", self.path)
        if fault:
            headers = {"Retry-After": str(fault["retryAfter"])} if "retryAfter" in fault else {}
            raise RefusedError(fault["status"], None, "injected by the lab's fault file", headers)
        for pattern, action in ((API, self.send_listing), (RESOLVE, self.send_resolved), (LFS, self.send_stored)):
            match = pattern.match(url.path)
            if match:
                action(
                    {key: unquote(value) if value else value for key, value in match.groupdict().items()}, parse_qs(url.query)
                )
                return
        raise RefusedError(404, None, f"Cannot {self.command} {url.path}")

    def has_access(self):
        """True for a token with access, False for one without, None for no token. Raises RefusedError 401 for an unknown one."""
        header = self.headers.get("Authorization")
        if header is None:
            return None
        token = header.removeprefix("Bearer ").strip()
        if token not in TOKENS:
            raise RefusedError(401, None, "Invalid credentials in Authorization header")
        return TOKENS[token]

    def repository(self, name):
        """The repository of this name. One that does not exist looks to a stranger like a private one: 401."""
        found = self.server.repositories.get(name)
        if found is None:
            known = self.has_access() is not None
            raise RefusedError(
                404 if known else 401, "RepoNotFound", "Repository not found" if known else "Invalid username or password."
            )
        return found

    def require_access(self, repository):
        """Refuses the files of a gated repository to those without access, as the hub does."""
        access = self.has_access()
        if not repository.gated or access:
            return
        text = f"Access to model {repository.name} is restricted"
        if access is None:
            raise RefusedError(
                401, "GatedRepo", f"{text}. You must have access to it and be authenticated to access it. Please log in."
            )
        raise RefusedError(
            403, "GatedRepo", f"{text} and you are not in the authorized list. Visit /{repository.name} to ask for access."
        )

    def file(self, repository, commit, path):
        """One file of a commit, as the fault file wants it. Raises MissingError for an unknown path."""
        found = commit.files.get(path)
        if found is None:
            raise MissingError("EntryNotFound", "Entry not found")
        return found.altered() if self.server.faults.is_changed(repository.name, path) else found

    def send_listing(self, match, query):
        """/api/models/NAME[/revision/REV][?blobs=true] and /api/models/NAME/tree/REV[/FOLDER][?recursive=true]."""
        repository = self.repository(match["name"])
        self.has_access()
        commit_id, commit = repository.find(match["revision"] or "main")
        files = [self.file(repository, commit, path) for path in commit.files]
        if match["what"] == "tree":
            value = self.tree(files, match["path"], "recursive" in query)
        else:
            value = self.model_info(repository, commit_id, files, query.get("blobs") == ["true"])
        body = json.dumps(value).encode()
        self.send_headers(200, len(body), {"Content-Type": "application/json; charset=utf-8", "X-Repo-Commit": commit_id})
        self.send_body(body)

    def model_info(self, repository, commit_id, files, blobs):
        """The hub's description of a model at a commit. Sizes, ids and checksums only with ?blobs=true."""
        siblings = []
        for file in files:
            sibling = {"rfilename": file.path}
            if blobs:
                sibling |= {"blobId": file.blob_id, "size": file.size}
                if file.is_lfs:
                    sibling["lfs"] = lfs_fields(file)
            siblings.append(sibling)
        return {
            "_id": commit_id[:24],
            "id": repository.name,
            "modelId": repository.name,
            "author": repository.name.split("/")[0],
            "sha": commit_id,
            "private": False,
            "gated": "manual" if repository.gated else False,
            "disabled": False,
            "siblings": siblings,
        }

    def tree(self, files, folder, recursive):
        """The entries of a folder (None: the root): files, and folders where the listing is not recursive."""
        prefix, entries = f"{folder}/" if folder else "", {}
        for file in files:
            if not file.path.startswith(prefix):
                continue
            name, _, rest = file.path[len(prefix) :].partition("/")
            if rest and not recursive:
                inside = {other.path: other.blob_id for other in files if other.path.startswith(f"{prefix}{name}/")}
                oid = tree_id({path[len(prefix) + len(name) + 1 :]: blob for path, blob in inside.items()})
                entries[prefix + name] = {"type": "directory", "oid": oid, "size": 0, "path": prefix + name}
                continue
            entries[file.path] = {"type": "file", "oid": file.blob_id, "size": file.size, "path": file.path}
            if file.is_lfs:
                entries[file.path]["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": len(file.pointer)}
        if not entries:
            raise MissingError("EntryNotFound", f"{folder} does not exist")
        return list(entries.values())

    def send_resolved(self, match, _query):
        """/NAME/resolve/REV/PATH: small files at once, LFS files by a redirect to storage."""
        repository = self.repository(match["name"])
        self.require_access(repository)
        commit_id, commit = repository.find(match["revision"])
        file = self.file(repository, commit, match["path"])
        headers = {"X-Repo-Commit": commit_id, "Accept-Ranges": "bytes"}
        if not file.is_lfs:
            self.send_file(file.data, headers | {"ETag": f'"{file.etag}"'})
            return
        path = f"/lfs/{quote(repository.name)}/{commit_id}/{quote(file.path)}"
        location = f"http://{self.headers.get('Host')}{path}?signature={self.server.sign(path)}"
        headers |= {"Location": location, "X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(file.size)}
        self.send_headers(302, 0, headers | {"ETag": f'"{file.etag}"'})

    def send_stored(self, match, query):
        """/lfs/…: what a redirect led to. No token is asked for, but the link must be one of ours."""
        path = urlsplit(self.path).path
        if not hmac.compare_digest(query.get("signature", [""])[0], self.server.sign(path)):
            raise RefusedError(403, None, "AccessDenied: the link is not signed")
        repository = self.server.repositories[match["name"]]
        commit_id, commit = repository.find(match["revision"])
        file = self.file(repository, commit, match["path"])
        # The real storage is another host and says nothing of commits; here it is the same host, so clients follow the
        # redirect even of a HEAD request and want to see the commit.
        self.send_file(file.data, {"Accept-Ranges": "bytes", "ETag": f'"{file.etag}"', "X-Repo-Commit": commit_id})

    def send_file(self, data, headers):
        """Sends a file or the range asked for, with the faults of the fault file."""
        wanted = requested_range(self.headers.get("Range"), len(data))
        status = 200
        if self.server.faults.take("corrupt", self.path):
            data = bytes(byte ^ 0x55 for byte in data)
        if wanted:
            start, end = wanted
            headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
            data, status = data[start : end + 1], 206
        headers.setdefault("Content-Type", "application/octet-stream")
        self.send_headers(status, len(data), headers)
        self.send_body(data)

    def send_headers(self, status, length, headers):
        """Sends the status line and headers."""
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def send_body(self, data):
        """Sends the body (nothing for HEAD), whole and at once unless a fault says otherwise."""
        if self.command == "HEAD":
            return
        short, slow = self.server.faults.take("short", self.path), self.server.faults.take("slow", self.path)
        if short:
            data = data[: short["bytes"]]
            self.close_connection = True
        sent = 0
        try:
            for start in range(0, len(data), CHUNK):
                piece = data[start : start + CHUNK]
                if slow:
                    time.sleep(len(piece) / slow["bytesPerSecond"])
                self.wfile.write(piece)
                sent += len(piece)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        self.log_message("sent %d bytes of %s", sent, self.path)

    def send_refusal(self, error):
        """Sends an error as the hub does: X-Error-Code and X-Error-Message, the message as JSON too."""
        body = json.dumps({"error": str(error)}).encode()
        headers = {"Content-Type": "application/json; charset=utf-8", "X-Error-Message": str(error), **error.headers}
        if error.code:
            headers["X-Error-Code"] = error.code
        self.send_headers(error.status, len(body), headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, template, *arguments):
        """One line a request on stderr; signatures are left out, as they open files."""
        line = re.sub(r"signature=\w+", "signature=…", template % arguments)
        print(f"{self.log_date_time_string()} {self.client_address[0]} {line}", file=sys.stderr, flush=True)


class HubServer(ThreadingHTTPServer):
    """The hub on one address. `repositories` as repository.build() makes them."""

    daemon_threads = True

    def __init__(self, address, repositories, faults):
        super().__init__(address, Handler)
        self.repositories, self.faults = repositories, faults
        self._key = secrets.token_bytes(32)

    def sign(self, path):
        """The signature that opens a storage path."""
        return hmac.new(self._key, path.encode(), "sha256").hexdigest()

"""The relay's HTTP server: /simple/, /simple/<project>/, /upstream/simple/<project>/ and /files/<sha256>/<name>."""

import os
import re
import shutil
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from pages import HTML_TYPE, JSON_TYPE, normalize, write_html, write_json
from upstream import UpstreamError

FILE = re.compile(r"^/files/(?P<sha256>[0-9a-f]{64})/(?P<name>[^/]+)$")
RANGE = re.compile(r"^bytes=(\d+)-(\d*)$")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server_version = "lab-index"

    def do_GET(self):
        """Answers GET and HEAD."""
        path = unquote(urlsplit(self.path).path)
        try:
            if path in ("/simple", "/simple/"):
                self.send_projects()
            elif path.startswith("/simple/"):
                self.send_project("/simple/", path.removeprefix("/simple/"), self.server.store.page)
            elif path.startswith("/upstream/simple/"):
                rest = path.removeprefix("/upstream/simple/")
                self.send_project("/upstream/simple/", rest, self.server.store.upstream_page)
            elif match := FILE.match(path):
                self.send_stored(match["sha256"], match["name"])
            else:
                self.send_text(404, f"no such path: {path}; the index is at /simple/")
        except UpstreamError as error:
            if error.status == 404:
                self.send_text(404, str(error))
            else:
                self.send_text(
                    502, f"the lab's package index relay has nothing kept for {path}, and its upstream failed: {error}"
                )
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def wants_json(self):
        """Whether the client understands PEP 691."""
        return JSON_TYPE in self.headers.get("Accept", "")

    def send_projects(self):
        """The local projects. Upstream's list is not relayed: installers do not need it."""
        names = sorted(self.server.store.local)
        if self.wants_json():
            listed = ", ".join(f'{{"name": "{name}"}}' for name in names)
            self.send_body(200, f'{{"meta": {{"api-version": "1.0"}}, "projects": [{listed}]}}'.encode(), JSON_TYPE)
        else:
            links = "".join(f'<a href="/simple/{name}/">{name}</a><br>\n' for name in names)
            self.send_body(200, f"<!DOCTYPE html>\n<html><body>\n{links}</body></html>\n".encode(), HTML_TYPE)

    def send_project(self, root, rest, find):
        """One project's page, under its normalized name below `root`; `find` gives it."""
        name = rest.rstrip("/")
        if not name or "/" in name:
            self.send_text(404, f"no such project: {name}")
            return
        normal = normalize(name)
        if rest != f"{normal}/":
            self.send_response(301)
            self.send_header("Location", f"{root}{normal}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        page = find(normal)
        if self.wants_json():
            self.send_body(200, write_json(page), JSON_TYPE)
        else:
            self.send_body(200, write_html(page), HTML_TYPE)

    def send_stored(self, sha256, name):
        """A file, or the range asked for."""
        path = self.server.store.file(sha256, name)
        if path is None:
            self.send_text(404, f"no file {name} with this checksum was ever listed")
            return
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            match = RANGE.match(self.headers.get("Range", ""))
            start = int(match[1]) if match else 0
            end = min(int(match[2]), size - 1) if match and match[2] else size - 1
            if match and start >= size:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if match else 200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(end - start + 1))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", f'"{path.name}"')
            if match:
                self.send_header("Content-Range", f"bytes {start}-{end}/{size}")
            self.end_headers()
            if self.command == "HEAD":
                return
            file.seek(start)
            if end == size - 1:
                shutil.copyfileobj(file, self.wfile, 1 << 20)
            else:
                self.wfile.write(file.read(end - start + 1))

    def send_text(self, status, text):
        """A plain answer for people. The first line is the reason phrase too: installers show only that."""
        body = (text + "\n").encode()
        self.send_response(status, text.splitlines()[0][:600])
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_body(self, status, body, content_type):
        """An answer whose body is at hand."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Vary", "Accept")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, template, *arguments):
        """One line a request on stderr."""
        print(f"{self.log_date_time_string()} {self.client_address[0]} {template % arguments}", file=sys.stderr, flush=True)


class IndexServer(ThreadingHTTPServer):
    """The relay on one address, over a Store."""

    daemon_threads = True

    def __init__(self, address, store):
        super().__init__(address, Handler)
        self.store = store

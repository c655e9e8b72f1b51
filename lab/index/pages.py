"""Project pages of a package index: read from JSON (PEP 691) or HTML (PEP 503), written as either.

A page is {"name": …, "files": [{"filename", "url", "sha256", "size", "requires-python", "yanked", "core-metadata"}]}.
"""

import html
import html.parser
import json
import re
from urllib.parse import urldefrag, urljoin

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "text/html"


def normalize(name):
    """A project's name as indexes spell it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


class _Links(html.parser.HTMLParser):
    """The links of a PEP 503 page: (attributes, text)."""

    def __init__(self):
        super().__init__()
        self.links, self._open = [], None

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self._open = (dict(attributes), "")

    def handle_data(self, data):
        if self._open:
            self._open = (self._open[0], self._open[1] + data)

    def handle_endtag(self, tag):
        if tag == "a" and self._open:
            self.links.append((self._open[0], self._open[1].strip()))
            self._open = None


def read_json(name, base, body):
    """A page out of PEP 691 JSON. Files without SHA-256 are left out: they could not be verified."""
    files = []
    for entry in json.loads(body)["files"]:
        sha256 = entry.get("hashes", {}).get("sha256")
        if not sha256:
            continue
        core = entry.get("core-metadata", entry.get("dist-info-metadata"))
        files.append(
            {
                "filename": entry["filename"],
                "url": urljoin(base, entry["url"]),
                "sha256": sha256,
                "size": entry.get("size"),
                "requires-python": entry.get("requires-python"),
                "yanked": entry.get("yanked", False),
                "core-metadata": core.get("sha256") if isinstance(core, dict) else None,
            }
        )
    return {"name": name, "files": files}


def read_html(name, base, body):
    """A page out of PEP 503 HTML. Files without SHA-256 are left out: they could not be verified."""
    parser = _Links()
    parser.feed(body.decode("utf-8", "replace"))
    files = []
    for attributes, text in parser.links:
        url, fragment = urldefrag(urljoin(base, attributes.get("href", "")))
        match = re.match(r"sha256=([0-9a-f]{64})$", fragment)
        if not match:
            continue
        core = attributes.get("data-core-metadata") or attributes.get("data-dist-info-metadata") or ""
        files.append(
            {
                "filename": text,
                "url": url,
                "sha256": match[1],
                "size": None,
                "requires-python": attributes.get("data-requires-python"),
                "yanked": (attributes["data-yanked"] or True) if "data-yanked" in attributes else False,
                "core-metadata": core.removeprefix("sha256=") if core.startswith("sha256=") else None,
            }
        )
    return {"name": name, "files": files}


def read(name, base, content_type, body):
    """A page out of whatever the index sent."""
    return (read_json if content_type.endswith("json") else read_html)(name, base, body)


def file_path(entry):
    """Where this relay serves a file: by checksum, so that a path never changes its meaning."""
    return f"/files/{entry['sha256']}/{entry['filename']}"


def write_json(page):
    """PEP 691 JSON with this relay's own paths."""
    files = []
    for entry in page["files"]:
        shown = {"filename": entry["filename"], "url": file_path(entry), "hashes": {"sha256": entry["sha256"]}}
        if entry["requires-python"]:
            shown["requires-python"] = entry["requires-python"]
        if entry["size"] is not None:
            shown["size"] = entry["size"]
        if entry["core-metadata"]:
            shown["core-metadata"] = {"sha256": entry["core-metadata"]}
        shown["yanked"] = entry["yanked"]
        files.append(shown)
    return json.dumps({"meta": {"api-version": "1.0"}, "name": page["name"], "files": files}).encode()


def write_html(page):
    """PEP 503 HTML with this relay's own paths."""
    lines = ["<!DOCTYPE html>", f"<html><head><title>{page['name']}</title></head><body>"]
    for entry in page["files"]:
        attributes = f'href="{file_path(entry)}#sha256={entry["sha256"]}"'
        if entry["requires-python"]:
            attributes += f' data-requires-python="{html.escape(entry["requires-python"], quote=True)}"'
        if entry["core-metadata"]:
            attributes += f' data-core-metadata="sha256={entry["core-metadata"]}"'
        if entry["yanked"]:
            reason = entry["yanked"] if isinstance(entry["yanked"], str) else ""
            attributes += f' data-yanked="{html.escape(reason, quote=True)}"'
        lines.append(f"<a {attributes}>{html.escape(entry['filename'])}</a><br>")
    return "\n".join([*lines, "</body></html>", ""]).encode()

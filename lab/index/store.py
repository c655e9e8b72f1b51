"""What the relay keeps: project pages, and files by SHA-256. Every file is verified before it gets its name."""

import hashlib
import json
import os
import threading
from pathlib import Path

from pages import normalize, read
from upstream import UpstreamError

CHUNK = 1 << 20


def digest_of(path):
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Store:
    """A cache folder over an upstream index, and a folder of local wheels that win over it for their names.

    `make_wheels` fills that folder; it is called again before every listing of a local project, so that a running relay
    serves what the sources make now."""

    def __init__(self, folder, upstream, local_wheels, make_wheels=lambda: None):
        self.folder, self.upstream = Path(folder), upstream
        self._wheels, self._make_wheels = Path(local_wheels), make_wheels
        self._locks, self._guard = {}, threading.Lock()
        self.refresh()
        for name in ("pages", "files"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def refresh(self):
        """Makes the local wheels anew and reads them."""
        with self._lock("local wheels"):
            self._make_wheels()
            self.local = self._read_local()

    def _read_local(self):
        projects = {}
        for path in sorted(self._wheels.glob("*.whl")):
            name = normalize(path.name.split("-")[0])
            entry = {
                "filename": path.name,
                "url": str(path),
                "sha256": digest_of(path),
                "size": path.stat().st_size,
                "requires-python": None,
                "yanked": False,
                "core-metadata": None,
            }
            projects.setdefault(name, {"name": name, "files": []})["files"].append(entry)
        return projects

    def page(self, name):
        """A project's page: local, else upstream's. Raises UpstreamError when there is nothing to offer."""
        if name in self.local:
            self.refresh()
            return self.local[name]
        return self.upstream_page(name)

    def upstream_page(self, name):
        """Upstream's page of a project, or (upstream out of reach) the kept one with the kept files only.

        Raises UpstreamError when there is nothing to offer."""
        kept = self.folder / "pages" / f"{name}.json"
        try:
            page = read(name, *self.upstream.project(name))
        except UpstreamError as error:
            if error.status == 404 or not kept.exists():
                raise
            page = json.loads(kept.read_text(encoding="utf-8"))
            page["files"] = [entry for entry in page["files"] if self._kept_file(entry["sha256"]).exists()]
            if not page["files"]:
                raise
            return page
        aside = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        aside.write_text(json.dumps(page), encoding="utf-8")
        aside.rename(kept)
        return page

    def _kept_file(self, sha256):
        return self.folder / "files" / sha256

    def _entry(self, sha256, filename):
        """The page entry of a file that was listed once, or None."""
        name = normalize(filename.split("-")[0]) if filename.endswith(".whl") else None
        pages = [*self.local.values()]
        # The page of a source archive is not told by its name alone.
        wanted = [self.folder / "pages" / f"{name}.json"] if name else (self.folder / "pages").glob("*.json")
        pages += [json.loads(path.read_text(encoding="utf-8")) for path in wanted if path.exists()]
        for page in pages:
            for entry in page["files"]:
                if entry["sha256"] == sha256 and entry["filename"] == filename:
                    return entry
        return None

    def file(self, sha256, filename):
        """The path of a file, fetched and verified first where it is not kept. None for one that was never listed.

        A name that ends with .metadata stands for the wheel's metadata (PEP 658). Raises UpstreamError."""
        is_metadata = filename.endswith(".metadata")
        entry = self._entry(sha256, filename.removesuffix(".metadata"))
        if entry is None:
            return None
        if entry["url"].startswith("/"):
            return None if is_metadata else Path(entry["url"])
        expected = entry["core-metadata"] if is_metadata else sha256
        if not expected:
            return None
        url = entry["url"] + (".metadata" if is_metadata else "")
        with self._lock(expected):
            kept = self._kept_file(expected)
            if not kept.exists():
                self._fetch(url, kept, expected)
            return kept

    def _lock(self, key):
        with self._guard:
            return self._locks.setdefault(key, threading.Lock())

    def _fetch(self, url, target, expected):
        aside = target.with_suffix(f".{os.getpid()}.partial")
        digest = hashlib.sha256()
        try:
            with self.upstream.open(url) as response, open(aside, "wb") as file:
                while chunk := response.read(CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != expected:
                raise UpstreamError(f"{url}: SHA-256 is {digest.hexdigest()}, the index promised {expected}; nothing was kept")
            aside.rename(target)
        except OSError as error:
            raise UpstreamError(f"{url}: broke off: {error}") from error
        finally:
            aside.unlink(missing_ok=True)

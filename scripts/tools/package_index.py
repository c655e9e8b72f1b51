"""Which package index this machine uses, and where a file lies in an index that speaks PEP 691 or PEP 503.

  package_index.py             prints the address of this machine's package index
  package_index.py PACKAGE     prints the names of the files that it offers of a package, one a line
  package_index.py NAME SHA256 FOLDER
                               brings the file of that name into FOLDER, verified

UV_DEFAULT_INDEX names another index; an address may hold a password, so it is no argument.

Exit codes: 0 fine, 1 it cannot be had (standard error says why), 3 used wrongly.
"""

import base64
import configparser
import hashlib
import html.parser
import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PAGE_TYPES = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
PUBLIC_INDEX = "https://pypi.org/simple"
TIMEOUT_SECONDS = 60
ATTEMPTS = 5


def pip_files():
    """pip's configuration files, the strongest last, as its documentation has them."""
    named = os.environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    folders = os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
    own = os.environ.get("XDG_CONFIG_HOME", os.path.expanduser("~/.config"))
    system = [os.path.join(folder, "pip/pip.conf") for folder in folders] + ["/etc/pip.conf"]
    user = [os.path.expanduser("~/.pip/pip.conf"), os.path.join(own, "pip/pip.conf")]
    return [*system, *user, os.path.join(sys.prefix, "pip.conf"), *([named] if named else [])]


def pip_index():
    """The index in pip's configuration; None where it names none. pip itself need not be installed."""
    found = {}
    for path in pip_files():
        parser = configparser.RawConfigParser()
        parser.read(path, encoding="utf-8")
        for section in ("global", "install"):
            value = parser.get(section, "index-url", fallback=None) or parser.get(section, "index_url", fallback=None)
            found.update({section: value} if value else {})
    return found.get("install") or found.get("global")


def machine_index():
    """Address of the package index that this machine's uv or pip is configured for; credentials included."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name].rstrip("/")
    return (pip_index() or PUBLIC_INDEX).rstrip("/")


def without_credentials(url):
    """(address without user name and password, headers that carry them)."""
    parts = urllib.parse.urlsplit(url)
    if parts.username is None:
        return url, {}
    host = parts.hostname + (f":{parts.port}" if parts.port else "")
    secret = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}".encode()
    plain = urllib.parse.urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
    return plain, {"Authorization": "Basic " + base64.b64encode(secret).decode()}


class Links(html.parser.HTMLParser):
    """The links of a PEP 503 page: [address, text]."""

    def __init__(self):
        super().__init__()
        self.links, self.is_open = [], False

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.links.append([dict(attributes).get("href", ""), ""])
            self.is_open = True

    def handle_data(self, data):
        if self.is_open:
            self.links[-1][1] += data.strip()

    def handle_endtag(self, tag):
        if tag == "a":
            self.is_open = False


class Index:
    """One package index that speaks PEP 691 or PEP 503."""

    def __init__(self, url, request):
        """`request` opens an address with headers."""
        self.request = request
        self.url, self.credentials = without_credentials(url.rstrip("/"))
        self.guard, self.pages = threading.Lock(), {}

    def headers_for(self, url):
        """Credentials go to the index's own host only."""
        return self.credentials if urllib.parse.urlsplit(url).netloc == urllib.parse.urlsplit(self.url).netloc else {}

    def page(self, package):
        """[(file name, address, SHA-256 or None)] of a package."""
        with self.guard:
            lock = self.pages.setdefault(package, [threading.Lock(), None])
        with lock[0]:
            if lock[1] is None:
                lock[1] = self.read_page(f"{self.url}/{package}/")
            return lock[1]

    def read_page(self, url):
        with self.request(url, {"Accept": PAGE_TYPES, **self.headers_for(url)}) as answer:
            base, kind, body = answer.geturl(), answer.headers.get_content_type(), answer.read()
        if kind.endswith("json"):
            return [
                (entry["filename"], urllib.parse.urljoin(base, entry["url"]), entry.get("hashes", {}).get("sha256"))
                for entry in json.loads(body)["files"]
            ]
        parser = Links()
        parser.feed(body.decode("utf-8", "replace"))
        found = []
        for href, text in parser.links:
            address, fragment = urllib.parse.urldefrag(urllib.parse.urljoin(base, href))
            match = re.match(r"sha256=([0-9a-f]{64})$", fragment)
            found.append((text, address, match[1] if match else None))
        return found

    def address_of(self, file):
        """Where a file lies: by its hash, or by its name where the index tells no hashes. Raises LookupError."""
        package = re.sub(r"[-_.]+", "-", file.get("package") or file["name"].split("-")[0]).lower()
        page = self.page(package)
        for _, address, sha256 in page:
            if sha256 == file["sha256"]:
                return address
        for name, address, sha256 in page:
            if name == file["name"]:
                if sha256 is None:
                    return address
                raise LookupError(f"the index now offers another file of this name, sha256 {sha256}")
        raise LookupError(f"the index no longer offers it ({len(page)} files of {package} are there)")


def certificate_problem(error):
    """What is wrong with the server's certificate; None when that is not why the request failed."""
    return getattr(getattr(error, "reason", error), "verify_message", None)


def explain(error):
    """A failed request in words, without the address (it may carry a token)."""
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if problem := certificate_problem(error):
        return f"the server's certificate is not accepted: {problem}; is this machine's clock right? (timedatectl)"
    reason = getattr(error, "reason", error)
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


class DropCredentialsOnRedirect(urllib.request.HTTPRedirectHandler):
    """Follows redirects; an index may send to a mirror or a store, which must not get its password."""

    def redirect_request(self, request, *arguments):
        following = super().redirect_request(request, *arguments)
        if following is not None and following.host != request.host:
            following.remove_header("Authorization")
        return following


def request(url, headers):
    """The open answer. Raises HTTPError or OSError."""
    asked = urllib.request.Request(url, headers={"User-Agent": "proxmox-gpu-stack", **headers})
    return urllib.request.build_opener(DropCredentialsOnRedirect).open(asked, timeout=TIMEOUT_SECONDS)


def receive(index, name, sha256, folder):
    """One attempt to bring a file. Raises LookupError when the index has none, or another, of this name."""
    address = index.address_of({"name": name, "sha256": sha256})
    partial = os.path.join(folder, name + ".partial")
    digest = hashlib.sha256()
    with index.request(address, index.headers_for(address)) as answer, open(partial, "wb") as file:
        while block := answer.read(1 << 20):
            digest.update(block)
            file.write(block)
        if answer.length:
            raise OSError(f"the answer broke off {answer.length} bytes before its end")
    if digest.hexdigest() != sha256:
        os.unlink(partial)
        raise LookupError(f"the index sends another file of this name, sha256 {digest.hexdigest()}, declared is {sha256}")
    os.replace(partial, os.path.join(folder, name))


def is_passing(error):
    """Whether another attempt may bring what this one did not."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500 or error.code in (408, 429)
    return certificate_problem(error) is None


def bring(index, name, sha256, folder):
    """Brings a file of the index, verified; tries again what may pass. Raises LookupError and OSError."""
    os.makedirs(folder, exist_ok=True)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return receive(index, name, sha256, folder)
        except (OSError, http.client.HTTPException) as error:
            if attempt == ATTEMPTS or not is_passing(error):
                raise
            time.sleep(2**attempt)


def run(words):
    address = machine_index()
    if not words:
        print(address)
        return
    index = Index(address, request)
    if len(words) == 1:
        print("\n".join(urllib.parse.unquote(name) for name, _, _ in index.page(words[0])))
    else:
        bring(index, *words)


def main():
    words = sys.argv[1:]
    if len(words) not in (0, 1, 3):
        print(__doc__, file=sys.stderr)
        return 3
    try:
        run(words)
        return 0
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
    except configparser.Error as error:
        print(f"pip's configuration cannot be read: {error}".replace("\n", " "), file=sys.stderr)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(explain(error), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

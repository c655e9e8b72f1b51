"""Which package index this machine uses, asked of pip itself, and requests to it.

No index is named here: pip's configuration and environment decide, and where they say nothing, pip's built-in default.
"""

import base64
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from urllib.parse import unquote, urlsplit, urlunsplit

TIMEOUT_SECONDS = 60
# In the order in which pip lets one override the other.
SETTINGS = (":env:.index-url", "install.index-url", "global.index-url")
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class UpstreamError(Exception):
    """The upstream index did not give what was asked for. `status` is its HTTP status, or None when it was not reached."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


def run_pip_python(code):
    """Runs code that uses pip and returns its output. Raises UpstreamError when there is no pip.

    Without an installed pip the one that makes virtual environments will do: a wheel that can be imported as it is."""
    find = (
        "import glob, os, sys; sys.path += glob.glob('/usr/share/python-wheels/pip-*.whl'); "
        "sys.path += glob.glob(os.path.dirname(os.__file__) + '/ensurepip/_bundled/pip-*.whl'); "
    )
    done = subprocess.run([sys.executable, "-c", find + code], capture_output=True, text=True)
    if done.returncode != 0:
        raise UpstreamError(
            "cannot find out this machine's package index: python3 has no pip (Debian: apt install python3-venv); "
            "or set PIP_INDEX_URL"
        )
    return done.stdout.strip()


def index_url():
    """The base URL of the machine's package index, without a slash at the end. Raises UpstreamError without pip."""
    url = os.environ.get("PIP_INDEX_URL")
    if not url:
        listed = run_pip_python(
            "import json; from pip._internal.configuration import Configuration; "
            "c = Configuration(isolated=False); c.load(); print(json.dumps(dict(c.items())))"
        )
        # Newer versions of pip keep one table a file.
        values = {}
        for key, value in json.loads(listed).items():
            values.update(value if isinstance(value, dict) else {key: value})
        url = next((values[key] for key in SETTINGS if values.get(key)), None)
    if not url:
        url = run_pip_python("from pip._internal.models.index import PyPI; print(PyPI.simple_url)")
    return url.rstrip("/")


def without_credentials(url):
    """(URL without user name and password, headers that carry them)."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, {}
    host = parts.hostname + (f":{parts.port}" if parts.port else "")
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    plain = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return plain, {"Authorization": "Basic " + base64.b64encode(secret).decode()}


class Upstream:
    """Requests to the machine's index. Files may lie on another host; credentials go to the index's host only."""

    def __init__(self, url):
        self.url, self._credentials = without_credentials(url)

    def open(self, url, accept="*/*"):
        """The open response for a URL. Raises UpstreamError with host and reason, never with credentials."""
        headers = {"Accept": accept, "User-Agent": "proxmox-gpu-stack-lab"}
        if urlsplit(url).netloc == urlsplit(self.url).netloc:
            headers |= self._credentials
        try:
            return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            raise UpstreamError(f"{urlsplit(url).netloc} answers {error.code} to {urlsplit(url).path}", error.code) from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise UpstreamError(f"{urlsplit(url).netloc} cannot be reached: {reason}") from error

    def project(self, name):
        """(URL, content type, body) of a project's page. Raises UpstreamError; status 404 for an unknown project."""
        with self.open(f"{self.url}/{name}/", ACCEPT) as response:
            return response.geturl(), response.headers.get_content_type(), response.read()

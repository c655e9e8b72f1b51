"""The requests of the hub's API that a snapshot needs, and the patience with a hub that does not answer."""

import contextlib
import email.utils
import http.client
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from .files import SnapshotError

# Seconds between attempts that bring nothing; after the last one the file is given up.
WAITS = (1, 2, 4, 8, 16)
LONGEST_WAIT = 300
# Seconds without a byte after which a connection counts as dead.
SILENCE = 60


class Patience:
    """Waits between attempts, longer each time; gives up when trying again is no use."""

    def __init__(self, what, stopped=None):
        self.what, self.stopped = what, stopped or threading.Event()
        self.start_anew()

    def start_anew(self):
        self.waits = iter(WAITS)

    def after(self, error):
        """Pauses before the next attempt. Raises SnapshotError where there should be none."""
        cause, pause = str(getattr(error, "reason", error)) or type(error).__name__, 0
        if isinstance(error, urllib.error.HTTPError):
            cause, pause = f"{error.code} {error.reason}", retry_after(error.headers.get("Retry-After", ""))
        wait = next(self.waits, None)
        if wait is None:
            raise SnapshotError(f"{self.what}: {cause}; {len(WAITS)} more attempts brought nothing")
        wait = min(max(wait, pause), LONGEST_WAIT)
        print(f"{self.what}: {cause}; again in {wait:.0f} s", flush=True)
        if self.stopped.wait(wait):
            raise SnapshotError(f"{self.what}: stopped")


def retry_after(header):
    """Seconds of a Retry-After header: a number or a date."""
    if header.isdigit():
        return int(header)
    with contextlib.suppress(TypeError, ValueError):
        return max(0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    return 0


class DropTokenOnRedirect(urllib.request.HTTPRedirectHandler):
    """Follows redirects; a hub sends large files from a signed address of another host, which must not get the token."""

    def redirect_request(self, request, *arguments):
        following = super().redirect_request(request, *arguments)
        if following is not None and following.host != request.host:
            following.remove_header("Authorization")
        return following


class Hub:
    """The two requests of the hub's API that a snapshot needs."""

    def __init__(self, spec, token):
        self.base, self.repo, self.revision = spec["endpoint"].rstrip("/"), spec["repo"], spec["revision"]
        self.headers = {"User-Agent": "proxmox-gpu-stack"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def open(self, url, what, headers=()):
        request = urllib.request.Request(url, headers={**self.headers, **dict(headers)})
        try:
            return urllib.request.build_opener(DropTokenOnRedirect).open(request, timeout=SILENCE)
        except urllib.error.HTTPError as error:
            if error.code in (401, 403):
                self.refuse_access(error, what)
            if error.code == 404:
                raise SnapshotError(f"{what}: {url} answers 404: no such repository, revision or file") from None
            raise
        except urllib.error.URLError as error:
            self.refuse_certificate(error, what)
            raise

    def refuse_certificate(self, error, what):
        """Another attempt would meet the same certificate."""
        problem = getattr(error.reason, "verify_message", None)
        if problem is not None:
            raise SnapshotError(
                f"{what}: the certificate of {self.base} is not accepted: {problem}",
                "where it is not valid yet, or has expired: is this machine's clock right? (timedatectl) Then run `up` again",
            ) from None

    def refuse_access(self, error, what):
        page = f"{self.base}/{self.repo}"
        if "Authorization" not in self.headers:
            way_on = (
                f"ask for access at {page}, then give the stack a token that may read it: "
                "pulumi config set --secret proxmox-gpu-stack:huggingFaceToken"
            )
            raise SnapshotError(f"{what}: {error.code}: {self.repo} is gated or private, or does not exist", way_on)
        if error.code == 401:
            raise SnapshotError(f"{what}: 401: the hub does not know the token", "set a valid huggingFaceToken")
        raise SnapshotError(
            f"{what}: 403: the account of the huggingFaceToken may not read {self.repo}",
            f"ask for access at {page} with that account, or set the token of one that has it",
        )

    def files(self):
        """The hub's list of the revision's files."""
        url = f"{self.base}/api/models/{urllib.parse.quote(self.repo)}/revision/{self.revision}?blobs=true"
        patience = Patience(f"the file list {url}")
        while True:
            try:
                with self.open(url, "the file list") as answer:
                    listing = json.load(answer)
                break
            except ValueError:
                raise SnapshotError(f"{url} does not answer with JSON", "is models.<name>.endpoint a model hub?") from None
            except (OSError, http.client.HTTPException) as error:
                patience.after(error)
        if listing.get("sha") != self.revision:
            raise SnapshotError(f"{url} answers for revision {listing.get('sha')}")
        return [self.describe(entry) for entry in listing["siblings"]]

    @staticmethod
    def describe(entry):
        large = entry.get("lfs")
        if large:
            return {"path": entry["rfilename"], "bytes": large["size"], "sha256": large["sha256"]}
        return {"path": entry["rfilename"], "bytes": entry["size"], "gitBlob": entry["blobId"]}

    def content(self, path, start):
        """A file from a byte on."""
        url = f"{self.base}/{urllib.parse.quote(self.repo)}/resolve/{self.revision}/{urllib.parse.quote(path)}"
        return self.open(url, path, {"Range": f"bytes={start}-"} if start else {})

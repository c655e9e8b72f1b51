"""Downloads into a directory storage: GET query-url-metadata and POST download-url."""

import hashlib
import os
import re
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request

from labpve import node, storages
from labpve.errors import PveError, parameter_error

_CHUNK = 1 << 20
_SECONDS = 30
_EXTENSIONS = {
    "iso": r"\.(iso|img)$",
    "vztmpl": storages.ARCHIVE,
    "import": r"\.(ova|qcow2|raw|vmdk)$",
}
_ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_MISSING = "property is missing and it is not optional"


def _open(url, verify, method="GET"):
    context = None if verify else ssl._create_unverified_context()
    request = urllib.request.Request(url, method=method)
    return urllib.request.urlopen(request, timeout=_SECONDS, context=context)


def _check_url(url):
    if not re.match(r"https?://", url):
        raise parameter_error({"url": "value does not match the regex pattern"})


def metadata(url, verify=True):
    """File name, type and size that a URL's server announces."""
    _check_url(url)
    try:
        with _open(url, verify, "HEAD") as answer:
            path = urllib.parse.urlsplit(answer.url).path
            result = {
                "filename": urllib.parse.unquote(path.rsplit("/", 1)[1]),
                "mimetype": answer.headers.get_content_type(),
            }
            if answer.headers.get("Content-Length"):
                result["size"] = int(answer.headers["Content-Length"])
            return result
    except urllib.error.HTTPError as error:
        raise PveError(f"invalid server response: '{error.code} {error.reason}'") from error
    except OSError as error:
        server = urllib.parse.urlsplit(url).netloc
        raise PveError(f"invalid server response: '500 Can't connect to {server} ({error})'") from error


def _check_checksum(parameters):
    given = {key for key in ("checksum", "checksum-algorithm") if parameters.get(key)}
    if len(given) == 1:
        missing = ({"checksum", "checksum-algorithm"} - given).pop()
        raise parameter_error({missing: f"missing property - '{given.pop()}' requires this property"})
    algorithm = parameters.get("checksum-algorithm")
    if algorithm and algorithm not in _ALGORITHMS:
        allowed = ", ".join(_ALGORITHMS)
        message = f"value '{algorithm}' does not have a value in the enumeration '{allowed}'"
        raise parameter_error({"checksum-algorithm": message})


def check(storage, parameters):
    """What download-url refuses before it starts a task; the path of the file to be."""
    missing = {key: _MISSING for key in ("url", "content", "filename") if not parameters.get(key)}
    if missing:
        raise parameter_error(missing)
    _check_url(parameters["url"])
    entry, content, name = storages.get(storage), parameters["content"], parameters["filename"]
    if entry["type"] != "dir":
        raise PveError(f"can't upload to storage type '{entry['type']}', not a file based storage!")
    if content not in _EXTENSIONS:
        message = f"value '{content}' does not have a value in the enumeration '{', '.join(_EXTENSIONS)}'"
        raise parameter_error({"content": message})
    storages.get(storage, content)
    _check_checksum(parameters)
    if "/" in name or not re.search(_EXTENSIONS[content], name, re.IGNORECASE):
        text = "wrong file extension" if content == "iso" else "invalid filename or wrong extension"
        raise parameter_error({"filename": text})
    return node.path(f"{entry['path']}/{storages.FOLDERS[content]}/{name}")


def _digest_of(path, algorithm):
    digest = hashlib.new(algorithm)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _fetch(url, verify, temporary, algorithm):
    digest = hashlib.new(algorithm or "md5")
    try:
        with _open(url, verify) as answer, open(temporary, "wb") as file:
            announced, received = answer.headers.get("Content-Length"), 0
            while chunk := answer.read(_CHUNK):
                received += len(chunk)
                digest.update(chunk)
                file.write(chunk)
    except urllib.error.HTTPError as error:
        raise PveError(f"download failed: {error.code} {error.reason}") from error
    except OSError as error:
        raise PveError(f"download failed: {error}") from error
    if announced and received < int(announced):
        raise PveError(f"download failed: {received} of {announced} bytes received")
    return digest.hexdigest()


def run(target, parameters, verify, log):
    """Download to a temporary name, compare the checksum, rename."""
    url, expected = parameters["url"], parameters.get("checksum", "").lower()
    algorithm = parameters.get("checksum-algorithm")
    log(f"downloading {url} to {target}")
    if os.path.exists(target):
        if expected and _digest_of(target, algorithm) == expected:
            log("OK, got correct file already, no need to download")
            return
        raise PveError(f"refusing to override existing file '{target}'")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = f"{target}.tmp_dwnl.{os.getpid()}.{threading.get_ident()}"
    try:
        found = _fetch(url, verify, temporary, algorithm)
        if expected and found != expected:
            raise PveError(f"checksum mismatch: got '{found}' != expect '{parameters['checksum']}'")
        os.rename(temporary, target)
        log(f"download of '{url}' to '{target}' finished")
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)

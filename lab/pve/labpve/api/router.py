"""Routes of the API: which function answers a method and a path, and who may call it."""

import re
import urllib.parse
from dataclasses import dataclass, field

from labpve import formats, node, permissions
from labpve.errors import PveError, parameter_error


@dataclass
class Request:
    """One call.

    identity: user or token; path: the parts that the route names (node, vmid, …); parameters: query and
    body without those names.
    """

    identity: str
    path: dict = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)

    def vmid(self):
        """The container id of the path; 400 when it is no number."""
        text = self.path["vmid"]
        if not re.fullmatch(r"[1-9]\d{2,8}", text):
            raise parameter_error({"vmid": f"type check ('integer') failed - got '{text}'"})
        return int(text)

    def integer(self, name, default):
        """A whole-number parameter; 400 when it is none."""
        text = self.parameters.get(name, default)
        if not re.fullmatch(r"\d+", str(text)):
            raise parameter_error({name: f"type check ('integer') failed - got '{text}'"})
        return int(text)


@dataclass(frozen=True)
class Route:
    """What `route` was told: which calls, who answers, which rights and parameters."""

    method: str
    pattern: re.Pattern
    answer: object
    rights: tuple | None
    any_of: bool
    known: tuple | None


_ROUTES = []


def route(method, pattern, rights=None, any_of=False, known=None):
    """Decorator: let a function of a Request answer METHOD /path/{name}.

    rights: ("/vms/{vmid}", "VM.Audit", …), checked before the function; known: parameter names beyond which
    everything is refused (None: the function checks them itself).
    """
    expression = re.compile("^" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern) + "$")

    def register(function):
        _ROUTES.append(Route(method, expression, function, rights, any_of, known))
        return function

    return register


def _split_volume(path):
    """A volume id may hold a slash, escaped or not; escape it so that it stays one part of the path."""
    match = re.fullmatch(r"(/nodes/[^/]+/storage/[^/]+/content)/(.+)", path)
    return f"{match[1]}/{match[2].replace('/', '%2F')}" if match else path


def _check_node(name):
    if name not in (node.name(), "localhost"):
        reason = f"failed to get address info for: {name}: Name or service not known"
        raise PveError(f"hostname lookup '{name}' failed - {reason}")


def _check_known(parameters, known):
    unknown = {name: formats.UNKNOWN_PROPERTY for name in parameters if name not in known}
    if unknown:
        raise parameter_error(unknown)


def dispatch(method, path, identity, parameters):
    """The data that a call answers with; PveError for every refusal, 501 for an unknown call."""
    path = _split_volume(path)
    for entry in _ROUTES:
        match = entry.pattern.match(path)
        if not match or entry.method != method:
            continue
        parts = {name: urllib.parse.unquote(value) for name, value in match.groupdict().items()}
        rest = {name: value for name, value in parameters.items() if name not in parts}
        request = Request(identity, parts, rest)
        if "node" in parts:
            _check_node(parts["node"])
        if "vmid" in parts:
            request.vmid()
        if entry.known is not None:
            _check_known(rest, entry.known)
        if entry.rights:
            where, *privileges = entry.rights
            permissions.check(identity, where.format(**parts), privileges, entry.any_of)
        return entry.answer(request)
    raise PveError(f"Method '{method} {path}' not implemented", 501)

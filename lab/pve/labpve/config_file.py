"""/etc/pve/lxc/ID.conf: description, options, raw lxc.* lines, pending changes and saved states."""

import contextlib
import copy
import hashlib
import os
import re
import sys
import urllib.parse
from dataclasses import dataclass, field

from labpve import node, schema
from labpve.errors import PveError

_PLAIN = " !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Characters of a description that need no percent sign."""


@dataclass
class ContainerConfig:
    """A container's configuration.

    options: name -> value (numbers for booleans and integers), description included.
    raw: lxc.* lines as [key, value], in their order.
    pending: values that wait for the next start; pending_delete: options that the next start removes.
    saved: (name, text) of further sections (snapshots), kept as they are.
    """

    options: dict = field(default_factory=dict)
    raw: list = field(default_factory=list)
    pending: dict = field(default_factory=dict)
    pending_delete: set = field(default_factory=set)
    saved: list = field(default_factory=list)

    def copy(self):
        """An independent copy, to work on before anything is written."""
        return copy.deepcopy(self)

    def indexed(self, kind):
        """(N, name, value) of devN, netN or mpN in numeric order."""
        found = ((schema.index_of(key, kind), key, value) for key, value in self.options.items())
        return sorted(entry for entry in found if entry[0] is not None)

    def is_unprivileged(self):
        """True when the container's root is not the host's."""
        return self.options.get("unprivileged") == 1


def file_name(vmid):
    """Where a container's configuration is."""
    return node.path(f"/etc/pve/lxc/{vmid}.conf")


def exists(vmid):
    """True when the container is known, also one whose creation is under way."""
    return os.path.exists(file_name(vmid))


def vmids():
    """Ids of all containers, ascending."""
    try:
        names = os.listdir(node.path("/etc/pve/lxc"))
    except FileNotFoundError:
        return []
    return sorted(int(name[:-5]) for name in names if re.fullmatch(r"\d+\.conf", name))


def _warn(vmid, line):
    sys.stderr.write(f"vm {vmid} - unable to parse config: {line}\n")


def _parse_option(line, vmid, warn):
    match = re.fullmatch(r"([a-z][a-z_-]*\d*):\s*(\S.*?)\s*", line)
    option = match and schema.find(match[1], schema.container_options())
    if not option:
        warn(vmid, line)
        return None
    value = schema.typed(option, match[2])
    if value is None:
        warn(vmid, line)
        return None
    return match[1], value


def _parse_main(text, vmid, warn, config):
    description = []
    for line in text.splitlines():
        raw = re.fullmatch(r"(lxc\.[a-z0-9_.-]+)\s*[:=]\s*(.*?)\s*", line)
        if raw:
            config.raw.append([raw[1], raw[2]])
        elif line.startswith("#"):
            description.append(urllib.parse.unquote(line[1:]))
        elif line.strip():
            parsed = _parse_option(line, vmid, warn)
            if parsed:
                config.options[parsed[0]] = parsed[1]
    if description:
        config.options["description"] = "\n".join(description) + "\n"


def _parse_pending(text, vmid, warn, config):
    for line in text.splitlines():
        deletes = re.fullmatch(r"delete:\s*(.*?)\s*", line)
        if deletes:
            config.pending_delete |= {name.lstrip("!") for name in re.split(r"[,; ]+", deletes[1]) if name}
        elif line.strip() and not line.startswith("#"):
            parsed = _parse_option(line, vmid, warn)
            if parsed:
                config.pending[parsed[0]] = parsed[1]


def parse(text, vmid=0, warn=_warn):
    """Read a configuration; a line that cannot be understood is dropped with a warning, as by Proxmox VE."""
    config = ContainerConfig()
    parts = re.split(r"(?m)^\[([^\]\n]+)\][ \t]*\n?", text)
    _parse_main(parts[0], vmid, warn, config)
    for name, body in zip(parts[1::2], parts[2::2]):
        if name.lower() == "pve:pending":
            _parse_pending(body, vmid, warn, config)
        else:
            config.saved.append((name, body.strip("\n")))
    return config


def encode_description(text):
    """A description as comment lines, percent-encoded line by line."""
    lines = str(text).rstrip("\n").split("\n")
    return "".join(f"#{urllib.parse.quote(line, safe=_PLAIN)}\n" for line in lines)


def render(config):
    """The file's text: description, sorted options, raw lines, then the sections."""
    text = ""
    if str(config.options.get("description", "")).strip("\n"):
        text += encode_description(config.options["description"])
    for key in sorted(config.options):
        if key != "description" and config.options[key] not in ("", None):
            text += f"{key}: {config.options[key]}\n"
    text += "".join(f"{key}: {value}\n" for key, value in config.raw)
    if config.pending or config.pending_delete:
        text += "\n[pve:pending]\n"
        if config.pending_delete:
            text += f"delete: {','.join(sorted(config.pending_delete))}\n"
        text += "".join(f"{key}: {config.pending[key]}\n" for key in sorted(config.pending))
    for name, body in config.saved:
        text += f"\n[{name}]\n{body}\n"
    return text


def load(vmid):
    """The configuration of a container; PveError when there is none."""
    try:
        with open(file_name(vmid), encoding="utf-8") as file:
            return parse(file.read(), vmid)
    except FileNotFoundError:
        message = f"Configuration file 'nodes/{node.name()}/lxc/{vmid}.conf' does not exist"
        raise PveError(message) from None


def save(vmid, config):
    """Write a configuration in one step."""
    os.makedirs(node.path("/etc/pve/lxc"), exist_ok=True)
    node.write_atomically(file_name(vmid), render(config), 0o640)


def remove(vmid):
    """Remove the file; nothing happens when it is gone already."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(file_name(vmid))


def digest(vmid):
    """SHA-1 of the file, with which clients detect that someone else changed it."""
    with open(file_name(vmid), "rb") as file:
        return hashlib.sha1(file.read()).hexdigest()

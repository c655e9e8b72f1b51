"""Parameters of a container: names, types, ranges; the check that answers 400."""

import re
from dataclasses import dataclass

from labpve import formats, node
from labpve.errors import parameter_error

BOOLEAN = "boolean"
INTEGER = "integer"
NUMBER = "number"
STRING = "string"

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_\-+.]*"


@dataclass(frozen=True)
class Option:
    """One parameter: its type, bounds, allowed words or pattern, and the format of a property string."""

    type: str
    minimum: int | None = None
    maximum: int | None = None
    words: tuple = ()
    pattern: str | None = None
    complaint: str = "value does not match the regex pattern"
    format: formats.Format | None = None


_CONTAINER = {
    "arch": Option(STRING, words=("amd64", "i386", "arm64", "armhf", "riscv32", "riscv64")),
    "cmode": Option(STRING, words=("shell", "console", "tty")),
    "console": Option(BOOLEAN),
    "cores": Option(INTEGER, 1, 8192),
    "cpulimit": Option(NUMBER, 0, 8192),
    "cpuunits": Option(INTEGER, 0, 500000),
    "debug": Option(BOOLEAN),
    "description": Option(STRING),
    "dev[n]": Option(STRING, format=formats.DEVICE),
    "features": Option(STRING, format=formats.FEATURES),
    "hookscript": Option(STRING),
    "hostname": Option(
        STRING,
        pattern=rf"{_LABEL}(\.{_LABEL})*",
        complaint="invalid format - value does not look like a valid DNS name\n",
    ),
    "lock": Option(
        STRING,
        words=(
            "backup",
            "create",
            "destroyed",
            "disk",
            "fstrim",
            "migrate",
            "mounted",
            "rollback",
            "snapshot",
            "snapshot-delete",
        ),
    ),
    "memory": Option(INTEGER, 16),
    "mp[n]": Option(STRING, format=formats.MOUNT_POINT),
    "nameserver": Option(STRING),
    "net[n]": Option(STRING, format=formats.NETWORK),
    "onboot": Option(BOOLEAN),
    "ostype": Option(
        STRING,
        words=(
            "debian",
            "devuan",
            "ubuntu",
            "centos",
            "fedora",
            "opensuse",
            "archlinux",
            "alpine",
            "gentoo",
            "nixos",
            "unmanaged",
        ),
    ),
    "protection": Option(BOOLEAN),
    "rootfs": Option(STRING, format=formats.ROOT_DISK),
    "searchdomain": Option(STRING),
    "startup": Option(STRING, format=formats.STARTUP),
    "swap": Option(INTEGER, 0),
    "tags": Option(
        STRING,
        pattern=rf"[;, ]*({_TAG}([;, ]+{_TAG})*[;, ]*)?",
        complaint="invalid format - invalid characters in tag\n",
    ),
    "template": Option(BOOLEAN),
    "timezone": Option(STRING),
    "tty": Option(INTEGER, 0, 6),
    "unprivileged": Option(BOOLEAN),
    "unused[n]": Option(STRING),
}
_SINCE_9 = {"entrypoint": Option(STRING), "env": Option(STRING)}

CREATE = {
    "bwlimit": Option(NUMBER, 0),
    "force": Option(BOOLEAN),
    "ignore-unpack-errors": Option(BOOLEAN),
    "ostemplate": Option(STRING),
    "password": Option(STRING),
    "pool": Option(STRING),
    "restore": Option(BOOLEAN),
    "ssh-public-keys": Option(STRING),
    "start": Option(BOOLEAN),
    "storage": Option(STRING),
    "unique": Option(BOOLEAN),
    "vmid": Option(INTEGER, 100, 999999999),
}
"""Further parameters of POST lxc."""

UPDATE = {"delete": Option(STRING), "digest": Option(STRING), "revert": Option(STRING)}
"""Further parameters of PUT config."""

_COUNTS = {"dev": 256, "mp": 256, "net": 32, "unused": 256}


def container_options():
    """Options of a configuration for the version that this node plays."""
    return {**_CONTAINER, **(_SINCE_9 if node.major() >= 9 else {})}


def find(key, table):
    """The option behind a parameter name, indexed names (dev0) included; None when unknown."""
    match = re.fullmatch(r"([a-z]+)(0|[1-9]\d*)", key)
    if match and match[1] in _COUNTS:
        return table.get(f"{match[1]}[n]") if int(match[2]) < _COUNTS[match[1]] else None
    return table.get(key) if "[" not in key else None


def index_of(key, kind):
    """N of an indexed name such as devN; None when the name is of another kind."""
    match = re.fullmatch(rf"{kind}(\d+)", key)
    return int(match[1]) if match else None


def boolean(value):
    """1, 0, or None when the value is no boolean."""
    text = str(value).lower()
    if text in ("1", "on", "yes", "true"):
        return 1
    return 0 if text in ("0", "off", "no", "false") else None


def typed(option, text):
    """A value as the configuration holds it: numbers for booleans and integers, text otherwise."""
    if option.type == BOOLEAN:
        return boolean(text)
    if option.type == INTEGER and re.fullmatch(r"-?\d+", str(text)):
        return int(text)
    return str(text)


def _problem(key, option, value):
    if option.type == BOOLEAN:
        return None if boolean(value) is not None else f"type check ('boolean') failed - got '{value}'"
    if option.type in (INTEGER, NUMBER):
        pattern = r"-?\d+" if option.type == INTEGER else r"-?\d+(\.\d+)?"
        if not re.fullmatch(pattern, str(value)):
            return f"type check ('{option.type}') failed - got '{value}'"
        if option.minimum is not None and float(value) < option.minimum:
            return f"value must have a minimum value of {option.minimum}"
        if option.maximum is not None and float(value) > option.maximum:
            return f"value must have a maximum value of {option.maximum}"
        return None
    if option.words and value not in option.words:
        return f"value '{value}' does not have a value in the enumeration '{', '.join(option.words)}'"
    if option.pattern and not re.fullmatch(option.pattern, str(value)):
        return option.complaint
    if "\n" in str(value) and key not in ("description", "ssh-public-keys"):
        return "property contains a line feed"
    return formats.problem(key, value, option.format) if option.format else None


def check(parameters, extra=None):
    """Check and convert parameters; `extra` holds those of one call beside the container's own.

    Raises one PveError (400) that names every bad parameter.
    """
    table = {**container_options(), **(extra or {})}
    result, errors = {}, {}
    for key, value in parameters.items():
        option = find(key, table)
        if option is None:
            errors[key] = formats.UNKNOWN_PROPERTY
            continue
        simple_disk = key == "rootfs" or index_of(key, "mp") is not None
        if simple_disk and "vmid" in table and re.fullmatch(r"\d+(\.\d+)?", str(value)):
            result[key] = str(value)  # a bare size: the default storage is added at creation
            continue
        found = _problem(key, option, value)
        if found:
            errors[key] = found
        else:
            result[key] = typed(option, value)
    if errors:
        raise parameter_error(errors)
    return result

"""Formats of the options whose values are property strings: devN, netN, mpN, rootfs, features, startup."""

import re
from dataclasses import dataclass

from labpve import property_string, sizes

UNKNOWN_PROPERTY = "property is not defined in schema and the schema does not allow additional properties"
MISSING_PROPERTY = "property is missing and it is not optional"

BOOLEAN = r"0|1|on|off|yes|no|true|false"
IPV4_CIDR = r"(dhcp|manual|(\d{1,3}\.){3}\d{1,3}/\d{1,2})"
IPV6_CIDR = r"(auto|dhcp|manual|[0-9A-Fa-f:]+/\d{1,3})"
MAC = r"([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}"


@dataclass(frozen=True)
class Format:
    """Fields (name -> pattern of the whole value), which of them must be there, and the default key."""

    fields: dict
    required: tuple = ()
    default_key: str | None = None


DEVICE = Format(
    {"path": r"/dev/.+", "deny-write": BOOLEAN, "gid": r"\d+", "uid": r"\d+", "mode": r"0[0-7]{3}"},
    required=("path",),
    default_key="path",
)
NETWORK = Format(
    {
        "name": r"[^\s]{1,15}",
        "bridge": r"[-_.\w]+",
        "firewall": BOOLEAN,
        "gw": r"(\d{1,3}\.){3}\d{1,3}",
        "gw6": r"[0-9A-Fa-f:]+",
        "host-managed": BOOLEAN,
        "hwaddr": MAC,
        "ip": IPV4_CIDR,
        "ip6": IPV6_CIDR,
        "link_down": BOOLEAN,
        "mtu": r"\d+",
        "rate": r"\d+(\.\d+)?",
        "tag": r"\d+",
        "trunks": r"\d+(;\d+)*",
        "type": r"veth",
    },
    required=("name",),
)
_VOLUME = {
    "volume": r"[^\s,]+",
    "acl": BOOLEAN,
    "mountoptions": r"[a-z]+(;[a-z]+)*",
    "quota": BOOLEAN,
    "replicate": BOOLEAN,
    "ro": BOOLEAN,
    "shared": BOOLEAN,
    "size": r"\d+(\.\d+)?[KMGT]?",
}
ROOT_DISK = Format(_VOLUME, required=("volume",), default_key="volume")
MOUNT_POINT = Format(
    {**_VOLUME, "mp": r"/[^\s]*", "backup": BOOLEAN}, required=("volume", "mp"), default_key="volume"
)
FEATURES = Format(
    {
        "force_rw_sys": BOOLEAN,
        "fuse": BOOLEAN,
        "keyctl": BOOLEAN,
        "mknod": BOOLEAN,
        "mount": r"[\w;]+",
        "nesting": BOOLEAN,
    }
)
STARTUP = Format({"order": r"\d+", "up": r"\d+", "down": r"\d+"}, default_key="order")


def is_safe_path(path):
    """True when no component of the path is `.` or `..`."""
    return not any(part in (".", "..") for part in path.split("/"))


def problem(option, value, fmt):
    """What Proxmox VE finds wrong with the value, or None."""
    try:
        properties = property_string.parse(value, fmt.default_key)
    except ValueError as error:
        return f"invalid format - {error}\n"
    lines = []
    for key in fmt.required:
        if key not in properties:
            lines.append(f"{option}.{key}: {MISSING_PROPERTY}")
    for key, content in properties.items():
        pattern = fmt.fields.get(key)
        if pattern is None:
            lines.append(f"{option}.{key}: {UNKNOWN_PROPERTY}")
        elif not re.fullmatch(pattern, content):
            lines.append(f"{option}.{key}: value does not match the regex pattern")
        elif key in ("path", "mp") and not is_safe_path(content):
            lines.append(f"{option}.{key}: invalid format - path contains '.' or '..' components")
        elif key == "size" and sizes.parse(content) is None:
            lines.append(f"{option}.size: invalid format - value does not look like a valid disk size")
    return "invalid format - format error\n" + "\n".join(lines) + "\n" if lines else None

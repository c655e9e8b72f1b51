"""The form in which Proxmox VE stores values that may be written in several ways."""

import random
import re

from labpve import property_string


def tags(value):
    """Lower case, sorted, each once, joined by `;`."""
    return ";".join(sorted({tag.lower() for tag in re.split(r"[;, ]+", str(value)) if tag}))


def network(value, old=""):
    """A netN with its hardware address (kept from `old`, else random) and type."""
    properties = property_string.parse(value)
    before = property_string.parse(old) if old else {}
    if not properties.get("hwaddr"):
        properties["hwaddr"] = before.get("hwaddr") or random_mac()
    properties["type"] = "veth"
    return property_string.render(properties, first=("name",))


def random_mac():
    """A hardware address with Proxmox's own prefix."""
    return "BC:24:11:" + ":".join(f"{random.randrange(256):02X}" for _ in range(3))


def mount_point(properties, is_root=False):
    """rootfs or mpN from its properties, in the order of Proxmox VE."""
    return property_string.render(properties, "volume", () if is_root else ("mp",))


def address_list(value):
    """nameserver and searchdomain: a list separated by single spaces."""
    return " ".join(part for part in re.split(r"[ ,;]+", str(value)) if part)

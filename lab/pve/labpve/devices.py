"""Device passthrough (devN): checks of the host's nodes and the nodes made for a container at its start."""

import os
import stat

from labpve import node, property_string, volumes
from labpve.errors import PveError


def look_up(path):
    """os.stat of a device node on the host; PveError when it is missing or no device."""
    try:
        found = os.stat(path)
    except OSError:
        raise PveError(f"Device {path} does not exist") from None
    if not (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)):
        raise PveError(f"{path} is not a device")
    return found


def check(config):
    """Check every devN of a configuration: done at each write of the configuration and at start."""
    for _, _, value in config.indexed("dev"):
        look_up(property_string.parse(value, "path")["path"])


def cgroup_rule(value):
    """`c 195:0 rw` for a devN; no right to make nodes."""
    properties = property_string.parse(value, "path")
    found = look_up(properties["path"])
    kind = "b" if stat.S_ISBLK(found.st_mode) else "c"
    access = "r" if properties.get("deny-write") == "1" else "rw"
    return f"{kind} {os.major(found.st_rdev)}:{os.minor(found.st_rdev)} {access}"


def node_path(vmid, device):
    """Where the container's own node of a device is made on the host."""
    return node.path(f"/var/lib/lxc/{vmid}/passthrough{device}")


def make_node(vmid, value, config):
    """Make the container's node of a devN with the numbers that the host's node has now."""
    properties = property_string.parse(value, "path")
    found = look_up(properties["path"])
    target, owner = node_path(vmid, properties["path"]), volumes.host_owner(config)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        os.unlink(target)
    os.mknod(target, stat.S_IFMT(found.st_mode), found.st_rdev)
    os.chown(target, owner + int(properties.get("uid", 0)), owner + int(properties.get("gid", 0)))
    os.chmod(target, int(properties.get("mode", "0660"), 8))
    return target

"""Network interfaces of a running container: added, changed and removed without a restart."""

import subprocess

from labpve import property_string
from labpve.errors import PveError


def _run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        detail = result.stderr.strip() or f"exit code {result.returncode}"
        raise PveError(f"command '{' '.join(command)}' failed: {detail}")


def remove(vmid, index):
    """Take interface netN away."""
    pair = f"veth{vmid}i{index}"
    subprocess.run(["ip", "link", "del", pair], capture_output=True, check=False)


def put(vmid, index, value, pid):
    """Add interface netN to the container of process `pid`; an older one of that number is replaced."""
    properties = property_string.parse(value)
    pair, name = f"veth{vmid}i{index}", properties["name"]
    inside = ("nsenter", "-t", str(pid), "-n", "ip")
    remove(vmid, index)
    peer = ("peer", "name", name, "netns", str(pid))
    address = ("address", properties["hwaddr"]) if properties.get("hwaddr") else ()
    _run("ip", "link", "add", pair, "type", "veth", *peer[:3], *address, *peer[3:])
    if properties.get("bridge"):
        _run("ip", "link", "set", pair, "master", properties["bridge"])
    _run("ip", "link", "set", pair, "up")
    if properties.get("link_down") == "1":
        return
    _run(*inside, "link", "set", name, "up")
    for key, gateway in (("ip", "gw"), ("ip6", "gw6")):
        if "/" in properties.get(key, ""):
            _run(*inside, "addr", "add", properties[key], "dev", name)
        if properties.get(gateway):
            _run(*inside, "route", "replace", "default", "via", properties[gateway], "dev", name)

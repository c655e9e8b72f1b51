"""Network and hardware of this node, read from the node itself."""

import ipaddress
import json
import os
import re
import subprocess


def _ip(*arguments):
    result = subprocess.run(["ip", "-j", *arguments], capture_output=True, text=True, check=False)
    return json.loads(result.stdout or "[]")


def _ipv4(entry):
    found = [address for address in entry.get("addr_info", []) if address["family"] == "inet"]
    return found[0] if found else None


def addresses():
    """Every IPv4 address of the node."""
    return [found["local"] for entry in _ip("addr") if (found := _ipv4(entry))]


def address():
    """Address of vmbr0, or the loopback's where there is no such bridge."""
    found = [_ipv4(entry) for entry in _ip("addr", "show", "dev", "vmbr0")]
    return found[0]["local"] if found and found[0] else "127.0.0.1"


def _gateway():
    routes = _ip("route", "show", "default")
    return routes[0].get("gateway") if routes else None


def network():
    """GET network: the bridge with its address and the interface in it."""
    members = [entry["ifname"] for entry in _ip("link", "show", "master", "vmbr0")]
    physical = [name for name in members if not name.startswith("veth")]
    bridge = {
        "iface": "vmbr0",
        "type": "bridge",
        "method": "static",
        "method6": "manual",
        "bridge_ports": " ".join(physical),
        "active": 1,
        "autostart": 1,
        "families": ["inet"],
        "priority": 3,
    }
    for entry in _ip("addr", "show", "dev", "vmbr0"):
        found = _ipv4(entry)
        if found:
            cidr = f"{found['local']}/{found['prefixlen']}"
            bridge.update(address=found["local"], cidr=cidr)
            bridge["netmask"] = str(ipaddress.ip_interface(cidr).netmask)
    if _gateway():
        bridge["gateway"] = _gateway()
    cards = [
        {"iface": name, "type": "eth", "method": "manual", "method6": "manual", "active": 1, "exists": 1}
        for name in physical
    ]
    return [bridge, *({**card, "families": ["inet"], "priority": 2} for card in cards)]


def resolver():
    """GET dns, from /etc/resolv.conf."""
    try:
        with open("/etc/resolv.conf", encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return {}
    servers = re.findall(r"(?m)^nameserver\s+(\S+)", text)
    search = re.findall(r"(?m)^(?:search|domain)\s+(\S+)", text)
    result = {f"dns{number}": server for number, server in enumerate(servers[:3], 1)}
    return {**result, **({"search": search[0]} if search else {})}


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def pci_devices():
    """GET hardware/pci."""
    folder = "/sys/bus/pci/devices"
    result = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        names = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
        entry = {key: _read(f"{folder}/{name}/{key}") for key in names}
        vendor = {"vendor_name": "NVIDIA Corporation"} if entry["vendor"] == "0x10de" else {}
        result.append({"id": name, "iommugroup": -1, **entry, **vendor})
    return result


def memory():
    """Memory of the machine in bytes."""
    with open("/proc/meminfo", encoding="utf-8") as file:
        sizes = dict(re.findall(r"(?m)^(\w+):\s+(\d+) kB", file.read()))
    total, free = int(sizes["MemTotal"]) << 10, int(sizes["MemAvailable"]) << 10
    return {"total": total, "free": free, "used": total - free}


def uptime():
    """Seconds since this node's first process started (the machine below runs longer)."""
    with open("/proc/1/stat", encoding="utf-8") as file:
        started = int(file.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    with open("/proc/uptime", encoding="utf-8") as file:
        return max(1, int(float(file.read().split()[0]) - started))

"""What a container is doing now, asked from LXC."""

import json
import os
import subprocess

from labpve import cgroups, config_file, property_string, sizes

_RUNNING = ("RUNNING", "STOPPING", "FROZEN")


def _lxc_info(vmid, flag):
    result = subprocess.run(["lxc-info", "-n", str(vmid), flag], capture_output=True, text=True, check=False)
    return result.stdout.strip()


def status(vmid):
    """running or stopped."""
    return "running" if _lxc_info(vmid, "-sH") in _RUNNING else "stopped"


def is_running(vmid):
    """True while the container has a first process."""
    return status(vmid) == "running"


def first_process(vmid):
    """Host pid of the container's first process, or None."""
    text = _lxc_info(vmid, "-pH")
    return int(text) if text.isdigit() and int(text) > 0 else None


def _uptime(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            started = int(file.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
        with open("/proc/uptime", encoding="utf-8") as file:
            return max(1, int(float(file.read().split()[0]) - started))
    except OSError:
        return 0


def current(vmid):
    """GET status/current, without the parts that only a real host can measure (they are 0)."""
    options = config_file.load(vmid).options
    disk = property_string.parse(options.get("rootfs", ""), "volume").get("size", "4G")
    result = {
        "vmid": int(vmid),
        "type": "lxc",
        "name": options.get("hostname", f"CT{vmid}"),
        "status": status(vmid),
        "cpus": options.get("cores") or os.cpu_count(),
        "maxmem": int(options.get("memory", 512)) << 20,
        "maxswap": int(options.get("swap", 512)) << 20,
        "maxdisk": sizes.parse(disk) or 0,
    }
    unmeasured = "swap disk cpu netin netout diskread diskwrite uptime"
    result.update({name: 0 for name in unmeasured.split()}, mem=cgroups.memory_use(vmid))
    pid = first_process(vmid) if result["status"] == "running" else None
    if pid:
        result.update(pid=pid, uptime=_uptime(pid))
    result.update({name: options[name] for name in ("lock", "tags", "template") if options.get(name)})
    return result


def _interface(entry):
    addresses = entry.get("addr_info", [])
    result = {
        "name": entry["ifname"],
        "hwaddr": entry.get("address", ""),
        "hardware-address": entry.get("address", ""),
        "ip-addresses": [
            {
                "ip-address": address["local"],
                "prefix": str(address["prefixlen"]),
                "ip-address-type": address["family"],
            }
            for address in addresses
        ],
    }
    for address in addresses:
        result.setdefault(address["family"], f"{address['local']}/{address['prefixlen']}")
    return result


def interfaces(vmid):
    """GET interfaces: the container's network interfaces, or None while it is stopped."""
    config_file.load(vmid)
    pid = first_process(vmid) if is_running(vmid) else None
    if not pid:
        return None
    listing = subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "ip", "-j", "addr"], capture_output=True, text=True, check=False
    )
    return [_interface(entry) for entry in json.loads(listing.stdout or "[]")]

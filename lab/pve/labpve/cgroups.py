"""CPU and memory limits of a container, where this machine's cgroup v2 hierarchy has the controllers.

A limit whose controller is missing is kept in the configuration and has no effect; setting it would stop
LXC from starting the container.
"""

import os

from labpve import node

_HIERARCHY = "/sys/fs/cgroup"
_MEBIBYTE = 1 << 20
_PERIOD = 100000
_DEFAULT_MEMORY = 512
_DEFAULT_SWAP = 512


def controllers():
    """Names of the controllers that containers can be limited with."""
    try:
        with open(node.path(f"{_HIERARCHY}/cgroup.controllers"), encoding="utf-8") as file:
            return set(file.read().split())
    except FileNotFoundError:
        return set()


def _first_processors(count):
    available = sorted(os.sched_getaffinity(0))
    return ",".join(str(number) for number in available[:count])


def limits(options, available):
    """cgroup v2 file -> value for a container's options, for the controllers in `available`.

    memory.high lies 128 MiB below the limit from 16 GiB on, else at 1016/1024 of it, as in Proxmox VE 9.
    """
    result = {}
    if "memory" in available:
        memory = int(options.get("memory", _DEFAULT_MEMORY))
        high = memory - 128 if memory >= 16384 else memory * 1016 / 1024
        result["memory.max"] = str(memory * _MEBIBYTE)
        result["memory.high"] = str(int(high * _MEBIBYTE))
        result["memory.swap.max"] = str(int(options.get("swap", _DEFAULT_SWAP)) * _MEBIBYTE)
    if "cpu" in available:
        quota = float(options.get("cpulimit", 0))
        result["cpu.max"] = f"{int(quota * _PERIOD)} {_PERIOD}" if quota else f"max {_PERIOD}"
        if "cpuunits" in options:
            result["cpu.weight"] = str(max(1, min(10000, int(options["cpuunits"]))))
    if "cpuset" in available and options.get("cores"):
        result["cpuset.cpus"] = _first_processors(int(options["cores"]))
    return result


def apply_live(vmid, options):
    """Set the limits of a running container."""
    folder = node.path(f"{_HIERARCHY}/lxc/{vmid}")
    for name, value in limits(options, controllers()).items():
        if os.path.exists(f"{folder}/{name}"):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(value)


def memory_use(vmid):
    """Bytes that a running container uses, 0 where nobody counts."""
    try:
        with open(node.path(f"{_HIERARCHY}/lxc/{vmid}/memory.current"), encoding="utf-8") as file:
            return int(file.read())
    except OSError:
        return 0

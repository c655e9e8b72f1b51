"""Pools: names and the containers in each (/etc/pve/lab-pools.json)."""

import json
import os

from labpve import node


def _file():
    return node.path("/etc/pve/lab-pools.json")


def load():
    """Pool name -> list of container ids."""
    try:
        with open(_file(), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def _save(pools):
    os.makedirs(os.path.dirname(_file()), exist_ok=True)
    node.write_atomically(_file(), json.dumps(pools))


def create(name):
    """Add an empty pool; an existing one stays as it is."""
    pools = load()
    pools.setdefault(name, [])
    _save(pools)


def add(name, vmid):
    """Put a container into a pool."""
    pools = load()
    pools.setdefault(name, []).append(int(vmid))
    _save(pools)


def remove(vmid):
    """Take a container out of its pool, if it is in one."""
    pools = load()
    if any(int(vmid) in members for members in pools.values()):
        _save({name: [m for m in members if m != int(vmid)] for name, members in pools.items()})


def of(vmid):
    """Name of the pool a container is in, or None."""
    return next((name for name, members in load().items() if int(vmid) in members), None)

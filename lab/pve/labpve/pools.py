"""Pools: names and the containers in each (/etc/pve/lab-pools.json)."""

import contextlib
import json

from labpve import locks, node


def _file():
    return node.path("/etc/pve/lab-pools.json")


def load():
    """Pool name -> list of container ids."""
    try:
        with open(_file(), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


@contextlib.contextmanager
def _changing():
    """The pools, to be changed in place; written at the end. Others wait."""
    with locks.file_lock("/run/lock/lab-pools.lock"):
        pools = load()
        before = json.dumps(pools)
        yield pools
        if json.dumps(pools) != before:
            node.write_atomically(_file(), json.dumps(pools))


def create(name):
    """Add an empty pool; an existing one stays as it is."""
    with _changing() as pools:
        pools.setdefault(name, [])


def add(name, vmid):
    """Put a container into a pool."""
    with _changing() as pools:
        pools.setdefault(name, []).append(int(vmid))


def remove(vmid):
    """Take a container out of its pool, if it is in one."""
    with _changing() as pools:
        for members in pools.values():
            members[:] = [member for member in members if member != int(vmid)]


def of(vmid):
    """Name of the pool a container is in, or None."""
    return next((name for name, members in load().items() if int(vmid) in members), None)

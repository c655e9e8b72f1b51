"""Locks of a container: the file lock around a change, the `lock` and the `protection` option."""

import contextlib
import fcntl
import os
import time

from labpve import node
from labpve.errors import PveError


def config_lock(vmid, timeout=10):
    """Hold the file lock of a container's configuration."""
    return file_lock(f"/run/lock/lxc/pve-config-{vmid}.lock", timeout)


@contextlib.contextmanager
def file_lock(path, timeout=10):
    """Hold a file lock; after `timeout` seconds the error of Proxmox VE."""
    file_name = node.path(path)
    os.makedirs(os.path.dirname(file_name), exist_ok=True)
    with open(file_name, "w", encoding="utf-8") as file:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise PveError(f"can't lock file '{file_name}' - got timeout") from None
                time.sleep(0.05)
        yield


def check_lock(config):
    """Refuse while an operation holds the container (`lock: create`, `backup`, …)."""
    if config.options.get("lock"):
        raise PveError(f"CT is locked ({config.options['lock']})")


def check_protection(config, what):
    """Refuse `what` on a protected container."""
    if config.options.get("protection"):
        raise PveError(f"{what} - protection mode enabled")

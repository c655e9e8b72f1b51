"""Containers at the host's start and end: `onboot`, `startup` order and delays, as pve-guests does it."""

import sys
import time

from labpve import config_file, lifecycle, property_string, state, tasks

_LAST = 10**9
_STOP_SECONDS = 60


def _startup(vmid):
    value = config_file.load(vmid).options.get("startup", "")
    return property_string.parse(value, "order")


def order_of(vmid):
    """Sort key: containers with an order first, in that order; then the others; then by id."""
    order = _startup(vmid).get("order", "")
    return int(order) if order.isdigit() else _LAST, vmid


def _say(vmid, result):
    if result != "OK":
        print(f"CT {vmid}: {result}", flush=True)


def start_all():
    """Start what has onboot: 1; one that fails does not stop the others. `up` delays the next one."""
    chosen = [vmid for vmid in config_file.vmids() if config_file.load(vmid).options.get("onboot") == 1]
    for vmid in sorted(chosen, key=order_of):
        print(f"Starting CT {vmid}", flush=True)
        _say(vmid, tasks.run("vzstart", vmid, lambda log, vmid=vmid: lifecycle.start(vmid, log)))
        time.sleep(int(_startup(vmid).get("up", 0)))


def stop_all():
    """Shut down what runs, in reverse order; killed after its `down` seconds."""
    for vmid in sorted(config_file.vmids(), key=order_of, reverse=True):
        if not state.is_running(vmid):
            continue
        print(f"Stopping CT {vmid}", flush=True)
        timeout = int(_startup(vmid).get("down", _STOP_SECONDS))
        _say(
            vmid, tasks.run("vzshutdown", vmid, lambda log, v=vmid, t=timeout: lifecycle.shutdown(v, t, True))
        )


def main(words):
    """`pve-startall` starts, `pve-startall stop` shuts down; the exit status."""
    if words not in ([], ["stop"]):
        print("usage: pve-startall [stop]", file=sys.stderr)
        return 255
    if words:
        stop_all()
    else:
        start_all()
    return 0

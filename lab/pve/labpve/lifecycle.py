"""Start, stop, shutdown, reboot and removal of a container. `log` is the task that shows progress."""

import shutil
import subprocess
import time

from labpve import (
    config_file,
    devices,
    guest_files,
    hooks,
    locks,
    lxc_config,
    node,
    pending,
    pools,
    property_string,
    sizes,
    state,
    storages,
    volumes,
)
from labpve.errors import PveError, parameter_error

_START_SECONDS = 60


def _unit(vmid):
    return f"pve-container@{vmid}"


def _systemctl(*arguments):
    result = subprocess.run(["systemctl", *arguments], stderr=subprocess.DEVNULL, check=False)
    return result.returncode


def _wait_until_running(vmid):
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if state.is_running(vmid):
            return
        if _systemctl("is-failed", "-q", _unit(vmid)) == 0:
            break
        time.sleep(0.05)
    raise PveError(f"startup for container '{vmid}' failed")


def _fail_before_start(vmid, reason, log):
    """As a failing pre-start hook of LXC: the task shows that it failed, only LXC's own log says why."""
    with open(node.path(f"/var/log/lxc-{vmid}.log"), "a", encoding="utf-8") as file:
        file.write(f"lxc-start {vmid} - Script exec lxc-pve-prestart-hook produced output: {reason}\n")
    log("run_buffer: 571 Script exited with status 2")
    log(f'lxc_init: 845 Failed to run lxc.hook.pre-start for container "{vmid}"')
    log(f'__lxc_start: 2034 Failed to initialize container "{vmid}"')
    raise PveError(f"startup for container '{vmid}' failed")


def _start_locked(vmid, log):
    config = config_file.load(vmid)
    locks.check_lock(config)
    if config.options.get("template"):
        raise PveError("you can't start a CT if it's a template")
    if state.is_running(vmid):
        raise PveError(f"CT {vmid} already running")
    if config.pending or config.pending_delete:
        pending.apply_stopped(config)
        config_file.save(vmid, config)
    devices.check(config)
    missing = lxc_config.check_mount_sources(config)
    if missing:
        _fail_before_start(vmid, missing, log)
    warning = guest_files.nesting_warning(config)
    if warning:
        log.warn(warning)
    hooks.run(vmid, config, "pre-start", stop_on_error=True)
    root = guest_files.GuestRoot(config)
    guest_files.write_name(root, config.options.get("hostname", f"CT{vmid}"))
    guest_files.write_resolver(root, config.options)
    for _, _, value in config.indexed("dev"):
        devices.make_node(vmid, value, config)
    lxc_config.write(vmid, config)
    _systemctl("reset-failed", _unit(vmid))
    _systemctl("start", _unit(vmid))
    _wait_until_running(vmid)
    hooks.run(vmid, config, "post-start")


def start(vmid, log):
    """Start a container; pending changes take effect."""
    with locks.config_lock(vmid):
        _start_locked(vmid, log)


def _stop_locked(vmid, command):
    config = config_file.load(vmid)
    locks.check_lock(config)
    if not state.is_running(vmid):
        raise PveError(f"CT {vmid} not running")
    hooks.run(vmid, config, "pre-stop")
    result = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    if result.returncode and state.is_running(vmid):
        raise PveError(f"command '{' '.join(command)}' failed: exit code {result.returncode}")
    _systemctl("stop", _unit(vmid))
    hooks.run(vmid, config, "post-stop")


def stop(vmid):
    """End a container at once, as if its power were cut."""
    with locks.config_lock(vmid):
        _stop_locked(vmid, ["lxc-stop", "-n", str(vmid), "--kill"])


def shutdown(vmid, timeout=60, force=False):
    """Ask the container to end; after `timeout` seconds kill it (`force`) or fail and leave it running."""
    keep = [] if force else ["--nokill"]
    with locks.config_lock(vmid):
        _stop_locked(vmid, ["lxc-stop", "-n", str(vmid), *keep, "--timeout", str(timeout)])


def reboot(vmid, timeout=60, log=None):
    """Shut down (killed after `timeout` seconds) and start; pending changes take effect."""
    with locks.config_lock(vmid):
        _stop_locked(vmid, ["lxc-stop", "-n", str(vmid), "--timeout", str(timeout)])
        _start_locked(vmid, log)


def check_destroy(vmid, force=False):
    """What DELETE refuses before it starts a task."""
    config = config_file.load(vmid)
    locks.check_protection(config, f"can't remove CT {vmid}")
    locks.check_lock(config)
    if state.is_running(vmid) and not force:
        raise PveError(f"unable to destroy CT {vmid} - container is running")


def destroy(vmid, force=False):
    """Remove a container with its disks; `force` ends a running one first. Bind-mounted data stays."""
    check_destroy(vmid, force)
    if state.is_running(vmid):
        stop(vmid)
    with locks.config_lock(vmid):
        config = config_file.load(vmid)
        for _, properties in storages.container_volumes(config):
            volumes.remove(properties["volume"])
        forget(vmid)


def forget(vmid):
    """Remove what a container leaves beside its disks: LXC's directory, pool membership, configuration."""
    shutil.rmtree(lxc_config.container_directory(vmid), ignore_errors=True)
    pools.remove(vmid)
    config_file.remove(vmid)


def resize(vmid, disk, size):
    """Grow a disk to a size or by +size."""
    if not sizes.parse(size.removeprefix("+")):
        raise parameter_error({"size": "value does not match the regex pattern"})
    with locks.config_lock(vmid):
        config = config_file.load(vmid)
        locks.check_lock(config)
        options = dict(storages.container_volumes(config))
        if disk not in options or disk.startswith("unused"):
            raise PveError(f"no such disk '{disk}'")
        before = sizes.parse(options[disk].get("size", "4G"))
        after = sizes.parse(size.removeprefix("+")) + (before if size.startswith("+") else 0)
        if after < before:
            raise PveError("unable to shrink disk size")
        properties = {**property_string.parse(config.options[disk], "volume"), "size": sizes.render(after)}
        first = () if disk == "rootfs" else ("mp",)
        config.options[disk] = property_string.render(properties, "volume", first)
        config_file.save(vmid, config)

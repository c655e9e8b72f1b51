"""Changes of a configuration: staged as pending, then applied at once, live, or at the next start.

What a running container takes live (pve-container 5 on Proxmox VE 8, 6 on 9): the options of `_AT_ONCE`, CPU
and memory limits, netN, new mpN; new devN on Proxmox VE 9 only. Everything else, changes and removals of
existing mpN and devN included, waits in [pve:pending].
"""

import re
import subprocess

from labpve import (
    cgroups,
    devices,
    locks,
    mounts,
    network,
    node,
    normalise,
    property_string,
    schema,
    state,
    volumes,
)
from labpve.errors import PveError, parameter_error

_AT_ONCE = {
    "cores",
    "description",
    "hookscript",
    "hostname",
    "lock",
    "onboot",
    "protection",
    "startup",
    "tags",
}
_LIMITS = {"cpulimit", "cpuunits", "memory", "swap"}
_NEEDED = ("memory", "ostype", "rootfs")


def split_names(text):
    """Option names of `delete` and `revert`."""
    return [name for name in re.split(r"[,; ]+", text or "") if name]


def check_names(parameter, names, changes):
    """Refuse (400) unknown names and options that are to be set and removed at once."""
    for name in names:
        if schema.find(name, schema.container_options()) is None:
            raise parameter_error({parameter: f"unknown option '{name}'"})
        if name in changes:
            raise parameter_error(
                {parameter: f"you can't use '-{name}' and '-{parameter} {name}' at the same time"}
            )


def _stage_delete(vmid, config, option, warn):
    if option not in config.options and option not in config.pending:
        warn(f"cannot delete '{option}' - not set in current configuration!")
        return
    if option in _NEEDED:
        raise PveError(f"unable to delete required option '{option}'")
    if option == "unprivileged":
        raise PveError(f"unable to delete read-only option: '{option}'")
    if re.fullmatch(r"(unused|mp)\d+", option):
        locks.check_protection(config, f"can't remove CT {vmid} drive '{option}'")
    config.pending.pop(option, None)
    if option in config.options:
        config.pending_delete.add(option)


def _staged_value(vmid, config, option, value):
    if option == "unprivileged":
        raise PveError(f"unable to modify read-only option: '{option}'")
    if option == "rootfs" or schema.index_of(option, "mp") is not None:
        locks.check_protection(config, f"can't update CT {vmid} drive '{option}'")
        value = volumes.plan(vmid, option, value, config)
        before = property_string.parse(config.options.get(option, ""), "volume")
        properties = property_string.parse(value, "volume")
        if "size" in before and before.get("volume") == properties["volume"]:
            properties["size"] = before["size"]
            value = normalise.mount_point(properties, is_root=option == "rootfs")
        return value
    if schema.index_of(option, "dev") is not None:
        devices.look_up(property_string.parse(value, "path")["path"])
        return value
    if schema.index_of(option, "net") is not None:
        return normalise.network(value, config.options.get(option, ""))
    if option == "tags":
        return normalise.tags(value)
    if option in ("nameserver", "searchdomain"):
        return normalise.address_list(value)
    return value


def stage(vmid, config, changes, deletes=(), reverts=(), warn=lambda line: None):
    """Put changes into the pending part, checked and in their stored form. Nothing is written or made."""
    for option in reverts:
        config.pending.pop(option, None)
        config.pending_delete.discard(option)
    for option in deletes:
        _stage_delete(vmid, config, option, warn)
    for option in sorted(changes):
        config.pending[option] = _staged_value(vmid, config, option, changes[option])
        config.pending_delete.discard(option)
    for option in [o for o in config.pending if config.options.get(o) == config.pending[o]]:
        del config.pending[option]


def _make_disk(option, config):
    value = config.options[option]
    volume = property_string.parse(value, "volume")["volume"]
    if volumes.kind_of(volume) == "volume":
        volumes.make(volume, config)


def _set_disk(option, config):
    """Put a staged mpN in place; the disk that it replaces becomes unusedN."""
    before = config.options.get(option)
    config.options[option] = config.pending.pop(option)
    _make_disk(option, config)
    if before:
        volumes.keep_unused(config, before)


def _remove(option, config):
    if schema.index_of(option, "mp") is not None:
        volumes.keep_unused(config, config.options.pop(option))
    elif schema.index_of(option, "unused") is not None:
        volumes.remove(config.options.pop(option))
    else:
        config.options.pop(option, None)
    config.pending_delete.discard(option)


def apply_stopped(config, selection=None):
    """Apply pending changes to a stopped container: all (at start) or the selected ones."""
    for option in sorted(config.pending_delete):
        if selection is None or option in selection:
            _remove(option, config)
    for option in sorted(config.pending):
        if selection is not None and option not in selection:
            continue
        if schema.index_of(option, "mp") is not None:
            _set_disk(option, config)
        else:
            config.options[option] = config.pending.pop(option)


def _mount_live(vmid, option, config):
    properties = property_string.parse(config.pending[option], "volume")
    volume = properties["volume"]
    if volumes.kind_of(volume) == "volume":
        source = volumes.make(volume, config)
    else:
        source = volume
    mounts.mount_into(state.first_process(vmid), source, properties["mp"], properties.get("ro") == "1")


def _device_live(vmid, option, config):
    value = config.pending[option]
    source = devices.make_node(vmid, value, config)
    if not config.is_unprivileged():
        rule = devices.cgroup_rule(value)
        command = ["lxc-cgroup", "-n", str(vmid), "devices.allow", rule]
        subprocess.run(command, check=False, capture_output=True)
    mounts.mount_into(state.first_process(vmid), source, property_string.parse(value, "path")["path"])


def _change_live(vmid, option, config):
    """Apply one staged value to the running container; False when it has to wait."""
    is_new = option not in config.options
    if option in _AT_ONCE or option in _LIMITS:
        limits = {**config.options, option: config.pending[option]}
        if option in _LIMITS or option == "cores":
            cgroups.apply_live(vmid, limits)
    elif schema.index_of(option, "net") is not None:
        index = schema.index_of(option, "net")
        network.put(vmid, index, config.pending[option], state.first_process(vmid))
    elif schema.index_of(option, "mp") is not None and is_new:
        _mount_live(vmid, option, config)
    elif schema.index_of(option, "dev") is not None and is_new and node.major() >= 9:
        _device_live(vmid, option, config)
    else:
        return False
    config.options[option] = config.pending.pop(option)
    return True


def _delete_live(vmid, option, config):
    index = schema.index_of(option, "net")
    if index is not None:
        network.remove(vmid, index)
    elif option in ("swap", "cpulimit", "cpuunits"):
        remaining = {key: value for key, value in config.options.items() if key != option}
        cgroups.apply_live(vmid, {**remaining, **({"swap": 0} if option == "swap" else {})})
    elif option not in _AT_ONCE and schema.index_of(option, "unused") is None:
        return
    _remove(option, config)


def apply_running(vmid, config, selection):
    """Apply what a running container takes live; the rest stays pending. Returns option -> error."""
    errors = {}
    for apply, options in ((_delete_live, config.pending_delete), (_change_live, config.pending)):
        for option in sorted(set(options) & set(selection)):
            try:
                apply(vmid, option, config)
            except PveError as error:
                errors[option] = f"unable to hotplug {option}: {error.message}\n"
    return errors


def merged(config):
    """Options as they will be after the next start: what GET config shows without current=1."""
    options = {**config.options, **config.pending}
    return {key: value for key, value in options.items() if key not in config.pending_delete}


def listing(config):
    """GET pending: [{key, value, pending, delete}]."""
    result = []
    for key in sorted({*config.options, *config.pending}):
        entry = {"key": key}
        if key in config.options:
            entry["value"] = config.options[key]
        if key in config.pending:
            entry["pending"] = config.pending[key]
        if key in config.pending_delete:
            entry["delete"] = 1
        result.append(entry)
    return result

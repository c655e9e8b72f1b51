"""Change of a container's configuration: `pct set` and PUT config."""

from labpve import (
    config_file,
    container_permissions,
    devices,
    hooks,
    locks,
    lxc_config,
    pending,
    schema,
    state,
)
from labpve.errors import PveError, parameter_error


def update(vmid, parameters, identity=None, warn=lambda line: None):
    """PUT config: check, stage, apply what can be applied now, write.

    The device check comes after the write, as in Proxmox VE: with a devN whose node is gone the change is
    made and the call fails all the same.
    """
    parameters = schema.check(parameters, schema.UPDATE)
    digest = parameters.pop("digest", None)
    if not parameters:
        raise PveError("no options specified")
    deletes = pending.split_names(parameters.pop("delete", ""))
    reverts = pending.split_names(parameters.pop("revert", ""))
    pending.check_names("delete", deletes, parameters)
    pending.check_names("revert", reverts, parameters)
    if parameters.get("hookscript"):
        hooks.check(parameters["hookscript"])
    with locks.config_lock(vmid):
        config = config_file.load(vmid)
        locks.check_lock(config)
        if digest and digest != config_file.digest(vmid):
            raise PveError("detected modified configuration - file changed by other user? Try again.")
        container_permissions.check_change(
            identity, vmid, config.options, parameters, deletes, unprivileged=config.is_unprivileged()
        )
        errors = _apply(vmid, config, parameters, deletes, reverts, warn)
        config_file.save(vmid, config)
        devices.check(config)
        if not state.is_running(vmid):
            lxc_config.write(vmid, config)
    if errors:
        raise parameter_error(errors)


def _apply(vmid, config, parameters, deletes, reverts, warn):
    pending.stage(vmid, config, parameters, deletes, reverts, warn)
    selection = {*parameters, *deletes}
    if state.is_running(vmid):
        return pending.apply_running(vmid, config, selection)
    pending.apply_stopped(config, selection)
    return {}

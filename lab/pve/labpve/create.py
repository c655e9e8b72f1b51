"""Creation of a container from a template."""

import os
import re
import subprocess

from labpve import (
    config_file,
    container_permissions,
    guest_files,
    hooks,
    lifecycle,
    locks,
    lxc_config,
    node,
    pending,
    permissions,
    pools,
    property_string,
    schema,
    storages,
    volumes,
)
from labpve.errors import PveError, parameter_error, permission_error

_DECOMPRESSORS = {
    "zst": ["zstd", "-dcq"],
    "gz": ["gzip", "-dc"],
    "xz": ["xz", "-dc"],
    "bz2": ["bzip2", "-dc"],
}
_MISSING = "property is missing and it is not optional"


def _check_rights(identity, vmid, parameters, options, unprivileged):
    pool = parameters.get("pool")
    if pool and pool not in pools.load():
        raise PveError(f"pool '{pool}' does not exist", 403)
    may = permissions.allows(identity, f"/vms/{vmid}", ["VM.Allocate"])
    if not may and not (pool and permissions.allows(identity, f"/pool/{pool}", ["VM.Allocate"])):
        raise permission_error()
    if not unprivileged and node.major() >= 9:
        permissions.check(identity, "/", ["Sys.Modify"])
    container_permissions.check_change(identity, vmid, {}, options, pool=pool, unprivileged=unprivileged)
    container_permissions.check_volume(identity, vmid, parameters["ostemplate"])


def _check_template(volume):
    if volume.startswith("/"):
        return
    storage, name = storages.split_volume(volume)
    storages.get(storage)
    kind = name.partition("/")[0]
    if kind not in storages.FOLDERS:
        raise PveError(f"unable to parse directory volume name '{name}'")
    if kind != "vztmpl":
        raise PveError(f"unable to use volume {volume} - content type needs to be 'vztmpl'")


def _disk_values(identity, parameters, options):
    """rootfs and mpN with the default storage for bare sizes; a missing rootfs is 4 GiB on it, and asks for the same right."""
    storage = parameters.get("storage", "local")
    disks = {k: v for k, v in options.items() if k == "rootfs" or schema.index_of(k, "mp") is not None}
    if disks and "rootfs" not in disks:
        raise PveError("mount points configured, but 'rootfs' not set - aborting")
    disks.setdefault("rootfs", f"{storage}:4")
    for key, value in disks.items():
        if re.fullmatch(r"\d+(\.\d+)?", value):
            disks[key] = f"{storage}:{value}"
        new = re.fullmatch(volumes.NEW_DISK, property_string.parse(disks[key], "volume")["volume"])
        if new and "rootdir" not in storages.contents(storages.get(new[1])):
            message = f"storage '{new[1]}' does not support container directories"
            raise parameter_error({"storage": message})
        if new:
            permissions.check(identity, f"/storage/{new[1]}", ["Datastore.AllocateSpace"])
    return disks


def _new_config(identity, vmid, parameters, options, unprivileged):
    config = config_file.ContainerConfig()
    if unprivileged:
        config.options["unprivileged"] = 1
    disks = _disk_values(identity, parameters, options)
    for key in ["rootfs", *sorted(set(disks) - {"rootfs"})]:
        config.options[key] = volumes.plan(vmid, key, disks[key], config)
    plain = {key: value for key, value in options.items() if key not in disks}
    protection = plain.pop("protection", None)
    pending.stage(vmid, config, plain)
    config.options.update(config.pending)
    config.pending.clear()
    if protection is not None:
        config.options["protection"] = protection
    defaults = {"arch": "amd64", "hostname": f"CT{vmid}", "memory": 512, "ostype": "debian", "swap": 512}
    config.options = {**defaults, **config.options}
    return config


def prepare(parameters, identity=None):
    """Everything that POST lxc refuses before it starts a task; reserves the id.

    identity: user or token, None for the command line. Returns (vmid, configuration, parameters) for `run`.
    """
    parameters = schema.check(parameters, schema.CREATE)
    missing = {key: _MISSING for key in ("vmid", "ostemplate") if key not in parameters}
    if missing:
        raise parameter_error(missing)
    vmid = parameters["vmid"]
    if parameters.get("restore"):
        raise PveError("restore is not covered by the lab", 501)
    already = PveError(f"CT {vmid} already exists on node '{node.name()}'")
    if config_file.exists(vmid):
        raise already
    unprivileged = bool(parameters.get("unprivileged", 1 if node.major() >= 9 else 0))
    options = {k: v for k, v in parameters.items() if k not in schema.CREATE and k != "unprivileged"}
    _check_rights(identity, vmid, parameters, options, unprivileged)
    _check_template(parameters["ostemplate"])
    if options.get("hookscript"):
        hooks.check(options["hookscript"])
    config = _new_config(identity, vmid, parameters, options, unprivileged)
    with locks.config_lock(vmid):
        if config_file.exists(vmid):
            raise already
        config_file.save(vmid, config_file.ContainerConfig({"lock": "create"}))
    return vmid, config, parameters


def _unpack(archive, config, log):
    directory = lxc_config.root_directory(config)
    decompress = _DECOMPRESSORS.get(archive.rsplit(".", 1)[-1])
    if decompress is None:
        raise PveError(f"cannot detect archive type of '{archive}'")
    log(f"extracting archive '{archive}'")
    first = volumes.FIRST_HOST_ID
    mapping = ["lxc-usernsexec"]
    for kind in "ug":
        mapping += ["-m", f"{kind}:0:{first}:65536"]
    prefix = [*mapping, "--"] if config.is_unprivileged() else []
    tar = ["tar", "xpf", "-", "--totals", "--numeric-owner", "-C", directory, "--exclude", "./dev/*"]
    with subprocess.Popen(
        [*decompress, archive], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as source:
        result = subprocess.run(
            [*prefix, *tar], stdin=source.stdout, stderr=subprocess.PIPE, text=True, check=False
        )
    if result.returncode or source.returncode:
        code = result.returncode or source.returncode
        raise PveError(f"command 'tar xpf - --totals ... -C {directory}' failed: exit code {code}")
    log((result.stderr.strip().splitlines() or [""])[-1])
    log(f"Detected container architecture: {config.options['arch']}")


def _build(vmid, config, parameters, log):
    template = parameters["ostemplate"]
    archive = template if template.startswith("/") else storages.file_path(template)
    if not os.path.exists(archive):
        raise PveError(f"volume '{template}' does not exist")
    for _, properties in storages.container_volumes(config):
        volumes.make(properties["volume"], config)
        log(f'  Logical volume "{properties["volume"].split(":")[1]}" created.')
    _unpack(archive, config, log)
    guest_files.set_up(config, parameters.get("password"), parameters.get("ssh-public-keys"), log)
    warning = guest_files.nesting_warning(config)
    if warning:
        log.warn(warning)
    lxc_config.write(vmid, config)


def run(prepared, log):
    """Make the container that `prepare` reserved; after a failure nothing of it is left."""
    vmid, config, parameters = prepared
    try:
        _build(vmid, config, parameters, log)
        with locks.config_lock(vmid):
            config_file.save(vmid, config)
    except BaseException as error:
        for _, properties in storages.container_volumes(config):
            volumes.remove(properties["volume"])
        lifecycle.forget(vmid)
        raise PveError(f"unable to create CT {vmid} - {getattr(error, 'message', error)}") from error
    if parameters.get("pool"):
        pools.add(parameters["pool"], vmid)
    if parameters.get("start"):
        lifecycle.start(vmid, log)

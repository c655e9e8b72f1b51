"""Disks of containers. A directory stands for each logical volume; sizes are kept but not enforced."""

import os
import re
import shutil

from labpve import node, normalise, property_string, sizes, storages
from labpve.errors import PveError

FIRST_HOST_ID = 100000
"""Host uid and gid of an unprivileged container's root, as in /etc/subuid."""

NEW_DISK = r"([A-Za-z][\w.-]*):(\d+(?:\.\d+)?)"
"""STORAGE:GIB asks for a new disk."""


def kind_of(volume):
    """bind (a path), device (a path below /dev) or volume (an id of a storage)."""
    if not volume.startswith("/"):
        return "volume"
    return "device" if volume.startswith("/dev/") else "bind"


def directory(volume):
    """Directory that stands for a disk."""
    storage, name = storages.split_volume(volume)
    if not re.fullmatch(r"(vm|base)-\d+-disk-\d+", name):
        raise PveError(f"unable to parse lvm volume name '{name}'")
    return node.path(f"/var/lib/lab-volumes/{storage}/{name}")


def host_owner(config):
    """Host uid of the container's root."""
    return FIRST_HOST_ID if config.is_unprivileged() else 0


def _check_storage(storage):
    if "rootdir" not in storages.contents(storages.get(storage)):
        raise PveError(f"storage '{storage}' does not allow content type 'rootdir' (Container)")


def _free_name(vmid, config):
    used = set()
    for _, properties in storages.container_volumes(config):
        match = re.search(rf":vm-{vmid}-disk-(\d+)$", properties["volume"])
        if match:
            used.add(int(match[1]))
    return f"vm-{vmid}-disk-{next(n for n in range(1000) if n not in used)}"


def plan(vmid, option, value, config):
    """The value of rootfs or mpN as it will be stored; a new disk gets its name and size.

    Bind and device mount points stay as given. Nothing is made yet: see `make`.
    """
    properties = property_string.parse(value, "volume")
    volume = properties["volume"]
    if kind_of(volume) != "volume":
        return value
    wanted = re.fullmatch(NEW_DISK, volume)
    storage = storages.split_volume(volume)[0]
    _check_storage(storage)
    if wanted:
        properties["volume"] = f"{storage}:{_free_name(vmid, config)}"
        properties["size"] = sizes.render(int(float(wanted[2]) * sizes.UNITS["G"]))
    elif not os.path.isdir(directory(volume)):
        raise PveError(f"no such logical volume pve/{volume.split(':', 1)[1]}")
    return normalise.mount_point(properties, is_root=option == "rootfs")


def make(volume, config):
    """Make the directory of a disk, owned by the container's root."""
    path, owner = directory(volume), host_owner(config)
    if not os.path.isdir(path):
        os.makedirs(path)
        os.chown(path, owner, owner)
    return path


def remove(volume):
    """Remove a disk with all its content."""
    shutil.rmtree(directory(volume), ignore_errors=True)


def keep_unused(config, value):
    """Keep the disk of a removed mount point as unusedN, as Proxmox VE does, unless it is still in use."""
    volume = property_string.parse(value, "volume")["volume"]
    in_use = [properties["volume"] for _, properties in storages.container_volumes(config)]
    if kind_of(volume) == "volume" and volume not in in_use:
        name = next(f"unused{n}" for n in range(256) if f"unused{n}" not in config.options)
        config.options[name] = volume

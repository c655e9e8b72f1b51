"""Rights for changing a container's options, and what only root@pam with a password may change."""

import re

from labpve import permissions, property_string, schema, storages, volumes
from labpve.errors import PveError, permission_error

_CPU = ("cores", "cpulimit", "cpuunits")
_MEMORY = ("memory", "swap")
_NETWORK = ("hostname", "nameserver", "searchdomain")
_ONLY_ROOT = "is only allowed for root@pam"


def check_container(identity, vmid, pool, privilege):
    """A privilege on the container, or at its creation on the pool it goes into."""
    if pool and permissions.allows(identity, f"/pool/{pool}", [privilege]):
        return
    permissions.check(identity, f"/vms/{vmid}", [privilege])


def check_volume(identity, vmid, volume):
    """Use of an existing volume: templates and images, the container's own disks, other disks."""
    if permissions.is_root(identity):
        return
    if volume.startswith("/"):
        raise PveError("Only root can pass arbitrary filesystem paths.")
    storage, name = storages.split_volume(volume)
    path = f"/storage/{storage}"
    if re.match(r"(vztmpl|iso|snippets|import|backup)/", name):
        permissions.check(identity, path, ["Datastore.AllocateSpace", "Datastore.Audit"], any_of=True)
    elif not re.match(rf"(vm|base)-{vmid}-disk-", name):
        permissions.check(identity, path, ["Datastore.Allocate"])


def _check_disk(identity, vmid, pool, value):
    check_container(identity, vmid, pool, "VM.Config.Disk")
    if value is None:
        return
    volume = property_string.parse(value, "volume").get("volume", "")
    kind = volumes.kind_of(volume)
    if kind != "volume":
        raise permission_error(f"mount point type {kind} {_ONLY_ROOT}")
    new = re.fullmatch(volumes.NEW_DISK, volume)
    if new:
        permissions.check(identity, f"/storage/{new[1]}", ["Datastore.AllocateSpace"])
    elif ":" in volume:
        check_volume(identity, vmid, volume)


def _check_network(identity, vmid, pool, value):
    check_container(identity, vmid, pool, "VM.Config.Network")
    bridge = property_string.parse(value).get("bridge") if value else None
    if bridge:
        permissions.check(identity, f"/sdn/zones/localnetwork/{bridge}", ["SDN.Use"])


def _check_features(identity, vmid, pool, old, new, unprivileged):
    """Explicit zeros count: `keyctl=0` differs from an absent keyctl (compared as text by Proxmox VE)."""
    if not unprivileged:
        raise permission_error(f"changing feature flags for privileged container {_ONLY_ROOT}")
    before, after = property_string.parse(old or ""), property_string.parse(new or "")
    if before and new is not None:
        names = set(before) | set(after)
        changed = {name for name in names if before.get(name, "") != after.get(name, "")}
    else:
        changed = set(before) | set(after)
        if changed == {"nesting"} and not before and after["nesting"] == "0":
            changed = {"nesting=0"}  # a new set that only says nesting=0 counts as another flag
    if changed - {"nesting"}:
        raise permission_error(f"changing feature flags (except nesting) {_ONLY_ROOT}")
    if changed:
        check_container(identity, vmid, pool, "VM.Allocate")


def _check_option(identity, vmid, pool, option, old, new, unprivileged):
    if option in _CPU:
        check_container(identity, vmid, pool, "VM.Config.CPU")
    elif option in _MEMORY:
        check_container(identity, vmid, pool, "VM.Config.Memory")
    elif option == "rootfs" or schema.index_of(option, "mp") is not None:
        _check_disk(identity, vmid, pool, new)
    elif schema.index_of(option, "net") is not None:
        _check_network(identity, vmid, pool, new)
    elif option in _NETWORK:
        check_container(identity, vmid, pool, "VM.Config.Network")
    elif schema.index_of(option, "dev") is not None:
        raise permission_error(f"configuring device passthrough {_ONLY_ROOT}")
    elif option == "hookscript":
        raise permission_error(f"changing the hookscript {_ONLY_ROOT}")
    elif option == "features":
        _check_features(identity, vmid, pool, old, new, unprivileged)
    else:
        check_container(identity, vmid, pool, "VM.Config.Options")


def check_change(identity, vmid, old, new, deletes=(), pool=None, unprivileged=False):
    """Refuse (403) what the identity may not change.

    old, new: options before and the ones to set; deletes: names to remove; pool: the pool of a new
    container; unprivileged: what the container is. The command line and root@pam may change everything.
    """
    if permissions.is_root(identity):
        return
    for option in deletes:
        _check_option(identity, vmid, pool, option, old.get(option), None, unprivileged)
    for option in sorted(new):
        _check_option(identity, vmid, pool, option, old.get(option), new[option], unprivileged)

"""Rights for changing a container's options, and what only root@pam with a password may change."""

import re
from dataclasses import dataclass

from labpve import permissions, property_string, schema, storages, volumes
from labpve.errors import PveError, permission_error

_CPU = ("cores", "cpulimit", "cpuunits")
_MEMORY = ("memory", "swap")
_NETWORK = ("hostname", "nameserver", "searchdomain")
_ONLY_ROOT = "is only allowed for root@pam"


@dataclass(frozen=True)
class _Asked:
    """Who asks, for which container: its id, the pool it goes into (at creation) and its kind."""

    identity: str
    vmid: int
    pool: str | None
    unprivileged: bool

    def needs(self, privilege):
        """A privilege on the container, or at its creation on its pool."""
        if self.pool and permissions.allows(self.identity, f"/pool/{self.pool}", [privilege]):
            return
        permissions.check(self.identity, f"/vms/{self.vmid}", [privilege])


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


def _check_disk(asked, value):
    asked.needs("VM.Config.Disk")
    if value is None:
        return
    volume = property_string.parse(value, "volume").get("volume", "")
    kind = volumes.kind_of(volume)
    if kind != "volume":
        raise permission_error(f"mount point type {kind} {_ONLY_ROOT}")
    new = re.fullmatch(volumes.NEW_DISK, volume)
    if new:
        permissions.check(asked.identity, f"/storage/{new[1]}", ["Datastore.AllocateSpace"])
    elif ":" in volume:
        check_volume(asked.identity, asked.vmid, volume)


def _check_network(asked, value):
    asked.needs("VM.Config.Network")
    bridge = property_string.parse(value).get("bridge") if value else None
    if bridge:
        permissions.check(asked.identity, f"/sdn/zones/localnetwork/{bridge}", ["SDN.Use"])


def _changed_features(old, new):
    """Names of the flags that change. Proxmox VE compares texts: `keyctl=0` differs from an absent keyctl."""
    before, after = property_string.parse(old or ""), property_string.parse(new or "")
    if before and new is not None:
        return {name for name in {*before, *after} if before.get(name, "") != after.get(name, "")}
    if after == {"nesting": "0"}:
        return {"nesting=0"}  # a new set that only says nesting=0 counts as another flag
    return {*before, *after}


def _check_features(asked, old, new):
    if not asked.unprivileged:
        raise permission_error(f"changing feature flags for privileged container {_ONLY_ROOT}")
    changed = _changed_features(old, new)
    if changed - {"nesting"}:
        raise permission_error(f"changing feature flags (except nesting) {_ONLY_ROOT}")
    if changed:
        asked.needs("VM.Allocate")


def _check_option(asked, option, old, new):
    if option in _CPU:
        asked.needs("VM.Config.CPU")
    elif option in _MEMORY:
        asked.needs("VM.Config.Memory")
    elif option == "rootfs" or schema.index_of(option, "mp") is not None:
        _check_disk(asked, new)
    elif schema.index_of(option, "net") is not None:
        _check_network(asked, new)
    elif option in _NETWORK:
        asked.needs("VM.Config.Network")
    elif schema.index_of(option, "dev") is not None:
        raise permission_error(f"configuring device passthrough {_ONLY_ROOT}")
    elif option == "hookscript":
        raise permission_error(f"changing the hookscript {_ONLY_ROOT}")
    elif option == "features":
        _check_features(asked, old, new)
    else:
        asked.needs("VM.Config.Options")


def check_change(identity, vmid, old, new, deletes=(), pool=None, unprivileged=False):
    """Refuse (403) what the identity may not change.

    old, new: options before and the ones to set; deletes: names to remove; pool: the pool of a new
    container; unprivileged: what the container is. The command line and root@pam may change everything.
    """
    if permissions.is_root(identity):
        return
    asked = _Asked(identity, vmid, pool, unprivileged)
    for option in deletes:
        _check_option(asked, option, old.get(option), None)
    for option in sorted(new):
        _check_option(asked, option, old.get(option), new[option])

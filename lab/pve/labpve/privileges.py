"""Privileges and built-in roles of Proxmox VE, per major version."""

_ADMIN = "admin"
_USER = "user"
_AUDIT = "audit"
_ROOT = "root"

_GROUPS = {
    "VM": {
        _ADMIN: [
            "VM.Allocate",
            "VM.Clone",
            "VM.Config.CPU",
            "VM.Config.Disk",
            "VM.Config.HWType",
            "VM.Config.Memory",
            "VM.Config.Network",
            "VM.Config.Options",
            "VM.Migrate",
            "VM.Snapshot",
            "VM.Snapshot.Rollback",
        ],
        _USER: ["VM.Backup", "VM.Config.CDROM", "VM.Config.Cloudinit", "VM.Console", "VM.PowerMgmt"],
        _AUDIT: ["VM.Audit"],
    },
    "Sys": {
        _ROOT: ["Sys.AccessNetwork", "Sys.Incoming", "Sys.Modify", "Sys.PowerMgmt"],
        _ADMIN: ["Sys.Console", "Sys.Syslog"],
        _AUDIT: ["Sys.Audit"],
    },
    "Datastore": {
        _ADMIN: ["Datastore.Allocate", "Datastore.AllocateTemplate"],
        _USER: ["Datastore.AllocateSpace"],
        _AUDIT: ["Datastore.Audit"],
    },
    "SDN": {_ADMIN: ["SDN.Allocate"], _USER: ["SDN.Use"], _AUDIT: ["SDN.Audit"]},
    "User": {_ROOT: ["Realm.Allocate"], _ADMIN: ["Group.Allocate", "Realm.AllocateUser", "User.Modify"]},
    "Pool": {_ADMIN: ["Pool.Allocate"], _AUDIT: ["Pool.Audit"]},
    "Mapping": {_ADMIN: ["Mapping.Modify"], _USER: ["Mapping.Use"], _AUDIT: ["Mapping.Audit"]},
    "Permissions": {_ROOT: ["Permissions.Modify"]},
}
_ONLY = {
    8: {"VM": {_ADMIN: ["VM.Monitor"]}},
    9: {"VM": {_ADMIN: ["VM.Replicate"], _AUDIT: ["VM.GuestAgent.Audit"]}},
}


def _groups(major):
    only = _ONLY[8 if major < 9 else 9]
    for name, levels in _GROUPS.items():
        extra = only.get(name, {})
        yield (
            name,
            {level: levels.get(level, []) + extra.get(level, []) for level in (_ROOT, _ADMIN, _USER, _AUDIT)},
        )


def all_privileges(major):
    """Every privilege of a major version."""
    return {name for _, levels in _groups(major) for names in levels.values() for name in names}


def built_in_roles(major):
    """Role -> set of privileges; the names and their make-up are Proxmox VE's."""
    roles = {
        "Administrator": all_privileges(major),
        "NoAccess": set(),
        "PVEAdmin": set(),
        "PVEAuditor": set(),
    }
    for name, levels in _groups(major):
        below_root = levels[_ADMIN] + levels[_USER] + levels[_AUDIT]
        roles["PVEAdmin"] |= set(below_root)
        roles["PVEAuditor"] |= set(levels[_AUDIT])
        if below_root:
            roles[f"PVE{name}Admin"] = set(below_root)
        if levels[_USER]:
            roles[f"PVE{name}User"] = set(levels[_USER] + levels[_AUDIT])
    roles["PVEAdmin"].discard("Mapping.Modify")
    roles["PVETemplateUser"] = {"VM.Audit", "VM.Clone"}
    return roles

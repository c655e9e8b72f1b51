"""Who may do what where: privileges on paths, from access entries, pools and tokens."""

import re

from labpve import accounts, node, pools, privileges
from labpve.errors import permission_error

ROOT_USER = "root@pam"


def _levels(path):
    """/ , /vms , /vms/150 for /vms/150."""
    parts = [part for part in path.split("/") if part]
    return ["/"] + ["/" + "/".join(parts[: n + 1]) for n in range(len(parts))]


def _roles_on(acl, identity, path):
    """Roles of a user or token on a path: the deepest entry wins; above the path only propagating ones."""
    result, levels = set(), _levels(path)
    for level in levels:
        entries = [e for e in acl if e["to"] == identity and e["path"] == level]
        found = {e["role"] for e in entries if level == levels[-1] or e.get("propagate", 1)}
        if found:
            result = found
    return set() if "NoAccess" in result else result


def _privileges_of(identity, path, data):
    known = accounts.roles()
    paths = [path]
    container = re.fullmatch(r"/vms/(\d+)", path)
    pool = pools.of(container[1]) if container else None
    if pool:
        paths.append(f"/pool/{pool}")
    result = set()
    for each in paths:
        for role in _roles_on(data.get("acl", []), identity, each):
            result |= known.get(role, set())
    return result


def privileges_on(identity, path):
    """Set of privileges of a user or token on a path."""
    data, user = accounts.load(), accounts.owner(identity)
    if user == ROOT_USER:
        of_user = privileges.all_privileges(node.major())
    else:
        of_user = _privileges_of(user, path, data)
    if not accounts.is_token(identity) or not data["tokens"].get(identity, {}).get("privsep", 1):
        return of_user
    return of_user & _privileges_of(identity, path, data)


def is_root(identity):
    """True for the command line (None) and root@pam with a ticket; never for a token, not even root's."""
    return identity in (None, ROOT_USER)


def allows(identity, path, wanted, any_of=False):
    """True when the identity has all (or any) of the wanted privileges on the path."""
    if is_root(identity):
        return True
    held = privileges_on(identity, path)
    test = any if any_of else all
    return test(name in held for name in wanted)


def check(identity, path, wanted, any_of=False):
    """Raise Proxmox VE's 403 that names the path and the missing privilege, or all when any would do."""
    if allows(identity, path, wanted, any_of):
        return
    held = privileges_on(identity, path)
    missing = "|".join(wanted) if any_of else next(name for name in wanted if name not in held)
    raise permission_error(f"{path}, {missing}")

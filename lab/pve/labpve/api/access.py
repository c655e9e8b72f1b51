"""/version and /access: what a caller is and may do."""

from labpve import accounts, node, permissions, privileges
from labpve.api.router import route

_TOP_PATHS = ("/", "/access", "/nodes", "/pool", "/sdn", "/storage", "/vms")


def version_facts():
    """Version as the API shows it."""
    version = node.version()
    return {"version": version, "release": ".".join(version.split(".")[:2]), "repoid": "lab00000"}


@route("GET", "/version")
def get_version(_request):
    """Version of the node."""
    return version_facts()


@route("GET", "/access/ticket")
def get_ticket(_request):
    """Nothing, as by Proxmox VE: the call only proves that the caller is known."""
    return None


@route("GET", "/access/permissions", known=("path", "userid"))
def get_permissions(request):
    """Path -> {privilege: 1} for the caller."""
    wanted = request.parameters.get("path")
    entries = {entry["path"] for entry in accounts.load().get("acl", [])}
    paths = [wanted] if wanted else sorted(entries | set(_TOP_PATHS))
    result = {}
    for path in paths:
        if permissions.is_root(request.identity):
            held = privileges.all_privileges(node.major())
        else:
            held = permissions.privileges_on(request.identity, path)
        if held:
            result[path] = {name: 1 for name in sorted(held)}
    return result


@route("GET", "/access/roles")
def get_roles(_request):
    """Built-in roles and those of the accounts file."""
    special = privileges.built_in_roles(node.major())
    return [
        {"roleid": name, "privs": ",".join(sorted(held)), "special": int(name in special)}
        for name, held in sorted(accounts.roles().items())
    ]

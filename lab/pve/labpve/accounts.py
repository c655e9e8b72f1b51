"""Users, tokens, roles and access entries of /etc/lab/api.json.

    {"users":  {"root@pam": {"password": "…"}},
     "tokens": {"root@pam!iac": {"secret": "…", "privsep": 0}},
     "roles":  {"Stack": ["VM.Allocate", …]},
     "acl":    [{"path": "/", "to": "admin@pve", "role": "Administrator", "propagate": 1}]}

`privsep` (default 1, as in Proxmox VE) limits a token to what both it and its user may do; `propagate`
(default 1) passes an entry on to the paths below. The file is read anew for each request.
"""

import json

from labpve import node, privileges


def load():
    """The file's content."""
    with open(node.path("/etc/lab/api.json"), encoding="utf-8") as file:
        return json.load(file)


def roles():
    """Role -> set of privileges, built-in ones and those of the file."""
    own = {name: set(names) for name, names in load().get("roles", {}).items()}
    return {**own, **privileges.built_in_roles(node.major())}


def owner(identity):
    """User of an identity: the identity itself, or a token's user."""
    return identity.partition("!")[0]


def is_token(identity):
    """True for user@realm!name."""
    return "!" in identity

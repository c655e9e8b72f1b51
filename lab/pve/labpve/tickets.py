"""Tickets, tokens and the check against forged requests."""

import base64
import hashlib
import hmac
import os
import re
import secrets
import time
import urllib.parse

from labpve import accounts, node
from labpve.errors import PveError

_LIFETIME = 7200
"""Seconds that a ticket is valid."""


def make_key():
    """Make the node's signing key at its first start."""
    path = node.path("/etc/pve/priv/authkey")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not os.path.exists(path):
        node.write_atomically(path, secrets.token_hex(32), 0o600)


def _sign(text):
    with open(node.path("/etc/pve/priv/authkey"), "rb") as file:
        key = file.read()
    return base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()


def issue(user, now=None):
    """A ticket and its token against forged requests."""
    stamp = f"{int(now or time.time()):08X}"
    body = f"PVE:{user}:{stamp}"
    return {"ticket": f"{body}::{_sign(body)}", "CSRFPreventionToken": f"{stamp}:{_sign(f'{stamp}:{user}')}"}


def _user_of(ticket):
    body, _, signature = ticket.partition("::")
    fields = body.split(":")
    valid = len(fields) == 3 and hmac.compare_digest(_sign(body), signature)
    if not valid or int(fields[2], 16) < time.time() - _LIFETIME:
        raise PveError("permission denied - invalid PVE ticket", 401)
    return fields[1]


def _check_csrf(user, token):
    stamp, _, signature = token.partition(":")
    if not signature or not hmac.compare_digest(_sign(f"{stamp}:{user}"), signature):
        raise PveError("Permission denied - invalid csrf token", 401)


def _token_identity(text):
    identity, _, secret = text.partition("=")
    user, separator, name = identity.partition("!")
    token = accounts.load()["tokens"].get(identity) if separator else None
    if not token:
        raise PveError(f"no such token '{name}' for user '{user}'", 401)
    if not hmac.compare_digest(token["secret"], secret):
        raise PveError("invalid token value!", 401)
    return identity


def identify(headers, method):
    """The user or token behind a request; PveError (401) when there is none or the proof is wrong."""
    authorization = headers.get("Authorization", "")
    if authorization.startswith("PVEAPIToken="):
        return _token_identity(authorization.removeprefix("PVEAPIToken="))
    cookie = re.search(r"PVEAuthCookie=([^;]+)", headers.get("Cookie", ""))
    if not cookie:
        raise PveError("No ticket", 401)
    user = _user_of(urllib.parse.unquote(cookie[1]))
    if method != "GET":
        _check_csrf(user, headers.get("CSRFPreventionToken", ""))
    return user


def log_in(parameters):
    """POST access/ticket: a ticket for a password, or a fresh one for a ticket that is still valid."""
    user = parameters.get("username", "")
    if "@" not in user:
        user = f"{user}@{parameters.get('realm', 'pam')}"
    password = parameters.get("password", "")
    account = accounts.load()["users"].get(user)
    valid = account is not None and hmac.compare_digest(account["password"], password)
    if account is not None and password.startswith(f"PVE:{user}:"):
        valid = _user_of(password) == user
    if not valid:
        raise PveError("authentication failure", 401)
    return {"username": user, **issue(user), "clustername": "lab", "cap": {}}

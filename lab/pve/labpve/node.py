"""Facts of this node: its name, the version it plays, and where its files are."""

import os
import threading

ROOT = os.environ.get("LAB_PVE_ROOT", "")
"""Prefix of every file that the lab reads or writes; empty on a host, a temporary folder in tests."""

DEFAULT_VERSION = "8.4.1"


def path(absolute):
    """Where a file of the node really is."""
    return ROOT + absolute


def name():
    """Node name, as in /nodes/NAME."""
    return os.uname().nodename


def version():
    """Proxmox VE version from /etc/lab/pve-version, such as 8.4.1."""
    try:
        with open(path("/etc/lab/pve-version"), encoding="utf-8") as file:
            return file.read().strip() or DEFAULT_VERSION
    except FileNotFoundError:
        return DEFAULT_VERSION


def major():
    """8 or 9: decides defaults, privileges and what can be changed while a container runs."""
    return int(version().split(".")[0])


def write_atomically(file_name, text, mode=0o644):
    """Replace a file in one step, so that no reader sees half of it."""
    temporary = f"{file_name}.tmp.{os.getpid()}.{threading.get_ident()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(temporary, file_name)

"""Who listens on a TCP port: "fired up" and a 200 prove nothing while another process may be the one that answers."""

import itertools
import os
import re
from pathlib import Path

LISTEN = "0A"


def listeners(port, proc="/proc"):
    """The processes that listen on the port: [{"pid", "command", "cgroup"}]; pid None when it may not be seen."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        path = Path(proc, "net", table)
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[1].rsplit(":", 1)[1], 16) == port and fields[3] == LISTEN:
                inodes.add(fields[9])
    found = [_describe(pid, proc) for pid in _holders(inodes, proc)]
    if inodes and not found:
        return [{"pid": None, "command": "a process that this user may not see", "cgroup": ""}]
    return found


def belongs_to(listener, unit, main_pid, proc="/proc"):
    """True when the listener is the unit's main process, a descendant of it, or in the unit's control group."""
    if unit in re.split(r"[/:]", listener["cgroup"]):
        return True
    pid = listener["pid"]
    while pid and pid > 1:
        if pid == main_pid:
            return True
        pid = _parent(pid, proc)
    return False


def describe(listener):
    """One line for a person: process id, command, unit."""
    unit = re.search(r"[^/]+\.(?:service|scope)", listener["cgroup"])
    where = f", {unit.group(0)}" if unit else ""
    return f"PID {listener['pid'] or '?'} ({listener['command']}{where})"


def _holders(inodes, proc):
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for entry in sorted(filter(str.isdigit, os.listdir(proc)), key=int):
        try:
            descriptors = os.listdir(f"{proc}/{entry}/fd")
        except OSError:
            continue
        for descriptor in descriptors:
            try:
                if os.readlink(f"{proc}/{entry}/fd/{descriptor}") in wanted:
                    yield int(entry)
                    break
            except OSError:
                continue


def _describe(pid, proc):
    words = _read(f"{proc}/{pid}/cmdline").split("\0")[:3]
    # Only program and module: flags may hold an API key.
    words = list(itertools.takewhile(lambda word: not word.startswith("--"), words))
    return {"pid": pid, "command": " ".join(words).strip(), "cgroup": _read(f"{proc}/{pid}/cgroup").strip()}


def _parent(pid, proc):
    match = re.search(r"^PPid:\s*(\d+)", _read(f"{proc}/{pid}/status"), re.MULTILINE)
    return int(match.group(1)) if match else 0


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

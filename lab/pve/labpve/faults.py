"""Injected faults: /etc/lab/api-faults.json, a list that is used up as requests and tasks meet it.

For requests: {"method": "GET", "path": "REGEX", "times": 1, "delay": 0, "status": 596, "message": "…"};
{"path": "REGEX", "close": true} closes the connection without an answer. Without method every method,
without status only the delay.

For tasks: {"path": "REGEX of the task type", "task": "RESULT", "delay": 0}: an error text fails the task,
"WARNINGS: 2" lets it succeed with warnings, "OK" only delays it.

`times` is how often the entry applies (default 1); one that is used up stays in the file with times 0.
"""

import fcntl
import json
import os
import re

from labpve import node

FILE = "/etc/lab/api-faults.json"


def _load(file):
    try:
        return json.load(file)
    except ValueError:
        return []


def take(matches):
    """The first entry that still applies and matches, counted down; an empty dictionary without one."""
    path = node.path(FILE)
    if not os.path.exists(path):
        return {}
    with open(path, "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        entries = _load(file)
        for entry in entries:
            if entry.get("times", 1) > 0 and matches(entry):
                entry["times"] = entry.get("times", 1) - 1
                file.seek(0)
                file.truncate()
                json.dump(entries, file)
                return entry
    return {}


def take_for_request(method, path):
    """The fault for a request, such as {"status": 596, …}."""
    return take(
        lambda entry: (
            "task" not in entry
            and entry.get("method", method) == method
            and re.search(entry.get("path", ""), path)
        )
    )


def take_for_task(kind):
    """The fault for a task of a type such as vzstart."""
    return take(lambda entry: "task" in entry and re.search(entry.get("path", ""), kind))

"""Tasks: long operations with an id (UPID), a log and a result, kept under /var/log/pve/tasks."""

import json
import os
import re
import threading
import time
import traceback

from labpve import accounts, faults, node
from labpve.errors import PveError, parameter_error

UPID = r"UPID:[^:/]+:[0-9A-F]{8}:[0-9A-F]{8}:[0-9A-F]{8}:\w+:[^:]*:[^:]+:"
_counter_lock = threading.Lock()
_counter = 0
_stop_requests = set()


def _folder(upid):
    return node.path(f"/var/log/pve/tasks/{upid.replace('/', '_')}")


def _next_number():
    """A number for the UPID's process field: a daemon runs its tasks as threads, which share a process id."""
    global _counter
    with _counter_lock:
        _counter += 1
        return (os.getpid() * 64 + _counter) & 0xFFFFFFFF


def _ticks_since_boot():
    with open("/proc/uptime", encoding="utf-8") as file:
        return int(float(file.read().split()[0]) * 100) & 0xFFFFFFFF


class Log:
    """Where an operation writes its progress: `log("…")`, and `log.warn("…")` for the result WARNINGS: n."""

    def __init__(self, upid=None, echo=None):
        self.upid = upid
        self.echo = echo
        self.warnings = 0

    def __call__(self, line):
        if self.upid in _stop_requests:
            raise PveError("interrupted by signal")
        text = str(line).rstrip("\n")
        if self.upid:
            with open(f"{_folder(self.upid)}/log", "a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        if self.echo:
            self.echo(text)

    def warn(self, line):
        """A line that counts as a warning."""
        self.warnings += 1
        self(f"WARN: {line}")


def _save(upid, state):
    path = f"{_folder(upid)}/state"
    known = _load(upid) if os.path.exists(path) else {}
    node.write_atomically(path, json.dumps({**known, **state}))


def _load(upid):
    with open(f"{_folder(upid)}/state", encoding="utf-8") as file:
        return json.load(file)


def _begin(kind, ident, identity):
    """Register a task; its UPID."""
    name, started = identity or "root@pam", int(time.time())
    process, ticks = _next_number(), _ticks_since_boot()
    upid = f"UPID:{node.name()}:{process:08X}:{ticks:08X}:{started:08X}:{kind}:{ident}:{name}:"
    os.makedirs(_folder(upid))
    state = {
        "upid": upid,
        "node": node.name(),
        "pid": process,
        "pstart": ticks,
        "starttime": started,
        "type": kind,
        "id": str(ident),
        "user": accounts.owner(name),
        "status": "running",
        "worker": os.getpid(),
    }
    if accounts.is_token(name):
        state["tokenid"] = name.partition("!")[2]
    _save(upid, state)
    return upid


def _perform(upid, kind, body, echo=None):
    """Run a task's body with the injected faults for its kind; its result."""
    log = Log(upid, echo)
    try:
        fault = faults.take_for_task(kind)
        if fault.get("delay"):
            time.sleep(fault["delay"])
        result = fault.get("task", "OK")
        warned = re.fullmatch(r"WARNINGS: (\d+)", result)
        if result != "OK" and not warned:
            raise PveError(result)
        body(log)
        for number in range(int(warned[1]) if warned else 0):
            log.warn(f"injected warning {number + 1}")
        result = f"WARNINGS: {log.warnings}" if log.warnings else "OK"
        last_line = f"TASK {result}"
    except PveError as error:
        result = error.message
        last_line = f"TASK ERROR: {result}"
    except Exception as error:  # a task reports every failure; the trace goes to the journal
        traceback.print_exc()
        result = str(error) or type(error).__name__
        last_line = f"TASK ERROR: {result}"
    _stop_requests.discard(upid)
    Log(upid)(last_line)
    _save(upid, {"status": "stopped", "exitstatus": result, "endtime": int(time.time())})
    return result


def start(kind, ident, identity, body):
    """Run body(log) in the background; the UPID, which clients poll."""
    upid = _begin(kind, ident, identity)
    threading.Thread(target=_perform, args=(upid, kind, body), daemon=True).start()
    return upid


def run(kind, ident, body, echo=None):
    """Run body(log) here, as `pct` does; the result text (OK, WARNINGS: n or an error)."""
    return _perform(_begin(kind, ident, None), kind, body, echo)


def check_upid(upid):
    """Refuse (400) what is no UPID."""
    if not re.fullmatch(UPID, upid):
        raise parameter_error({"upid": f"unable to parse worker upid '{upid}'"})


def status(upid):
    """GET tasks/UPID/status."""
    check_upid(upid)
    try:
        state = _load(upid)
    except FileNotFoundError:
        raise PveError("no such task", 400) from None
    worker = state.pop("worker", 0)
    if state["status"] == "running" and not os.path.exists(f"/proc/{worker}"):
        state.update(status="stopped", exitstatus="unexpected status")
    return state


def read_log(upid, first=0, limit=50):
    """GET tasks/UPID/log: [{n, t}] from line `first` on; (lines, number of all lines)."""
    status(upid)
    try:
        with open(f"{_folder(upid)}/log", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        lines = []
    chosen = lines[first : first + limit] if limit else lines[first:]
    numbered = [{"n": first + number, "t": line} for number, line in enumerate(chosen, 1)]
    return numbered or [{"n": 1, "t": "no content"}], max(1, len(lines))


def listing():
    """GET tasks: every task, the latest first."""
    folder = node.path("/var/log/pve/tasks")
    upids = [name for name in os.listdir(folder) if os.path.exists(f"{folder}/{name}/state")]
    entries = [status(_load(name)["upid"]) for name in upids]
    for entry in entries:
        if "exitstatus" in entry:
            entry["status"] = entry.pop("exitstatus")
        else:
            entry.pop("status")
    return sorted(entries, key=lambda entry: (-entry["starttime"], entry["upid"]))


def request_stop(upid):
    """DELETE tasks/UPID: the task ends at its next line of log."""
    if status(upid)["status"] == "running":
        _stop_requests.add(upid)

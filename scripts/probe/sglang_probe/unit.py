"""What systemd and the journal say about the service's unit."""

import re
import shutil
import subprocess

from . import fatal_lines

PROPERTIES = "LoadState,ActiveState,SubState,Result,NRestarts,MainPID,InvocationID,ExecMainStatus,ExecMainCode,ActiveEnterTimestampMonotonic"
EXIT_MEANINGS = {
    "2": "the argument parser refused a flag or a value",
    "1": "a check before loading failed",
    "3": "the port could not be bound, after a full load",
    "9": "a child process failed after loading had begun",
}
JOINING = "joining the GPUs"
# Loading phases as the log names them, in order.
PHASES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"Init torch distributed begin", JOINING),
        (r"Load weight begin", "loading weights"),
        (r"(?:shards|Loading safetensors).*?(\d+)%", "loading weights"),
        (r"Load weight end", "weights loaded"),
        (r"KV Cache is allocated|Memory pool end", "memory pools allocated"),
        (r"Capture .*cuda graph begin", "capturing CUDA graphs"),
        (r"Capturing batches.*?(\d+)%", "capturing CUDA graphs"),
        (r"Uvicorn running on", "HTTP open, warming up"),
        (r"fired up and ready to roll", "server says it is ready"),
    )
)


class UnitError(Exception):
    """The unit cannot be looked at, or has failed; the text holds the decisive log line."""

    def __init__(self, text, rules=()):
        super().__init__(text)
        self.rules = list(rules)


def run_tool(*command, timeout=30):
    """Standard output of a system tool. Raises UnitError with the tool's own last words."""
    if shutil.which(command[0]) is None:
        raise UnitError(f"{command[0]} was not found on this machine")
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace")
    except subprocess.TimeoutExpired as error:
        raise UnitError(f"{' '.join(command)}: no result within {timeout} s") from error
    if result.returncode:
        raise UnitError(f"{' '.join(command)}: exit {result.returncode}: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def state(unit):
    """The unit's properties as texts. Raises UnitError when there is no such unit."""
    output = run_tool("systemctl", "show", f"--property={PROPERTIES}", unit)
    properties = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    if properties.get("LoadState") == "not-found":
        raise UnitError(f"{unit}: there is no such unit on this machine")
    return properties


# How programs colour their lines; the router of SGLang does so into the journal too.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Journal:
    """The log lines of one run (invocation) of a unit, read piece by piece."""

    def __init__(self, invocation_id):
        self.invocation_id = invocation_id
        self.cursor = None
        self.lines = []

    def read(self):
        """New lines since the last call, without colours; progress bars are taken apart at their carriage returns."""
        if not self.invocation_id:
            return []
        command = ["journalctl", "--no-pager", "--quiet", "--output=cat", "--all", "--show-cursor"]
        if self.cursor:
            command.append(f"--after-cursor={self.cursor}")
        output = run_tool(*command, f"_SYSTEMD_INVOCATION_ID={self.invocation_id}")
        new = []
        for line in COLOUR.sub("", output).replace("\r", "\n").splitlines():
            if line.startswith("-- cursor: "):
                self.cursor = line[len("-- cursor: ") :]
            elif line.strip():
                new.append(line)
        self.lines = (self.lines + new)[-5000:]
        return new


class UnitWatch:
    """Watches one run of a unit: raises UnitError as soon as it cannot come up any more.

    may_restart: a run that ends is no failure, as long as systemd starts the next one and the log names no fatal cause. The
    nodes of a group end together when one of them goes away, and come together again.
    """

    def __init__(self, unit, may_restart=False):
        self.unit = unit
        self.may_restart = may_restart
        self.first = state(unit)
        self.journal = Journal(self.first.get("InvocationID", ""))
        self.phase = None

    def check(self):
        """Look once. Returns the new phase text when loading has moved on, else None."""
        new = self.journal.read()
        now = state(self.unit)
        problem = self._problem(now)
        if problem and not (self.may_restart and self._comes_again(now)):
            self.journal.read()
            raise self._failure(problem)
        known = next(filter(None, map(fatal_lines.match, new)), None)
        if known:
            raise self._failure("cannot come up")
        if problem:
            return self._next_run(now)
        return self._moved_on(new)

    def _comes_again(self, now):
        return now.get("ActiveState") in ("active", "activating")

    def _next_run(self, now):
        """Watch the run that systemd starts next. Returns a text once it has begun."""
        if now.get("InvocationID") == self.first.get("InvocationID"):
            return None  # systemd waits before it starts it
        self.first, self.phase = now, None
        self.journal = Journal(now.get("InvocationID", ""))
        return "another node went away, so that this one was started anew"

    def _problem(self, now):
        active, sub = now.get("ActiveState"), now.get("SubState")
        if active in ("failed", "inactive"):
            return f"{active} ({_exit_text(now)})"
        if sub == "auto-restart" or now.get("NRestarts") != self.first.get("NRestarts"):
            return f"restarted itself ({_exit_text(now)})"
        if now.get("InvocationID") != self.first.get("InvocationID"):
            return "was started anew by someone else meanwhile"
        if active == "deactivating":
            return "is being stopped"
        return None

    def _failure(self, problem):
        cause = fatal_lines.decisive(self.journal.lines)
        text = f"{self.unit} {problem}"
        rules = []
        if cause:
            text += f"; decisive log line: {cause['line'][:500]}"
            if cause["meaning"]:
                text += f" ({cause['rule'] + ': ' if cause['rule'] else ''}{cause['meaning']})"
            rules = [{"rule": cause["rule"], "text": cause["meaning"]}] if cause["rule"] else []
        else:
            text += f"; the journal holds no line of this run: journalctl -u {self.unit}"
        return UnitError(text, rules)

    def _moved_on(self, new):
        for line in reversed(new):
            for pattern, text in PHASES:
                found = pattern.search(line)
                if not found:
                    continue
                percent = f" {int(found.group(1)) // 10 * 10} %" if found.groups() else ""
                if text + percent == self.phase:
                    return None
                self.phase = text + percent
                return self.phase
        return None


def _exit_text(now):
    code, status = now.get("ExecMainCode", ""), now.get("ExecMainStatus", "")
    if code in ("2", "3"):  # CLD_KILLED, CLD_DUMPED
        return f"killed by signal {status}: {EXIT_MEANINGS['9']}" if status == "9" else f"killed by signal {status}"
    meaning = EXIT_MEANINGS.get(status) if status != "9" else None
    return f"result {now.get('Result', '?')}, exit {status or '?'}" + (f": {meaning}" if meaning else "")

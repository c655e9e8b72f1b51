"""The repeated probe of a systemd timer: does the service still make sense?

Writes a state file (read by `./stack status`) and, when asked, a textfile metric. Restarts the unit on degenerate
output when told so, but not more often than allowed. A stopped or loading service is not judged.
"""

import json
import os
import tempfile
import time

from . import router, unit
from .client import Client, NoAnswer
from .explanations import explain
from .questions import DEFAULT_QUESTIONS
from .semantic import ask, ask_in_turn
from .spec import is_follower

TIMEOUT_SECONDS = 300
STATES = ("healthy", "degraded", "degenerate", "limited", "unreachable", "starting", "stopped")
SHORT = ("repeat", "reasoning")  # the two that are quick, and the field in which loops were seen


def run(spec, metrics_file=None, restart=False, max_restarts_per_hour=1):
    """Probe once, write metric and state, restart when allowed, print one JSON line. Exit code 1 when unhealthy."""
    started = time.time()
    result = _probe(spec)
    result.update(
        service=spec["service"],
        unit=spec["unit"],
        timestamp=int(started),
        durationSeconds=round(time.time() - started, 2),
        environmentDigest=spec.get("environmentDigest"),
        release=spec.get("version"),
        servedModelName=spec["servedModelName"],
        restarts=_recent(_previous(spec["stateFile"]), started),
    )
    if restart and result["state"] == "degenerate":
        _restart(spec, result, max_restarts_per_hour, started)
    write_atomically(spec["stateFile"], json.dumps(result, ensure_ascii=False, sort_keys=True) + "\n")
    if metrics_file:
        write_atomically(metrics_file, metrics(result))
    for reason in result["reasons"]:
        print(f"{spec['unit']} {result['state']}: {reason}", flush=True)
    print(json.dumps(result, ensure_ascii=False, sort_keys=True), flush=True)
    return 1 if result["state"] in ("degenerate", "unreachable") else 0


def _probe(spec):
    """{"state", "healthy", "reasons", "answers", "rules"}: state is one of STATES."""
    try:
        properties = unit.state(spec["unit"])
        if properties.get("ActiveState") in ("inactive", "failed", "deactivating"):
            stopped = properties["ActiveState"]
            return _result("unreachable" if stopped == "failed" else "stopped", [f"the unit is {stopped}"])
        client = Client(spec["url"], spec.get("apiKeyFile"))
        if is_follower(spec):
            return _follower(client)
        info, out = _look(spec, client)
    except (unit.UnitError, OSError) as error:
        return _result("unreachable", [str(error)])
    except NoAnswer as error:
        return _result("starting" if _is_loading(spec, properties) else "unreachable", [str(error)])
    result = _judge(spec, client, info)
    if out and result["healthy"]:
        return _result("degraded", [f"replica {url} {why}" for url, why in out.items()], result["answers"])
    return result


def _follower(client):
    """A node above rank 0 answers /health, and nothing else, once the whole group has loaded."""
    status, _ = client.request("/health", timeout=30)
    if status != 200:
        return _result("unreachable", [f"/health answers {status}"])
    return _result("healthy", [])


def _look(spec, client):
    """(what the server says about itself, {replica: why it does not take part}). Raises NoAnswer."""
    if "replicas" not in spec:
        return client.get_json("/server_info", 30), {}
    out = router.missing(client, spec["replicas"])
    return router.first_info(spec["replicas"], spec.get("apiKeyFile")), out


def _is_loading(spec, properties):
    if properties.get("ActiveState") == "activating":
        return True
    entered = int(properties.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
    return time.clock_gettime(time.CLOCK_MONOTONIC) - entered < spec["deadlineSeconds"]


def _judge(spec, client, info):
    questions = spec.get("prompts") or [question for question in DEFAULT_QUESTIONS if question["id"] in SHORT]
    answers = []

    def ask_one(question):
        think = bool(question.get("think"))
        answers.append(ask(client, spec, question, think, "temperature-0", info, TIMEOUT_SECONDS))
        return answers[-1]

    try:
        ask_in_turn(ask_one, questions)
    except NoAnswer as error:
        return _result("unreachable", [str(error)], answers)
    bad = [answer for answer in answers if not answer["healthy"]]
    reasons = [
        f'{answer["question"]}: {reason}; text: "{answer["excerpt"]}"' for answer in bad for reason in answer["reasons"]
    ]
    if not bad:
        return _result("healthy", [], answers)
    if all(answer["limitTooSmall"] for answer in bad):
        return _result("limited", reasons, answers)
    return _result("degenerate", reasons, answers, explain(info, ""))


def _result(state, reasons, answers=(), rules=()):
    return {
        "state": state,
        "healthy": state == "healthy",
        "reasons": reasons,
        "answers": list(answers),
        "rules": list(rules),
    }


def _restart(spec, result, limit, now):
    """Restart the unit unless that was done `limit` times within the last hour."""
    if len(result["restarts"]) >= limit:
        result["restart"] = (
            f"not restarted: {len(result['restarts'])} restarts within the last hour, allowed are {limit}"
        )
    else:
        try:
            unit.run_tool("systemctl", "restart", "--no-block", spec["unit"])
            result["restarts"].append(int(now))
            result["restart"] = "restarted"
        except unit.UnitError as error:
            result["restart"] = f"not restarted: {error}"
    print(f"{spec['unit']}: {result['restart']}", flush=True)


def _previous(path):
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        return value if isinstance(value, dict) else {}
    except (OSError, ValueError):
        return {}


def _recent(previous, now):
    return [moment for moment in previous.get("restarts", []) if isinstance(moment, int) and 0 <= now - moment < 3600]


def metrics(result):
    """The textfile for a node exporter: healthy is 1 only for a service that was judged and found healthy."""
    common = {"service": result["service"], "environment": result["environmentDigest"]}
    lines = []
    for name, text, value in (
        ("sglang_probe_healthy", "1 when the last semantic probe found healthy answers", int(result["healthy"])),
        ("sglang_probe_duration_seconds", "Duration of the last semantic probe", result["durationSeconds"]),
        ("sglang_probe_timestamp_seconds", "Start of the last semantic probe, Unix time", result["timestamp"]),
    ):
        lines += [*_head(name, text), _sample(name, common, value)]
    name = "sglang_probe_state"
    lines += _head(name, "1 for the state that the last semantic probe found, 0 for the others")
    lines += [_sample(name, {**common, "state": state}, int(result["state"] == state)) for state in STATES]
    if result["environmentDigest"] is not None:
        name = "proxmox_gpu_stack_environment_info"
        lines += _head(name, "Environment that the service was started from, by the digest of its content")
        told = {"release": result["release"], "model": result["servedModelName"], "unit": result["unit"]}
        lines.append(_sample(name, {**common, **told}, 1))
    return "\n".join(lines) + "\n"


def _head(name, text):
    return [f"# HELP {name} {text}", f"# TYPE {name} gauge"]


def _sample(name, labels, value):
    """One line; a label whose value nobody knows is left out."""
    known = ",".join(f'{label}="{_escape(text)}"' for label, text in labels.items() if text is not None)
    return f"{name}{{{known}}} {value}"


def _escape(value):
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_atomically(path, text):
    """Write a world-readable file aside, then rename it: a reader never sees half of it."""
    directory = os.path.dirname(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{os.path.basename(path)}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise

"""Checks before the server starts (ExecStartPre): what would otherwise show after minutes of loading, or not at all."""

import json
import os
import subprocess
import sys

from . import ports, unit
from .spec import port_of

CUDA_TIMEOUT_SECONDS = 120


def run(spec):
    """Print one line for each problem and return 1, or one line and 0."""
    problems = [*_port(spec), *_model(spec), *_gpus(spec)]
    for problem in problems:
        print(f"preflight: {problem}", file=sys.stderr, flush=True)
    if problems:
        return 1
    checked = ["port", *(["model"] if spec.get("modelPath") else []), *(["GPUs"] if spec.get("gpus") else [])]
    print(f"preflight: {spec['service']} may start ({', '.join(checked)} checked)", flush=True)
    return 0


def _port(spec):
    port = port_of(spec)
    for listener in ports.listeners(port):
        yield (
            f"port {port} is taken by {ports.describe(listener)}: the server would load, greet the other one and only then fail; "
            "stop it or change the port"
        )


def _model(spec):
    for key in ("modelPath", "draftModelPath"):
        if spec.get(key):
            yield from model_problems(spec[key])


def model_problems(path):
    """What is missing in a model directory: config.json, or safetensors files that its index names."""
    if not os.path.isdir(path):
        yield f"model directory {path} does not exist: is the mount there?"
        return
    if not os.path.isfile(os.path.join(path, "config.json")):
        yield f"{path}/config.json does not exist: fetch the model"
        return
    index = os.path.join(path, "model.safetensors.index.json")
    if not os.path.isfile(index):
        if not any(name.endswith(".safetensors") for name in os.listdir(path)):
            yield f"{path} holds no .safetensors file: fetch the model"
        return
    try:
        with open(index, encoding="utf-8") as file:
            names = sorted(set(json.load(file)["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        yield f"{index} cannot be read: {error!r}"
        return
    missing = [name for name in names if not _has_content(os.path.join(path, name))]
    if missing:
        shown = ", ".join(missing[:3]) + (" …" if len(missing) > 3 else "")
        yield f"{path}: {len(missing)} of {len(names)} files of the index are missing or empty: {shown}: fetch the model"


def _has_content(path):
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _gpus(spec):
    wanted = spec.get("gpus")
    if not wanted:
        return
    try:
        cards = _query("--query-gpu=index,uuid,name,memory.free,memory.total", 5)
    except unit.UnitError as error:
        yield f"GPUs: {error}"
        return
    chosen = [card for card in cards if not wanted.get("uuids") or card[1] in wanted["uuids"]]
    for uuid in wanted.get("uuids", []):
        if uuid not in [card[1] for card in cards]:
            yield f"GPU {uuid} is not visible here: check its device node and the container's devN entries"
    if len(chosen) < wanted["count"]:
        yield f"{len(chosen)} GPUs are visible, {int(wanted['count'])} are needed: {', '.join(card[1] for card in cards) or 'none'}"
    for index, uuid, name, free, total in chosen:
        if "freeMiB" in wanted and free.isdigit() and int(free) < wanted["freeMiB"]:
            yield (
                f"GPU {index} ({name}, {uuid}): {free} of {total} MiB are free, {int(wanted['freeMiB'])} are needed: {_holders(uuid)}; "
                "the server would start with a smaller pool or run out of memory"
            )
    yield from _cuda(wanted)


def _query(query, fields):
    output = unit.run_tool("nvidia-smi", query, "--format=csv,noheader,nounits")
    rows = [[field.strip() for field in line.split(",")] for line in output.splitlines() if line.strip()]
    return [row for row in rows if len(row) == fields]


def _holders(uuid):
    """Who holds memory of a GPU, as far as it can be seen: processes of other containers cannot."""
    try:
        rows = _query("--query-compute-apps=gpu_uuid,pid,process_name,used_memory", 4)
    except unit.UnitError:
        rows = []
    named = [f"PID {pid} ({name}) holds {used} MiB" for gpu, pid, name, used in rows if gpu == uuid]
    return ", ".join(named) or "the holder cannot be seen from here (another container or the host)"


def _cuda(wanted):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda.py")
    try:
        result = subprocess.run(
            [sys.executable, "-I", script], capture_output=True, text=True, timeout=CUDA_TIMEOUT_SECONDS
        )
        found = json.loads(result.stdout)
    except subprocess.TimeoutExpired:
        yield f"CUDA does not open within {CUDA_TIMEOUT_SECONDS} s"
        return
    except ValueError:
        yield f"the CUDA check itself died (exit {result.returncode}): {result.stderr.strip()[-300:]}"
        return
    if found["error"]:
        yield f"CUDA: {found['error']}"
    elif found["devices"] < wanted["count"]:
        yield f"CUDA opens {found['devices']} devices, {int(wanted['count'])} are needed: check CUDA_VISIBLE_DEVICES"

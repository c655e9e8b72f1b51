"""The specification file of one service: read, checked, every problem in one error.

Keys (JSON object, * required by every verb):
  service*              name of the service, a label in metrics and texts
  unit*                 systemd unit, e.g. "sglang-qwen.service"
  url*                  where the server answers on this machine, e.g. "http://127.0.0.1:30000"
  servedModelName       name to ask for (gate, probe)
  version               SGLang release that /server_info must report (gate); left out for a build from a commit
  expectedServerInfo    {key: value} that /server_info must report (gate)
  deadlineSeconds       time for loading until /health answers 200; default 1800
  plannedMaxTotalTokens tokens the KV pool was planned for: 90 % of it must be there (gate)
  apiKeyFile            file whose content is the API key
  mainPidUnit           unit that must own the port; default: unit
  prompts               questions instead of the built-in ones (see questions.py); an empty list fails the gate
  sampling              the model card's values: {"thinking"?, "nonThinking"?, "coding"?} with temperature, top_p, top_k,
                        min_p, presence_penalty, …; a mode that is missing uses the server's own defaults
  modelPath, draftModelPath   model directories (preflight)
  gpus                  {"count", "uuids"?, "freeMiB"?}: GPUs the unit must see, MiB each must have free (preflight)
  replicas              addresses that a router must have as healthy replicas; makes it the gate and probe of a router
  node                  {"rank", "count", "meets"} of a server over several containers: above rank 0 it answers /health alone
  environmentDigest     label of the metric
  stateFile             where the probe keeps its state; default /var/lib/proxmox-gpu-stack/probe/<service>.json
"""

import json
from urllib.parse import urlsplit

from .questions import KINDS

TEXT_KEYS = (
    "service unit url servedModelName version apiKeyFile mainPidUnit modelPath draftModelPath environmentDigest stateFile"
).split()
NUMBER_KEYS = ("deadlineSeconds", "plannedMaxTotalTokens")
OTHER_KEYS = ("expectedServerInfo", "prompts", "sampling", "gpus", "replicas", "node")
SAMPLING_MODES = ("thinking", "nonThinking", "coding")
SAMPLING_KEYS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
)


class SpecError(Exception):
    """A specification that cannot be used; the text lists every problem."""


def load_spec(path, needs=()):
    """The checked specification with defaults filled in. `needs`: keys that this verb cannot do without."""
    try:
        with open(path, encoding="utf-8") as file:
            spec = json.load(file)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SpecError(f"{path}: is not JSON: {error}") from error
    if not isinstance(spec, dict):
        raise SpecError(f"{path}: must be a JSON object, is {type(spec).__name__}")
    problems = list(_problems(spec, ("service", "unit", "url", *needs)))
    if problems:
        raise SpecError("\n".join(f"{path}: {problem}" for problem in problems))
    spec.setdefault("deadlineSeconds", 1800)
    spec.setdefault("mainPidUnit", spec["unit"])
    spec.setdefault("expectedServerInfo", {})
    spec.setdefault("sampling", {})
    spec.setdefault("stateFile", f"/var/lib/proxmox-gpu-stack/probe/{spec['service']}.json")
    return spec


def port_of(spec):
    """The port number in the specification's url."""
    return urlsplit(spec["url"]).port or 80


def _problems(spec, needs):
    known = [*TEXT_KEYS, *NUMBER_KEYS, *OTHER_KEYS]
    for key in spec:
        if key not in known:
            yield f"{key}: unknown key; known are {', '.join(known)}"
    for key in needs:
        if key not in spec:
            yield f"{key}: missing"
    for key in TEXT_KEYS:
        if key in spec and not (isinstance(spec[key], str) and spec[key]):
            yield f"{key}: must be a text, is {spec[key]!r}"
    for key in NUMBER_KEYS:
        if key in spec and not _is_number(spec[key]):
            yield f"{key}: must be a number above 0, is {spec[key]!r}"
    if isinstance(spec.get("url"), str) and not spec["url"].startswith("http://"):
        yield f'url: must be like "http://127.0.0.1:30000", is {spec["url"]!r}'
    if not isinstance(spec.get("expectedServerInfo", {}), dict):
        yield "expectedServerInfo: must be an object"
    yield from _sampling_problems(spec.get("sampling", {}))
    yield from prompt_problems(spec.get("prompts", []))
    yield from _gpu_problems(spec.get("gpus", {"count": 1}))
    yield from _node_problems(spec.get("node", {"rank": 0, "count": 2, "meets": "here"}))
    yield from _replica_problems(spec.get("replicas", ["http://one"]))


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _sampling_problems(sampling):
    if not isinstance(sampling, dict):
        yield f"sampling: must be an object with some of {', '.join(SAMPLING_MODES)}"
        return
    for mode, values in sampling.items():
        if mode not in SAMPLING_MODES or not isinstance(values, dict):
            yield f"sampling.{mode}: must be an object under one of {', '.join(SAMPLING_MODES)}"
            continue
        for key, value in values.items():
            if key not in SAMPLING_KEYS or isinstance(value, bool) or not isinstance(value, (int, float)):
                yield f"sampling.{mode}.{key}: must be a number under one of {', '.join(SAMPLING_KEYS)}, is {value!r}"


def prompt_problems(prompts):
    """What is wrong with a list of questions, one text each."""
    if not isinstance(prompts, list):
        yield "prompts: must be a list of questions"
        return
    for index, prompt in enumerate(prompts):
        where = f"prompts[{index}]"
        if not isinstance(prompt, dict) or not all(isinstance(prompt.get(key), str) for key in ("id", "prompt")):
            yield f"{where}: must be an object with id, prompt and expect"
            continue
        expect = prompt.get("expect")
        kind = expect.get("kind") if isinstance(expect, dict) else None
        if kind not in KINDS:
            yield f"{where}.expect.kind: must be one of {', '.join(KINDS)}, is {kind!r}: an answer that cannot be checked proves nothing"
        elif kind == "number" and not isinstance(expect.get("value"), (int, float)):
            yield f"{where}.expect.value: must be a number, is {expect.get('value')!r}"
        elif kind in ("sentence", "contains") and not isinstance(expect.get("value"), str):
            yield f"{where}.expect.value: must be a text, is {expect.get('value')!r}"


def is_follower(spec):
    """Whether the service is a node above rank 0, which lends its cards to rank 0 and answers no question."""
    return spec.get("node", {}).get("rank", 0) > 0


def _node_problems(node):
    whole = isinstance(node, dict) and isinstance(node.get("meets"), str)
    if not (whole and all(isinstance(node.get(key), int) for key in ("rank", "count"))):
        yield f"node: must be an object with rank, count and meets, is {node!r}"


def _replica_problems(replicas):
    if not (isinstance(replicas, list) and replicas and all(_is_address(replica) for replica in replicas)):
        yield f'replicas: must be a list of addresses like "http://10.1.2.3:30000", is {replicas!r}'


def _is_address(value):
    return isinstance(value, str) and value.startswith("http://")


def _gpu_problems(gpus):
    if not isinstance(gpus, dict) or not _is_number(gpus.get("count")):
        yield "gpus: must be an object with count, and may have uuids and freeMiB"
    elif "freeMiB" in gpus and not _is_number(gpus["freeMiB"]):
        yield f"gpus.freeMiB: must be a number above 0, is {gpus['freeMiB']!r}"

"""The release's command line, built with argparse from its own flag table."""

import argparse
import json
import os

from sglang.release import FLAGS

SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def human_readable_int(text):
    """An integer, or one with a suffix such as 32k or 1Mi."""
    lower = text.lower()
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if lower.endswith(suffix):
            return int(float(lower[: -len(suffix)]) * SUFFIXES[suffix])
    return int(text)


def json_list_type(text):
    """A JSON list."""
    value = json.loads(text)
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value


def nullable_str(text):
    """A string; "None" and nothing mean none."""
    return None if text in ("", "None") else text


TYPES = {
    "str": str,
    "int": int,
    "float": float,
    "loads": json.loads,
    "human_readable_int": human_readable_int,
    "json_list_type": json_list_type,
    "nullable_str": nullable_str,
    "parse_cuda_graph_config_arg": json.loads,
    "parse_cuda_graph_backend_arg": str,
}


class RemovedFlag(argparse.Action):
    """A flag that the release still knows only to refuse it."""

    def __init__(self, option_strings, dest, nargs=0, **rest):
        super().__init__(option_strings, dest, nargs=0, **rest)

    def __call__(self, parser, namespace, values, option_string=None):
        raise ValueError(f"{option_string} is deprecated and removed")


def destination(flag):
    """The name of a flag's value, which is also its key in /server_info."""
    return flag.get("dest") or flag["name"].lstrip("-").replace("-", "_")


def settings(flag):
    """The keyword arguments of argparse's add_argument for one entry of the flag table."""
    action, result = flag.get("action"), {"dest": destination(flag)}
    if action in ("store_true", "DeprecatedStoreTrueAction"):
        return result | {"action": "store_true", "default": flag.get("default", False)}
    if action == "boolean_optional":
        return result | {"action": argparse.BooleanOptionalAction, "default": flag.get("default")}
    if action == "DeprecatedAction":
        return result | {"action": RemovedFlag, "default": argparse.SUPPRESS}
    if action == "DeprecatedStoreConstAction":
        return result | {"action": "store_true", "default": argparse.SUPPRESS}
    result["default"] = argparse.SUPPRESS if action == "DeprecatedAliasStoreAction" else flag.get("default")
    for key in ("choices", "nargs", "required"):
        if key in flag:
            result[key] = flag[key]
    if flag.get("type"):
        result["type"] = TYPES[flag["type"]]
    return result


def make_parser():
    """The release's parser: abbreviations included, as argparse allows them."""
    parser = argparse.ArgumentParser(prog="launch_server.py")
    for flag in FLAGS:
        names = [flag["name"], *flag.get("aliases", [])]
        if flag.get("action") == "boolean_optional":
            # argparse makes the --no- form of these itself.
            names = [name for name in names if not name.startswith("--no-")]
        parser.add_argument(*names, **settings(flag))
    return parser


def config_arguments(path):
    """The arguments of a --config file: one `key: value` a line, the subset of YAML that SGLang's examples use."""
    arguments = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.split("#")[0].strip()
            if not line:
                continue
            key, _, value = (part.strip() for part in line.partition(":"))
            value = value.strip("\"'")
            if value.lower() == "true":
                arguments.append(f"--{key}")
            elif value.lower() != "false":
                arguments += [f"--{key}", value]
    return arguments


def parse(arguments):
    """Parses a command line. Ends the process with 2 and argparse's text where the release would.

    Raises ValueError for a --config file that is not there, as the release does."""
    if "--config" in arguments:
        place = arguments.index("--config")
        path = arguments[place + 1] if place + 1 < len(arguments) else ""
        if not os.path.isfile(path):
            raise ValueError(f"Config file not found: {path}")
        arguments = config_arguments(path) + arguments[:place] + arguments[place + 2 :]
    return make_parser().parse_args(arguments)

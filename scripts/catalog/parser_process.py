"""Runs inside its own interpreter: one release's argument parser, everything heavy faked.

Called by extract_release.py as `parser_process.py <folder>...` where the folders hold the unpacked wheel
and msgspec. Reads one JSON request a line on stdin, writes one JSON answer a line on stdout:
`{"flags": true}` -> the flag table; `{"parse": [argument, ...]}` -> `{"ok": true, "values": {...}}` or
`{"ok": false, "error": "..."}` in the parser's own words.
"""

import argparse
import contextlib
import importlib
import io
import json
import logging
import os
import sys
import types

import fake_modules

REAL_PACKAGES = ["sglang", "msgspec"]
# Modules of the wheel that need the real torch or dill at import, and from which the parser takes nothing
# but constants for checks after parsing.
FAKED_MODULES = [
    "sglang.srt.layers.attention.fla",
    "sglang.kernels.ops.attention.fla",
    "sglang.srt.sampling.custom_logit_processor",
]
# The presence of these would mean that the machine has another vendor's accelerator.
ABSENT_PACKAGES = ["torch_npu", "torch_musa", "torchada", "intel_extension_for_pytorch"]
ABSENT_TORCH_NAMES = ["npu", "hpu", "mps", "musa"]


def build_parser(folders):
    """The release's own parser and its class of settings. `sglang/__init__.py` is not run: it imports the whole front end."""
    sys.path[:0] = folders
    fake_modules.install(REAL_PACKAGES, FAKED_MODULES, ABSENT_PACKAGES)
    torch = importlib.import_module("torch")
    torch.missing_names = frozenset(ABSENT_TORCH_NAMES)
    torch.version = types.SimpleNamespace(cuda=None, hip=None)
    for name in [name for name in os.environ if name.startswith(("SGLANG_", "SGL_"))]:
        del os.environ[name]
    package = types.ModuleType("sglang")
    package.__path__ = [os.path.join(folder, "sglang") for folder in folders]
    package.__version__ = "0.0.0"
    sys.modules["sglang"] = package
    logging.disable(logging.CRITICAL)
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser(prog="sglang")
    ServerArgs.add_cli_args(parser)
    return parser, ServerArgs


def plain(value):
    """`value` as JSON can hold it; what it cannot hold becomes its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return str(value)


def canonical_name(action, server_args):
    """The spelling that names the server's own setting (`--tp-size`: `ServerArgs.tp_size`), else the first."""
    names = [name for name in action.option_strings if name.startswith("--")]
    settings = [name for name in names if hasattr(server_args, name[2:].replace("-", "_"))]
    return (settings or names)[0]


def is_deprecated(action):
    """Whether the release itself calls the flag deprecated, by its action's class or its help text."""
    if type(action).__name__.startswith("Deprecated"):
        return True
    text = (action.help or "").strip().lower().lstrip("[(")
    return text.startswith(("deprecated", "note: deprecated", "note: --")) and "deprecated" in text


ACTION_NAMES = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_true",
    "_StoreFalseAction": "store_false",
    "_StoreConstAction": "store_const",
    "_AppendAction": "append",
    "BooleanOptionalAction": "boolean_optional",
}


def describe(action, server_args):
    """One flag as plain data; keys whose value is the usual one are left out.

    `dest` is the setting's name in /server_info where it is not the flag's own.
    """
    name = canonical_name(action, server_args)
    entry = {"name": name}
    aliases = [other for other in action.option_strings if other != name]
    if aliases:
        entry["aliases"] = aliases
    if action.dest.replace("_", "-") not in [other.lstrip("-") for other in action.option_strings]:
        entry["dest"] = action.dest
    kind = ACTION_NAMES.get(type(action).__name__, type(action).__name__)
    if kind != "store":
        entry["action"] = kind
    if action.type is not None:
        entry["type"] = getattr(action.type, "__name__", type(action.type).__name__)
    if action.nargs not in (None, 0):
        entry["nargs"] = action.nargs
    if action.choices is not None:
        entry["choices"] = sorted(plain(list(action.choices)), key=str)
    if action.default is not None and action.default is not argparse.SUPPRESS:
        if not (kind == "store_true" and action.default is False):
            entry["default"] = plain(action.default)
    if action.required:
        entry["required"] = True
    if is_deprecated(action):
        entry["deprecated"] = True
    return entry


def flag_table(parser, server_args):
    """Every flag of the parser, by name; `--help` belongs to argparse, not to the release."""
    actions = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    return sorted((describe(action, server_args) for action in actions), key=lambda entry: entry["name"])


def parse(parser, arguments):
    """What the release's parser makes of a command line."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            values = vars(parser.parse_args(arguments))
    except SystemExit:
        return {"ok": False, "error": errors.getvalue().strip().splitlines()[-1]}
    return {"ok": True, "values": {name: plain(value) for name, value in sorted(values.items())}}


def main():
    # Whatever the release prints while it is imported must not mix with the answers.
    with contextlib.redirect_stdout(io.StringIO()):
        parser, server_args = build_parser(sys.argv[1:])
    for line in sys.stdin:
        request = json.loads(line)
        answer = flag_table(parser, server_args) if "flags" in request else parse(parser, request["parse"])
        print(json.dumps(answer, sort_keys=True), flush=True)


if __name__ == "__main__":
    main()

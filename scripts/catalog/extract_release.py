#!/usr/bin/env python3
"""Read an SGLang release's flags, pins, environment names and endpoints from its own wheel.

  extract_release.py VERSION [--out FOLDER]   write FOLDER/VERSION.json (default: print it)
  extract_release.py VERSION --parse          read one JSON array of arguments a line on stdin and write
                                              {"ok": …, "values": {…}} or {"ok": false, "error": …} for each

The wheel comes from the package index that pip is configured for and stays in the cache folder. Its argument
parser runs in an interpreter of its own with every heavy import faked. Exit codes: 0 fine, 1 failed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import release_wheel

PARSER_PROCESS = pathlib.Path(__file__).parent / "parser_process.py"
CATALOG = pathlib.Path(__file__).resolve().parents[2] / "catalog" / "releases"


def ask_parser(unpacked, requests):
    """The answers of the release's parser to a list of requests (see parser_process.py)."""
    folders = [str(unpacked), str(release_wheel.msgspec_folder())]
    # -E -s -S: what is installed on this machine must not change the answer.
    command = [sys.executable, "-E", "-s", "-S", "-W", "ignore", str(PARSER_PROCESS), *folders]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise release_wheel.WheelError(
            "the release's argument parser could not be run; if a module is the reason, see FAKED_MODULES in "
            f"{PARSER_PROCESS.name}:\n{done.stderr.strip()[-1500:]}"
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def known_sha256(version):
    """The hash that the catalog already holds for this release, or None."""
    path = CATALOG / f"{version}.json"
    return json.loads(path.read_text(encoding="utf-8"))["wheelSha256"] if path.is_file() else None


def describe(version):
    """Everything the catalog keeps about a release, as plain data."""
    wheel = release_wheel.obtain(version, known_sha256(version))
    unpacked = release_wheel.unpack(wheel)
    requires_python, pins = release_wheel.metadata(unpacked)
    return {
        "version": version,
        "wheelSha256": release_wheel.sha256(wheel),
        "requiresPython": requires_python,
        "pins": pins,
        "environment": release_wheel.environment_names(unpacked),
        "endpoints": release_wheel.endpoints(unpacked),
        "flags": ask_parser(unpacked, [{"flags": True}])[0],
    }


def to_text(release):
    """JSON with one flag a line, so that two releases can be compared line by line."""
    lines = ["{"]
    for key in ("version", "wheelSha256", "requiresPython"):
        lines.append(f'  "{key}": {json.dumps(release[key])},')
    pins = [f"    {json.dumps(name)}: {json.dumps(pin)}" for name, pin in release["pins"].items()]
    lines += ['  "pins": {', ",\n".join(pins), "  },"]
    for key in ("environment", "endpoints"):
        lines += [f'  "{key}": [', ",\n".join(f"    {json.dumps(name)}" for name in release[key]), "  ],"]
    lines += ['  "flags": [', ",\n".join(f"    {json.dumps(flag)}" for flag in release["flags"]), "  ]", "}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="a release number, for example 0.5.23")
    parser.add_argument("--out", type=pathlib.Path, help="write VERSION.json into this folder")
    parser.add_argument("--parse", action="store_true", help="parse command lines instead")
    options = parser.parse_args()
    if options.parse:
        unpacked = release_wheel.unpack(release_wheel.obtain(options.version, known_sha256(options.version)))
        requests = [{"parse": json.loads(line)} for line in sys.stdin]
        for answer in ask_parser(unpacked, requests):
            print(json.dumps(answer, sort_keys=True))
        return
    text = to_text(describe(options.version))
    if options.out is None:
        print(text, end="")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    aside = options.out / f".{options.version}.json.new"
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, options.out / f"{options.version}.json")


if __name__ == "__main__":
    try:
        main()
    except release_wheel.WheelError as error:
        print(f"extract_release.py: {error}", file=sys.stderr)
        sys.exit(1)

"""pct exec, enter, push and pull: what reaches into a running container."""

import os
import subprocess
import sys

from labpve import config_file, pct_arguments, schema, state
from labpve.errors import PveError

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_COPY_OPTIONS = {name: schema.Option(schema.STRING) for name in ("user", "group", "perms")}


def _attach(vmid, *arguments):
    return ["lxc-attach", "-n", str(vmid), *arguments]


def _check_running(vmid, message):
    config_file.load(vmid)
    if not state.is_running(vmid):
        raise PveError(message)


def split_exec(arguments):
    """(keep the environment, command) of `exec`'s words after the id; kept by default, as by the real one."""
    keep, rest = True, list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name, equals, value = rest.pop(0).lstrip("-").partition("=")
        if name != "keep-env":
            raise pct_arguments.UsageError(f"Unknown option: {name}\n400 unable to parse option")
        if not equals:
            value = rest.pop(0) if rest and schema.boolean(rest[0]) is not None else "1"
        keep = schema.boolean(value) == 1
    command = rest[1:] if rest[:1] == ["--"] else rest
    if not command:
        raise pct_arguments.UsageError("400 not enough arguments")
    return keep, command


def exec_(vmid, arguments):
    """Become lxc-attach with the command: its exit status is the command's, 128+n for a signal."""
    keep, command = split_exec(arguments)
    _check_running(vmid, f"container '{vmid}' not running!")
    if keep:
        environment = ["--keep-env"]
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            os.environ.pop(name, None)
    else:
        environment = ["--clear-env", "-v", "TERM=linux", "-v", f"PATH={_PATH}", "-v", "container=lxc"]
    sys.stdout.flush()
    os.execvp("lxc-attach", _attach(vmid, *environment, "--", *command))


def enter(vmid, _arguments):
    """Become a shell in the container."""
    _check_running(vmid, f"container '{vmid}' not running!")
    os.execvp("lxc-attach", _attach(vmid, "--clear-env", "--"))


def _worker_failed(text):
    """As far as is known the real push and pull end with 0 although their worker failed."""
    sys.stderr.write(f"{text}\n")
    return 0


def push(vmid, arguments):
    """Copy a file into a running container; makes no folders. A failed copy: see _worker_failed."""
    if len(arguments) < 2:
        raise pct_arguments.UsageError("400 not enough arguments")
    source, target, *rest = arguments
    options = pct_arguments.options(rest, _COPY_OPTIONS)
    _check_running(vmid, "can only push files to a running CT")
    try:
        with open(source, "rb") as file:
            copy = ["sh", "-c", 'cat > "$1"', "sh", target]
            result = subprocess.run(_attach(vmid, "--clear-env", "--", *copy), stdin=file, check=False)
    except OSError as error:
        return _worker_failed(f"failed to open {source} for reading: {error.strerror}")
    commands = []
    if "perms" in options:
        commands.append(["chmod", options["perms"], target])
    for option, program in (("user", "chown"), ("group", "chgrp")):
        if option in options:
            commands.append([program, options[option], target])
    for command in commands if result.returncode == 0 else []:
        result = subprocess.run(_attach(vmid, "--clear-env", "--", *command), check=False)
    return _worker_failed(f"failed to push {source} to {target}") if result.returncode else 0


def pull(vmid, arguments):
    """Copy a file out of a running container."""
    if len(arguments) < 2:
        raise pct_arguments.UsageError("400 not enough arguments")
    source, target, *rest = arguments
    options = pct_arguments.options(rest, _COPY_OPTIONS)
    _check_running(vmid, "can only pull files from a running CT")
    with open(target, "wb") as file:
        command = _attach(vmid, "--clear-env", "--", "cat", source)
        result = subprocess.run(command, stdout=file, check=False)
    if "perms" in options:
        os.chmod(target, int(options["perms"], 8))
    return _worker_failed(f"failed to pull {source} to {target}") if result.returncode else 0

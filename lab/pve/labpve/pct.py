"""pct, the command line of Proxmox VE's containers, for what the lab covers."""

import sys
import urllib.parse

from labpve import (
    change,
    config_file,
    create,
    lifecycle,
    pct_arguments,
    pct_inside,
    pending,
    schema,
    state,
    tasks,
)
from labpve.errors import PveError
from labpve.pct_arguments import UsageError

_FAILED = 255
_NO_SUCH_FILE = 2
"""Exit status for a missing container: Perl's die leaves with errno."""


def _numbers(*names):
    return {name: schema.Option(schema.INTEGER, 0) for name in names}


def _flags(*names):
    return {name: schema.Option(schema.BOOLEAN) for name in names}


def _shown(key, value):
    return (
        urllib.parse.quote(str(value), safe=" !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~")
        if key == "description"
        else value
    )


def _task(kind, vmid, body, echo=None):
    """Run a task here; its failure is pct's."""
    result = tasks.run(kind, vmid, body, echo or (lambda line: None))
    if result != "OK" and not result.startswith("WARNINGS: "):
        raise PveError(result)


def _to_stderr(line):
    print(line, file=sys.stderr)


def list_(_vmid, _arguments):
    """Table of all containers; nothing at all when there are none."""
    ids = config_file.vmids()
    if ids:
        print(f"{'VMID':<10} {'Status':<10} {'Lock':<12} {'Name':<20}")
    for vmid in ids:
        entry = state.current(vmid)
        print(f"{vmid:<10} {entry['status']:<10} {entry.get('lock', ''):<12} {entry['name']:<20}")


def create_(vmid, arguments):
    """Create a container from a template."""
    if not arguments or arguments[0].startswith("-"):
        raise UsageError("400 not enough arguments")
    options = pct_arguments.options(arguments[1:], {**schema.container_options(), **schema.CREATE})
    if "ssh-public-keys" in options:
        with open(options["ssh-public-keys"], encoding="utf-8") as file:
            options["ssh-public-keys"] = file.read()
    prepared = create.prepare({**options, "vmid": str(vmid), "ostemplate": arguments[0]})
    _task("vzcreate", vmid, lambda log: create.run(prepared, log), print)


def config(vmid, arguments):
    """Sorted `key: value` lines with pending changes merged in, then the raw lines."""
    options = pct_arguments.options(arguments, _flags("current"))
    found = config_file.load(vmid)
    shown = found.options if options.get("current") == "1" else pending.merged(found)
    for key in sorted(shown):
        print(f"{key}: {_shown(key, shown[key])}")
    for key, value in found.raw:
        print(f"{key}: {value}")


def pending_(vmid, _arguments):
    """Present and waiting values: cur, new and del lines."""
    for entry in pending.listing(config_file.load(vmid)):
        key = entry["key"]
        if "value" in entry:
            word = "del" if entry.get("delete") else "cur"
            print(f"{word} {key}: {_shown(key, entry['value'])}")
        if "pending" in entry:
            print(f"new {key}: {_shown(key, entry['pending'])}")


def set_(vmid, arguments):
    """Change options."""
    options = pct_arguments.options(arguments, {**schema.container_options(), **schema.UPDATE})
    change.update(vmid, options, warn=_to_stderr)


def status(vmid, _arguments):
    """`status: running` or `status: stopped`."""
    config_file.load(vmid)
    print(f"status: {state.status(vmid)}")


def start(vmid, arguments):
    """Start a container."""
    pct_arguments.options(arguments, _flags("debug", "skiplock"))
    config_file.load(vmid)
    if state.is_running(vmid):
        raise PveError(f"CT {vmid} already running")
    _task("vzstart", vmid, lambda log: lifecycle.start(vmid, log), _to_stderr)


def stop(vmid, arguments):
    """End a container at once."""
    pct_arguments.options(arguments, _flags("skiplock", "overrule-shutdown"))
    config_file.load(vmid)
    _task("vzstop", vmid, lambda log: lifecycle.stop(vmid))


def shutdown(vmid, arguments):
    """Ask a container to end."""
    options = pct_arguments.options(arguments, {**_numbers("timeout"), **_flags("forceStop")})
    config_file.load(vmid)
    timeout, force = int(options.get("timeout", 60)), schema.boolean(options.get("forceStop", 0)) == 1
    _task("vzshutdown", vmid, lambda log: lifecycle.shutdown(vmid, timeout, force))


def reboot(vmid, arguments):
    """Shut down and start."""
    timeout = int(pct_arguments.options(arguments, _numbers("timeout")).get("timeout", 60))
    config_file.load(vmid)
    _task("vzreboot", vmid, lambda log: lifecycle.reboot(vmid, timeout, log), _to_stderr)


def resize(vmid, arguments):
    """Grow a disk."""
    if len(arguments) < 2:
        raise UsageError("400 not enough arguments")
    disk, size = arguments[:2]
    config_file.load(vmid)
    _task("resize", vmid, lambda log: lifecycle.resize(vmid, disk, size))


def destroy(vmid, arguments):
    """Remove a container."""
    options = pct_arguments.options(arguments, _flags("force", "purge", "destroy-unreferenced-disks"))
    force = schema.boolean(options.get("force", 0)) == 1
    lifecycle.check_destroy(vmid, force)
    _task("vzdestroy", vmid, lambda log: lifecycle.destroy(vmid, force))


def unlock(vmid, _arguments):
    """Take the `lock` option away."""
    found = config_file.load(vmid)
    found.options.pop("lock", None)
    config_file.save(vmid, found)


_COMMANDS = {
    "config": config,
    "create": create_,
    "destroy": destroy,
    "enter": pct_inside.enter,
    "exec": pct_inside.exec_,
    "pending": pending_,
    "pull": pct_inside.pull,
    "push": pct_inside.push,
    "reboot": reboot,
    "resize": resize,
    "set": set_,
    "shutdown": shutdown,
    "start": start,
    "status": status,
    "stop": stop,
    "unlock": unlock,
}
_NOT_COVERED = (
    "clone console cpusets delsnapshot df fsck fstrim listsnapshot migrate mount move-volume remote-migrate "
    "rescan restore rollback snapshot template unmount"
).split()


def _run(words):
    if not words:
        raise UsageError("ERROR: no command specified")
    command, *rest = words
    if command == "list":
        return list_(None, rest)
    if command in _NOT_COVERED:
        raise UsageError(f"ERROR: the lab's pct does not cover '{command}'")
    if command not in _COMMANDS:
        raise UsageError(f"ERROR: unknown command 'pct {command}'")
    if not rest:
        raise UsageError("400 not enough arguments")
    return _COMMANDS[command](pct_arguments.vmid(rest[0]), rest[1:])


def main(words):
    """Run pct; the exit status."""
    try:
        return _run(words) or 0
    except (PveError, UsageError, OSError) as error:
        print(pct_arguments.error_text(error), file=sys.stderr)
        missing = isinstance(error, PveError) and error.message.startswith("Configuration file")
        return _NO_SUCH_FILE if missing else _FAILED

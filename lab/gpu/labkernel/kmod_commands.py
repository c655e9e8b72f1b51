"""modprobe, insmod, rmmod and lsmod of a lab host: real kmod decides what to do, the simulated kernel does it.

modinfo and depmod are the real ones.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from . import files, modules

_KMOD = "/bin/kmod"
# Options with which modprobe changes nothing, so that the real one can run.
_HARMLESS = {
    "-n", "--dry-run", "--show", "-D", "--show-depends", "-c", "--showconfig", "--show-config", "-R", "--resolve-alias",
    "--show-modversions", "--dump-modversions", "-V", "--version", "-h", "--help", "--show-exports",
}  # fmt: skip


def _real(name: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([name, *arguments], executable=_KMOD, capture_output=True, text=True, check=False)


def modprobe(arguments: list[str]) -> int:
    """Loads or, with -r, unloads modules by name or alias."""
    if _HARMLESS & set(arguments):
        os.execv(_KMOD, ["modprobe", *arguments])
    if {"-r", "--remove"} & set(arguments):
        return _modprobe_remove([a for a in arguments if not a.startswith("-")])
    quiet = bool({"-q", "--quiet"} & set(arguments))
    # Quiet, the real one would not tell its plan.
    plan = _real("modprobe", ["-n", "-v", *(a for a in arguments if a not in ("-q", "--quiet"))])
    if plan.returncode:
        if not quiet:
            sys.stderr.write(plan.stderr)
        return plan.returncode
    for line in plan.stdout.splitlines():
        verb, _, rest = line.partition(" ")
        if verb == "install":
            # A modprobe.d file replaces the loading by a command, such as /bin/false.
            if subprocess.run(rest, shell=True, check=False).returncode:
                return 1
        elif verb == "insmod":
            path = shlex.split(rest)[0]
            try:
                with files.locked():
                    modules.insert(path)
            except modules.Refused as refused:
                if not quiet:
                    name = modules.kernel_name(os.path.basename(path).partition(".ko")[0])
                    print("modprobe: ERROR: could not insert '%s': %s" % (name, refused), file=sys.stderr)
                return 1
    return 0


def _modprobe_remove(names: list[str]) -> int:
    for name in map(modules.kernel_name, names):
        with files.locked():
            table = modules.loaded()
            if name not in table:
                if _real("modprobe", ["-n", name]).returncode:
                    print("modprobe: FATAL: Module %s not found." % name, file=sys.stderr)
                    return 1
                continue
            try:
                modules.remove(name)
            except modules.Refused:
                print("modprobe: FATAL: Module %s is in use." % name, file=sys.stderr)
                return 1
            # What only this module needed goes with it.
            for depend in table[name]["depends"]:
                try:
                    modules.remove(depend)
                except modules.Refused:
                    pass
    return 0


def insmod(arguments: list[str]) -> int:
    """Loads one module file."""
    try:
        with files.locked():
            modules.insert(arguments[0])
    except (modules.Refused, OSError) as error:
        text = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        print("insmod: ERROR: could not insert module %s: %s" % (arguments[0], text), file=sys.stderr)
        return 1
    return 0


def rmmod(arguments: list[str]) -> int:
    """Unloads modules by name."""
    for name in (a for a in arguments if not a.startswith("-")):
        try:
            with files.locked():
                modules.remove(name)
        except modules.Refused as refused:
            print("rmmod: ERROR: Module %s %s" % (name, refused), file=sys.stderr)
            return 1
    return 0


def lsmod(arguments: list[str]) -> int:
    """Lists the loaded modules, the last one first. The real one needs /proc/modules, which not every machine has."""
    if arguments:
        print("Usage: lsmod", file=sys.stderr)
        return 1
    print("%-19s %8s  %s" % ("Module", "Size", "Used by"))
    for name, module in reversed(modules.loaded().items()):
        users = modules.users(name)
        print("%-19s %8d  %d %s" % (name, module["size"], len(users), ",".join(users)))
    return 0

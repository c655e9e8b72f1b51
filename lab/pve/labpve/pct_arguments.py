"""Command line of pct: options in Proxmox VE's manner (`--name value`, `-name value`, `--name=value`)."""

from labpve import schema
from labpve.errors import PveError


class UsageError(Exception):
    """A command line that cannot be understood; the text for the person."""


def _is_flag(name, table):
    option = schema.find(name, table)
    return option is not None and option.type == schema.BOOLEAN


def options(arguments, table):
    """Option name -> value. A boolean may stand without a value; `--delete` may be repeated.

    table: name -> schema.Option, to know the booleans and refuse unknown names.
    """
    result, rest = {}, list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            raise UsageError("400 too many arguments")
        name, equals, value = word.lstrip("-").partition("=")
        if schema.find(name, table) is None:
            raise UsageError(f"Unknown option: {name}\n400 unable to parse option")
        if not equals:
            if _is_flag(name, table) and (not rest or schema.boolean(rest[0]) is None):
                value = "1"
            elif rest:
                value = rest.pop(0)
            else:
                raise UsageError(f"Option {name} requires an argument\n400 unable to parse option")
        result[name] = f"{result[name]},{value}" if name == "delete" and name in result else value
    return result


def vmid(text):
    """A container id; UsageError with Proxmox VE's text otherwise."""
    if not text.isdigit() or not 100 <= int(text) <= 999999999:
        problem = f"vmid: type check ('integer') failed - got '{text}'"
        if text.isdigit():
            problem = "vmid: value must have a minimum value of 100"
        raise UsageError(f"400 Parameter verification failed.\n{problem}")
    return int(text)


def error_text(error):
    """What pct prints for a refusal."""
    if not isinstance(error, PveError) or error.code != 400:
        return str(error)
    lines = [f"400 {error.message}"] + [f"{name}: {text}" for name, text in error.errors.items()]
    return "\n".join(line.rstrip("\n") for line in lines)

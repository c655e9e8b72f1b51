"""The SGLang release that this wheel stands in for: version and flag table, put into the wheel when it is built."""

import json
import re
from pathlib import Path

_DATA = json.loads((Path(__file__).parent / "_release.json").read_text(encoding="utf-8"))
VERSION = _DATA["version"]
FLAGS = _DATA["flags"]


def version_key(text):
    """A version as numbers that compare as releases do: 0.5.10.post1 after 0.5.10, before 0.5.11."""
    return tuple(int(number) for number in re.findall(r"\d+", text))


def is_between(first, last=None):
    """Whether this release is at least `first` and, where given, at most `last` (post releases of `last` included)."""
    here = version_key(VERSION)
    if here < version_key(first):
        return False
    return last is None or here[:3] <= version_key(last)[:3]

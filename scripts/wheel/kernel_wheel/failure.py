"""A build that cannot go on, told in two sentences."""

from __future__ import annotations


class Failure(Exception):
    """What went wrong, with the file it is about, and what to do."""

    def __init__(self, cause: str, way_on: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.way_on = way_on


def say(text: str) -> None:
    """One line of progress for a person."""
    print(text, flush=True)

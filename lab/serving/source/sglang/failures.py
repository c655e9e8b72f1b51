"""Errors that stand for those of libraries which are not here: their text starts with the real exception's name."""

import traceback


class ImitatedError(Exception):
    """An error whose text is the whole last line of the real traceback, such as "RuntimeError: …"."""


def describe(error):
    """The traceback of an error as the real server would print it."""
    if not isinstance(error, ImitatedError):
        return "".join(traceback.format_exception(error)).rstrip()
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"Traceback (most recent call last):\n{frames}{error}"

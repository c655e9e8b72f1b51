"""From what ninja prints to a line a person reads now and then."""

from __future__ import annotations

import re
import time
from collections.abc import Callable


def duration(seconds: float) -> str:
    """"40s", "12m", "2h05m"."""
    if seconds < 60:
        return "%ds" % seconds
    minutes = int(seconds // 60)
    return "%dm" % minutes if minutes < 60 else "%dh%02dm" % (minutes // 60, minutes % 60)


class Progress:
    """Reads ninja's `[done/total]` and says it at most once in `every` seconds, the last one always."""

    def __init__(self, say: Callable[[str], None], every: float = 15, clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._every, self._clock = say, every, clock
        self._start = clock()
        self._said = -every
        self._first: tuple[float, int] | None = None

    def line(self, text: str) -> None:
        """One line of the build's output."""
        match = re.match(r"\[(\d+)/(\d+)\]", text)
        if match is None:
            return
        done, total, now = int(match[1]), int(match[2]), self._clock()
        self._first = self._first or (now, done - 1)
        if done < total and now - self._said < self._every:
            return
        self._said = now
        self._say(f"[{done}/{total}] objects, {duration(now - self._start)}{self._left(done, total, now)}")

    def _left(self, done: int, total: int, now: float) -> str:
        assert self._first is not None
        since, before = self._first
        if done == total or now <= since:
            return ""
        return f", about {duration((total - done) * (now - since) / (done - before))} left"

"""How far a transfer is, for a person."""

import collections
import threading
import time

from .files import human

# Seconds between two lines.
EVERY = 5


class Progress:
    """Counts bytes of several threads; says every few seconds how far they are."""

    def __init__(self, what, total, done=0):
        self.what, self.total, self.done = what, total, done
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.samples = collections.deque([(time.monotonic(), done)], maxlen=7)

    def add(self, count):
        with self.lock:
            self.done += count

    def line(self):
        """How far, how fast in the last half minute, how long still."""
        now, (since, before) = time.monotonic(), self.samples[0]
        self.samples.append((now, self.done))
        rate = max(0, self.done - before) / max(now - since, 0.001)
        left = (self.total - self.done) / rate if rate else None
        share = 100 * self.done // max(self.total, 1)
        time_left = "stalled" if left is None else f"{left / 60:.0f} min left" if left > 100 else f"{left:.0f} s left"
        return f"{self.what}: {human(self.done)} of {human(self.total)} ({share} %), {human(int(rate))}/s, {time_left}"

    def report(self):
        while not self.ended.wait(EVERY):
            print(self.line(), flush=True)

    def __enter__(self):
        self.thread = threading.Thread(target=self.report, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

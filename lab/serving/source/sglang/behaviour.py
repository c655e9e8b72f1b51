"""What the lab tells the stand-in to do wrong, in a JSON file: LAB_SGLANG_BEHAVIOUR, else /etc/lab/sglang.json.

The file holds one object or a list of them. The first one whose `when` fits the server's arguments counts; without `when`
it fits always. It is read at start and again for every request, so that text and health can be switched while it runs.
Whoever writes it (`pct push`, a shell) empties it first: what is no JSON yet is read again for a while.

    {"when": {"attention_backend": "flashinfer"}, "text": "loop-word"}

| key | values | effect |
|---|---|---|
| when | {argument: value}; `version` too | only for servers with these (resolved) arguments |
| text | good, loop-sentence, loop-word, no-answer, random-words, newlines, nan, both-null, wrong | what is answered |
| start | ok, crash, hang | die after the children exist; never come further than "Init torch distributed begin." |
| crashAfterSeconds | number | the scheduler dies so long after the server is ready |
| loadSeconds | number | loading weights takes so long (real seconds, not scaled) |
| health | ok, 503 | what /health says |
| serverInfo | {key: value} | wrong values in /server_info |
"""

import json
import os
import time

DEFAULT_FILE = "/etc/lab/sglang.json"
TEXTS = ("good", "loop-sentence", "loop-word", "no-answer", "random-words", "newlines", "nan", "both-null", "wrong")
ALLOWED = {
    "when": None,
    "text": TEXTS,
    "start": ("ok", "crash", "hang"),
    "crashAfterSeconds": None,
    "loadSeconds": None,
    "health": ("ok", 503),
    "serverInfo": None,
}
# How long a file may stay half-written; on a machine with no idle core a write takes that of a process to start.
WRITING_SECONDS = 5
DEFAULTS = {"text": "good", "start": "ok", "crashAfterSeconds": None, "loadSeconds": None, "health": "ok", "serverInfo": {}}


class Behaviour:
    """The behaviour that the control file prescribes for a server with these arguments (a dictionary)."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.path = os.environ.get("LAB_SGLANG_BEHAVIOUR", DEFAULT_FILE)

    def now(self):
        """The prescribed values, defaults filled in. Raises ValueError naming file, key, value and what is allowed."""
        try:
            content = self._read()
        except FileNotFoundError:
            return DEFAULTS
        for entry in content if isinstance(content, list) else [content]:
            self._check(entry)
            if all(self.arguments.get(key) == value for key, value in entry.get("when", {}).items()):
                return DEFAULTS | {key: value for key, value in entry.items() if key != "when"}
        return DEFAULTS

    def _read(self):
        deadline = time.monotonic() + WRITING_SECONDS
        while True:
            try:
                with open(self.path, encoding="utf-8") as file:
                    return json.load(file)
            except ValueError as error:
                if time.monotonic() > deadline:
                    raise ValueError(f"{self.path}: not JSON: {error}") from error
                time.sleep(0.02)

    def _check(self, entry):
        for key, value in entry.items():
            if key not in ALLOWED:
                raise ValueError(f"{self.path}: unknown key {key!r}; allowed: {', '.join(ALLOWED)}")
            if ALLOWED[key] and value not in ALLOWED[key]:
                raise ValueError(f"{self.path}: {key} is {value!r}; allowed: {', '.join(map(str, ALLOWED[key]))}")

"""Faults that the hub is told to commit, from a JSON file that is read anew for every request.

The file holds a list of rules. Every rule names a kind and what it is for:

    [{"kind": "status", "path": "resolve/.*safetensors", "status": 429, "retryAfter": 2, "times": 3},
     {"kind": "short", "path": "/lfs/", "bytes": 1000, "times": 1},
     {"kind": "slow", "path": "/lfs/", "bytesPerSecond": 200000},
     {"kind": "corrupt", "path": "model-00001", "times": 1},
     {"kind": "changed", "repository": "lab/qwen3.6-tiny", "file": "config.json"}]

status: answer with this status (429 with Retry-After, 500 …). short: announce the whole file, close after `bytes` of it.
slow: send at this rate. corrupt: send the right number of wrong bytes under the right ETag.
changed: the same revision holds another file of that name, in listings and downloads alike.
`path` is a regular expression searched in the request's path; `times` ends a rule after so many requests (default: never).
"""

import json
import re
import threading

KEYS = {
    "status": {"path", "status", "retryAfter", "times"},
    "short": {"path", "bytes", "times"},
    "slow": {"path", "bytesPerSecond", "times"},
    "corrupt": {"path", "times"},
    "changed": {"repository", "file"},
}


class Faults:
    """The rules of one file (None: no faults). An absent file means none; a malformed one is an error for every request."""

    def __init__(self, path):
        self.path = path
        self._used = {}
        self._lock = threading.Lock()

    def rules(self):
        """The rules of the file as it is now. Raises ValueError with the file, the rule and what is allowed."""
        if not self.path:
            return []
        try:
            with open(self.path, encoding="utf-8") as file:
                rules = json.load(file)
        except FileNotFoundError:
            return []
        except ValueError as error:
            raise ValueError(f"{self.path}: not JSON: {error}") from error
        for number, rule in enumerate(rules):
            allowed = KEYS.get(rule.get("kind"))
            if allowed is None:
                raise ValueError(f"{self.path}: rule {number}: kind {rule.get('kind')!r}; allowed: {', '.join(KEYS)}")
            unknown = set(rule) - allowed - {"kind"}
            if unknown:
                raise ValueError(f"{self.path}: rule {number}: unknown {sorted(unknown)}; allowed: {sorted(allowed)}")
        return rules

    def take(self, kind, path):
        """The first rule of this kind that matches the request's path and is not used up, or None. Counts one use."""
        with self._lock:
            for rule in self.rules():
                if rule["kind"] != kind or not re.search(rule.get("path", ""), path):
                    continue
                key = json.dumps(rule, sort_keys=True)
                if self._used.get(key, 0) < rule.get("times", float("inf")):
                    self._used[key] = self._used.get(key, 0) + 1
                    return rule
        return None

    def is_changed(self, repository, path):
        """Whether this file of a repository is replaced by another under the same revision."""
        wanted = {"kind": "changed", "repository": repository, "file": path}
        return wanted in self.rules()

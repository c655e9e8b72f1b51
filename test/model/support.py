"""A hub of the lab for the tests of model_snapshot, on a port of its own, with faults and a count of what it sends."""

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "scripts/tools"), str(PROJECT / "lab/hub")]

import repository  # noqa: E402
import server  # noqa: E402
from faults import Faults  # noqa: E402
from model_snapshot import hub as hub_module  # noqa: E402
from model_snapshot.files import SnapshotError  # noqa: E402
from model_snapshot.hub import Hub  # noqa: E402
from model_snapshot.snapshot import Snapshot  # noqa: E402

TINY = "lab/qwen3.6-tiny"
SHARD = "model-00001-of-00002.safetensors"
REPOSITORIES = repository.build()
OLD, NEW = (commit_id for commit_id, _ in REPOSITORIES[TINY].commits)


class HubCase(unittest.TestCase):
    """Starts the hub; `spec()`, `fetch()` and `faulty()` for the tests."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "models" / "tiny"
        self.path.parent.mkdir()
        self.fault_file = self.folder / "faults.json"
        self.log, self.port = [], 0
        waits = hub_module.WAITS
        hub_module.WAITS = (0.01, 0.01)
        self.addCleanup(setattr, hub_module, "WAITS", waits)
        self.start()

    def start(self, **overrides):
        """Starts the hub, on the port that it had before."""
        log = self.log
        methods = {"log_message": lambda _, template, *arguments: log.append(template % arguments), **overrides}
        self.hub = server.HubServer(("127.0.0.1", self.port), REPOSITORIES, Faults(str(self.fault_file)))
        self.hub.RequestHandlerClass = type("Logged", (server.Handler,), methods)
        self.port = self.hub.server_address[1]
        threading.Thread(target=self.hub.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.hub.server_close)
        self.addCleanup(self.hub.shutdown)

    def stop(self):
        self.hub.shutdown()
        self.hub.server_close()

    def is_up(self):
        return self.hub.socket.fileno() >= 0

    def faulty(self, *rules):
        self.fault_file.write_text(json.dumps(rules))

    def spec(self, revision=NEW, repo=TINY, **more):
        endpoint = f"http://127.0.0.1:{self.port}"
        return {
            "repo": repo,
            "revision": revision,
            "path": str(self.path),
            "endpoint": endpoint,
            "files": None,
            "facts": None,
            **more,
        }

    def recorded(self, revision=NEW):
        """A specification with the list as it is recorded from the hub now."""
        spec = self.spec(revision)
        return {**spec, "files": Hub(spec, None).files()}

    def fetch(self, spec=None, token=None, by_hash=False):
        """Fetches; returns what was printed."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            Snapshot(spec or self.spec(), by_hash).fetch(token)
        return output.getvalue()

    def refused(self, spec=None, token=None):
        """Fetches what must fail; returns the error."""
        with self.assertRaises(SnapshotError) as caught:
            self.fetch(spec, token)
        return caught.exception

    def check(self, spec=None, by_hash=False):
        return Snapshot(spec or self.spec(), by_hash).check()

    def sent(self):
        """Bytes of files that the hub has sent since the last call."""
        lines = [re.match(r"sent (\d+) bytes of /(?!api)", line) for line in self.log]
        self.log.clear()
        return sum(int(line[1]) for line in lines if line)

    def settle(self):
        """Waits until connections that a client has left have noticed it."""
        known = -1
        while known != len(self.log):
            known = len(self.log)
            time.sleep(0.5)
        self.sent()

    def size(self, revision=NEW):
        return sum(file.size for file in dict(REPOSITORIES[TINY].commits)[revision].files.values())

    def assert_complete(self, revision=NEW):
        """Every file of the revision is there with its content, and nothing else."""
        commit = dict(REPOSITORIES[TINY].commits)[revision]
        for path, file in commit.files.items():
            self.assertEqual((self.path / path).read_bytes(), file.data, path)
        found = {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file()}
        self.assertEqual(found, {*commit.files, ".snapshot.json"})

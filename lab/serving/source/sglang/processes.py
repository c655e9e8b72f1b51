"""The server's processes: how the children are started, tied to their parent, watched and ended.

Main process: HTTP. Children: one scheduler a tensor-parallel rank, one detokenizer, as on the real server.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

from sglang.journal import log
from sglang.timing import scaled

_LIBC = ctypes.CDLL(None, use_errno=True)
_SET_DEATH_SIGNAL, _SET_NAME = 1, 15


def become_child(name):
    """Names this process as `ps -o comm` and `pkill` see it, and has it killed when its parent dies."""
    _LIBC.prctl(_SET_NAME, name.encode()[:15], 0, 0, 0)
    _LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != read_settings()["parent"]:
        os._exit(1)


def read_settings():
    """What the parent left for this child, in the memory file named on the command line. Can be read again after exec."""
    descriptor = int(sys.argv[1])
    size = os.fstat(descriptor).st_size
    return json.loads(os.pread(descriptor, size, 0))


def start(module, settings, descriptors):
    """Starts `python -m <module>` with settings (JSON, in memory: nothing secret shows in ps) and these open descriptors."""
    memory = os.memfd_create("settings", 0)
    os.write(memory, json.dumps(settings | {"parent": os.getpid()}).encode())
    try:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(memory)], pass_fds=[memory, *descriptors], stdin=subprocess.DEVNULL
        )
    finally:
        os.close(memory)


class Family:
    """All processes of one server, by name."""

    def __init__(self):
        self.children = {}
        self._ending = False

    def add(self, name, process):
        """Takes a child in."""
        self.children[name] = process

    def kill_all(self):
        """Kills every child and then this process, as SGLang does on any failure: nothing of the server is left."""
        self.kill_children()
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_children(self):
        """Kills and reaps every child."""
        self._ending = True
        for process in self.children.values():
            if process.poll() is None:
                process.kill()
        for process in self.children.values():
            process.wait()

    def handle_failing_child(self):
        """From now on SIGQUIT, by which a child reports that it failed, ends the whole server with SIGKILL."""
        signal.signal(signal.SIGQUIT, lambda *_: self._child_failed())

    def _child_failed(self):
        log("Received sigquit from a child process. It usually means the child failed.")
        self.kill_all()

    def watch(self):
        """Watches in the background for children that die without a report."""
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while not self._ending:
            for name, process in self.children.items():
                code = process.poll()
                # One that ended well only followed another that is gone: that one is the news.
                if code not in (None, 0) and not self._ending:
                    log(
                        f"Subprocess {name} (pid={process.pid}) crashed with exit code {code}. Triggering SIGQUIT for cleanup..."
                    )
                    self.kill_all()
            time.sleep(max(scaled(1), 0.02))

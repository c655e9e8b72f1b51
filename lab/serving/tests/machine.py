"""A pretended machine for the tests: device nodes, nvidia-smi, a model directory, and servers started on it.

The tests run with the interpreter that lab/serving/test-python prints.
"""

import atexit
import contextlib
import functools
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVING = Path(__file__).resolve().parent.parent
REPOSITORY = SERVING.parent.parent
sys.path[:0] = [str(SERVING)]
import wheel  # noqa: E402

CARDS = (
    ("GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1", "00000000:41:00.0"),
    ("GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2", "00000000:61:00.0"),
)
SPECULATION = [
    "--speculative-algorithm=NEXTN",
    "--speculative-num-steps=3",
    "--speculative-eagle-topk=1",
    "--speculative-num-draft-tokens=4",
]
HYBRID = ["--mamba-scheduler-strategy=extra_buffer"]
FAST = 0.006
INSTANT = 0.0001


@functools.cache
def snapshot():
    """A folder with the hub's small model, written once a test run."""
    folder = tempfile.mkdtemp(prefix="lab-snapshot-")
    atexit.register(shutil.rmtree, folder)
    hub = REPOSITORY / "lab" / "hub" / "serve"
    subprocess.run([hub, "--write", "lab/qwen3.6-tiny", folder], check=True, capture_output=True)
    return folder


@functools.cache
def unpacked(version):
    """A folder with the modules of this release's wheel, written once a test run."""
    folder = Path(tempfile.mkdtemp(prefix=f"lab-sglang-{version}-"))
    atexit.register(shutil.rmtree, folder)
    for path, data in wheel.contents(version).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return folder


def free_port():
    """A port that nothing holds at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def is_alive(pid):
    """Whether a process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Machine:
    """One pretended machine. `capability` and memory (MiB) hold for both of its cards."""

    def __init__(self, capability="8.6", total=49140, free=49000, cards=2):
        self.folder = Path(tempfile.mkdtemp(prefix="lab-serving-"))
        self.model, self.home, self.behaviour_file = self.folder / "model", self.folder / "home", self.folder / "sglang.json"
        for name in ("dev", "bin", "home", "driver"):
            (self.folder / name).mkdir()
        for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{n}" for n in range(cards))):
            (self.folder / "dev" / name).touch()
        self.set_cards(capability, total, free, cards)
        command = self.folder / "bin" / "nvidia-smi"
        command.write_text(f"#!/bin/sh\nexec cat {self.folder}/cards.csv\n", encoding="utf-8")
        command.chmod(0o755)
        shutil.copytree(snapshot(), self.model)
        self.servers = []
        atexit.register(self.end_servers)

    def set_cards(self, capability="8.6", total=49140, free=49000, cards=2):
        """What nvidia-smi lists from now on."""
        lines = [
            f"{n}, {uuid}, {pci}, {total}, {free}, {capability}, NVIDIA RTX A6000\n"
            for n, (uuid, pci) in enumerate(CARDS[:cards])
        ]
        (self.folder / "cards.csv").write_text("".join(lines), encoding="utf-8")

    def behave(self, value):
        """Writes the control file."""
        self.behaviour_file.write_text(json.dumps(value), encoding="utf-8")

    def warm_caches(self, version="0.5.11"):
        """As if this release had run here before."""
        for folder, kind in ((".triton/cache", "graphs"), (".cache/flashinfer", "sampling")):
            path = self.home / folder / f"lab-{version}-{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def environment(self, version, scale):
        """The environment of a server here."""
        return os.environ | {
            "PYTHONPATH": str(unpacked(version)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LAB_SGLANG_DEV": str(self.folder / "dev"),
            "LAB_SGLANG_DRIVER": str(self.folder / "driver"),
            "LAB_SGLANG_BEHAVIOUR": str(self.behaviour_file),
            "LAB_SGLANG_TIME_SCALE": str(scale),
        }

    def start(self, *arguments, version="0.5.11", scale=FAST, port=None, environment=None, wrapper=()):
        """Starts a server, through another command where `wrapper` names one, and returns it at once."""
        server = Server(self, [str(a) for a in arguments], version, scale, port or free_port(), environment or {}, wrapper)
        self.servers.append(server)
        return server

    def run(self, *arguments, version="0.5.11", environment=None):
        """Runs a server that is to fail at start; returns (exit status, output)."""
        server = self.start(*arguments, version=version, scale=INSTANT, environment=environment)
        status = server.wait()
        return status, server.output()

    def end_servers(self):
        """Ends every server that still runs."""
        while self.servers:
            self.servers.pop().end()

    def close(self):
        """Ends every server and removes the machine."""
        self.end_servers()
        shutil.rmtree(self.folder)


class GroupLeader(subprocess.Popen):
    """A process whose end is looked at and not taken before `reap`: as long as that its id, which is also that of its group,
    cannot become another process's, so that whatever is left of the group can be killed by it."""

    def poll(self):
        """Its exit status as subprocess gives it, or None."""
        if self.returncode is not None:
            return self.returncode
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def wait(self, timeout=None):
        """Waits for its end and returns the exit status; raises subprocess.TimeoutExpired after so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.005)
        return self.poll()

    def reap(self):
        """Waits for its end and gives its id back."""
        super().wait()


class Server:
    """One running server."""

    def __init__(self, machine, arguments, version, scale, port, environment, wrapper):
        self.port, self.log = port, machine.folder / f"log-{len(machine.servers)}"
        standard = ["--model-path", str(machine.model), "--served-model-name", "tiny", "--reasoning-parser", "qwen3"]
        command = [*wrapper, sys.executable, "-m", "sglang.launch_server", *standard, "--port", str(port), *arguments]
        with self.log.open("wb") as log:
            self.process = GroupLeader(
                command,
                env=machine.environment(version, scale) | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=machine.folder,
                start_new_session=True,
            )

    def output(self):
        """Everything it printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def children(self):
        """{name: process id} of its children, by the names that ps shows."""
        found = {}
        listed = subprocess.run(
            ["ps", "--ppid", str(self.process.pid), "-o", "pid=,comm="], capture_output=True, text=True
        ).stdout
        for line in listed.splitlines():
            pid, name = line.split(None, 1)
            found[name] = int(pid)
        return found

    def wait(self, seconds=30):
        """Its exit status, as subprocess gives it: -9 for SIGKILL."""
        return self.process.wait(seconds)

    def wait_for(self, text, seconds=20):
        """Waits for a line of its output."""
        deadline = time.monotonic() + seconds
        while text not in self.output():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"{text!r} did not come; status {self.process.poll()}; output:\n{self.output()[-3000:]}")
            time.sleep(0.02)

    def wait_until_healthy(self):
        """Waits until /health answers 200."""
        deadline = time.monotonic() + 20
        while True:
            try:
                if self.request("GET", "/health")[0] == 200:
                    return self
            except OSError:
                pass
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"not healthy; status {self.process.poll()}; output:\n{self.output()[-3000:]}")
            time.sleep(0.02)

    def request(self, method, path, body=None, headers=None, timeout=20):
        """(status, text) of one request; a dictionary is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        data = json.dumps(body) if isinstance(body, dict) else body
        try:
            connection.request(method, path, data, {"Content-Type": "application/json"} | (headers or {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        """The JSON of a GET."""
        return json.loads(self.request("GET", path)[1])

    def chat(self, question, **more):
        """The JSON answer to a chat request at temperature 0."""
        body = {"model": "tiny", "messages": [{"role": "user", "content": question}], "temperature": 0} | more
        return json.loads(self.request("POST", "/v1/chat/completions", body)[1])

    def say(self, question, **more):
        """Only the content of a chat answer, without thinking."""
        return self.chat(question, chat_template_kwargs={"enable_thinking": False}, **more)["choices"][0]["message"]["content"]

    def end(self):
        """Kills whatever is left of the server: it has a process group of its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.reap()

"""What the tests of the probe share: the package on the path, fixtures, stand-in system tools, a stand-in server."""

import contextlib
import io
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE_ROOT = HERE.parents[1] / "scripts" / "probe"
sys.path.insert(0, str(PACKAGE_ROOT))

PRIME = "```python\ndef is_prime(n):\n    if n < 2:\n        return False\n    return all(n % d for d in range(2, int(n ** 0.5) + 1))\n```"
LOOP = "The user is asking for the result of 2+2. " * 40


def fixture(name):
    """A JSON file of the fixtures folder."""
    return json.loads((HERE / "fixtures" / name).read_text(encoding="utf-8"))


def good_answer(body):
    """(content, reasoning_content, finish_reason) of a model that knows the built-in questions."""
    prompt = body["messages"][0]["content"]
    thinking = body.get("chat_template_kwargs", {}).get("enable_thinking", True)
    content = "391"
    if "2+2" in prompt:
        content = "4"
    elif "is_prime" in prompt:
        content = PRIME
    elif "Repeat this sentence" in prompt:
        content = prompt.split(": ", 1)[1]
    return content, "A short thought about it.\n" if thinking else None, "stop"


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FakeService:
    """An SGLang stand-in on a loopback port. `answer` makes a chat answer; `health` and `info` may be changed at any time."""

    def __init__(self, answer=good_answer):
        self.answer = answer
        self.health = [200]  # statuses in turn; the last one stays
        self.info = {
            "version": "0.5.11",
            "attention_backend": "triton",
            "speculative_algorithm": "EAGLE",
            "speculative_num_steps": 3,
            "kv_cache_dtype": "auto",
            "tp_size": 2,
            "reasoning_parser": "qwen3",
            "max_total_num_tokens": 100_000,
            "context_length": 32768,
            "api_key": "sk-very-secret",
            "quantization": None,
        }
        self.model_info = {"model_type": "qwen3_5"}
        self.workers = {}  # {url: is healthy}, for one that plays a router
        self.requests = []
        self.looks = []  # paths that were asked for by GET
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def _handler(self):
        service = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_arguments):
                pass

            def reply(self, status, value=None):
                body = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                service.looks.append(self.path)
                if self.path == "/health":
                    status = service.health.pop(0) if len(service.health) > 1 else service.health[0]
                    self.reply(status)
                elif self.path == "/server_info":
                    self.reply(200, service.info)
                elif self.path == "/workers":
                    workers = [{"url": url, "is_healthy": healthy} for url, healthy in service.workers.items()]
                    self.reply(200, {"workers": workers, "total": len(workers)})
                elif self.path == "/model_info":
                    self.reply(200, service.model_info)
                else:
                    self.reply(404, {"detail": "Not Found"})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append({"body": body, "authorization": self.headers.get("Authorization")})
                answer = service.answer(body)
                if answer is None:  # the server dies in the middle of an answer
                    self.connection.close()
                    return
                content, reasoning, finish = answer
                message = {"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": None}
                choice = {"index": 0, "message": message, "finish_reason": finish}
                self.reply(200, {"choices": [choice], "usage": {"completion_tokens": 20}})

        return Handler


class ProbeTestCase(unittest.TestCase):
    """A test with stand-ins of systemctl, journalctl and nvidia-smi on the PATH and a folder for what they say."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        previous = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(previous)))
        os.environ["PATH"] = f"{HERE / 'stubs'}:{os.environ['PATH']}"
        os.environ["STUB_FOLDER"] = str(self.folder)
        self.set_unit()
        self.set_journal()

    def set_unit(self, **changes):
        """What `systemctl show` says about the unit; a property changed to None is left out."""
        properties = {
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "Result": "success",
            "NRestarts": "0",
            "MainPID": str(os.getpid()),
            "InvocationID": "aaaa",
            "ExecMainStatus": "0",
            "ExecMainCode": "0",
            "ActiveEnterTimestampMonotonic": str(int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)),
            **changes,
        }
        text = "".join(f"{key}={value}\n" for key, value in properties.items() if value is not None)
        temporary = self.folder / "unit.new"
        temporary.write_text(text)
        temporary.rename(self.folder / "unit")

    def beside(self, action):
        """Does something while a verb runs."""
        thread = threading.Thread(target=action)
        thread.start()
        self.addCleanup(thread.join)

    def until(self, condition, what):
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"never happened: {what}")
            time.sleep(0.01)

    def until_shown(self, text):
        """Waits until `systemctl show` has told a caller this."""
        shown = self.folder / "shown"
        self.until(lambda: shown.exists() and text in shown.read_text(), f"a caller is told {text}")

    def set_journal(self, *lines):
        """The log lines of the unit's run so far."""
        (self.folder / "journal").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def service(self, answer=good_answer):
        """A started stand-in server that is stopped with the test."""
        service = FakeService(answer)
        self.addCleanup(service.close)
        return service

    def spec(self, service, **changes):
        """Path of a specification for the stand-in server."""
        spec = {
            "service": "qwen",
            "unit": "sglang-qwen.service",
            "url": f"http://127.0.0.1:{service.port if hasattr(service, 'port') else service}",
            "servedModelName": "qwen",
            "version": "0.5.11",
            "deadlineSeconds": 5,
            "stateFile": str(self.folder / "state" / "qwen.json"),
            "expectedServerInfo": {"attention_backend": "triton", "speculative_algorithm": "NEXTN", "tp_size": 2},
            **changes,
        }
        path = self.folder / "spec.json"
        path.write_text(json.dumps({key: value for key, value in spec.items() if value is not None}))
        return str(path)

    def run_verb(self, *arguments):
        """(exit code, lines of standard output, text of standard error) of one verb."""
        from sglang_probe.__main__ import main

        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(list(arguments))
            except SystemExit as stop:
                code = stop.code
        return code, out.getvalue().splitlines(), err.getvalue()

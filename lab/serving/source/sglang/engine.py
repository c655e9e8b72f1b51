"""The server's side of the children: starts them, sends them requests, and hands their tokens to whoever waits."""

import json
import os
import queue
import threading
import uuid

from sglang import processes
from sglang.journal import log
from sglang.release import VERSION
from sglang.timing import pause, scaled

HEALTH_TIMEOUT_SECONDS = 20
HEALTH_SECONDS = 1
SECRET_ARGUMENTS = ("api_key", "admin_api_key", "ssl_keyfile_password")


class Engine:
    """Schedulers and detokenizer of one server. `plan` holds the sizes of the pools once it is ready."""

    def __init__(self, arguments, card):
        self.family = processes.Family()
        self.plan = None
        self._arguments, self._card = arguments, card
        self._waiting, self._states = {}, {}
        self._lock = threading.Lock()
        self._requests = None
        # Requests that SGLang never forgets: after one refused with 400, or one with n > 1, SIGTERM waits for ever.
        self.leaked = 0

    def start(self):
        """Starts the children and waits until every rank has loaded. A child that fails ends this process with SIGKILL."""
        self.family.handle_failing_child()
        own = self._arguments["tp_size"] // self._arguments["nnodes"]
        first = self._arguments["node_rank"] * own
        tokens_in, tokens_out = os.pipe()
        texts_in, texts_out = os.pipe()
        if first == 0:
            self.family.add("detokenizer", self._child("sglang.detokenizer", {"tokens": tokens_in, "texts": texts_out}))
        controls, ends = [], [tokens_in, tokens_out, texts_out]
        for rank in range(first, first + own):
            requests_in, requests_out = os.pipe()
            control_in, control_out = os.pipe()
            settings = {"rank": rank, "card": rank - first, "requests": requests_in, "control": control_out, "tokens": tokens_out}
            self.family.add(f"scheduler_{rank}", self._child("sglang.scheduler", settings))
            controls.append(control_in)
            ends += [requests_in, control_out]
            if rank == first:
                self._requests = requests_out
        for descriptor in ends:
            os.close(descriptor)
        self.family.watch()
        control = os.fdopen(controls[0], "rb")
        self.plan = json.loads(control.readline() or b'{"ready": null}')["ready"]
        if self.plan is None:
            # The scheduler is gone; its report, or the watcher, ends this process.
            threading.Event().wait()
        threading.Thread(target=self._read, args=(control, self._take_state), daemon=True).start()
        threading.Thread(target=self._read, args=(os.fdopen(texts_in, "rb"), self._take_event), daemon=True).start()

    def _child(self, module, settings):
        public = {key: value for key, value in self._arguments.items() if key not in SECRET_ARGUMENTS}
        descriptors = [value for key, value in settings.items() if key not in ("rank", "card")]
        common = {"arguments": public, "version": VERSION, "capability": self._card.capability}
        return processes.start(module, settings | common, descriptors)

    def _read(self, channel, take):
        for line in channel:
            take(json.loads(line))

    def _take_state(self, message):
        with self._lock:
            waiter = self._states.pop(message.get("state"), None)
        if waiter:
            waiter.set()

    def _take_event(self, message):
        with self._lock:
            waiter = self._waiting.get(message["id"])
        if waiter:
            waiter.put(message)

    def send(self, message):
        """Sends one message to the first rank's scheduler."""
        with self._lock:
            os.write(self._requests, json.dumps(message).encode() + b"\n")

    @property
    def unfinished(self):
        """How many requests SGLang counts as unfinished."""
        return len(self._waiting) + self.leaked

    def generate(self, request, timeout=None):
        """Runs a request and yields its events, {"piece"} … and one {"finish", "tokens"} at the end.

        `timeout` in seconds bounds the wait for each event (queue.Empty); None waits as long as it takes."""
        identifier = uuid.uuid4().hex
        waiter = queue.SimpleQueue()
        with self._lock:
            self._waiting[identifier] = waiter
        finished = False
        try:
            self.send({"do": "generate", "id": identifier, **request})
            while not finished:
                event = waiter.get(timeout=timeout)
                finished = "finish" in event
                yield event
        finally:
            with self._lock:
                del self._waiting[identifier]
            if not finished:
                self.send({"do": "abort", "id": identifier})

    def is_generating(self):
        """Whether one token comes out within the health check's time: false for a frozen scheduler."""
        probe = {"prefix": "0", "seed": 0, "ignore_eos": False, "budget": 1, "sampled": False}
        try:
            # A second at least: on a machine with no idle core the processes themselves take that long.
            for _ in self.generate(probe, timeout=max(scaled(HEALTH_TIMEOUT_SECONDS), 1)):
                pause(HEALTH_SECONDS)
                return True
        except queue.Empty:
            log("Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.")
        return False

    def wait_for_state(self):
        """Asks the scheduler for its state and waits for the answer: as long as it is busy or frozen."""
        identifier, waiter = uuid.uuid4().hex, threading.Event()
        with self._lock:
            self._states[identifier] = waiter
        self.send({"do": "state", "id": identifier})
        waiter.wait()

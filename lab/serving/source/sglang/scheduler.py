"""The scheduler process of one rank: holds the card, loads, then generates tokens for the requests of the server.

It starts twice in the same process: first to load, then, once the sizes of its pools are known, again by exec with
LAB_GPU_MIB in its environment. That is how the lab's nvidia-smi learns how much memory this process has.
"""

import json
import os
import select
import signal
import socket
import sys
import time

from sglang import caches, checkpoint, checks, devices, group, loading, memory, voice
from sglang.behaviour import Behaviour
from sglang.failures import ImitatedError, describe
from sglang.generation import Generation
from sglang.journal import log, plain, set_rank
from sglang.processes import become_child, read_settings
from sglang.timing import pause

TOKEN_SECONDS = 0.003
# How often a running server looks for an order to crash.
CONTROL_FILE_SECONDS = 0.2
# The kernels of the sampler are compiled at the first request that samples: so long on the real card, everything stands still.
SAMPLING_COMPILE_SECONDS = 121


def connect_ranks(arguments, rank):
    """Ranks find each other; returns the connections to other nodes' ranks, none on a single node."""
    begun = time.monotonic()
    log("Init torch distributed begin.")
    links = group.meet(arguments, rank) if arguments["nnodes"] > 1 else []
    if not links:
        try_loopback()
    pause(0.3)
    log(f"Init torch distributed ends. elapsed={time.monotonic() - begun:.2f} s, mem usage=0.09 GB")
    return links


def try_loopback():
    """On one node ranks use the loopback interface; where it is down this waits for minutes, as NCCL's does."""
    while True:
        try:
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname(), timeout=5).close()
            break
        except OSError as error:
            plain(f"[W socket.cpp:767] [c10d] The client socket has failed to connect: {error.strerror}, retrying")
            time.sleep(5)


def own_card(index):
    """The card of a rank, by its place among the ranks of this node. Raises with CUDA's text where tensor parallelism asks for more cards than there are."""
    cards = devices.visible()
    if index >= len(cards):
        raise ImitatedError("torch.AcceleratorError: CUDA error: invalid device ordinal")
    return cards[index]


def load(settings, behaviour):
    """Loads the rank's share; returns its memory plan and its connections to other nodes. Raises as SGLang does, with the
    same texts."""
    arguments, model = settings["arguments"], checkpoint.read(settings["arguments"]["model_path"])
    # The card as it is before this process opens it: what others hold is what the pools will lack.
    card = own_card(settings["card"])
    devices.hold(card)
    if behaviour["start"] == "hang":
        log("Init torch distributed begin.")
        signal.pause()
    links = connect_ranks(arguments, settings["rank"])
    checks.check_parallelism(arguments, model)
    checks.check_backends_while_loading(arguments, model, card.capability)
    weights = loading.load_weights(model, card, behaviour["loadSeconds"])
    group.wait_for_all(links, settings["rank"])
    plan = memory.plan(arguments, model, card, weights)
    if behaviour["start"] == "crash":
        raise ImitatedError("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    loading.report_pools(arguments, model, card, plan)
    return plan, links


class Loop:
    """The scheduler's event loop: one step makes one token for every running request."""

    def __init__(self, settings, links):
        self.links = links
        self.arguments, self.plan, self.card_left = settings["arguments"], settings["plan"], settings["plan"]["left"]
        self.model = checkpoint.read(self.arguments["model_path"])
        self.behaviour = Behaviour(self.arguments | {"version": settings["version"]})
        self.healthy_kind = voice.sickness(self.arguments, self.model, tuple(settings["capability"]))
        self.requests = os.fdopen(settings["requests"], "rb", buffering=0)
        self.tokens = os.fdopen(settings["tokens"], "wb", buffering=0)
        self.control = os.fdopen(settings["control"], "wb", buffering=0)
        self.running, self.pending = {}, b""

    def send(self, channel, message):
        """One message, one line."""
        channel.write(json.dumps(message).encode() + b"\n")

    def run(self):
        """Runs until the server goes away. `crashAfterSeconds` of the control file ends it earlier."""
        begun = looked = time.monotonic()
        self.send(self.control, {"ready": self.plan})
        limit = None
        while True:
            if time.monotonic() - looked > CONTROL_FILE_SECONDS:
                looked, limit = time.monotonic(), self.behaviour.now()["crashAfterSeconds"]
            if limit is not None and time.monotonic() - begun > limit:
                raise ImitatedError("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
            ready = select.select([self.requests, *self.links], [], [], TOKEN_SECONDS if self.running else 0.2)[0]
            if self.requests in ready and not self.read():
                return
            for link in self.links:
                if link in ready:
                    raise group.lost(link)
            for generation in list(self.running.values()):
                event = generation.step()
                self.send(self.tokens, event)
                if "finish" in event:
                    del self.running[generation.id]

    def read(self):
        """Takes in what the server sent; False once it is gone."""
        data = self.requests.read(65536)
        if not data:
            return False
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.handle(json.loads(line))
        return True

    def handle(self, message):
        """One message of the server: a new request, the end of one, or a question about the state."""
        if message["do"] == "abort":
            self.running.pop(message["id"], None)
        elif message["do"] == "state":
            self.send(self.control, {"state": message["id"]})
        elif message["do"] == "compile":
            pause(message["seconds"])
        else:
            if self.card_left < memory.ACTIVATIONS:
                raise memory.OutOfMemoryError(memory.ACTIVATIONS, own_card(0), self.card_left)
            if message["sampled"] and not caches.is_warm("sampling"):
                pause(SAMPLING_COMPILE_SECONDS)
                caches.remember("sampling")
            told = self.behaviour.now()["text"]
            self.running[message["id"]] = Generation(message, told if told != "good" else self.healthy_kind)


def main():
    """Loads, starts itself again with its memory in the environment, and serves. Any error ends the whole server."""
    settings = read_settings()
    arguments = settings["arguments"]
    become_child("sglang::scheduler")
    set_rank(settings["rank"], arguments["tp_size"])
    try:
        if "LAB_GPU_MIB" not in os.environ:
            behaviour = Behaviour(arguments | {"version": settings["version"]}).now()
            plan, links = load(settings, behaviour)
            loaded = settings | {"plan": plan.as_json(), "links": [link.fileno() for link in links]}
            os.pwrite(int(sys.argv[1]), json.dumps(loaded).encode(), 0)
            os.environ["LAB_GPU_MIB"] = str(plan.used)
            os.execv(sys.executable, [sys.executable, "-m", "sglang.scheduler", sys.argv[1]])
        loading.capture_graphs(arguments)
        links = [socket.socket(fileno=descriptor) for descriptor in settings["links"]]
        if settings["rank"] == 0:
            Loop(settings, links).run()
        else:
            os.write(settings["control"], json.dumps({"ready": settings["plan"]}).encode() + b"\n")
            group.wait_for_end(settings["requests"], links)
    except Exception as error:
        log(f"Scheduler hit an exception: {describe(error)}\n")
        os.kill(os.getppid(), signal.SIGQUIT)
        sys.exit(1)


if __name__ == "__main__":
    main()

"""`python -m sglang.launch_server`: from the command line to an answering server, and to its end.

Exit codes are the real server's: 2 for the argument parser, 1 for checks before loading, 3 when the port is taken after a
full load, -9 (by its own hand) for anything after child processes exist, and for SIGTERM; 0 for SIGINT.
"""

import os
import signal
import socket
import sys
import threading

from sglang import arguments as resolution
from sglang import checkpoint, checks, devices, flags, follower
from sglang.engine import Engine
from sglang.failures import ImitatedError, describe
from sglang.journal import log, plain
from sglang.release import VERSION
from sglang.server import ApiServer
from sglang.timing import pause
from sglang.warm_up import warm_up

IMPORT_SECONDS = 10.7
CHECK_SECONDS = 2
CHILDREN_SECONDS = 12


def prepare(command_line):
    """(resolved arguments, model, cards) of a command line. Raises what the release raises for what it refuses."""
    arguments = vars(flags.parse(command_line))
    cards = devices.visible()
    if not cards:
        raise RuntimeError("No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) is available.")
    model = checkpoint.read(arguments["model_path"])
    checks.check_before_loading(arguments, model, cards)
    resolution.resolve(arguments, model, cards)
    return arguments, model, cards


class Shutdown:
    """How the server ends on SIGTERM and SIGINT once it listens. Before that, signals act at once."""

    def __init__(self, server, engine):
        self.server, self.engine = server, engine
        # As asyncio waits: signal.pause() would sleep over a signal that comes just before it.
        self._woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, lambda *_: self._start(self._drain))
        signal.signal(signal.SIGINT, lambda *_: self._start(self._leave))

    def wait(self):
        """Serves signals for ever."""
        while True:
            self._woken.recv(64)

    def _start(self, way):
        self.server.is_stopping = True
        threading.Thread(target=way, daemon=True).start()

    def _drain(self):
        # SGLang waits for every request it remembers, the leaked ones too: then this never ends.
        pause(3.5)
        if os.environ.get("SGL_FORCE_SHUTDOWN", "").lower() in ("1", "true"):
            log("Signal SIGTERM received while force shutdown flag set. Force exiting...")
            self.engine.family.kill_all()
        while self.engine.unfinished:
            log(f"Gracefully exiting... Remaining number of requests {self.engine.unfinished}.")
            pause(5)
        log("Gracefully exiting... Remaining number of requests 0.")
        self.engine.family.kill_all()

    def _leave(self):
        log("INFO:     Shutting down")
        pause(3)
        log("INFO:     Finished server process")
        self.engine.family.kill_children()
        os._exit(0)


def fail(error):
    """Prints an error as the real server would and ends with 1."""
    plain(describe(error))
    sys.exit(1)


def serve(arguments, model, cards):
    """Starts the children, opens the port, warms up, and serves until a signal. Ends with 3 where the port is taken."""
    engine = Engine(arguments, cards[0])
    pause(CHILDREN_SECONDS)
    engine.start()
    plan = engine.plan
    log(
        f"max_total_num_tokens={plan['tokens']}, chunked_prefill_size={arguments['chunked_prefill_size']}, "
        f"max_running_requests={arguments['max_running_requests']}, "
        f"context_len={arguments['context_length'] or model.context_length}, available_gpu_mem={plan['left'] / 1024:.2f} GB"
    )
    address = (arguments["host"], arguments["port"])
    try:
        server = ApiServer(address, arguments, model, engine)
    except OSError as error:
        # The warm-up talks to whoever answers on the port, and takes the answer for its own.
        warm_up(arguments, None)
        log(f"ERROR:    [Errno {error.errno}] error while attempting to bind on address {address!r}: address already in use")
        engine.family.kill_children()
        os._exit(3)
    shutdown = Shutdown(server, engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log("INFO:     Application startup complete.")
    log(f"INFO:     Uvicorn running on http://{address[0]}:{address[1]} (Press CTRL+C to quit)")
    if arguments["skip_server_warmup"]:
        server.is_ready = True
    else:
        threading.Thread(target=warm_up, args=(arguments, server), daemon=True).start()
    shutdown.wait()


def main():
    """Runs the server. Never returns while it serves."""
    pause(IMPORT_SECONDS)
    if os.path.basename(sys.argv[0]) == "launch_server.py":
        plain(
            f"{__file__}: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended "
            "entrypoint.\n  Example: sglang serve --model-path <model> [options]"
        )
    try:
        arguments, model, cards = prepare(sys.argv[1:])
    except (ValueError, AssertionError, RuntimeError, NotImplementedError, ImitatedError) as error:
        fail(error)
    shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    log(f"server_args=ServerArgs({shown})")
    pause(CHECK_SECONDS)
    log(f"Using default HuggingFace chat template with detected content format: openai (sglang {VERSION}, stand-in)")
    if arguments["node_rank"] > 0:
        pause(CHILDREN_SECONDS)
        follower.serve(arguments, cards[0])
    serve(arguments, model, cards)


if __name__ == "__main__":
    main()

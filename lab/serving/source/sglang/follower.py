"""A node above rank 0: its schedulers lend their cards to rank 0; its HTTP server answers /health alone, once all have loaded."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sglang.engine import Engine
from sglang.journal import log

PATHS = ("/ping", "/health", "/health_generate")


class Handler(BaseHTTPRequestHandler):
    """200 for whoever asks whether it is there."""

    def do_GET(self):
        """200 without a body, or 404."""
        status, body = (200, b"") if self.path in PATHS else (404, b'{"detail":"Not Found"}')
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_request(self, code="-", size="-"):
        """Nothing: the dummy server logs warnings only."""


def serve(arguments, card):
    """Serves until a signal or until a scheduler ends, which ends this process with SIGKILL."""
    engine = Engine(arguments, card)
    engine.start()
    host, port = arguments["host"], arguments["port"]
    log(f"Starting dummy health check server at {host}:{port}")
    try:
        ThreadingHTTPServer((host, port), Handler).serve_forever()
    except KeyboardInterrupt:
        engine.family.kill_children()
        os._exit(0)

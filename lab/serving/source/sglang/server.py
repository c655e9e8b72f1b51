"""The HTTP server: routes, authentication and error shapes."""

import json
import select
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import orjson

from sglang import chat, information
from sglang.behaviour import Behaviour
from sglang.completions import CompletionRequest, NativeRequest
from sglang.journal import log
from sglang.metrics import CountedRequest, Metrics
from sglang.release import VERSION, is_between
from sglang.sampling import BadRequestError

EVENTS_BETWEEN_LOOKS = 32
ALIASES = {"/get_server_info": "/server_info", "/get_model_info": "/model_info"}
OPEN_TO_ALL = ("/health", "/health_generate", "/metrics", "/ready")
JSON_TYPE = "application/json"


class ApiServer(ThreadingHTTPServer):
    """The server of one engine. `is_ready`: the warm-up is done; `is_stopping`: a signal came."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, arguments, model, engine):
        super().__init__(address, Handler)
        self.arguments, self.model, self.engine = arguments, model, engine
        self.behaviour = Behaviour(arguments | {"version": VERSION})
        self.metrics = Metrics(arguments, model, engine.plan)
        self.is_ready = self.is_stopping = False

    def handle_error(self, request, client_address):
        """A client that went away is no error of the server."""
        if isinstance(sys.exc_info()[1], ConnectionError):
            self.metrics.count_abort()
        else:
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "uvicorn", ""

    def do_GET(self):
        """Answers GET."""
        self.route("GET")

    def do_POST(self):
        """Answers POST."""
        self.route("POST")

    def routes(self):
        """Path to (method, action)."""
        table = {
            "/health": ("GET", self.health),
            "/health_generate": ("GET", self.health),
            "/model_info": ("GET", self.model_info),
            "/server_info": ("GET", self.server_info),
            "/v1/models": ("GET", self.models),
            "/v1/chat/completions": ("POST", self.chat),
            "/v1/completions": ("POST", self.completions),
            "/generate": ("POST", self.generate),
        }
        if self.server.arguments["enable_metrics"]:
            table["/metrics"] = ("GET", self.send_metrics)
        if is_between("0.5.20"):
            table["/ready"] = ("GET", self.ready)
        return table

    def route(self, method):
        """Finds the action for a path, after the API key was checked."""
        length = int(self.headers.get("Content-Length") or 0)
        self.raw = self.rfile.read(length)
        path = urlsplit(self.path).path
        if path in ALIASES:
            log(
                f"Endpoint '{path}' is deprecated and will be removed in a future version. Please use '{ALIASES[path]}' instead."
            )
        found = self.routes().get(ALIASES.get(path, path))
        if not self.is_authorized(path):
            self.send_json(401, {"error": "Unauthorized"})
        elif path.startswith("/v1/models/") and method == "GET":
            self.one_model(path.removeprefix("/v1/models/"))
        elif found is None:
            self.send_json(404, {"detail": "Not Found"})
        elif found[0] != method:
            self.send_json(405, {"detail": "Method Not Allowed"})
        else:
            found[1]()

    def is_authorized(self, path):
        """Whether the request carries the API key, where there is one; health and metrics need none."""
        key = self.server.arguments["api_key"]
        return key is None or path in OPEN_TO_ALL or self.headers.get("Authorization") == f"Bearer {key}"

    def health(self):
        """200 when a token can be generated; 503 with an empty body while starting, stopping, frozen, or when told to."""
        running = self.server.is_ready and not self.server.is_stopping
        told = self.server.behaviour.now()["health"]
        healthy = running and told == "ok" and self.server.engine.is_generating()
        self.send_bytes(200 if healthy else 503, b"", None)

    def ready(self):
        """As /health, but generates nothing."""
        self.send_bytes(200 if self.server.is_ready and not self.server.is_stopping else 503, b"", None)

    def model_info(self):
        """What model this is."""
        self.send_json(200, information.model_info(self.server.arguments, self.server.model))

    def server_info(self):
        """Resolved arguments and pools; waits while the scheduler is busy."""
        self.server.engine.wait_for_state()
        changes = self.server.behaviour.now()["serverInfo"]
        self.send_json(200, information.server_info(self.server.arguments, self.server.model, self.server.engine.plan, changes))

    def models(self):
        """The list with one model."""
        card = information.model_card(self.server.arguments, self.server.model)
        self.send_json(200, {"object": "list", "data": [card]})

    def one_model(self, name):
        """The served model, or 404."""
        card = information.model_card(self.server.arguments, self.server.model)
        if name == card["id"]:
            self.send_json(200, card)
            return
        message = f"The model '{name}' does not exist"
        error = {"message": message, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}
        self.send_json(404, {"error": error})

    def send_metrics(self):
        """Prometheus text."""
        self.send_bytes(200, self.server.metrics.text(), "text/plain; version=0.0.4; charset=utf-8")

    def read_body(self, required):
        """The JSON body. Raises BadRequestError in the words of the real server's validation."""
        if self.headers.get_content_type() != JSON_TYPE:
            reason = "Unsupported Media Type: Only 'application/json' is allowed"
            detail = {"loc": ["header", "content-type"], "msg": reason, "type": "value_error"}
            raise BadRequestError(f"1 validation error:\n  {detail}")
        try:
            body = json.loads(self.raw or b"null")
        except ValueError as error:
            detail = {
                "type": "json_invalid",
                "loc": ("body", getattr(error, "pos", 0)),
                "msg": "JSON decode error",
                "input": {},
                "ctx": {"error": str(error).split(":")[0]},
            }
            raise BadRequestError(f"1 validation error:\n  {detail}") from error
        if not isinstance(body, dict) or (required and required not in body):
            detail = {"type": "missing", "loc": ("body", required), "msg": "Field required", "input": body}
            raise BadRequestError(f"1 validation error:\n  {detail}")
        return body

    def chat(self):
        """POST /v1/chat/completions."""
        try:
            body = self.read_body("messages")
            request = chat.Chat(body, self.server.arguments, self.server.model)
        except BadRequestError as error:
            self.send_bad_request(error)
            return
        with self.counted(request.prompt_tokens) as count:
            if request.choices > 1:
                self.server.engine.leaked += 1
            if request.stream:
                self.send_stream(chat.stream(request, self.run), count)
                return
            answer = chat.answer(request, self.run)
            count.generated = answer["usage"]["completion_tokens"]
        self.send_json(200, answer)

    def completions(self):
        """POST /v1/completions."""
        try:
            request = CompletionRequest(self.read_body("prompt"), self.server.arguments, self.server.model)
        except BadRequestError as error:
            self.send_bad_request(error)
            return
        with self.counted(request.prompt_tokens) as count:
            if request.stream:
                self.send_stream(request.chunks(self.run), count)
                return
            answer = request.answer(self.run)
            count.generated = answer["usage"]["completion_tokens"]
        self.send_json(200, answer)

    def generate(self):
        """POST /generate: errors have a shape of their own."""
        try:
            request = NativeRequest(self.read_body(None), self.server.arguments, self.server.model)
        except BadRequestError as error:
            self.server.engine.leaked += 1
            self.send_json(400, {"error": {"message": str(error)}})
            return
        with self.counted(request.prompt_tokens) as count:
            if request.stream:
                self.send_stream(request.events(self.run), count)
                return
            *_, last = request.events(self.run)
            count.generated = last["meta_info"]["completion_tokens"]
        self.send_json(200, last)

    def run(self, request):
        """Runs a request in the engine and yields its events, for as long as the client is there."""
        for number, event in enumerate(self.server.engine.generate(request)):
            if number % EVENTS_BETWEEN_LOOKS == 0 and self.client_is_gone():
                raise ConnectionResetError("the client is gone")
            yield event

    def client_is_gone(self):
        """Whether the client closed its side of the connection."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        return self.connection.recv(1, socket.MSG_PEEK) == b""

    def counted(self, prompt_tokens):
        """A context that counts a generation in the metrics."""
        return CountedRequest(self.server.metrics, prompt_tokens)

    def send_bad_request(self, error):
        """400 in the OpenAI API's shape. SGLang never forgets such a request: SIGTERM then waits for ever."""
        self.server.engine.leaked += 1
        kind = "Bad Request" if str(error).startswith("1 validation error") else "BadRequestError"
        self.send_json(400, {"object": "error", "message": str(error), "type": kind, "param": None, "code": 400})

    def send_json(self, status, value):
        """A JSON answer."""
        self.send_bytes(status, orjson.dumps(value), JSON_TYPE)

    def send_bytes(self, status, data, content_type):
        """An answer whose length is known."""
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_stream(self, chunks, count):
        """Server-sent events, one a chunk, closed by [DONE]. A client that goes away ends the generation."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for value in chunks:
                count.step()
                self.send_event(orjson.dumps(value))
            self.send_event(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            chunks.close()
            self.server.metrics.count_abort()

    def send_event(self, data):
        """One event as one HTTP chunk."""
        event = b"data: " + data + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))

    def log_request(self, code="-", size="-"):
        """One line a request, in uvicorn's form; counted too."""
        self.server.metrics.count_answer(urlsplit(self.path).path, self.command, int(code))
        log(f'INFO:     {self.client_address[0]}:{self.client_address[1]} - "{self.requestline}" {int(code)}')

"""HTTPS server on port 8006: reads requests, meets injected faults, answers as Proxmox VE does."""

import http.server
import json
import os
import re
import socketserver
import ssl
import subprocess
import threading
import time
import traceback
import urllib.parse

from labpve import faults, node, node_facts, tickets
from labpve.api import access, containers, nodes, router, storage_routes, task_routes  # noqa: F401 (routes)
from labpve.errors import PveError

_PREFIX = "/api2/json"
_HIDDEN = ("password", "ssh-public-keys")
_REQUEST_LOG = "/var/log/pveapi.log"
_log_lock = threading.Lock()


class ConnectionClosed(Exception):
    """An injected fault: the connection ends without an answer."""


def make_certificate():
    """Make the node's key and self-signed certificate for its names and addresses, once."""
    folder = node.path("/etc/pve/local")
    os.makedirs(folder, exist_ok=True)
    key, certificate = f"{folder}/pve-ssl.key", f"{folder}/pve-ssl.pem"
    if not os.path.exists(certificate):
        names = [f"DNS:localhost,DNS:{node.name()}", *(f"IP:{ip}" for ip in node_facts.addresses())]
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        command += ["-nodes", "-days", "3650", "-subj", f"/O=PVE Cluster Node/CN={node.name()}.lab"]
        command += ["-addext", f"subjectAltName={','.join(names)}", "-keyout", key, "-out", certificate]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        os.chmod(key, 0o600)
    return certificate, key


def parse_parameters(query, body, content_type):
    """Parameters of a request: query and body, form-encoded or JSON; booleans become 1 and 0."""
    result = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    if not body:
        return result
    if "json" not in content_type:
        return {**result, **dict(urllib.parse.parse_qsl(body, keep_blank_values=True))}
    try:
        given = json.loads(body)
    except ValueError as error:
        raise PveError(f"malformed JSON string: {error}", 400) from error
    for name, value in given.items():
        result[name] = str(int(value)) if isinstance(value, bool) else str(value)
    return result


def _log_request(entry):
    """Append [caller, method, path, parameters, code, message] with the time, without secrets."""
    caller, method, path, parameters, code, message = entry
    shown = {name: "***" if name in _HIDDEN else value for name, value in parameters.items()}
    line = json.dumps([time.strftime("%F %T"), caller, method, path, shown, code, message])
    with _log_lock, open(node.path(_REQUEST_LOG), "a", encoding="utf-8") as file:
        file.write(f"{line}\n")


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "pve-api-daemon/3.0"
    sys_version = ""
    # One packet an answer: in two, the second would wait 40 ms for the client's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def _read(self):
        raw_path, _, query = self.path.partition("?")
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size).decode("utf-8", "replace") if size else ""
        return raw_path, parse_parameters(query, body, self.headers.get("Content-Type", ""))

    def _answer(self, code, content, reason="OK"):
        """Send JSON; errors carry their message in the status line, where the clients read it."""
        body = json.dumps(content).encode()
        line = re.sub(r"\s+", " ", reason).strip().encode("latin-1", "replace").decode("latin-1")
        self.send_response(code, line)
        self.send_header("Content-Type", "application/json;charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=0")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _meet_faults(self, path):
        fault = faults.take_for_request(self.command, path)
        if not fault:
            return
        time.sleep(fault.get("delay", 0))
        if fault.get("close"):
            raise ConnectionClosed
        if fault.get("status"):
            raise PveError(fault.get("message", "injected fault"), fault["status"])

    def _perform(self, raw_path, parameters):
        """(identity, data) for a request."""
        if not raw_path.startswith(_PREFIX):
            raise PveError("not found", 404)
        path = raw_path.removeprefix(_PREFIX).rstrip("/")
        self._meet_faults(path)
        if (self.command, path) == ("POST", "/access/ticket"):
            granted = tickets.log_in(parameters)
            return granted["username"], granted
        identity = self.identity = tickets.identify(self.headers, self.command)
        return identity, router.dispatch(self.command, path, identity, parameters)

    def _outcome(self):
        """Do what is asked: (code, content or None for no answer, message, path, parameters)."""
        path, parameters = self.path.partition("?")[0], {}
        try:
            path, parameters = self._read()
            self.identity, data = self._perform(path, parameters)
            return 200, {"data": data}, "", path, parameters
        except PveError as error:
            content = {"data": None, "message": f"{error.message.rstrip()}\n"}
            if error.errors:
                content["errors"] = error.errors
            return error.code, content, error.message, path, parameters
        except ConnectionClosed:
            return 0, None, "connection closed by an injected fault", path, parameters
        except Exception as error:
            traceback.print_exc()
            message = f"{type(error).__name__}: {error}"
            return 500, {"data": None, "message": f"{message}\n"}, message, path, parameters

    def _handle(self):
        self.identity = "-"
        code, content, message, path, parameters = self._outcome()
        # Before the answer: who has it finds the request in the log.
        _log_request([self.identity, self.command, path, parameters, code, message])
        if content is None:
            self.close_connection = True
            return
        try:
            self._answer(code, content, message or "OK")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def log_message(self, format, *arguments):
        """Requests are logged by _log_request."""


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address, certificate, key):
        super().__init__(address, Handler)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)

    def get_request(self):
        """Accept; the handshake happens in the connection's own thread."""
        connection, address = super().get_request()
        connection.settimeout(600)
        return self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request, client_address):
        """A client that goes away in the middle is no error of the server."""


def main():
    """Serve until the unit is stopped."""
    tickets.make_key()
    os.makedirs(node.path("/var/log/pve/tasks"), exist_ok=True)
    certificate, key = make_certificate()
    Server(("", 8006), certificate, key).serve_forever()


if __name__ == "__main__":
    main()

"""HTTP to the service on this machine, never through a proxy. The API key stays out of every message."""

import json
import socket
import time
import urllib.error
import urllib.request

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class NoAnswer(Exception):
    """No HTTP answer came. `kind` is "refused", "timeout" or "broken"."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Client:
    """Requests to one server. api_key_file: file whose content is sent as bearer token, or None."""

    def __init__(self, url, api_key_file=None):
        self.url = url.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        if api_key_file:
            with open(api_key_file, encoding="utf-8") as file:
                self.headers["Authorization"] = f"Bearer {file.read().strip()}"

    def request(self, path, body=None, timeout=30):
        """(status, text). Raises NoAnswer when there is no HTTP answer within `timeout` seconds."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=self.headers)
        deadline = time.monotonic() + timeout
        try:
            with _OPENER.open(request, timeout=timeout) as response:
                return response.status, response.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode("utf-8", "replace")
        except (OSError, EOFError) as error:
            raise _no_answer(path, error, time.monotonic() >= deadline - 1, timeout) from error
        except Exception as error:  # http.client.HTTPException: the connection broke in the middle of an answer
            raise NoAnswer("broken", f"{path}: the connection broke: {error!r}") from error

    def get_json(self, path, timeout=30):
        """The JSON object at a path. Raises NoAnswer, also for a status other than 200 and for what is no JSON object."""
        status, text = self.request(path, timeout=timeout)
        if status != 200:
            raise NoAnswer("broken", f"{path}: answers {status}")
        try:
            value = json.loads(text)
        except ValueError as error:
            raise NoAnswer("broken", f"{path}: answers no JSON") from error
        if not isinstance(value, dict):
            raise NoAnswer("broken", f"{path}: answers no JSON object")
        return value


def _no_answer(path, error, late, timeout):
    reason = getattr(error, "reason", error)
    if isinstance(reason, ConnectionRefusedError):
        return NoAnswer("refused", f"{path}: connection refused")
    if isinstance(reason, (socket.timeout, TimeoutError)) or late:
        return NoAnswer("timeout", f"{path}: no answer within {timeout} s")
    return NoAnswer("broken", f"{path}: the connection broke: {reason}")

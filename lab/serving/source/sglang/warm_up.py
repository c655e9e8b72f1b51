"""The warm-up: one short chat after the start, and the log line "fired up" that proves nothing."""

import http.client
import json

from sglang.journal import log

WARM_UP_SECONDS = 25


def warm_up(arguments, server):
    """Asks whoever answers on the server's address for one short completion at temperature 0, and says "fired up".

    With `server` None (the port is taken) it talks to the process that holds the port, as the real one does."""
    host = "127.0.0.1" if arguments["host"] in ("0.0.0.0", "") else arguments["host"]
    headers = {"Content-Type": "application/json"}
    if arguments["api_key"]:
        headers["Authorization"] = f"Bearer {arguments['api_key']}"
    if server is not None:
        server.engine.send({"do": "compile", "seconds": WARM_UP_SECONDS})
    message = {"role": "user", "content": "What is the capital city of France?"}
    body = json.dumps({"model": arguments["served_model_name"], "messages": [message], "temperature": 0, "max_tokens": 8})
    try:
        connection = http.client.HTTPConnection(host, arguments["port"], timeout=600 if server else 5)
        connection.request("POST", "/v1/chat/completions", body, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status != 200:
            raise OSError(f"warm-up request failed with status {answer.status}")
    except (OSError, http.client.HTTPException) as error:
        log(f"Initialization failed. warmup error: {error}")
        if server is not None:
            server.engine.family.kill_all()
        return
    log("The server is fired up and ready to roll!")
    if server is not None:
        server.is_ready = True

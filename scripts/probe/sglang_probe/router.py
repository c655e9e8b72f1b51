"""A router in front of replicas: which of them take part, and what they serve.

A router answers with what its replicas say. So its gate asks for all of them, and each one for its model; a repeated probe
that gets right answers while a replica is out calls that "degraded".
"""

from .client import Client, NoAnswer

TIMEOUT_SECONDS = 30


def missing(client, replicas):
    """{url: why} of the declared replicas that do not take part. Raises NoAnswer when the router does not tell."""
    listed = client.get_json("/workers", TIMEOUT_SECONDS).get("workers", [])
    healthy = {str(one.get("url", "")).rstrip("/"): bool(one.get("is_healthy")) for one in listed}
    states = {True: None, False: "does not answer its health check", None: "was not found yet"}
    found = {url: states[healthy.get(url.rstrip("/"))] for url in replicas}
    return {url: why for url, why in found.items() if why}


def server_info(url, api_key_file):
    """What the replica itself says about itself; the router does not pass that on. Raises NoAnswer."""
    return Client(url, api_key_file).get_json("/server_info", TIMEOUT_SECONDS)


def first_info(replicas, api_key_file):
    """/server_info of the first replica that answers: limits and parsers that questions depend on. Raises NoAnswer."""
    for url in replicas[:-1]:
        try:
            return server_info(url, api_key_file)
        except NoAnswer:
            continue
    return server_info(replicas[-1], api_key_file)


def wrong_models(infos, wanted):
    """One text for each replica that serves another model; infos: {url: what it says about itself}."""
    served = {url: info.get("served_model_name") for url, info in infos.items()}
    return [f"{url} serves {name!r}, declared is {wanted!r}" for url, name in served.items() if name != wanted]

"""The ranks of a server over several nodes: they meet at --dist-init-addr, load together, and end together.

As torch's store and Gloo do it, over real TCP connections: rank 0 listens, every other rank connects and keeps the
connection. A rank that goes away closes it, which ends rank 0, whose end closes all others.
"""

import select
import socket
import time

from sglang.failures import ImitatedError

DEFAULT_TIMEOUT_SECONDS = 600
RETRY_SECONDS = 0.2
LOADED, GO_ON = b"L", b"G"


def address_of(arguments):
    """(host, port) where the ranks meet."""
    host, _, port = (arguments["dist_init_addr"] or "127.0.0.1:0").rpartition(":")
    return host, int(port)


def timeout_of(arguments):
    """How long ranks wait for each other. It is stated in real seconds, so that it is not scaled."""
    return arguments["dist_timeout"] or DEFAULT_TIMEOUT_SECONDS


def meet(arguments, rank):
    """Waits for the others and returns the connections: of rank 0 to all others, of any other to rank 0."""
    deadline = time.monotonic() + timeout_of(arguments)
    links = _wait_for_clients(arguments, deadline) if rank == 0 else [_connect(arguments, deadline)]
    for link in links:
        link.settimeout(None)
        # The scheduler starts itself again by exec once it has loaded.
        link.set_inheritable(True)
    return links


def _wait_for_clients(arguments, deadline):
    wanted, links = arguments["tp_size"] - 1, []
    with socket.create_server(address_of(arguments), backlog=wanted) as server:
        while len(links) < wanted:
            server.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                links.append(server.accept()[0])
            except TimeoutError as error:
                seconds = timeout_of(arguments)
                raise ImitatedError(
                    f"torch.distributed.DistStoreError: Timed out after {seconds + 1} seconds waiting for clients. "
                    f"{len(links) + 1}/{wanted + 1} clients joined."
                ) from error
    return links


def _connect(arguments, deadline):
    while True:
        try:
            return socket.create_connection(address_of(arguments), timeout=5)
        except OSError as error:
            if time.monotonic() > deadline:
                host, port = address_of(arguments)
                raise ImitatedError(
                    "torch.distributed.DistNetworkError: The client socket has timed out after "
                    f"{timeout_of(arguments) * 1000}ms while trying to connect to ({host}, {port})."
                ) from error
            time.sleep(RETRY_SECONDS)


def wait_for_all(links, rank):
    """Returns once every rank has come here. Raises when one goes away before."""
    if rank == 0:
        for link in links:
            _read(link)
        for link in links:
            link.sendall(GO_ON)
    else:
        for link in links:
            link.sendall(LOADED)
            _read(link)


def _read(link):
    try:
        if link.recv(1):
            return
    except OSError:
        pass
    raise lost(link)


def lost(link):
    """The error of a rank whose peer is gone."""
    try:
        host, port = link.getpeername()
    except OSError:
        host, port = "unknown", 0
    return ImitatedError(
        f"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [{host}]:{port}"
    )


def wait_for_end(parent, links):
    """Blocks until the server's main process goes away; raises when a rank does."""
    ready, _, _ = select.select([parent, *links], [], [])
    for link in links:
        if link in ready:
            raise lost(link)

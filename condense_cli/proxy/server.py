"""Listen, serve the proxy, and shut it down."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import uvicorn

from ..errors import CondenseError
from .app import Proxy, application

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_BACKLOG: Final = 2048
_WAIT: Final = 5
"""Seconds for open answers at shutdown."""


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 means any free one. Raises CondenseError."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except OSError as error:
        raise CondenseError(
            f"Cannot listen on {host}:{port} ({error.strerror or error}).", "Choose another port with --port."
        ) from None
    return found


def address_of(listener: socket.socket, host: str) -> str:
    """Return the address for clients on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{listener.getsockname()[1]}"


def names_of(address: str) -> frozenset[str]:
    """Return the host headers of browsers on this machine."""
    port = address.rpartition(":")[2]
    return frozenset(
        {address.removeprefix("http://"), *(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))}
    )


def serve(proxy: Proxy, listener: socket.socket) -> None:
    """Serve until the process gets a signal to stop."""
    _server(proxy).run(sockets=[listener])


@contextmanager
def served(proxy: Proxy, listener: socket.socket) -> Iterator[None]:
    """Serve in a thread while the block runs."""
    server = _server(proxy)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(2 * _WAIT)
        with suppress(OSError):
            listener.close()


def _server(proxy: Proxy) -> uvicorn.Server:
    # uvicorn would log addresses with their keys, and errors with content.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return uvicorn.Server(
        uvicorn.Config(
            application(proxy),
            log_config=None,
            access_log=False,
            ws="none",
            http="h11",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=_WAIT,
        )
    )

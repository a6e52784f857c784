"""Serves the application on this machine alone, and opens a browser."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """A socket of this machine alone; port 0 takes a free one.

    Raises:
        OSError: If the port is taken.
    """
    own = socket.socket()
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        own.bind((LOOPBACK, port))
    except OSError:
        own.close()
        raise
    return own


def serve(app: ASGIApp, own: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until Ctrl-C or SIGTERM.

    Args:
        app: The application.
        own: As :func:`listening` gives it.
        ready: Is called when connections are accepted.
    """
    config = uvicorn.Config(
        app, access_log=False, log_level="warning", lifespan="off", ws="none", http="h11", server_header=False
    )
    server = _Server(config, ready)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn ends first, and then raises it again
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[own])
    finally:
        signal.signal(signal.SIGTERM, before)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


@contextlib.contextmanager
def opened(address: str) -> Iterator[None]:
    """Open an address in the browser by a file that only this user can read, while the block runs.

    The arguments of a browser's process can be read by everybody on the machine, and the address holds the token.
    """
    handle, name = tempfile.mkstemp(suffix=".html", prefix="review-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">')
        webbrowser.open(Path(name).as_uri())
        yield
    finally:
        os.unlink(name)

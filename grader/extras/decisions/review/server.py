"""Serves the application on this machine alone; rejects requests without the token, of another origin or host."""

from __future__ import annotations

import contextlib
import signal
import socket
import tempfile
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path
from secrets import compare_digest
from threading import Thread
from typing import Final

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK: Final = "127.0.0.1"
MAX_BODY: Final = 64 << 10
FORM: Final = "application/x-www-form-urlencoded"
HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; "
        "img-src data:; base-uri 'none'; frame-ancestors 'none'"
    ),
    # Not "no-referrer": browsers then hide the origin of a form, too. Other sites get no address either way.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def guarded(app: ASGIApp, token: str, port: int) -> ASGIApp:
    """Lets requests below ``/TOKEN/`` through to an application, which sees the rest of the path.

    Another website can make a browser ask this address, and can point a name of its own at it. It knows neither the
    token nor can it send our host or origin; what it gets is the same for every path.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if refused := _refusal(scope, token, port):
            await PlainTextResponse(refused[1], refused[0], HEADERS)(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await app({**scope, "root_path": f"/{token}"}, receive, headed)

    return answer


def _refusal(scope: Scope, token: str, port: int) -> tuple[int, str] | None:
    """Status and text for a request that is not let through; None if it is."""
    headers = Headers(scope=scope)
    if headers.getlist("host") not in [[f"{name}:{port}"] for name in (LOOPBACK, "localhost")]:
        return 421, "another host"
    first = scope["path"].split("/", 2)[1:2]
    if not compare_digest((first or [""])[0].encode("utf-8", "replace"), token.encode()):
        return 404, "not found"
    if scope["method"] in ("GET", "HEAD"):
        return None
    if scope["method"] != "POST":
        return 405, "GET and POST only"
    if headers.get("origin") != f"http://{headers['host']}":
        return 403, "from another page"
    if headers.get("content-type", "").partition(";")[0].strip() != FORM:
        return 415, f"not {FORM}"
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and int(length) <= MAX_BODY):
        return 413, f"more than {MAX_BODY} bytes"
    return None


def serve(app: ASGIApp, listening: socket.socket) -> None:
    """Answer requests to a socket until Ctrl-C or SIGTERM."""
    config = uvicorn.Config(
        app, access_log=False, log_level="warning", lifespan="off", ws="none", http="h11", server_header=False
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn ends first, and then raises it again
    try:
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def opened(address: str) -> Iterator[None]:
    """Open an address in the browser by a file that only this user can read, while the block runs.

    The arguments of a browser's process can be read by everybody on the machine, and the address holds the token.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="review-", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">')
        file.flush()
        # Some browsers return only when they are closed.
        Thread(target=webbrowser.open, args=(Path(file.name).as_uri(),), daemon=True).start()
        yield

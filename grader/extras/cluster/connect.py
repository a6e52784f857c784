"""Connects to a running dask scheduler; failures are one line in the grader's words instead of dask's."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
from urllib.parse import urlsplit

from distributed import Client, Security

from grader.core.settings import CannotGrade

from .executor import DaskExecutor

CONNECT_S = 5.0
TLS_HELP = "See grader/docs/cluster.md for TLS."


def connect(address: str) -> DaskExecutor:
    """An executor on a running scheduler. TLS is configured as for dask's command-line programs.

    Raises:
        CannotGrade: If no scheduler answers at that address.
    """
    quieten()
    host = _host(address)
    security = Security()
    if address.startswith("tcp:") and security.require_encryption:
        raise CannotGrade(
            f"--executor {address}: dask is configured to require encryption. Use tls:// instead of tcp://."
        )
    if address.startswith("tls:") and not has_certificates(security, f"--executor {address}"):
        raise CannotGrade(f"--executor {address}: no certificate is configured. {TLS_HELP}")
    try:
        client = Client(address, timeout=CONNECT_S, security=security, set_as_default=False)
    except OSError:
        remedy = f"Start it with `dask scheduler`, or pass the address that it prints. {TLS_HELP}"
        raise CannotGrade(f"--executor {address}: no scheduler answered within {CONNECT_S:g} s. {remedy}") from None
    executor = DaskExecutor(client)
    waiting = "" if client.nthreads() else f"{address}: no worker yet; waiting for one."
    executor.notice = " ".join(filter(None, (waiting, warning(address, host))))
    return executor


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.port:
            return parts.hostname
    except ValueError:  # the port is not a number
        pass
    raise CannotGrade(f"--executor {address}: no host and port. Use the form tls://grading.example.org:8786.")


def warning(address: str, host: str) -> str:
    """A warning for an address without TLS; empty for loopback."""
    with contextlib.suppress(ValueError):  # the host is a name, not an address
        if ipaddress.ip_address(host).is_loopback:
            return ""
    if address.startswith("tls:") or host == "localhost":
        return ""
    return f"{address}: over plain TCP, anyone who reaches the scheduler or a worker can run code there. {TLS_HELP}"


def has_certificates(security: Security, wanted: str) -> bool:
    """Whether dask's configuration names certificates.

    Raises:
        CannotGrade: If they cannot be used; ``wanted`` is the option that needs them.
    """
    try:
        return security.get_connection_args("client").get("ssl_context") is not None
    except OSError as error:
        problem = f"{error.filename or 'the configured certificate'}: {error.strerror or error}"
        raise CannotGrade(f"{wanted}: {problem}. {TLS_HELP}") from None


def quieten() -> None:
    """Silence dask's log of a lost connection, which the command reports in one line."""
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

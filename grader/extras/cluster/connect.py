"""Connects to a running dask scheduler, or starts one whose workers are Slurm jobs.

Failures are one line in the grader's words instead of dask's.
"""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
import logging
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dask.config
from distributed import Client, Security

from grader.core.settings import CannotGrade

from .executor import DaskExecutor

CONNECT_S = 5.0
TLS_HELP = "See grader/docs/cluster.md for TLS."
WANTED = "--executor slurm"
SMALLEST = {"cores": 1, "processes": 1, "memory": "4 GiB"}  # unless configured: enough for one judge


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
    with contextlib.suppress(ValueError):  # the port is not a number
        parts = urlsplit(address)
        if parts.hostname and parts.port:
            return parts.hostname
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


def submit_workers(jobs: int) -> DaskExecutor:
    """Submit that many Slurm jobs, configured in dask's ``jobqueue.slurm``: the scheduler runs here, always with TLS.

    Raises:
        CannotGrade: If this machine has no Slurm, or Slurm refuses the job.
        ModuleNotFoundError: If certificates are needed and the package ``cryptography`` is missing.
    """
    from dask_jobqueue.slurm import SLURMCluster  # a running scheduler needs none

    if shutil.which("sbatch") is None:
        raise CannotGrade(f"{WANTED}: sbatch not found. Run the command where jobs are submitted.")
    quieten()
    security = Security()
    if not has_certificates(security, WANTED):
        importlib.import_module("cryptography")  # dask's own message does not say what to install
        security = Security.temporary()
    size: dict[str, Any] = {name: _configured(name) or least for name, least in SMALLEST.items()}
    cluster = SLURMCluster(
        **size,
        nanny=False,  # Slurm restarts workers
        security=security,
        protocol="tls://",
        shared_temp_directory=_configured("shared-temp-directory") or str(Path.home()),  # for a worker's certificate
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"} | _configured("scheduler-options"),
    )
    try:
        _rehearse(cluster.job_script())
    except CannotGrade:
        cluster.close()
        raise
    cluster.scale(jobs=jobs)
    executor = DaskExecutor(Client(cluster, set_as_default=False), cluster)
    executor.notice = f"submitted to Slurm: {jobs} jobs; waiting for it to start them."
    return executor


def _configured(name: str) -> Any:
    return dask.config.get(f"jobqueue.slurm.{name}")


def _rehearse(script: str) -> None:
    """Have Slurm check the job without running it, because dask waits forever for a refused one."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        seen = subprocess.run(["sbatch", "--test-only", file.name], capture_output=True, text=True)
    if seen.returncode:
        problem = seen.stderr.strip().rpartition("\n")[2]
        remedy = "grader/docs/cluster.md explains how to set queue, account and time."
        raise CannotGrade(f"{WANTED}: Slurm rejects such a job ({problem}). {remedy}")

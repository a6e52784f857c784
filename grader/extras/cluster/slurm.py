"""Workers as Slurm jobs: the scheduler runs in this process; each job starts a worker that connects to it."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import dask.config
from dask_jobqueue.slurm import SLURMCluster
from distributed import Client, Security

from grader.core.settings import CannotGrade

from .connect import has_certificates, quieten
from .executor import DaskExecutor

WANTED = "--executor slurm"
SMALLEST = {"cores": 1, "processes": 1, "memory": "4 GiB"}  # unless configured: enough for one judge


def submit_workers(jobs: int) -> DaskExecutor:
    """Submit that many jobs, configured in dask's ``jobqueue.slurm``, always with TLS.

    Raises:
        CannotGrade: If this machine has no Slurm, or Slurm refuses the job.
        ModuleNotFoundError: If certificates are needed and the package ``cryptography`` is missing.
    """
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

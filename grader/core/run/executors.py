"""The executor that ``--executor`` names, or one line that says why it cannot be used."""

from __future__ import annotations

from grader.core.extras import extra
from grader.core.settings import CannotGrade

from .executor import Executor
from .local import LocalExecutor

LOCAL = "local"
SLURM = "slurm"
CHOICES = f"{LOCAL}, tcp://HOST:PORT, tls://HOST:PORT or {SLURM}"


def open_executor(choice: str, jobs: int) -> Executor:
    """An executor that is ready for jobs.

    Args:
        choice: One of ``CHOICES``.
        jobs: For ``local``, how many jobs run at a time; for Slurm, how many Slurm jobs to submit; else not used.

    Raises:
        CannotGrade: If the choice is unknown or cannot be used here; the text says what to do.
    """
    if choice == LOCAL:
        return LocalExecutor(jobs)
    if choice != SLURM and not choice.startswith(("tcp://", "tls://")):
        raise CannotGrade(f"--executor {choice}: not an executor. Choose {CHOICES}.")
    if (cluster := extra("cluster")) is None:
        raise CannotGrade(f"--executor {choice} needs grader/extras/cluster, and that folder is missing.")
    found: Executor = cluster.open_executor(choice, jobs)
    return found

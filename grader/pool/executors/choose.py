"""The executor that ``--executor`` names, or one line that says why it cannot be used."""

from __future__ import annotations

from ...settings import CannotGrade
from .base import Executor
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
    try:  # imported here, since most runs need neither dask nor Slurm
        if choice == SLURM:
            from .slurm import submit_workers

            return submit_workers(jobs)
        from .connect import connect

        return connect(choice)
    except ModuleNotFoundError as error:
        remedy = 'Install the extra in the project\'s folder: pip install -e ".[grader,cluster]"'
        missing = (error.name or "").partition(".")[0]
        raise CannotGrade(f"--executor {choice}: {missing} is not installed. {remedy}") from None

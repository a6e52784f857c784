"""Executors on other machines, for ``--executor``."""

from __future__ import annotations

from grader.core.run.executors import SLURM, Executor
from grader.core.settings import CannotGrade


def open_executor(choice: str, jobs: int) -> Executor:
    """An executor, ready for jobs: so many Slurm jobs, or the scheduler at an address.

    Raises:
        CannotGrade: If it cannot be used here; the message has the remedy.
    """
    try:  # imported here, since most runs need neither dask nor Slurm
        from .connect import connect, submit_workers

        return submit_workers(jobs) if choice == SLURM else connect(choice)
    except ModuleNotFoundError as error:
        remedy = 'Install the extra in the project folder: pip install -e ".[grader,cluster]"'
        missing = (error.name or "").partition(".")[0]
        raise CannotGrade(f"--executor {choice}: {missing} is not installed. {remedy}") from None

"""Executors on other machines, for ``--executor``."""

from __future__ import annotations

from grader.core.run.executors import SLURM, Executor
from grader.core.settings import CannotGrade


def open_executor(choice: str, jobs: int) -> Executor:
    """An executor that is ready for jobs: so many of ``slurm``, or the scheduler at an address.

    Raises:
        CannotGrade: If it cannot be used here; the text says what to do.
    """
    try:  # imported here, since most runs need neither dask nor Slurm
        if choice == SLURM:
            from .slurm import submit_workers

            return submit_workers(jobs)
        from .connect import connect

        return connect(choice)
    except ModuleNotFoundError as error:
        remedy = 'Install the extra in the project folder: pip install -e ".[grader,cluster]"'
        missing = (error.name or "").partition(".")[0]
        raise CannotGrade(f"--executor {choice}: {missing} is not installed. {remedy}") from None

"""Runs jobs on the workers of a dask scheduler: in other processes, possibly on other machines.

dask distributes jobs, detects dead workers, and reassigns their jobs. It cannot stop a running job, so each job checks
whether its result is still wanted, and ends its judge if not.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import time
from concurrent.futures import Future

from distributed import Client, KilledWorker, Reschedule, SpecCluster, Status, get_worker

from grader import __version__
from grader.core.results.report import Report
from grader.core.run.executors import Executor, Job, JudgePool
from grader.core.run.judge_process import Abandoned, Failure
from grader.core.settings import CannotGrade

LOOK_S = 2.0  # between two counts of the workers
PARTING_S = 3.0  # for the scheduler to notice cancelled jobs


class DaskExecutor(Executor):
    """The workers of one scheduler, whose number may change at any time."""

    killers = (KilledWorker,)

    def __init__(self, client: Client, cluster: SpecCluster | None = None) -> None:
        """Take over a connected client, and the cluster if one was started for it; both are closed at the end."""
        self._client = client
        self._executor = client.get_executor(pure=False)  # run every job, even if equal to an earlier one
        self._cluster = cluster
        self._threads = 0
        self._look_at = 0.0
        address = client.scheduler.address if client.scheduler else "an unknown address"
        self.gone = (
            f"the scheduler at {address} is gone. Reports written so far are complete. Run the same command again."
        )

    @property
    def slots(self) -> int:
        """Two per worker thread: a running job, and one that starts as soon as the first ends."""
        if time.monotonic() >= self._look_at:
            with contextlib.suppress(Exception):  # the scheduler is gone; the futures report that
                self._threads = sum(self._client.nthreads().values())
            self._look_at = time.monotonic() + LOOK_S
        return 2 * max(self._threads, 1)

    def submit(self, job: Job) -> Future[Report | Failure]:
        """Send a job to a worker."""
        if self._client.status != "running":
            never: Future[Report | Failure] = Future()
            never.cancel()
            never.set_running_or_notify_cancel()  # so that `wait` counts it as done
            return never
        submitted: Future[Report | Failure] = self._executor.submit(_on_worker, __version__, job)
        return submitted

    def __exit__(self, *_: object) -> None:
        """Abandon the remaining jobs by closing the client."""
        with contextlib.suppress(Exception):
            if self._cluster:  # a worker that loses scheduler and job in the same moment may hang
                self._client.retire_workers(list(self._client.nthreads()), close_workers=True)
        with contextlib.suppress(Exception):
            self._client.close(PARTING_S)
        if self._cluster:
            self._cluster.close()


@functools.cache
def _judges() -> JudgePool:
    """The warm judges of a worker, kept until the worker ends."""
    return JudgePool()


def _on_worker(wanted: str, job: Job) -> Report | Failure:
    """Do a job in a thread of a worker.

    Raises:
        Reschedule: If the job is abandoned, so that another worker runs it; no effect on a job that was cancelled.
        CannotGrade: If the worker runs another version of the grader.
    """
    worker = get_worker()
    key = worker.get_current_task()
    if wanted != __version__:
        raise CannotGrade(
            f"the worker at {worker.address} runs grader {__version__}, this machine {wanted}. "
            "Install the same version on both."
        )
    # A worker with a nanny is daemonic, and multiprocessing lets no such process have children. Judges end with it.
    multiprocessing.current_process().daemon = False

    def abandoned() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state != "executing" or worker.status in (Status.closing, Status.closed)

    try:
        return _judges().grade(job, abandoned)
    except Abandoned:
        raise Reschedule from None

"""Tasks on the workers of a dask scheduler: other processes, and perhaps other machines.

dask hands out, notices workers that die, and hands their tasks to others. What it cannot do is end a task that runs: so
each looks whether it is still wanted, and ends its judge if it is not.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from distributed import Client, KilledWorker, Reschedule, SpecCluster, Status, get_worker

from .. import __version__
from ..assignment import load_rubric
from ..judge_process import Abandoned
from ..judges import PLACE, Judges, Place
from ..settings import CannotGrade
from .base import Executor, cancel

LOOK_S = 2.0  # between two questions about workers
PARTING_S = 3.0  # for a scheduler to take note

P = ParamSpec("P")
T = TypeVar("T")


class DaskExecutor(Executor):
    """The workers of one scheduler, as they come and go."""

    killers = (KilledWorker,)

    def __init__(self, client: Client, cluster: SpecCluster | None = None) -> None:
        """Use a connected client, which is closed in the end, and the cluster with it if that was made for it."""
        self._client = client
        self._executor = client.get_executor(pure=False)  # each task is one of its own, however alike
        self._cluster = cluster
        self._threads = 0
        self._look_at = 0.0
        address = client.scheduler.address if client.scheduler else "an unknown address"
        self.gone = f"the scheduler at {address} has gone. Finished reports are whole; run the same command again."

    @property
    def slots(self) -> int:
        """Two for each thread of a worker: one runs, and the next is there before it ends."""
        if time.monotonic() >= self._look_at:
            with contextlib.suppress(Exception):  # it has gone, as the futures are about to say
                self._threads = sum(self._client.nthreads().values())
            self._look_at = time.monotonic() + LOOK_S
        return 2 * max(self._threads, 1)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a worker call it."""
        if self._client.status != "running":
            return cancel(Future())
        submitted: Future[T] = self._executor.submit(_on_worker, edition(), fn, *args, **kwargs)
        return submitted

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:  # noqa: ARG002 - never waits long
        """Abandon what is left, by going."""
        with contextlib.suppress(Exception):
            if self._cluster:  # a worker that loses scheduler and job in the same moment may hang
                self._client.retire_workers(list(self._client.nthreads()), close_workers=True)
        with contextlib.suppress(Exception):
            self._client.close(PARTING_S)
        if self._cluster:
            self._cluster.close()


@functools.cache
def edition() -> str:
    """What all machines must have in common, as far as it is known before torch is imported."""
    return f"{__version__}, rubric {load_rubric().sha256[:12]}"


@functools.cache
def _judges() -> Judges:
    """The warm judges of a worker, for as long as it lives."""
    return Judges()


def _on_worker(wanted: str, fn: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
    """In a thread of a worker: call ``fn`` there, in its place.

    Raises:
        Reschedule: If the worker is being closed. Nobody hears it if the task has been cancelled.
        CannotGrade: If the worker's grader is another one.
    """
    worker = get_worker()
    key = worker.get_current_task()
    if wanted != edition():
        raise CannotGrade(
            f"the worker at {worker.address} has grader {edition()}, and here it is {wanted}. Install the same on both."
        )
    # A worker under a nanny is what multiprocessing calls a daemon, which may have no children. Judges end with it.
    multiprocessing.current_process().daemon = False

    def abandoned() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state != "executing" or worker.status in (Status.closing, Status.closed)

    PLACE.set(Place(_judges(), abandoned))
    try:
        return fn(*args, **kwargs)
    except Abandoned:
        raise Reschedule from None

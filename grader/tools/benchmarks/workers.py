"""Measures how speed grows with the number of dask workers. Tasks only sleep, so a small machine can run four."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

from grader.pool.executors.base import Executor
from grader.pool.executors.choose import open_executor
from grader.tools.benchmarks.dask_processes import DaskProcesses

TASK_S = 1.0
EACH = 8  # tasks for each worker


@dataclass(frozen=True)
class WorkersRun:
    """One run with some number of workers.

    Attributes:
        workers: How many workers, each with one thread.
        wall_s: Wall-clock time from the first task handed over to the last result.
        share: The time that all tasks sleep, divided by the time that all workers spent; 1 is linear.
    """

    workers: int
    tasks: int
    wall_s: float
    share: float


def run_workers(numbers: Sequence[int] = (1, 2, 4)) -> list[WorkersRun]:
    """For each number, start that many workers on loopback, and run ``EACH`` tasks a worker that sleep ``TASK_S``."""
    return [_run(number) for number in numbers]


def _run(workers: int) -> WorkersRun:
    with tempfile.TemporaryDirectory() as scratch, DaskProcesses(Path(scratch)) as dask:
        for _ in range(workers):
            dask.start_worker()
        with open_executor(dask.address, 1) as executor:
            while executor.slots < 2 * workers:
                time.sleep(0.1)
            wait([executor.submit(time.sleep, 0.0) for _ in range(4 * workers)])  # the first tasks import modules
            tasks, started = EACH * workers, time.perf_counter()
            _hand_out(executor, tasks)
            wall_s = time.perf_counter() - started
    return WorkersRun(workers, tasks, wall_s, tasks * TASK_S / (workers * wall_s))


def _hand_out(executor: Executor, tasks: int) -> None:
    """Submit tasks as the schedule does: at most ``executor.slots`` at a time."""
    under_way: set[Future[None]] = set()
    while tasks or under_way:
        while tasks and len(under_way) < executor.slots:
            under_way.add(executor.submit(time.sleep, TASK_S))
            tasks -= 1
        _, under_way = wait(under_way, return_when=FIRST_COMPLETED)


if __name__ == "__main__":
    for run in run_workers():
        print(f"{run.workers} workers: {run.tasks} tasks in {run.wall_s:.2f} s, {run.share:.3f} of linear")

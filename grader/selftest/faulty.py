"""Faults that are not a student's, which judges meet at a chosen submission, and a search for left-over processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import torch

from grader.core.intake.submission import Submission
from grader.core.run.judge_process import NAME
from grader.lab.processes import descendants
from grader.selftest.borrowed import PIDS


@dataclass(frozen=True)
class Trap(Submission):
    """A submission that calls a fault as soon as it is unpickled in a judge's process.

    Attributes:
        fault: The function to call in the judge.
        log: A file that gets one byte for each attempt.
        times: In how many attempts the fault happens.
    """

    _: KW_ONLY
    fault: Callable[[], object]
    log: Path
    times: int = 1

    def __reduce__(self) -> tuple[Callable[..., Submission], tuple[object, ...]]:
        """Pickle the submission so that the fault is called only in a judge, however many processes it passes."""
        return _unpacked, (self.id, self.files, self.fault, self.log, self.times)

    @property
    def attempts(self) -> int:
        """How often a judge has begun to grade the submission."""
        return self.log.stat().st_size


def _unpacked(
    identifier: str, files: Mapping[str, str], fault: Callable[[], object], log: Path, times: int
) -> Submission:
    """In a judge, call the fault, then go on as usual."""
    trap = Trap(identifier, files, fault=fault, log=log, times=times)
    if multiprocessing.current_process().name != NAME:
        return trap
    with log.open("ab") as file:
        file.write(b".")
    if trap.attempts <= times:
        fault()
    return Submission(identifier, files)


def die() -> None:
    """Kill the judge, as the kernel does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def stall() -> None:
    """Stop the judge, so that it never answers."""
    os.kill(os.getpid(), signal.SIGSTOP)


def stumble() -> None:
    """Raise an exception in the judge."""
    raise ZeroDivisionError("of our own making")


def die_over_the_replies() -> None:
    """Die as soon as an output is to be judged, as a judge does that finds no end in one."""
    from grader.examples.small.grader.assignment import oracle

    oracle.attention = lambda *_: die()  # type: ignore[assignment] # that is the point


def spin_over_the_replies() -> None:
    """Compute for ever as soon as an output is to be judged, with little time for that."""
    from grader.core.run import judge_process
    from grader.examples.small.grader.assignment import oracle

    judge_process.CPU_S = 1
    oracle.attention = lambda *_: spin()  # type: ignore[assignment] # that is the point


def spin() -> None:
    """Compute for ever."""
    while True:
        pass


def find_no_memory_for_the_replies() -> None:
    """Ask for more memory than a judge may take, as soon as an output is to be judged."""
    from grader.examples.small.grader.assignment import oracle

    oracle.attention = lambda *_: torch.ones(1 << 40)  # type: ignore[assignment] # that is the point


def kill_the_fork_server() -> None:
    """Kill the fork server of workers."""
    os.kill(_fork_server(), signal.SIGKILL)


def _fork_server() -> int:
    """The fork server of workers: the one borrowed last, or the last process below this judge, which has no worker."""
    return PIDS[-1] if PIDS else descendants(os.getpid())[-1]


def kill_the_server_of_judges() -> None:
    """Kill the process that judges are forked from, and this judge with it."""
    os.kill(os.getppid(), signal.SIGKILL)
    die()


def kill_the_first_worker() -> None:
    """Kill the next worker soon after it has begun to run student code."""
    fork_server = _fork_server()

    def strike() -> None:
        while len(now := descendants(fork_server)) == 1:
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(now[-1], signal.SIGKILL)

    threading.Thread(target=strike, daemon=True).start()


def survivors(pids: Iterable[int], within_s: float) -> list[int]:
    """The processes that still run after some seconds; returns at once when none does."""
    end = time.monotonic() + within_s
    while (running := [pid for pid in pids if _runs(pid)]) and time.monotonic() < end:
        time.sleep(0.01)
    return running


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False

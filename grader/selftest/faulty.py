"""Faults that are not a student's, for judges to meet at a chosen submission, and a look at what is left running."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from grader.benchmarks.measure import descendants
from grader.intake.submission import Submission
from grader.judge_process import NAME


@dataclass(frozen=True)
class Trap(Submission):
    """A submission at which something happens to the judge, as soon as it is unpacked in the judge's own process.

    Attributes:
        fault: What happens.
        log: A file that gets one byte for each attempt.
        times: At how many attempts it happens.
    """

    _: KW_ONLY
    fault: Callable[[], object]
    log: Path
    times: int = 1

    def __reduce__(self) -> tuple[Callable[..., Submission], tuple[object, ...]]:
        """How it travels: by whichever way, and through however many processes."""
        return _unpacked, (self.id, self.files, self.fault, self.log, self.times)

    @property
    def attempts(self) -> int:
        """How often a judge has begun with it."""
        return self.log.stat().st_size


def _unpacked(
    identifier: str, files: Mapping[str, str], fault: Callable[[], object], log: Path, times: int
) -> Submission:
    """In a judge, let it happen, then go on as usual."""
    trap = Trap(identifier, files, fault=fault, log=log, times=times)
    if multiprocessing.current_process().name != NAME:
        return trap
    with log.open("ab") as file:
        file.write(b".")
    if trap.attempts <= times:
        fault()
    return Submission(identifier, files)


def die() -> None:
    """As by the kernel when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def stall() -> None:
    """Stand still for ever."""
    os.kill(os.getpid(), signal.SIGSTOP)


def stumble() -> None:
    """Make a mistake."""
    raise ZeroDivisionError("of our own making")


def break_the_oracle() -> None:
    """Have the hidden tests make a mistake."""
    from grader.judge import oracle

    oracle.rms_norm = lambda *_: stumble()  # type: ignore[assignment] # that is the point


def kill_the_fork_server() -> None:
    """The last in the chain below a judge, as long as there is no worker."""
    os.kill(descendants(os.getpid())[-1], signal.SIGKILL)


def kill_the_server_of_judges() -> None:
    """The process that multiprocessing forks them from, and this one with it."""
    os.kill(os.getppid(), signal.SIGKILL)
    die()


def kill_the_first_worker() -> None:
    """Soon after it has begun with student code."""
    before = descendants(os.getpid())

    def strike() -> None:
        while len(now := descendants(os.getpid())) == len(before):
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(now[-1], signal.SIGKILL)

    threading.Thread(target=strike, daemon=True).start()


def survivors(pids: Iterable[int], within_s: float) -> list[int]:
    """Those of some processes that still run after that time; returns at once when none does."""
    end = time.monotonic() + within_s
    while (running := [pid for pid in pids if _runs(pid)]) and time.monotonic() < end:
        time.sleep(0.01)
    return running


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False

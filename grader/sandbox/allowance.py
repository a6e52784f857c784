"""The time that one request may take: what the worker computes and sleeps, not what it waits for a busy machine.

A worker that is ready to run and has no core is not charged for waiting, so a busy machine changes no verdict.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from .channel import DeadlineExceeded

LOOK_S = 0.1  # between two looks at a worker that keeps the judge waiting
WALL_FACTOR = 10.0  # a request may take this many times its allowance by the wall clock, whatever delays the worker
ASLEEP = "STtZX"  # states in /proc: waiting for an event, stopped, traced, or ended


class Allowance:
    """The time of one request.

    Attributes:
        spent_s: CPU seconds that the worker has used since the request began, and seconds that it has slept.
    """

    def __init__(self, pid: int | None, allowed_s: float) -> None:
        """Begin now.

        Args:
            pid: The worker's process number in this process's own namespace; None where it is not known: then the wall
                clock is used.
            allowed_s: Seconds that may be spent.
        """
        self._pid, self._allowed_s = pid, allowed_s
        self._began = self._looked = time.monotonic()
        self._cpu_began = self._cpu_before = _cpu_s(pid)
        self._slept_s = 0.0

    @property
    def spent_s(self) -> float:
        """CPU seconds and seconds of sleep up to now."""
        if self._cpu_began is None:
            return time.monotonic() - self._began
        now = _cpu_s(self._pid)
        return (self._cpu_before or 0.0 if now is None else now) - self._cpu_began + self._slept_s

    def left_s(self) -> float:
        """Seconds to wait before asking again.

        Raises:
            DeadlineExceeded: If the allowance is spent, or ``WALL_FACTOR`` times as much by the wall clock.
        """
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            self._look(now)
        spent = self.spent_s
        if spent >= self._allowed_s or now - self._began >= self._allowed_s * WALL_FACTOR:
            raise DeadlineExceeded
        return min(LOOK_S, self._allowed_s - spent)

    def _look(self, now: float) -> None:
        """If the worker sleeps now, charge the time since the last look as sleep, less what it computed meanwhile."""
        cpu = _cpu_s(self._pid)
        if cpu is not None and self._cpu_before is not None:
            computed = cpu - self._cpu_before
            if _state(self._pid) in ASLEEP:
                self._slept_s += max(0.0, now - self._looked - computed)
            self._cpu_before = cpu
        self._looked = now


def _cpu_s(pid: int | None) -> float | None:
    """CPU seconds of a process; None where the system does not tell."""
    if pid is None:
        return None
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for the clock of all threads of a process
    return None


def _state(pid: int | None) -> str:
    """The letter of a process's state in /proc; ``S``, asleep, if it cannot be read, as after the process has ended."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "S"

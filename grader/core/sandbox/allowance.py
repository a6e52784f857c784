"""The time that one request may take: all that passes, but for what a busy machine takes.

The kernel counts how long a process was ready to run and had no core. That is not charged, neither the worker's nor the
judge's own, so a busy machine changes no verdict; computing, sleeping and waiting for anything else are.
"""

from __future__ import annotations

import contextlib
import math
import os
import time

from .channel import DeadlineExceeded

LOOK_S = 0.1  # between two looks at the time, while a worker keeps the judge waiting
WALL_FACTOR = 10.0  # a request may take this many times its allowance by the wall clock, whatever delays the worker
FRESH_S = 0.003  # a sum that was read so long ago is good enough: most requests take less
SCHEDSTAT_BYTES = 100  # three numbers: nanoseconds on a core, nanoseconds ready to run, and a count


class Waited:
    """Seconds for which a worker, and this thread, were ready to run and had no core."""

    def __init__(self, pid: int | None) -> None:
        """Watch a worker from now on.

        Args:
            pid: Its process number in this process's own namespace; None where it is not known.
        """
        self._last: dict[int, float] = {}  # by descriptor
        self._sum, self._read_at = 0.0, -math.inf
        if pid is not None:
            with contextlib.suppress(OSError):
                for path in (f"/proc/{pid}/schedstat", "/proc/thread-self/schedstat"):
                    self._last[os.open(path, os.O_RDONLY | os.O_CLOEXEC)] = 0.0

    @property
    def seconds(self) -> float:
        """The sum up to now; 0 where the system does not tell."""
        if self._last and (now := time.monotonic()) - self._read_at >= FRESH_S:
            for descriptor in self._last:
                with contextlib.suppress(OSError):  # the process has ended: what was read last stays
                    self._last[descriptor] = int(os.pread(descriptor, SCHEDSTAT_BYTES, 0).split()[1]) / 1e9
            self._sum, self._read_at = sum(self._last.values()), now
        return self._sum

    def close(self) -> None:
        """Watch no more; the sum stays as it is."""
        self._sum = self.seconds
        while self._last:
            os.close(self._last.popitem()[0])


class Allowance:
    """The time of one request."""

    def __init__(self, waited: Waited, allowed_s: float) -> None:
        """Begin now.

        Args:
            waited: Of the worker.
            allowed_s: Seconds that may be spent.
        """
        self._waited, self._allowed_s = waited, allowed_s
        self._began, self._waited_before = time.monotonic(), waited.seconds

    @property
    def spent_s(self) -> float:
        """Seconds up to now, less those in which the worker or the judge waited for a core."""
        return max(0.0, time.monotonic() - self._began - (self._waited.seconds - self._waited_before))

    def left_s(self) -> float:
        """Seconds to wait before asking again.

        Raises:
            DeadlineExceeded: If the allowance is spent, or ``WALL_FACTOR`` times as much by the wall clock.
        """
        spent = self.spent_s
        if spent >= self._allowed_s or time.monotonic() - self._began >= self._allowed_s * WALL_FACTOR:
            raise DeadlineExceeded
        return min(LOOK_S, self._allowed_s - spent)

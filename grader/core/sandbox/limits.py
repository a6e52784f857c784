"""What a submission may use: every limit with its unit, its clock, and what happens when it is reached."""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass

from .channel import DeadlineExceeded

GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES")  # kept


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; the defaults are a hundred times what a valid solution needs.

    ``grader/docs/limits.md`` has them as a table. Processes, threads, programs, sockets and written files have no limit
    here: they are forbidden.

    Attributes:
        request_s: Seconds that a worker may compute or sleep for one request (``allowance.py``). Reached: the worker is
            killed, the case is ``timed_out``.
        retry_s: The same for later requests to a name for which one has timed out before.
        submission_s: The same for all requests together, in equal shares for the names that are asked for; also the CPU
            seconds of any one worker. Reached: the remaining cases of that name are ``timed_out``.
        memory_mib: Address space in MiB that a worker may add to the fork server's. Reached: ``memory_exceeded``.
        open_files: Descriptors. Reached: opening fails with an exception in student code.
    """

    request_s: float = 5.0
    retry_s: float = 1.0
    submission_s: float = 30.0
    memory_mib: int = 1024
    open_files: int = 64


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

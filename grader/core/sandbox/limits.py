"""What a submission may use: every limit with its unit, its clock, and what happens when it is reached."""

from __future__ import annotations

from dataclasses import dataclass

GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES")  # kept


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; the defaults are a hundred times what a valid solution needs.

    ``grader/docs/limits.md`` has them as a table. Processes, threads, programs, sockets and written files have no limit
    here: they are forbidden.

    Attributes:
        request_s: Seconds that a worker may compute or sleep for one request (``Allowance`` in ``handle.py``). Reached:
            the worker is killed, the case is ``timed_out``.
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

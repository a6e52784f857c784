"""What a submission may use: every limit with its unit, its clock and what happens when it is reached."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; the defaults leave a valid solution hundreds of times more than it needs.

    Attributes:
        request_s: Wall-clock seconds for one request. Reached: the worker is killed, the case is ``timed_out``.
        retry_s: The same for later requests of a task in which a request has timed out before.
        submission_s: Wall-clock seconds for all requests together. Reached: the remaining cases are ``timed_out``.
        memory_mib: Address space that a worker may add. Reached: ``memory_exceeded``.
    """

    request_s: float = 10.0
    retry_s: float = 2.0
    submission_s: float = 120.0
    memory_mib: int = 1024

"""What a submission may use and reach: its limits, and the layers of isolation, with the level that they make together.

Each limit has its unit, its clock, and what happens when it is reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES")  # kept

GPU_PATIENCE = 4.0


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; the defaults are a hundred times what a valid solution needs.

    ``grader/docs/limits.md`` has them as a table. Processes, threads, programs, sockets and written files have no limit
    here: they are forbidden.

    Attributes:
        request_s: Seconds that a worker may compute or sleep for one request (``Allowance`` in ``channel.py``).
            Reached: the worker is killed, the case is ``timed_out``.
        import_s: The same for an import, which may be that of a library, too; never less than ``request_s``.
        retry_s: The same once a request has timed out; the docstring of ``TimeLeft.limit_s`` has the table.
        timeouts: Workers that may be killed for their time. Reached: names that have timed out get no more requests.
        submission_s: The same for all requests together, in equal shares for the names that are asked for; also the CPU
            seconds of any one worker. Reached: the remaining cases of that name are ``timed_out``.
        memory_mib: Address space in MiB that a worker may add to the fork server's. Reached: ``memory_exceeded``.
        open_files: Descriptors. Reached: opening fails with an exception in student code.
    """

    request_s: float = 2.0
    import_s: float = 5.0
    retry_s: float = 1.0
    timeouts: int = 3
    submission_s: float = 30.0
    memory_mib: int = 1024
    open_files: int = 64

    def beside_others_on_a_gpu(self) -> Limits:
        """The same with ``GPU_PATIENCE`` times the time: no clock tells how long a worker waits for a shared GPU."""
        names = ("request_s", "import_s", "retry_s", "submission_s")
        return replace(self, **{name: getattr(self, name) * GPU_PATIENCE for name in names})


LAYERS = ("namespaces", "user", "landlock", "seccomp")  # from the outside in

REMEDIES = {
    "namespaces": "install bubblewrap and allow user namespaces (on Ubuntu, with an AppArmor profile for bwrap)",
    "user": "start the grader as an ordinary user",
    "landlock": "use Linux 5.13 or later with landlock in /sys/kernel/security/lsm, and pip install landlockpy",
    "seccomp": "install libseccomp2 and pip install pyseccomp",
}


class Level(IntEnum):
    """How well a submission is locked in; each level adds to those before it."""

    PROCESS = 0  # a process of its own with limits: no protection against malice
    SECCOMP = 1  # no processes, sockets or signals; no file may be opened
    LANDLOCK = 2  # the same, except that Python's own files may be read
    NAMESPACES = 3  # the same in namespaces without network, other processes or other files


@dataclass(frozen=True)
class Isolation:
    """What trying each layer on this machine has shown.

    Attributes:
        held: Layers that held.
        missing: Layers that were wanted and did not hold, with the reason.
    """

    held: frozenset[str]
    missing: Mapping[str, str]

    def __str__(self) -> str:
        """Layers, such as ``namespaces+landlock+seccomp``; ``process`` if none of them holds."""
        return "+".join(layer for layer in LAYERS if layer in self.held) or "process"

    def weaker_than(self, level: Level, wanted: str = "required") -> str:
        """The message if this is weaker than the level that is ``wanted``; empty if it is not."""
        told = f"isolation here is {self}, weaker than {wanted}. `grader doctor` shows what is missing."
        return told if self.level < level else ""

    @property
    def level(self) -> Level:
        """The strongest level whose layers all hold; a mount namespace hides files as Landlock does."""
        if "seccomp" not in self.held:
            return Level.PROCESS
        if "namespaces" in self.held:
            return Level.NAMESPACES if "landlock" in self.held else Level.LANDLOCK
        return Level.LANDLOCK if "landlock" in self.held else Level.SECCOMP

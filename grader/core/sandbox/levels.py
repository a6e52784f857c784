"""How well a worker is isolated: the layers that hold, and the level that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

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
        """Such as ``namespaces+landlock+seccomp``; ``process`` where nothing else holds."""
        return "+".join(layer for layer in LAYERS if layer in self.held) or "process"

    @property
    def level(self) -> Level:
        """The strongest level whose layers all hold; a mount namespace hides files as Landlock does."""
        if "seccomp" not in self.held:
            return Level.PROCESS
        if "namespaces" in self.held:
            return Level.NAMESPACES if "landlock" in self.held else Level.LANDLOCK
        return Level.LANDLOCK if "landlock" in self.held else Level.SECCOMP

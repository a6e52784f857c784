"""What decides a report, beside the submission. Free of torch, so that the coordinator starts at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from .sandbox.levels import Level
from .sandbox.limits import Limits


class CannotGrade(Exception):
    """Nothing can be graded here with these settings; one line that says why, and what to do."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides a report, beside the submission.

    Attributes:
        device: ``cpu``, ``cuda``, or ``auto`` for the CPU and a GPU if there is one.
        only: The one task to grade, or None for all.
        seed: Varies the generated inputs.
        language: Of titles and hints, ``en`` or ``zh``.
        limits: What a submission may use.
        required_level: Below this level of isolation nothing is graded.
        without: Layers of isolation to leave out.
        command: As it was typed, for the record.
    """

    device: str = "auto"
    only: str | None = None
    seed: int = 0
    language: str = "en"
    limits: Limits = field(default_factory=Limits)
    required_level: Level = Level.PROCESS
    without: tuple[str, ...] = ()
    command: str = ""

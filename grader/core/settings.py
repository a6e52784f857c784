"""The settings of grading. Does not import torch, so that the coordinator starts at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.core.errors import UserError

from .assignment import Assignment
from .sandbox.limits import Level, Limits


class CannotGrade(UserError):
    """Nothing can be graded on this machine with these settings."""


@dataclass(frozen=True)
class Settings:
    """All settings on which a report depends.

    Attributes:
        assignment: The assignment to grade.
        device: ``cpu``, ``cuda``, or ``auto`` for the CPU and a second device, which is simulated if there is no GPU.
        only: The id of the one task to grade, or None for all tasks.
        seed: The seed of the generated inputs.
        language: The language of titles and hints, ``en`` or ``zh``.
        limits: The time and memory that a submission may use.
        required_level: The lowest level of isolation under which anything is graded.
        without: Layers of isolation to leave out.
        plain: Whether to send one request after another, instead of all requests of a property at once.
        remember: Whether a judge remembers which replies have passed; only benchmarks turn this off.
        command: The command line as it was typed; reports show it, and nothing depends on it.
    """

    assignment: Assignment
    device: str = "auto"
    only: str | None = None
    seed: int = 0
    language: str = "en"
    limits: Limits = field(default_factory=Limits)
    required_level: Level = Level.PROCESS
    without: tuple[str, ...] = ()
    plain: bool = False
    remember: bool = True
    command: str = ""

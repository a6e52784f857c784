"""The settings of grading, and the conditions under which the same submission gets the same report.

An earlier result is used again only if nothing has changed that its report depends on. A judge finds out which devices
and layers of isolation it has only when it starts, which takes seconds. So conditions compare what decides them
instead, such as versions and the processor. This module does not import torch, so that the command starts at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader.core.messages import UserError
from grader.core.results.views import ADVICE, chinese_words

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
        language: In which the command writes reports, ``en`` or ``zh``; those of judges are in English.
        limits: The time and memory that a submission may use.
        required_level: The lowest level of isolation under which anything is graded.
        without: Layers of isolation to leave out.
        plain: Whether to ask for each property request by request in a process of its own, also if it passes a replay.
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


APART = ("assignment", "command", "language")  # settings left out; the assignment's files are part of the code's digest
DISTRIBUTIONS = ("torch", "pytest", "pydantic", "pyseccomp", "landlockpy")
SECURITY_MODULES = Path("/sys/kernel/security/lsm")
USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
GPUS = Path("/proc/driver/nvidia")
MOST_ON_GPUS = 4  # judges: with sixteen on one GPU, requests timed out while they waited for it

Conditions = Mapping[str, str]


def judges_at_once(device: str) -> int:
    """How many judges run at a time unless ``--jobs`` says: one for each core, and fewer where they share a GPU."""
    cores = os.cpu_count() or 1
    return min(cores, MOST_ON_GPUS) if device != "cpu" and any(GPUS.glob("gpus/*")) else cores


def conditions(settings: Settings) -> Conditions:
    """Everything but the submission that a report depends on: settings, code and rubric, versions, machine.

    The command line is left out: a report records it, as it records times, but no result depends on it. Points, the
    policy and words are views of the outcomes (``results/views.py``): :func:`view` names them.
    """
    chosen = {name: json.dumps(value) for name, value in asdict(settings).items() if name not in APART}
    return chosen | {"code and rubric": settings.assignment.code_sha256()} | dict(_machine())


def view(settings: Settings) -> Conditions:
    """How results are shown and rewarded in a report: by which rubric, in which language."""
    rubric, language = settings.assignment.rubric, settings.language
    shown = {"rubric": rubric.sha256, "policy": rubric.policy.model_dump_json(), "language": language}
    words = json.dumps([ADVICE.texts, sorted(chinese_words(settings.assignment).items()) if language == "zh" else []])
    return shown | {"translations": hashlib.sha256(words.encode()).hexdigest()}


def _machine() -> Iterator[tuple[str, str]]:
    """Versions, processor (its vector units affect the last bits of results), GPUs, and what isolation depends on."""
    yield "python", platform.python_version()
    for name in DISTRIBUTIONS:
        with contextlib.suppress(PackageNotFoundError):
            yield name, version(name)
    yield "processor", _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
    gpus = [_line(str(path), "Model") for path in sorted(GPUS.glob("gpus/*/information"))]
    known = (*gpus, _text(GPUS / "version"), os.environ.get("CUDA_VISIBLE_DEVICES"))
    yield "gpus", " ".join(filter(None, known))
    yield "user", str(os.geteuid())
    yield "bubblewrap", shutil.which("bwrap") or ""
    yield "security modules", _text(SECURITY_MODULES)
    yield "user namespaces", "none" if _text(USER_NAMESPACES) == "0" else ""  # other numbers vary with the memory


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # the file does not exist on this system, or this user may not read it
        return ""


def _line(path: str, start: str) -> str:
    """The text after the colon in the file's first line that begins with ``start``; empty if there is none."""
    return next(
        (line.partition(":")[2].strip() for line in _text(Path(path)).splitlines() if line.startswith(start)), ""
    )

"""Examines what this machine offers for grading: versions, devices, isolation; with a remedy for what is missing."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..judge.devices import why_not_simulated
from ..sandbox.launch import Zygote
from ..sandbox.levels import LAYERS, REMEDIES, Level
from ..sandbox.limits import Limits

MEANING = {
    "namespaces": "no network, foreign processes or foreign files (bubblewrap)",
    "user": "student code does not run as root",
    "landlock": "only Python's own files can be read",
    "seccomp": "no processes, threads, sockets, signals or files to write",
}


@dataclass(frozen=True)
class Finding:
    """One line that ``grader doctor`` prints.

    Attributes:
        subject: What was examined.
        good: Whether the subject is as it should be.
        text: What was found.
        remedy: What to do if it is not as it should be.
    """

    subject: str
    good: bool
    text: str
    remedy: str = ""


def _second_device() -> Finding:
    """The device on which mistakes with devices are found: a GPU or its simulation."""
    if torch.cuda.is_available():
        return Finding("device", True, torch.cuda.get_device_name(0))
    problem = why_not_simulated()
    remedy = "pip install torch==2.13.0; until then cases about a second device are not assessed"
    return Finding("device", not problem, problem or "a second one is simulated, as there is no GPU", remedy)


def examine() -> Iterator[Finding]:
    """Examine versions, devices and isolation; takes a few seconds."""
    yield Finding("python", sys.version_info >= (3, 11), platform.python_version(), "use Python 3.11 or later")
    yield Finding("torch", torch.__version__.startswith("2.13."), torch.__version__, "pip install torch==2.13.0")
    yield _second_device()
    zygote = Zygote(Limits())
    isolation = zygote.isolation
    zygote.close()
    for layer in LAYERS:
        if layer in isolation.held:
            yield Finding(layer, True, MEANING[layer])
        elif layer in isolation.missing:
            yield Finding(layer, False, isolation.missing[layer], REMEDIES[layer])
    strong = isolation.level >= Level.LANDLOCK
    remedy = "mend the layers above, or grade only submissions that you trust"
    yield Finding("isolation", strong, f"{isolation} (level {isolation.level.name.lower()})", remedy)

"""``grader doctor``: whether this machine can grade, by versions, devices and isolation, and what it lacks.

Torch, and what imports it, is imported when this command runs: no other command needs it in its process.
"""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from grader.core.cli.terminal import OUT, say
from grader.core.sandbox.limits import LAYERS, REMEDIES, Level, Limits

if TYPE_CHECKING:
    from grader.core.sandbox.launch import Zygote

MEANING = {
    "namespaces": "no network, foreign processes or foreign files (bubblewrap)",
    "user": "student code does not run as root",
    "landlock": "only Python's own files are readable",
    "seccomp": "no processes, threads, sockets, signals or file writes",
}

# Modules that are not imported ahead of student code: of source, of C, of a package, of torch.
IMPORTED = ("pdb", "sqlite3", "xml.etree.ElementTree", "torch.onnx", "torch._dynamo")
IMPORT_S = 60.0
PROBE = {"src/probe.py": "import importlib\n\ndef probe(name):\n    importlib.import_module(name)\n"}


def doctor() -> None:
    """Check this machine for grading and suggest remedies for what is missing. Exit code 1 if it is unfit."""
    unfit = False
    for finding in examine():
        bad = Text("✗", style="red") if finding.needed else Text("–", style="yellow")
        mark = Text("✓", style="green") if finding.good else bad
        unfit |= finding.needed and not finding.good
        OUT.print(Text.assemble(mark, f" {finding.subject:11} {finding.text}"), soft_wrap=True)
        if not finding.good:
            say(f"              {finding.remedy}", "italic")
    if unfit:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Finding:
    """One line that ``grader doctor`` prints.

    Attributes:
        subject: What was examined.
        good: Whether the subject is as it should be.
        text: What was found.
        remedy: What to do if it is not as it should be.
        needed: Whether the machine is unfit for grading without it.
    """

    subject: str
    good: bool
    text: str
    remedy: str = ""
    needed: bool = True


def _second_device() -> Finding:
    """The device on which mistakes with devices are found: a GPU or its simulation."""
    import torch

    from grader.core.judge.devices import why_not_simulated

    if torch.cuda.is_available():
        return Finding("device", True, torch.cuda.get_device_name(0))
    problem = why_not_simulated()
    remedy = "pip install torch==2.13.0; until then cases about a second device are not assessed"
    return Finding("device", not problem, problem or "no GPU; a second device is simulated", remedy)


def _imports(zygote: Zygote) -> Finding:
    """Whether student code can import what no worker has from the start, and this process can import, too."""
    from grader.core.judge.faults import safe_text

    load = ("load", {"module": "src.probe", "name": "probe"})
    worker, problems = zygote.start(PROBE), []
    for module in IMPORTED:
        try:
            if not module.startswith("torch"):  # which is there, and would make a folder for its compiler
                importlib.import_module(module)
        except ImportError:
            continue
        reply = worker.request([load, ("call", {"target": "probe", "arguments": [module]})], IMPORT_S)
        if error := reply.get("error"):
            problems.append(f"{module} ({safe_text(error.get('message'))})")
    worker.close()
    good = f"student code can import all of Python and torch, such as {', '.join(IMPORTED)}"
    bad = f"student code cannot import {'; '.join(problems)}"
    remedy = "install Python and torch into a folder that every user can read, such as /opt"
    return Finding("imports", not problems, bad if problems else good, remedy)


def examine() -> Iterator[Finding]:
    """Examine versions, devices and isolation; takes a few seconds."""
    import torch

    from grader.core.sandbox.launch import Zygote

    yield Finding("python", sys.version_info >= (3, 11), platform.python_version(), "use Python 3.11 or later")
    yield Finding("torch", torch.__version__.startswith("2.13."), torch.__version__, "pip install torch==2.13.0")
    yield _second_device()
    with closing(Zygote(Limits())) as zygote:
        isolation = zygote.isolation
        imports = _imports(zygote)
    strong = isolation.level >= Level.LANDLOCK
    for layer in LAYERS:
        if layer in isolation.held:
            yield Finding(layer, True, MEANING[layer])
        elif layer in isolation.missing:
            yield Finding(layer, False, isolation.missing[layer], REMEDIES[layer], needed=not strong)
    remedy = "fix the layers above, or grade only trusted submissions"
    yield Finding("isolation", strong, f"{isolation} (level {isolation.level.name.lower()})", remedy)
    yield imports


PANEL = "Before the term"
COMMANDS = {"doctor": doctor}

"""Right submissions in many styles, which an assignment may generate from options that combine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.assignment import Assignment
from grader.core.intake.discover import discover
from grader.core.intake.submission import Submission

from .students import write_files


@dataclass(frozen=True)
class Style:
    """A right submission, to be read as any other, since encodings and line ends are among its options.

    Attributes:
        number: Its number among all combinations.
        options: What was chosen, such as ``norm mean: einsum``.
        files: The whole submission, from path to content.
    """

    number: int
    options: tuple[str, ...]
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def name(self) -> str:
        """A name for messages."""
        return f"style {self.number}"

    def submission(self, assignment: Assignment) -> Submission:
        """What intake reads from the files."""
        with tempfile.TemporaryDirectory() as folder:
            write_files(self.files, Path(folder) / "style")
            (candidate,) = discover([Path(folder) / "style"], expected=assignment.rubric.expected)
            return candidate.read()


def forget_modules() -> None:
    """Clear what ``torch.compile`` remembers of modules by name: those of the next submission have the same names."""
    if tracer := sys.modules.get("torch._dynamo.symbolic_convert"):
        tracer._import_module.cache_clear()

"""Decorators that turn a function into a hostile submission.

``replaces`` puts the function in place of a piece of the reference, ``on_import`` calls it at the end of a file,
``text`` hands in the files that it returns, and ``packed`` hands in what it writes to disk::

    @replaces("Layer.forward", score=60)
    def exits_with_zero(self, input): ...

As in ``variants``, the body sees only what its target file imports; it imports everything else itself.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from grader.core.assignment import Assignment
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission

from .variants import Code, claimed, marked, source_of

ALL: Final = math.inf  # all points that can be earned
CLAIM: Final = "__attack__"


@dataclass(frozen=True)
class Attack:
    """A hostile submission.

    Attributes:
        name: A unique name, such as ``verdicts.exits_with_zero``.
        description: What the attack tries, in one line.
        score: The score that its honest part deserves; None if intake cannot read the submission.
        bonus: The bonus that its honest part deserves; None if intake cannot read the submission.
        needs: The layer of isolation that stops the attack; empty if a process of its own is enough.
        build: Makes the submission; it may write into the folder that it is given.
    """

    name: str
    description: str
    score: float | None
    bonus: float | None
    needs: str
    build: Callable[[Path], Submission] = field(repr=False)


def replaces(
    target: str, *, score: float = ALL, bonus: float = ALL, needs: str = "", prelude: str = ""
) -> Callable[[Code], Code]:
    """Mark a function, or class, that takes the place of ``Piece`` or ``Piece.attribute``.

    Score and bonus are what the rest of the submission deserves; for ``needs``, see :class:`Attack`; ``prelude`` is
    source text to put into the file before the function.
    """

    def build(assignment: Assignment, code: Code, _: Path) -> Submission:
        home = assignment.rubric.file_of(target.partition(".")[0])
        return _appended(assignment, home, f"{prelude}\n\n{source_of(code)}\n\n{target} = {code.__name__}\n")

    return marked(CLAIM, (build, score, bonus, needs))


def on_import(path: str, *, score: float = ALL, bonus: float = ALL) -> Callable[[Code], Code]:
    """Mark a function that is called when the file ``path`` is imported, after the reference's code in that file."""

    def build(assignment: Assignment, code: Code, _: Path) -> Submission:
        return _appended(assignment, path, f"{source_of(code)}\n\n{code.__name__}()\n")

    return marked(CLAIM, (build, score, bonus, ""))


def text(*, score: float | None = ALL) -> Callable[[Code], Code]:
    """Mark a function that returns files, path to text, which replace those of the reference; None removes a file."""

    def build(assignment: Assignment, code: Code, _: Path) -> Submission:
        files = {**assignment.solution(), **code()}
        return Submission("attack", {path: content for path, content in files.items() if content is not None})

    return marked(CLAIM, (build, score, ALL, ""))


def packed(*, score: float | None = ALL, bonus: float | None = ALL) -> Callable[[Code], Code]:
    """Mark a function that writes into the folder that it is given, and returns the path that is handed in."""

    def build(assignment: Assignment, code: Code, folder: Path) -> Submission:
        with Reader() as reader:
            (candidate,) = reader.discover([code(folder)], expected=assignment.rubric.expected)
            return reader.read(candidate)

    return marked(CLAIM, (build, score, bonus, ""))


def attacks_of(assignment: Assignment) -> tuple[Attack, ...]:
    """Every attack in the assignment's package ``attacks``, in the order of its files."""
    best, most = assignment.rubric.max_score, assignment.rubric.max_bonus
    return tuple(
        Attack(
            name=f"{topic}.{code.__name__}",
            description=(inspect.getdoc(code) or "").partition("\n")[0],
            score=None if score is None else min(score, best),
            bonus=None if bonus is None else min(bonus, most),
            needs=needs,
            build=partial(build, assignment, code),
        )
        for topic, code, (build, score, bonus, needs) in claimed(assignment.part("corpus.attacks"), CLAIM)
    )


def _appended(assignment: Assignment, path: str, addition: str) -> Submission:
    files = assignment.solution()
    files[path] += f"\n\n{addition}"
    return Submission("attack", files)

"""How a decorated function becomes a hostile submission.

``replaces`` puts the function in the place of a piece of the reference, ``on_import`` has it called at the end of a
file, ``text`` takes the files that it returns, and ``packed`` reads what it writes to disk through intake::

    @replaces("GroupRMSNorm.forward", score=NO_ANSWER)
    def exits_with_zero(self, input): ...

As in ``variants``, a body sees only what its target file imports; further imports go inside. Numbers: task 1 has 42
points, tasks 2 and 3 together 58, task 4 is a bonus of 50. An attack that spoils a forward only keeps the points for
construction, and one that spoils ``functional.py`` costs the whole bonus, for everything in task 4 calls it.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from grader.grading import reference_files
from grader.intake.discover import discover
from grader.intake.submission import Submission

from ..variants.catalog import HOME, source_of

NORM_LOST: Final = 58.0  # task 1 is worth nothing
NO_ANSWER: Final = 66.0  # of task 1 only initialisation and registration are left: its forward gives nothing
WRONG_ANSWER: Final = 67.0  # and purity: its forward gives wrong values, but leaves its input alone
FULL: Final = 100.0
BONUS: Final = 50.0
CLAIM: Final = "__attack__"

Code = Callable[..., Any]
Files = Mapping[str, str]


@dataclass(frozen=True)
class Attack:
    """A hostile submission.

    Attributes:
        name: Unique, as in ``verdicts.exits_with_zero``.
        description: What it tries, in one line.
        score: What its honest part deserves; None where nothing can be read, so nothing is graded.
        bonus: The same for the bonus.
        needs: The layer of isolation that stops it; empty where a process of its own is enough.
        build: Gives the submission; a folder to write into is at hand.
    """

    name: str
    description: str
    score: float | None
    bonus: float | None
    needs: str
    build: Callable[[Path], Submission] = field(repr=False)


@dataclass(frozen=True)
class _Claim:
    """What a decorator says about the code below it."""

    build: Callable[[Code, Path], Submission]
    score: float | None
    bonus: float | None
    needs: str


def replaces(
    target: str, *, score: float = FULL, bonus: float = BONUS, needs: str = "", prelude: str = ""
) -> Callable[[Code], Code]:
    """Mark a function, or class, that takes the place of ``Piece`` or ``Piece.attribute``.

    Args:
        target: What it replaces.
        score: What is left of 100.
        bonus: What is left of 50.
        needs: See :class:`Attack`.
        prelude: Source for the file, before the function.
    """
    home = HOME[target.partition(".")[0]]

    def build(code: Code, folder: Path) -> Submission:
        del folder  # text in memory
        return _appended(home, f"{prelude}\n\n{source_of(code)}\n\n{target} = {code.__name__}\n")

    return _marker(_Claim(build, score, bonus, needs))


def on_import(path: str, *, score: float = FULL, bonus: float = BONUS, needs: str = "") -> Callable[[Code], Code]:
    """Mark a function that is called when the file ``path`` is imported, after its own honest code."""

    def build(code: Code, folder: Path) -> Submission:
        del folder  # text in memory
        return _appended(path, f"{source_of(code)}\n\n{code.__name__}()\n")

    return _marker(_Claim(build, score, bonus, needs))


def text(*, score: float | None = FULL, bonus: float | None = BONUS, needs: str = "") -> Callable[[Code], Code]:
    """Mark a function that gives files to lay over the reference; None takes a file away."""

    def build(code: Code, folder: Path) -> Submission:
        del folder  # text in memory
        files = {**reference_files(), **code()}
        return Submission("attack", {path: content for path, content in files.items() if content is not None})

    return _marker(_Claim(build, score, bonus, needs))


def packed(*, score: float | None = FULL, bonus: float | None = BONUS) -> Callable[[Code], Code]:
    """Mark a function that writes into a folder and gives the path that is handed in."""

    def build(code: Code, folder: Path) -> Submission:
        (candidate,) = discover([code(folder)])
        return candidate.read()

    return _marker(_Claim(build, score, bonus, ""))


def all_attacks() -> tuple[Attack, ...]:
    """Every attack of this package, in the order of its files."""
    return tuple(_attack(topic, code, claim) for topic, code, claim in _claims())


def _attack(topic: str, code: Code, claim: _Claim) -> Attack:
    description = (inspect.getdoc(code) or "").partition("\n")[0]
    name = f"{topic}.{code.__name__}"
    return Attack(name, description, claim.score, claim.bonus, claim.needs, partial(claim.build, code))


def _appended(path: str, addition: str) -> Submission:
    files = reference_files()
    files[path] += f"\n\n{addition}"
    return Submission("attack", files)


def _marker(claim: _Claim) -> Callable[[Code], Code]:
    def mark(code: Code) -> Code:
        setattr(code, CLAIM, claim)
        return code

    return mark


def _claims() -> Iterator[tuple[str, Code, _Claim]]:
    """The marked code of the package's files, with the name of its file."""
    package = importlib.import_module(__package__ or "")
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for code in vars(module).values():
            claim = getattr(code, "__dict__", {}).get(CLAIM)  # not inherited
            if claim is not None:
                yield info.name, code, claim

"""Prepares a submission for comparison: its files are reduced, and the passages marked that all students may have.

Pygments reduces a text: comments and spaces are removed, each name and each string is one letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pygments.lexers import PythonLexer
from pygments.token import Comment, Name, String, Text

from grader import SUBMITTED
from grader.core.assignment import Assignment
from grader.core.intake.candidate import Candidate
from grader.core.intake.submission import LEFT_OUT, Submission
from grader.core.messages import Message, Sentences, UserError, say
from grader.core.rubric import Rubric

from .library import Finding, Unparsed, library_use

REFERENCE: Final = "ref"
MAX_CHARACTERS: Final = 100_000  # of source text; an honest file has less than a tenth of that
# A file with fewer characters of the student's own, about four statements, is often the same as another by chance.
SHORT: Final = 100
NEAR: Final = 0.8  # the part of a file that has to be in a known answer for the file to be reported
HELPERS: Final = "*"  # used in place of a path for all files that no task asks for, joined
WORDS: Final = Sentences(Path(__file__).with_name("words.toml"))
PASSAGE: Final = 25  # so many characters in a row must agree before they count, about two short statements
REMEMBERED: Final = 512  # texts; many students hand in the same stubs

Array = NDArray[Any]
NOTHING: Final[Array] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Code:
    """One text and its passages: every ``PASSAGE`` consecutive characters of the reduced text.

    Attributes:
        text: The text as handed in.
        passages: A hash of each passage, int64, ``[n]``; hashes differ from process to process.
        lines: The line of ``text``, from 0, that each reduced character comes from, int64, ``[n + PASSAGE - 1]``.
    """

    text: str
    passages: Array
    lines: Array

    def marked(self, passages: Array) -> Array:
        """Which reduced characters lie in one of the given passages: bool, shaped as ``lines``."""
        return self.spread(np.isin(self.passages, passages).astype(np.int64)) > 0

    def spread(self, weights: Array) -> Array:
        """The largest weight of a passage around each reduced character: from ``[n]`` to the shape of ``lines``."""
        spread = np.zeros(len(self.lines), dtype=np.int64)
        for offset in range(PASSAGE if len(weights) else 0):
            window = spread[offset : offset + len(weights)]
            np.maximum(window, weights, out=window)
        return spread


@lru_cache(REMEMBERED)
def read_code(text: str) -> Code:
    """Reduce a text; it need not be Python that compiles. The same text gives the same object.

    Raises:
        ValueError: If it has more than ``MAX_CHARACTERS``.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"{len(text)} characters; at most {MAX_CHARACTERS} are compared")
    reduced, places = "", list[int]()
    for place, kind, value in PythonLexer().get_tokens_unprocessed(text):
        letters = _letters(kind, value)
        reduced += letters
        places += range(place, place + len(letters))
    passages = [hash(reduced[start : start + PASSAGE]) for start in range(len(reduced) - PASSAGE + 1)]
    ends_of_lines = [place for place, character in enumerate(text) if character == "\n"]
    lines = np.searchsorted(np.array(ends_of_lines, dtype=np.int64), np.array(places, dtype=np.int64))
    return Code(text, np.array(passages, dtype=np.int64), lines)


def _letters(kind: tuple[str, ...], value: str) -> str:
    """What is left of a token; names that Python itself gives are kept, since nobody can change them."""
    if kind in Text or kind in Comment:
        return ""
    if kind in Name and kind not in Name.Builtin:
        return "V"
    return "S" if kind in String else value


@dataclass(frozen=True)
class Known:
    """Passages of the stubs, and of each solution by its name.

    Students may have them without copying from each other, so that they are not evidence.
    """

    stubs: Array
    answers: Mapping[str, Array]

    @cached_property
    def everything(self) -> Array:
        """All known passages, each once, sorted."""
        return np.unique(np.concatenate([self.stubs, *self.answers.values()]))


def read_known(assignment: Assignment, folders: Iterable[Path] = ()) -> Known:
    """Read the stubs of the assignment, its reference, and every Python file below ``folders``.

    Raises:
        UserError: If a folder has no Python file, or one that cannot be read or compared.
    """

    def below(folder: Path) -> Array:
        return _passages([folder] if folder.is_file() else sorted(folder.rglob("*.py")), str(folder))

    answers = {REFERENCE: _passages(assignment.solution_paths(), REFERENCE)}
    return Known(below(assignment.root / SUBMITTED), answers | {str(folder): below(folder) for folder in folders})


def _passages(paths: Iterable[Path], called: str) -> Array:
    found = [NOTHING]
    for path in paths:
        try:
            found.append(read_code(path.read_text(encoding="utf-8")).passages)
        except (OSError, ValueError) as error:
            raise UserError(f"--subtract {path}: cannot be subtracted ({error}).") from None
    if len(found) == 1:
        raise UserError(f"--subtract {called}: no Python file to subtract. Give a folder with Python files.")
    return np.unique(np.concatenate(found))


@dataclass(frozen=True, eq=False)
class Piece:
    """One file of a submission.

    Attributes:
        own: Which reduced characters lie in no known passage: bool, shaped as ``code.lines``.
        telling: The passages that are not known, each once, sorted; only these are evidence of copying.
    """

    code: Code
    own: Array
    telling: Array

    @property
    def length(self) -> int:
        """How many characters are the student's own."""
        return int(self.own.sum())


@dataclass(frozen=True)
class Near:
    """A file of which nearly all is in a known answer; of the ``share``, characters of the stubs are no part."""

    id: str
    file: str
    answer: str
    share: float


@dataclass(frozen=True, eq=False)
class Work:
    """One submission, ready to be compared.

    Attributes:
        people: Ids, addresses or names of its students, as far as they are known.
        pieces: What to compare, by path.
        near: Files of which nearly all is in a known answer.
        library: Places where a library may do what a task asks for.
        notices: What could not be compared, and why.
    """

    id: str
    people: frozenset[str]
    pieces: Mapping[str, Piece]
    near: tuple[Near, ...] = ()
    library: tuple[Finding, ...] = ()
    notices: tuple[Message, ...] = ()


def read_work(candidate: Candidate, submission: Submission, known: Known, rubric: Rubric) -> Work:
    """Reduce one submission. Files that cannot be compared raise nothing; they are named in the notices."""
    students = candidate.origin.students if candidate.origin else ()
    people = frozenset(student.id or student.email or student.name for student in students)
    notices = [submission.reason] if submission.reason is not None else []
    pieces: dict[str, Piece] = {}
    near: list[Near] = []
    for path, text in _texts(submission, rubric).items():
        if len(text) > MAX_CHARACTERS:
            long = say("{path}: {n} characters", path=named(path), n=len(text))
            notices.append(long.then(say("at most {n} are compared", n=MAX_CHARACTERS), LEFT_OUT))
            continue
        code = read_code(text)
        pieces[path] = Piece(code, ~code.marked(known.everything), np.setdiff1d(code.passages, known.everything))
        near += _near(submission.id, path, code, known)
    library: list[Finding] = []
    for path, text in sorted(submission.files.items()):
        try:
            library += library_use(path, text, rubric)
        except Unparsed:
            notices.append(say("{path} cannot be parsed; library calls not checked.", path=path))
    return Work(submission.id, people - {""}, pieces, tuple(near), tuple(library), tuple(notices))


def named(path: str) -> str:
    """A path, or the name of what is compared beside the files of the tasks."""
    return WORDS("en", path) if path in ("", HELPERS) else path


def _texts(submission: Submission, rubric: Rubric) -> dict[str, str]:
    """The texts to compare, by path: the file of each task, and all other files joined."""
    asked = [path for path in rubric.expected if path in submission.files]
    rest = sorted(path for path in submission.files if path not in asked and PurePosixPath(path).name != "__init__.py")
    texts = {path: submission.files[path] for path in asked}
    if rest:
        texts[HELPERS] = "\n".join(f"# {path}\n{submission.files[path]}" for path in rest)
    return texts


def _near(identifier: str, path: str, code: Code, known: Known) -> list[Near]:
    written = ~code.marked(known.stubs)
    if (length := int(written.sum())) < SHORT:
        return []
    shares = {name: float((code.marked(passages) & written).sum()) / length for name, passages in known.answers.items()}
    return [Near(identifier, path, name, share) for name, share in shares.items() if share >= NEAR]

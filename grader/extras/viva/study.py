"""Everything that running a submission says about one of its tasks; questions are made of that alone.

Each version of a submission, as it is or with an edit, runs twice, each time in a new worker.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.core.assignment import Assignment
from grader.core.rubric import Rubric, Task
from grader.core.sandbox.handle import WorkerFailed, WorkerLike
from grader.specimens.variants import variants_of

from .source import Edit, Place, Source, edits_of, sources

Files = Mapping[str, str]
Start = Callable[[Files], WorkerLike]  # starts a worker

EXAM = Path(__file__).with_name("exam.py").read_text(encoding="utf-8")
LIMIT_S = 1.0  # of a worker's time for all calls on one version
NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
MOST_TEXT = 160  # characters of an option
CLOSE, APART = 1e-6, 1e-2  # relative to the largest number: the same up to rounding; different to a reader
MOST_EDITS = 8  # of a task's lines; each costs two workers


@dataclass(frozen=True)
class Outcome:
    """What a call gives on one version of a submission.

    Attributes:
        value: Dtype and numbers of a tensor, ``raises`` and the class of an exception, or the ``repr`` of all else.
        steps: The lines of the submission in the order in which they ran.
        held: The dtype and shape of the tensor that a line assigned or returned.
    """

    value: str
    steps: Sequence[Place] = ()
    held: Mapping[Place, str] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The value as options show it: with three digits."""
        return re.sub(NUMBER, _rounded, self.value)

    @cached_property
    def form(self) -> str:
        """The text without its numbers and words."""
        return re.sub(r"[A-Za-z_][\w.]*", "w", re.sub(NUMBER, "#", self.text))

    @property
    def is_readable(self) -> bool:
        """Whether a person could have computed it: no long, very large or very small numbers."""
        return len(self.text) <= MOST_TEXT and not re.search(r"\b(?:nan|inf)\b|\de[-+]|\d{6}", self.text)

    def same(self, other: Outcome) -> bool | None:
        """Whether it is the same as another; None where a person could not tell."""
        if re.sub(NUMBER, "#", self.value) != re.sub(NUMBER, "#", other.value):
            return False
        own, its = ([float(number) for number in re.findall(NUMBER, value)] for value in (self.value, other.value))
        largest = max(map(abs, [*own, *its, 1e-30]))
        gap = max((abs(a - b) for a, b in zip(own, its, strict=True)), default=0.0) / largest
        return True if gap <= CLOSE else False if gap >= APART and self.text != other.text else None

    def after(self, place: Place) -> int:
        """How many lines ran from a line on to the end; 0 if it was not reached."""
        return len(self.steps) - self.steps.index(place) if place in self.steps else 0


@dataclass(frozen=True)
class Call:
    """A few lines of code that a student reads in a question, and that a worker runs.

    Attributes:
        task: The id of the task whose names it uses, beside ``torch``.
        code: The lines; the last one is an expression, and its value is asked for.
        history: Whether it is about what earlier calls or seeds leave behind, rather than about one output.
    """

    task: str
    code: str
    history: bool = False


@dataclass(frozen=True)
class Viva:
    """The calls and laws of an assignment, from its file ``corpus/viva.toml``.

    Attributes:
        calls: What may be asked, in the order of the file.
        laws: From the id of a property to code like that of a call, whose value is true where the property holds. No
            student reads it; the title of the property is the law in words.
    """

    calls: tuple[Call, ...]
    laws: Mapping[str, str]


def viva_of(assignment: Assignment) -> Viva | None:
    """What the assignment's file says; None if it has no such file.

    Raises:
        ValueError: If the file names an unknown task or property.
    """
    path = assignment.folder / "corpus" / "viva.toml"
    if not path.is_file():
        return None
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    calls = tuple(Call(**{**call, "code": call["code"].strip()}) for call in data["calls"])
    known = {task.id for task in assignment.rubric.tasks} | assignment.rubric.properties.keys()
    for unknown in ({call.task for call in calls} | data["laws"].keys()) - known:
        raise ValueError(f"{path}: {unknown!r} is no task or property of the rubric.")
    return Viva(calls, {name: code.strip() for name, code in data["laws"].items()})


@dataclass(frozen=True)
class Version:
    """What code for a task does: the outcomes of the task's calls in their order, and the properties that it breaks."""

    outcomes: Sequence[Outcome]
    broken: frozenset[str]


Known = Mapping[str, Mapping[str, Version]]  # mistakes, by task and misconception


@dataclass(frozen=True)
class Study:
    """One task of one submission.

    Attributes:
        outcomes: Of the calls, in their order.
        holding: The properties whose law holds.
        edited: The submission with one edit each.
        mistakes: What others get wrong, for wrong answers, by misconception.
    """

    task: Task
    sources: Mapping[str, Source]
    calls: Sequence[Call]
    outcomes: Sequence[Outcome]
    holding: frozenset[str]
    edited: Sequence[tuple[Edit, Version]]
    mistakes: Mapping[str, Version]


def studies(start: Start, files: Files, rubric: Rubric, viva: Viva, known: Known, seed: str) -> Iterator[Study]:
    """What there is to ask about each task that can be imported and that does something.

    The seed decides which lines are edited.
    """
    readable = sources(files)
    for task in rubric.tasks:
        calls = [call for call in viva.calls if call.task == task.id]
        laws = {prop.id: viva.laws[prop.id] for prop in task.properties if prop.id in viva.laws}
        if own := _version(start, files, task, calls, laws):
            holding, edits = frozenset(laws) - own.broken, _chosen(readable, own, f"{seed}:{task.id}")
            versions = [(edit, _version(start, edit.applied(files), task, calls, laws)) for edit in edits]
            edited = [(edit, Version(one.outcomes, one.broken & holding)) for edit, one in versions if one]
            yield Study(task, readable, calls, own.outcomes, holding, edited, known.get(task.id, {}))


def known_mistakes(start: Start, assignment: Assignment, viva: Viva) -> dict[str, dict[str, Version]]:
    """By task, one wrong variant of the assignment for each of its misconceptions."""
    found: dict[str, dict[str, Version]] = {task.id: {} for task in assignment.rubric.tasks}
    for variant in variants_of(assignment):
        task = next((task for task in assignment.rubric.tasks if variant.piece in task.names), None)
        if task and not variant.valid and len(variant.hints) == 1 and not variant.hints & found[task.id].keys():
            calls = [call for call in viva.calls if call.task == task.id]
            version = _version(start, variant.files, task, calls, {})
            found[task.id] |= dict.fromkeys(variant.hints, version) if version else {}
    return found


def _version(start: Start, files: Files, task: Task, calls: Sequence[Call], laws: Files) -> Version | None:
    """Run code for a task; None if it cannot be imported, does not end, varies, or if every call raises something."""
    found = outcomes(start, files, task, [*(call.code for call in calls), *laws.values()])
    if not found or all(outcome.value.startswith("raises ") for outcome in found[: len(calls)]):
        return None
    judged = zip(laws, found[len(calls) :], strict=True)
    return Version(found[: len(calls)], frozenset(name for name, outcome in judged if outcome.value != "True"))


def _chosen(readable: Mapping[str, Source], own: Version, seed: str) -> list[Edit]:
    """Edits of lines of functions that ran; the seed decides which."""
    ran = sorted({place for outcome in own.outcomes for place in outcome.steps if place[0] in readable})
    inside = [(place, readable[place[0]].functions.get(place[1])) for place in ran]
    edits = [edit for place, around in inside if around for edit in edits_of(place, around[1][place[1]])]
    return random.Random(seed).sample(edits, min(MOST_EDITS, len(edits)))


def outcomes(start: Start, files: Files, task: Task, codes: Sequence[str]) -> list[Outcome] | None:
    """The outcomes of calls that use the names of a task; None if these cannot be imported, or no answer comes.

    A second worker confirms them: where it says something else, there is no outcome. In the first, lines are watched,
    and memory that nobody has written to holds nan, so that code which reads it has no outcome, either.
    """
    homes = {name: task.file_of(name).removesuffix(".py").replace("/", ".") for name in task.names}
    loads = [("load", {"module": module, "name": name}) for name, module in (*homes.items(), ("run", "src._exam"))]
    found = list[list[Outcome]]()
    for watched in (True, False):
        worker = start({**files, "src/_exam.py": EXAM})
        call = ("call", {"target": "run", "arguments": [homes, list(codes), watched]})
        try:
            found.append([_outcome(reply) for reply in worker.request([*loads, call], LIMIT_S)["value"]["outcomes"]])
        except (WorkerFailed, TypeError, ValueError, KeyError):  # a submission may have any reply sent
            return None
        finally:
            worker.close()
    first, second = found
    is_whole = len(first) == len(second) == len(codes)
    return first if is_whole and all(a.same(b) for a, b in zip(first, second, strict=True)) else None


def _outcome(reply: Mapping[str, Any]) -> Outcome:
    steps = tuple((str(path), int(line)) for path, line in reply["steps"])
    held = {(str(path), int(line)): str(text) for path, line, text in reply["held"]}
    return Outcome(str(reply["value"]), steps, held)


def _rounded(number: re.Match[str]) -> str:
    return number[0] if number[0].lstrip("-").isdecimal() else str(float(f"{float(number[0]):.3g}") + 0.0)

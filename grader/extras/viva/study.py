"""Everything that running a submission says about one of its tasks; questions are made of that alone.

Each version of a submission, as it is or with an edit, runs twice, each time in a new worker.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from grader.core.assignment import Assignment
from grader.core.results.report import Record
from grader.core.rubric import Rubric, Task
from grader.core.sandbox.handle import WorkerFailed, WorkerLike

from .source import CALL, PASS, Edit, Place, edits_of, lines_of

Files = Mapping[str, str]
Start = Callable[[Files], WorkerLike]  # starts a worker

EXAM = Path(__file__).with_name("exam.py").read_text(encoding="utf-8")
FLOAT = r"-?\d+(?:\.\d+)?e[-+]?\d+|-?\d+\.\d+"
MOST_TEXT = 75  # characters of a value, which is one line of an option
MOST_FRACTIONS = 2  # different numbers that two digits after the point do not write
LIMIT_S, LIMIT_OF_EDIT_S = 2.0, 0.4  # of a worker's time for all calls on one version; many edits never end
MOST_TRIED, TRIES_OF_TASK = 9, 13  # edits of a group and of a task; each costs two workers, or one if it raises
ENOUGH_EDITS, ENOUGH_WAYS, MOST_EDITS, CALLS_OF_EDITS = 4, 3, 6, 9  # of a task


class Call(Record):
    """A few lines of code that a student reads in a question, and that a worker runs; the last one is an expression.

    Attributes:
        task: The id of the task whose names it uses, beside ``torch``.
        history: Whether it is about what earlier calls or seeds leave behind, rather than about one output.
        then: An expression about what the code leaves behind; questions about lines do without it.
    """

    task: str
    code: str
    history: bool = False
    then: str = ""

    @property
    def whole(self) -> str:
        """What is run; its last line gives the value."""
        return f"{self.code.strip()}\n{self.then}".strip()


class Viva(Record):
    """What an assignment declares in its file ``corpus/viva.toml``.

    Attributes:
        laws: From the id of a property to code like that of a call, whose value is true where the property holds. No
            student reads it; the title of the property is the law in words. It raises where one could argue about them.
    """

    calls: list[Call]
    laws: dict[str, str]


class Value(str):
    """A tensor's dtype and numbers or sizes, ``raises`` and an exception's class, a ``repr``, or several in turn."""

    def text(self, digits: int = 3) -> str:
        """As options show it; two values that two digits do not tell apart are one to a reader."""
        return re.sub(FLOAT, lambda number: str(float(f"{float(number[0]):.{digits}g}") + 0.0), self)

    @property
    def is_readable(self) -> bool:
        """Whether a person could have computed it: no long, huge, tiny or random numbers, no state."""
        text = self.text()
        is_short = len(text) <= MOST_TEXT and len({*re.findall(r"\d+\.\d{3,}", text)}) <= MOST_FRACTIONS
        return is_short and not re.search(r"\b(?:nan|inf|uint8)\b|\de[-+]|\d{6}", text)


@dataclass(frozen=True)
class Outcome:
    """What a call gives on one version of a submission, and what each line meanwhile assigned or returned."""

    value: Value  # of its last line
    steps: Sequence[Place]  # lines of the submission, in the order in which they ran
    told: Mapping[tuple[str, Place], Value]  # by kind of question and line


@dataclass(frozen=True)
class Version:
    """What code for a task does with each call, and the properties that it breaks, or of which that can be disputed."""

    outcomes: Mapping[Call, Outcome]
    broken: frozenset[str]
    unclear: frozenset[str]


@dataclass(frozen=True)
class Study:
    """One task of one submission."""

    task: Task
    lines: Mapping[Place, str]
    own: Version  # the submission as it is
    holding: frozenset[str]  # the properties whose law holds for it
    edited: Sequence[tuple[Edit, Version]]  # with one edit each, after which no more calls raise


def viva_of(assignment: Assignment) -> Viva | None:
    """The contents of the assignment's file; None if there is no such file."""
    path = assignment.folder / "corpus" / "viva.toml"
    return Viva.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def studies(start: Start, files: Files, rubric: Rubric, viva: Viva, seed: str) -> Iterator[Study]:
    """What there is to ask about each task that can be imported and that does something; the seed chooses edits."""
    lines, tries = lines_of(files), iter(range(0))
    for task in rubric.tasks:
        laws = {prop.id: viva.laws[prop.id] for prop in task.properties if prop.id in viva.laws}
        if base := version(start, files, task, viva.calls, laws):
            rng, edited = random.Random(f"{seed}:{task.id}"), list[tuple[Edit, Version]]()
            calls = rng.sample([*base.outcomes], min(len(base.outcomes), CALLS_OF_EDITS))
            holding = {name: law for name, law in laws.items() if name not in base.broken | base.unclear}
            tries = chain(tries, range(TRIES_OF_TASK))  # after what earlier tasks have left
            for alike in _alike(lines, base, rng):
                few = (edit for edit, _ in zip(alike, tries, strict=False))
                tried = ((edit, version(start, edit.applied(files), task, calls, holding, base)) for edit in few)
                found = [*islice(((edit, run) for edit, run in tried if run), MOST_EDITS)]
                edited = max(edited, found, key=lambda some: (len({run.broken for _, run in some}), len(some)))
                if len(edited) >= ENOUGH_EDITS and len({run.broken for _, run in edited}) >= ENOUGH_WAYS:
                    break
            yield Study(task, lines, base, frozenset(holding), edited)


def version(
    start: Start, files: Files, task: Task, calls: Sequence[Call], laws: Mapping[str, str], base: Version | None = None
) -> Version | None:
    """Run code for a task; None if it cannot be imported, does not end, varies, or raises more than ``base``.

    Without ``base``, lines are traced. Two workers run the code. If a call gives two values in them, the result is
    None; a line that holds different values is left out. In the first worker, uninitialised memory reads as nan.
    """
    asked = [call for call in calls if call.task == task.id]
    codes = [*(call.whole for call in asked), *laws.values()]
    homes = {name: task.file_of(name).removesuffix(".py").replace("/", ".") for name in task.names}
    loads = [("load", {"module": module, "name": name}) for name, module in (*homes.items(), ("run", "src._exam"))]
    calm = {call for call in asked if base and not base.outcomes[call].value.startswith("raises ")}
    found, limit_s = list[list[Outcome]](), LIMIT_OF_EDIT_S if base else LIMIT_S
    for is_first in (True, False):
        arguments = [homes, codes, not base, is_first]
        try:
            with closing(start({**files, "src/_exam.py": EXAM})) as worker:
                reply = worker.request([*loads, ("call", {"target": "run", "arguments": arguments})], limit_s)
            found.append([_outcome(one) for one in reply["value"]["outcomes"]])
        except (WorkerFailed, AttributeError, TypeError, ValueError, KeyError):  # a submission may have any reply sent
            return None
        raising = {call for call, one in zip(asked, found[-1], strict=False) if one.value.startswith("raises ")}
        if raising >= {*asked} or raising & calm:
            return None
    first, second = found
    if len(first) != len(codes) or [one.value for one in first] != [one.value for one in second]:
        return None
    agreed = [replace(a, told=dict(a.told.items() & b.told.items())) for a, b in zip(first, second, strict=True)]
    held = {name: one.value for name, one in zip(laws, first[len(asked) :], strict=True)}
    unclear = frozenset(name for name, value in held.items() if value.startswith("raises "))
    broken = frozenset(name for name, value in held.items() if value != "True") - unclear
    return Version(dict(zip(asked, agreed, strict=False)), broken, unclear)


def _outcome(reply: Mapping[str, Any]) -> Outcome:
    steps = [(str(path), int(line)) for path, line in reply["steps"]]
    told = {(str(kind), (str(path), int(n))): Value(text.encode(), "utf-8") for kind, path, n, text in reply["told"]}
    return Outcome(Value(reply["value"].encode(), "utf-8"), steps, told)


def _alike(lines: Mapping[Place, str], base: Version, rng: random.Random) -> Iterator[Sequence[Edit]]:
    """Edits of lines that ran, by file, and calls apart from words, which so tell nothing; likelier ones come first."""
    ran = {place for run in base.outcomes.values() for place in run.steps}
    edits = [edit for place in sorted(ran & lines.keys()) for edit in edits_of(place, lines[place])]
    groups = dict[tuple[bool, str], list[Edit]]()
    for edit in rng.sample(edits, len(edits)):
        groups.setdefault((edit.slip in (CALL, PASS), edit.place[0]), []).append(edit)
    return (some[:MOST_TRIED] for some in groups.values())

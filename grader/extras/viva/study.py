"""Everything that running a submission says about one of its tasks; questions are made of that alone."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from grader.core.assignment import Assignment
from grader.core.rubric import Rubric, Task
from grader.core.specimens.variants import variants_of

from .edits import Edit, edits_of
from .execution import NOTHING, Bench, Files, Outcome, Wanted, alike
from .source import Source, sources

MOST_EDITS = 10  # of a task's lines; each costs two workers
MOST_OF_A_LINE = 2


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


@dataclass(frozen=True)
class Edited(Version):
    """What the submission does with one edit."""

    edit: Edit


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
    edited: Sequence[Edited]
    mistakes: Mapping[str, Version]


def studies(bench: Bench, files: Files, rubric: Rubric, viva: Viva, known: Known, seed: str) -> Iterator[Study]:
    """What there is to ask about each task that can be imported and that does something.

    The seed decides which lines are edited. Of edits that change nothing, such as a move to the device where all is,
    one is kept.
    """
    readable = sources(files)
    wanted = {path: source.assigned for path, source in readable.items()}
    for task in rubric.tasks:
        calls = [call for call in viva.calls if call.task == task.id]
        laws = {prop.id: viva.laws[prop.id] for prop in task.properties if prop.id in viva.laws}
        own = _version(bench, files, task, calls, laws, wanted) if calls else None
        if own is None or all(outcome.error for outcome in own.outcomes):
            continue
        holding = frozenset(laws) - own.broken
        edited, unchanged = list[Edited](), False
        for edit in _chosen(readable, own, f"{seed}:{task.id}"):
            version = _version(bench, edit.applied(files), task, calls, laws)
            if version is None or _only_crashes(version, own, edit):
                continue
            changes = version.broken != own.broken or not alike(version.outcomes, own.outcomes)
            if changes or not unchanged:
                unchanged = unchanged or not changes
                edited.append(Edited(version.outcomes, version.broken & holding, edit))
        yield Study(task, readable, calls, own.outcomes, holding, edited, known.get(task.id, {}))


def known_mistakes(bench: Bench, assignment: Assignment, viva: Viva) -> dict[str, dict[str, Version]]:
    """By task, one wrong variant of the assignment for each of its misconceptions."""
    found: dict[str, dict[str, Version]] = {task.id: {} for task in assignment.rubric.tasks}
    for variant in variants_of(assignment):
        task = next((task for task in assignment.rubric.tasks if variant.piece in task.names), None)
        if task and not variant.valid and len(variant.hints) == 1 and not variant.hints & found[task.id].keys():
            calls = [call for call in viva.calls if call.task == task.id]
            version = _version(bench, variant.files, task, calls, {})
            found[task.id] |= dict.fromkeys(variant.hints, version) if version else {}
    return found


def _version(
    bench: Bench, files: Files, task: Task, calls: Sequence[Call], laws: Mapping[str, str], wanted: Wanted = NOTHING
) -> Version | None:
    """Run code for a task; None if it cannot be imported, does not end, or says different things each time."""
    outcomes = bench.outcomes(files, task, [*(call.code for call in calls), *laws.values()], wanted)
    if outcomes is None:
        return None
    judged = zip(laws, outcomes[len(calls) :], strict=True)
    return Version(outcomes[: len(calls)], frozenset(name for name, outcome in judged if outcome.value != "True"))


def _only_crashes(version: Version, own: Version, edit: Edit) -> bool:
    """Whether every call that reaches the edited line, and raised nothing, raises something now."""
    pairs = zip(own.outcomes, version.outcomes, strict=True)
    raised = [bool(new.error) for old, new in pairs if old.after(edit.path, edit.line) and not old.error]
    return bool(raised) and all(raised)


def _chosen(readable: Mapping[str, Source], own: Version, seed: str) -> list[Edit]:
    """Edits of lines of functions that ran, a few of each line, in an order that the seed decides."""
    rng = random.Random(seed)
    ran = {step for outcome in own.outcomes for step in outcome.steps}
    by_line: dict[tuple[str, int], list[Edit]] = {}
    for path, source in readable.items():
        lines = frozenset(line for home, line in ran if home == path and source.name(line))
        for edit in edits_of(path, source, lines):
            by_line.setdefault((path, edit.line), []).append(edit)
    places = rng.sample(sorted(by_line), len(by_line))
    few = [rng.sample(by_line[place], min(MOST_OF_A_LINE, len(by_line[place]))) for place in places]
    return [edit for turn in zip_longest(*few) for edit in turn if edit][:MOST_EDITS]

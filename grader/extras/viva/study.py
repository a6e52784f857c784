"""Everything that running a submission says about one of its tasks; questions are made of that alone."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.core.assignment import Assignment
from grader.core.rubric import Rubric, Task
from grader.core.specimens.variants import variants_of
from grader.core.specimens.viva import Call, Viva

from .edits import Edit, edits_of
from .execution import Bench, Files, Outcome
from .source import Source, sources

MOST_EDITS = 10  # of a task's lines; each costs two workers
MOST_OF_A_LINE = 2
Known = Mapping[str, Sequence["Version"]]


@dataclass(frozen=True)
class Version:
    """Other code for the same task: the submission with one edit, or a known mistake.

    Attributes:
        outcomes: Of the task's calls, in their order.
        broken: The properties whose law does not hold for it.
        edit: None for a known mistake.
        mistake: The id of the misconception; empty for an edit.
    """

    outcomes: Sequence[Outcome]
    broken: frozenset[str]
    edit: Edit | None = None
    mistake: str = ""


@dataclass(frozen=True)
class Study:
    """One task of one submission.

    Attributes:
        outcomes: Of the calls, in their order.
        holding: The properties whose law holds.
        edited: The submission with one edit each.
        mistakes: What others get wrong, for wrong answers.
    """

    task: Task
    sources: Mapping[str, Source]
    calls: Sequence[Call]
    outcomes: Sequence[Outcome]
    holding: frozenset[str]
    edited: Sequence[tuple[Version, Edit]]
    mistakes: Sequence[Version]


def studies(bench: Bench, files: Files, rubric: Rubric, viva: Viva, known: Known, seed: str) -> Iterator[Study]:
    """What there is to ask about each task that can be imported and that does something.

    Args:
        bench: Runs versions.
        files: The submission.
        rubric: Its tasks.
        viva: Calls and laws.
        known: Known mistakes, by task.
        seed: Decides which lines are edited.
    """
    readable = sources(files)
    wanted = {path: _assigned(source.tree) for path, source in readable.items()}
    for task in rubric.tasks:
        calls = [call for call in viva.calls if call.task == task.id]
        own = _version(bench, files, task, viva, wanted) if calls else None
        if own is None or all(outcome.error for outcome in own.outcomes):
            continue
        holding = frozenset(prop.id for prop in task.properties if prop.id in viva.laws) - own.broken
        every = {step for outcome in own.outcomes for step in outcome.steps}
        ran = {(path, line) for path, line in every if path in readable and readable[path].function(line)}
        edited, unchanged = (
            [],
            0,
        )  # of edits that change nothing, such as a move to the device where all is, one is kept
        for edit in _chosen(readable, ran, f"{seed}:{task.id}"):
            version = _version(bench, edit.applied(files), task, viva)
            changes = version and (version.broken != own.broken or not _alike(version, own))
            if version and not _only_crashes(version, own, edit) and (changes or not unchanged):
                unchanged += not changes
                edited.append((replace(version, broken=version.broken & holding, edit=edit), edit))
        yield Study(task, readable, calls, own.outcomes, holding, edited, known.get(task.id, ()))


def known_mistakes(bench: Bench, assignment: Assignment, viva: Viva) -> dict[str, list[Version]]:
    """By task, one wrong variant of the assignment for each of its misconceptions."""
    found: dict[str, list[Version]] = {task.id: [] for task in assignment.rubric.tasks}
    seen = set[str]()
    for variant in variants_of(assignment):
        task = next((task for task in assignment.rubric.tasks if variant.piece in task.names), None)
        if task and not variant.valid and len(variant.hints) == 1 and not variant.hints & seen:
            seen |= variant.hints
            if version := _version(bench, variant.files, task, replace(viva, laws={})):
                found[task.id].append(replace(version, mistake=variant.hint or ""))
    return found


def _version(
    bench: Bench, files: Files, task: Task, viva: Viva, wanted: Mapping[str, Any] | None = None
) -> Version | None:
    """Run code for a task; None if it cannot be imported, does not end, or says different things each time."""
    codes = [call.code for call in viva.calls if call.task == task.id]
    laws = {prop.id: viva.laws[prop.id] for prop in task.properties if prop.id in viva.laws}
    outcomes = bench.outcomes(files, task, [*codes, *laws.values()], wanted)
    if outcomes is None:
        return None
    judged = zip(laws, outcomes[len(codes) :], strict=True)
    return Version(outcomes[: len(codes)], frozenset(name for name, outcome in judged if outcome.value != "True"))


def _alike(version: Version, own: Version) -> bool:
    """Whether no call tells them apart."""
    return all(a.same(b) for a, b in zip(version.outcomes, own.outcomes, strict=True))


def _only_crashes(version: Version, own: Version, edit: Edit) -> bool:
    """Whether every call that reaches the edited line, and raised nothing, raises something now."""
    pairs = zip(own.outcomes, version.outcomes, strict=True)
    raised = [bool(new.error) for old, new in pairs if old.after(edit.path, edit.line) and not old.error]
    return bool(raised) and all(raised)


def _chosen(readable: Mapping[str, Source], ran: set[tuple[str, int]], seed: str) -> list[Edit]:
    """Edits of the lines that ran, a few of each line, in an order that the seed decides."""
    rng = random.Random(seed)
    by_line: dict[tuple[str, int], list[Edit]] = {}
    for path in sorted({path for path, _ in ran}):
        for edit in edits_of(path, readable[path], frozenset(line for own, line in ran if own == path)):
            by_line.setdefault((path, edit.line), []).append(edit)
    places = rng.sample(sorted(by_line), len(by_line))
    few = {place: rng.sample(by_line[place], min(MOST_OF_A_LINE, len(by_line[place]))) for place in places}
    return [few[place][n] for n in range(MOST_OF_A_LINE) for place in places if n < len(few[place])][:MOST_EDITS]


def _assigned(tree: ast.Module) -> dict[str, Any]:
    """By line, the one name that a statement that begins there assigns, or ``return``."""
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names[str(node.lineno)] = name
            case ast.Return(lineno=line):
                names[str(line)] = "return"
    return names

"""Points from outcomes: a property earns its points when all of its cases pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..rubric import Property, Rubric, Task
from .outcome import CaseResult, Outcome, property_outcome


@dataclass(frozen=True)
class PropertyScore:
    """A property with its outcome, its points and its cases."""

    property: Property
    outcome: Outcome
    points: float
    cases: tuple[CaseResult, ...]


@dataclass(frozen=True)
class TaskScore:
    """A task with the scores of its properties."""

    task: Task
    properties: tuple[PropertyScore, ...]

    @property
    def points(self) -> float:
        """The points earned."""
        return sum(prop.points for prop in self.properties)


def score(rubric: Rubric, results: Sequence[CaseResult]) -> tuple[TaskScore, ...]:
    """The scores of all tasks and properties, in the rubric's order."""
    by_property: dict[str, list[CaseResult]] = {identifier: [] for identifier in rubric.properties}
    for result in results:
        by_property[result.property_id].append(result)
    return tuple(
        TaskScore(task, tuple(_property_score(prop, by_property) for prop in task.properties)) for task in rubric.tasks
    )


def _property_score(prop: Property, by_property: Mapping[str, Sequence[CaseResult]]) -> PropertyScore:
    cases = tuple(by_property[prop.id])
    outcome = property_outcome(cases)
    return PropertyScore(prop, outcome, prop.points if outcome is Outcome.PASSED else 0.0, cases)

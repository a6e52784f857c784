"""The report of one submission and the summary of a run: strict models with a published schema."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from grader.core.intake.origin import Origin, absent
from grader.core.messages import MessagePart

from .outcome import Outcome, is_elsewhere

SCHEMA_VERSION: Literal["1.1"] = "1.1"
Status = Literal["graded", "unreadable", "grader_error"]
# What has no grade or rests on changed ground comes first, then what is likely unfair, then the rest.
ReasonCode = Literal[
    "grader_error",
    "stale_decision",
    "unreadable",
    "environment",
    "nothing_ran",
    "near_zero",
    "timed_out",
    "inconsistent",
    "doubtful",
    "left_out",
    "renamed",
    "own_import",
    "late_without_date",
]
Points = Field(ge=0)


class Record(BaseModel):
    """Strict and immutable: no unknown field, no NaN, no number that comes as text."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SourceFile(Record):
    """A file of the submission that was read."""

    path: str
    sha256: str


class SubmissionInfo(Record):
    """What was graded.

    Attributes:
        notices: What a student or an assistant should know about how the files were found, in plain words.
        notice_parts: The parts of each notice.
        origin: Whose it is, as far as a platform or a roster tells; null where nothing does.
    """

    id: str
    sha256: str
    files: list[SourceFile]
    notices: list[str] = []
    notice_parts: list[list[MessagePart]] = []
    origin: Origin | None = None


class CaseReport(Record):
    """One case; ``error_ulp`` is null if there is no error in numbers, or an infinite one.

    ``elements`` is the size of a wrong tensor: of several failing cases, the smallest is the easiest to think about.
    ``parts`` is what the message was made of.
    """

    id: str
    outcome: Outcome = Field(strict=False)
    error_ulp: float | None = None
    limit_ulp: float | None = None
    elements: int | None = None
    message: str = ""
    parts: list[MessagePart] = []


class PropertyReport(Record):
    """One rubric line; ``misconception`` names the mistake that the student's output fits, if one does."""

    id: str
    title: str
    points: float = Points
    max_points: float = Points
    outcome: Outcome = Field(strict=False)
    hint: str = ""
    misconception: str | None = None
    cases: list[CaseReport]

    @property
    def simplest_case(self) -> CaseReport | None:
        """The case to show, of those with the outcome of the property: on the CPU, with the fewest elements."""

        def size(case: CaseReport) -> tuple[bool, float]:
            return is_elsewhere(case.id), math.inf if case.elements is None else case.elements

        return min((case for case in self.cases if case.outcome is self.outcome), key=size, default=None)

    @property
    def evidence(self) -> CaseReport | None:
        """The simplest case, if its message adds to the hint; that of a property not implemented yet never does."""
        case = self.simplest_case
        return case if case and case.message and self.outcome is not Outcome.NOT_IMPLEMENTED else None


class TaskReport(Record):
    """One task."""

    id: str
    title: str
    score: float = Points
    max_score: float = Points
    properties: list[PropertyReport]


class Environment(Record):
    """Where it was graded."""

    python: str
    torch: str
    devices: list[str]
    isolation: str


class Provenance(Record):
    """How it was graded; ``started_at`` and ``duration_s`` alone differ between two runs of the same command."""

    grader_version: str
    rubric_sha256: str
    hidden_tests_sha256: str
    seed: int
    started_at: str
    duration_s: float
    command: str


class Rated(Record):
    """What has a status, a score and a bonus; subclasses declare them, since their order is that of the file."""

    @model_validator(mode="after")
    def _is_scored_if_graded(self) -> Self:
        status, score, bonus = (getattr(self, name) for name in ("status", "score", "bonus"))
        if (status == "graded") != (score is not None and bonus is not None):
            raise ValueError("a submission has a score and a bonus if and only if it is graded")
        return self


class Report(Rated):
    """``report.json``: everything about one submission."""

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    assignment: str
    submission: SubmissionInfo
    status: Status
    reason: str | None = None
    reason_parts: list[MessagePart] = []
    score: float | None
    max_score: float = Points
    bonus: float | None
    max_bonus: float = Points
    tasks: list[TaskReport]
    environment: Environment
    provenance: Provenance

    @property
    def properties(self) -> dict[str, PropertyReport]:
        """The properties of all tasks by their ids, in order."""
        return {prop.id: prop for task in self.tasks for prop in task.properties}

    def with_properties(self, change: Callable[[PropertyReport], PropertyReport]) -> Report:
        """The same report with each property changed; its points are not added up again."""
        tasks = [task.model_copy(update={"properties": [*map(change, task.properties)]}) for task in self.tasks]
        return self.model_copy(update={"tasks": tasks})

    @property
    def worth(self) -> tuple[object, ...]:
        """All points of the report, each with the most that can be earned."""
        parts = [(prop.id, prop.points, prop.max_points) for prop in self.properties.values()]
        return self.score, self.max_score, self.bonus, self.max_bonus, parts


class Practice(Record):
    """Points of a student's notebooks, beside the score and never part of it.

    Attributes:
        unsettled: Checks that never ran, such as one whose cell was deleted: no points, until a person has looked.
    """

    points: float = Points
    max_points: float = Points
    unsettled: list[str] = []


class SummaryLine(Rated):
    """One submission in the summary.

    Attributes:
        reason: Why it is not graded.
        practice: Null where no notebooks were graded.
        origin: As in the report.
    """

    id: str
    status: Status
    score: float | None
    bonus: float | None
    max_score: float
    max_bonus: float
    reason: str | None = None
    practice: Practice | None = None
    origin: Origin | None = None

    @property
    def shown(self) -> str:
        """The status for people: ``absent`` of somebody in the roster who handed in nothing."""
        return "absent" if absent(self.origin) else self.status


class Attention(Record):
    """One reason why a person should look at a submission.

    Attributes:
        id: Of the submission.
        code: For programs; one submission may have several.
        text: For people, in plain words.
        parts: What the text was made of.
    """

    id: str
    code: ReasonCode
    text: str
    parts: list[MessagePart] = []


class Summary(Record):
    """``summary.json``: the run.

    Attributes:
        attention: Submissions for manual review, with reasons; one may appear several times.
    """

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    assignment: str
    submissions: list[SummaryLine]
    environment: Environment
    provenance: Provenance
    attention: list[Attention] = []


def summary_line(report: Report, practice: Practice | None = None) -> SummaryLine:
    """The line of the summary for a report, with the student's practice points."""
    same = {name: getattr(report, name) for name in ("status", "score", "bonus", "max_score", "max_bonus", "reason")}
    return SummaryLine(id=report.submission.id, practice=practice, origin=report.submission.origin, **same)


def with_origin(report: Report, origin: Origin | None) -> Report:
    """The report with its origin added. Judges never see an origin, so that no score depends on who a student is."""
    return report.model_copy(update={"submission": report.submission.model_copy(update={"origin": origin})})

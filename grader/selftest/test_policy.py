"""Late penalties and bonus caps change grades, never scores, and only where the rubric asks for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from grader.core.intake.origin import Origin
from grader.core.messages import quoted
from grader.core.results.policy import Grade, days_late, grade, undated
from grader.core.rubric import LatePenalty, Policy, Rubric, load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT

DUE = datetime(2026, 10, 2, 16, tzinfo=UTC)
FLAGGED = Origin(source="canvas", late=True)


def handed_in(moment: str) -> Origin:
    return Origin(source="gradescope", submitted_at=moment)


def test_no_policy_is_in_force_by_default(rubric: Rubric) -> None:
    assert rubric.policy == Policy()
    assert grade(rubric.policy, 87, 50, FLAGGED) == Grade(raw=137, penalty=0, points=137, days=1)


@pytest.mark.parametrize(
    ("moment", "days"),
    [
        ("2026-10-02T16:10:00+00:00", 0),
        ("2026-10-02T16:10:01+00:00", 1),
        ("2026-10-04T00:00:01+08:00", 2),
        ("2026-10-04T00:10:01+08:00", 2),
        ("2026-10-01T00:00:00+00:00", 0),
    ],
    ids=["within_grace", "beyond_grace", "elsewhere", "second_day", "early"],
)
def test_a_day_that_has_begun_counts_and_grace_does_not(moment: str, days: int) -> None:
    assert days_late(Policy(due=DUE, grace_minutes=10), handed_in(moment)) == days


def test_what_is_only_flagged_is_one_day_late() -> None:
    assert days_late(Policy(due=DUE), FLAGGED) == 1
    assert days_late(Policy(), handed_in("2026-10-09T16:00:00+00:00")) == 0
    assert days_late(Policy(), Origin(source="moodle")) == 0
    assert days_late(Policy(due=DUE), None) == 0


@pytest.mark.parametrize(("seconds", "days"), [(0, 0), (599, 0), (601, 1), (86400, 1), (97200, 2)])
def test_what_the_platform_counts_itself_needs_no_deadline_here(seconds: float, days: int) -> None:
    """And stands against one, since extensions are in it."""
    origin = Origin(source="moodle", late=seconds > 0, late_s=seconds, submitted_at=None)
    for policy in (Policy(grace_minutes=10), Policy(grace_minutes=10, due=DUE)):
        assert days_late(policy, origin) == days


def test_whom_nothing_is_known_of_is_told_from_whoever_is_in_time() -> None:
    costly = Policy(late_penalty=LatePenalty(per_day=0.1))
    dated, clone = costly.model_copy(update={"due": DUE}), handed_in("2026-10-09T16:00:00+00:00")
    assert undated(costly, clone)
    assert undated(dated, None)
    assert undated(dated, Origin(source="moodle"))
    assert not undated(dated, clone)
    assert not undated(costly, FLAGGED)
    assert not undated(costly, Origin(source="moodle", late=False, late_s=0))
    assert not undated(Policy(due=DUE), None)


def test_a_penalty_takes_its_share_for_each_day_and_never_more_than_there_is() -> None:
    daily = Policy(due=DUE, late_penalty=LatePenalty(per_day=0.1))
    assert grade(daily, 80, 20, handed_in("2026-10-04T15:00:00+00:00")) == Grade(
        raw=100, penalty=20, points=80, remark=quoted("2 days late: 20%, 20 points, deducted."), days=2
    )
    assert grade(daily, 80, 20, handed_in("2026-12-04T15:00:00+00:00")).points == 0
    flat = Policy(late_penalty=LatePenalty(flat=0.25))
    assert grade(flat, 33, 0, FLAGGED).remark == (
        "Late by an unknown time, counted as 1 day: 25%, 8.25 points, deducted."
    )
    assert grade(flat, 33, 0, None) == Grade(raw=33, penalty=0, points=33)


def test_a_cap_cuts_the_bonus_only() -> None:
    capped = Policy(bonus_cap=20)
    assert grade(capped, 60, 50, None) == Grade(110, 0, 80, quoted("Bonus points beyond the cap of 20 do not count."))
    assert grade(capped, 100, 20, None) == Grade(120, 0, 120)
    assert grade(Policy(bonus_cap=0), 60, 50, None).points == 60
    assert grade(Policy(bonus_cap=20, late_penalty=LatePenalty(flat=0.5)), 80, 50, FLAGGED).remark == (
        "Bonus points beyond the cap of 20 do not count. "
        "Late by an unknown time, counted as 1 day: 50%, 50 points, deducted."
    )


def test_the_lines_of_the_rubric_that_are_commented_out_are_a_policy(tmp_path: Path) -> None:
    """So that removing a # is all it takes."""
    text = (ASSIGNMENT.folder / "rubric.toml").read_text(encoding="utf-8")
    start = text.index("[policy]")
    end = text.index("\n\n", start)
    (tmp_path / "rubric.toml").write_text(text[:start] + text[start:end].replace("\n# ", "\n") + text[end:])
    policy = load_rubric(tmp_path / "rubric.toml").policy
    assert (policy.grace_minutes, policy.late_penalty, policy.bonus_cap) == (15, LatePenalty(per_day=0.1), 20)
    assert policy.due is not None


@pytest.mark.parametrize(
    "fields",
    [{"late_penalty": {"per_day": 10}}, {"bonus_cap": -1}, {"due": datetime(2026, 10, 2)}, {"discount": 1}],
    ids=["percent_for_share", "negative", "no_zone", "unknown"],
)
def test_a_policy_that_cannot_be_meant_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=f"(?s){next(iter(fields))}"):
        Policy.model_validate(fields)

"""What decisions make of points and grades, which of them hold, and when a person should look at one again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.core.grades.decided import Book, DecidedClass, StudentGrade
from grader.core.grades.model import Decision, Ground, Ruling, for_staff, sentence
from grader.core.grades.people import People
from grader.core.intake.origin import Origin, Source, Student
from grader.core.results.report import Report, summary_line
from grader.core.rubric import LANGUAGES, LatePenalty, Policy
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.placing import book, placed
from grader.selftest.reports import FAILED, PASSED, USUAL, report, unreadable

DUE = datetime(2026, 10, 2, 16, tzinfo=UTC)
POLICY = Policy(due=DUE, late_penalty=LatePenalty(per_day=0.1))
WHEN = datetime(2026, 10, 5, tzinfo=UTC)


def of(own: Report, source: Source, *students: Student, **known: object) -> Report:
    origin = Origin.model_validate({"source": source, "students": students, **known})
    return own.model_copy(update={"submission": own.submission.model_copy(update={"origin": origin})})


ADA, BO = Student(id="1", name="Ada Lovelace", email="ada@x.org"), Student(id="2", name="Bo Li")
CY = Student(id="3", name="Cy")
LATE = of(report("ada"), "gradescope", ADA, submitted_at="2026-10-04T12:00:00+00:00")  # 11 points, two days late
GROUP = of(report("both"), "gradescope", ADA, BO)
ABSENT = of(unreadable("cy"), "roster", CY)


def decision(student: str, **what: object) -> Decision:
    return Decision.model_validate({"student": student, "who": "kim", "when": WHEN, "why": "ill", **what})


def settled(reports: Sequence[Report], *decisions: Decision, policy: Policy = POLICY) -> Book:
    known = {one.submission.id: one for one in reports}
    people = People(map(summary_line, reports))
    entries = [Ruling(one, number) for number, one in enumerate(decisions)]
    return book(placed(entries, people, known.__getitem__, policy), people)


def graded(reports: Sequence[Report], *decisions: Decision, policy: Policy = POLICY) -> list[StudentGrade]:
    rubric = ASSIGNMENT.rubric.model_copy(update={"policy": policy})
    read = {each.submission.id: each for each in reports}.__getitem__
    book = settled(reports, *decisions, policy=policy)
    known = DecidedClass(Path(), [*map(summary_line, reports)], book, rubric, read)
    return [one for line in known.lines for one in known.grades[line.id]]


def points(found: Sequence[StudentGrade]) -> dict[str, float | None]:
    return {str(one.student): one.grade.points if one.grade else None for one in found}


def stale(reports: Sequence[Report], *decisions: Decision) -> list[str]:
    """What a person should look at again."""
    return [ruling.stale for ruling in settled(reports, *decisions).unsettled]


def test_a_score_goes_before_the_sum_of_properties() -> None:
    both = decision("ada", override="score", points=9), decision("ada", override="mean", points=4)
    assert points(graded([report("ada")], *both)) == {"ada": 14}


def test_whoever_could_not_be_read_is_given_no_property() -> None:
    assert stale([unreadable("ada")], decision("ada", override="eps", points=6)) == [
        "the submission is unreadable and has no properties: override the score"
    ]


def test_nobody_gets_more_than_there_is() -> None:
    """The rubric may have become smaller since."""
    assert points(graded([report("ada")], decision("ada", override="mean", points=40))) == {"ada": 15}


def test_of_two_the_last_holds_and_what_is_withdrawn_does_not() -> None:
    first, second = (decision("ada", override="mean", points=points) for points in (1, 3))
    assert points(graded([report("ada")], first, second)) == {"ada": 14}
    assert points(graded([report("ada")], first, second, decision("ada", withdraw="mean"))) == {"ada": 11}
    comments = [decision("ada", comment=text) for text in ("Well done.", "Look at eps.")]
    assert len(settled([report("ada")], *comments).held["ada"]) == 2
    assert stale([report("ada")], decision("ada", withdraw="excuse")) == ["no such decision to withdraw"]


@pytest.mark.parametrize(
    ("what", "grade"),
    [
        ({}, 8.8),
        ({"due": datetime(2026, 10, 3, 14, tzinfo=UTC)}, 9.9),
        ({"due": datetime(2026, 10, 4, 12, tzinfo=UTC)}, 11),
        ({"late_days": 1}, 9.9),
        ({"late_days": 5}, 11),
        ({"excuse": True}, None),
    ],
)
def test_lateness_is_forgiven_as_decided(what: dict[str, object], grade: float | None) -> None:
    decisions = [decision("ada@x.org", **what)] if what else []
    (only,) = graded([LATE], *decisions)
    assert (only.grade.points if only.grade else None) == grade
    assert only.excused == ("excuse" in what)
    assert only.blank == ("excused: ill" if only.excused else "")


def test_where_nobody_knows_the_time_a_deadline_is_not_followed_and_said_to_be_so() -> None:
    late = of(report("ada"), "canvas", ADA, late=True)
    extended = decision("1", due=datetime(2026, 10, 9, tzinfo=UTC))
    assert points(graded([late], extended)) == {"Ada Lovelace": 9.9}
    assert stale([late], extended) == ["the submission time is unknown: decide late_days, or set due in [policy]"]
    assert points(graded([late], decision("1", late_days=1))) == {"Ada Lovelace": 11}


def test_in_a_group_each_has_terms_of_their_own_and_all_share_the_points() -> None:
    late = of(report("both"), "gradescope", ADA, BO, submitted_at="2026-10-03T12:00:00+00:00")
    found = graded([late], decision("2", late_days=1), decision("both", override="mean", points=4))
    assert points(found) == {"Ada Lovelace": 13.5, "Bo Li": 15}


def test_a_team_with_somebody_unknown_grades_nobody_who_does_not_exist() -> None:
    mine = of(report("ada"), "canvas", ADA)
    wrong = decision("1", team=("Cy", "new@x.org"))
    assert points(graded([mine, ABSENT], wrong)) == {"Ada Lovelace": 11, "Cy": None}
    (ruling,) = settled([mine, ABSENT], wrong).unsettled
    assert ruling.void
    assert "new@x.org: no student matches" in str(ruling)


def test_which_attempt_counts_is_decided_for_one_or_for_all() -> None:
    early, late = (
        of(report(name, ended), "gradescope", ADA, submitted_at=f"2026-10-0{day}T12:00:00+00:00")
        for name, ended, day in (("one", USUAL, 1), ("two", USUAL | {"mean": (PASSED, 4.0)}, 2))
    )
    worse = of(report("two", USUAL | {"eps": (FAILED, 6.0)}), "gradescope", ADA, submitted_at="2026-10-02T12:00:00Z")
    (one, two) = graded([early, late])
    assert (one.grade, two.grade) == (None, None)
    assert one.blank == "has several submissions (one, two); choose one with `grader decide --attempt`"
    for which, wanted in (("last", 15), ("best", 15), ("one", 11), ("two", 15)):
        assert points(graded([early, late], decision("1", attempt=which))) == {"Ada Lovelace": wanted}
    assert points(graded([early, worse], decision("*", attempt="best"))) == {"Ada Lovelace": 11}
    both = decision("*", attempt="best"), decision("1", attempt="last")
    assert points(graded([early, worse], *both)) == {"Ada Lovelace": 5}
    assert stale([early], decision("1", attempt="three")) == ["no submission three; the student has one"]


def test_two_students_with_one_id_are_not_taken_for_one() -> None:
    both = [of(report("ada"), "canvas", ADA), of(report("bo"), "moodle", Student(id="1", name="Bo Li"))]
    assert points(graded(both, decision("*", attempt="best"))) == {"Ada Lovelace": None, "Bo Li": None}


def test_the_last_of_several_without_times_is_nobodys_guess() -> None:
    both = [of(report(name), "canvas", ADA) for name in ("one", "two")]
    assert points(graded(both, decision("1", attempt="last"))) == {"Ada Lovelace": None}


def test_a_decision_whose_ground_has_changed_still_holds_and_is_shown() -> None:
    ground = Ground(files="0" * 64, was="failed, 0 of 4")
    made = decision("ada", override="mean", points=3, ground=ground)
    assert stale([report("ada")], made) == []
    better = report("ada", USUAL | {"mean": (PASSED, 4.0)})
    assert stale([better], made) == ["the grader's result was “failed, 0 of 4” and is now “passed, 4 of 4”"]
    assert points(graded([better], made)) == {"ada": 14}
    assert stale([report("ada", files="1")], made) == ["other files were submitted"]
    worth = report("ada", USUAL | {"mean": (FAILED, 8.0)})
    assert stale([worth], made) == ["the grader's result was “failed, 0 of 4” and is now “failed, 0 of 8”"]


def test_a_comment_that_is_repeated_takes_the_place_of_the_first_and_another_does_not() -> None:
    one, other = ({"comment": text, "ground": Ground(files="0" * 64)} for text in ("Well done.", "Look at eps."))
    again = report("ada", files="1")
    assert len(stale([again], decision("ada", **one), decision("ada", **other))) == 2
    renewed = decision("ada", comment="Well done.", ground=Ground(files="1" * 64))
    held = settled([again], decision("ada", **one), decision("ada", **other), renewed).held["ada"]
    assert [ruling.decision.comment for ruling in held] == ["Look at eps.", "Well done."]
    assert [bool(ruling.stale) for ruling in held] == [True, False]


def test_which_attempt_counts_is_nothing_to_whoever_handed_in_once() -> None:
    rule = decision("*", attempt="best")
    assert [one.rulings for one in graded([report("ada")], rule)] == [()]
    both = [of(report(name), "gradescope", ADA, submitted_at="2026-10-01T12:00:00+00:00") for name in ("one", "two")]
    ((only,),) = [one.rulings for one in graded(both, rule)]
    assert only.decision == rule


def test_what_is_about_a_person_does_not_depend_on_files() -> None:
    for what in ({"excuse": True}, {"late_days": 1}, {"attempt": "best"}, {"team": ("ada",)}):
        assert stale([report("ada", files="1")], decision("ada", **what)) == []


@pytest.mark.parametrize("text", ["1", "ADA@x.org", "ada lovelace", "ada"])
def test_a_student_is_known_by_any_name(text: str) -> None:
    assert points(graded([LATE], decision(text, late_days=2))) == {"Ada Lovelace": 11}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ada lovelac", "no student matches (did you mean ada lovelace?)"),
        ("zzz", "no student matches"),
        ("Twin", "ambiguous (8, 9): give an id or an email"),
    ],
)
def test_whoever_is_not_known_is_named_and_nothing_happens(text: str, why: str) -> None:
    twins = [of(report(name), "canvas", Student(id=name, name="Twin")) for name in ("8", "9")]
    assert stale([LATE, *twins], decision(text, excuse=True)) == [why]
    assert None not in points(graded([LATE, *twins], decision(text, excuse=True))).values()


def test_of_several_submissions_the_one_that_was_looked_at_is_meant() -> None:
    both = [of(report(name, files=digit), "canvas", ADA) for name, digit in (("one", "0"), ("two", "1"))]
    assert stale(both, decision("1", override="mean", points=4)) == ["several submissions: choose one of one, two"]
    seen = decision("1", override="mean", points=4, ground=Ground(files="1" * 64, was="failed, 0 of 4"))
    assert [*settled(both, seen).held] == ["two"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_students_read_what_and_why_and_staff_also_who(language: str) -> None:
    kinds: list[dict[str, object]] = [
        {"override": "swiglu_gate", "points": 3.5},
        {"override": "of_old", "points": 3.5},
        {"override": "score", "points": 3.5},
        {"override": "bonus", "points": 3.5},
        {"attempt": "last"},
        {"attempt": "best"},
        {"attempt": "two"},
        {"attempt": "team"},
        {"due": DUE},
        {"late_days": 2},
        {"excuse": True},
        {"team": ("Bo", "Cy")},
        {"comment": "Well done"},
    ]
    told = [sentence(decision("ada", **what), ASSIGNMENT.rubric, language) for what in kinds]
    assert len({*told}) == len(kinds)
    assert all("kim" not in text and text.endswith((".", "。")) for text in told)
    assert "None" not in "".join(told)
    assert "team" in "".join(told)  # a submission may be called as a key of the sentences
    (ruling,) = settled([report("ada")], decision("ada", excuse=True)).held["ada", ""]
    assert "kim" in for_staff(ruling, ASSIGNMENT.rubric, language)

"""What decisions make of points and grades, which of them hold, and how they are written down and read again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.core.grades.graded import FILE, DecisionError, StudentGrade
from grader.core.grades.people import People
from grader.core.intake.origin import Origin, Source, Student
from grader.core.results.report import Report, summary_line
from grader.core.rubric import LatePenalty, Policy
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.decided import Book, DecidedClass
from grader.extras.decisions.file import append, entry, parse, read
from grader.extras.decisions.model import EVERYONE, MAX_TEXT, Decision, Ground, Ruling, _said
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
    known = DecidedClass(Path(), [*map(summary_line, reports)], rubric, read, book)
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


def test_which_attempt_counts_is_nothing_to_whoever_handed_in_once() -> None:
    rule = decision("*", attempt="best")
    assert [one.decisions for one in graded([report("ada")], rule)] == [()]
    both = [of(report(name), "gradescope", ADA, submitted_at="2026-10-01T12:00:00+00:00") for name in ("one", "two")]
    ((only,),) = [one.decisions for one in graded(both, rule)]
    assert isinstance(only, Ruling)
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


MOMENT = datetime(2026, 10, 5, 10, tzinfo=UTC)
BY_HAND = """\
# Kim's notes: ask Lee about this one.

[[decision]]   # an appeal
student="ada"
override = 'eps'
points = 6
why = '''
Fair
reading.'''
who = "kim"
when = 2026-10-05T10:00:00+08:00
# the end, without a newline"""


def written(**fields: object) -> Decision:
    what = {} if {"comment", "withdraw", "due"} & fields.keys() else {"excuse": True}
    whole: dict[str, object] = {"student": "ada", "who": "kim", "when": MOMENT, "why": "ill", **what, **fields}
    return Decision.model_validate(whole)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("points = 6", "points = ", "6: Invalid value"),
        ("points = 6", 'points = "6"', "3: points: Input should be a valid number"),
        ("points = 6", "points = -1", "3: points: Input should be greater than or equal to 0"),
        ("points = 6", "points = nan", "3: points: "),
        ("points = 6", "", "3: override and points must be given together"),
        ("points = 6", "points = 6\nexcuse = true", "3: 2 of the fields override, comment"),
        ("[[decision]]", "  [[ decision ]]\nlate = 2", "3: late: Extra inputs are not permitted"),
        ('who = "kim"', "", "3: who: Field required"),
        ('who = "kim"', 'who = " "', "3: who: it is empty"),
        ("+08:00", "", "3: when: Input should have timezone info"),
        ('student="ada"', 'student="*"', "3: only attempt can be decided for everyone"),
        ("[[decision]]", "[[decisions]]", "'decisions' is outside any entry. Each entry begins with [[decision]]"),
        ("[[decision]]", "[decision]", "'decision' is outside any entry."),
        ("why = '''\nFair\nreading.'''", "", "3: why is missing"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, before: str, after: str, line: str) -> None:
    assert before in BY_HAND
    (tmp_path / FILE).write_text(BY_HAND.replace(before, after))
    with pytest.raises(DecisionError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / FILE}:")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes("why = '王'".encode("gb18030"))
    with pytest.raises(DecisionError, match="not UTF-8"):
        read(tmp_path)


texts = st.text(min_size=1, max_size=60).filter(lambda text: any(char.isprintable() and char != " " for char in text))
zones = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=zones).map(
    lambda moment: moment.replace(microsecond=0)
)
kinds = st.one_of(
    st.fixed_dictionaries({"override": texts, "points": st.floats(0, 1000)}),
    st.fixed_dictionaries({"comment": texts}),
    st.fixed_dictionaries({"due": moments}),
    st.fixed_dictionaries({"late_days": st.integers(0, 99)}),
    st.just({"excuse": True}),
    st.fixed_dictionaries({"team": st.lists(texts, min_size=1, max_size=3).map(tuple)}),
)
decisions = st.builds(
    lambda kind, common: Decision.model_validate({**common, **kind}),
    kinds,
    st.fixed_dictionaries(
        {
            "student": texts.filter(lambda text: _said(text) != EVERYONE),
            "who": texts,
            "when": moments,
            "why": texts,
            "ground": st.none() | st.builds(Ground, files=st.text("0123456789abcdef", max_size=64), was=texts),
        }
    ),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(decisions, max_size=4))
def test_whatever_is_written_is_read_again(own: list[Decision]) -> None:
    text = "".join(map(entry, own))
    found = parse(text, FILE)
    assert [each.decision for each in found] == own
    assert [text.split("\n")[each.line - 1] for each in found] == ["[[decision]]"] * len(own)
    assert len({each.line for each in found}) == len(own)


def test_an_addition_leaves_all_before_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(BY_HAND)
    append(tmp_path, [written(why='flu, says 医生 "x" \\ \x7f')], about=["Ada\nLovelace"])
    text = (tmp_path / FILE).read_text()
    assert text.startswith(BY_HAND + "\n\n# Ada Lovelace\n[[decision]]\n")
    assert [entry.decision.why for entry in read(tmp_path)] == ["Fair\nreading.", 'flu, says 医生 "x" \\']


def test_a_file_with_a_mistake_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("oops")
    with pytest.raises(DecisionError):
        append(tmp_path, [written()])
    assert (tmp_path / FILE).read_text() == "oops"


def test_nothing_is_too_long_to_be_written_and_too_long_to_be_read() -> None:
    with pytest.raises(ValueError, match="at most"):
        written(why="x" * (MAX_TEXT + 1))


def test_a_submission_may_be_called_as_a_key_of_the_sentences() -> None:
    assert "team" in Ruling(decision("ada", attempt="team"), 1).for_student(ASSIGNMENT.rubric, "en")

"""Nobody's grade goes down unnoticed; late penalties and caps change grades, never scores, where the rubric says so."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import Result

from grader.core.cli.export import FORMATS
from grader.core.export.drops import drops, remember
from grader.core.export.rows import rows
from grader.core.intake.origin import Origin, Student
from grader.core.messages import quoted
from grader.core.results.database import LEDGER, opened
from grader.core.results.files import stamp
from grader.core.results.ledger import Ledger
from grader.core.results.outcome import Outcome
from grader.core.results.policy import Grade, days_late, grade, undated
from grader.core.results.report import Report
from grader.core.rubric import LatePenalty, Policy, Rubric, load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.exports import Someone, gradebook, worksheet
from grader.selftest.reports import BONUS, FAILED, PASSED, USUAL, Ended, known_class, report, unreadable, write_class
from grader.selftest.term import command, refused, with_policy

LOST = USUAL | {"eps": (FAILED, 6.0)}  # 11 points before, and 5 with this
BETTER = USUAL | {"mean": (PASSED, 4.0)}


def export(out: Path, *options: str, to: str = "csv") -> Result:
    return command("export", out, "--to", to, *options)


def accepted(result: Result) -> bool:
    """Whether it was written, rather than refused with its last line."""
    assert result.exit_code in (0, 2), result.output
    if result.exit_code:
        assert result.stderr.splitlines()[-1].startswith("grader: grades that have dropped: ")
        assert result.stdout == ""
    return result.exit_code == 0


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Graded once and exported: 11 points for two students."""
    folder = write_class(tmp_path / "out", report("ada", name="Ada"), report("bo", name="Bo"))
    assert accepted(export(folder))
    return folder


@pytest.mark.parametrize("to", [name for name in FORMATS if name != "junit"])  # which is no table
def test_without_its_ledger_an_export_is_compared_with_the_file_beside_it(tmp_path: Path, to: str) -> None:
    """Somebody moved a damaged ledger away, as a message advises."""
    sheet = tmp_path / "sheet.csv"
    everyone = [Someone(0, "Ada", "good"), Someone(1, "Bo", "good")]
    sheet.write_text(gradebook(everyone) if to == "canvas" else worksheet(everyone))
    more = ("--template", str(sheet), "--assignment-id", "77") if to in ("canvas", "moodle") else ()
    mine = [report(name, ended, name=name.title()) for ended in (USUAL, LOST) for name in ("ada", "bo")]
    mine = [_numbered(one, to) for one in mine]
    out = write_class(tmp_path / "out", *mine[:2])
    assert accepted(export(out, *more, to=to))
    (out / LEDGER).unlink()
    write_class(out, mine[2], mine[1])
    result = export(out, *more, to=to)
    assert not accepted(result)
    lines = result.stderr.splitlines()
    file = "grades.csv" if to == "csv" else f"{to}.csv"
    assert lines[-3:-1] == [f"1 would drop: 11 in {file} of an earlier export, now 5", "  Ada (ada)"]
    assert accepted(export(out, *more, "--accept-drops", to=to))


def _numbered(one: Report, to: str) -> Report:
    number = {"ada": "4000", "bo": "4001"}[one.submission.id]
    source = to if to in ("canvas", "moodle", "gradescope") else "folders"
    origin = Origin(source=source, students=(Student(id=number, name=one.submission.id.title()),))  # type: ignore[arg-type]
    return one.model_copy(update={"submission": one.submission.model_copy(update={"origin": origin})})


ADA = report("ada", name="Ada").submission
LOWER = {
    "wrong": (report("ada", LOST, name="Ada"), "5", "Ada (ada)"),
    "unreadable": (unreadable("ada", submission=ADA), "blank", "Ada (ada)"),
    "new_number": (report("ada2", LOST, submission=ADA.model_copy(update={"id": "ada2"})), "5", "Ada (ada2)"),
}


@pytest.mark.parametrize(("ada", "now", "who"), LOWER.values(), ids=LOWER)
def test_a_regrade_that_costs_somebody_points_is_refused_by_name(out: Path, ada: Report, now: str, who: str) -> None:
    """Also where a platform has numbered a submission anew, since its student handed in again."""
    before = (out / "grades.csv").read_text()
    write_class(out, ada, report("bo", BETTER, name="Bo"))
    for _ in range(2):  # asking twice is no acceptance
        result = export(out)
        assert not accepted(result)
        *_, drop, name, last = result.stderr.splitlines()
        assert drop.startswith("1 would drop: 11 exported 20")
        assert drop.endswith(f", now {now}")
        assert name == f"  {who}"
        assert last.startswith("grader: grades that have dropped: 1 (")
        assert last.endswith(". Nothing was written.")
        assert (out / "grades.csv").read_text() == before


def test_a_policy_that_takes_points_off_is_noticed(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any grading: the deadline was forgotten, say."""
    with_policy("bonus_cap = 2\n", out.parent, monkeypatch)
    result = export(out)
    assert not accepted(result)
    *_, drop, who, _ = result.stderr.splitlines()
    assert (drop[:16], drop[-5:], who) == ("2 would drop: 11", "now 8", "  Ada (ada); Bo (bo)")


def test_an_export_that_cannot_be_made_is_one_line(out: Path) -> None:
    assert "--to excel: not a format. Choose one of canvas, moodle, " in refused("export", out, "--to", "excel")
    line = refused("export", out, "--to", "csv", "--template", "gone.csv")
    assert "gone.csv: No such file or directory." in line


def worksheet_of(out: Path, most: str, grade: str = "") -> tuple[str, ...]:
    """Options for an export to Moodle, into a worksheet with the two of them in it."""
    people = [Someone(number, name, "good") for number, name in enumerate(("Ada", "Bo"))]
    sheet = worksheet(people, most).replace("Not marked,,", f"Not marked,{grade},")
    (out / "worksheet.csv").write_text(sheet)
    return ("--template", str(out / "worksheet.csv"))


def test_grades_above_the_maximum_are_said_before_anything_is_written(out: Path) -> None:
    """The ledger keeps what a cell got: nobody has been told the 11 points, so a cap lowers nobody."""
    result = export(out, *worksheet_of(out, "10"), to="moodle")
    assert not (out / "moodle.csv").exists()
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.splitlines() == [
        "2 would be blank: score plus bonus exceeds the worksheet's maximum 10; set bonus_cap or raise the maximum",
        "  Ada (11); Bo (11)",
        "grader: grades that would be blank: 2 (--accept-blanks exports the others). Nothing was written.",
    ]
    none = export(out, *worksheet_of(out, "10"), "--accept-blanks", to="moodle")
    assert (none.exit_code, (out / "moodle.csv").exists()) == (3, False)
    assert none.stderr.endswith("no grade would be written for any of 2 students. Nothing was written.\n")
    write_class(out, report("ada", name="Ada"), report("bo", LOST, name="Bo"))
    options = (*worksheet_of(out, "10"), "--accept-blanks", "--accept-drops")
    assert export(out, *options, to="moodle").exit_code == 0
    write_class(out, report("ada", LOST, name="Ada"), report("bo", LOST, name="Bo"))
    assert accepted(export(out, *worksheet_of(out, "10"), to="moodle"))
    assert (out / "moodle.csv").read_text().count("Not marked,5,") == 2


def test_a_grade_that_a_person_raised_on_the_platform_is_not_lowered_unseen(out: Path) -> None:
    result = export(out, *worksheet_of(out, "100", "12.5"), to="moodle")
    assert not accepted(result)
    assert result.stderr.startswith("2 would drop: 12.5 in the downloaded file, now 11\n  Ada (ada); Bo (bo)\n")


@settings(max_examples=25)
@given(steps=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=8))
def test_an_export_is_refused_exactly_when_it_is_below_what_was_seen_since_the_last(
    steps: list[tuple[int, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Gradings in any order, exported or not, all accepted: compared with a list kept by hand."""
    seen = [0.0]
    with opened(tmp_path_factory.mktemp("out")) as connection:
        ledger = Ledger(connection, {"made": "by hand"})
        for points, exported in steps:
            one = report("ada", grade_of(points))
            ledger.expect(["ada"], fresh=False)
            ledger.record(one, stamp(Path(__file__)))
            students = rows(known_class([one], ASSIGNMENT.rubric))
            assert bool(drops(connection, students, "csv", ASSIGNMENT.rubric.policy)) == (points < max(seen))
            seen.append(points)
            if exported:
                remember(connection, students, "csv")
                seen = [points]


def grade_of(points: int) -> Ended:
    right = [PASSED] * points + [Outcome.CRASHED] * (3 - points)
    return {name: (outcome, 1.0) for name, outcome in zip(("eps", "mean", BONUS), right, strict=True)}


@pytest.mark.parametrize("words", [("export", "--to", "csv"), ("report",), ("return", "--to", "mail")])
def test_a_partial_grading_goes_out_only_if_that_is_meant(tmp_path: Path, words: tuple[str, ...]) -> None:
    """After ``grade --only task1``, say: 42 of 42 points would look like 42 of 100."""
    out = tmp_path / "out"
    one = ASSIGNMENT.rubric.only("task1")
    part = report("ada").model_copy(update={"max_score": one.max_score, "max_bonus": one.max_bonus})
    write_class(out, part)
    name, *options = words
    line = refused(name, out, *options)
    assert "1 submissions were graded for task1 only" in line
    assert "--partial" in line
    assert sorted(path.name for path in out.iterdir()) == ["ada", "ledger.sqlite3", "summary.json"]
    accepted = command(name, out, *options, "--partial")
    assert "--partial" not in accepted.stderr


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

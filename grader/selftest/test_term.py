"""From each platform's export to the file that it takes back: a class of mixed work, through the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import Result

from grader.core.cli import grade
from grader.core.pages import say
from grader.core.results.database import LEDGER
from grader.core.results.report import Report, Summary
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest import LONG, exports
from grader.selftest.exports import SCORES, Someone, class_of, gradebook, worksheet, write_zip
from grader.selftest.submissions import write_folder
from grader.selftest.term import column, command, refused, run, with_policy

pytestmark = pytest.mark.usefixtures("judged")

SIZE = 60 if LONG else 6
LATE = "late_penalty = { per_day = 0.1 }\ndue = 2026-10-02T20:00:00Z\n"
BONUS = ASSIGNMENT.rubric.max_bonus
PEOPLE = class_of(SIZE)


def expected(person: Someone) -> str:
    """The cell of a student: blank where there is no score."""
    score = SCORES[person.kind]
    return "" if score is None else f"{score + BONUS:g}"


def named(result: Result) -> int:
    """How many are left blank."""
    return sum(int(line.partition(" ")[0]) for line in result.stderr.splitlines() if " left blank: " in line)


def test_from_canvas_to_canvas(tmp_path: Path) -> None:
    given = write_zip(tmp_path / "given.zip", exports.canvas(PEOPLE))
    write_folder(tmp_path, {"gradebook.csv": gradebook(PEOPLE)})
    run("grade", given, "--out", tmp_path / "out", "--roster", tmp_path / "gradebook.csv", "--device", "cpu")
    upload = tmp_path / "upload.csv"
    arguments = ("--template", tmp_path / "gradebook.csv", "--assignment-id", "77", "--out", upload)
    result = run("export", tmp_path / "out", "--to", "canvas", *arguments)
    grades = column(upload, "ID", "Small (77)")
    assert grades.pop("") == "100"  # points possible
    assert grades == {person.user: expected(person) for person in PEOPLE if expected(person)}
    assert named(result) == len(PEOPLE) - len(grades)
    summary = Summary.model_validate_json((tmp_path / "out" / "summary.json").read_bytes())
    late = {line.origin.students[0].id for line in summary.submissions if line.origin and line.origin.late}
    assert late == {person.user for person in PEOPLE if person.kind == "late"}
    absent = [line for line in summary.submissions if line.origin and line.origin.source == "roster"]
    assert [(line.status, line.score) for line in absent] == [("unreadable", None)]
    assert (absent[0].reason or "").startswith("No submission: Absent, Anton is in the roster")
    assert not [*tmp_path.rglob("*escaped*")]
    run("report", tmp_path / "out")
    pages = tmp_path / "out" / "html"
    assert {path.stem for path in (pages / "students").glob("*.html")} == {line.id for line in summary.submissions}
    index = (pages / "index.html").read_text(encoding="utf-8")
    assert "<dt>no submission</dt><dd><b>1</b></dd>" in index
    assert [line.id for line in summary.submissions if f'"students/{quote(line.id)}.html"' not in index] == []


def test_moodle_says_who_is_late_and_without_its_worksheet_somebody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day and three hours are two days that have begun."""
    with_policy(LATE, tmp_path, monkeypatch)
    write_zip(tmp_path / "given.zip", exports.moodle(PEOPLE))
    write_folder(tmp_path, {"worksheet.csv": worksheet(PEOPLE)})
    without = run("grade", tmp_path / "given.zip", "--out", tmp_path / "out")
    graded = sum(SCORES[person.kind] is not None for person in PEOPLE)
    assert f"{graded} of {len(PEOPLE) - 1} may be late, but this cannot be determined" in without.stdout
    result = run("grade", tmp_path / "given.zip", "--out", tmp_path / "out", "--roster", tmp_path / "worksheet.csv")
    assert "may be late" not in result.stdout
    number = sum(person.kind == "late" for person in PEOPLE)
    terms = "10% of the points earned for each day begun ([policy] of the rubric); due 2026-10-02 20:00+00:00"
    assert f"{number} late; lateness costs {terms}" in result.stdout.splitlines()
    run("export", tmp_path / "out", "--to", "moodle", "--template", tmp_path / "worksheet.csv")
    grades = column(tmp_path / "out" / "moodle.csv", "Identifier", "Grade")
    for person in PEOPLE:
        points = (SCORES[person.kind] or 0) + BONUS
        late = f"{points * 0.8:g}" if person.kind == "late" else expected(person)
        assert grades[person.user] == late, person


def test_from_gradescope_to_gradescope_with_a_late_penalty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The late one came at 23 h, three hours after the deadline of this policy: a tenth less."""
    write_zip(tmp_path / "given.zip", exports.gradescope(PEOPLE))
    run("grade", tmp_path / "given.zip", "--out", tmp_path / "out", "--device", "cpu")
    with_policy(LATE, tmp_path, monkeypatch)
    result = run("export", tmp_path / "out", "--to", "gradescope", "--out", tmp_path / "results.csv")
    found = column(tmp_path / "results.csv", "SID", "Total Score")
    handed_in = [person for person in PEOPLE if person.kind != "absent"]
    assert found.keys() == {person.user for person in handed_in}
    for person in handed_in:
        score = SCORES[person.kind]
        points = "" if score is None else f"{(score + BONUS) * (0.9 if person.kind == 'late' else 1):g}"
        assert found[person.user] == points, person
    assert named(result) == sum(SCORES[person.kind] is None for person in handed_in)
    assert "Zoë" in run("show", tmp_path / "out").stdout
    assert run("show", tmp_path / "out", "ada lovelace 0").stdout.startswith("submission_1: ")
    for to, name, key in (("nbgrader", "nbgrader.csv", "score"), ("csv", "grades.csv", "grade")):
        assert run("export", tmp_path / "out", "--to", to).stdout.endswith(f"{tmp_path / 'out' / name}\n")
        by_student = column(tmp_path / "out" / name, "student_id", key)
        assert {user: by_student[user] for user in by_student if by_student[user] == "108"}.keys() == {
            person.user for person in PEOPLE if person.kind == "late"
        }
    assert run("export", tmp_path / "out", "--to", "junit").stdout.endswith(f"{tmp_path / 'out' / 'junit.xml'}\n")


def test_points_policy_and_language_are_views_and_run_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And back again: the same bytes. Points that went down are noticed by the next export."""
    write_zip(tmp_path / "given.zip", exports.canvas(PEOPLE))
    given = ("grade", tmp_path / "given.zip", "--out", tmp_path / "out", "--device", "cpu", "--lang")
    run(*given, "en")
    (only,) = (tmp_path / "out").glob("*_4000/report.json")
    english = only.read_bytes()
    graded = sum(person.kind != "absent" for person in PEOPLE)

    def nothing(*_: object) -> Iterator[Report]:
        raise AssertionError("graded again")

    monkeypatch.setattr(grade, "grade_all", nothing)
    chinese = run(*given, "zh")
    assert f"{graded} reports updated to the current rubric and language; no code was run" in chinese.stderr
    assert chinese.stdout.splitlines()[0].split()[0] == say("zh", "submission")
    assert "请提交文件本身" in chinese.stdout.partition(" for manual review:")[2]
    assert ASSIGNMENT.rubric.properties["swiglu_gate"].title["zh"] in only.read_text(encoding="utf-8")
    assert "updated to the current" not in run(*given, "zh").stderr
    run(*given, "en")
    assert only.read_bytes() == english
    with monkeypatch.context() as patch:
        with_policy(LATE, tmp_path, patch, points={"points = 12": "points = 11"})
        run(*given, "en")
        report = Report.model_validate_json(only.read_bytes())
        assert (report.bonus, report.max_bonus, report.tasks[1].score) == (BONUS - 1, BONUS - 1, BONUS - 1)
        lower = command("export", tmp_path / "out", "--to", "csv")
        assert lower.exit_code == 2
        assert "120 graded " in lower.stderr
    run(*given, "en")
    assert only.read_bytes() == english


def test_a_dry_run_says_whom_a_change_moves_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points, the deadline and the cap, with what people decided, and with who would no longer pass."""
    write_zip(tmp_path / "given.zip", exports.gradescope(PEOPLE))
    given = ("grade", tmp_path / "given.zip", "--out", tmp_path / "out", "--device", "cpu")
    never = command(*given, "--dry-run")
    assert (never.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "no grades there yet. Grade without --dry-run first." in never.stderr
    run(*given)
    run("decide", tmp_path / "out", "Ada Lovelace 0", "--late-days", "1", "--why", "ill")
    before = _contents(tmp_path / "out")
    unchanged = run(*given, "--dry-run").stdout.splitlines()
    assert unchanged == ["Nothing changed.", f"Unchanged: {len(PEOPLE) - 1}.", "Nothing was written."]
    strict = f"{LATE}thresholds = {{ pass = 110 }}\n"
    with monkeypatch.context() as patch:
        with_policy(strict, tmp_path, patch)
        late = next(person for person in PEOPLE if person.kind == "late")
        lines = run(*given, "--dry-run").stdout.splitlines()
        assert lines[0] == "Fewer points: 1"
        assert f"    grade of {late.name}: 120 → 108; no longer reaches “pass” (110)" in lines
        assert "      the same points give a different grade: [policy] or the submission time changed" in lines
    with monkeypatch.context() as patch:
        with_policy("", tmp_path, patch, points={"points = 12": "points = 11"})
        lines = run(*given, "--dry-run").stdout.splitlines()
        graded = sum(SCORES[person.kind] is not None for person in PEOPLE)
        assert lines[0] == f"Fewer points: {graded}"
        assert "      the property's points changed: 12 → 11" in lines
    other = run(*given, "--dry-run", "--seed", "1").stdout.splitlines()
    assert other == [
        f"Unknown until graded: {len(PEOPLE) - 1}.",
        "Unknown, because these conditions changed since the earlier results: seed. Grade without --dry-run.",
        "Nothing was written.",
    ]
    assert _contents(tmp_path / "out") == before


def _contents(folder: Path) -> dict[Path, bytes]:
    """Every file in a folder, but for the ledger, which SQLite may lay out anew."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != LEDGER}


def test_a_second_download_counts_the_newest_submission_of_each_student(tmp_path: Path) -> None:
    """Gradescope gives every submission another number."""
    (ada, _), out = class_of(1), tmp_path / "out"
    for number in (0, 7):
        again = Someone(number, ada.name, "good")
        files = {name: data.replace(b"4007", b"4000") for name, data in exports.gradescope([again]).items()}
        write_zip(tmp_path / "given.zip", files)
        told = run("grade", tmp_path / "given.zip", "--out", out)
    assert "submission_1: left out, since the same students have another submission now" in told.stderr
    run("export", out, "--to", "gradescope")
    assert column(out / "gradescope.csv", "SID", "Submission ID") == {"4000": "71"}


def test_a_mended_folder_under_the_id_of_a_submission_keeps_its_student(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_zip(tmp_path / "given.zip", exports.canvas([class_of(2)[1]]))
    said = run("grade", tmp_path / "given.zip", "--out", out).stdout
    needed = "--to canvas --template GRADEBOOK.csv --assignment-id NUMBER"
    assert said.splitlines()[-1] == f"Next: grader return {out} {needed}"
    (only,) = [path.parent.name for path in out.glob("*/report.json")]
    run("grade", write_folder(tmp_path / only, ASSIGNMENT.solution()), "--out", out)
    run("export", out, "--to", "csv")
    assert column(out / "grades.csv", "student_id", "grade") == {"4001": "120"}


def test_who_handed_in_nothing_gets_zero_if_the_policy_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everyone, out = class_of(3), tmp_path / "out"
    write_zip(tmp_path / "given.zip", exports.canvas(everyone))
    write_folder(tmp_path, {"gradebook.csv": gradebook(everyone)})
    run("grade", tmp_path / "given.zip", "--out", out, "--roster", tmp_path / "gradebook.csv")
    arguments = ("export", out, "--to", "canvas", "--template", tmp_path / "gradebook.csv", "--assignment-id", "77")
    counted, hint, following = run(*arguments).stdout.splitlines()
    assert counted == f"2 grades of 4 students for canvas: {out / 'canvas.csv'}"
    assert 'set missing = "zero" in [policy]' in hint
    with_policy('missing = "zero"\n', tmp_path, monkeypatch)
    counted, *following_again = run(*arguments).stdout.splitlines()
    assert following_again == [following] == [f"Next: upload it, then grader return {out} --to canvas"]
    assert counted.startswith("3 grades of 4 students")  # the unreadable one still waits for a person
    assert column(out / "canvas.csv", "ID", "Small (77)") == {"": "100", "4000": "120", "4001": "90", "4003": "0"}


@pytest.mark.parametrize("words", [("export", "--to", "csv"), ("return", "--to", "mail")], ids=["export", "return"])
def test_a_folder_that_is_not_there_is_what_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    name, *options = words
    line = refused(name, tmp_path / "gone", *options)
    assert line == f"grader: {tmp_path / 'gone'}: no such folder. Give the folder that grade --out wrote to."

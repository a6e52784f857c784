"""``grader return``: each page goes to its own student, under the names that the platforms look for."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import Result

from grader.core.intake.discover import discover
from grader.core.intake.roster import read_roster
from grader.core.results.outcome import Outcome
from grader.core.results.written import note
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest import exports
from grader.selftest.class_reports import graded, ungraded, write
from grader.selftest.exports import Someone, class_of, gradebook, worksheet, write_zip
from grader.selftest.term import command, refused, run

pytestmark = pytest.mark.usefixtures("reads_here")

PEOPLE = class_of(6)
LOST = {"attention_causal": Outcome.FAILED}
BY_USER = {person.user: person for person in PEOPLE}


def class_from(folder: Path, platform: str) -> Path:
    """A class from a platform's download: one lost points, one could not be read, one handed in nothing."""
    made: Mapping[str, bytes] = getattr(exports, platform)(PEOPLE)
    download = write_zip(folder / f"{platform}.zip", made)
    (folder / "gradebook.csv").write_text(gradebook(PEOPLE))
    (folder / "worksheet.csv").write_text(worksheet(PEOPLE))
    roster = folder / ("worksheet.csv" if platform == "moodle" else "gradebook.csv")
    reports = []
    for candidate in discover([download], roster=read_roster(roster), expected=ASSIGNMENT.rubric.expected):
        kind = BY_USER[candidate.origin.students[0].id].kind if candidate.origin else ""
        if kind in ("hostile", "absent"):
            reports.append(ungraded(candidate.id, "unreadable", "A <b>file</b> is a link."))
        else:
            reports.append(graded(candidate.id, LOST if kind == "wrong" else None))
        info = reports[-1].submission.model_copy(update={"origin": candidate.origin})
        reports[-1] = reports[-1].model_copy(update={"submission": info})
    out = write(folder / "out", reports)
    note(out, [download], None, roster)
    return out


def back(out: Path, to: str, *options: object, code: int = 0) -> Result:
    result = command("return", out, "--to", to, *options, "--lang", "en")
    assert result.exit_code == code, result.output
    return result


def packed(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_canvas_finds_each_student_and_shows_a_file_of_the_kind_that_was_handed_in(tmp_path: Path) -> None:
    out = class_from(tmp_path, "canvas")
    back(out, "canvas")
    downloaded = packed(tmp_path / "canvas.zip")
    returned = packed(out / "canvas-feedback.zip")
    assert len(returned) == 6
    for name, data in returned.items():
        assert name in downloaded
        numbers = [part for part in name.split("_") if part.isdecimal()]  # as Canvas does
        person = BY_USER[numbers[0]]
        if name.endswith(".zip"):
            page = zipfile.ZipFile(io.BytesIO(data)).read("feedback.html").decode()
            assert f"_{person.user}" in page
            assert not any(f"_{other}<" in page for other in BY_USER.keys() - {person.user})
        elif person.kind == "wrong":
            assert name.endswith(".py")
            assert data.decode().startswith("# Score 70 of 100, bonus 20 of 20. Not correct yet: a token gathers from")


def test_moodle_finds_each_participant(tmp_path: Path) -> None:
    out = class_from(tmp_path, "moodle")
    back(out, "moodle")
    returned = packed(out / "moodle-feedback.zip")
    downloaded = packed(tmp_path / "moodle.zip")
    assert {name.rpartition("/")[0] for name in returned} == {name.partition("/")[0] for name in downloaded}
    for name, data in returned.items():
        _, participant, kind, *_ = name.partition("/")[0].split("_", 4)  # as Moodle does
        assert kind == "assignsubmission"
        assert name.endswith("/feedback.html")
        assert f"_{participant}" in data.decode()


def test_the_worksheet_gets_comments_once_beside_the_grades(tmp_path: Path) -> None:
    out = class_from(tmp_path, "moodle")
    told = back(out, "moodle", "--template", tmp_path / "worksheet.csv").stdout
    assert told.endswith("; import moodle.csv there as well\n")
    first = (out / "moodle.csv").read_text()
    rows = {row["Identifier"]: row for row in csv.DictReader(io.StringIO(first))}
    wrong = rows["Participant 4001"]
    assert wrong["Grade"] == "90"
    assert wrong["Feedback comments"].startswith("Score 70 of 100, bonus 20 of 20. Not correct yet: a token gathers")
    broken = rows["Participant 4002"]
    assert broken["Grade"] == ""
    assert "A &lt;b&gt;file&lt;/b&gt; is a link." in broken["Feedback comments"]
    back(out, "moodle", "--template", out / "moodle.csv")
    assert (out / "moodle.csv").read_text() == first


def test_a_mail_has_one_attachment_and_tells_what_people_decided(tmp_path: Path) -> None:
    out = class_from(tmp_path, "moodle")
    run("decide", out, "O'Neil, Jr 1", "--override", "attention_causal", "--points", 30, "--why", "A typo.")
    back(out, "mail")
    rows = [*csv.DictReader(io.StringIO((out / "mail.csv").read_text()))]
    assert len(rows) == 7
    for row in rows:
        person = next(person for person in PEOPLE if person.email == row["email"])
        assert f"{person.name},\n\n" in row["message"]
        assert person.user in Path(row["attachment"]).read_text(encoding="utf-8")
        assert ("A typo." in row["message"]) == (person.number == 1)
        assert person.number != 1 or "Score 100 of 100" in row["message"]


def test_who_has_no_address_is_named_first(tmp_path: Path) -> None:
    out = write(tmp_path / "out", [graded("ada"), graded("bo")])
    result = back(out, "mail", code=3)
    assert result.stderr.splitlines() == [
        "2 would get no feedback: no email; grade with a roster that has one",
        "  ada (ada); bo (bo)",
        "2 students: 0 without a grade, 0 grades would be blank, 0 would drop, 2 would get no feedback",
        "grader: needs attention: students who would get no feedback: 2 (--accept-blanks returns the others). "
        "Nothing was written.",
    ]
    assert not (out / "mail.csv").exists()
    assert not (out / "html").exists()  # "nothing" includes the pages


def test_pages_are_written_as_a_part_of_it(tmp_path: Path) -> None:
    """Also after a decision, which an earlier page does not show."""
    out = class_from(tmp_path, "canvas")
    result = back(out, "canvas")
    assert result.stdout.startswith("6 pages of 7 students for canvas: ")
    assert "left blank" not in result.stderr  # no grades are written
    run("decide", out, "4000", "--comment", "Come and see me.", "--who", "kim")
    back(out, "canvas", "--handout", "https://example.org")
    (page,) = (data for name, data in packed(out / "canvas-feedback.zip").items() if "_4000_" in name)
    shown = zipfile.ZipFile(io.BytesIO(page)).read("feedback.html").decode()
    assert "Come and see me." in shown


def test_nothing_is_never_written_over_an_upload(tmp_path: Path) -> None:
    """Not even if a person accepts that some get nothing: here everyone would."""
    out = class_from(tmp_path, "moodle")
    back(out, "moodle", "--template", tmp_path / "worksheet.csv")
    good = {name: (out / name).read_bytes() for name in ("moodle.csv", "moodle-feedback.zip")}
    (tmp_path / "other.csv").write_text(worksheet([Someone(50, "Eve", "good")]))
    options = ("--accept-blanks", "--accept-drops")
    result = back(out, "moodle", "--template", tmp_path / "other.csv", *options, code=3)
    assert "no grade would be written for any of 7 students" in result.stderr
    assert command("export", out, "--to", "moodle", "--template", tmp_path / "other.csv", *options).exit_code == 3
    result = back(out, "canvas", *options, code=3)  # the download is Moodle's
    assert "no student would get a page" in result.stderr
    assert {name: (out / name).read_bytes() for name in good} == good


def test_what_would_be_blank_or_drop_is_said_before_anything_is_written(tmp_path: Path) -> None:
    out = class_from(tmp_path, "moodle")
    sheet = worksheet(PEOPLE, "100").replace("Not marked,,", "Not marked,99,")
    (tmp_path / "worksheet.csv").write_text(sheet)
    result = back(out, "moodle", "--template", tmp_path / "worksheet.csv", code=3)
    assert "4 would be blank: score plus bonus exceeds the worksheet's maximum 100; set bonus_cap" in result.stderr
    assert (
        "7 students: 2 without a grade, 4 grades would be blank, 7 would drop, 1 would get no feedback" in result.stderr
    )
    assert result.stderr.splitlines()[-1].startswith("grader: needs attention: grades that have dropped")
    assert not (out / "moodle-feedback.zip").exists()
    result = back(out, "moodle", "--template", tmp_path / "worksheet.csv", "--accept-blanks", code=3)
    assert "(--accept-blanks" not in result.stderr
    back(out, "moodle", "--template", tmp_path / "worksheet.csv", "--accept-blanks", "--accept-drops")
    assert (out / "moodle-feedback.zip").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--to", "fax"], "--to fax: not a destination. Choose one of canvas, moodle, mail."),
        (["--to", "mail", "--template", "x.csv"], "--template: mail has no gradebook."),
        (["--to", "canvas"], "no record of where its submissions are"),
        (["--to", "canvas", "--submissions", "gone.zip"], "gone.zip: no such file or folder."),
    ],
    ids=["fax", "template", "note", "gone"],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, options: list[str], line: str) -> None:
    assert line in refused("return", write(tmp_path / "out", [graded("ada")]), *options)

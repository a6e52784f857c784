"""``review --anonymous``: no answer says who anybody is, and what is decided is about the right student."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from grader.core.results.outcome import Outcome
from grader.core.results.report import Report, Summary
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.anonymous.selftest.test_anonymous import HEADER, folder
from grader.extras.decisions.file import read
from grader.extras.decisions.review.classroom import Classroom
from grader.followup.anonymous import hide, pseudonyms
from grader.selftest.class_reports import graded
from grader.selftest.review_class import PROPERTIES, TOKEN, Desk, person, write_review_class


def identities(reports: list[Report]) -> list[str]:
    """Everything by which somebody may be known."""
    people = [one for report in reports for one in report.submission.origin.students]  # type: ignore[union-attr]
    parts = [part for one in people for part in (one.id, one.email, one.email.split("@")[0], *one.name.split())]
    return [*parts, *(report.submission.id for report in reports)]


@pytest.mark.parametrize(("seed", "language"), [(0, "en"), pytest.param(1, "zh", marks=pytest.mark.slow)])
def test_no_answer_says_who_anybody_is(tmp_path: Path, seed: int, language: str) -> None:
    out, _ = folder(tmp_path / "out", random.Random(seed), 12)
    lines = Summary.model_validate_json((out / "summary.json").read_bytes()).submissions
    reports = [Report.model_validate_json((out / line.id / "report.json").read_bytes()) for line in lines]
    names = pseudonyms(out, [line.id for line in lines])
    desk = Desk(out, language, hide=hide)
    for report in reports:
        (student, *_) = report.submission.origin.students  # type: ignore[union-attr]
        signed = HEADER.format(name=student.name, id=student.id, email=student.email)
        first = student.name.split()[0].lower()
        text = f"{signed}\n" + ASSIGNMENT.solution()["src/attention.py"]
        desk.files[report.submission.id] = {"src/attention.py": text, f"src/{first}_helpers.py": f"# {signed.upper()}"}
    answers = [desk.client.get(f"/{TOKEN}/")]
    found = {group.key for group in Classroom(out, ASSIGNMENT, language, out).now().groups}
    answers += [desk.client.get(f"/{TOKEN}/group/{key}") for key in found]
    answers += [desk.client.get(f"/{TOKEN}/student/{name}") for name in names.values()]
    assert {answer.status_code for answer in answers} == {200}
    for report in reports:
        name = names[report.submission.id]
        assert desk.post(name, "comment", comment="Well done.") == (303, f"student/{name}")
        status, told = desk.post(name, "override", what=PROPERTIES[0], points="1000", why="Because.")
        assert status == 409
        answers.append(desk.client.get(f"/{TOKEN}/student/{name}"))
        assert not any(text.casefold() in told.casefold() for text in identities(reports))
    for answer in answers:
        shown = f"{answer.headers}\n{answer.text}".casefold()
        assert [text for text in identities(reports) if text.casefold() in shown] == []
    assert desk.client.get(f"/{TOKEN}/student/{lines[0].id}").status_code == 404
    written = [entry.decision for entry in read(out) if entry.decision.comment == "Well done."]
    assert len(written) == len(reports)


def test_an_excuse_reaches_the_student_behind_the_pseudonym(tmp_path: Path) -> None:
    out, _ = folder(tmp_path / "out", random.Random(0), 4)
    lines = Summary.model_validate_json((out / "summary.json").read_bytes()).submissions
    names = pseudonyms(out, [line.id for line in lines])
    line = lines[-1]
    Desk(out, hide=hide).post(names[line.id], "excuse", student="0", why="ill")
    assert line.origin is not None
    assert read(out)[-1].decision.student == line.origin.students[0].id


def test_a_short_name_stays_where_it_is_a_word_of_the_program(tmp_path: Path) -> None:
    out, _ = folder(tmp_path / "out", random.Random(1), 3)
    line = Summary.model_validate_json((out / "summary.json").read_bytes()).submissions[0]
    desk = Desk(out, hide=hide)
    desk.files[line.id] = {"src/attention.py": "largest = max(1, 2)\n"}
    name = pseudonyms(out, [line.id])[line.id]
    assert "largest = max(1, 2)" in desk.page(f"student/{name}").text


def test_the_page_of_a_group_names_nobody(tmp_path: Path) -> None:
    lost = {PROPERTIES[0]: Outcome.FAILED}
    out = write_review_class(
        tmp_path / "out", [graded(name, lost, origin=person(name.title())) for name in ("zoe", "kai")]
    )
    desk = Desk(out, hide=hide)
    (group,) = Classroom(out, ASSIGNMENT, "en", out).now().groups
    told = desk.client.get(f"/{TOKEN}/group/{group.key}").text
    assert told.count("anon-") >= 4  # a label and a link for each
    assert not [name for name in ("zoe", "kai") if name in told.casefold()]

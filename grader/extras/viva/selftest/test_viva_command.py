"""``grader viva`` from a class of reports to quizzes, and from answers to points beside the grade."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest

from grader.core.results.written import read_written
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.viva.extension import ANSWERS
from grader.extras.viva.quiz import KEY, Key
from grader.extras.viva.selftest.made import key
from grader.selftest import long_only
from grader.selftest.browser import Tab
from grader.selftest.reports import report, unreadable, write_class
from grader.selftest.term import command, refused, run
from grader.specimens.students import write_class as write_submissions


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, commands_are_about_the_assignment: None) -> Path:
    """A class with quizzes: ada did everything, bo nothing, cleo one task; a fourth handed in nothing to read."""
    del commands_are_about_the_assignment
    folder = tmp_path_factory.mktemp("viva")
    write_submissions(ASSIGNMENT, folder / "class")
    written = write_class(folder / "reports", *map(report, ("ada", "bo", "cleo")), unreadable("dora"))
    run("viva", written, "--out", folder / "quiz", "--submissions", folder / "class", "--lang", "en", "--jobs", 1)
    return written


@pytest.mark.process
def test_everyone_with_code_gets_six_questions_under_a_pseudonym(reports: Path) -> None:
    key = read_written(reports / KEY, Key)
    assert {quiz.id: len(quiz.questions) for quiz in key.quizzes} == {"ada": 6, "bo": 0, "cleo": 6}
    assert (reports / KEY).stat().st_mode & 0o077 == 0, "it holds the answers"
    out = reports.parent / "quiz"
    names = {quiz.name for quiz in key.quizzes if quiz.questions}
    assert {path.stem for kind in ("pages", "oral", "qti") for path in (out / kind).iterdir()} == names
    for path in (path for path in out.rglob("*") if path.is_file()):
        assert not re.search(rb"\b(?:ada|cleo)\b", path.read_bytes()), path


@pytest.mark.process
def test_points_stand_beside_the_grade_and_change_no_score(reports: Path, tmp_path: Path) -> None:
    before = (reports / "summary.json").read_bytes(), (reports / "ada" / "report.json").read_bytes()
    (quiz,) = (quiz for quiz in read_written(reports / KEY, Key).quizzes if quiz.id == "ada")
    answers = tmp_path / "answers.csv"
    with answers.open("w", encoding="utf-8", newline="") as file:
        rows = [[f"[{code}]", one.answer] for code, one in quiz.numbered]
        csv.writer(file).writerows([["question", "answer"], *rows[:5], [rows[5][0], "no idea"]])
    found = run("viva", reports, "--answers", answers)
    assert "ada: 5 of 6 right" in found.output
    assert "none of the options" in found.output
    assert before == ((reports / "summary.json").read_bytes(), (reports / "ada" / "report.json").read_bytes())
    header, *rows_shown = (line.split() for line in command("show", reports).output.splitlines()[:4])
    assert header[-1] == "understood"
    assert [row[-1] for row in rows_shown if row[0] == "ada"] == ["5"]
    for arguments in ((), ("--anonymous",)):
        run("report", reports, "--out", tmp_path / "html", "--lang", "en", *arguments)
        page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
        assert "<title>score " in page
        assert 'answers right: 1</title><circle class="bar"' in page
        name = quiz.name if arguments else "ada"
        student = (tmp_path / "html" / "students" / f"{name}.html").read_text(encoding="utf-8")
        assert "<dt>Understood</dt><dd><b>5</b> / 6</dd>" in student


@pytest.mark.process
def test_the_page_grades_itself_and_saves_answers_that_the_command_reads(reports: Path, tab: Tab) -> None:
    (quiz,) = (quiz for quiz in read_written(reports / KEY, Key).quizzes if quiz.id == "ada")
    tab.open(reports.parent / "quiz" / "pages" / f"{quiz.name}.html", width=375)
    for number, question in enumerate(quiz.questions, 1):
        place = (question.options.index(question.answer) + (number == 1)) % len(question.options)  # the first is wrong
        tab.evaluate(f"document.querySelector('input[name=q{number}][value=\"{place}\"]').click()")
    tab.evaluate("document.querySelector('button').click()")
    tab.wait_for("document.querySelector('output').textContent.includes('of 6 right')")
    assert tab.evaluate("document.querySelector('output').textContent") == "5 of 6 right."
    assert tab.evaluate("document.querySelectorAll('.wrong').length") == 1
    saved = tab.evaluate("decodeURIComponent(document.getElementById('save').href.split(',').slice(1).join(','))")
    path = reports.parent / "saved.csv"
    path.write_text(str(saved), encoding="utf-8")
    assert "ada: 5 of 6 right" in command("viva", reports, "--answers", path).output
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give either --out QUIZ"),
        (("--out", "quiz", "--answers", "a.csv"), "give either --out QUIZ"),
        (("--answers", "a.csv"), r"viva\.json: .*Run viva --out"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    assert re.search(problem, refused("viva", tmp_path, *arguments))


@long_only
@pytest.mark.process
def test_two_jobs_write_what_one_job_writes(reports: Path, tmp_path: Path) -> None:
    shutil.copytree(reports, tmp_path / "reports")
    arguments = ("--submissions", reports.parent / "class", "--lang", "en", "--jobs", 2)
    run("viva", tmp_path / "reports", "--out", tmp_path / "quiz", *arguments)
    assert (tmp_path / "reports" / KEY).read_bytes() == (reports / KEY).read_bytes()
    for path in (path for path in (tmp_path / "quiz").rglob("*") if path.is_file()):
        assert path.read_bytes() == (reports.parent / "quiz" / path.relative_to(tmp_path / "quiz")).read_bytes()


def test_a_damaged_file_of_points_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / KEY).write_text(key().model_dump_json(), encoding="utf-8")
    (tmp_path / "a.csv").write_text("question,answer\n[anon-abcdefgh-1-0000],1\n", encoding="utf-8")
    (tmp_path / ANSWERS).write_text("{}", encoding="utf-8")
    line = refused("viva", tmp_path, "--answers", tmp_path / "a.csv")
    assert re.search(r"viva-answers\.json: .*Delete it, and read the answers again", line)


@pytest.mark.process
def test_submissions_that_are_gone_are_one_line_and_bad_input(tmp_path: Path) -> None:
    line = refused("viva", write_class(tmp_path / "reports", report("ada")), "--out", tmp_path / "quiz")
    assert re.fullmatch(r"grader: .*: no record of where its submissions are\. .*--submissions\.", line)

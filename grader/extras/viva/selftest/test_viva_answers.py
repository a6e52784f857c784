"""Answers come back from platforms in their own tables, and are worth what the key says."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.core.export.rows import ExportError
from grader.core.results.report import Practice
from grader.core.results.statistics import entry
from grader.extras.viva.extension import ANSWERS, Understood, graded, picture, read_answers, understood
from grader.extras.viva.selftest.made import HOSTILE, key, question, quiz
from grader.selftest.reports import report

OWN = quiz()
WRONG = "line 7: [[1, 2]]\nline 9: 2"


def table(path: Path, *rows: Sequence[str], delimiter: str = ",") -> Path:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    path.write_text(buffer.getvalue(), encoding="utf-8-sig")
    return path


def answers(right: int) -> list[tuple[str, str, str]]:
    """The code, text and answer of each question, so many of them right."""
    return [
        (code, f"[{code}] {one.prompt}", one.answer if number < right else WRONG)
        for number, (code, one) in enumerate(OWN.numbered)
    ]


def moodle(path: Path, right: int) -> Path:
    pairs = answers(right)
    header = ["Last name", "First name", "Status"]
    header += [f"{word} {number}" for number in range(1, 7) for word in ("Question", "Response", "Right answer")]
    row = ["Lovelace", "Ada", "Finished"]
    row += [cell for _, text, answer in pairs for cell in (f"{text}: {WRONG}; 0.6", f"{answer}\n", "0.6")]
    return table(path, header, row, ["Babbage", "Charles", "Never submitted", *["-"] * 18])


def canvas(path: Path, right: int) -> Path:
    pairs = answers(right)
    header = ["name", "id", "section", "submitted", "attempt"]
    header += [cell for number, (_, text, _) in enumerate(pairs) for cell in (f"{800 + number}: {text}", "1.0")]
    row = ["Ada Lovelace", "77", "A", "2026-10-02", "1", *[cell for _, _, answer in pairs for cell in (answer, "1.0")]]
    return table(path, header, row)


def saved(path: Path, right: int) -> Path:
    return table(path, ("question", "answer"), *[(f"[{code}]", answer) for code, _, answer in answers(right)])


@pytest.mark.parametrize("form", [moodle, canvas, saved])
@pytest.mark.parametrize("right", [0, 4, 6])
def test_points_are_the_right_answers_whatever_the_platform(form, right: int, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = graded(key(OWN, quiz(identifier="bo", name="anon-bbbbbbbb")), read_answers(form(tmp_path / "a.csv", right)))
    assert found == {"ada": Practice(points=right, max_points=6)}


@pytest.mark.parametrize("gap", ["\n", "", " ", "</code><br/>\n<code>", "<br />"])
def test_an_option_of_two_lines_is_found_however_a_platform_joins_them(gap: str, tmp_path: Path) -> None:
    asked = quiz(question(right=0))
    (code, one), *_ = asked.numbered
    rows = [(f"[{code}]", f"<p><code>{one.answer.replace(chr(10), gap)}</code></p>")]
    assert "\n" in one.answer
    assert graded(key(asked), read_answers(table(tmp_path / "a.csv", ("question", "answer"), *rows)))["ada"].points == 1


def test_a_semicolon_table_with_html_in_its_answers_is_read(tmp_path: Path) -> None:
    rows = [(f"[{code}]", f"<p><code>{answer}</code></p>") for code, _, answer in answers(6)]
    path = table(tmp_path / "a.csv", ("question", "answer"), *rows, delimiter=";")
    assert graded(key(OWN), read_answers(path))["ada"].points == 6


def test_hostile_text_is_an_answer_like_any_other(tmp_path: Path) -> None:
    asked = quiz(question(right=2))
    ((code, _),) = asked.numbered
    path = table(tmp_path / "a.csv", ("question", "answer"), (f"[{code}]", HOSTILE))
    assert graded(key(asked), read_answers(path))["ada"].points == 1


def test_an_answer_that_is_no_option_is_named_and_an_answer_to_another_quiz_counts_for_nobody(tmp_path: Path) -> None:
    (code, _), *_ = OWN.numbered
    stale = f"{code[:-4]}{'0000' if code[-4:] != '0000' else '1111'}"
    rows = [(f"[{code}]", "something else"), (f"[{stale}]", "0.6")]
    found = graded(key(OWN), read_answers(table(tmp_path / "a.csv", ("question", "answer"), *rows)))
    assert found == {"ada": Practice(points=0, max_points=6, unsettled=[code])}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name,score\nada,3\n", r"no answer to a question of viva\. From Moodle, export the responses"),
        ("\ufeff", "not a UTF-8 CSV"),
    ],
    ids=["other table", "empty"],
)
def test_a_file_that_is_something_else_is_named(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExportError, match=rf"grades\.csv: .*{problem}"):
        read_answers(path)


def test_a_damaged_file_of_points_shows_no_points(tmp_path: Path) -> None:
    assert understood(tmp_path) == {}
    kept = Understood(submissions={"ada": Practice(points=5, max_points=6)})
    (tmp_path / ANSWERS).write_text(kept.model_dump_json(), encoding="utf-8")
    assert understood(tmp_path) == kept.submissions
    (tmp_path / ANSWERS).write_text("{}", encoding="utf-8")
    assert understood(tmp_path) == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_picture_counts_the_submissions_of_each_score_and_number_of_answers(language: str) -> None:
    entries = [entry(report(name)) for name in ("ada", "bo", "cleo")]
    points = {name: Practice(points=right, max_points=6) for name, right in (("ada", 5), ("bo", 5), ("cleo", 2))}
    shown = picture(entries, points, language)
    assert shown.count("<circle") == 2
    assert ">2</text></g>" in shown
    assert picture(entries, {}, language) == ""

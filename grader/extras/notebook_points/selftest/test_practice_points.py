"""Notebook points stand beside the score: weighted, never added, and never a silent zero."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")


from grader.core.messages import UserError
from grader.core.results.outcome import Outcome
from grader.core.results.report import Practice
from grader.extras.notebook_points.extension import read_practice
from grader.lab.site.notebooks import grade
from grader.lab.site.notebooks.grade import Check


def test_practice_is_the_share_earned_of_what_it_is_worth(tmp_path: Path) -> None:
    checks = [
        Check("ada", "0_small", "double", Outcome.PASSED, 2, 2),
        Check("ada", "0_small", "triple", Outcome.FAILED, 0, 1, "no"),
        Check("bo, jr", "0_small", "double", Outcome.PASSED, 2, 2),
        Check("bo, jr", "0_small", "triple", Outcome.MISSING, None, 1, "the checking cell was deleted"),
    ]
    grade.write(tmp_path, checks)
    assert read_practice(tmp_path / "checks.csv", 10) == {
        "ada": Practice(points=6.67, max_points=10),
        "bo, jr": Practice(points=6.67, max_points=10, unsettled=["0_small: triple"]),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("student_id,score\nada,3\n", "max_points"),
        ("student_id,notebook,cell,points,max_points\nada,0,a,nan,1\n", "nan points"),
        ("student_id,notebook,cell,points,max_points\nada,0,a,-1,1\n", "-1 points"),
        ("student_id,notebook,cell,points,max_points\nada,0,a,one,1\n", "one"),
        ("student_id,notebook,cell,points,max_points\nada\n", "NoneType"),
    ],
    ids=["columns", "nan", "negative", "word", "short"],
)
def test_a_file_that_is_something_else_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=rf"grades\.csv: not a list of checks .*{problem}.*Give the checks\.csv"):
        read_practice(path, 10)

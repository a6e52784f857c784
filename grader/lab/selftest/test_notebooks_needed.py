"""Which given cells grading leaves out."""

from __future__ import annotations

import nbformat
import pytest

from grader.lab.site.notebooks import sources
from grader.lab.site.notebooks.submissions import readied, unneeded

IMPORTS, HELPER = "import math", "def half(x):\n    return x / 2"
TRAINING = "models = [half(x) for x in range(3)]"
FIGURE = "print(models)"
ANSWER, CHECK = "def quarter(x):\n    return half(half(x))", "assert quarter(4) == 1"
GIVEN = (IMPORTS, HELPER, TRAINING, FIGURE)


def left_out(*cells: str) -> set[str]:
    """Of these cells, the texts of those that are left out."""
    numbered = dict(enumerate(cells))
    return {numbered[n] for n in unneeded(numbered, [n for n, text in numbered.items() if text in GIVEN])}


def test_what_only_given_cells_use_is_left_out() -> None:
    assert left_out(*GIVEN, ANSWER, CHECK) == {IMPORTS, TRAINING, FIGURE}


@pytest.mark.parametrize(
    "own",
    [
        "models[0]",
        "def f():\n    return models",
        "class Own:\n    kept = [x for x in models]",
        "models = [*models, 1]",
        "%time models",
        "globals()['models']",
        "def f(:\n    models",
    ],
)
def test_what_a_student_uses_is_run(own: str) -> None:
    assert left_out(*GIVEN, own, ANSWER, CHECK) == {IMPORTS, FIGURE}


@pytest.mark.parametrize(
    "own",
    [
        "(" * 100_000 + "models",
        "-" * 100_000 + "models",
        "models" + ".a" * 100_000,
        "models" + "+a" * 100_000,
        "lambda: " * 50_000 + "models",
        "models\0",
        "".join(" " * depth + "if models:\n" for depth in range(500)),
    ],
    ids=["brackets", "signs", "attributes", "sum", "lambdas", "null", "blocks"],
)
def test_hostile_text_harms_nobody(own: str) -> None:
    assert TRAINING not in left_out(*GIVEN, own, ANSWER, CHECK)


@pytest.mark.parametrize("own", ["models = 1\nmodels", "def f(models):\n    return models"])
def test_a_name_that_a_student_defines_anew_needs_no_given_cell(own: str) -> None:
    assert left_out(*GIVEN, own, ANSWER, CHECK) == {IMPORTS, TRAINING, FIGURE}


def test_a_given_cell_that_a_student_has_edited_is_run() -> None:
    edited = f"{FIGURE}  # mine"
    assert left_out(IMPORTS, HELPER, TRAINING, edited, ANSWER, CHECK) == {IMPORTS}


def test_what_only_a_hidden_test_uses_is_run_and_the_rest_is_shown() -> None:
    def notebook(check: str) -> nbformat.NotebookNode:
        made: nbformat.NotebookNode = nbformat.v4.new_notebook()
        made.cells = [nbformat.v4.new_code_cell(text) for text in (*GIVEN, ANSWER, check)]
        solution: dict[str, object] = {"grade_id": "quarter", "solution": True}
        laws: dict[str, object] = {"grade_id": "quarter_laws", "grade": True, "points": 1}
        for cell, mark in zip(made.cells[-2:], (solution, laws), strict=True):
            cell.metadata.nbgrader = sources.NBGRADER_DEFAULTS | mark
        return made

    handed_in = nbformat.writes(notebook("assert True")).encode()
    ready = readied(handed_in, notebook("assert math.pi"), GIVEN)
    assert [cell.source for cell in ready.cells if cell.cell_type == "code"] == [IMPORTS, HELPER, ANSWER, "assert True"]
    assert [TRAINING in cell.source for cell in ready.cells if cell.cell_type == "markdown"] == [True, False]

"""The notebooks' sources: one format, two languages that say the same, the same bytes whenever they are built."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from traitlets.config import Config

from grader.notebooks import execute, rules, sources

from .small_notebook import NAME, SCRIPT, cell, reference, small_walkthrough

NAMES = [script.stem for script in sources.scripts("en")]
NOTEBOOK_LINK = re.compile(r"\((\d_\w+)\.ipynb\)")
every_notebook = pytest.mark.parametrize("name", NAMES)


def from_text(text: str, folder: Path) -> NotebookNode:
    """The notebook of a percent script."""
    path = folder / f"{NAME}.py"
    path.write_text(text, encoding="utf-8")
    return sources.read(path)


def test_both_languages_have_the_same_notebooks() -> None:
    assert [script.stem for script in sources.scripts("zh")] == NAMES
    assert [name[:2] for name in NAMES] == [f"{number}_" for number in range(len(NAMES))]


@every_notebook
@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_a_notebook_keeps_the_rules(name: str, language: str) -> None:
    assert [*rules.problems(sources.read(sources.SOURCES / language / f"{name}.py"))] == []


@every_notebook
def test_both_languages_say_the_same(name: str) -> None:
    both = [sources.read(sources.SOURCES / language / f"{name}.py") for language in sources.LANGUAGES]
    assert [*rules.differences(*both)] == []


@every_notebook
def test_links_lead_to_notebooks_that_exist(name: str) -> None:
    """Those that are still to be written, at the end of the walk-through, may be named already."""
    for language in sources.LANGUAGES:
        text = (sources.SOURCES / language / f"{name}.py").read_text(encoding="utf-8")
        written = {target for target in NOTEBOOK_LINK.findall(text) if int(target[0]) < len(NAMES)}
        assert written <= {*NAMES}


def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    for language in sources.LANGUAGES:
        one, other = (sources.build(language, tmp_path / language / turn) for turn in ("one", "other"))
        assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
        assert len(one) == len(NAMES)


def test_a_cell_keeps_its_id_when_others_come_before_it(tmp_path: Path) -> None:
    later = from_text(SCRIPT.replace("# %%\n", "# %%\nimport math\n\n# %%\n", 1), tmp_path)
    assert cell(later, "double").id == "double"
    assert later.cells[0].id == "cell-00"


def test_metadata_survive_jupytext_and_are_completed(tmp_path: Path) -> None:
    notebook = from_text(SCRIPT, tmp_path)
    assert cell(notebook, "double_laws").metadata.nbgrader == {
        "grade": True,
        "grade_id": "double_laws",
        "locked": True,
        "points": 2,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    assert not cell(notebook, "double").metadata.nbgrader.locked
    nbformat.validate(notebook)


def test_lines_of_a_chinese_paragraph_join_without_a_space(tmp_path: Path) -> None:
    notebook = from_text("# %% [markdown]\n# 第一行，\n# 第二行 and\n# more 第三行\n#\n# 新段", tmp_path)
    assert notebook.cells[0].source == "第一行，第二行 and\nmore 第三行\n\n新段"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    ### END SOLUTION\n", "", "double: a solution cell has one BEGIN SOLUTION and one END SOLUTION"),
        ("    ### BEGIN HIDDEN TESTS\n", "", "double-laws: a checking cell has one BEGIN HIDDEN TESTS"),
        ("with quiet():", "if True:", "double-laws: a checking cell is one `with quiet():` block"),
        ('    assert double(1) == 2, "One and one make two."', "    double(1)", "asserts before its hidden tests"),
        ("from checks import quiet", "import ref.functional", "cell-01: imports ref.functional, which students do not"),
        ("from checks import quiet", "### BEGIN SOLUTION", "cell-01: a marker outside an exercise"),
        ('"grade_id": "triple"', '"grade_id": "double"', "double: this grade_id stands twice"),
    ],
    ids=["open_solution", "no_hidden", "loud", "nothing_shown", "reference", "stray_marker", "twice"],
)
def test_every_rule_can_be_broken(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in SCRIPT
    found = [*rules.problems(from_text(SCRIPT.replace(old, new, 1), tmp_path))]
    assert any(problem in line for line in found), found


def test_the_small_notebook_breaks_no_rule(tmp_path: Path) -> None:
    assert [*rules.problems(from_text(SCRIPT, tmp_path))] == []


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Twice x.", "x 的两倍。", True),
        ("One and one make two.", "一加一等于二。", True),
        ("# # 0 · Small", "# # 0 · 小", True),
        ("# # 0 · Small", "# ## 0 · 小", False),
        ("return x + x\n", "return 2 * x\n", False),
        ('"abab"', '"baba"', False),
        ('"points": 1', '"points": 2', False),
        ('"triple_laws"', '"triple_checks"', False),
        ("    ### BEGIN HIDDEN TESTS\n", "", False),
        ("# %%\nfrom", "# %% [markdown]\n# more\n\n# %%\nfrom", False),
    ],
    ids=["docstring", "message", "heading", "level", "code", "name", "points", "grade_id", "marker", "cell"],
)
def test_languages_may_differ_in_words_only(tmp_path: Path, old: str, new: str, same: bool) -> None:
    one = from_text(SCRIPT, tmp_path)
    assert old in SCRIPT
    found = [*rules.differences(one, from_text(SCRIPT.replace(old, new, 1), tmp_path))]
    assert (found == []) is same, found


def test_a_run_says_what_raised_and_what_was_written_to_stderr(tmp_path: Path) -> None:
    notebook = from_text("# %%\nimport sys\nprint('hm', file=sys.stderr)\n\n# %%\n1 / 0\n\n# %%\n2", tmp_path)
    run = execute.execute(notebook, tmp_path)
    assert run.problems == ("cell-00: stderr: hm", "cell-01: ZeroDivisionError: division by zero")
    assert run.notebook.cells[2].outputs == []


def test_a_check_that_a_blank_exercise_passes_is_found(tmp_path: Path) -> None:
    with small_walkthrough(tmp_path / "source"):
        notebook = reference()
        cell(notebook, "triple_laws").source = "with quiet():\n    assert triple"
        found = [*execute.blank_passes(notebook, tmp_path / "source")]
    assert found == ["triple-laws: passes although the exercise is blank"]


def test_a_blank_exercise_is_nbgraders_own() -> None:
    """Blank runs and the handbook show what students get."""
    config = Config()
    settings = (sources.ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    exec(compile(settings, "nbgrader_config.py", "exec"), {"get_config": lambda: config})
    assert config.ClearSolutions.code_stub == execute.STUB

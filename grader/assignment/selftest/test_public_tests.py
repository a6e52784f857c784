"""The tests that students run: they say TODO to untouched stubs, and nothing but yes to the reference."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.core.rubric import Rubric
from grader.selftest import some
from grader.selftest.submissions import edited, write_folder
from grader.selftest.warm import WarmPython
from tests.harness.terminal import width

NORM = "src/modeling/norm.py"
HAN = re.compile(r"[\u4e00-\u9fff]")


def test_untouched_stubs_are_all_to_do(untouched: Path, rubric: Rubric, run: WarmPython) -> None:
    result = run(untouched, "tests")
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stderr  # nothing is wrong yet
    assert sum(line.startswith("  TODO") for line in lines) == len(rubric.properties)
    assert not any("✓" in line or "✗" in line for line in lines)
    assert any(line.split()[-3:] == ["0", "/", "100"] for line in lines)


def test_the_reference_passes_everything(solved: Path, rubric: Rubric, run: WarmPython) -> None:
    result = run(solved, "tests", "--lang", "zh")
    assert result.returncode == 0, result.stdout
    assert sum(line.startswith("  ✓") for line in result.stdout.splitlines()) == len(rubric.properties)
    assert "100 / 100" in result.stdout
    bonus = sum(task.points for task in rubric.tasks if task.bonus)
    assert f"{bonus:g} / {bonus:g}" in result.stdout
    assert "每一组除以该组自己的均方根" in result.stdout


def test_one_task_can_be_run_alone(solved: Path, rubric: Rubric, run: WarmPython) -> None:
    result = run(solved, "tests", "--task", "1")
    assert result.returncode == 0, result.stdout
    first, second, *others = rubric.tasks
    assert f"{first.points:g} / {first.points:g}" in result.stdout
    table, _, following = result.stdout.partition("Next: ")
    assert not any(task.title in table for task in (second, *others))
    assert following == f"Task 2  {second.title}, in {second.file}\n\n"


def test_plain_pytest_works_too(solved: Path, untouched: Path, run: WarmPython) -> None:
    assert run(solved, "pytest", "-q", "tests/test_norm.py").returncode == 0
    left = run(untouched, "pytest", "-q", "-rs", "tests/test_norm.py")
    assert left.returncode == 0  # a TODO is a skip
    assert "failed" not in left.stdout
    assert "TODO: Task 1: GroupRMSNorm" in left.stdout


def test_a_test_of_ones_own_that_meets_a_todo_shows_where(own: Path, run: WarmPython) -> None:
    test = "from .test_norm import build\n\n\ndef test_it():\n    build(hidden_size=4)\n"
    write_folder(own, {"tests/test_own.py": test})
    told = run(own, "pytest", "-q", "tests/test_own.py").stdout
    assert "test_own.py:5" in told
    assert "norm.py" in told


# ── What a mistake is told ──


def mistaken(own: Path, old: str, new: str) -> Path:
    return write_folder(own, edited((NORM, old, new), of=ASSIGNMENT))


def test_a_mistake_is_explained_and_ends_with_1(own: Path, run: WarmPython) -> None:
    folder = mistaken(own, "mean_square + self.eps", "mean_square")
    write_folder(folder, {"handout/en/task1.html": ""})
    result = run(folder, "tests", "--task", "1")
    assert result.returncode == 1
    assert re.search(r"^ +read +handout/en/task1.html#norm_eps_inside_sqrt$", result.stdout, re.MULTILINE)
    assert "✗ eps is added inside the square root" in result.stdout
    assert "37 / 42" in result.stdout


def test_an_output_of_nan_is_no_difference_between_modes(own: Path, run: WarmPython) -> None:
    folder = mistaken(own, "return (normalised", "return float('nan') * (normalised")
    told = run(folder, "tests", "--task", "1").stdout.partition("To correct")[2]
    assert told.startswith("\n\n✗ each group is divided by its own root mean square\n")
    assert "Some are not finite." in told
    assert "dropout" not in told


def test_a_file_in_utf_16_is_named_once_with_the_remedy(own: Path, run: WarmPython) -> None:
    told = run(write_folder(own, {NORM: ASSIGNMENT.solution()[NORM].encode("utf-16")}), "tests").stdout
    assert "src/modeling/norm.py  is UTF-16 or UTF-32; save it as UTF-8 (so tests of task 1 could not run)" in told
    assert told.count("UTF-16") == 1
    assert "SyntaxError" not in told


def impatient(folder: Path, timer: str) -> None:
    """Have the tests there wait for half a second, by a signal or by a thread."""
    file = folder / "tests" / "harness" / "student.py"
    choice = 'hasattr(signal, "setitimer")'
    text = file.read_text(encoding="utf-8")
    assert choice in text
    text = text.replace(choice, "False") if timer == "thread" else text
    file.write_text(re.sub(r"(LIMIT\w*_S =) [\d.]+", r"\1 0.5", text), encoding="utf-8")


ENDS = {
    "os._exit(3)": ("status 3", "3"),
    "os.kill(os.getpid(), 9)": ("when memory runs out", "内存耗尽"),
    "os.abort()": ("SIGABRT", "SIGABRT"),
}


@pytest.mark.parametrize("code", some(ENDS, 3))
def test_code_that_ends_python_is_told_with_the_test_that_was_running(own: Path, run: WarmPython, code: str) -> None:
    folder = mistaken(own, "compute_dtype =", f"__import__('os').{code[3:]}\n        compute_dtype =")
    for language, how in zip(("en", "zh"), ENDS[code], strict=True):
        result = run(folder, "tests", "--lang", language)
        assert result.returncode == 1
        assert how in result.stdout
        assert result.stdout.count("tests/test_norm.py::test_") == 2, result.stdout  # in the command to copy, too


def test_a_file_that_exits_on_import_costs_its_own_tests_only(own: Path, run: WarmPython) -> None:
    told = run(mistaken(own, "import torch\n", "raise SystemExit\n"), "tests").stdout
    assert "norm.py:3  this file exits the program on import (so tests of task 1 could not run)" in told
    rubric = ASSIGNMENT.rubric
    assert f"{rubric.max_score - rubric.tasks[0].points:g} / {rubric.max_score:g}" in told


TIMERS = ["signal", "thread"]  # Windows has threads only


@pytest.mark.parametrize("timer", some(TIMERS, 2))
def test_an_endless_loop_outside_functions_costs_its_file_and_is_shown(own: Path, run: WarmPython, timer: str) -> None:
    folder = mistaken(own, "class GroupRMSNorm", "while True:\n    pass\n\n\nclass GroupRMSNorm")
    text = (folder / NORM).read_text(encoding="utf-8")
    line = text[: text.index("while True")].count("\n") + 1
    impatient(folder, timer)
    told = run(folder, "tests").stdout
    first, second = (f"src/modeling/norm.py:{number}  no result after 0.5 s" for number in (line, line + 1))
    assert first in told or second in told
    assert told.count("no result after") == 1
    assert "22 / 22" in told  # other tasks have their turn


@pytest.mark.parametrize("timer", some(reversed(TIMERS), 2))
def test_an_endless_loop_costs_three_tests_of_waiting(own: Path, run: WarmPython, timer: str) -> None:
    loop = "        while True:\n            pass\n        mean_square = "
    folder = mistaken(own, "        mean_square = ", loop)
    impatient(folder, timer)
    told = run(folder, "tests").stdout
    assert "no result after 0.5 s: is there an infinite loop?" in told
    assert "other failing tests of this property: 2" in told
    assert "  -     eps is added inside the square root" in told
    assert "22 / 22" in told  # other tasks have their turn


def test_the_debugger_stops_in_the_students_code_and_then_in_the_test(own: Path, run: WarmPython) -> None:
    folder = mistaken(own, "mean_square + self.eps", "mean_square")
    ended = run(folder, "pytest", "tests/test_norm.py", "-k", "test_eps_is_added", "-x", "--pdb", typed="n\nc\nq\n")
    first, second, third, *_ = re.findall(r"> \S*/(\w+/\w+\.py)\(\d+\)(\w+)\(\)", ended.stdout)
    assert first == second == ("modeling/norm.py", "forward")
    assert third == ("tests/test_norm.py", "test_eps_is_added_under_the_root")


@pytest.mark.parametrize(("language", "columns"), [("en", 40), ("zh", 60)])
def test_no_line_is_wider_than_the_terminal_but_what_is_copied(
    own: Path, run: WarmPython, language: str, columns: int
) -> None:
    folder = mistaken(own, "dim=-1, keepdim", "dim=(-1, -2), keepdim")
    shutil.copy(REPOSITORY / "src" / "modeling" / "pos_emb.py", folder / "src" / "modeling")
    terminal = folder / "tests" / "harness" / "terminal.py"
    text, edits = re.subn(r"shutil\.get_terminal_size\(.*\)\.columns - 1", str(columns), terminal.read_text("utf-8"))
    assert edits == 1
    terminal.write_text(text, encoding="utf-8")
    told = run(folder, "tests", "--lang", language, "--all", "--hint", "2").stdout
    lines = [line for line in told.splitlines() if not line.endswith("--pdb")]
    assert len(lines) < len(told.splitlines())
    assert [line for line in lines if width(line) > columns] == []


def test_a_file_of_ones_own_is_imported_with_as_many_dots_as_it_takes(own: Path, run: WarmPython) -> None:
    folder = mistaken(own, "import torch\n", "import torch\nfrom .functional import nothing\n")
    told = " ".join(run(folder, "tests").stdout.split())
    assert "from ..functional import …" in told
    assert "from .functional import …" not in told


def test_a_law_in_chinese_has_no_other_numbers() -> None:
    """That there is one, ``grader.lab.missing`` says."""
    functions = [
        node
        for path in (REPOSITORY / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    for function in functions:
        english, chinese = (ast.get_docstring(function) or "").split("\n\n")
        assert not HAN.search(english), function.name
        assert set(re.findall(r"\d+", chinese)) <= set(re.findall(r"\d+", english)) | {"16", "32"}, function.name


def test_the_command_to_copy_names_the_environment_of_this_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    page = import_module("tests.harness.page")  # untyped, as students are to read it
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(sys, "executable", str(REPOSITORY / ".venv" / "bin" / "python"))
    assert page.interpreter() == ".venv/bin/python"
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert page.interpreter() == "python"


def test_a_file_that_is_missing_is_named_as_such(own: Path, rubric: Rubric, run: WarmPython) -> None:
    for file in rubric.expected:
        (own / file).unlink()
    shown = run(own, "tests").stdout
    assert [file for file in rubric.expected if f"  {file}  this file is missing (so" not in shown] == []
    assert "ImportError" not in shown
    shutil.rmtree(own / "src")
    shown = run(own, "tests").stdout
    assert shown.count("this file is missing") == len(rubric.expected)
    assert "src.py" not in shown


@pytest.mark.process
@pytest.mark.parametrize("module", some(["tests", "tests.practice"], 2))
def test_python_without_assert_is_refused_and_judges_nothing(untouched: Path, module: str) -> None:
    command = [sys.executable, "-OO", "-m", module]
    result = subprocess.run(command, cwd=untouched, capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout) == (2, "")
    assert "PYTHONOPTIMIZE" in result.stderr


def test_an_unknown_option_is_answered_with_the_known_ones(untouched: Path, run: WarmPython) -> None:
    result = run(untouched, "tests", "--taks", "1")
    assert (result.returncode, result.stdout) == (4, "")
    assert "unrecognized arguments: --taks" in result.stderr
    assert "--task {1,2" in result.stderr


def test_a_device_that_cannot_be_chosen_is_refused(untouched: Path, run: WarmPython) -> None:
    result = run(untouched, "tests", "--task", "1", given="DEVICE=foo")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("DEVICE=foo: only DEVICE=cpu can be chosen.")


def test_the_page_needs_no_open_output(untouched: Path, run: WarmPython) -> None:
    result = run(untouched, "tests", "--task", "1", closed=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_clone_without_symbolic_links_works(tmp_path: Path, run: WarmPython) -> None:
    kept = ("src", "tests", "grader/shared", "grader/__init__.py", "grader/assignment/rubric.toml")
    for name in kept:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (REPOSITORY / name).is_dir() else shutil.copy
        copy(REPOSITORY / name, tmp_path / name)
    shared = tmp_path / "tests/harness/shared"
    shutil.rmtree(shared)
    shared.write_text("../../grader/shared")  # as git writes a link on a system that has none
    result = run(tmp_path, "tests")
    assert result.returncode == 0, result.stderr
    assert "0 / 100" in result.stdout

"""`make practice` tells a student what their tests catch, whatever state the file is in, in both languages."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.selftest import some
from grader.selftest.submissions import write_folder
from grader.selftest.warm import WarmPython
from tests.harness.terminal import width

from .test_practice_judged import THOROUGH

MINE = "tests/practice/test_mine.py"
NEVER_S = "600"  # a limit that no test here reaches, also on a busy machine
SHORT_S = "2"  # for files in which something never ends

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def told(own: Path, run: WarmPython) -> Told:
    """``told(text, ...)``: exit status and output for a file of tests, without line breaks; no file for None."""

    def told(text: str | bytes | None, *options: str) -> tuple[int, str]:
        (own / MINE).unlink(missing_ok=True)
        write_folder(own, {} if text is None else {MINE: text})
        if "--seconds" not in options:
            options = (*options, "--seconds", NEVER_S)
        result = run(own, "tests.practice", *options)
        assert "Traceback" not in result.stdout + result.stderr
        assert result.stderr == ""
        return result.returncode, " ".join(result.stdout.split())

    return told


def test_a_session_from_the_example_to_the_end(told: Told) -> None:
    example = (ASSIGNMENT.root / MINE).read_text(encoding="utf-8")
    status, first = told(example)
    assert status == 0
    assert f"Write further tests in {MINE}." in first
    assert "Caught: 0 of 6" in first
    assert first.count("not caught") == 6
    assert first.count("all your tests pass") == 2
    assert "Where exactly does the window end?" in first

    window = "import torch\n\ndef test_window(visible):\n    mask = visible(torch.tensor([1, 1, 1]), 2)\n"
    status, second = told(window + "    print(mask.shape)\n    assert mask[2, 0]\n")
    assert status == 1
    assert "✗ right_1 fails test_window" in second
    assert "your test fails on a correct implementation, right_1" in second
    assert f"{MINE}:6: AssertionError assert mask[2, 0] your test prints: torch.Size([3, 3])" in second
    assert "Caught: 0 of 6" in second  # it would catch wrong_1 if it were right

    status, third = told(window + "    assert not mask[2, 0]\n", "--lang", "zh")
    assert status == 0
    assert "✓ wrong_1 被发现：test_window" in third
    assert "已发现：1 / 6" in third

    window_0 = "\ndef test_window_0(visible):\n    try:\n        visible(torch.tensor([1]), 0)\n"
    status, last = told(THOROUGH + window_0 + "    except ValueError:\n        return\n    raise AssertionError\n")
    assert status == 0
    assert "Caught: 6 of 6 All caught." in last
    assert "✓ wrong_6 caught by test_window_0" in last


STATES = {  # what is in the file, the language, and what is said of it there
    "missing": (None, "zh", f"缺少 {MINE}。"),
    "empty": ("", "en", f"{MINE} has no test"),
    "syntax error": ("def test_a(visible)\n", "en", f"{MINE}:1: SyntaxError: expected ':'"),
    "failing import": ("x = 1\nimport nothing_of_that_name\n", "en", f"{MINE}:2: ModuleNotFoundError"),
    "exit at import": ("import sys\nsys.exit(3)\n", "zh", f"{MINE}:2: SystemExit: 3"),
    "end at import": ("import os\nos._exit(0)\n", "zh", "一导入就结束了程序"),
    "another encoding": (b"# \xe9\n", "en", f"{MINE} is not UTF-8 (byte 2); save it as UTF-8"),
}


@pytest.mark.parametrize(("text", "language", "said"), STATES.values(), ids=STATES)
def test_a_file_that_cannot_be_used_is_told_in_a_line(
    told: Told, text: str | bytes | None, language: str, said: str
) -> None:
    status, page = told(text, "--lang", language)
    assert status == (text != "")  # there is nothing wrong with what is still to be written
    assert said in page


ODD = """
import os, sys, time, torch

def test_exits(visible):
    sys.exit("enough")

def test_two(visible, other):
    pass

def test_ends(visible):
    os._exit(0)

def test_window(visible):
    os.write(1, b"past Python")
    if not hasattr(sys, "spent"):  # as if it computed for four seconds, once
        sys.spent = time.process_time
        time.process_time = lambda: sys.spent() + 4
    assert not visible(torch.tensor([1, 1, 1]), 2)[2, 0]
"""


def test_each_odd_test_costs_itself_and_no_other(told: Told) -> None:
    status, page = told(ODD)
    assert status == 1
    assert f"test_exits: your test fails on a correct implementation, right_1. {MINE}:5: SystemExit: enough" in re.sub(
        r"Does the .*? asserts\? ", "", page
    )
    assert "test_two: takes 2 arguments; a test takes one" in page
    assert "test_ends: exited the whole program." in page
    assert "✓ wrong_1 caught by test_window" in page
    assert "past Python" not in page
    assert re.search(r"take [\d.]+ s on one implementation; the limit during grading is 3 s", page)


def test_what_never_ends_is_said_to(told: Told) -> None:
    status, page = told("while True: pass", "--seconds", SHORT_S)
    assert (status, "could not be imported in time" in page) == (1, True)
    endless = "import torch\n\ndef test_loop(visible):\n    while True: pass\n"
    status, page = told(endless, "--seconds", SHORT_S)
    assert status == 1
    assert "test_loop: did not finish in time" in page


NARROW = "import os, runpy\nos.environ['COLUMNS'] = '60'\nrunpy.run_module('tests.practice', run_name='__main__')\n"


@pytest.mark.parametrize("language", some(["zh", "en"], 2))
def test_the_page_fits_sixty_columns(own: Path, run: WarmPython, language: str) -> None:
    """``narrow`` is no command of ``tests``, so that what it starts is a new interpreter, as students have it."""
    write_folder(own, {MINE: ODD, "narrow.py": NARROW})
    page = run(own, "narrow", "--lang", language, "--seconds", NEVER_S).stdout.splitlines()
    assert len(page) > 20
    assert [line for line in page if width(line) > 60] == []


def test_it_runs_where_python_cannot_fork(own: Path, run: WarmPython) -> None:
    """As on Windows: the new Python finds what it is to run by the full name of its module."""
    student = own / "tests" / "harness" / "student.py"
    text, edits = re.subn("^CAN_FORK = .*", "CAN_FORK = False", student.read_text("utf-8"), flags=re.MULTILINE)
    assert edits == 1
    student.write_text(text, encoding="utf-8")
    assert "Caught: 0 of 6" in run(own, "tests.practice", "--seconds", NEVER_S).stdout


def test_the_tests_are_handed_in_with_the_rest(solved: Path, run: WarmPython) -> None:
    result = run(solved, "tests.submit")
    assert result.returncode == 0
    assert f"It also contains your own tests, {MINE}, for practice points." in result.stdout
    with zipfile.ZipFile(solved / "submission.zip") as archive:
        names = archive.namelist()
    assert MINE in names
    assert [name for name in names if not name.startswith("src/")] == [MINE]

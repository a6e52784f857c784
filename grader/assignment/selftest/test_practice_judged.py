"""Students' own tests are judged as they should be: on implementations of known truth, whatever else the tests try.

A third of the hostile files are judged here; ``GRADER_LONG=1`` takes them all.
"""

from __future__ import annotations

import importlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.practice import PRACTICE
from grader.core.intake.candidate import Candidate
from grader.core.intake.submission import Submission
from grader.core.rubric import LANGUAGES
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Isolation
from grader.extras.practice import trials
from grader.extras.practice.result import Result
from grader.extras.practice.trials import handed_in_as, judged, sealed
from grader.selftest import LONG, long_only, some
from grader.selftest.submissions import write_folder, zipped
from grader.selftest.term import choose_for, refused, run
from grader.specimens.practice import Practice
from tests.harness.shared import trial

ALL = len(PRACTICE.mistakes)
SHOWN = ("right_1", "right_2", *(f"wrong_{n}" for n in range(1, 7)))
SOME = ("window_wider_by_one", "window_narrower_by_one", "transposed")  # one of each right implementation
FEW = replace(PRACTICE, mistakes={name: PRACTICE.mistakes[name] for name in SOME})  # each costs two workers
RIGHT = [*PRACTICE.right, "right_1", "right_2"]
THOROUGH = """
import torch

def expected(ids, window, sinks):
    n = len(ids)
    near = [[i - j < window or ids[:j].count(ids[j]) < sinks for j in range(n)] for i in range(n)]
    own = [[j <= i and ids[i] == ids[j] for j in range(n)] for i in range(n)]
    return torch.tensor(near, dtype=torch.bool).reshape(n, n) & torch.tensor(own, dtype=torch.bool).reshape(n, n)

def test_masks(visible):
    for ids in ([], [1], [1, 1, 1, 1], [5, 5, 2, 2, 5, 2], [-3, 4, -3, -3, 4], [0, 1 << 32, 0], [9, 9, 1, 1, 1]):
        for window, sinks in ((1, 0), (2, 0), (1, 1), (2, 2), (9, 0)):
            documents = torch.tensor(ids, dtype=torch.int64)
            mask = visible(documents, window, sinks)
            assert mask.dtype is torch.bool
            assert torch.equal(mask, expected(ids, window, sinks))
            assert documents.tolist() == ids

def test_sinks_below_zero(visible):
    try:
        visible(torch.tensor([1]), 1, sinks=-1)
    except ValueError:
        return
    raise AssertionError
"""


def function(source: str) -> Callable[..., Tensor]:
    names: dict[str, Any] = {}
    exec(source, names)
    found: Callable[..., Tensor] = names[PRACTICE.function]
    return found


def implementations() -> Iterator[tuple[str, Callable[..., Tensor]]]:
    """Those that students see and those that they do not, by name."""
    for name, source in {**PRACTICE.right, **PRACTICE.wrong}.items():
        yield name, function(source)
    shown = importlib.import_module("tests.practice.implementations")
    for name in SHOWN:
        yield name, getattr(shown, name)


def answers(visible: Callable[..., Tensor]) -> list[object]:
    """What an implementation answers to many small inputs, errors and changed inputs among them."""
    found: list[object] = []
    some = [list(ids) for length in range(5) for ids in itertools.product((-1, 0, 1 << 32), repeat=length)]
    for ids, window, sinks in itertools.product([*some, [7] * 6], (0, 1, 2, 9), (-1, 0, 1, 2)):
        documents = torch.tensor(ids, dtype=torch.int64)
        try:
            mask = visible(documents, window, sinks)
            found.append((mask.dtype, mask.shape, mask.tolist(), documents.tolist()))
        except Exception as error:
            found.append(type(error))
    return found


@pytest.mark.slow
def test_the_right_ones_agree_everywhere_and_each_wrong_one_differs_somewhere() -> None:
    given = {name: answers(visible) for name, visible in implementations()}
    (right,) = [next(answer for name, answer in given.items() if name == RIGHT[0])]
    assert [name for name, answer in given.items() if answer == right] == sorted(RIGHT, key=list(given).index)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_handout_is_true(language: str) -> None:
    page = (ASSIGNMENT.root / "handout" / language / "practice.md").read_text(encoding="utf-8")
    shown = re.search(r"visible\((torch\.tensor\(.*?\)), window=(\d), sinks=(\d)\)\n((?:# .*\n)+)", page)
    assert shown
    ids = [int(number) for number in re.findall(r"\d+", shown[1])]
    rows = json.loads(shown[4].replace("#", ""))
    for name, visible in implementations():
        if name in RIGHT:
            assert visible(torch.tensor(ids), int(shown[2]), int(shown[3])).int().tolist() == rows, name
    assert f" {PRACTICE.points:g} " in page
    assert f" {trial.MOST_TESTS} " in page
    assert f" {trial.MOST_S} " in page


def test_a_sealed_implementation_does_the_same_and_has_nothing_to_read() -> None:
    text = sealed(PRACTICE.right["rows"])
    assert answers(function(text)) == answers(function(PRACTICE.right["rows"]))
    assert function(text).__doc__ is None
    assert {function(sealed(source)).__code__.co_filename for source in PRACTICE.wrong.values()} == {
        function(text).__code__.co_filename
    }


Judge = Callable[..., Result]


@pytest.fixture
def judge(zygote: Zygote) -> Judge:
    """``judge(text, practice)``: what a file of tests is worth; without ``practice``, in the whole one."""

    def judge(text: str, practice: Practice = PRACTICE) -> Result:
        submission = Submission("ada", {handed_in_as(practice): text})
        return judged(Candidate("ada", Path("ada")), submission, practice, zygote.start)

    return judge


def test_thorough_tests_catch_every_wrong_one_and_earn_all_points(judge: Judge) -> None:
    result = judge(THOROUGH)
    assert [name for name, tests in result.catching.items() if not tests] == []
    assert (result.points, dict(result.refused)) == (PRACTICE.points, {})
    assert result.told("zh") == f"你的测试发现了 {ALL} 个错误实现中的 {ALL} 个：练习分 5 / 5。"


def test_a_test_that_refuses_a_right_one_takes_only_its_own_catches_along(judge: Judge) -> None:
    unfair = "\ndef test_contiguous(visible):\n    assert visible(torch.tensor([1, 1, 2]), 1).is_contiguous()\n"
    both, alone = judge(THOROUGH + unfair), judge("import torch\n" + unfair)
    assert both.points == PRACTICE.points
    assert dict(both.refused) == {"test_contiguous": "right"}
    assert "test_contiguous does not count: it fails on a correct implementation (test_mine.py:" in both.told("en")
    assert (alone.points, alone.caught) == (0, 0)


def test_a_test_that_hangs_or_ends_its_worker_costs_only_itself(judge: Judge) -> None:
    result = judge(THOROUGH + "\ndef test_dies(visible):\n    import os\n    os._exit(0)\n")
    assert dict(result.refused) == {"test_dies": "ended"}
    assert result.points == PRACTICE.points


# Files that try to earn points by anything but testing.
EACH = "\nfor _number in range(50):\n    exec(f'def test_{_number}(visible): attempt({_number}, visible)')\n"
HOSTILE = {
    "fails always": "def test_all(visible): assert False",
    "tosses coins": "import os\ndef attempt(number, visible): assert os.urandom(1)[0] > 25" + EACH,
    "looks at its process id": "import os\ndef attempt(number, visible): assert os.getpid() % 9 != number % 9" + EACH,
    "looks at the clock": "import time, logging\nbegan = logging._startTime\n"
        "def attempt(number, visible): assert time.time() - began < number / 10" + EACH,
    "ends the program": "import os\ndef test_exit(visible): raise SystemExit(0)\ndef test_end(visible): os._exit(1)",
    "kills everybody": "import os, signal\ndef test_kill(visible):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
        "def test_all(visible):\n    os.kill(-1, signal.SIGKILL)",
    "forks": "import os\ndef test_fork(visible):\n    while True: os.fork()",
    # What it may address; to write to it takes half a second on each implementation.
    "fills the memory":
        "import torch\ndef test_memory(visible):\n    kept = []\n    while True: kept.append(torch.empty(1 << 24))",
    "writes to the judge": "import os\ndef test_forge(visible):\n    for fd in range(3, 64):\n"
        "        try: os.write(fd, b'\\x05\\0\\0\\0true!' * 99)\n        except OSError: pass",
    "patches the runner": "import sys\nfor module in list(sys.modules.values()):\n    if hasattr(module, 'outcome'):\n"
        "        module.outcome = lambda test, implementation: {'type': 'Caught', 'line': 1}\n"
        "def test_nothing(visible): pass",
    "lies about its tests":
        "import sys\nfor module in list(sys.modules.values()):\n    if hasattr(module, 'outcome'):\n"
        "        module.names = lambda module: [1, {'x': 2}]\ndef test_nothing(visible): pass",
    "patches pytest":
        "import pytest\npytest.fail = lambda *_: None\npytest.exit('over', 0)\ndef test_nothing(visible): pass",
    "reads the source": "import inspect\ndef test_source(visible): assert '<=' not in inspect.getsource(visible)\n"
        "def test_doc(visible): assert visible.__doc__ is not None",
    "reads the course's files": "import glob\ndef test_files(visible):\n    import pathlib\n"
        f"    assert 'mistakes' not in pathlib.Path({str(ASSIGNMENT.folder / 'practice/__init__.py')!r}).read_text()",
    "searches the heap": "import gc\ndef test_heap(visible):\n    wrong = 'window_wider' + '_by_one'\n"
        "    assert not [one for one in gc.get_objects() if isinstance(one, dict) and wrong in one]",
    "has other tests each time": "import os\nexec('def test_%s(visible): assert False' % os.urandom(4).hex())",
    "has names of escape sequences": "exec('def t(visible): assert False')\nglobals()['test_\\x1b[31m'] = t",
    "has too many tests": "for n in range(100): exec(f'def test_{n}(visible): assert False')",
    "floods": "def test_flood(visible):\n    print('x' * (1 << 24))\n    raise ValueError('y' * (1 << 24))",
    "asks the network": "import socket\ndef test_net(visible):\n    socket.create_connection(('example.org', 80))",
    "cannot be parsed": "def test_x(:",
    "is no text": "\0\0",
    "is deeply nested": "(" * 9999,
    "ends at import": "raise SystemExit(0)",
}  # fmt: skip


@pytest.mark.parametrize("name", some(HOSTILE, 3))
def test_a_hostile_file_earns_nothing_and_is_told_why(judge: Judge, name: str) -> None:
    result = judge(HOSTILE[name], FEW)
    assert (result.points, result.caught) == (0, 0)
    for language in ("en", "zh"):
        assert result.told(language).isprintable()
        assert "{" not in result.told(language)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("while True: pass", "endless"),
        pytest.param("def test_a(visible):\n    while True: pass", "", marks=long_only),
        ("import time\n" + "".join(f"def test_{n}(visible): time.sleep(99)\n" for n in range(9)), "stops"),
    ],
    ids=["at import", "in a test", "in all tests"],
)
def test_what_never_ends_is_ended(judge: Judge, text: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "TEST_S", 1.0)  # of the worker's own time, so that a busy machine takes none of it
    result = judge(text, FEW)
    assert (result.points, result.problem) == (0, problem)


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    """A class: thorough tests in a zip, a broken file, a loose file, and no tests at all."""
    path = f"tests/practice/{PRACTICE.file}"
    files = {path: THOROUGH, **ASSIGNMENT.stubs()}
    folder = write_folder(tmp_path / "class", {"ada.zip": zipped(files), f"bo/{path}": "def test_x(:"})
    write_folder(folder, {f"cy/{PRACTICE.file}": THOROUGH})
    return write_folder(folder, {f"dana/{name}": text for name, text in ASSIGNMENT.stubs().items()})


@pytest.mark.process
def test_a_class_is_judged_and_gives_the_same_bytes_twice(
    handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.assignment.corpus.practice.PRACTICE", FEW)
    for out in ("one", "two") if LONG else ("one",):
        run("practice", handed_in, "--out", tmp_path / out)
        for name in ("practice.csv", "practice.json"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / out / name).read_bytes()
    told = json.loads((tmp_path / "one/practice.json").read_text(encoding="utf-8"))["submissions"]
    assert {one["id"]: one["points"] for one in told} == {"ada": 5, "bo": 0, "cy": 5, "dana": 0}
    assert {one["id"]: one["problem"] for one in told if one["problem"]} == {"bo": "SyntaxError", "dana": "missing"}
    rows = (tmp_path / "one/practice.csv").read_text(encoding="utf-8").splitlines()
    assert rows[1] == ("ada,,5,5,3,3,2,2,Your tests catch 3 of 3 wrong implementations: 5 of 5 practice points.")


def test_an_assignment_without_practice_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handed_in: Path
) -> None:
    from grader.examples.small.grader.assignment import ASSIGNMENT as SMALL

    choose_for(monkeypatch, SMALL)
    assert refused("practice", handed_in, "--out", tmp_path) == "grader: this assignment has no practice."


@pytest.mark.process
def test_less_isolation_than_asked_is_refused(handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Weak:
        isolation = Isolation(frozenset(), {})

        def __init__(self, *_: object) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr("grader.core.sandbox.launch.Zygote", Weak)
    line = refused("practice", handed_in, "--out", tmp_path, "--require-isolation", "landlock")
    assert "weaker than required" in line

"""``make submit``, a look over what is there and a zip that the grader takes; ``make watch``, tests at each save."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from grader import REPOSITORY
from grader.core.intake.discover import discover
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest import some
from grader.selftest.submissions import ATTENTION, SWIGLU, handed_out, write_folder
from grader.selftest.warm import WarmPython
from tests.harness.terminal import command, end_with


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    return write_folder(handed_out(tmp_path / "small"), ASSIGNMENT.solution())


def test_the_zip_is_what_the_grader_takes(solved: Path, run: WarmPython) -> None:
    lock = "import threading\n\nLOCK = threading.Lock()\n"
    write_folder(solved, {"src/helper.py": lock, "src/notes.txt": "no Python"})
    write_folder(solved, {"src/.ipynb_checkpoints/swiglu-checkpoint.py": "import triton\ndef broken(:\n\0"})
    result = run(solved, "tests.submit")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("✓") == 2
    assert "submission.zip contains 4 files of src/ (2 besides those above)" in result.stdout
    assert "starts a thread" not in result.stdout
    (candidate,) = discover([solved / "submission.zip"], expected=ASSIGNMENT.rubric.expected)
    submission = candidate.read()
    assert submission.files == {**ASSIGNMENT.solution(), "src/helper.py": lock}
    assert submission.notices == ()


def test_the_same_work_gives_the_same_bytes(solved: Path, run: WarmPython) -> None:
    run(solved, "tests.submit")
    first = (solved / "submission.zip").read_bytes()
    (solved / SWIGLU).touch()
    run(solved, "tests.submit", "--out", "again.zip", "--lang", "zh")
    assert (solved / "again.zip").read_bytes() == first


def test_what_is_still_to_write_is_named_and_may_be_handed_in(tmp_path: Path, run: WarmPython) -> None:
    result = run(handed_out(tmp_path / "small"), "tests.submit")
    assert result.returncode == 0
    assert "to implement, line" in result.stdout
    assert "✓" not in result.stdout


TROUBLES: tuple[dict[str | None, str], ...] = (  # what is in the two files, and what is said of each
    {None: "this file is missing", "def broken(:\n": "SyntaxError: invalid syntax: def broken(: ({file}:1)"},
    {
        "import torch\n\nx = 1 / 0\n": "ZeroDivisionError: division by zero ({file}:3)",
        "class Another: ...\n": "not defined: ",
    },
    {"from .nowhere import thing\n": "nowhere.py", "raise SystemExit(0)\n": "this file exits the program on import"},
    {"# " + "x" * (1 << 20): "larger than 1 MiB", "x = 1\n\0": "contains NUL bytes"},
    {"import os\nos._exit(0)\n": "this file exits the program on import"},
)


@pytest.mark.parametrize("called", ["swiglus.py", "swiglu (1).py"])
def test_a_misspelled_file_is_named_beside_the_one_that_is_missing(solved: Path, called: str, run: WarmPython) -> None:
    (solved / SWIGLU).rename((solved / SWIGLU).with_name(called))
    (solved / SWIGLU).with_name("odd.py").write_bytes(b"\0\xff")
    result = run(solved, "tests.submit")
    assert result.returncode == 1
    meant = str(Path(SWIGLU).with_name(called))
    assert f"this file is missing; did you mean {meant}? If so, rename it to {SWIGLU}" in result.stdout


@pytest.mark.parametrize("troubles", TROUBLES, ids=["missing", "at_import", "elsewhere", "odd", "exits_at_once"])
def test_what_would_cost_a_task_is_said_before_anything_is_packed(
    solved: Path, troubles: dict[str | None, str], run: WarmPython
) -> None:
    said = dict(zip(ASSIGNMENT.rubric.expected, troubles.values(), strict=False))
    for file, text in zip(ASSIGNMENT.rubric.expected, troubles, strict=False):
        (solved / file).unlink() if text is None else (solved / file).write_text(text)
    result = run(solved, "tests.submit")
    assert result.returncode == 1
    for file, complaint in said.items():
        (line,) = [line for line in result.stdout.splitlines() if "✗" in line and f" {file} " in line]
        assert complaint.format(file=file) in line
    assert "python -m tests.submit --anyway" in result.stdout
    assert not (solved / "submission.zip").exists()


def test_a_broken_file_can_be_handed_in_for_the_sake_of_the_others(solved: Path, run: WarmPython) -> None:
    (solved / SWIGLU).write_text("def broken(:\n")
    result = run(solved, "tests.submit", "--anyway")
    assert result.returncode == 0
    with zipfile.ZipFile(solved / "submission.zip") as archive:
        assert archive.read(SWIGLU) == b"def broken(:\n"


def test_a_place_that_cannot_be_written_to_is_named(solved: Path, run: WarmPython) -> None:
    result = run(solved, "tests.submit", "--out", "nowhere/submission.zip")
    assert result.returncode == 2
    assert result.stdout.splitlines()[-1] == "nowhere/submission.zip: No such file or directory"
    result = run(solved, "tests.submit", "--out", "src")
    assert (result.returncode, result.stdout.splitlines()[-1]) == (2, "src: Is a directory")
    assert not [*solved.glob("*.part")]


def test_packages_that_may_be_missing_when_it_is_graded_are_named(solved: Path, run: WarmPython) -> None:
    write_folder(solved, {"src/helper.py": "import os.path\nimport pytest\nfrom torch import nn\nfrom .a import b\n"})
    result = run(solved, "tests.submit")
    assert result.returncode == 0
    assert "src/helper.py  imports pytest; only Python and torch are guaranteed during grading" in result.stdout


def test_code_that_cannot_be_parsed_or_only_with_a_warning_ends_nothing(solved: Path, run: WarmPython) -> None:
    write_folder(solved, {"src/deep.py": f"x = {'-' * 30_000}1\n", "src/helper.py": "import pytest\nx = '\\d'\n"})
    for result in (run(solved, "tests"), run(solved, "tests.submit")):
        assert "src/helper.py  imports pytest" in result.stdout
        assert (result.returncode, result.stderr) == (0, "")


STARTS = "starts a thread or a process, which the grader does not allow"
FAILS = "uses a file or a folder, which fails during grading"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("from threading import Thread\n\ndef go():\n    Thread(target=print).start()\n", f"Thread() {STARTS}"),
        ("import subprocess\n\ndef go():\n\n    subprocess.run(['ls'])\n", f"subprocess.run() {STARTS}"),
        ("def go():\n    print(1, file=open('log.txt', 'a'))\n", f"open() {FAILS}"),
        ("import logging as log\n\n\nlog.basicConfig(level=0, filename='/dev/null')\n", f"basicConfig() {FAILS}"),
    ],
    ids=["thread", "program", "file", "log"],
)
def test_what_the_grader_forbids_is_said(solved: Path, run: WarmPython, text: str, told: str) -> None:
    """By the tests and before it is packed; it may be in a part that the grader does not run, so it is packed."""
    write_folder(solved, {"src/helper.py": text})
    place = f"src/helper.py:{text.count(chr(10)) or 1}"
    said = f"{told} ({place})"
    tested, packed = run(solved, "tests"), run(solved, "tests.submit")
    assert said in " ".join(tested.stdout.split())
    assert (packed.returncode, said in packed.stdout) == (0, True)


REFUSED = {  # what is in a helper module, and what is said of it
    "utf_16": ("x = 1\n".encode("utf-16"), "is UTF-16 or UTF-32; save it as UTF-8"),
    "latin_1": (b"# Dr\xfccken\n", "is not UTF-8 (byte 4); save it as UTF-8"),
    "no_such_coding": (b"# coding: klingon\n", "declares an encoding that Python cannot read"),
    "own_import": (b"import sys\nsys.path.insert(0, 'src')\nfrom attention import x\n", "Import it relatively"),
    "type_parameters": (b"def first[T](items: list[T]) -> T: ...\n", "src/helper.py:1"),
}


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_graded_is_refused_in_one_line(solved: Path, run: WarmPython, data: bytes, said: str) -> None:
    if said == "src/helper.py:1" and sys.version_info < (3, 12):
        pytest.skip("only a later Python reads this at all; an earlier one says that it is a syntax error")
    write_folder(solved, {"src/helper.py": data})
    result = run(solved, "tests.submit")
    assert result.returncode == 1
    (line,) = [line for line in result.stdout.splitlines() if "src/helper.py" in line]
    assert said in line


def test_a_coding_line_is_honoured_by_everyone(solved: Path, run: WarmPython) -> None:
    """GBK, said so as PEP 263 asks for: the tests run it, submit packs it, and the grader reads the same text."""
    text = "# -*- coding: gbk -*-\n# 均方根\n" + ASSIGNMENT.solution()[ATTENTION]
    (solved / ATTENTION).write_bytes(text.encode("gbk"))
    result = run(solved, "tests.submit")
    assert result.returncode == 0, result.stdout
    (candidate,) = discover([solved / "submission.zip"], expected=ASSIGNMENT.rubric.expected)
    assert candidate.read().files[ATTENTION] == text


def test_what_is_shared_is_one_folder_on_both_sides() -> None:
    theirs = REPOSITORY / "tests" / "harness" / "shared"
    assert theirs.is_symlink()
    assert theirs.samefile(REPOSITORY / "grader" / "shared")


def test_commands_are_advised_as_they_can_be_typed_there() -> None:
    assert command("test", "all", environ={"MAKELEVEL": "1"}) == "make test ALL=1"
    assert command("submit", "anyway", environ={}).endswith(" -m tests.submit --anyway")
    assert command("test", "hint", 2, {"MAKELEVEL": "1"}) == "make test HINT=2"
    assert command("test", "hint", 2, {}).endswith(" -m tests --hint 2")
    assert command("chat", environ={"MAKELEVEL": "1", "MAKEFLAGS": " -- LANG=zh TASK=1"}) == "make chat LANG=zh"
    assert command("demo", environ={}).endswith(" -m tests.demo")


def test_a_reader_who_has_gone_leaves_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after ``| head``."""
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr("os._exit", sys.exit)
    with suppress(BrokenPipeError), os.fdopen(writer, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit, match="1"):
            end_with(lambda: print("said") or 0)


WAITING = "Watching src/"
harness: Any = import_module("tests.harness.watch")  # untyped, as students are to read it
rubric: Any = import_module("tests.harness.rubric")


class Watching:
    """A running ``python -m tests --watch``, and what it prints."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
        environment.pop("MAKELEVEL", None)  # where make runs these tests; students would read of its targets
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests", "--watch"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def until(self, text: str) -> str:
        """What is printed up to the line that begins with a text."""
        printed = ""
        for line in self.process.stdout or ():
            printed += line
            if line.startswith(text):
                return printed
        pytest.fail(f"it ended: {printed}")

    def close(self) -> None:
        """End it, and whatever it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def interrupt(self) -> int:
        """Press Ctrl-C, which reaches all processes of a terminal; returns the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait()


@pytest.fixture(params=some(["fork", "new Python"], 2))
def watching(solved: Path, request: pytest.FixtureRequest) -> Iterator[Watching]:
    """A watch over it, whose runs are forks, or new Pythons, as on macOS and Windows."""
    file, choice = solved / "tests" / "harness" / "student.py", 'sys.platform != "darwin"'
    text = file.read_text(encoding="utf-8")
    assert text.count(choice) == 1
    file.write_text(text.replace(choice, "False") if request.param == "new Python" else text, encoding="utf-8")
    running = Watching(solved)
    yield running
    running.close()


@pytest.mark.process
def test_a_save_ends_a_run_that_hangs_and_runs_the_tests_of_its_task(solved: Path, watching: Watching) -> None:
    first = watching.until(WAITING)
    assert "Task 2" in first
    assert "complete. Well done!" in first
    assert "To submit: python -m tests.submit" in first
    text = (solved / SWIGLU).read_text(encoding="utf-8")
    (solved / SWIGLU).write_text(text + "\nraise ValueError('not yet')\n", encoding="utf-8")
    second = watching.until(WAITING)
    assert f"── {SWIGLU} ──" in second
    assert "ValueError: not yet" in second
    assert "Task 1" not in second
    assert "Since the last save\n  - " in second
    (solved / SWIGLU).write_text(text, encoding="utf-8")
    third = watching.until(WAITING)
    assert "Since the last save\n  + " in third
    assert "complete. Well done!" in third
    (solved / SWIGLU).write_text(text + "\n__import__('os')._exit(3)\n", encoding="utf-8")
    assert "status 3, as os._exit does, while files of src/ were imported" in watching.until(WAITING)
    (solved / SWIGLU).write_text(text + "\nwhile True:\n    pass\n", encoding="utf-8")
    watching.until("──")
    (solved / SWIGLU).write_text(text, encoding="utf-8")
    assert "complete. Well done!" in watching.until(WAITING)
    assert watching.interrupt() == 0


def test_a_save_at_any_moment_leaves_a_memory_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save kills the run that writes it: here, after half of the text."""
    write = Path.write_text

    def killed(path: Path, text: str, **options: str) -> None:
        write(path, text[: len(text) // 2], **options)
        raise KeyboardInterrupt("killed")

    (tmp_path / "passed").write_text("[]")
    feedback = import_module("tests.harness.feedback").Feedback(rubric.load(), "en", None)
    monkeypatch.setattr(Path, "write_text", killed)
    with pytest.raises(KeyboardInterrupt, match="killed"):
        harness.Walk(feedback, lambda text, _: text, memory=tmp_path / "passed").sections()
    assert (tmp_path / "passed").read_text() == "[]"


def test_a_file_of_no_task_may_matter_to_all() -> None:
    tasks = rubric.load((ASSIGNMENT.folder / "rubric.toml",)).tasks
    attention, swiglu = (harness.ROOT / path for path in (ATTENTION, SWIGLU))
    assert harness.tasks_of([swiglu], tasks) == [tasks[1]]
    assert harness.tasks_of([swiglu, attention], tasks) == [*tasks]
    assert harness.tasks_of([swiglu, harness.ROOT / "src" / "helper.py"], tasks) == [*tasks]
    assert harness.tasks_of([attention], tasks[1:]) == [tasks[1]]

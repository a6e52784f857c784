"""Full disks, broken hidden tests, a broken reference, long runs: one clear line, and never a student's zero."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader import REPOSITORY
from grader import __main__ as cli
from grader.core.intake.reader import Reader
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.core.run.executors import ATTEMPTS
from grader.core.sandbox.handle import Worker
from grader.core.sandbox.launch import Zygote
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.processes import descendants
from grader.selftest import LONG, long_only
from grader.selftest.faulty import Trap, break_the_oracle
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, edited, submission, write_folder

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

GRADINGS = 200 if LONG else 8
WAIT = {"src/work.py": "import time\ndef wait():\n    time.sleep(60)\n"}
LOAD = ("load", {"module": "src.work", "name": "wait"})
CALL = ("call", {"target": "wait", "arguments": []})


def grade(folder: Path, out: Path) -> Result:
    """The command with real judges."""
    options = ["--device", "cpu", "--only", "task1", "--jobs", "1", "--lang", "en"]
    return CliRunner().invoke(cli.app, ["grade", str(folder), "--out", str(out), *options])


@long_only
def test_a_hidden_test_that_fails_by_itself_is_tried_again_and_then_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "ada", ASSIGNMENT.solution())
    trap = Trap("ada", ASSIGNMENT.solution(), fault=break_the_oracle, log=tmp_path / "log", times=99)
    monkeypatch.setattr(Reader, "read", lambda *_: trap)
    result = grade(tmp_path / "ada", tmp_path / "out")
    assert (result.exit_code, trap.attempts) == (3, ATTEMPTS)
    assert result.stderr.splitlines()[-1].startswith("grader: the grader failed on some submissions")
    report = json.loads((tmp_path / "out" / "ada" / "report.json").read_text())
    assert (report["status"], report["score"], report["bonus"]) == ("grader_error", None, None)
    assert "ZeroDivisionError: of our own making" in report["reason"]


@long_only
def test_a_reference_that_fails_is_one_line(tmp_path: Path) -> None:
    """In a copy of the project, with the command as it is typed."""
    for name in ("grader", "ref"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)  # with its times, so that what is compiled counts there
    ref = tmp_path / "grader" / "examples" / "small" / ATTENTION.replace("src", "ref")
    ref.write_text(edited(SEES_LATER_TOKENS)[ATTENTION])
    write_folder(tmp_path / "ada", ASSIGNMENT.solution())
    command = [sys.executable, "-W", "ignore", "-m", "grader.selftest.command"]
    command += ["grade", "ada", "--out", "out", "--only", "task1"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("grader: the reference fails a hidden test, so nothing can be graded. attention_")
    assert result.stderr.count("\n") == 1


def test_a_worker_that_a_stranger_kills_is_not_the_students_crash(zygote: Zygote) -> None:
    worker = waiting_worker(zygote)
    os.kill(descendants(zygote._process.pid)[-1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker was killed from outside"):
        worker.request([CALL], 10)


def waiting_worker(zygote: Zygote) -> Worker:
    """A worker whose code has been imported."""
    worker = zygote.start(WAIT)
    assert worker.request([LOAD], 10) == {"value": None}
    return worker


def test_nothing_piles_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process, descriptor or file is left by many gradings, with failures and crashes among them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # so that Python looks at TMPDIR again
    edit = (
        "        projected =",
        "        if len(input) == 3: __import__('os')._exit(3)\n        projected =",
    )
    bad = submission(edited(SEES_LATER_TOKENS, (ATTENTION, *edit)))
    with contextlib.closing(Judge(Settings(ASSIGNMENT, device="cpu", only="task1"))) as grader:
        grader.grade(bad)
        before = belongings()
        outcomes = {repr(grader.grade(bad).tasks) for _ in range(GRADINGS)}
        assert belongings() == before
    assert len(outcomes) == 1
    assert "crashed" in outcomes.pop()
    assert list(tmp_path.iterdir()) == []


def test_the_command_grades_with_real_judges_without_an_open_output_and_with_long_temporary_names(
    tmp_path: Path,
) -> None:
    """The kernel takes 107 bytes for the name of a socket, and multiprocessing makes its sockets in that folder."""
    temporary = tmp_path / ("long" * 30)
    temporary.mkdir()
    write_folder(tmp_path / "class" / "ada", ASSIGNMENT.solution())
    write_folder(tmp_path / "class" / "bo", edited(SEES_LATER_TOKENS))
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-W", "ignore", "-m", "grader.selftest.command"]
    command += ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out")]
    command += ["--device", "cpu", "--only", "task1", "--jobs", "1", "--lang", "zh"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    result = subprocess.run(command, cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert sum(line.startswith("[") for line in result.stderr.splitlines()) == 2
    assert list(temporary.iterdir()) == []
    report = Report.model_validate_json((tmp_path / "out" / "bo" / "report.json").read_bytes())
    assert (report.score, report.max_score, report.max_bonus) == (70, 100, 0)
    mistake = ASSIGNMENT.rubric.misconception("attention_sees_later_tokens")
    assert report.tasks[0].properties[1].hint == mistake.hint["zh"]
    assert report.provenance.command.endswith("--jobs 1 --lang zh")


def belongings() -> dict[int, int]:
    """This process and its descendants, and how many descriptors each has open."""
    return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in descendants(os.getpid())}

"""Strangers that kill, long runs, closed outputs: one clear line, nothing left behind, and never a student's zero."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.core.sandbox.launch import Zygote
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.processes import descendants
from grader.selftest import LONG
from grader.selftest.at_work import without_times
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, edited, submission, write_folder

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

GRADINGS = 200 if LONG else 8
WAIT = {"src/work.py": "import time\ndef wait():\n    time.sleep(60)\n"}
LOAD = ("load", {"module": "src.work", "name": "wait"})
CALL = ("call", {"target": "wait", "arguments": []})


def test_a_worker_that_a_stranger_kills_is_not_the_students_crash(zygote: Zygote) -> None:
    worker = zygote.start(WAIT)
    assert worker.request([LOAD], 10) == {"value": None}
    os.kill(descendants(zygote._process.pid)[-1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker was killed from outside"):
        worker.request([CALL], 10)


def test_many_gradings_leave_nothing_behind_and_report_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process, descriptor or file is left, with failures and crashes among them."""
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
        reports = [without_times(grader.grade(bad)) for _ in range(GRADINGS)]
        assert belongings() == before
    assert reports == [reports[0]] * GRADINGS
    assert "crashed" in repr(reports[0])
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

"""The command in a process of its own, at work on slow submissions, and what it has written so far."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader import REPOSITORY
from grader.core.results.report import Report
from grader.selftest.submissions import ATTENTION, edited, write_folder

SLOW = (ATTENTION, "import torch\n", "import torch\nimport time\ntime.sleep(0.3)\n")  # at every import
COMMAND = [sys.executable, "-W", "ignore", "-m", "grader.selftest.command", "grade"]
LEAVE_S = 60.0  # for all processes to be gone once nobody needs them, on a busy machine


def started(place: Path, *options: object) -> subprocess.Popen[str]:
    """The command, which grades ``class`` in that place into ``out``, in a group of its own."""
    command = [*COMMAND, str(place / "class"), "--out", str(place / "out"), "--device", "cpu", "--only", "task1"]
    command += map(str, options)
    return subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, start_new_session=True)


@contextmanager
def at_work(place: Path, *options: object) -> Iterator[subprocess.Popen[str]]:
    """The command at work on six slow submissions, just after its first report."""
    for number in range(6):
        write_folder(place / "class" / f"s{number}", edited(SLOW))
    with started(place, *options) as process:
        assert process.stderr is not None
        assert process.stderr.readline().endswith(": 100/100, bonus 0/0\n")
        yield process
        process.kill()


def finished(place: Path) -> list[Report]:
    """All reports in a folder; each must be whole."""
    return [Report.model_validate_json(path.read_bytes()) for path in (place / "out").glob("*/report.json")]


def without_times(report: Report) -> dict[str, Any]:
    """All that two runs have in common."""
    return report.model_dump(mode="json", exclude={"provenance": {"started_at", "duration_s"}})

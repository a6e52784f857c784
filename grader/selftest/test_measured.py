"""Which tests are run with coverage's tracer, in runs of pytest inside this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.selftest.measured import CASES, Measured

TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(90))
def test_many(number): assert number != 1

@pytest.mark.slow
def test_slow(): assert "COVERAGE_PROCESS_START" not in os.environ

def test_once(): assert "COVERAGE_PROCESS_START" not in os.environ
"""


class Recorder:
    """A tracer that notes which tests it sees, and a plugin that tells it which test is run."""

    def __init__(self) -> None:
        """It begins at once, as coverage does."""
        self.runs, self.seen = True, list[str]()

    def start(self) -> None:
        """Go on."""
        assert not self.runs
        self.runs = True

    def stop(self) -> None:
        """Pause."""
        assert self.runs
        self.runs = False

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Note the test."""
        if self.runs:
            self.seen.append(item.name)


def test_the_first_cases_of_tests_that_are_not_slow_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COVERAGE_PROCESS_START", "pyproject.toml")
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    recorder = Recorder()
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={tmp_path}", str(tmp_path)]
    status = pytest.main([*options, "-c", str(tmp_path / "pytest.ini")], plugins=[recorder, Measured(recorder)])
    assert status == pytest.ExitCode.TESTS_FAILED  # a test that fails changes nothing
    assert "1 failed, 91 passed" in capsys.readouterr().out
    assert recorder.seen == [*(f"test_many[{number}]" for number in range(CASES)), "test_once"]
    assert recorder.runs

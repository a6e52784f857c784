"""Fixtures that several tests of this assignment share.

pytest-xdist's controller loads this file, too, so what needs torch is imported by the fixtures that use it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.assignment import ASSIGNMENT
from grader.selftest.measured import measures_imports

if TYPE_CHECKING:
    from grader.core.assignment import Assignment


def pytest_collection_finish() -> None:
    """Import the hidden tests where coverage is measured, lest the first to do so be a test that is not traced."""
    if measures_imports():
        from grader.core.judge.hidden_tests import HiddenTests

        HiddenTests(ASSIGNMENT, ("cpu",), 0, ASSIGNMENT.rubric.properties)


@pytest.fixture(scope="session")
def assignment() -> Assignment:
    """This assignment."""
    return ASSIGNMENT


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it is handed out."""
    from grader.selftest.submissions import handed_out

    return handed_out(tmp_path_factory.mktemp("untouched"), ASSIGNMENT)


@pytest.fixture
def own(untouched: Path, tmp_path: Path) -> Path:
    """A student's copy of it, to be changed."""
    return Path(shutil.copytree(untouched, tmp_path / "own"))


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with the reference's files over the stubs."""
    from grader.selftest.submissions import handed_out, write_folder

    return write_folder(handed_out(tmp_path_factory.mktemp("solved"), ASSIGNMENT), ASSIGNMENT.solution())

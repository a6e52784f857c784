"""Fixtures that several tests of this assignment share."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.selftest.submissions import handed_out, write_folder


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it is handed out."""
    return handed_out(tmp_path_factory.mktemp("untouched"), ASSIGNMENT)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with the reference's files over the stubs."""
    return write_folder(handed_out(tmp_path_factory.mktemp("solved"), ASSIGNMENT), ASSIGNMENT.solution())

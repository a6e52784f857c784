"""The engine's own tests run on the small assignment, in place of the repository's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.cli import grade
from grader.definition import Assignment
from grader.intake.submission import Submission
from grader.judge.judge import Judge
from grader.results.report import Report, parts_of
from grader.rubric import Rubric
from grader.selftest.small.grader.assignment import ASSIGNMENT
from grader.selftest.term import LONG
from grader.selftest.warm_judges import RunHiddenTests, hidden_tests_of
from grader.settings import Settings
from grader.tools import notebooks as notebooks  # before any test imports nbformat, which takes seconds otherwise

if TYPE_CHECKING:
    from grader.selftest.browser import Tab

collect_ignore = ["small"]  # its tests belong to its students, and its hidden tests to the judge


@pytest.fixture(scope="module", autouse=True)
def commands_know_the_small_assignment() -> Iterator[None]:
    """Give the small assignment to all commands, which take theirs when they are imported."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith(("grader.cli.", "grader.tools.")) and hasattr(module, "ASSIGNMENT"):
                patch.setattr(module, "ASSIGNMENT", ASSIGNMENT)
        yield


@pytest.fixture(scope="session")
def assignment() -> Assignment:
    """The small assignment."""
    return ASSIGNMENT


@pytest.fixture(scope="session")
def rubric() -> Rubric:
    """The rubric of the small assignment."""
    return ASSIGNMENT.rubric


@pytest.fixture(scope="session")
def judge() -> RunHiddenTests:
    """``judge(files, task=None)``: its hidden tests on code that is ours, in this process."""
    return hidden_tests_of(ASSIGNMENT)


@pytest.fixture(scope="session")
def grader() -> Iterator[Judge]:
    """A judge of whole submissions with its defaults, on the CPU."""
    warm = Judge(Settings(ASSIGNMENT, device="cpu"))
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def known() -> dict[str, Report]:
    """Reports by what was handed in, for all tests."""
    return {}


@pytest.fixture
def judged(grader: Judge, known: dict[str, Report], monkeypatch: pytest.MonkeyPatch) -> None:
    """Real judges for a large class; else one in this process, which looks at each distinct submission once."""
    if LONG:
        return

    def grade_all(submissions: Iterable[Submission], *_: object) -> Iterator[Report]:
        for submission in submissions:
            digest = submission.reason or submission.sha256
            if digest not in known:
                known[digest] = grader.grade(submission)
            notices, parts = list(map(str, submission.notices)), list(map(parts_of, submission.notices))
            info = {"id": submission.id, "notices": notices, "notice_parts": parts}
            own = known[digest].submission.model_copy(update=info)
            yield known[digest].model_copy(update={"submission": own})

    monkeypatch.setattr(grade, "grade_all", grade_all)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a handbook of one page; what makes it is not installed everywhere, so it is imported here."""
    from grader.selftest.small_handbook import small_handbook

    return small_handbook(tmp_path_factory.mktemp("book"))


@pytest.fixture
def page(book: Path) -> Path:
    """Its page in English."""
    from grader.selftest.small_notebook import NAME

    return book / "en" / f"{NAME}.html"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A tab of a real browser."""
    from grader.selftest.browser import Tab, chromium

    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield Tab(driver)

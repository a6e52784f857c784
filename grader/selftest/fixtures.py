"""Fixtures that self-tests share. The engine's own tests run on the small assignment, in place of the repository's."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from grader import REPOSITORY
from grader.core.assignment import Assignment
from grader.core.cli import grade
from grader.core.intake.submission import Submission
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judge import Judge
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.messages import as_data
from grader.core.results.outcome import CaseResult
from grader.core.results.report import Report
from grader.core.rubric import LANGUAGES, Rubric
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.site import notebooks as notebooks  # before any test imports nbformat, which takes seconds otherwise
from grader.selftest import LONG
from grader.selftest.submissions import write_folder
from grader.selftest.term import choose_for, read_here
from grader.selftest.warm import WarmPython

if TYPE_CHECKING:
    from grader.selftest.browser import Tab

Judges = Callable[[Settings], Judge]
RunHiddenTests = Callable[..., list[CaseResult]]


@pytest.fixture(scope="module", autouse=True)
def commands_are_about_the_assignment(assignment: Assignment) -> Iterator[None]:
    """Let all commands be about the assignment that the tests of a folder are about."""
    with pytest.MonkeyPatch.context() as patch:
        choose_for(patch, assignment)
        for name, module in list(sys.modules.items()):  # what has a command line of its own
            if name.startswith("grader.lab.") and hasattr(module, "ASSIGNMENT"):
                patch.setattr(module, "ASSIGNMENT", assignment)
        yield


@pytest.fixture(scope="session")
def assignment() -> Assignment:
    """The small assignment."""
    return ASSIGNMENT


def hidden_tests_of(assignment: Assignment, devices: Sequence[str] = ("cpu",), seed: int = 0) -> RunHiddenTests:
    """``judge(files, task=None)``: the hidden tests on code that is ours, in this process."""
    rubric = assignment.rubric
    collected = cache(lambda task: HiddenTests(assignment, devices, seed, rubric.only(task).properties))

    def judge(files: Mapping[str, str], task: str | None = None) -> list[CaseResult]:
        # pytest's own filters would turn a student's warning into an exception.
        with warnings.catch_warnings(action="ignore"):
            results: list[CaseResult] = run_tests(collected(task), Student(files, InProcessWorker, rubric, Limits()))
            return results

    return judge


# Of the assignment that the tests of a folder are about; what takes time to make is made once.
_hidden_tests = cache(hidden_tests_of)


@pytest.fixture(scope="module")
def rubric(assignment: Assignment) -> Rubric:
    """The rubric of the assignment."""
    return assignment.rubric


@pytest.fixture(scope="module")
def judge(assignment: Assignment) -> RunHiddenTests:
    """``judge(files, task=None)``: its hidden tests on code that is ours, in this process."""
    return _hidden_tests(assignment)


@pytest.fixture(scope="session")
def judges() -> Iterator[Judges]:
    """``judges(settings)``: a judge of whole submissions, the same for all tests that ask for these settings."""
    with ExitStack() as to_close:
        yield cache(lambda settings: to_close.enter_context(closing(Judge(settings))))


@pytest.fixture(scope="module")
def grader(assignment: Assignment, judges: Judges) -> Judge:
    """A judge with its defaults, on the CPU."""
    return judges(Settings(assignment, device="cpu"))


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """A fork server with torch imported, for all tests of the session."""
    server = Zygote(Limits())
    yield server
    server.close()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """``run(folder, "tests", "--all")``: ``python -m tests --all`` in a fork of a process that has imported torch."""
    warm = WarmPython(tmp_path_factory.mktemp("warm"))
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def known() -> dict[str, Report]:
    """Reports by what was handed in, for all tests."""
    return {}


@pytest.fixture(scope="module")
def reads_here() -> Iterator[None]:
    """Commands read what is handed in, in this process; with ``GRADER_LONG=1`` in one of their own, as always."""
    with pytest.MonkeyPatch.context() as patch:
        if not LONG:
            read_here(patch)
        yield


@pytest.fixture
def judged(reads_here: None, grader: Judge, known: dict[str, Report], monkeypatch: pytest.MonkeyPatch) -> None:
    """Real judges for a large class; else one in this process, which looks at each distinct submission once."""
    del reads_here
    if LONG:
        return

    def grade_all(submissions: Iterable[Submission], chosen: Settings, *_: object) -> Iterator[Report]:
        for submission in submissions:
            digest = submission.reason or submission.sha256
            if digest not in known:
                known[digest] = grader.grade(submission)
            notices, parts = list(map(str, submission.notices)), list(map(as_data, submission.notices))
            info = {"id": submission.id, "notices": notices, "notice_parts": parts}
            renamed = known[digest].submission.model_copy(update=info)
            tasks = [task for task in known[digest].tasks if chosen.only in (None, task.id)]
            yield known[digest].model_copy(update={"submission": renamed, "tasks": tasks})

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


@pytest.fixture
def view(tab: Tab, page: Path) -> Tab:
    """The tab with that page, on a wide screen."""
    tab.open(page)
    return tab


@pytest.fixture(scope="session")
def transformers() -> Callable[[str], ModuleType]:
    """``transformers("models.llama.modeling_llama")``: that module of the installed release, imported offline.

    The import takes seconds, so it happens when a test asks for it, not when tests are collected.
    """

    def module(name: str) -> ModuleType:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HF_HUB_OFFLINE", "1")  # read once, when the library is first imported
            return importlib.import_module(f"transformers.{name}")

    return module


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handout of the repository's assignment as HTML."""
    from grader.assignment import ASSIGNMENT as OURS
    from grader.lab.site.handout import web
    from grader.lab.site.handout.pages import read

    out = tmp_path_factory.mktemp("handout")
    for language in LANGUAGES:
        pages = read(language, OURS.rubric, OURS.root / "handout")
        web.write(pages, out / language, OURS.rubric.title[language])
    return out


@pytest.fixture(scope="session")
def some_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the solution and the hidden tests: to read the grader's thousands of functions takes seconds."""
    paths = [*(REPOSITORY / "ref").rglob("*.py"), *(REPOSITORY / "grader/assignment/hidden").glob("test_*.py")]
    files = {str(path.relative_to(REPOSITORY)): path.read_text() for path in paths}
    return write_folder(tmp_path_factory.mktemp("repository"), files)

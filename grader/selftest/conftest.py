"""What the self-tests share: warm judges, a fork server, and one grader for whole submissions."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType

import pytest
import torch

from grader.assignment import Rubric, load_rubric
from grader.grading import Grader
from grader.judge.hidden_tests import HiddenTests
from grader.judge.student import Student
from grader.results.outcome import CaseResult
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.launch import Zygote
from grader.sandbox.limits import Limits
from grader.settings import Settings

Judge = Callable[..., list[CaseResult]]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tensors are tiny here, and threads would disturb the timing of tests with limits."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def rubric() -> Rubric:
    """The rubric of the assignment."""
    return load_rubric()


@pytest.fixture(scope="session")
def hidden_tests(rubric: Rubric) -> Callable[[str | None], HiddenTests]:
    """The hidden tests of one task, or of all; each collected once."""
    return cache(lambda task: HiddenTests(("cpu",), 0, rubric.only(task).properties))


@pytest.fixture(scope="session")
def judge(rubric: Rubric, hidden_tests: Callable[[str | None], HiddenTests]) -> Judge:
    """``judge(files, task=None)``: the hidden tests on code that is ours, in this process."""

    def run(files: Mapping[str, str], task: str | None = None) -> list[CaseResult]:
        with warnings.catch_warnings():  # pytest's own filters would turn a student's warning into an exception
            warnings.simplefilter("ignore")
            return hidden_tests(task).run(Student(files, InProcessWorker, rubric, Limits()))

    return run


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One warm fork server."""
    server = Zygote(Limits())
    yield server
    server.close()


@pytest.fixture(scope="session")
def grader() -> Iterator[Grader]:
    """The whole grader with its defaults, on the CPU."""
    warm = Grader(Settings(device="cpu"))
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def transformers() -> Callable[[str], ModuleType]:
    """``transformers("models.llama.modeling_llama")``: a module of the installed release, unmodified and offline.

    Imported by name and only here: it takes seconds, and collecting tests must not.
    """

    def module(name: str) -> ModuleType:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HF_HUB_OFFLINE", "1")  # read once, when the library is first imported
            return importlib.import_module(f"transformers.{name}")

    return module

"""What the self-tests share: warm judges, a fork server, and one grader for whole submissions."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.judge.judge import Judge
from grader.rubric import Rubric
from grader.sandbox.launch import Zygote
from grader.sandbox.limits import Limits
from grader.selftest.starts import Starts
from grader.selftest.warm import WarmPython
from grader.selftest.warm_judges import RunHiddenTests, hidden_tests_of
from grader.settings import Settings


def pytest_configure(config: pytest.Config) -> None:
    """Have Ctrl-C end what tests start, also where a script runs them in the background and so ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(Starts(strict="not process" in str(config.getoption("markexpr"))), "starts")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tensors are tiny here, and threads would disturb the timing of tests with limits."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def coverage_here_only() -> None:
    """``make check`` measures the processes that run tests, and none that a test starts."""
    os.environ.pop("COVERAGE_PROCESS_START", None)


@pytest.fixture(scope="session")
def rubric() -> Rubric:
    """The rubric of the assignment."""
    return ASSIGNMENT.rubric


@pytest.fixture(scope="session")
def judge() -> RunHiddenTests:
    """``judge(files, task=None)``: the hidden tests on code that is ours, in this process."""
    return hidden_tests_of(ASSIGNMENT)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One warm fork server."""
    server = Zygote(Limits())
    yield server
    server.close()


@pytest.fixture(scope="session")
def grader() -> Iterator[Judge]:
    """The whole grader with its defaults, on the CPU."""
    warm = Judge(Settings(ASSIGNMENT, device="cpu"))
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """``run(folder, "tests", "--all")``: ``python -m tests --all`` in a folder, without the start of an interpreter."""
    warm = WarmPython(tmp_path_factory.mktemp("warm"))
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

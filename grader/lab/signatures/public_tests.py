"""The public tests, run on hundreds of submissions in one process: collected once, and called as plain functions."""

from __future__ import annotations

import ctypes
import importlib
import io
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader import REPOSITORY
from grader.core.assignment import Assignment
from grader.core.judge.devices import why_not_simulated
from grader.core.messages import UserError
from grader.core.sandbox.importer import MemoryImporter, compiled
from grader.core.sandbox.operations import unload
from grader.specimens.variants import Variant

from .mistakes import Mistake, Signatures

LIMIT_S = 60.0  # for one test of one submission; none is endless, and importing parts of torch takes seconds
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h: memory that is free again is kept for the next tensor
OTHER_DEVICE = "elsewhere"  # the fixture of tests that not every machine can run
Item = tuple[int, str, pytest.Function]  # coarseness, property and test


def tried(assignment: Assignment, mistake: Mistake, only: Collection[str]) -> Mapping[str, Signatures]:
    """The signatures of a mistake, for each of these properties with failing tests; for a process of a pool."""
    slips: Any = assignment.part("corpus.variants")
    submission = mistake if isinstance(mistake, Variant) else slips.submission(mistake)
    return _collected().signatures(submission.files, only)


@cache
def _collected() -> PublicTests:
    if sys.platform == "linux":  # tables along the wrong axis make tensors of 270 MB, whose pages cost the most
        ctypes.CDLL(None).mallopt(M_MMAP_MAX, 0)
        ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    return PublicTests()


class PublicTests:
    """What fails, and how, in the public tests of the repository that this process runs in.

    The process gets the repository's root as its working folder, and imports ``tests`` from there.
    """

    def __init__(self) -> None:
        """Collect the tests."""
        os.chdir(REPOSITORY)
        sys.path.insert(0, str(REPOSITORY))
        self._items: list[Item] = []  # the finest first
        self.signature: Any = importlib.import_module("tests.harness.hints")  # untyped, as students are to read it
        self._limit: Any = importlib.import_module("tests.harness.student").time_limit
        page: Any = importlib.import_module("tests.harness.page")
        why_not_simulated()  # of two copies of the device the first one serves, and the judge expects its own
        unload()  # a submission that this process has imported may lack files that the tests import
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            status = pytest.main([*page.pytest_arguments([], None), "--collect-only"], plugins=[self])
        if status != pytest.ExitCode.OK:
            raise UserError("the public tests cannot be collected. `python -m pytest --collect-only tests` shows why.")

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Keep the tests that are about a property."""
        for item in items:
            for mark in item.iter_markers("rubric"):
                self._items.append((self.signature.coarseness(item.name), mark.args[0], item))
        self._items.sort(key=lambda entry: entry[0])

    def failing(self, files: Mapping[str, str], only: Collection[str]) -> set[str]:
        """The properties, of these, with failing tests; those on a second device count, too."""
        return {property_id for property_id, _, _ in self._failures(files, [i for i in self._items if i[1] in only])}

    def signatures(self, files: Mapping[str, str], only: Collection[str]) -> dict[str, Signatures]:
        """The signatures of the failures that every machine can see, for each property of ``only`` that has some."""
        looks = defaultdict(list)
        items = [item for item in self._items if item[1] in only and OTHER_DEVICE not in item[2].fixturenames]
        for property_id, nodeid, error in self._failures(files, items):
            looks[property_id].append(self.signature.look_of(nodeid, error))
        return {name: tuple(self.signature.signatures(name, found)) for name, found in looks.items()}

    def _failures(self, files: Mapping[str, str], items: Collection[Item]) -> Iterator[tuple[str, str, Exception]]:
        """Property, test and error of each failure; of a property's failures, those of the finest dtypes."""
        finest = dict[str, int]()
        # A student's code may warn, or print.
        with _imported(files), warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):
            modules = {name: _executed_again(sys.modules[name]) for name in {i.module.__name__ for _, _, i in items}}
            for coarseness, property_id, item in items:
                if coarseness > finest.get(property_id, coarseness):
                    continue  # beside what has failed already, it tells nothing
                if error := self._error(getattr(modules[item.module.__name__], item.originalname), item):
                    finest[property_id] = coarseness
                    yield property_id, item.nodeid, error

    def _error(self, test: Any, item: pytest.Function) -> Exception | None:
        given: Mapping[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
        arguments = {name: torch.device(value) if name == "device" else value for name, value in given.items()}
        torch.default_generator.manual_seed(0)  # as the students' copy does before each test
        try:
            with self._limit(LIMIT_S, ""):
                test(**arguments)
        except Exception as error:
            return error
        return None


@contextmanager
def _imported(files: Mapping[str, str]) -> Iterator[None]:
    """Have ``src`` be this submission for as long as the block lasts."""
    importer = MemoryImporter(files, lazy=False)
    for name in importer.names & sys.modules.keys():  # the repository's, with which the tests were collected
        del sys.modules[name]
    sys.meta_path.insert(0, importer)
    try:
        yield
    finally:
        unload()


def _executed_again(module: ModuleType) -> ModuleType:
    """What ``importlib.reload`` does, without compiling the file each time."""
    exec(compiled(str(module.__file__), Path(str(module.__file__)).read_text(encoding="utf-8")), vars(module))
    return module

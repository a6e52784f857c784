"""Coverage is measured in the first cases of a test: ``make check`` runs all tests at once, most without the tracer.

A pytest plugin. The tracer makes a test up to half as long again. A test that is marked ``slow`` computes for seconds
in lines that others reach, too, and of a test with many cases, each runs much the same lines: so the tracer rests in
all of the former, and after some cases of the latter. What happens at import is seen by one process, as it is the same
in all, and torch's import by none. Where coverage is not measured, nothing happens here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Protocol

import pytest

CASES = 60  # of a test function that are measured
SETTINGS = "GRADER_COVERAGE"  # names a file of coverage's settings, where it is to be measured


class Tracer(Protocol):
    """What is used of ``coverage.Coverage``."""

    def start(self) -> None:
        """Go on measuring."""

    def stop(self) -> None:
        """Pause; what was measured is kept."""


def begin() -> Tracer | None:
    """Measure this process from here on; None where coverage is not measured."""
    if not (settings := os.environ.get(SETTINGS)):
        return None
    with pytest.MonkeyPatch.context() as patch:  # what the tests start does not measure itself
        patch.setenv("COVERAGE_PROCESS_START", settings)
        tracer: Tracer | None = import_module("coverage").process_startup()
        return tracer


class Measured:
    """Stops the tracer during tests that add nothing to what it has seen. One object for a run."""

    def __init__(self, tracer: Tracer | None) -> None:
        """Begin to count cases; without a tracer, measuring begins after collection."""
        self._tracer = tracer
        self._cases: Counter[str] = Counter()

    def pytest_collection_finish(self) -> None:
        """Measure the tests."""
        self._tracer = self._tracer or begin()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Let the tracer rest during the test and what it sets up, if it has nothing to add."""
        function = item.nodeid.partition("[")[0]
        self._cases[function] += 1
        rests = self._cases[function] > CASES or item.get_closest_marker("slow") is not None
        if self._tracer is None or not rests:
            return (yield)
        self._tracer.stop()
        try:
            return (yield)
        finally:
            self._tracer.start()

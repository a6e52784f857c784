"""Coverage is measured in the first cases of a test: ``make check`` runs all tests at once, most without the tracer.

A pytest plugin. The tracer makes a test half as long again, and one that reads many values eight times as long. A test
that is marked ``slow`` or ``covered`` computes for seconds in lines that others reach, too, and of a test with many
cases, each runs much the same lines: so the tracer rests in all of the former, and after some cases of the latter.
What is imported to collect tests is the same in all of pytest-xdist's workers, so the first one alone measures that.
Where coverage is not measured, nothing happens here.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

CASES = 60  # of a test function that are measured
TOLD = "COVERAGE_PROCESS_START"  # tells a new interpreter to measure itself


def tracer_of_this_process() -> Any:
    """The ``Coverage`` that was started with the interpreter; None where coverage is not measured."""
    coverage = sys.modules.get("coverage")
    return coverage and coverage.Coverage.current()


def measures_imports() -> bool:
    """Whether this process measures what is imported to collect tests."""
    return tracer_of_this_process() is not None and os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"


class Measured:
    """Stops the tracer during tests that add nothing to what it has seen, and leaves it out of what tests start.

    One object for a run.
    """

    def __init__(self, tracer: Any) -> None:
        """Begin to count cases; without a tracer nothing is done."""
        self._tracer = tracer
        self._cases: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Let the tracer rest during collection in all workers but the first."""
        with nullcontext() if measures_imports() else self._resting():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Let the tracer rest during the test and what it sets up, if it has nothing to add."""
        os.environ.pop(TOLD, None)  # here, and not earlier: pytest-xdist's workers have been started by now
        function = item.nodeid.partition("[")[0]
        self._cases[function] += 1
        rests = self._cases[function] > CASES or any(map(item.get_closest_marker, ("slow", "covered")))
        with self._resting() if rests else nullcontext():
            return (yield)

    @contextmanager
    def _resting(self) -> Iterator[None]:
        if self._tracer is None:
            yield
            return
        self._tracer.stop()
        try:
            yield
        finally:
            self._tracer.start()

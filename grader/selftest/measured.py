"""Coverage is measured in the first cases of a test: ``make check`` runs all tests at once, most without the tracer.

A pytest plugin. The tracer makes a test up to half as long again. A test that is marked ``slow`` computes for seconds
in lines that others reach, too, and of a test with many cases, each runs much the same lines: so the tracer rests in
all of the former, and after some cases of the latter. Where coverage is not measured, nothing happens here.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

import pytest

CASES = 60  # of a test function that are measured
TOLD = "COVERAGE_PROCESS_START"  # tells a new interpreter to measure itself


class Tracer(Protocol):
    """What is used of ``coverage.Coverage``."""

    def start(self) -> None:
        """Go on measuring."""

    def stop(self) -> None:
        """Pause; what was measured is kept."""


def tracer_of_this_process() -> Tracer | None:
    """The tracer that was started with the interpreter; None where coverage is not measured."""
    coverage = sys.modules.get("coverage")
    tracer: Tracer | None = coverage and coverage.Coverage.current()
    return tracer


class Measured:
    """Stops the tracer during tests that add nothing to what it has seen, and leaves it out of what tests start.

    One object for a run.
    """

    def __init__(self, tracer: Tracer | None) -> None:
        """Begin to count cases; without a tracer nothing is done."""
        self._tracer = tracer
        self._cases: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Let the tracer rest during the test and what it sets up, if it has nothing to add."""
        os.environ.pop(TOLD, None)  # here, and not earlier: pytest-xdist's workers have been started by now
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

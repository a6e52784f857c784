"""Coverage is measured in the first cases of a test: ``make check`` runs all tests at once, most without the tracer.

A pytest plugin. The tracer makes a test up to half as long again. A test that is marked ``slow`` computes for seconds
in lines that others reach, too, and of a test with many cases, each runs much the same lines: so the tracer rests in
all of the former, and after some cases of the latter. Where coverage is not measured, nothing happens here.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import pytest

CASES = 3  # of a test function that are measured


class Measured:
    """Stops the tracer during tests that add nothing to what it has seen; one object for a run."""

    def __init__(self) -> None:
        """Find the tracer, which was started with the interpreter where coverage is measured."""
        coverage = sys.modules.get("coverage")
        self._tracer = coverage and coverage.Coverage.current()
        self._cases: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[object]:
        """Let the tracer rest during the test and what it sets up, if it has nothing to add."""
        function = item.nodeid.partition("[")[0]
        self._cases[function] += 1
        if not self._tracer or (self._cases[function] <= CASES and not item.get_closest_marker("slow")):
            return (yield)
        self._tracer.stop()
        try:
            return (yield)
        finally:
            self._tracer.start()

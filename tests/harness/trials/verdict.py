"""What tests are worth: only those count that pass on every right implementation, as in mutation testing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

Failure = Mapping[str, Any] | None  # what a test raised; None if it passed


@dataclass
class Runs:
    """What came of running a file of tests.

    Attributes:
        broken: Why the file could not be used: what its import raised, or ``{"type": "endless"}``; None if it could be.
        tests: How many arguments each test takes.
        stopped: Tests that did not come to an end: ``endless``, or ``ended`` the whole process.
        outcomes: By implementation and test.
        spent_s: Seconds of computing on the implementation that took most.
    """

    broken: Mapping[str, Any] | None = None
    tests: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], Failure] = field(default_factory=dict)
    spent_s: float = 0.0

    def refused(self, right: Collection[str]) -> dict[str, str]:
        """From each test that does not count to why: a state, or the right implementation that it refuses."""
        found = {test: "arguments" for test, arguments in self.tests.items() if arguments != 1} | self.stopped
        for test in self.tests:
            refusing = [name for name in right if self.outcomes.get((name, test))]
            if test not in found and refusing:
                found[test] = refusing[0]
        return {test: found[test] for test in self.tests if test in found}

    def catching(self, right: Collection[str], wrong: Collection[str]) -> dict[str, list[str]]:
        """From each wrong implementation to the tests that count and fail on it."""
        refused = self.refused(right)
        counting = [test for test in self.tests if test not in refused]
        return {name: [test for test in counting if self.outcomes.get((name, test))] for name in wrong}

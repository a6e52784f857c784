"""Tests that start processes say so: ``make quick`` leaves out what has the mark ``process``, and the mark is checked.

A pytest plugin. It notes each process that Python starts, and which fixtures of a longer life than one test started
one; where tests with the mark are left out, a test that starts a process, or uses such a fixture, fails. Beside tests
with the mark nothing is checked: what they leave behind may start processes during another test.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn"})  # of sys.addaudithook
FIXTURES = frozenset({"grader", "judges", "run", "tab", "zygote"})  # of fixtures.py; these tests need no mark


class Starts:
    """Counts processes; one object for a run, since an audit hook is there for good."""

    def __init__(self, strict: bool) -> None:
        """Begin to count; ``strict`` says whether a test that starts a process fails."""
        self._strict = strict
        self._count, self._before_test = 0, 0
        self._holders: set[str] = set()  # fixtures that started a process
        sys.addaudithook(self._audit)
        start = BaseProcess.start

        def counted(process: BaseProcess) -> None:  # multiprocessing's own ways raise no event
            self._count += 1
            start(process)

        BaseProcess.start = counted  # type: ignore[assignment, method-assign]

    def _audit(self, event: str, _: tuple[Any, ...], events: frozenset[str] = EVENTS) -> None:
        self._count += event in events  # bound here: when the interpreter ends, the module's names are gone first

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark the tests that use a fixture which is known to start a process, before tests are chosen by marks."""
        for item in items:
            if FIXTURES.intersection(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.process)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Remember a fixture that starts a process."""
        before = self._count
        result = yield
        if self._count > before and fixturedef.scope != "function":
            self._holders.add(fixturedef.argname)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Count from here."""
        self._before_test = self._count

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test that needs the mark and has none."""
        result = yield
        held = self._holders.intersection(getattr(item, "fixturenames", ()))
        if self._strict and (held or self._count > self._before_test) and item.get_closest_marker("process") is None:
            pytest.fail("The test starts a process: mark it `process`, so that `make quick` leaves it out.", False)
        return result

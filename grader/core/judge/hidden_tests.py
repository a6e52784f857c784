"""The hidden tests as a function from a submission to case results: pytest collects them once, and they run often."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeGuard

import pytest
import torch

from grader.core.assignment import Assignment
from grader.core.messages import Message, quoted, say
from grader.core.results.outcome import CaseResult, Outcome, is_elsewhere
from grader.core.sandbox.operations import NO_MEMORY
from grader.core.settings import CannotGrade
from grader.shared import second_device

from .compare import MARGINS
from .devices import NONE, others
from .faults import StudentFault
from .record import Recording
from .replay import Unforeseen
from .student import Student

MOST_SAID = 1000  # characters of an exception that are searched for torch's words
DIRECT_MARKS = ("rubric", "parametrize", "skip")
UNUSED_PLUGINS = (
    *("cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "logging", "nose", "pastebin"),
    *("setuponly", "setupplan", "stepwise", "tmpdir", "unraisableexception", "threadexception", "warnings"),
)
MOST_REMEMBERED = 4096  # properties that passed; the verdicts of one take some KiB
TOO_MUCH_TO_JUDGE = say("judging this output takes more memory than is available")

Results = dict[str, CaseResult]  # by the test's node id


class Plugin:
    """The hidden tests of some properties, as a plugin of pytest, which collects them.

    Args:
        devices: The chosen devices, such as ``("cpu", "cuda:0")``. Cases about a second device run on those other than
            the CPU, all other cases on the first.
        seed: Varies the inputs of the generated cases.
        properties: The rubric's property ids; tests of others are left out.
        case: The id of the only case to run; None for all.

    Attributes:
        tests: By property, in the order in which they run.
        direct: By node id, the tests that are called as functions, without pytest.
    """

    def __init__(self, devices: Sequence[str], seed: int, properties: Iterable[str], case: str | None = None) -> None:
        """Collect nothing yet."""
        self.tests: dict[str, list[pytest.Item]] = {}
        self.direct: dict[str, pytest.Function] = {}
        self.run_seed, self._devices = seed, devices
        self._properties, self._case = frozenset(properties), case
        self._student: Student | None = None
        self._result: CaseResult | None = None  # of the test that pytest runs

    @pytest.fixture
    def student(self) -> Student | None:
        """The submission that is being graded."""
        return self._student

    @pytest.fixture
    def seed(self) -> int:
        """The seed of the run, for generated cases."""
        return self.run_seed

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the marker that ties a test to a rubric line."""
        config.addinivalue_line("markers", "rubric(property_id): the rubric property that the test checks")

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Silence pytest's reports once all tests are collected."""
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run tests with the fixture ``device`` on the first device, those with ``other_device`` on all but the CPU."""
        if "device" in metafunc.fixturenames:
            metafunc.parametrize("device", list(map(_named, self._devices[:1])))
        if "other_device" in metafunc.fixturenames:
            metafunc.parametrize("other_device", list(map(_named, others(self._devices))))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the chosen properties, grouped by property; those that need no second device come first."""
        chosen = [item for item in items if property_of(item) in self._properties]
        for item in sorted(chosen, key=lambda item: "other_device" in _parameters(item)):
            if self._case in (None, _case_id(item)):
                self.tests.setdefault(property_of(item), []).append(item)
        items[:] = [item for tests in self.tests.values() for item in tests]
        self.direct = {item.nodeid: item for item in items if _is_direct(item)}

    def run(
        self,
        test: pytest.Item,
        student: Student,
        following: pytest.Item | None = None,
        stub: StudentFault | None = None,
    ) -> CaseResult:
        """One case of a submission.

        A direct test is a function of a student, a seed and parameters, and is called as such: pytest's set-up and
        reports would do nothing for it, yet take longer than most tests. pytest runs any other test.

        Args:
            test: The case.
            student: The submission.
            following: The next test of the property, for which pytest keeps fixtures of a wider scope.
            stub: What a direct test comes to, if all that it asks for begins with a stub; then it is not called.

        Raises:
            Unforeseen: If a replay does not have what a direct test asks for.
        """
        self._student = student
        student.start_case()
        MARGINS.clear()
        direct = self.direct.get(test.nodeid)
        if direct is None:
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            assert self._result is not None, "pytest has run at least the set-up"
            return self._result
        if skip := direct.get_closest_marker("skip"):
            return _result(test, student, pytest.skip.Exception(skip.kwargs["reason"]))
        if stub and not is_elsewhere(_case_id(test)):  # a case on another device may be left out instead
            return _result(test, student, stub)
        arguments = {"student": student, "seed": self.run_seed} | _parameters(direct)
        try:
            direct.obj(**{name: arguments[name] for name in direct.fixturenames})
        except (Unforeseen, CannotGrade, KeyboardInterrupt):
            raise
        except BaseException as error:
            return _result(test, student, error)
        return _result(test, student, None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Record the result of a test that pytest runs: its first exception, including those of tear-down."""
        assert self._student is not None, "a test runs on a submission"
        if call.when == "call" or call.excinfo is not None:
            self._result = _result(item, self._student, call.excinfo and call.excinfo.value)


def _result(test: pytest.Item, student: Student, error: BaseException | None) -> CaseResult:
    """The result of a test that raised this error, or none."""
    result = partial(CaseResult, property_of(test), _case_id(test))

    def failed(fault: StudentFault) -> CaseResult:
        try:
            return result(fault.outcome, fault.message, fault.error_ulp, fault.limit_ulp, fault.elements)
        except Exception as error:  # its message is put in words only here
            return broken(error)

    def broken(error: BaseException) -> CaseResult:
        if isinstance(error, MemoryError) or (type(error) is RuntimeError and NO_MEMORY in str(error)[:MOST_SAID]):
            # The judge has reached its own limit on memory, of which the reference needs a tenth. So the submission is
            # the cause: a machine that is short of memory would have killed the judge instead.
            return result(Outcome.INVALID_REPLY, TOO_MUCH_TO_JUDGE)
        detail = "".join(traceback.format_exception(error)[-3:])
        return result(Outcome.GRADER_ERROR, say("the grader failed here, not you"), detail=detail)

    if isinstance(error, StudentFault):
        return failed(error)
    excuses = tuple((partial(failed, fault), charges) for fault, charges in student.excuses)
    if error is None:
        error_ulp, limit_ulp = max(MARGINS, key=lambda pair: pair[0] / pair[1], default=(None, None))
        return result(Outcome.PASSED, error_ulp=error_ulp, limit_ulp=limit_ulp, excuses=excuses)
    if isinstance(error, pytest.skip.Exception):
        reason = error.msg if isinstance(error.msg, Message) else quoted(error.msg or "")
        return result(Outcome.NOT_ASSESSED, reason, excuses=excuses)
    return broken(error)


def _named(device: str) -> Any:
    """A device as a parameter of a test; a simulated one has the same id on every machine."""
    if device == NONE:
        return pytest.param(device, id=NONE, marks=pytest.mark.skip(reason=say("needs a second device")))
    return pytest.param(device, id="simulated" if second_device.is_here(device) else device)


def property_of(item: pytest.Item) -> str:
    """The property that a test checks.

    Raises:
        pytest.UsageError: If the test names none.
    """
    marker = item.get_closest_marker("rubric")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid} has no @pytest.mark.rubric: add one that names its property.")
    return str(marker.args[0])


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return getattr(item, "callspec").params if hasattr(item, "callspec") else {}  # noqa: B009 - only functions have it


def _is_direct(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Whether a test is a function of a student, a seed and parameters, without a mark that changes how it runs."""
    if not isinstance(item, pytest.Function):
        return False
    known = {"student", "seed", *_parameters(item)}
    return known.issuperset(item.fixturenames) and all(mark.name in DIRECT_MARKS for mark in item.iter_markers())


def _case_id(item: pytest.Item) -> str:
    sentence, _, parameters = item.name.removeprefix("test_").partition("[")
    return f"{sentence}-{parameters[:-1]}" if parameters else sentence


class HiddenTests(Plugin):
    """The hidden tests, collected and ready to run; see :class:`Plugin`.

    Attributes:
        assignment: Its folder of hidden tests is collected.
        recordings: By property, what it has asked the reference for.
        passed: By property and digest of the replies, the verdicts on replies that have passed.
        remembers: Whether such replies are judged only once.
    """

    def __init__(
        self,
        assignment: Assignment,
        devices: Sequence[str],
        seed: int,
        properties: Iterable[str],
        case: str | None = None,
    ) -> None:
        """Collect the tests.

        Raises:
            CannotGrade: If pytest cannot collect them, or a property has none.
        """
        super().__init__(devices, seed, properties, case)
        self.assignment = assignment
        self.recordings: dict[str, Recording] = {}
        self.passed: dict[tuple[str, bytes], Results] = {}
        self.remembers = True
        folder = assignment.hidden
        torch.set_num_threads(1)
        options = ["-qq", "--collect-only", "-c", "/dev/null", f"--rootdir={folder}", f"--confcutdir={folder}"]
        options += ["--disable-plugin-autoload", "-Wignore", "--tb=short", "--color=no", "--strict-markers"]
        options += ["--import-mode=importlib", *(f"-pno:{plugin}" for plugin in UNUSED_PLUGINS)]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            ended = pytest.main([*options, str(folder)], plugins=[self])
        if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise CannotGrade(f"the hidden tests cannot be collected.\n{output.getvalue()}")
        if case is None and (untested := self._properties - self.tests.keys()):
            raise CannotGrade(f'no hidden test has the mark rubric("{min(untested)}"); write one.')

    def task_of(self, prop: str) -> str:
        """The id of the task that a property belongs to."""
        return self.assignment.rubric.task_of(prop).id

    def passes(self, student: Student, case: CaseResult) -> bool:
        """Whether a case passes without an excuse when it is run again."""
        again = self.run(next(test for test in self.tests[case.property_id] if _case_id(test) == case.id), student)
        return again.outcome is Outcome.PASSED and not again.excuses

    def keep(self, key: tuple[str, bytes], results: Results) -> None:
        """Remember the verdicts on replies that have passed."""
        if len(self.passed) >= MOST_REMEMBERED:
            self.passed.clear()
        if self.remembers:
            self.passed[key] = results

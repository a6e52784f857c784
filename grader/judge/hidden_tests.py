"""The hidden tests as a function: a student in, case results out. pytest collects once and runs as often as asked.

pytest's main loop owns the thread that it runs in, so it gets one of its own, in which its ``runtestloop`` serves one
submission after another. pytest-json-report collects each run; what a test raises is turned into metadata there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import queue
import threading
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import pytest
import torch
from pytest_jsonreport.plugin import JSONReport

from ..assignment import reference_paths
from ..results.outcome import CaseResult, Outcome
from .compare import PASSED
from .faults import StudentFault
from .student import Student

HIDDEN = Path(__file__).parents[1] / "hidden"
OMIT = ("collectors", "log", "streams", "warnings", "keywords", "traceback")
UNUSED_PLUGINS = (
    *("cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "logging", "nose", "pastebin"),
    *("setuponly", "setupplan", "stepwise", "tmpdir", "unraisableexception", "threadexception", "warnings", "metadata"),
    "anyio",  # comes with a development dependency
)
PLAIN_MARKS = ("rubric", "parametrize")


class HiddenTestsError(Exception):
    """The hidden tests could not be collected; the text is pytest's own."""


class HiddenTests:
    """The collected hidden tests, warm.

    Args:
        devices: Devices that every case runs on, such as ``("cpu", "cuda")``.
        seed: Varies the inputs of the generated cases.
        properties: The rubric's property ids; tests of others are left out.
    """

    def __init__(self, devices: Sequence[str], seed: int, properties: Iterable[str]) -> None:
        """Collect the tests.

        Raises:
            HiddenTestsError: If pytest cannot.
        """
        self._plugin = _Plugin(devices, seed, frozenset(properties))
        self._output = io.StringIO()
        self._thread = threading.Thread(target=self._serve, name="hidden-tests", daemon=True)
        with contextlib.redirect_stdout(self._output), contextlib.redirect_stderr(self._output):
            # pytest takes whatever they are at its start: for its report, and for errors of usage.
            self._thread.start()
            collected = self._plugin.collected.get()
        if not collected:
            raise HiddenTestsError(self._output.getvalue())

    def run(self, student: Student) -> list[CaseResult]:
        """Run every test on one submission.

        Raises:
            RuntimeError: If pytest's loop ended before its time.
        """
        self._plugin.students.put(student)
        results = self._plugin.results.get()
        if results is None:
            raise RuntimeError(f"pytest has ended: {self._output.getvalue()[-2000:]}")
        return results

    def _serve(self) -> None:
        torch.set_num_threads(1)
        options = ["-q", "--json-report-file=none", "--json-report-omit", *OMIT, "-c", "/dev/null"]
        options += [f"--rootdir={HIDDEN}", "-Wignore", "--tb=no", "--color=no", "--strict-markers"]
        options += [argument for plugin in UNUSED_PLUGINS for argument in ("-p", f"no:{plugin}")]
        try:
            pytest.main([*options, "--import-mode=importlib", str(HIDDEN)], plugins=[self._plugin, self._plugin.report])
        finally:
            self._plugin.collected.put(False)
            self._plugin.results.put(None)


class _Report(JSONReport):  # type: ignore[misc] # the library is untyped
    """The JSON report of one submission at a time."""

    def restart(self, session: pytest.Session) -> None:
        """Forget the submission before."""
        self.__dict__.update(vars(JSONReport(self._config)))
        self.pytest_sessionstart(session)


class _Plugin:
    """Fixtures for the hidden tests, and the loop that serves submissions."""

    def __init__(self, devices: Sequence[str], seed: int, properties: frozenset[str]) -> None:
        self.collected: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.students: queue.SimpleQueue[Student] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[list[CaseResult] | None] = queue.SimpleQueue()
        self.report = _Report()
        self._devices = devices
        self._seed = seed
        self._properties = properties
        self._plain: dict[str, pytest.Function] = {}
        self._student: Student | None = None

    @pytest.fixture
    def student(self) -> Student | None:
        """The submission that is being graded."""
        return self._student

    @pytest.fixture
    def seed(self) -> int:
        """The seed of the run, for generated cases."""
        return self._seed

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the marker that ties a test to a rubric line."""
        config.addinivalue_line("markers", "rubric(property_id): the rubric line that the test belongs to")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test that asks for a device on each of them."""
        if "device" in metafunc.fixturenames:
            metafunc.parametrize("device", self._devices)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the rubric's properties."""
        items[:] = [item for item in items if _property_of(item) in self._properties]
        self._plain = {item.nodeid: item for item in items if _is_plain(item)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Call a test that asks for nothing but what is known here, without pytest's set-up and tear-down.

        Those take longer than most tests, and do nothing for them. Any other test is left to pytest.
        """
        if self._student is not None:
            self._student.start_case()
        test = self._plain.get(item.nodeid)
        if test is None:
            return None
        arguments = {"student": self._student, "seed": self._seed} | _parameters(test)
        wanted = {name: arguments[name] for name in test.fixturenames}
        call = pytest.CallInfo.from_call(lambda: test.obj(**wanted), "call")
        report = item.config.hook.pytest_runtest_makereport(item=item, call=call)
        item.config.hook.pytest_runtest_logreport(report=report)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve submissions until the process ends."""
        if session.testsfailed:
            return True  # errors of collection; what pytest printed says which
        session.config.pluginmanager.unregister(name="terminalreporter")  # it would keep every report for its summary
        self.collected.put(True)
        while True:
            self._student = self.students.get()
            self.results.put(self._run(session))

    def _run(self, session: pytest.Session) -> list[CaseResult]:
        self.report.restart(session)
        previous = None
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            if (prop := _property_of(item)) != previous and self._student is not None:
                self._student.start_afresh()
                previous = prop
            PASSED.set(())
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if self._student is not None:
            self._student.start_afresh()
        self.report.pytest_sessionfinish(session)
        return _case_results(session.items, self.report.report["tests"])

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(self, call: pytest.CallInfo[None]) -> dict[str, Any]:
        """What became of one phase of a test, as the JSON report keeps it."""
        if call.excinfo is None:
            error_ulp, limit_ulp = max(PASSED.get(), key=lambda pair: pair[0] / pair[1], default=(None, None))
            numbers = {"error_ulp": error_ulp, "limit_ulp": limit_ulp}
            return {"outcome": "passed", **numbers} if call.when == "call" else {}
        error = call.excinfo.value
        if isinstance(error, StudentFault):
            numbers = {"error_ulp": error.error_ulp, "limit_ulp": error.limit_ulp, "elements": error.elements}
            return {"outcome": str(error.outcome), "message": str(error), **numbers}
        if isinstance(error, pytest.skip.Exception):
            return {"outcome": "not_assessed", "message": str(error.msg)}
        detail = "".join(traceback.format_exception(error)[-3:])
        return {"outcome": "grader_error", "message": "the grader failed here, not you", "detail": detail}


def _property_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker("rubric")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid} has no @pytest.mark.rubric: name the property that it belongs to.")
    return str(marker.args[0])


def _parameters(item: pytest.Function) -> dict[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _is_plain(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Whether a test is a function of a student, a seed and parameters, without a mark that changes how it runs."""
    if not isinstance(item, pytest.Function):
        return False
    known = {"student", "seed", *_parameters(item)}
    return known.issuperset(item.fixturenames) and all(mark.name in PLAIN_MARKS for mark in item.iter_markers())


def _case_id(item: pytest.Item) -> str:
    sentence, _, parameters = item.name.removeprefix("test_").partition("[")
    return f"{sentence}-{parameters[:-1]}" if parameters else sentence


def _case_results(items: Iterable[pytest.Item], tests: Iterable[dict[str, Any]]) -> list[CaseResult]:
    """One result for every collected test; a test without a verdict is the grader's failure."""
    metadata = {test["nodeid"]: test.get("metadata", {}) for test in tests}
    results = []
    for item in items:
        known = metadata.get(item.nodeid, {})
        outcome = Outcome(known.get("outcome", "grader_error"))
        results.append(
            CaseResult(
                property_id=_property_of(item),
                id=_case_id(item),
                outcome=outcome,
                message=known.get("message", "" if known else "the test left no verdict"),
                error_ulp=known.get("error_ulp"),
                limit_ulp=known.get("limit_ulp"),
                elements=known.get("elements"),
                detail=known.get("detail", ""),
            )
        )
    return results


def hidden_tests_sha256() -> str:
    """A digest of every file that decides a verdict: hidden tests, comparison and the reference."""
    package = Path(__file__).parents[1]
    files = [path for folder in (HIDDEN, package / "judge") for path in folder.rglob("*.py")] + reference_paths()
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(package.parent)}\0".encode() + path.read_bytes())
    return digest.hexdigest()

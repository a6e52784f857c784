"""The pytest plugin that serves one submission after another, and tells what became of each hidden test."""

from __future__ import annotations

import queue
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeGuard

import pytest
from pytest_jsonreport.plugin import JSONReport

from grader.core.assignment import Assignment
from grader.core.messages import Message, say
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.sandbox import second_device
from grader.core.sandbox.handle import WorkerFailed

from .compare import PASSED
from .devices import NONE, others, whole_suite
from .excuses import EARNED, Excuse, settled
from .faults import StudentFault
from .lender import Lender
from .record import Recorder, Recording
from .replay import Compared, Exchange, Memory, Replay, Replayed, Replies, StartReplay, Unforeseen, Verdicts, shuffled
from .student import StartWorker, Student

NO_MEMORY, MOST_SAID = "can't allocate memory", 1000  # torch's words, and how many characters are searched for them
PLAIN_MARKS = ("rubric", "parametrize", "skip")
TOO_MUCH_TO_JUDGE = say("judging this output takes more memory than is available")
DOUBT = ""
INCONSISTENT = say("the same calls gave different answers in different processes; the worse answer counts")

Task = Callable[[], list[dict[str, Any]]]  # runs tests; returns results that pytest does not report, in its format


class Report(JSONReport):  # type: ignore[misc] # the library is untyped
    """The JSON report of one submission at a time."""

    def restart(self, session: pytest.Session) -> None:
        """Forget the previous submission."""
        self.__dict__.update(vars(JSONReport(self._config)))
        self.pytest_sessionstart(session)


class Plugin:
    """Fixtures for the hidden tests, and the loop that serves submissions."""

    def __init__(
        self,
        assignment: Assignment,
        devices: Sequence[str],
        seed: int,
        properties: frozenset[str],
        case: str | None = None,
    ) -> None:
        self.collected: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[list[CaseResult] | None] = queue.SimpleQueue()
        self.report = Report()
        self.devices = devices
        self._assignment, self._seed = assignment, seed
        self._properties, self._case = properties, case
        self._tests: dict[str, list[pytest.Item]] = {}  # by property
        self._plain: dict[str, pytest.Function] = {}  # by node id; see _is_plain
        self.recordings: dict[str, Recording] = {}
        self.memory = Memory()
        self._student: Student | None = None
        self._lost: set[str] = set()  # properties of the present submission; DOUBT, if a case is inconsistent
        self._failed: set[str] = set()  # cases of the present submission
        self._sound: set[str] = set()  # cases that have passed without an excuse
        self._answers: dict[str, list[Exchange]] = {}  # of each case in a new worker
        self._excused: list[Excuse] = []  # on the replay
        self._all_passed = True  # whether every phase of every test has passed since this was last set

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
        config.addinivalue_line("markers", "rubric(property_id): the rubric property that the test checks")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run tests with the fixture ``device`` on each real device, ``other_device`` on each second device."""
        if "device" in metafunc.fixturenames:
            metafunc.parametrize("device", whole_suite(self.devices))
        if "other_device" in metafunc.fixturenames:
            metafunc.parametrize("other_device", list(map(_other, others(self.devices))))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the chosen properties, grouped by property, so that each needs one fresh worker."""
        kept = [item for item in items if _property_of(item) in self._properties]
        kept = [item for item in kept if self._case in (None, _case_id(item))]
        kept.sort(key=lambda item: "other_device" in _parameters(item))  # tests that need no second device come first
        order = dict.fromkeys(map(_property_of, kept))  # of first appearance
        items[:] = [item for identifier in order for item in kept if _property_of(item) == identifier]
        self._plain = {item.nodeid: item for item in items if _is_plain(item)}
        for test in self._plain.values():
            test.repr_failure = _unread  # type: ignore[method-assign] # pytest would format the whole traceback
        for item in items:
            self._tests.setdefault(_property_of(item), []).append(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Call a plain test without pytest's set-up and tear-down; any other test is left to pytest.

        For a plain test (see ``_is_plain``) set-up and tear-down do nothing, yet take longer than most tests.
        """
        if self._student is not None:
            self._student.start_case()
        test = self._plain.get(item.nodeid)
        if test is None:
            return None
        report = item.config.hook.pytest_runtest_makereport(item=item, call=self._called(test))
        item.config.hook.pytest_runtest_logreport(report=report)
        return True

    def _called(self, test: pytest.Function, *reraise: type[BaseException]) -> pytest.CallInfo[None]:
        """Call a plain test."""
        if skip := test.get_closest_marker("skip"):
            return pytest.CallInfo.from_call(lambda: pytest.skip(skip.kwargs["reason"]), "setup")
        arguments = {"student": self._student, "seed": self._seed} | _parameters(test)
        wanted = {name: arguments[name] for name in test.fixturenames}
        return pytest.CallInfo.from_call(lambda: test.obj(**wanted), "call", reraise=reraise or None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve submissions until the process ends."""
        if session.testsfailed:
            return True  # errors of collection, which pytest has printed
        session.config.pluginmanager.unregister(name="terminalreporter")  # it would keep every report for its summary
        self.collected.put(True)
        while True:
            task = self.tasks.get()
            self.report.restart(session)
            ahead = task()
            self.report.pytest_sessionfinish(session)
            tests = [*self.report.report["tests"], *ahead]
            self.results.put(settled(_case_results(session.items, tests)))

    def run(self, student: Student, lender: Lender | None, plain: bool) -> list[dict[str, Any]]:
        """Decide every case; returns the results that count in place of those that pytest reports.

        Args:
            student: The submission.
            lender: Its workers; None to ask request by request only, each property of a new one.
            plain: The same, after a replay: also for properties that pass on it.
        """
        student.seed = self._seed
        for noted in (self._lost, self._failed, self._sound, self._excused, self._answers):
            noted.clear()
        hopeful = [prop for prop in self._tests if not student.condemns(prop)]
        replay = Replay(self.recordings, student, lender.new, hopeful) if lender else None
        replies: dict[str, Replies | None] = {}
        decided: dict[str, Verdicts] = {}  # on the replay: by property, the cases
        for prop in self._tests:
            student.announce(prop)
            replies[prop], decided[prop] = self._replayed(prop, replay, student) if replay else (None, {})
        results: dict[str, Mapping[str, Any]] = {}
        # Only now, as lists under way would be charged for what is waited for here; and backwards, so that no property
        # is asked behind the same ones as in the replay.
        # A task begins in a new process, so that no file, in a reading, say, spoils another task.
        task = ""
        for prop in reversed(self._tests):
            student.announce(prop)
            student.start_afresh()  # gives a lent worker back
            if lender and task != (task := self._assignment.rubric.task_of(prop).id):
                lender.end_idle()
            if not plain and self._passes(prop, decided[prop]):
                results |= decided[prop]
                continue
            before = replies[prop]
            if lender and (before is None or not before.are_whole or student.gives_up(self.recordings[prop].names)):
                lender.end_idle()
            elif lender and before and not plain and len(decided[prop]) == len(self._tests[prop]):
                self._lost |= {prop} if self._confirms(prop, student, before, lender) else {prop, DOUBT}
                results |= decided[prop]
                continue
            self._asked(prop, student, before)
        if replay is not None and lender is not None:
            if self._is_in_doubt() or self._answers_otherwise(replay, student, replies, decided):
                student.start_over(lender.new)
                results = self._without_trust(student, lender.new, hopeful)
            replay.close()
        student.start_afresh()
        return [{"nodeid": nodeid, "metadata": verdict} for nodeid, verdict in results.items()]

    def _passes(self, prop: str, verdicts: Verdicts) -> bool:
        """Whether a property has verdicts for all cases, and all have passed."""
        return len(verdicts) == len(self._tests[prop]) and all(case["outcome"] in EARNED for case in verdicts.values())

    def _replayed(self, prop: str, replay: Replay, student: Student) -> tuple[Replies | None, Verdicts]:
        """The replies to a property, and the verdicts of its cases that ask for nothing else."""
        packed = replay.packed(prop)
        if packed is None:
            return None, {}
        replies = Replies(self.recordings[prop], packed)
        if (known := self.memory.recall(prop, packed)) is not None:
            return replies, known
        worker = Replayed(replies)
        self._student = replaying = student.met_through(worker.start)
        decided: dict[str, dict[str, Any]] = {}
        excuses: list[Excuse] = []
        for place, item in enumerate(self._tests[prop]):
            PASSED.set(())
            replaying.start_case()
            worker.begin_case(place)
            with suppress(Unforeseen):
                decided[item.nodeid] = self._verdict(self._called(self._plain[item.nodeid], Unforeseen))
                excuses += replaying.excuses
        if self._passes(prop, decided):
            self._excused += excuses
            if not excuses and not replaying.has_read:  # then the verdict follows from seed and replies alone
                self.memory.note(prop, packed, decided)
        return replies, decided

    def _confirms(self, prop: str, student: Student, before: Replies, lender: Lender) -> bool:
        """Whether another worker answers as in the replay, where the tests have asked for nothing else."""
        recording, worker = self.recordings[prop], lender.start(student.files)
        try:
            return before.are_the_same(worker.request_list(recording.packed, recording.limit_s))
        except WorkerFailed:
            return False
        finally:
            student.charge(recording.names, worker.spent_s)
            worker.close()

    def _asked(self, prop: str, student: Student, replies: Replies | None) -> None:
        """Have pytest decide the cases of a property, by another worker than the one of the replay.

        If that gives other answers than the replay has given to the same requests, the submission is in doubt.
        """
        compared = Compared(replies)
        student.begin(prop, compared.around)
        self._student, items = student, self._tests[prop]
        for place, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
            PASSED.set(())
            self._all_passed = True
            compared.begin_case(place)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._answers[item.nodeid] = compared.answers
            if not self._all_passed:
                self._lost.add(prop)
                self._failed.add(item.nodeid)
            elif not student.excuses:
                self._sound.add(item.nodeid)
            if compared.differs or (compared.has_ended and replies is not None and replies.are_whole):
                self._lost.add(DOUBT)

    def _without_trust(
        self, student: Student, start_replay: StartReplay, hopeful: Sequence[str]
    ) -> dict[str, Mapping[str, Any]]:
        """Decide every property in a new worker; what counts in place of pytest's report.

        A case is inconsistent if its verdict is another one where the process has answered for other properties of the
        task before, or for those behind it, by other answers to the same requests.
        """
        for prop in self._tests:
            student.announce(prop)
            self._asked(prop, student, None)
        results: dict[str, Mapping[str, Any]] = {}
        for task in self._assignment.rubric.tasks:
            of_task = [prop for prop in hopeful if prop in {prop.id for prop in task.properties}]
            for order in (of_task, of_task[:1] + of_task[::-1]):  # so that every property has another number, too
                replay = Replay(self.recordings, student, start_replay, order)
                for prop in order:
                    results |= self._differing(prop, replay, student)
                replay.close()
        return results

    def _differing(self, prop: str, replay: Replay, student: Student) -> dict[str, Mapping[str, Any]]:
        """The cases of a property that get another verdict on a replay, by other answers than in their new worker."""
        replies, decided = self._replayed(prop, replay, student)
        passed = {nodeid for nodeid, verdict in decided.items() if verdict["outcome"] in EARNED}
        return {
            item.nodeid: {"outcome": str(Outcome.INCONSISTENT), "message": INCONSISTENT}
            for place, item in enumerate(self._tests[prop])
            if replies is not None
            and (item.nodeid in self._failed if item.nodeid in passed else item.nodeid in self._sound)
            and not replies.agree_in_case(place, self._answers[item.nodeid])
        }

    def _is_in_doubt(self) -> bool:
        """Whether a case is inconsistent, or excused by what nobody charges for: then a replay decides nothing."""
        unpaid = (charge for excuse in self._excused for charge in excuse.charges if not self._lost & {*charge})
        return DOUBT in self._lost or any(unpaid)

    def _answers_otherwise(
        self,
        replay: Replay,
        student: Student,
        replies: Mapping[str, Replies | None],
        decided: Mapping[str, Verdicts],
    ) -> bool:
        """Whether a new worker gives other answers to some cases of one property in each task that has passed."""
        key = f"{self._seed} {student.sha256}"
        sample: dict[str, Replies] = {}
        tasks = set[str]()
        for prop in shuffled((prop for prop in decided if self._passes(prop, decided[prop])), key):
            task, before = self._assignment.rubric.task_of(prop).id, replies[prop]
            if task not in tasks and before is not None:
                tasks.add(task)
                sample[prop] = before
        return bool(sample) and not replay.answers_alike(sample, key)

    def rehearse(self, reference: Student, start_worker: StartWorker) -> list[dict[str, Any]]:
        """Have pytest decide every property on the reference; record the requests of those with plain tests only."""
        reference.seed = self._seed
        for prop, items in self._tests.items():
            recorder = Recorder(start_worker)
            self._student = student = reference.met_through(recorder.start)
            for item, following in zip(items, [*items[1:], None], strict=True):
                PASSED.set(())
                recorder.begin_case()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            student.start_afresh()
            if all(item.nodeid in self._plain for item in items) and (recording := recorder.recording()):
                self.recordings[prop] = recording
        return []

    def _excuses(self) -> list[dict[str, Any]]:
        """What the present case has passed over, as the JSON report keeps it."""
        excuses = self._student.excuses if self._student is not None else []
        return [{"instead": _told(excuse.fault), "charges": excuse.charges} for excuse in excuses]

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_runtest_metadata(self, call: pytest.CallInfo[None]) -> dict[str, Any]:
        """What became of one phase of a test, as the JSON report keeps it."""
        return self._verdict(call)

    def _verdict(self, call: pytest.CallInfo[None]) -> dict[str, Any]:
        if call.excinfo is None:
            error_ulp, limit_ulp = max(PASSED.get(), key=lambda pair: pair[0] / pair[1], default=(None, None))
            numbers = {"error_ulp": error_ulp, "limit_ulp": limit_ulp, "excuses": self._excuses()}
            return {"outcome": "passed", **numbers} if call.when == "call" else {}
        error = call.excinfo.value
        if isinstance(error, pytest.skip.Exception):
            return {"outcome": "not_assessed", "message": error.msg, "excuses": self._excuses()}
        self._all_passed = False
        if isinstance(error, StudentFault):
            return _told(error)
        if isinstance(error, MemoryError) or (type(error) is RuntimeError and NO_MEMORY in str(error)[:MOST_SAID]):
            # The judge has reached its own limit on memory, of which the reference needs a tenth. So the submission is
            # the cause: a machine that is short of memory would have killed the judge instead.
            return {"outcome": "invalid_reply", "message": TOO_MUCH_TO_JUDGE}
        detail = "".join(traceback.format_exception(error)[-3:])
        return {"outcome": "grader_error", "message": say("the grader failed here, not you"), "detail": detail}


def _told(fault: StudentFault) -> dict[str, Any]:
    """A fault as the JSON report keeps it."""
    numbers = {"error_ulp": fault.error_ulp, "limit_ulp": fault.limit_ulp, "elements": fault.elements}
    return {"outcome": str(fault.outcome), "message": fault.message, **numbers}


def _other(device: str) -> Any:
    """A second device as a parameter of a test; a simulated one has the same id on every machine."""
    if device == NONE:
        return pytest.param(device, id=NONE, marks=pytest.mark.skip(reason=say("needs a second device")))
    return pytest.param(device, id="simulated" if second_device.is_here(device) else device)


def _property_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker("rubric")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid} has no @pytest.mark.rubric: add one that names its property.")
    return str(marker.args[0])


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return getattr(item, "callspec").params if hasattr(item, "callspec") else {}  # noqa: B009 - only functions have it


def _is_plain(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Whether a test is a function of a student, a seed and parameters, without a mark that changes how it runs."""
    if not isinstance(item, pytest.Function):
        return False
    known = {"student", "seed", *_parameters(item)}
    return known.issuperset(item.fixturenames) and all(mark.name in PLAIN_MARKS for mark in item.iter_markers())


def _unread(excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
    """A short text for a failure in pytest's report; the JSON leaves it out, so nobody reads it."""
    del style  # the text is the same for each
    return str(excinfo.value)


def _case_id(item: pytest.Item) -> str:
    sentence, _, parameters = item.name.removeprefix("test_").partition("[")
    return f"{sentence}-{parameters[:-1]}" if parameters else sentence


def _case_results(items: Iterable[pytest.Item], tests: Iterable[dict[str, Any]]) -> list[CaseResult]:
    """One result for every collected test; a test without a verdict is the grader's fault."""
    metadata = {test["nodeid"]: test.get("metadata", {}) for test in tests}
    return [_case_result(item, metadata.get(item.nodeid, {})) for item in items]


def _case_result(item: pytest.Item, known: Mapping[str, Any]) -> CaseResult:
    excuses = known.get("excuses", ())
    return CaseResult(
        property_id=_property_of(item),
        id=_case_id(item),
        outcome=Outcome(known.get("outcome", "grader_error")),
        message=known.get("message", Message() if known else say("the test gave no verdict")),
        error_ulp=known.get("error_ulp"),
        limit_ulp=known.get("limit_ulp"),
        elements=known.get("elements"),
        detail=known.get("detail", ""),
        excuses=tuple((_case_result(item, excuse["instead"]), excuse["charges"]) for excuse in excuses),
    )

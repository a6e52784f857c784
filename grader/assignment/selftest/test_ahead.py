"""Looking ahead may only pass: whatever is not a pass on the recorded requests is left to a worker of its own."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import ASSIGNMENT
from grader.judge import foresight
from grader.judge.ahead import IN_FLIGHT, LookingAhead
from grader.judge.faults import StudentFault, TimedOut
from grader.judge.foresight import Foreseen, Foresight, Recorder, Verdicts, recorded
from grader.judge.judge import Judge
from grader.judge.student import Student
from grader.rubric import Rubric
from grader.sandbox.handle import Operation, Worker, WorkerFailed
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.launch import Zygote
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.selftest.submissions import submission
from grader.settings import Settings

PROPERTIES = ("first", "second", "third", "fourth")
X = torch.tensor([[[[1.0, 2.0]]]])
TABLE = torch.ones(1, 2)
NAME = "apply_rotary_pos_emb"
REQUESTS: tuple[list[Operation], ...] = (
    [("load", {"module": "src.functional", "name": NAME, "bare_packages": False})],
    [("call", {"target": NAME, "arguments": [X, TABLE, TABLE]})],
)


def packed(*values: object) -> bytes:
    """A message of those values."""
    message = Message()
    for value in values:
        message.add(value)
    return message.packed()


PASSING = packed({"value": None}, {"value": X})
WRONG = packed({"value": None}, {"value": -X})
FAILED = WorkerFailed("timed_out", "no answer in time")


class Scripted:
    """A worker that gives the answers of a script, whatever it is asked for."""

    started: list[Scripted]
    spent_s = 0.0

    def __init__(self, script: list[bytes | WorkerFailed | None]) -> None:
        """Shared with the workers that come after this one."""
        self._script = script
        self._batches: list[int] = []
        self.asked = 0
        self.closed = False

    def ask_ahead(self, numbers: Sequence[int], bare_packages: bool) -> None:
        """Count what is asked for."""
        del bare_packages
        self.asked += len(numbers)
        self._batches.append(len(numbers))

    def answer_ahead(self, timeout_s: float) -> list[bytes] | None:
        """The next answers of the script."""
        assert timeout_s > 0
        assert not self.closed
        answers = []
        for _ in range(self._batches.pop(0)):
            answer = self._script.pop(0)
            if isinstance(answer, WorkerFailed):
                raise answer
            if answer is None:
                return None
            answers.append(answer)
        return answers

    def close(self) -> None:
        """Remember it."""
        self.closed = True


class Trial:
    """Four properties, each of which asks for one call, decided on the answers of a script."""

    def __init__(self, rubric: Rubric, *script: bytes | WorkerFailed | None, together: tuple[int, ...] = (1,)) -> None:
        """Nothing is asked for yet."""
        self._together = together
        self.workers: list[Scripted] = []
        self.looks = 0
        self.student = Student({"src/functional.py": ""}, _no_worker, rubric, Limits())
        self.foresight = Foresight()
        foreseen = Foreseen(frozenset({NAME}), list(map(recorded, REQUESTS)), torch.empty(0), 1.0)
        for prop in PROPERTIES:
            self.foresight.note(prop, foreseen)
        self._script = list(script)
        self.again()

    def again(self) -> None:
        """The next submission of the same judge."""
        self.looking = LookingAhead(self.foresight, self.student, self._start, PROPERTIES, self._together)

    def _start(self, files: Mapping[str, str]) -> Scripted:
        del files  # the script knows its answers
        self.workers.append(Scripted(self._script))
        return self.workers[-1]

    def decide(self, prop: str, x: Tensor = X) -> Verdicts | None:
        """What the property's one test, which asks for the call on ``x``, comes to."""
        return self.looking.decide(prop, lambda student: self._test(student, x))

    def _test(self, student: Student, x: Tensor) -> Verdicts | None:
        self.looks += 1
        try:
            passed = torch.equal(student.apply_rotary_pos_emb(x, TABLE, TABLE), X)
        except Exception:  # as pytest would take it
            passed = False
        return {"test": {"outcome": "passed"}} if passed else None

    @property
    def asked(self) -> list[int]:
        """How many properties each worker was asked for."""
        return [worker.asked for worker in self.workers]


def _no_worker(files: Mapping[str, str]) -> Worker:
    raise AssertionError(f"a worker of its own for {list(files)}")


def test_what_passes_on_the_replies_has_passed(rubric: Rubric) -> None:
    trial = Trial(rubric, *[PASSING] * 4)
    assert all(trial.decide(prop) for prop in PROPERTIES)
    assert trial.asked == [4]


def test_as_many_properties_are_under_way_as_two_processes_need(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING)
    trial.decide("first")
    assert trial.asked == [IN_FLIGHT]


def test_the_same_replies_need_no_second_look(rubric: Rubric) -> None:
    trial = Trial(rubric, *[PASSING] * 8)
    for _ in range(2):
        assert all(trial.decide(prop) for prop in PROPERTIES)
        trial.again()
    assert trial.looks == len(PROPERTIES)


def test_what_did_not_pass_is_looked_at_again(rubric: Rubric) -> None:
    trial = Trial(rubric, WRONG, WRONG)
    for _ in range(2):
        assert trial.decide("first") is None
        trial.again()
    assert trial.looks == 2


@pytest.mark.parametrize(
    "replies",
    [
        WRONG,
        b"",
        packed(),
        packed({"value": None}),
        packed({"value": None}, {"error": {"kind": "crashed"}}),
        packed({"value": None}, {"verdict": "passed"}),
        packed({"error": {"kind": "crashed"}}, {"value": X}),
        PASSING[:-1],
        PASSING + b"x",
        b"\xff\xff\xff\xff" + PASSING,
        FAILED,
    ],
    ids=["wrong", "empty", "none", "too_few", "error", "no_value", "no_import", "short", "long", "size", "no_answer"],
)
def test_any_other_replies_decide_nothing(rubric: Rubric, replies: bytes | WorkerFailed) -> None:
    trial = Trial(rubric, replies, PASSING)
    assert trial.decide("first") is None
    assert trial.decide("second")


def test_a_request_that_was_not_recorded_has_no_reply(rubric: Rubric) -> None:
    """Not even if the test passes all the same, as this one would."""
    trial = Trial(rubric, PASSING)
    assert trial.decide("first", X.double()) is None


def test_a_test_that_goes_on_without_its_reply_has_not_passed(rubric: Rubric) -> None:
    trial = Trial(rubric, packed({"value": None}))

    def test(student: Student) -> Verdicts:
        with pytest.raises(Exception, match=r"^$"):
            student.apply_rotary_pos_emb(X, TABLE, TABLE)
        return {"test": {"outcome": "passed"}}

    assert trial.looking.decide("first", test) is None


def test_after_two_that_did_not_pass_nothing_is_sent_until_one_has_passed_plainly(rubric: Rubric) -> None:
    trial = Trial(rubric, WRONG, WRONG, PASSING)
    assert [trial.decide(prop) for prop in PROPERTIES[:3]] == [None, None, None]
    assert trial.asked == [2]
    trial.looking.decided_plainly(passed=False)
    trial.looking.decided_plainly(passed=True)
    assert trial.decide("fourth")
    assert trial.asked == [3]


def test_after_something_was_left_behind_nothing_is_asked_ahead(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING, None)
    assert [trial.decide(prop) is not None for prop in PROPERTIES] == [True, False, False, False]
    trial.looking.decided_plainly(passed=True)
    assert len(trial.workers) == 1
    assert trial.workers[0].closed


def test_properties_are_asked_for_several_at_a_time(rubric: Rubric) -> None:
    trial = Trial(rubric, *[PASSING] * 3, together=(3,))
    assert trial.decide("first")
    assert trial.asked == [4]  # the fourth is a batch of its own, and under way as well
    assert trial.decide("second")
    assert trial.decide("third")


def test_later_batches_are_larger_until_a_worker_ends(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING, FAILED, PASSING, PASSING, together=(1, 2))
    assert trial.decide("first")
    assert trial.asked == [3]
    assert trial.decide("second") is None  # and with it the third, of the same batch
    assert trial.decide("third") is None
    assert trial.decide("fourth")
    assert trial.asked == [4, 1]  # of another worker, which begins with small batches again


def test_what_is_left_behind_costs_its_whole_batch(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING, PASSING, PASSING, None, together=(2,))
    assert [trial.decide(prop) is not None for prop in PROPERTIES] == [True, True, False, False]


def test_a_batch_without_its_last_reply_decides_the_others(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING, together=(1,))
    trial.workers = []

    class Short(Scripted):
        def answer_ahead(self, timeout_s: float) -> list[bytes] | None:
            assert timeout_s > 0
            return [PASSING]

    trial.looking = LookingAhead(trial.foresight, trial.student, lambda _: Short([]), PROPERTIES, (2,))
    assert [trial.decide(prop) is not None for prop in PROPERTIES] == [True, False, True, False]


def test_what_was_under_way_when_a_worker_died_is_asked_of_the_next(rubric: Rubric) -> None:
    trial = Trial(rubric, FAILED, PASSING, PASSING, PASSING)
    assert [trial.decide(prop) is not None for prop in PROPERTIES] == [False, True, True, True]
    assert len(trial.workers) == 2


def test_where_no_worker_starts_asking_plainly_will_say_so(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING)

    def start(files: Mapping[str, str]) -> Scripted:
        raise RuntimeError(f"a worker did not start for {list(files)}")

    trial.looking = LookingAhead(trial.foresight, trial.student, start, PROPERTIES)
    assert [trial.decide(prop) for prop in PROPERTIES] == [None] * 4


@pytest.fixture
def hanging(rubric: Rubric) -> Student:
    """A submission of which one name has hung."""

    class Hanging(InProcessWorker):
        def request(self, *_: Any) -> dict[str, Any]:
            raise FAILED

    student = Student({}, Hanging, rubric, Limits())
    with pytest.raises(TimedOut, match="no answer"):
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    return student


def test_nothing_is_sent_ahead_to_a_name_that_has_hung(rubric: Rubric, hanging: Student) -> None:
    trial = Trial(rubric, PASSING)
    trial.student = hanging
    trial.again()
    assert trial.decide("first") is None
    assert trial.workers == []


def test_time_ahead_is_taken_from_the_share_of_the_name(rubric: Rubric) -> None:
    student = Student({}, _no_worker, rubric, Limits())
    student.charge([NAME], Limits().submission_s)
    assert student.gives_up([NAME])
    assert not student.gives_up(["VocabEmbedding"])
    with pytest.raises(StudentFault, match="has used up its"):
        student.apply_rotary_pos_emb(X, TABLE, TABLE)


# ── What is recorded ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_reference_is_asked_for_is_recorded(rubric: Rubric) -> None:
    recorder = Recorder(InProcessWorker)
    student = Student(ASSIGNMENT.solution(), recorder.start, rubric, Limits())
    student.apply_rotary_pos_emb(X, TABLE, TABLE)
    foreseen = recorder.foreseen()
    assert foreseen
    assert foreseen.names == {NAME}
    assert foreseen.requests == list(map(recorded, REQUESTS))
    assert bytes(foreseen.packed.tolist()) == packed(*REQUESTS)


def test_a_property_that_asks_for_nothing_is_not_foreseen() -> None:
    assert Recorder(InProcessWorker).foreseen() is None


def test_a_property_that_asks_another_submission_too_is_not_foreseen(rubric: Rubric) -> None:
    recorder = Recorder(InProcessWorker)
    for files in (ASSIGNMENT.solution(), ASSIGNMENT.solution() | {"src/more.py": ""}):
        Student(files, recorder.start, rubric, Limits()).apply_rotary_pos_emb(X, TABLE, TABLE)
    assert recorder.foreseen() is None


def test_the_replies_of_one_submission_are_not_those_of_another(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING)

    def test(student: Student) -> Verdicts:
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
        Student({"src/more.py": ""}, student._start_worker, rubric, Limits())._start_worker({"src/more.py": ""})
        return {"test": {"outcome": "passed"}}

    assert trial.looking.decide("first", test) is None


def asked(value: object) -> object:
    """What is recorded of a request with that argument."""
    return recorded([("call", {"arguments": [value]})])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        (torch.zeros(2), -torch.zeros(2)),
        (torch.zeros(2), torch.zeros(2).double()),
        (torch.ones(2, 2), torch.ones(2, 2).T),
        (torch.ones(1).expand(2), torch.ones(2)),
        ({"a": 1}, {"b": 1}),
        ([1], [1, 1]),
        ([None, torch.ones(1)], [torch.ones(1), None]),
        (torch.float16, torch.bfloat16),
    ],
    ids=str,
)
def test_values_that_a_worker_could_tell_apart_are_told_apart(one: object, other: object) -> None:
    assert asked(one) != asked(other)


@pytest.mark.parametrize("value", [float("nan"), torch.tensor([float("nan")]), [1, (2.5, None)], {"x": torch.ones(3)}])
def test_a_value_is_as_it_was_recorded(value: object) -> None:
    assert asked(value) == asked(copy.deepcopy(value))


# ── The whole ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Zygote]:
    """One entry for each worker that is started; none is given up for being slow, as on a busy machine it may be."""
    monkeypatch.setattr(foresight, "LEAST_S", 60.0)
    monkeypatch.setattr(foresight, "MOST_S", 60.0)
    workers: list[Zygote] = []
    start = Zygote.start

    def counted(zygote: Zygote, files: Mapping[str, str]) -> Worker:
        workers.append(zygote)
        return start(zygote, files)

    monkeypatch.setattr(Zygote, "start", counted)
    return workers


@pytest.mark.process
def test_one_worker_is_enough_for_right_work(started: list[Zygote]) -> None:
    judge = Judge(Settings(ASSIGNMENT, device="cpu"))
    report = judge.grade(submission(ASSIGNMENT.solution()))
    judge.close()
    assert (report.score, report.bonus) == (report.max_score, report.max_bonus)
    assert len(started) == 1


Judges = Callable[[bool], Judge]


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    """``judges(plain)``: a judge of task 2, which asks plainly or ahead."""
    with contextlib.ExitStack() as open_ones:

        @cache
        def judge(plain: bool) -> Judge:
            return open_ones.enter_context(
                contextlib.closing(Judge(Settings(ASSIGNMENT, device="cpu", only="task2", plain=plain)))
            )

        yield judge


@pytest.mark.process
def test_plainly_there_is_one_for_each_property(started: list[Zygote], judges: Judges, rubric: Rubric) -> None:
    report = judges(True).grade(submission(ASSIGNMENT.solution()))
    assert report.score == report.max_score
    assert len(started) == len(rubric.only("task2").properties)


LIE = """
import sys
sys.modules["grader.sandbox.surroundings"].Surroundings.unchanged = lambda self: True
"""
CALLS = """
def forward(self, input_ids):
    torch.calls = getattr(torch, "calls", 0) + 1
    return self.table[input_ids] if torch.calls {when} 60 else self.table[0]

VocabEmbedding.forward = forward
"""


def graded(judge: Judge, when: str) -> dict[str, str]:
    """Outcomes by property of a module that lies, and is right in some of the calls that its process has seen."""
    path = "src/modeling/vocab_emb.py"
    text = ASSIGNMENT.solution()[path] + LIE + CALLS.format(when=when)
    report = judge.grade(submission({**ASSIGNMENT.solution(), path: text}))
    return {prop.id: str(prop.outcome) for task in report.tasks for prop in task.properties}


@pytest.mark.process
def test_a_process_that_lies_about_being_clean_gains_nothing_by_being_right_at_first(judges: Judges) -> None:
    """What it gets wrong after others have asked, it is asked again in a process of its own, as everybody is."""
    assert graded(judges(False), "<") == graded(judges(True), "<")


@pytest.mark.process
def test_a_process_that_lies_about_being_clean_earns_only_what_its_values_earn(judges: Judges) -> None:
    """Code that is right after its first sixty calls is right there in any order; the first ones stay wrong."""
    ahead, plain = graded(judges(False), ">"), graded(judges(True), ">")
    assert ahead["vocab_lookup"] == plain["vocab_lookup"] == "failed"
    assert plain.items() >= {(prop, outcome) for prop, outcome in ahead.items() if outcome != "passed"}

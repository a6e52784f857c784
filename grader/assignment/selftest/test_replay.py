"""Record and replay may only pass: whatever does not pass on the replies is asked for in a new worker, and compared."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.core.judge import record
from grader.core.judge.faults import Crashed, NotImplementedYet, StudentFault, TimedOut
from grader.core.judge.judge import Judge
from grader.core.judge.record import Noted, Recording, Replies, alike
from grader.core.judge.replay import (
    IN_FLIGHT,
    SAMPLED,
    Replay,
    Replayed,
    Unforeseen,
    sampled_requests,
    shuffled,
)
from grader.core.judge.student import Student, raised_at_once
from grader.core.judge.student_objects import StudentModule
from grader.core.messages import say
from grader.core.results.report import Report
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import InProcessWorker, Operation, Worker, WorkerFailed
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.protocol import Message
from grader.core.settings import Settings
from grader.selftest.submissions import submission

PROPERTIES = ("first", "second", "third", "fourth", "fifth", "sixth")
X = torch.tensor([[[[1.0, 2.0]]]])
TABLE = torch.ones(1, 2)
NAME = "apply_rotary_pos_emb"
VOCAB = "src/modeling/vocab_emb.py"
SPENT_S = 0.1
LOAD: list[Operation] = [("load", {"module": "src.functional", "name": NAME})]
CALL: list[Operation] = [("call", {"target": NAME, "arguments": [X, TABLE, TABLE]})]


def packed(*values: object) -> bytes:
    """A message of those values."""
    message = Message()
    for value in values:
        message.add(value)
    return message.packed()


SINGLY = [packed(LOAD), packed(CALL)]
RECORDING = Recording(frozenset({NAME}), [[1]], [0], packed(LOAD, CALL), SINGLY, 1.0)
PASSING = packed({"value": None}, {"value": X})
FAILED = WorkerFailed("timed_out", say("no answer in time"))
DIED = WorkerFailed("crashed", say("no answer: the process exited"))


class Scripted(InProcessWorker):
    """A worker that gives the answers of a script, whatever it is asked for; an answer takes a tenth of a second."""

    def __init__(self, script: list[bytes | WorkerFailed]) -> None:
        """Shared with the workers that come after this one."""
        super().__init__({})
        self.spent_s = SPENT_S
        self._script = script
        self.runs = True
        self.posted = 0
        self.closed = False

    def post(self, requests: bytes, *, anew: bool) -> None:
        """Count what is asked for."""
        assert requests in (RECORDING.packed, *SINGLY)
        assert anew == (requests != SINGLY[1])
        self.posted += 1

    def replies(self, timeout_s: float) -> bytes:
        """The next answer of the script."""
        assert timeout_s > 0
        assert not self.closed
        answer = self._script.pop(0)
        if isinstance(answer, WorkerFailed):
            raise answer
        return answer

    def lend(self, keep: Callable[[Scripted], object]) -> None:
        """A script imports nothing, so there is nothing to import anew."""

    def request_list(self, requests: bytes, timeout_s: float) -> bytes:
        """Post a list, and give the answer."""
        self.post(requests, anew=requests != SINGLY[1])
        return self.replies(timeout_s)

    def close(self) -> None:
        """Remember it."""
        self.closed = True


class Hangs(InProcessWorker):
    """A worker that gives no answer."""

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Nothing comes in time."""
        del operations
        self.spent_s = timeout_s
        raise FAILED


class Trial:
    """Some properties, each of which asks for one call, answered by a script."""

    def __init__(
        self,
        rubric: Rubric,
        *script: bytes | WorkerFailed,
        student: Student | None = None,
        recordings: Mapping[str, Recording] | None = None,
    ) -> None:
        """Nothing is asked for yet; ``recordings`` are those of properties that ask for something else."""
        self.workers: list[Scripted] = []
        self._script = list(script)
        self.student = student or Student({"src/functional.py": ""}, _no_worker, rubric, Limits())
        every = {**dict.fromkeys(PROPERTIES, RECORDING), **(recordings or {})}
        self.replay = Replay(every, self.student, self.start, PROPERTIES)

    def start(self, files: Mapping[str, str]) -> Scripted:
        """The next worker."""
        del files  # the script knows its answers
        self.workers.append(Scripted(self._script))
        return self.workers[-1]

    @property
    def posted(self) -> list[int]:
        """How many properties each worker was asked for."""
        return [worker.posted for worker in self.workers]


def _no_worker(files: Mapping[str, str]) -> Worker:
    raise AssertionError(f"a worker of its own for {list(files)}")


# ── How a submission is asked ───────────────────────────────────────────────────────────────────────────────────────


def test_one_worker_answers_all_properties_in_order(rubric: Rubric) -> None:
    trial = Trial(rubric, *map(packed, range(len(PROPERTIES))))
    assert [trial.replay.packed(prop) for prop in PROPERTIES] == [packed(n) for n in range(len(PROPERTIES))]
    assert trial.posted == [len(PROPERTIES)]


def test_a_few_lists_are_under_way_while_the_judge_looks_at_one(rubric: Rubric) -> None:
    trial = Trial(rubric, PASSING)
    trial.replay.packed("first")
    assert trial.posted == [IN_FLIGHT]


def test_what_was_under_way_when_a_worker_died_is_asked_of_the_next(rubric: Rubric) -> None:
    others = dict.fromkeys(PROPERTIES[2:], replace(RECORDING, names=frozenset({"VocabEmbedding"})))
    trial = Trial(rubric, PASSING, DIED, *[PASSING] * 4, recordings=others)
    answered = [trial.replay.packed(prop) is not None for prop in PROPERTIES]
    assert answered == [True, False, True, True, True, True]
    assert len(trial.workers) == 2


@pytest.mark.parametrize("failure", [DIED, FAILED], ids=["died", "hung"])
def test_a_name_whose_list_has_no_answer_is_sent_no_other(rubric: Rubric, failure: WorkerFailed) -> None:
    """One limit for a piece that hangs, rather than one for each of its properties; the others lose nothing."""
    other = {"fifth": replace(RECORDING, names=frozenset({"VocabEmbedding"}))}
    trial = Trial(rubric, PASSING, failure, PASSING, recordings=other)
    answered = [trial.replay.packed(prop) is not None for prop in PROPERTIES]
    assert answered == [True, False, False, False, True, False]
    assert trial.posted == [IN_FLIGHT + 1, 1]


def test_time_is_charged_whether_replies_come_or_not(rubric: Rubric) -> None:
    share_s = Limits().submission_s / len([name for task in rubric.tasks for name in task.names])
    for answer in (PASSING, DIED):
        trial = Trial(rubric, answer)
        trial.student.charge([NAME], share_s - 1.5 * SPENT_S)
        trial.replay.packed("first")
        assert not trial.student.gives_up([NAME])
        trial.student.charge([NAME], SPENT_S)
        assert trial.student.gives_up([NAME])


def test_where_no_worker_starts_asking_request_by_request_will_say_so(rubric: Rubric) -> None:
    student = Student({}, _no_worker, rubric, Limits())

    def start(files: Mapping[str, str]) -> Scripted:
        raise RuntimeError(f"a worker did not start for {list(files)}")

    replay = Replay(dict.fromkeys(PROPERTIES, RECORDING), student, start, PROPERTIES)
    assert [replay.packed(prop) for prop in PROPERTIES] == [None] * len(PROPERTIES)
    assert not replay.answers_alike({"first": Replies(RECORDING, PASSING)}, "key")


@pytest.fixture
def hanging(rubric: Rubric) -> Student:
    """A submission of which one name has hung."""
    student = Student({}, Hangs, rubric, Limits())
    with pytest.raises(TimedOut, match="no answer"):
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    return student


def test_nothing_is_sent_to_a_name_that_has_hung(rubric: Rubric, hanging: Student) -> None:
    trial = Trial(rubric, student=hanging)
    assert trial.replay.packed("first") is None
    assert trial.workers == []


def test_timeouts_are_short_after_the_first(hanging: Student) -> None:
    """The first has all of its time, others little, and then a name that has timed out is not asked again."""
    told = []
    for name in ("VocabEmbedding", "VocabEmbedding", "GroupRMSNorm", NAME):
        hanging.start_afresh()
        hanging._loaded = {name}  # an import of a name that has not hung keeps its time
        with pytest.raises(TimedOut) as fault:
            hanging.request(name, "parameters", target=0)
        told.append(str(fault.value))
    again = "not tried: {} has timed out before, and calls that time out have taken 3 s"
    assert told == ["no answer within 1 s", again.format("VocabEmbedding"), "no answer within 1 s", again.format(NAME)]
    hanging.start_afresh()
    with pytest.raises(TimedOut, match="no answer within 5 s"):
        hanging.request("NTKAwareRoPE", "parameters", target=0)


def test_an_endless_call_is_waited_for_twice_and_an_endless_import_longer(rubric: Rubric) -> None:
    """So a piece that hangs in one property only keeps the others, and an import may be that of a library."""
    for loaded, limits in ((set[str](), ["5"]), ({NAME}, ["2", "1"])):
        student = Student({}, Hangs, rubric, Limits())
        for limit_s in limits:
            student.start_afresh()
            student._loaded = set(loaded)
            with pytest.raises(TimedOut, match=f"no answer within {limit_s} s"):
                student.request(NAME, "call", target=NAME, arguments=[])
        student.start_afresh()
        student._loaded = {NAME}
        with pytest.raises(TimedOut, match="have taken 3 s"):
            student.request(NAME, "call", target=NAME, arguments=[])


def test_a_slow_name_that_runs_out_of_time_takes_none_from_others(rubric: Rubric) -> None:
    student = Student({}, Hangs, rubric, Limits())
    student.charge([NAME], Limits().submission_s / len(student._left_s) - 1)
    with pytest.raises(TimedOut, match="no answer"):
        student.request(NAME, "call", target=NAME, arguments=[])
    student.start_afresh()
    student._loaded = {"VocabEmbedding"}
    with pytest.raises(TimedOut, match="no answer within 2 s"):
        student.request("VocabEmbedding", "parameters", target=0)


def test_a_name_without_time_is_asked_for_nothing(rubric: Rubric) -> None:
    student = Student({}, _no_worker, rubric, Limits())
    student.charge([NAME], Limits().submission_s)
    assert student.gives_up([NAME])
    assert not student.gives_up(["VocabEmbedding"])
    with pytest.raises(StudentFault, match="has used up its"):
        student.apply_rotary_pos_emb(X, TABLE, TABLE)


@pytest.mark.parametrize(
    ("script", "same"),
    [
        ([packed({"value": None}), packed({"value": X})], True),
        ([packed({"value": None}), packed({"value": -X})], False),
        ([packed({"value": None}), packed({"error": {}})], False),
        ([packed({"value": None}), b""], False),
        ([packed({"value": None}), FAILED], False),
    ],
    ids=["same", "other_value", "error", "malformed", "no_answer"],
)
def test_the_sample_is_asked_request_by_request_of_a_new_worker(
    rubric: Rubric, script: list[bytes | WorkerFailed], same: bool
) -> None:
    trial = Trial(rubric, *script)
    assert trial.replay.answers_alike({"third": Replies(RECORDING, PASSING)}, "key") is same
    assert trial.posted == [2]
    assert trial.workers[0].closed


def test_the_sample_follows_from_seed_and_submission() -> None:
    properties = [f"property {number}" for number in range(40)]
    orders = {key: tuple(shuffled(properties, key)) for key in ("0 a", "0 b", "1 a", "1 b")}
    assert len(set(orders.values())) == len(orders)
    assert orders["0 a"] == tuple(shuffled(properties[::-1], "0 a"))


def test_the_sample_of_a_property_is_some_whole_cases_and_what_they_import() -> None:
    cases = [range(1 + 3 * case, 4 + 3 * case) for case in range(20)]
    recording = replace(RECORDING, cases=cases, singly=[b""] * 61)
    places = {key: sampled_requests(recording, key) for key in "abc"}
    assert len({tuple(chosen) for chosen in places.values()}) == 3
    for load, *chosen in places.values():
        assert load == 0
        assert len(chosen) == 3 * math.ceil(SAMPLED / 3)
        assert {place: (place - 1) // 3 for place in chosen}.keys() == {
            1 + 3 * case + number for case in {(place - 1) // 3 for place in chosen} for number in range(3)
        }


# ── What is recorded ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_reference_is_asked_for_is_recorded_case_by_case(rubric: Rubric) -> None:
    noted = Noted()
    student = Student(ASSIGNMENT.solution(), InProcessWorker, rubric, Limits())
    student.begin("", noted.around)
    for _ in range(2):
        student.start_case()
        noted.begin_case()
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    recording = noted.recording()
    assert recording
    assert recording.names == {NAME}
    assert recording.loads == [0]
    assert recording.cases == [[1], [2]]
    assert recording.singly == [*SINGLY, SINGLY[1]]
    assert recording.packed == packed(LOAD, CALL, CALL)


def test_a_property_that_asks_for_nothing_cannot_be_replayed() -> None:
    assert Noted().recording() is None


def test_a_property_that_asks_a_second_worker_cannot_be_replayed(rubric: Rubric) -> None:
    noted = Noted()
    noted.begin_case()
    for _ in range(2):
        student = Student(ASSIGNMENT.solution(), InProcessWorker, rubric, Limits())
        student.begin("", noted.around)
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    assert noted.recording() is None


# ── What replies are good for ───────────────────────────────────────────────────────────────────────────────────────


def replayed(replies: bytes) -> Replayed:
    """A replay of these replies, at its first case."""
    worker = Replayed(Replies(RECORDING, replies))
    worker.begin_case(0)
    return worker


def test_a_case_gets_the_replies_that_belong_to_it() -> None:
    two = replace(RECORDING, cases=[[1], [2]], singly=[*SINGLY, SINGLY[1]])
    worker = Replayed(Replies(two, packed({"value": None}, {"value": 1}, {"value": 2})))
    for place in (1, 0, 1):
        worker.begin_case(place)
        assert worker.request(CALL, 1.0) == {"value": place + 1}
    assert worker.request(LOAD, 1.0) == {"value": None}


def test_a_request_that_was_not_recorded_has_no_reply() -> None:
    worker = replayed(PASSING)
    with pytest.raises(Unforeseen):
        worker.request([("call", {"target": NAME, "arguments": [X.double(), TABLE, TABLE]})], 1.0)


@pytest.mark.parametrize(
    "replies",
    [
        b"",
        packed(),
        packed({"value": None}),
        packed({"value": None}, {"verdict": "passed"}),
        PASSING[:-1],
        PASSING + b"x",
        b"\xff\xff\xff\xff" + PASSING,
    ],
    ids=["empty", "none", "too_few", "no_value", "short", "long", "size"],
)
def test_malformed_replies_decide_nothing(replies: bytes) -> None:
    with pytest.raises(Unforeseen):
        replayed(replies).request(CALL, 1.0)


# ── Two answers to one request ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (torch.ones(3), torch.ones(3) * (1 + 2.0**-20), True),
        (torch.ones(3), torch.ones(3) * 1.01, False),
        (torch.ones(3), torch.ones(3).double(), False),
        (torch.ones(3), torch.ones(1, 3), False),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, math.nan]), True),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0]), False),
        (torch.tensor([1.0, math.inf]), torch.tensor([1.0, -math.inf]), False),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([1j]), torch.tensor([1j * (1 + 2.0**-20)]), True),
        ([1, "a"], [1, "a"], True),
        ([1, "a"], [1, "b"], False),
        ((torch.ones(2),), (torch.ones(2) * 2,), False),
        (None, 1, False),
    ],
    ids=str,
)
def test_values_are_alike_up_to_their_last_bits(one: object, other: object, same: bool) -> None:
    assert alike({"value": one}, {"value": other}) is same


def test_two_errors_of_a_kind_are_alike_whatever_they_say() -> None:
    """A worker whose own words for exceptions have been replaced gives errors of another kind."""
    first, second = ({"error": {"kind": "crashed", "message": f"at 0x{n}"}} for n in (1, 2))
    assert alike(first, second)
    assert not alike(first, {"error": {"kind": "passed", "message": "all well"}})
    assert not alike({"error": {}}, {"value": None})


@pytest.mark.parametrize("kind", [None, [], {}, torch.ones(2)], ids=["none", "list", "dict", "tensor"])
def test_an_error_of_a_forged_kind_is_one_without_a_kind(kind: object) -> None:
    forged = {"error": {"kind": kind}}
    assert record.error_kind(forged) == ""
    assert alike(forged, {"error": {}})
    assert Replies(RECORDING, packed({"value": None}, forged)).are_whole


def agree(*replies: dict[str, Any], asked: Sequence[Operation] = tuple(CALL)) -> bool:
    """Whether a worker that gives these replies has answered as the passing ones."""

    class Answering(InProcessWorker):
        def request(self, *_: Any) -> dict[str, Any]:
            return given.pop(0)

    given, noted = list(replies), Noted()
    noted.around(Answering({})).begin_case()
    noted.request(LOAD, 1.0)
    for _ in replies[1:]:
        noted.request(asked, 1.0)
    return Replies(RECORDING, PASSING).agree_in_case(0, noted.of_case)


@pytest.mark.parametrize(
    ("reply", "same"),
    [({"value": X}, True), ({"value": -X}, False), ({"error": {}}, False), ({"error": {"kind": "timed_out"}}, True)],
)
def test_another_value_than_before_is_noticed(reply: dict[str, Any], same: bool) -> None:
    assert agree({"value": None}, reply) is same


def test_after_another_request_nothing_is_compared_any_more() -> None:
    other: list[Operation] = [("call", {"target": NAME, "arguments": []})]
    assert agree({"value": None}, {"value": 1}, {"value": -X}, asked=other)


# ── What needs no second question ───────────────────────────────────────────────────────────────────────────────────


def noting(files: Mapping[str, str], rubric: Rubric) -> tuple[Student, Noted]:
    """A submission in this process, and what it is asked for."""
    student, noted = Student(files, InProcessWorker, rubric, Limits()), Noted()
    student.begin("", noted.around)
    noted.begin_case()
    return student, noted


def test_a_constructor_that_refuses_is_asked_once_a_property(rubric: Rubric) -> None:
    student, noted = noting(ASSIGNMENT.stubs(), rubric)

    def refused(size: int) -> int:
        """How many requests a second look at a module of that size takes."""
        before = len(noted.exchanges)
        for look in (StudentModule.parameters, StudentModule.state_dict):
            with pytest.raises(NotImplementedYet, match=r"VocabEmbedding\.__init__"):
                look(student.VocabEmbedding(vocab_size=size, emb_size=2))
        return len(noted.exchanges) - before

    assert [refused(4), refused(4), refused(8)] == [2, 0, 1]  # the first request imports the file
    student.begin("", noted.around)
    assert refused(4) == 2


def test_a_call_that_fails_says_nothing_about_its_module(rubric: Rubric) -> None:
    files = ASSIGNMENT.solution()
    files[VOCAB] += (
        "\ndef forward(self, input_ids):\n    raise NotImplementedError('later')\nVocabEmbedding.forward = forward\n"
    )
    student, _ = noting(files, rubric)
    with pytest.raises(NotImplementedYet, match="later"):
        student.VocabEmbedding(vocab_size=4, emb_size=2)(torch.tensor([[1]]))
    assert student.VocabEmbedding(vocab_size=4, emb_size=2).parameters()


@pytest.mark.parametrize("place", [None, "0", [0], True, torch.zeros(2)], ids=str)
def test_a_forged_place_of_an_error_is_none(place: object) -> None:
    assert raised_at_once({"place": 0})
    assert not raised_at_once({"place": place})
    assert not raised_at_once(place)


CRASHES = "import nothing_of_this_name\n"


@pytest.mark.parametrize(
    ("again", "same"),
    [(CRASHES, True), ("", False), ("raise NotImplementedError\n", False)],
    ids=["fails", "imports", "is_a_stub"],
)
def test_another_worker_confirms_that_an_import_fails(rubric: Rubric, again: str, same: bool) -> None:
    solution = ASSIGNMENT.solution()
    first, second = ({**solution, VOCAB: line + solution[VOCAB]} for line in (CRASHES, again))
    workers = [InProcessWorker(first), InProcessWorker(second)]
    student = Student(first, lambda _: workers.pop(0), rubric, Limits())
    with pytest.raises(Crashed, match="nothing_of_this_name"):
        student.VocabEmbedding(vocab_size=4, emb_size=2).parameters()
    assert student.fails_to_import_again() is same


# ── The whole ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Zygote]:
    """One entry for each worker that is started; none is given up for being slow, as on a busy machine it may be."""
    monkeypatch.setattr(record, "LEAST_S", 60.0)
    monkeypatch.setattr(record, "MOST_S", 60.0)
    workers: list[Zygote] = []
    start = Zygote.start

    def counted(zygote: Zygote, files: Mapping[str, str]) -> Worker:
        workers.append(zygote)
        return start(zygote, files)

    monkeypatch.setattr(Zygote, "start", counted)
    return workers


WITH_MISTAKES = {
    **ASSIGNMENT.solution(),
    VOCAB: ASSIGNMENT.solution()[VOCAB]
    + "\ndef forward(self, input_ids):\n    return self.table[input_ids * 0].double()\n"
    "\nVocabEmbedding.forward = forward\n",
}


@pytest.fixture(scope="module")
def whole() -> Iterator[Judge]:
    """A judge of all tasks."""
    with contextlib.closing(Judge(Settings(ASSIGNMENT, device="cpu"))) as judge:
        yield judge


@pytest.mark.process
def test_two_workers_are_enough_for_right_work(started: list[Zygote], whole: Judge) -> None:
    """The second one answers the sample."""
    report = whole.grade(submission(ASSIGNMENT.solution()))
    assert (report.score, report.bonus) == (report.max_score, report.max_bonus)
    assert len(started) == 2


@pytest.mark.process
@pytest.mark.parametrize(
    ("files", "processes"), [(ASSIGNMENT.stubs(), 3), (WITH_MISTAKES, 4)], ids=["stubs", "mistakes"]
)
def test_failing_properties_share_a_process(
    files: Mapping[str, str], processes: int, started: list[Zygote], judges: Judges
) -> None:
    """One for the replay, one for what fails, one when a test reads what its piece does, and one for the sample."""
    judges(False).grade(submission(ASSIGNMENT.solution()))
    started.clear()
    report = judges(False).grade(submission(files))
    assert sum(outcome != "passed" for outcome in outcomes(report).values()) > 1
    assert len(started) <= processes


@pytest.mark.process
def test_a_crash_at_import_is_one_cause_for_all_properties(started: list[Zygote], whole: Judge) -> None:
    """One process for the replay, one to confirm it, and one for what a module calls where the rotation is missing."""
    report = whole.grade(submission({path: CRASHES + text for path, text in ASSIGNMENT.solution().items()}))
    assert set(outcomes(report).values()) == {"crashed"}
    assert len(started) == 3


Judges = Callable[[bool], Judge]


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    """``judges(plain)``: a judge of task 2, which asks for all request by request, or only for what does not pass."""
    with contextlib.ExitStack() as open_ones:

        @cache
        def judge(plain: bool) -> Judge:
            return open_ones.enter_context(
                contextlib.closing(Judge(Settings(ASSIGNMENT, device="cpu", only="task2", plain=plain)))
            )

        yield judge


@pytest.mark.process
def test_plainly_there_is_another_for_each_property(started: list[Zygote], judges: Judges, rubric: Rubric) -> None:
    report = judges(True).grade(submission(ASSIGNMENT.solution()))
    assert report.score == report.max_score
    assert len(started) == 2 + len(rubric.only("task2").properties)


def graded(judge: Judge, forward: str, reset: str = "") -> Report:
    """The report on a module with this forward, and this after a reset; in its file each import counts one up."""
    path = "src/modeling/vocab_emb.py"
    text = ASSIGNMENT.solution()[path] + (
        "\n\ntorch.imports = getattr(torch, 'imports', 0) + 1\n\n"
        f"def forward(self, input_ids):\n    {forward}\n\nVocabEmbedding.forward = forward\n"
        "reset = VocabEmbedding.reset_parameters\n\n"
        f"def again(self):\n    reset(self)\n    {reset or 'pass'}\n\nVocabEmbedding.reset_parameters = again\n"
    )
    return judge.grade(submission({**ASSIGNMENT.solution(), path: text}))


def outcomes(report: Report) -> dict[str, str]:
    """By property."""
    return {prop.id: str(prop.outcome) for task in report.tasks for prop in task.properties}


def same_but_for_times(reports: Sequence[Report]) -> bool:
    """Whether reports have the same bytes, but for when they were made."""
    return (
        len({report.model_copy(update={"provenance": None}).model_dump_json(warnings=False) for report in reports}) == 1
    )


@pytest.mark.process
def test_who_guesses_twice_gets_the_worse_of_both(judges: Judges) -> None:
    """Wrong from the second import on, right in each new process; the first property is first in one order only."""
    forward = "return self.table[input_ids] if torch.imports < 2 else self.table[input_ids] * 2"
    reports = [graded(judges(plain), forward) for plain in (False, True)]
    assert outcomes(reports[0])["vocab_lookup"] == "inconsistent"
    honest = graded(judges(False), "return self.table[input_ids] * 2")
    assert reports[0].score is not None
    assert honest.score is not None
    assert reports[0].score <= honest.score
    assert same_but_for_times(reports)


@pytest.mark.process
def test_who_is_right_only_later_is_found_by_the_sample(judges: Judges) -> None:
    forward = "return self.table[input_ids] if torch.imports > 1 else self.table[input_ids] * 2"
    reset = "self.table.data.mul_(1 if torch.imports > 1 else 2)"
    reports = [graded(judges(plain), forward, reset) for plain in (False, True)]
    assert {prop for prop, outcome in outcomes(reports[0]).items() if outcome != "passed"} == {
        "vocab_lookup",
        "vocab_init_and_reset",
    }
    assert same_but_for_times(reports)


@pytest.mark.process
def test_what_fails_in_a_used_process_alone_is_shown_to_a_person(judges: Judges) -> None:
    """The process that serves again fails as the replay does, but first it is new, and differs."""
    once = "\nif getattr(torch, 'is_taken', False):\n    raise RuntimeError('twice')\ntorch.is_taken = True\n"
    path = "src/modeling/vocab_emb.py"
    report = judges(False).grade(submission({**ASSIGNMENT.solution(), path: ASSIGNMENT.solution()[path] + once}))
    assert set(outcomes(report).values()) == {"inconsistent"}


@pytest.mark.process
def test_an_endless_loop_in_one_piece_costs_no_other_task_anything(whole: Judge) -> None:
    """Lists of another piece, which were under way meanwhile, were charged for the time that this one took."""
    path = "src/functional.py"
    loop = "\n\ndef apply_rotary_pos_emb(input, cos, sin):\n    while True:\n        pass\n"
    report = whole.grade(submission({**ASSIGNMENT.solution(), path: ASSIGNMENT.solution()[path] + loop}))
    assert (report.score, report.bonus) == (report.max_score, 0)


@pytest.mark.process
def test_settings_that_stay_behind_cost_nothing(judges: Judges) -> None:
    """Defaults of torch and random numbers are as in a new process whenever the submission is imported anew."""
    forward = "torch.set_default_dtype(torch.float64); torch.manual_seed(3); return self.table[input_ids]"
    report = graded(judges(False), forward)
    assert report.score == report.max_score

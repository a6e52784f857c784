"""Record and replay may only pass: whatever does not pass on the replies is asked for in a new worker, and compared.

Requests to the reference are recorded; replies to them are used and compared, however malformed they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.core.judge import record
from grader.core.judge.faults import Crashed, StudentFault, TimedOut
from grader.core.judge.record import Noted, Recording, Replies, alike
from grader.core.judge.replay import (
    IN_FLIGHT,
    SAMPLED,
    Lender,
    Replay,
    Replayed,
    Unforeseen,
    sampled_requests,
    shuffled,
)
from grader.core.judge.student import Student
from grader.core.judge.time_left import TimeLeft
from grader.core.messages import say
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import InProcessWorker, Operation, Worker, WorkerFailed
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.protocol import pack

# One call of the rotation as a judge records it: its requests, and replies that pass.
X = torch.tensor([[[[1.0, 2.0]]]])
TABLE = torch.ones(1, 2)
NAME = "apply_rotary_pos_emb"
LOAD: list[Operation] = [("load", {"module": "src.functional", "name": NAME})]
CALL: list[Operation] = [("call", {"target": NAME, "arguments": [X, TABLE, TABLE]})]


def packed(*values: object) -> bytes:
    return pack([*values])


SINGLY = [packed(LOAD), packed(CALL)]
RECORDING = Recording(frozenset({NAME}), [[1]], [0], packed(LOAD, CALL), SINGLY)
PASSING = packed({"value": None}, {"value": X})

PROPERTIES = ("first", "second", "third", "fourth", "fifth", "sixth")
VOCAB = "src/modeling/vocab_emb.py"
SPENT_S = 0.1
FAILED = WorkerFailed("timed_out", say("no answer in time"))
DIED = WorkerFailed("crashed", say("no answer: the process exited"))


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


STUB = {"error": {"kind": "not_implemented", "message": "Task 3", "frames": [["src/a.py", 1, "f"]], "place": 0}}
NO_OBJECT = {"error": {"kind": "crashed", "types": ["KeyError"], "frames": [], "place": 0}}
LATER = {"error": {**STUB["error"], "place": 1}}
CRASH = {"error": {"kind": "crashed", "types": ["ValueError"], "frames": [["src/a.py", 1, "f"]], "place": 0}}


@pytest.mark.parametrize(
    ("replies", "is_stub"),
    [
        ([STUB, STUB], True),
        ([STUB, NO_OBJECT], True),
        ([NO_OBJECT, STUB], False),
        ([STUB, LATER], False),
        ([STUB, CRASH], False),
        ([STUB, {"value": 1}], False),
        ([STUB], False),
        ([STUB, {"error": [1]}], False),
        *[([{"error": {**STUB["error"], "place": forged}}, STUB], False) for forged in (None, "0", [0], True, X)],
        *[([{"error": {**STUB["error"], "kind": forged}}, STUB], False) for forged in (None, ["not_implemented"], X)],
    ],
)
def test_a_case_that_only_reaches_stubs_is_known_by_its_replies(replies: list[dict[str, Any]], is_stub: bool) -> None:
    """A stub that a call reaches later may be another's, which an excuse passes over."""
    recording = replace(RECORDING, cases=[[1, 2]], singly=[*SINGLY, SINGLY[1]])
    given = packed({"value": None}, *replies)
    assert Replies(recording, given).stub_of(0) == (STUB["error"] if is_stub else None)
    assert Replies(replace(recording, raising=frozenset({0})), given).stub_of(0) is None


# ── What replies are good for ───────────────────────────────────────────────────────────────────────────────────────


def replayed(replies: bytes) -> Replayed:
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
    [
        ({"value": X}, True),
        ({"value": -X}, False),
        ({"error": {}}, False),
        ({"error": {"kind": "memory_exceeded"}}, True),
    ],
)
def test_another_value_than_before_is_noticed(reply: dict[str, Any], same: bool) -> None:
    assert agree({"value": None}, reply) is same


def test_after_another_request_nothing_is_compared_any_more() -> None:
    other: list[Operation] = [("call", {"target": NAME, "arguments": []})]
    assert agree({"value": None}, {"value": 1}, {"value": -X}, asked=other)


# ── Workers with a script ───────────────────────────────────────────────────────────────────────────────────────────


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

    def replies(self, timeout_s: float, silence_s: float = 0.5) -> bytes:
        """The next answer of the script."""
        assert timeout_s > 0
        assert silence_s == 0.5
        assert not self.closed
        answer = self._script.pop(0)
        if isinstance(answer, WorkerFailed):
            raise answer
        return answer

    def lend(self, give_back: Callable[[Scripted], object]) -> None:
        """A script imports nothing, so there is nothing to import anew."""

    def request_list(self, requests: bytes, timeout_s: float, silence_s: float = 0.5) -> bytes:
        """Post a list, and give the answer."""
        self.post(requests, anew=requests != SINGLY[1])
        return self.replies(timeout_s, silence_s)

    def close(self) -> None:
        """Remember it."""
        self.closed = True


class Lent(Scripted):
    """A worker that is given back when it is closed."""

    def lend(self, give_back: Callable[[Scripted], object]) -> None:
        """Remember who gets it back."""
        self._give_back = give_back

    def close(self) -> None:
        """Go back to the lender."""
        self._give_back(self)

    def kill(self) -> None:
        """Remember it."""
        self.closed = True


def test_a_worker_is_lent_for_one_task_only() -> None:
    """What it has imported for a task, a reading say, is never behind the answers for another one."""
    lender = Lender(lambda _: Lent([]))  # type: ignore[arg-type,return-value] # as far as a lender uses it
    found: dict[str, Any] = {}
    start: Callable[[Any], Any] = lender.start
    for task in ("norm", "rotation"):
        with lender.only_for(task):
            found[task] = start({})
        found[task].close()
    assert found["norm"] is not found["rotation"]
    with lender.only_for("norm"):
        assert start({}) is found["norm"]
    found["norm"].close()
    lender.end_idle("norm")
    assert found["norm"].closed
    assert not found["rotation"].closed
    assert start({}) is found["rotation"]
    found["rotation"].close()
    with lender.only_for("rotation"):
        assert start({}) is not found["rotation"]
    lender.end_idle()
    assert found["rotation"].closed


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
        start: Any = self.start  # which needs no process
        self.replay = Replay(every, self.student, start, PROPERTIES)

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
        trial.replay.packed("first")
        trial.student.time.charge([NAME], share_s - 1.5 * SPENT_S)
        assert not trial.student.gives_up([NAME])
        trial.student.time.charge([NAME], SPENT_S)
        assert trial.student.gives_up([NAME])


def test_a_slow_name_keeps_its_time_for_what_decides(rubric: Rubric) -> None:
    """What fails is asked for again; a list of everything before would take twice the time."""
    trial = Trial(rubric, PASSING)
    trial.student.time.charge([NAME], Limits().submission_s / 5 / 3 + SPENT_S)
    assert not trial.student.gives_up([NAME])
    assert trial.replay.packed("first") is None
    assert trial.workers == []


def test_where_no_worker_starts_asking_request_by_request_will_say_so(rubric: Rubric) -> None:
    student = Student({}, _no_worker, rubric, Limits())

    def start(files: Mapping[str, str]) -> Worker:
        raise RuntimeError(f"a worker did not start for {list(files)}")

    replay = Replay(dict.fromkeys(PROPERTIES, RECORDING), student, start, PROPERTIES)
    assert [replay.packed(prop) for prop in PROPERTIES] == [None] * len(PROPERTIES)
    assert not replay.answers_alike({"first": Replies(RECORDING, PASSING)}, "key", start)


@pytest.fixture
def hanging(rubric: Rubric) -> Student:
    student = Student({}, Hangs, rubric, Limits())
    with pytest.raises(TimedOut, match="no answer within 5 s"):
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    return student


def test_nothing_is_sent_to_a_name_that_has_hung(rubric: Rubric, hanging: Student) -> None:
    trial = Trial(rubric, student=hanging)
    assert trial.replay.packed("first") is None
    assert trial.workers == []


# ── The time that is left ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def time(rubric: Rubric) -> TimeLeft:
    """That of a submission which has used none."""
    return TimeLeft(Limits(), [name for task in rubric.tasks for name in task.names])


def hang(time: TimeLeft, name: str) -> float:
    """A call that is never answered: the seconds that it was given."""
    limit_s = time.limit_s(name, is_import=False)
    time.note_hung(name, limit_s)
    return limit_s


def test_timeouts_are_short_after_the_first(time: TimeLeft) -> None:
    """The first has all of its time, others less, and then a name that has timed out is not asked again."""
    assert [hang(time, name) for name in (NAME, "VocabEmbedding", "VocabEmbedding", "GroupRMSNorm")] == [2, 1, 0.25, 1]
    for name in (NAME, "VocabEmbedding", "GroupRMSNorm"):
        with pytest.raises(TimedOut, match=f"{name} has timed out before, .* used up its 3 timeouts"):
            time.limit_s(name, is_import=False)
    assert time.limit_s("NTKAwareRoPE", is_import=True) == 5  # an import of a name that has not hung keeps its time


def test_a_list_that_had_no_answer_is_one_of_the_three_timeouts(time: TimeLeft) -> None:
    """After it, a call has what is left of 2 s: it may be the first call of a process that takes so long."""
    time.note_silence(FAILED)
    assert [hang(time, NAME), hang(time, NAME)] == [1.5, 0.25]
    with pytest.raises(TimedOut, match="3 timeouts"):
        hang(time, NAME)


def test_who_is_given_more_time_keeps_most_of_it() -> None:
    """An appeal may ask for more; a list may then be silent for longer, too."""
    time = TimeLeft(Limits(request_s=10), [NAME])
    assert time.silence_s == 2.5
    time.note_silence(FAILED)
    assert time.limit_s(NAME, is_import=False) == 7.5


def test_a_list_without_an_answer_is_noted_unless_its_worker_died(rubric: Rubric) -> None:
    for failure, limit_s in ((FAILED, 1.5), (DIED, 2)):
        trial = Trial(rubric, failure)
        assert trial.replay.packed("first") is None
        assert trial.student.time.limit_s(NAME, is_import=False) == limit_s


def test_a_slow_name_that_runs_out_of_time_takes_none_from_others(time: TimeLeft) -> None:
    time.charge([NAME], time.left_s(NAME) - 1)
    hang(time, NAME)
    assert time.limit_s("VocabEmbedding", is_import=False) == 2


def test_a_name_without_time_is_asked_for_nothing(rubric: Rubric) -> None:
    student = Student({}, _no_worker, rubric, Limits())
    student.time.charge([NAME], Limits().submission_s)
    assert student.gives_up([NAME])
    assert not student.gives_up(["VocabEmbedding"])
    with pytest.raises(StudentFault, match="has used up its"):
        student.apply_rotary_pos_emb(X, TABLE, TABLE)


# ── The sample ──────────────────────────────────────────────────────────────────────────────────────────────────────


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
    start: Any = trial.start
    assert trial.replay.answers_alike({"third": Replies(RECORDING, PASSING)}, "key", start) is same
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


# ── What needs no second question ───────────────────────────────────────────────────────────────────────────────────


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

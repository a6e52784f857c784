"""Record and replay may only pass: whatever does not pass on the replies is asked for in a new worker, and compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.selftest.recorded import NAME, PASSING, RECORDING, SINGLY, TABLE, X, packed
from grader.core.judge.faults import Crashed, StudentFault, TimedOut
from grader.core.judge.record import Recording, Replies
from grader.core.judge.replay import (
    IN_FLIGHT,
    SAMPLED,
    Replay,
    sampled_requests,
    shuffled,
)
from grader.core.judge.student import Student
from grader.core.messages import say
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import InProcessWorker, Operation, Worker, WorkerFailed
from grader.core.sandbox.limits import Limits

PROPERTIES = ("first", "second", "third", "fourth", "fifth", "sixth")
VOCAB = "src/modeling/vocab_emb.py"
SPENT_S = 0.1
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

    def replies(self, timeout_s: float, silence_s: float = 0.5) -> bytes:
        """The next answer of the script."""
        assert timeout_s > 0
        assert silence_s == 0.5
        assert not self.closed
        answer = self._script.pop(0)
        if isinstance(answer, WorkerFailed):
            raise answer
        return answer

    def lend(self, keep: Callable[[Scripted], object]) -> None:
        """A script imports nothing, so there is nothing to import anew."""

    def request_list(self, requests: bytes, timeout_s: float, silence_s: float = 0.5) -> bytes:
        """Post a list, and give the answer."""
        self.post(requests, anew=requests != SINGLY[1])
        return self.replies(timeout_s, silence_s)

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
    """The first has all of its time, others less, and then a name that has timed out is not asked again."""
    told = []
    for name in ("VocabEmbedding", "VocabEmbedding", "VocabEmbedding", "GroupRMSNorm", NAME):
        hanging.start_afresh()
        hanging._loaded = {name}  # an import of a name that has not hung keeps its time
        with pytest.raises(TimedOut) as fault:
            hanging.request(name, "parameters", target=0)
        told.append(str(fault.value))
    again = "not tried: {} has timed out before, and the submission has used up its 3 timeouts"
    first, second = "no answer within 1 s", "no answer within 0.25 s"
    assert told == [first, second, again.format("VocabEmbedding"), first, again.format(NAME)]
    hanging.start_afresh()
    with pytest.raises(TimedOut, match="no answer within 5 s"):
        hanging.request("NTKAwareRoPE", "parameters", target=0)


@pytest.mark.parametrize(
    ("silent", "limits"), [(False, ["2", "1", "0.25"]), (True, ["1.5", "0.25"])], ids=["asked_alone", "after_a_replay"]
)
def test_an_endless_call_is_waited_for_in_three_processes(rubric: Rubric, silent: bool, limits: list[str]) -> None:
    """So a piece that hangs in one property only keeps the others. A list that had no answer is one of the three.

    After a list alone, a call has what is left of 2 s: it may be the first call of a process that takes so long.
    """
    student = Student({}, Hangs, rubric, Limits())
    if silent:
        assert Trial(rubric, FAILED, student=student).replay.packed("first") is None
    for limit_s in limits:
        student.start_afresh()
        student._loaded = {NAME}
        with pytest.raises(TimedOut, match=f"no answer within {limit_s} s"):
            student.request(NAME, "call", target=NAME, arguments=[])
    student.start_afresh()
    student._loaded = {NAME}
    with pytest.raises(TimedOut, match="3 timeouts"):
        student.request(NAME, "call", target=NAME, arguments=[])


def test_who_is_given_more_time_keeps_most_of_it(rubric: Rubric) -> None:
    """An appeal may ask for more; a list may then be silent for longer, too."""
    student = Student({}, Hangs, rubric, Limits(request_s=10))
    assert student.time.silence_s == 2.5
    student.time.note_silence(FAILED)
    student._loaded = {NAME}
    with pytest.raises(TimedOut, match=r"no answer within 7\.5 s"):
        student.request(NAME, "call", target=NAME, arguments=[])


def test_a_list_whose_worker_died_is_no_sign_of_a_call_without_an_end(rubric: Rubric) -> None:
    student = Student({}, Hangs, rubric, Limits())
    assert Trial(rubric, DIED, student=student).replay.packed("first") is None
    student._loaded = {NAME}
    with pytest.raises(TimedOut, match="no answer within 2 s"):
        student.request(NAME, "call", target=NAME, arguments=[])


def test_a_slow_name_that_runs_out_of_time_takes_none_from_others(rubric: Rubric) -> None:
    student = Student({}, Hangs, rubric, Limits())
    student.time.charge([NAME], Limits().submission_s / len(student.time._left_s) - 1)
    with pytest.raises(TimedOut, match="no answer"):
        student.request(NAME, "call", target=NAME, arguments=[])
    student.start_afresh()
    student._loaded = {"VocabEmbedding"}
    with pytest.raises(TimedOut, match="no answer within 2 s"):
        student.request("VocabEmbedding", "parameters", target=0)


def test_a_name_without_time_is_asked_for_nothing(rubric: Rubric) -> None:
    student = Student({}, _no_worker, rubric, Limits())
    student.time.charge([NAME], Limits().submission_s)
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

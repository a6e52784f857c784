"""Workers with code that misbehaves: each way has its outcome, and costs nothing beyond the property that met it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable

import pytest
import torch

from grader.core.judge.faults import StudentFault
from grader.core.judge.student import Student
from grader.core.results.outcome import Outcome
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.operations import describe_exception
from grader.selftest.submissions import WORK

QUICK = Limits(request_s=1.5, retry_s=1, submission_s=20)
ONES = torch.ones(1, 2, 1, 4)

Meet = Callable[..., Student]


@pytest.fixture
def meet(zygote: Zygote) -> Meet:
    """``meet(body)``: a student whose ``work`` has that body."""

    def student(body: str, preamble: str = "", limits: Limits = QUICK) -> Student:
        function = f"def work(input):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
        text = f"import os, sys, time, torch\n{textwrap.dedent(preamble)}\n{function}"
        return Student({"src/work.py": text}, zygote.start, WORK, limits)

    return student


def outcome_of(student: Student) -> tuple[Outcome, str]:
    """How a call ends, and what the student is told."""
    try:
        student.work(ONES)
    except StudentFault as fault:
        return fault.outcome, str(fault)
    finally:
        student.start_afresh()
    return Outcome.PASSED, ""


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ("return input", "passed", ""),
        ("raise NotImplementedError('Task 1')", "not_implemented", "Task 1"),
        ("return input / undefined", "crashed", "NameError: name 'undefined' is not defined"),
        ("raise SystemExit(0)", "crashed", "SystemExit"),
        ("raise KeyboardInterrupt", "crashed", "KeyboardInterrupt"),
        ("os._exit(0)", "crashed", "the process exited"),
        ("os.abort()", "crashed", "the process was killed by signal"),
        ("return work(input)", "crashed", "RecursionError"),
        ("time.sleep(60)", "timed_out", "no answer within 1.5 s"),
        ("print('x' * 20_000_000); print(input, file=sys.stderr); return input", "passed", ""),
        ("os.write(1, b'x' * 1_000_000); os.write(2, b'x'); return input", "passed", ""),
        ("return [1, 2]", "invalid_reply", "returned several values instead of one tensor"),
        ("return None", "invalid_reply", "returned None instead of one tensor"),
        ("return object()", "invalid_reply", "returned a value of type object"),
        ("return torch.zeros(20 << 20)", "invalid_reply", "which is too large"),
        ("return torch.ones(1 << 40)", "memory_exceeded", "memory use exceeded the limit"),
        ("return bytearray(8 << 30)", "memory_exceeded", "memory use exceeded the limit"),
        ("from . import missing", "crashed", "cannot import name 'missing'"),
        ("from torch.nn import Norm", "crashed", "cannot import name 'Norm' from 'torch.nn'\n"),  # no folder of ours
        ("torch.load('nowhere.pt')", "crashed", "(raised in torch/serialization.py)"),
        ("open('nowhere.pt')", "crashed", "No such file or directory: 'nowhere.pt'\n"),
        ("import threading; threading.Thread(target=print).start()", "crashed", "can't start new thread"),
        ("from .missing import it", "missing", "src/missing.py is not in the submission"),
    ],
    ids=lambda value: "".join(c if c.isalnum() else "_" for c in value)[:40] if value else "",
)
def test_each_way_of_misbehaving_has_its_outcome(meet: Meet, body: str, outcome: str, message: str) -> None:
    ended, told = outcome_of(meet(body))
    assert (ended, message in told) == (outcome, True), told


@pytest.mark.parametrize(
    ("preamble", "outcome", "message"),
    [
        ("def broken(:", "crashed", "SyntaxError"),
        ("type = def", "crashed", f"(the grader runs Python {sys.version_info.major}.{sys.version_info.minor})"),
        ("os._exit(3)", "crashed", "the process exited"),
        ("time.sleep(60)", "timed_out", "no answer"),
    ],
    ids=["syntax", "syntax_of_a_version", "process_exit", "hang"],
)
def test_the_same_holds_while_a_file_is_imported(meet: Meet, preamble: str, outcome: str, message: str) -> None:
    ended, told = outcome_of(meet("return input", preamble))
    assert (ended, message in told) == (outcome, True), told


def test_a_name_that_is_not_defined_is_missing(zygote: Zygote) -> None:
    student = Student({"src/work.py": "play = None\n"}, zygote.start, WORK, QUICK)
    assert outcome_of(student) == (Outcome.MISSING, "work is not defined in src/work.py")


def test_the_students_own_frames_are_shown_and_no_others(meet: Meet) -> None:
    _, told = outcome_of(meet("return torch.cat((input, input[0]), dim=7)"))
    assert told.count("\n") == 1
    assert told.endswith("src/work.py:4 in work: return torch.cat((input, input[0]), dim=7)")


@pytest.mark.parametrize("lines_end", ["raise NotImplementedError", "return input.gone"])
def test_lines_are_counted_as_python_does(zygote: Zygote, lines_end: str) -> None:
    """A form feed, or another character that ends a line for a text alone, moves no line."""
    text = f"# \x0c \x1c \x85 \u2028\ndef work(input):\n    {lines_end}\n"
    outcome, told = outcome_of(Student({"src/work.py": text}, zygote.start, WORK, QUICK))
    assert told.endswith(f"src/work.py:3 in work: {lines_end}")
    assert outcome is (Outcome.CRASHED if "gone" in lines_end else Outcome.NOT_IMPLEMENTED)


def test_an_exception_does_not_carry_an_input_out(meet: Meet) -> None:
    _, told = outcome_of(meet("raise ValueError(str(input.flatten().tolist()) + str(input.sum().item() / 3))"))
    assert "ValueError: [" in told
    assert "1.0" not in told
    assert "2.6" not in told


@pytest.mark.parametrize(
    ("at_zero", "outcome", "message"),
    [
        ("while input.sum() == 0: pass", Outcome.TIMED_OUT, "no answer within 1.5 s"),
        ("if input.sum() == 0: raise MemoryError", Outcome.MEMORY_EXCEEDED, "memory use exceeded the limit"),
    ],
    ids=["hang", "memory"],
)
def test_after_a_limit_the_property_is_over_and_the_next_one_has_a_fresh_worker(
    meet: Meet, at_zero: str, outcome: Outcome, message: str
) -> None:
    student = meet(f"{at_zero}\nreturn input")
    for argument, told in ((torch.zeros_like(ONES), message), (ONES, "not tried: an earlier case")):
        with pytest.raises(StudentFault, match=told) as caught:
            student.work(argument)
        assert caught.value.outcome is outcome
    student.start_afresh()
    assert torch.equal(student.work(ONES), ONES)
    student.start_afresh()


def test_a_name_has_its_share_of_the_time_and_no_more(meet: Meet) -> None:
    student = meet("time.sleep(60)", limits=Limits(request_s=0.4, retry_s=0.4, submission_s=1.2))
    for message in ("within 0.4 s", "no answer within", "has used up its 0.6 s"):
        with pytest.raises(StudentFault, match=message):
            student.work(ONES)
        student.start_afresh()


def test_a_crash_costs_one_case_and_not_the_next(meet: Meet) -> None:
    student = meet("if input.sum() == 0: os._exit(1)\nreturn input")
    with pytest.raises(StudentFault, match="the process exited"):
        student.work(torch.zeros_like(ONES))
    assert torch.equal(student.work(ONES), ONES)
    student.start_afresh()


def test_describing_an_exception_walks_a_deep_trace_once() -> None:
    """A recursion without end has 10,000 frames, and each request that meets it is charged for their description."""
    depth, events = 2_000, 0

    def sink(left: int) -> None:
        if not left:
            raise RecursionError
        sink(left - 1)

    def count_event(*_: object) -> None:
        nonlocal events
        events += 1

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * depth)
    try:
        with pytest.raises(RecursionError) as raised:
            sink(depth)
        sys.setprofile(count_event)
        describe_exception(raised.value, {})
    finally:
        sys.setprofile(None)
        sys.setrecursionlimit(before)
    assert depth < events < 6 * depth  # a generator's call and return for each frame, twice; a second walk adds eight


def test_a_patched_function_stays_within_its_property(meet: Meet) -> None:
    student = meet("found = torch.tensor(float(torch.Tensor.float is len))\ntorch.Tensor.float = len\nreturn found")
    for _ in range(2):
        assert [student.work(ONES).item() for _ in range(2)] == [0, 1]
        student.start_afresh()

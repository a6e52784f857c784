"""Workers with code that misbehaves: each way has its outcome, and costs nothing beyond the property that met it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from grader.core.judge.faults import StudentFault, WrongAnswer
from grader.core.judge.student import Student
from grader.core.messages import say
from grader.core.results.outcome import Outcome
from grader.core.sandbox.handle import WorkerFailed
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.operations import Operations, describe_exception
from grader.core.sandbox.protocol import Values, unpack
from grader.core.sandbox.worker import FILES, exercise_requests
from grader.selftest.submissions import WORK

QUICK = Limits(request_s=1.5, retry_s=1, submission_s=20)
ONES = torch.ones(1, 2, 1, 4)

Meet = Callable[..., Student]
Running = Callable[[str, str], Operations]


@pytest.fixture
def meet(zygote: Zygote) -> Meet:
    """``meet(body)``: a student whose ``work`` has that body."""

    def student(body: str, preamble: str = "", limits: Limits = QUICK) -> Student:
        function = f"def work(input):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
        text = f"import os, sys, time, torch\n{textwrap.dedent(preamble)}\n{function}"
        return Student({"src/work.py": text}, zygote.start, WORK, limits)

    return student


@pytest.fixture
def running() -> Iterator[Running]:
    """``running(text, name)``: what a worker does with a file of that text, from which that name has been loaded."""
    with ExitStack() as in_the_end:

        def loaded(text: str, name: str) -> Operations:
            operations = Operations({"src/functional.py": textwrap.dedent(text)})
            in_the_end.callback(operations.forget)
            operations.do("load", {"module": "src.functional", "name": name})
            return operations

        yield loaded


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


def test_what_is_asked_aside_leaves_the_worker_and_its_excuses_as_they_were(meet: Meet) -> None:
    """What a message needs changes no verdict: a worker that was not asked for it answers later cases alike."""
    student = meet("seen.append(1)\nreturn input * len(seen)", "seen = []")
    fault = WrongAnswer(say("passed over"))
    assert student.work(ONES).max() == 1
    student.excuse(fault, ("another",))
    with student.aside():
        assert student.work(ONES).max() == 1
    assert student.work(ONES).max() == 2
    assert [excused for excused, _ in student.excuses] == [fault]
    student.start_afresh()


def test_what_is_found_out_aside_is_kept(meet: Meet) -> None:
    student = meet("return input", "raise ValueError")
    with student.aside(), pytest.raises(StudentFault, match="ValueError") as raised:
        student.work(ONES)
    assert student.is_about_import(raised.value)
    assert student.may_be_asked


def test_what_failed_alone_is_tried_again_by_another_property_and_by_no_diagnosis(meet: Meet) -> None:
    """A try takes a worker, and diagnosis would try in each property that failed."""
    student = meet("return input")

    def tried(prop: str, diagnosed: str = "") -> bool:
        student.property_id, check = prop, Mock(return_value=False)
        assert not student.passes_alone(check, diagnosed)
        return bool(check.called)

    assert [tried("first", "first"), tried("first"), tried("second"), tried("third", "third")] == [
        True,
        False,
        True,
        False,
    ]
    student.begin("first")
    assert tried("first")


TWO = torch.ones(2)
LIMIT_S = 20.0

# What ordinary code leaves behind, and an expression that would show it.
ORDINARY = {
    "default_dtype": ("torch.set_default_dtype(torch.float64)", "torch.ones(1).element_size()"),
    "default_device": ("torch.set_default_device('meta')", "str(torch.empty(1).device)"),
    "gradients_off": ("torch.set_grad_enabled(False)", "torch.is_grad_enabled()"),
    "small_numbers": ("torch.set_flush_denormal(True)", "float(torch.tensor(1e-40) * torch.tensor(1.0)) != 0"),
    "random_numbers": ("torch.rand(3); import random; random.random()", "float(torch.rand(1))"),
    "seed": ("torch.manual_seed(3)", "float(torch.rand(1))"),
    "a_global_of_its_own": ("kept.append(1)", "len(kept)"),
    "a_sibling": ("from . import sibling; sibling.kept = 1", "hasattr(__import__('src.sibling').sibling, 'kept')"),
}


def calls(*arguments: object) -> bytes:
    """A list of requests: ``call`` is loaded, and called with each argument."""
    requests = Values()
    requests.add([("load", {"module": "src.functional", "name": "call"})])
    for argument in arguments:
        requests.add([("call", {"target": "call", "arguments": [argument]})])
    return requests.packed()


def test_the_exercise_does_what_it_says() -> None:
    """Its last three requests are mistakes on purpose; any other error would leave work undone."""
    operations = Operations(FILES)
    errors = ["error" in operations.perform(request) for request in exercise_requests("cpu")]
    operations.forget()
    assert errors == [False] * (len(errors) - 3) + [True] * 3


@pytest.mark.parametrize(("body", "shown"), ORDINARY.values(), ids=ORDINARY)
def test_what_ordinary_code_leaves_behind_changes_nothing_later(zygote: Zygote, body: str, shown: str) -> None:
    lines = f"    found = {shown}\n{textwrap.indent(body, '    ')}\n    return found\n"
    text = f"import torch\nkept = []\n\ndef call(x):\n{lines}"
    with closing(zygote.start({"src/functional.py": text, "src/sibling.py": ""})) as worker:
        for _ in range(2):
            worker.post(calls(TWO), anew=True)
        first, second = worker.replies(LIMIT_S), worker.replies(LIMIT_S)
    assert "value" in unpack(first)[1]
    assert first == second


def test_each_case_begins_with_the_same_random_numbers_and_goes_on_with_others(running: Running) -> None:
    text = "import torch\n\nclass Drawn(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.register_buffer('drawn', torch.rand(3))\n"
    operations = running(text, "Drawn")

    def drawn(number: int) -> list[float]:
        made = ("construct", {"number": number, "name": "Drawn", "arguments": {}})
        (buffer,) = operations.perform([made, ("buffers", {"target": number})])["value"]
        numbers: list[float] = buffer["value"].tolist()
        return numbers

    cases = [[drawn(number) for number in range(objects)] for objects in (1, 2, 1)]
    assert cases[0] == cases[1][:1] == cases[2] != cases[1][1:]


@pytest.mark.parametrize("target", [0, "Call"])
def test_a_call_again_gets_the_tensor_of_the_call_before_if_it_is_like_the_new_one(
    running: Running, target: int | str
) -> None:
    """A module's with the new numbers; a function's if it has them."""
    text = (
        "import torch\n\nseen = []\n\nclass Call(torch.nn.Module):\n    def forward(self, x):\n        seen.append(x)\n"
    )
    text += "        return x is seen[0]\n"
    operations = running(
        text if target == 0 else "seen = []\n\ndef Call(x):\n    seen.append(x)\n    return x is seen[0]\n", "Call"
    )
    if target == 0:
        operations.do("construct", {"number": 0, "name": "Call", "arguments": {}})
    first, zeros, is_module = torch.ones(2), torch.zeros(2), target == 0
    calls = ((first, True), (first.clone(), True), (zeros, True), (zeros.clone(), False), (zeros.int(), True))
    same = [operations.do("call", {"target": target, "arguments": [x], "again": again}) for x, again in calls]
    assert same == [True, True, is_module, False, False]
    assert torch.equal(first, zeros) is is_module


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("needing", [True, False])
def test_a_call_records_gradients_or_not_with_an_input_that_needs_one_or_not_and_its_arguments_are_observed(
    running: Running, recording: bool, needing: bool
) -> None:
    text = "import torch\n\ndef call(x):\n    x.data.add_(3)\n"
    text += "    return torch.is_grad_enabled() + 2 * x.requires_grad\n"
    given = {"target": "call", "arguments": [torch.zeros(2)], "recording": recording, "needing": needing}
    observed = running(text, "call").do("observe", given)
    assert observed["output"] == recording + 2 * needing
    assert observed["arguments_after"][0].tolist() == [3, 3]


def test_a_call_may_come_between_a_call_and_its_way_back(running: Running) -> None:
    operations = running("seen = []\n\ndef call(x):\n    seen.append(x)\n    return len(seen) * x\n", "call")
    given = {"target": "call", "arguments": [torch.ones(2)], "upstream": torch.ones(2), "between": [torch.zeros(3)]}
    gradients = operations.do("backward", given)["argument_gradients"]
    third = operations.do("call", {"target": "call", "arguments": [torch.ones(2)]})
    assert gradients[0].tolist() == [1, 1]
    assert third.tolist() == [3, 3]


def test_gradients_of_a_parameter_that_modules_share_do_not_add_up(running: Running) -> None:
    text = """
        import torch

        one = torch.nn.Parameter(torch.ones(2))

        class Scale(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.one = one

            def forward(self, x):
                return x * self.one
    """
    operations = running(text, "Scale")
    given = {"arguments": [torch.ones(2)], "upstream": torch.ones(2)}
    for target in range(2):
        operations.do("construct", {"number": target, "name": "Scale", "arguments": {}})
        gradients = operations.do("backward", {"target": target, **given})["parameter_gradients"]
        assert gradients[0].tolist() == [1, 1]


def test_gradients_of_a_frozen_module_are_those_of_its_arguments(running: Running) -> None:
    operations = running("import torch\n\nclass Scale(torch.nn.Linear):\n    pass\n", "Scale")
    given = {"target": 0, "arguments": [torch.ones(1, 2)], "upstream": torch.ones(1, 2)}
    operations.do("construct", {"number": 0, "name": "Scale", "arguments": {"in_features": 2, "out_features": 2}})
    frozen = operations.do("backward", {**given, "alone": "arguments"})
    trained = operations.do("backward", given)
    assert torch.equal(frozen["argument_gradients"][0], trained["argument_gradients"][0])
    assert frozen["parameter_gradients"] == [None, None]
    first_layer = operations.do("backward", {**given, "arguments": [torch.ones(1, 2)], "alone": "parameters"})
    assert first_layer["argument_gradients"] == [None]
    assert torch.equal(first_layer["parameter_gradients"][0], trained["parameter_gradients"][0])
    assert None not in trained["parameter_gradients"]


def test_a_backward_that_changes_the_gradient_it_is_given_is_told(running: Running) -> None:
    text = """
        import torch

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, upstream):
                return upstream.mul_(2)

        def call(x):
            return Double.apply(x)
    """
    backward = ("backward", {"target": "call", "arguments": [torch.ones(2)], "upstream": torch.ones(2)})
    reply = running(text, "call").perform([backward])
    assert "backward changes the gradient" in str(reply["error"]["told"])


@pytest.mark.parametrize(("body", "is_kept"), [("return x + 1", True), ("return kept.copy_(x)", False)])
def test_an_output_that_a_later_call_writes_into_is_no_answer(running: Running, body: str, is_kept: bool) -> None:
    operations = running(f"import torch\nkept = torch.zeros(2)\ndef call(x):\n    {body}\n", "call")
    reply = operations.perform([("observe", {"target": "call", "arguments": [TWO], "then": [2 * TWO]})])
    assert ("later call changes the output" not in str(reply)) == ("value" in reply) == is_kept


def test_a_worker_holds_no_request_but_those_of_one_list(zygote: Zygote) -> None:
    """Of the list that comes later, and is sent already, nothing is among the objects of the process."""
    text = textwrap.dedent(
        """
        import gc, torch

        def call(x):
            held = [o for o in gc.get_objects() if type(o) is dict and "later" in o]
            texts = [o for o in gc.get_objects() if type(o) is list and "later" in o]
            return len(held) + len(texts)
        """
    )
    with closing(zygote.start({"src/functional.py": text})) as worker:
        for argument in ("now", {"later": "later"}):
            worker.post(calls(argument), anew=True)
        replies = unpack(worker.replies(LIMIT_S))
    assert replies[1] == {"value": 0}


WAITS = {"src/functional.py": "import time\n\ndef call(seconds):\n    time.sleep(seconds)\n    return seconds\n"}
SILENCE_S = 0.5


def test_a_list_may_take_long_as_long_as_its_worker_goes_on(zygote: Zygote) -> None:
    """The replies are those of a list that is answered at once."""
    with closing(zygote.start(WAITS)) as worker:
        replies = unpack(worker.request_list(calls(*[0.2] * 4), LIMIT_S, SILENCE_S))
        assert worker.spent_s > SILENCE_S
    assert replies == [{"value": None}, *[{"value": 0.2}] * 4]


@pytest.mark.parametrize(("seconds", "limit_s"), [([0.2, 600], LIMIT_S), ([0.2] * 9, 1.0)], ids=["silent", "too_long"])
def test_a_worker_that_is_silent_or_out_of_time_is_ended(zygote: Zygote, seconds: list[float], limit_s: float) -> None:
    with closing(zygote.start(WAITS)) as worker:
        with pytest.raises(WorkerFailed, match="no answer in time") as failure:
            worker.request_list(calls(*seconds), limit_s, SILENCE_S)
        assert failure.value.kind == "timed_out"
        assert SILENCE_S <= worker.spent_s < LIMIT_S / 2


BROKEN = {"__init__.py": "from .broken import nothing\nSCALE = 2", "broken.py": "1 / 0"}

# The files of the package ``src.part``, whose ``piece.work()`` gives 2.
WAYS: dict[str, dict[str, str]] = {
    "a_helper_package": {"piece.py": "def work():\n    from .tools import twice\n    return twice(1)",
        "tools/__init__.py": "from .numbers import twice", "tools/numbers.py": "def twice(x): return 2 * x"},
    "a_constant_of_its_own_package": {"__init__.py": "from .piece import work\nSCALE = 2",
        "piece.py": "def work():\n    from . import SCALE\n    return SCALE"},
    "a_constant_needed_while_it_is_imported": {"__init__.py": "SCALE = 2\nfrom .piece import work",
        "piece.py": "from . import SCALE\ndef work(): return SCALE"},
    "all_that_a_package_has": {"tools/__init__.py": "def twice(x): return 2 * x",
        "piece.py": "from .tools import *\ndef work(): return twice(1)"},
    "attributes_of_a_package": {"tools/__init__.py": "def __getattr__(name): return len(name)",
        "piece.py": "from . import tools\ndef work(): return tools.ab"},
    "a_package_in_place_of_the_file": {"piece/__init__.py": "from .inner import work",
        "piece/inner.py": "def work(): return 2"},
    "a_package_that_prepares": {
        "__init__.py": "import sys, types\nsys.modules['prepared'] = types.SimpleNamespace(two=2)",
        "piece.py": "import prepared\ndef work(): return prepared.two"},
    "a_function_named_like_its_file": {"tools/__init__.py": "from .twice import twice",
        "tools/twice.py": "def twice(x): return 2 * x",
        "piece.py": "from .tools import twice\ndef work(): return twice(1)"},
    "a_function_named_like_its_file_which_is_imported_before": {"tools/__init__.py": "from .twice import twice",
        "tools/twice.py": "def twice(x): return 2 * x\ndef once(x): return x",
        "piece.py": "from .tools.twice import once\nfrom .tools import twice\nwork = lambda: twice(once(1))"},
    "a_function_named_like_its_file_among_all": {"tools/__init__.py": "from .twice import *",
        "tools/twice.py": "def twice(x): return 2 * x",
        "piece.py": "from .tools import twice\ndef work(): return twice(1)"},
    "a_broken_sibling": {**BROKEN, "piece.py": "def work(): return 2"},
    "a_tool_that_looks_at_modules": {**BROKEN,
        "piece.py": "import inspect\ndef work():\n    assert inspect.getmodule(work)\n    return 2"},
}  # fmt: skip


def ask(files: dict[str, str]) -> dict[str, Any]:
    """The reply of ``work()`` in ``src/part/piece.py``."""
    operations = Operations({f"src/part/{name}": text for name, text in files.items()})
    try:
        return operations.perform(
            [("load", {"module": "src.part.piece", "name": "work"}), ("call", {"target": "work", "arguments": []})]
        )
    finally:
        operations.forget()


@pytest.mark.parametrize("files", WAYS.values(), ids=WAYS)
def test_packages_are_as_in_python_but_for_siblings_that_fail(files: dict[str, str]) -> None:
    assert ask(files) == {"value": 2}


@pytest.mark.parametrize(
    ("piece", "error"),
    [
        ("raise ValueError('its own')", {"message": "its own"}),
        ("", {"kind": "missing"}),
        ("from .tools import absent", {"types": ["ImportError", "Exception", "BaseException"]}),
    ],
    ids=["its_own_exception", "a_name_that_nothing_defines", "a_name_that_a_package_lacks"],
)
def test_where_neither_way_works_the_error_of_the_file_itself_is_told(piece: str, error: dict[str, object]) -> None:
    reply = ask({**BROKEN, "tools/__init__.py": "", "piece.py": piece})
    assert reply["error"].items() >= error.items()


def test_what_takes_the_place_of_a_missing_file_is_gone_with_its_submission() -> None:
    work = "def work():\n    from .tools import twice\n    return twice(1)"
    first = Operations({"src/part/piece.py": work})
    load = {"module": "src.part.piece", "name": "work", "recorded": ["src.part.tools", "twice"]}
    assert first.perform([("load", load), ("call", {"target": "work", "arguments": []})]) == {"value": 1}
    first.forget()
    assert "src/part/tools.py" in str(ask({"piece.py": work})["error"])

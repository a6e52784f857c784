"""What a worker does between two properties: the submission is imported anew, and finds the process as it was."""

from __future__ import annotations

import textwrap
from contextlib import closing

import pytest
import torch

from grader.core.sandbox.handle import WorkerFailed
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.operations import Operations
from grader.core.sandbox.protocol import Message, unpack
from grader.core.sandbox.worker import FILES, exercise_requests

ONES = torch.ones(2)
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
    requests = Message()
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


@pytest.mark.process
@pytest.mark.parametrize(("body", "shown"), ORDINARY.values(), ids=ORDINARY)
def test_what_ordinary_code_leaves_behind_changes_nothing_later(zygote: Zygote, body: str, shown: str) -> None:
    lines = f"    found = {shown}\n{textwrap.indent(body, '    ')}\n    return found\n"
    text = f"import torch\nkept = []\n\ndef call(x):\n{lines}"
    with closing(zygote.start({"src/functional.py": text, "src/sibling.py": ""})) as worker:
        for _ in range(2):
            worker.post(calls(ONES), anew=True)
        first, second = worker.replies(LIMIT_S), worker.replies(LIMIT_S)
    assert "value" in unpack(first)[1]
    assert first == second


def test_each_case_begins_with_the_same_random_numbers_and_goes_on_with_others() -> None:
    text = "import torch\n\nclass Drawn(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "        self.register_buffer('drawn', torch.rand(3))\n"
    operations = Operations({"src/drawn.py": text})

    def drawn(number: int) -> list[float]:
        made = ("construct", {"number": number, "name": "Drawn", "arguments": {}})
        (buffer,) = operations.perform([made, ("buffers", {"target": number})])["value"]
        numbers: list[float] = buffer["value"].tolist()
        return numbers

    try:
        operations.perform([("load", {"module": "src.drawn", "name": "Drawn"})])
        cases = [[drawn(number) for number in range(objects)] for objects in (1, 2, 1)]
    finally:
        operations.forget()
    assert cases[0] == cases[1][:1] == cases[2] != cases[1][1:]


def test_a_call_again_gets_the_tensor_of_the_call_before_with_new_numbers_if_it_is_like_the_new_one() -> None:
    text = "seen = []\n\ndef call(x):\n    seen.append(x)\n    return x is seen[0]\n"
    operations = Operations({"src/functional.py": text})

    def same(value: torch.Tensor, again: bool = True) -> bool:
        found: bool = operations.perform([("call", {"target": "call", "arguments": [value], "again": again})])["value"]
        return found

    try:
        operations.perform([("load", {"module": "src.functional", "name": "call"})])
        first = torch.ones(2)
        assert same(first)
        assert same(torch.zeros(2))
        assert first.tolist() == [0, 0]
        assert not same(torch.zeros(2), again=False)
        assert not same(torch.zeros(2).int())
        assert not same(torch.zeros(3))
    finally:
        operations.forget()


@pytest.mark.parametrize("recording", [True, False])
def test_arguments_are_observed_with_gradients_or_without(recording: bool) -> None:
    text = "import torch\n\ndef call(x):\n    return x.add_(1 + torch.is_grad_enabled())\n"
    operations = Operations({"src/functional.py": text})
    observe = ("observe", {"target": "call", "arguments": [torch.zeros(2)], "recording": recording})
    try:
        reply = operations.perform([("load", {"module": "src.functional", "name": "call"}), observe])
        assert reply["value"]["arguments_after"][0].tolist() == [1 + recording] * 2
    finally:
        operations.forget()


def test_a_call_may_come_between_a_call_and_its_way_back() -> None:
    text = "seen = []\n\ndef call(x):\n    seen.append(x)\n    return 3 * x\n\ndef number(x):\n    return len(seen)\n"
    operations = Operations({"src/functional.py": text})
    loads = [("load", {"module": "src.functional", "name": name}) for name in ("call", "number")]
    backward = {"target": "call", "arguments": [torch.ones(2)], "upstream": ONES, "between": [torch.zeros(3)]}
    try:
        reply = operations.perform([*loads, ("backward", backward)])
        assert reply["value"]["argument_gradients"][0].tolist() == [3, 3]
        assert operations.perform([("call", {"target": "number", "arguments": [ONES]})]) == {"value": 2}
    finally:
        operations.forget()


def test_a_backward_that_changes_the_gradient_it_is_given_is_told() -> None:
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
    operations = Operations({"src/functional.py": textwrap.dedent(text)})
    backward = ("backward", {"target": "call", "arguments": [torch.ones(2)], "upstream": torch.ones(2)})
    try:
        reply = operations.perform([("load", {"module": "src.functional", "name": "call"}), backward])
        assert "backward changes the gradient" in str(reply["error"]["told"])
    finally:
        operations.forget()


@pytest.mark.process
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


@pytest.mark.process
def test_a_list_may_take_long_as_long_as_its_worker_goes_on(zygote: Zygote) -> None:
    """The replies are those of a list that is answered at once."""
    with closing(zygote.start(WAITS)) as worker:
        replies = unpack(worker.request_list(calls(*[0.2] * 4), LIMIT_S, SILENCE_S))
        assert worker.spent_s > SILENCE_S
    assert replies == [{"value": None}, *[{"value": 0.2}] * 4]


@pytest.mark.process
@pytest.mark.parametrize(("seconds", "limit_s"), [([0.2, 600], LIMIT_S), ([0.2] * 9, 1.0)], ids=["silent", "too_long"])
def test_a_worker_that_is_silent_or_out_of_time_is_ended(zygote: Zygote, seconds: list[float], limit_s: float) -> None:
    with closing(zygote.start(WAITS)) as worker:
        with pytest.raises(WorkerFailed, match="no answer in time") as failure:
            worker.request_list(calls(*seconds), limit_s, SILENCE_S)
        assert failure.value.kind == "timed_out"
        assert SILENCE_S <= worker.spent_s < LIMIT_S / 2

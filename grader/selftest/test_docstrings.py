"""No text of the grader's lies beside a submission: no docstring, and no line of source that Python has kept."""

from __future__ import annotations

import pytest
import torch

from grader.core.judge.faults import Crashed
from grader.core.judge.student import Student
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.selftest.submissions import WORK

LOOKS_FOR_TEXT = """
import gc, linecache, sys
from types import CodeType, FunctionType, MethodType
import torch

def ours(thing):
    return str(getattr(thing, "__module__", "")).startswith("grader")

def texts(code):
    first = code.co_consts[:1] if not code.co_name.startswith("<") else ()
    yield from (const for const in first if isinstance(const, str) and const.endswith("."))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from texts(const)

def work(input):
    found = [f"{name}" for name, module in sys.modules.items() if name.startswith("grader") and module.__doc__]
    found += [name for name in linecache.cache if "grader" in name]
    for thing in gc.get_objects() + [value for name, module in list(sys.modules.items()) if name.startswith("grader")
                                     for value in vars(module).values()]:
        if isinstance(thing, FunctionType) and ours(thing):
            found += [thing.__qualname__ for _ in texts(thing.__code__)] + [thing.__qualname__] * bool(thing.__doc__)
        elif isinstance(thing, type) and ours(thing) and thing.__doc__:
            found.append(thing.__qualname__)
    raise RuntimeError("found " + ", ".join(sorted({*found})[:9]) if found else "nothing")
"""


@pytest.mark.process
def test_a_worker_holds_no_text_of_ours(zygote: Zygote) -> None:
    student = Student({"src/work.py": LOOKS_FOR_TEXT}, zygote.start, WORK, Limits())
    with pytest.raises(Crashed, match=r"^RuntimeError: nothing"):
        student.work(torch.ones(1))
    student.start_afresh()

"""What hidden tests and diagnosis may use of the grader. Each name is documented where it is defined.

These names stay from year to year. An assignment may import nothing else of the core but ``grader.core.assignment``,
to define itself, and beside it ``grader.specimens``, to declare its submissions of known truth: neither imports torch,
so commands that judge nothing start at once.

- The student: ``Student``, ``StudentModule``, ``is_elsewhere``, ``label``, ``why_not_assessed``.
- Inputs: ``dtypes``, ``generator``, ``integers``, ``kept``, ``normal``, ``signs``, ``uniform``.
- Comparisons: ``DTYPES``, ``FORWARD_LIMIT``, ``INIT_LIMIT``, ``INPUT_GRADIENT_LIMIT``, ``OTHER_DTYPE``,
  ``OTHER_SHAPE``, ``PARAMETER_GRADIENT_LIMIT``, ``are_within``, ``check_close``, ``check_dtype``, ``check_equal``,
  ``check_errors``, ``check_like``, ``check_shape``, ``coarser``, ``elsewhere``, ``error_in_ulp``, ``name``,
  ``require``, ``ulp``.
- Verdicts: ``Crashed``, ``InvalidReply``, ``Reading``, ``StudentFault``, ``TimedOut``, ``WrongAnswer``,
  ``contract_first``, ``without_excuse``.
- Messages: ``ALIKE``, ``Message``, ``SAME_MULTIPLE``, ``ZEROS``, ``in_two_decimals``, ``listed``, ``own_look``,
  ``places``, ``quoted``, ``say``, ``stated``.
"""

from __future__ import annotations

import pytest

from grader.core.judge.cases import generator, integers, kept, normal, signs, uniform
from grader.core.judge.compare import (
    DTYPES,
    FORWARD_LIMIT,
    INIT_LIMIT,
    INPUT_GRADIENT_LIMIT,
    OTHER_DTYPE,
    OTHER_SHAPE,
    PARAMETER_GRADIENT_LIMIT,
    are_within,
    check_close,
    check_dtype,
    check_equal,
    check_errors,
    check_like,
    check_shape,
    coarser,
    elsewhere,
    error_in_ulp,
    name,
    require,
    ulp,
)
from grader.core.judge.devices import is_elsewhere, label, why_not_assessed
from grader.core.judge.excuses import Reading, contract_first
from grader.core.judge.faults import Crashed, InvalidReply, StudentFault, TimedOut, WrongAnswer, without_excuse
from grader.core.judge.student import Student
from grader.core.judge.student_objects import StudentModule
from grader.core.judge.wording import ALIKE, SAME_MULTIPLE, ZEROS, in_two_decimals, listed, own_look, places
from grader.core.messages import Message, quoted, say, stated

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=name)  # a test for each, with a readable id

__all__ = [
    "ALIKE",
    "DTYPES",
    "FORWARD_LIMIT",
    "INIT_LIMIT",
    "INPUT_GRADIENT_LIMIT",
    "OTHER_DTYPE",
    "OTHER_SHAPE",
    "PARAMETER_GRADIENT_LIMIT",
    "SAME_MULTIPLE",
    "ZEROS",
    "Crashed",
    "InvalidReply",
    "Message",
    "Reading",
    "Student",
    "StudentFault",
    "StudentModule",
    "TimedOut",
    "WrongAnswer",
    "are_within",
    "check_close",
    "check_dtype",
    "check_equal",
    "check_errors",
    "check_like",
    "check_shape",
    "coarser",
    "contract_first",
    "dtypes",
    "elsewhere",
    "error_in_ulp",
    "generator",
    "in_two_decimals",
    "integers",
    "is_elsewhere",
    "kept",
    "label",
    "listed",
    "name",
    "normal",
    "own_look",
    "places",
    "quoted",
    "require",
    "say",
    "signs",
    "stated",
    "ulp",
    "uniform",
    "why_not_assessed",
    "without_excuse",
]

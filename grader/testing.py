"""What hidden tests and diagnosis may use of the grader. Each name is documented where it is defined.

These names stay from year to year. An assignment may import nothing else of the core but ``grader.core.assignment``,
to define itself, and beside it ``grader.specimens``, to declare its submissions of known truth: neither imports torch,
so commands that judge nothing start at once.
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
from grader.core.judge.devices import label, why_not_assessed
from grader.core.judge.excuses import Reading, contract_first
from grader.core.judge.faults import (
    Crashed,
    InvalidReply,
    NotImplementedYet,
    StudentFault,
    TimedOut,
    WrongAnswer,
    without_excuse,
)
from grader.core.judge.student import Student
from grader.core.judge.student_objects import StudentFunction, StudentModule, without_gradients
from grader.core.judge.wording import (
    ALIKE,
    CLAMPED,
    ORDER,
    PLACES,
    SAME_MULTIPLE,
    SLIGHT_FACTOR,
    STEPS,
    ZEROS,
    as_factor,
    in_two_decimals,
    listed,
    own_look,
    places,
)
from grader.core.messages import Message, quoted, say, stated
from grader.core.results.outcome import ALONE, is_elsewhere

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=name)  # a test for each, with a readable id

"""What an assignment may use of the grader, for its hidden tests, its diagnosis, and its submissions of known truth.

All other modules of the core may change from year to year; these names stay. Each is documented where it is defined.

- Submissions of known truth: ``Assignment``, ``Attack``, ``Practice``, ``SampleStudent``, ``Style``, ``Variant``,
  ``attacks_of``, ``on_import``, ``packed``, ``replaces``, ``text``, ``valid``, ``variants_of``, ``wrong``.
- The student: ``Student``, ``StudentModule``, ``is_elsewhere``, ``label``, ``why_not_assessed``.
- Inputs: ``dtypes``, ``generator``, ``integers``, ``kept``, ``normal``, ``signs``, ``uniform``.
- Comparisons: ``DTYPES``, ``FORWARD_LIMIT``, ``INIT_LIMIT``, ``INPUT_GRADIENT_LIMIT``, ``OTHER_DTYPE``,
  ``OTHER_SHAPE``, ``PARAMETER_GRADIENT_LIMIT``, ``are_within``, ``check_close``, ``check_dtype``, ``check_equal``,
  ``check_errors``, ``check_like``, ``check_shape``, ``coarser``, ``elsewhere``, ``error_in_ulp``, ``name``,
  ``other_shape``, ``require``, ``ulp``.
- Verdicts: ``Crashed``, ``InvalidReply``, ``Reading``, ``StudentFault``, ``TimedOut``, ``WrongAnswer``,
  ``contract_first``, ``without_excuse``.
- Messages: ``ALIKE``, ``Message``, ``SAME_MULTIPLE``, ``ZEROS``, ``own_look``, ``places``, ``quoted``, ``say``,
  ``stated``.
"""

from __future__ import annotations

from grader.core.assignment import Assignment
from grader.core.judge.cases import dtypes, generator, integers, normal, signs, uniform
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
    other_shape,
    require,
    ulp,
)
from grader.core.judge.devices import is_elsewhere, label, why_not_assessed
from grader.core.judge.excuses import Reading, contract_first
from grader.core.judge.faults import Crashed, InvalidReply, StudentFault, TimedOut, WrongAnswer, without_excuse
from grader.core.judge.kept import kept
from grader.core.judge.student import Student
from grader.core.judge.student_objects import StudentModule
from grader.core.judge.wording import ALIKE, SAME_MULTIPLE, ZEROS, own_look, places
from grader.core.messages import Message, quoted, say, stated
from grader.core.specimens.attacks import Attack, attacks_of, on_import, packed, replaces, text
from grader.core.specimens.students import Practice, SampleStudent, Style
from grader.core.specimens.variants import Variant, valid, variants_of, wrong

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
    "Assignment",
    "Attack",
    "Crashed",
    "InvalidReply",
    "Message",
    "Practice",
    "Reading",
    "SampleStudent",
    "Student",
    "StudentFault",
    "StudentModule",
    "Style",
    "TimedOut",
    "Variant",
    "WrongAnswer",
    "are_within",
    "attacks_of",
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
    "integers",
    "is_elsewhere",
    "kept",
    "label",
    "name",
    "normal",
    "on_import",
    "other_shape",
    "own_look",
    "packed",
    "places",
    "quoted",
    "replaces",
    "require",
    "say",
    "signs",
    "stated",
    "text",
    "ulp",
    "uniform",
    "valid",
    "variants_of",
    "why_not_assessed",
    "without_excuse",
    "wrong",
]

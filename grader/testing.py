"""What hidden tests and diagnosis may use of the grader. Each name is documented where it is defined.

These names stay from year to year. An assignment may import nothing else of the core but ``grader.core.assignment``,
to define itself, and beside it ``grader.specimens``, to declare its submissions of known truth: neither imports torch,
so commands that judge nothing start at once.
"""

from __future__ import annotations

import pytest

# inputs
from grader.core.judge.cases import generator as generator
from grader.core.judge.cases import integers as integers
from grader.core.judge.cases import kept as kept
from grader.core.judge.cases import normal as normal
from grader.core.judge.cases import signs as signs
from grader.core.judge.cases import uniform as uniform

# comparisons
from grader.core.judge.compare import DTYPES as DTYPES
from grader.core.judge.compare import FORWARD_LIMIT as FORWARD_LIMIT
from grader.core.judge.compare import INIT_LIMIT as INIT_LIMIT
from grader.core.judge.compare import INPUT_GRADIENT_LIMIT as INPUT_GRADIENT_LIMIT
from grader.core.judge.compare import OTHER_DTYPE as OTHER_DTYPE
from grader.core.judge.compare import OTHER_SHAPE as OTHER_SHAPE
from grader.core.judge.compare import PARAMETER_GRADIENT_LIMIT as PARAMETER_GRADIENT_LIMIT
from grader.core.judge.compare import are_within as are_within
from grader.core.judge.compare import check_close as check_close
from grader.core.judge.compare import check_dtype as check_dtype
from grader.core.judge.compare import check_equal as check_equal
from grader.core.judge.compare import check_errors as check_errors
from grader.core.judge.compare import check_like as check_like
from grader.core.judge.compare import check_shape as check_shape
from grader.core.judge.compare import coarser as coarser
from grader.core.judge.compare import elsewhere as elsewhere
from grader.core.judge.compare import error_in_ulp as error_in_ulp
from grader.core.judge.compare import name as name
from grader.core.judge.compare import require as require
from grader.core.judge.compare import ulp as ulp

# devices
from grader.core.judge.devices import label as label
from grader.core.judge.devices import why_not_assessed as why_not_assessed

# verdicts
from grader.core.judge.excuses import Reading as Reading
from grader.core.judge.excuses import contract_first as contract_first
from grader.core.judge.faults import Crashed as Crashed
from grader.core.judge.faults import InvalidReply as InvalidReply
from grader.core.judge.faults import NotImplementedYet as NotImplementedYet
from grader.core.judge.faults import StudentFault as StudentFault
from grader.core.judge.faults import TimedOut as TimedOut
from grader.core.judge.faults import WrongAnswer as WrongAnswer
from grader.core.judge.faults import without_excuse as without_excuse

# the student
from grader.core.judge.student import Student as Student
from grader.core.judge.student_objects import StudentFunction as StudentFunction
from grader.core.judge.student_objects import StudentModule as StudentModule
from grader.core.judge.student_objects import without_gradients as without_gradients

# messages
from grader.core.judge.wording import ALIKE as ALIKE
from grader.core.judge.wording import CLAMPED as CLAMPED
from grader.core.judge.wording import ORDER as ORDER
from grader.core.judge.wording import PLACES as PLACES
from grader.core.judge.wording import SAME_MULTIPLE as SAME_MULTIPLE
from grader.core.judge.wording import SLIGHT_FACTOR as SLIGHT_FACTOR
from grader.core.judge.wording import STEPS as STEPS
from grader.core.judge.wording import ZEROS as ZEROS
from grader.core.judge.wording import as_factor as as_factor
from grader.core.judge.wording import in_two_decimals as in_two_decimals
from grader.core.judge.wording import listed as listed
from grader.core.judge.wording import own_look as own_look
from grader.core.judge.wording import places as places
from grader.core.messages import Message as Message
from grader.core.messages import quoted as quoted
from grader.core.messages import say as say
from grader.core.messages import stated as stated

# cases
from grader.core.results.outcome import ALONE as ALONE
from grader.core.results.outcome import is_elsewhere as is_elsewhere

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=name)  # a test for each, with a readable id

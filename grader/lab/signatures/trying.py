"""Tries mistakes with the public tests; each process that does so has collected these once."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Collection, Mapping
from functools import cache

from grader.core.assignment import Assignment
from grader.specimens.variants import Variant

from .mistakes import Mistake, Signatures
from .public_tests import PublicTests

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h: memory that is free again is kept for the next tensor


def tried(assignment: Assignment, mistake: Mistake, only: Collection[str]) -> Mapping[str, Signatures]:
    """The signatures of a mistake, for each of these properties with failing tests."""
    if not isinstance(mistake, Variant):
        mistake = assignment.part("corpus.variants").submission(mistake)
    return _public_tests().signatures(mistake.files, only)


@cache
def _public_tests() -> PublicTests:
    if sys.platform == "linux":  # tables along the wrong axis make tensors of 270 MB, whose pages cost the most
        ctypes.CDLL(None).mallopt(M_MMAP_MAX, 0)
        ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    return PublicTests()

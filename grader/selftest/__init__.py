"""The engine's own tests, and what they share."""

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")
LONG = bool(os.environ.get("GRADER_LONG"))  # all cases of the tests that by default take a sample
QUICK = bool(os.environ.get("GRADER_QUICK"))
long_only = pytest.mark.skipif(not LONG, reason="takes seconds of what others show, too: with GRADER_LONG=1")


def some(cases: Iterable[T], step: int) -> list[T]:
    """Every so-manieth case, from the first one on; with ``GRADER_LONG=1`` all of them."""
    return [*cases][:: 1 if LONG else step]


def in_quick(cases: Iterable[T], step: int) -> list[T]:
    """All cases, but in ``make quick`` every so-manieth, as each computes for half a second."""
    return [*cases][:: step if QUICK else 1]

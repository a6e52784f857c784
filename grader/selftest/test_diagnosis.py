"""The diagnosis names every misconception of the rubric, one mistake or two at a time, and never a wrong one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

import pytest
import torch

from grader.assignment import load_rubric
from grader.diagnose import PROBES, diagnose, norm, pos_emb
from grader.diagnose.fit import TOLERANCE, fits, only, parameter, values
from grader.judge.faults import StudentFault
from grader.judge.student import Student
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.limits import Limits
from grader.selftest.variants import Variant, all_variants

RUBRIC = load_rubric()
VARIANTS = {variant.name: variant for variant in all_variants()}
REFERENCE = {path: text for path, text in VARIANTS["valid.vocab.fancy_indexing"].files.items()}


def misconceptions_by_property() -> Mapping[str, set[str]]:
    listed: dict[str, set[str]] = defaultdict(set)
    for misconception in RUBRIC.misconceptions:
        for property_id in misconception.properties:
            listed[property_id].add(misconception.id)
    return listed


LISTED = misconceptions_by_property()

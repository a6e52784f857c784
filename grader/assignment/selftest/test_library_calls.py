"""Which library calls may do a task of A2: variants that lean on them are found, and nothing else is."""

from __future__ import annotations

import re
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.extras.similarity.library import library_use

RUBRIC = ASSIGNMENT.rubric


@pytest.mark.parametrize("files", [ASSIGNMENT.solution(), ASSIGNMENT.stubs()], ids=["reference", "stubs"])
def test_reference_and_stubs_use_no_library_for_a_task(files: dict[str, str]) -> None:
    assert [use for path, text in files.items() for use in library_use(path, text, RUBRIC)] == []


@pytest.mark.slow
def test_variants_that_lean_on_a_library_are_found_and_no_others() -> None:
    leans = cache(lambda path, text: bool(library_use(path, text, RUBRIC)))  # most files are the reference's
    found = {v.name for v in all_variants() if any(leans(path, text) for path, text in v.files.items())}
    spelled = re.compile(r"\bnn\.(?:RMSNorm|Embedding|functional\.rms_norm)[()]")  # as variants do, without aliases
    assert found == {v.name for v in all_variants() if any(map(spelled.search, v.files.values()))}
    assert any("library_rms_norm_on_groups" in name for name in found)

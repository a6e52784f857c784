"""Finds the misconception behind a failed property.

A wrong hint does more harm than none, so a misconception is named only by what it predicts. Either each failing case
states a fact that follows from it (``shown``), or a probe asks the student's worker for outputs and compares them with
what each misconception would compute: on an input on which mistakes of other properties do not show. Then it is named
if it alone fits, and the right computation does not. If nothing is named, the facts of the failing cases are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from grader.testing import ALONE, Student, StudentFault, is_elsewhere

from . import norm, pos_emb, vocab_emb
from .shown import Failing, explains, shown

Probe = Callable[[Student], str | None]

PROBES: Final[Mapping[str, Probe]] = {
    "norm_groups": norm.groups,
    "norm_eps_inside_sqrt": norm.eps,
    "norm_gamma": norm.gamma,
    "shard_owned_ids": vocab_emb.owned_rows,
    "shard_zeros_elsewhere": vocab_emb.foreign_rows,
    "rotary_pairing_and_sign": pos_emb.pairing_and_sign,
    "rope_base": pos_emb.base,
    "rope_smallest_even_ratio": pos_emb.grown_ratio,
}


def diagnose(student: Student, property_id: str, failing: Failing | None = None) -> str | None:
    """Name the misconception behind a failed property.

    Args:
        student: The submission; it is imported anew, so nothing that a test left behind matters.
        property_id: An id of the rubric.
        failing: The property's failing cases, from id to message; a misconception that does not explain them all is not
            named. Those on a second device count only if there are no others: they follow from what the CPU shows.

    Returns:
        The id of the only misconception, of those that the rubric lists for the property, that fits the student's
        outputs; None if none or several fit, or if the code crashes or hangs.
    """
    failing = failing or {}
    failing = {case: told for case, told in failing.items() if not is_elsewhere(case)} or failing
    if any(message.fields(str(ALONE)) is not None for message in failing.values()):  # whatever else they look like
        is_function = property_id.startswith("rotary")  # which has no other modules to share state with
        return "earlier_call_remembered" if is_function else "state_shared"
    found = None
    if probe := PROBES.get(property_id):
        student.start_afresh()
        with suppress(StudentFault):
            found = probe(student)
    return found if found and explains(found, failing) else shown(property_id, failing)

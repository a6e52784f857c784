"""After a property has failed: is it a mistake that the rubric knows?"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from grader.testing import Student, StudentFault, normal

HIDDEN, SEQ = 8, 4


def diagnose(student: Student, property_id: str, failing: Mapping[str, str]) -> str | None:
    """The misconception behind a failed property, or None; which cases fail does not matter here."""
    del failing
    probe = {"attention_heads": _heads, "attention_causal": _causal}.get(property_id)
    student.start_afresh()
    try:
        return probe(student) if probe else None
    except StudentFault:
        return None


def _answer(student: Student, x: Tensor, query: Tensor) -> Tensor:
    """What one head of identities makes of ``x``, with a base so large that all pairs but the first stand still."""
    module = student.CausalSelfAttention(hidden_size=HIDDEN, heads=1, base=1e30)
    one = torch.eye(HIDDEN)
    return module.assign_named(query=query, key=one, value=one, output=one)(x)


def _heads(student: Student) -> str | None:
    """The last token's shares, from scores that are divided by the root of 8 or not at all."""
    x = normal(0, "diagnose", shape=(1, SEQ, HIDDEN))
    query = torch.eye(HIDDEN)
    query[[0, 1, HIDDEN // 2]] = 0  # what turns
    scores = (x[0, -1] @ query.mT) @ x[0].mT
    output = _answer(student, x, query)[0, -1]
    scaled, unscaled = ((scores / scale).softmax(-1) @ x[0] for scale in (HIDDEN**0.5, 1.0))
    return "attention_unscaled" if _fits(output, unscaled) and not _fits(output, scaled) else None


def _causal(student: Student) -> str | None:
    """Means over all tokens, where all scores are alike."""
    x = normal(0, "diagnose", shape=(1, SEQ, HIDDEN))
    output = _answer(student, x, torch.zeros(HIDDEN, HIDDEN))
    return "attention_sees_later_tokens" if _fits(output, x.mean(1, keepdim=True).expand_as(x)) else None


def _fits(output: Tensor, law: Tensor) -> bool:
    return output.shape == law.shape and bool(torch.allclose(output.float().cpu(), law, atol=1e-3))

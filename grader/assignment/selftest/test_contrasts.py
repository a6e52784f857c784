"""What a report sets against a failure: the sizes, ids and values that pass, and a hint that no fact contradicts.

Each mistake is an edit of the reference.
"""

from __future__ import annotations

from unittest.mock import ANY

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.diagnose import diagnose
from grader.assignment.hidden.rope_tables import told_end
from grader.assignment.model.turn_words import told_still
from grader.core.judge.judge import _property_report
from grader.core.messages import from_data
from grader.core.results.outcome import Outcome, property_outcome
from grader.core.results.report import PropertyReport
from grader.core.results.views import in_words
from grader.lab.charges import judged
from grader.selftest import in_quick
from grader.selftest.submissions import edited
from grader.specimens.variants import Variant

NORM, VOCAB = "src/modeling/norm.py", "src/modeling/vocab_emb.py"
TURN, ROPE = "src/functional.py", "src/modeling/pos_emb.py"
HALVES = "    first, second = input.chunk(2, dim=-1)\n"
LOOKUP = "return nn.functional.embedding(input_ids, self.table.to(input_ids.device))"
EVEN = "2 * -(-seq_len // (2 * self.max_seq_len))"
GROWN = "return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])"
SIZES, OTHER_SIZES = "if vocab_size % world_size != 0:", "if emb_size % world_size != 0:"
TABLES = "    cos, sin = (table.to(input.device)"
GAMMA = "self.gamma.to(input.device)"
NORMALISED = "groups / torch.sqrt(mean_square + self.eps)"
MEAN_SQUARE = "groups.square().mean(dim=-1, keepdim=True)"
WIDE = "input.to(compute_dtype)"
SMOOTH = f"({GAMMA} + {GAMMA}.roll(1)) / 2"
FIRST_TABLES = "cos, sin = self._tables(ratio, dtype, torch.device(device))"
BASE = "return base * ratio ** (dim / (dim - 2)) if ratio > 1 else base"
IDS = LOOKUP.replace("input_ids, self", "{}, self")


def told(path: str, old: str, new: str, failed: str) -> PropertyReport:
    files = edited((path, old, new), of=ASSIGNMENT)
    piece = ASSIGNMENT.rubric.task_of(failed).names[-1]
    student, results = judged(Variant("edited", piece, False, files, frozenset({failed})))
    cases = [result for result in results if result.property_id == failed]
    failing = {case.id: case.message for case in cases if case.outcome is Outcome.FAILED}
    return _property_report(failed, property_outcome(cases), cases, diagnose(student, failed, failing))


# Edits: the property that fails, some of what is said about it, and the mistake that is named (ANY: test_diagnosis.py).
CASES = [
    (TURN, TABLES, TABLES.replace(".to", ".half().to"), "rotary_dtype",
     ["it is right for cos and sin made of numbers that 16 bits hold"], ANY),
    (TURN, HALVES, HALVES.replace("input.", "input.half()."), "rotary_dtype",
     ["it is right for the input made of numbers that 16 bits hold"], ANY),
    (TURN, HALVES, f"{HALVES}    cos, sin = (t[..., ::2].repeat(1, 1, 2) for t in (cos, sin))\n",
     "rotary_pairing_and_sign", [], "rotary_other_angles"),
    (TURN, "(input * cos", "(input * cos.abs()", "rotary_pairing_and_sign", [], "rotary_sign_lost"),
    (NORM, f"* {GAMMA}", f"* {GAMMA}.flip(-1)", "norm_gamma",
     ["features 0 to 5 are scaled by the gammas of features [5, 4, 3, 2, 1, 0]"], ANY),
    (NORM, f"* {GAMMA}", f"* {SMOOTH}", "norm_gamma", ["feature 0 is scaled by 0.5 g0 + 0.5 g5, where g0 to g5"], None),
    (NORM, f"* {GAMMA}", f"* {GAMMA}.bfloat16()", "norm_float32_inside",
     ["it is right for gamma made of numbers that 16 bits hold"], "few_digits"),
    (NORM, WIDE, "input.bfloat16().float()", "norm_float32_inside",
     ["it is right for the input made of numbers that 16 bits hold"], ANY),
    (NORM, "        return (normalised", "        if self.group_size == 1:\n            normalised = groups\n"
     "        return (normalised", "norm_dtype_and_shape", [], "norm_group_of_one"),
    (NORM, f"* {GAMMA}", f"* {GAMMA}.mean()", "norm_gamma", [], None),
    (NORM, f"* {GAMMA}", f"* {GAMMA} / self.gamma.abs().mean()", "norm_gamma", [], None),
    (NORM, WIDE, f"{WIDE}.clamp(-1000, 1000)", "norm_float32_inside", [], "norm_input_clamped"),
    (NORM, MEAN_SQUARE, f"{MEAN_SQUARE}.clamp(max=60000)", "norm_float32_inside", [], None),
    (NORM, NORMALISED, "groups * groups.abs()", "norm_groups", [], None),
    (NORM, NORMALISED, "groups * groups.abs()", "norm_eps_inside_sqrt", [], None),
    (NORM, f"* {GAMMA}", f"* {GAMMA} / 2", "norm_groups", [], None),
    (VOCAB, LOOKUP, IDS.format("input_ids.short().long() % 66000"), "vocab_lookup",
     ["these are the rows of the ids converted to int16"], ANY),
    (VOCAB, LOOKUP, f"{LOOKUP}.squeeze(0)", "vocab_lookup", ["has shape [6, 2050], not [1, 6, 2050]"], ANY),
    (VOCAB, LOOKUP, f"x = {LOOKUP[7:]}\n        return x.transpose(0, 1).reshape(x.shape)", "vocab_lookup",
     ["the output holds the rows of these ids, but column by column"], ANY),
    (VOCAB, LOOKUP, f"x = {LOOKUP[7:]}\n        x.register_hook(lambda g: g / len(g)) if x.requires_grad else 0\n"
     "        return x", "vocab_backward", ["with one row of input_ids instead of several, it is right"], ANY),
    (VOCAB, LOOKUP, IDS.format("input_ids.clamp(max=50256)"), "vocab_lookup", [], None),
    (VOCAB, LOOKUP, IDS.format("input_ids % 32768"), "vocab_lookup", [], None),
    (VOCAB, SIZES, OTHER_SIZES, "shard_registration_and_arguments",
     ["The constructor was called with vocab_size=30, emb_size=5, rank=2, world_size=3."], ANY),
    (VOCAB, SIZES, OTHER_SIZES, "shard_sizes_named",
     ["vocab_size=25, world_size=4, emb_size=4, rank=1 is accepted"], ANY),
    (ROPE, EVEN, f"max(4, {EVEN})", "rope_smallest_even_ratio",
     ["Cases with s=ms+1, s=2*ms fail; those with s=3*ms, s=4*ms+1, "], ANY),
    (ROPE, BASE, BASE.replace("base * ", "10000 * "), "rope_base", ["the tables used are those of base 10000"], ANY),
    (ROPE, GROWN, "if self.training or seq_len <= len(self.cos):\n            " + GROWN + "\n"
     "        rows = torch.arange(seq_len).clamp(max=len(self.cos) - 1)\n"
     "        return apply_rotary_pos_emb(input, self.cos[rows], self.sin[rows])", "rope_static",
     ["on are rotated alike", "the output in evaluation mode"], ANY),
    (ROPE, FIRST_TABLES, FIRST_TABLES.replace("(ratio", "(1"), "rope_boundary", [], "rope_ratio_unheard"),
    (ROPE, FIRST_TABLES, FIRST_TABLES.replace("(ratio", "(max(ratio, 2)"), "rope_base", [], None),
    (ROPE, "self.base = base", "self.base = max(base, 1000)", "rope_base", [], None),
    (ROPE, "if seq_len > cos.shape[0]:", "if seq_len >= cos.shape[0] - 1:", "rope_boundary", [], None),
    (ROPE, BASE, BASE.replace("* ratio", "* (ratio - 1)"), "rope_exact_angles", [], None),
    (ROPE, GROWN, GROWN.replace("seq_len]", "max(len(cos) - 1, 1)][:seq_len]"), "rope_boundary", [], None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "old", "new", "failed", "said", "named"), in_quick(CASES, 4))
def test_a_failure_is_told_beside_what_passes_and_named_by_the_facts(
    path: str, old: str, new: str, failed: str, said: list[str], named: object
) -> None:
    """Some got the name of another mistake when names followed from which case fails, or from what it rules out."""
    report = told(path, old, new, failed)
    assert report.outcome is Outcome.FAILED or named is ANY
    assert report.misconception == named
    messages = [case.message for case in report.cases if case.outcome != Outcome.PASSED]
    assert all(any(part in message for message in messages) for part in said), messages
    chinese = in_words(from_data(next(case for case in report.cases if case.message).parts), ASSIGNMENT, "zh")
    assert "right" not in chinese


def test_what_is_alike_at_the_end_of_a_sequence_is_told() -> None:
    turned = torch.arange(6.0).clamp(max=3).unsqueeze(-1)
    assert told_end(turned) == "all positions from 3 on are rotated alike"
    assert told_end(turned[:4]) is None
    assert told_end(torch.ones(4, 2)) is None


def test_what_a_rotation_by_nothing_moves_is_told() -> None:
    still = torch.eye(4)
    assert told_still(still) == []
    assert told_still(still[[0, 2, 1, 3]]) == ["rotated by zero, (0, 1, 0, 0) becomes (0, 0, 1, 0)"]

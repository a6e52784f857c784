"""Finds the misconception behind a failed property.

Each property with misconceptions has a probe. It asks the student's worker for outputs on an input on which mistakes of
other properties do not show, and compares them with what each misconception would compute. A wrong hint does more harm
than none, so a misconception is named only if it alone fits, and the right computation does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...judge.faults import StudentFault
from ...judge.student import Student
from . import norm, norm_accuracy, pos_emb, seeds, vocab_emb

Probe = Callable[[Student], str | None]

PROBES: Final[Mapping[str, Probe]] = {
    "norm_groups": norm.groups,
    "norm_eps_inside_sqrt": norm.eps,
    "norm_gamma": norm.gamma,
    "norm_float32_inside": norm_accuracy.sixteen_bits,
    "norm_backward": norm_accuracy.backward,
    "norm_init_and_reset": seeds.of_norm,
    "vocab_init_and_reset": seeds.of_vocab,
    "shard_seed": seeds.of_shard,
    "vocab_purity": vocab_emb.vocab_ids,
    "shard_purity": vocab_emb.shard_ids,
    "shard_owned_ids": vocab_emb.owned_rows,
    "shard_zeros_elsewhere": vocab_emb.foreign_rows,
    "rotary_pairing_and_sign": pos_emb.pairing_and_sign,
    "rope_base": pos_emb.base,
    "rope_smallest_even_ratio": pos_emb.grown_ratio,
    "rope_static": pos_emb.static,
    "rope_dynamic": pos_emb.dynamic,
    "rope_buffers": pos_emb.buffers,
}


# Misconceptions, and how the names begin of the cases that fail because of them. Such a misconception is named only if
# all failing cases are among these. Those in SHOWN_BY_CASES need no probe: the failing cases suffice.
EXPLAINED: Final[Mapping[str, tuple[str, ...]]] = {
    "norm_default_argument": ("arguments_have_the_defaults",),
    "norm_memory_layout": ("any_memory_layout_works",),
    "vocab_lookup_16_bit_ids": ("ids_beyond_16_bits",),
    "shard_16_bit_ids": ("ids_beyond_16_bits",),
    "earlier_call_remembered": ("earlier_calls_leave_no_trace",),
    "rope_table_dtype": ("tables_have_the_dtype",),
    "rope_default_argument": ("arguments_have_the_defaults",),
    "rope_module_gradient": ("gradients_flow_through_the_module",),
    "rope_persistent_tables": ("tables_are", "growth_registers"),
    "ids_changed_in_place": ("ids_and", "earlier_calls"),
}
SHOWN_BY_CASES: Final[Mapping[str, tuple[str, ...]]] = {
    "norm_registration_and_arguments": ("norm_default_argument",),
    "norm_dtype_and_shape": ("norm_memory_layout",),
    "norm_purity": ("earlier_call_remembered",),
    "vocab_lookup": ("vocab_lookup_16_bit_ids",),
    "vocab_purity": ("earlier_call_remembered",),
    "shard_owned_ids": ("shard_16_bit_ids",),
    "shard_purity": ("earlier_call_remembered",),
    "rope_base": ("rope_default_argument",),
    "rope_buffers": ("rope_table_dtype", "earlier_call_remembered"),
    "rotary_backward": ("rope_module_gradient",),
}


def diagnose(student: Student, property_id: str, failing: Sequence[str] = ()) -> str | None:
    """Name the misconception behind a failed property.

    Args:
        student: The submission; it is imported anew, so nothing that a test left behind matters.
        property_id: An id of the rubric.
        failing: The ids of the property's failing cases; a misconception that does not explain them all is not named.

    Returns:
        The id of the only misconception, of those that the rubric lists for the property, that fits the student's
        outputs; None if none or several fit, or if the code crashes or hangs.
    """
    shown = [cause for cause in SHOWN_BY_CASES.get(property_id, ()) if failing and _explains(cause, failing)]
    if shown:
        return shown[0]
    probe = PROBES.get(property_id)
    if probe is None:
        return None
    student.start_afresh()
    try:
        found = probe(student)
    except StudentFault:
        return None
    return found if found and _explains(found, failing) else None


def _explains(cause: str, failing: Sequence[str]) -> bool:
    return cause not in EXPLAINED or all(case.startswith(EXPLAINED[cause]) for case in failing)

"""Causes that failing cases show by themselves, as data: which case fails, and which statements its message makes.

A cause is named where all failing cases of a property fit one of its clues: a hint that some failing case contradicts
does more harm than none.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Final

from grader.assignment import ASSIGNMENT
from grader.assignment.hidden.checks import AFTER, ALONE, DRAWS, DTYPE, DTYPE_WHEN, MOMENTS, RESET, SHARE, UNSEEDED
from grader.assignment.hidden.rope_tables import CALL, CALL_AFTER, MS, OF_NO_RATIO, OF_RATIO, SPEEDS
from grader.assignment.model.draw_words import (
    AFTER_DRAWS,
    LATER,
    NEXT_SEED,
    OF_SEED,
    ONE_SEED,
    OTHER_KIND,
    OTHER_ORDER,
    RANKS_SEEDS,
    ROWS_OF_TABLE,
)
from grader.assignment.model.histories import OTHER_BUILT, OTHERWISE
from grader.assignment.model.row_words import FOREIGN_TOO, MULTIPLE, ONE_NUMBER, RECEIVES, ROWS_TIMES, ROWS_TIMES_SOME
from grader.testing import ALIKE, OTHER_DTYPE, OTHER_SHAPE, SAME_MULTIPLE, ZEROS, Message

Failing = Mapping[str, Message]  # from a case's id to its message


@dataclass(frozen=True)
class Clue:
    """What a failing case may show; all of it has to hold.

    Attributes:
        case: How the case's id begins.
        says: Templates of which the message makes one statement.
        fields: Values, or sets of values, of that statement's fields; of any statement's, if ``says`` is empty.
        within: A template of another statement that it makes.
        lacks: Templates of statements that it does not make.
        only: Whether every statement of ``says`` has these fields, rather than one.
        least: How many such statements there are.
    """

    case: str = ""
    says: tuple[str, ...] = ()
    fields: Mapping[str, str | int | Container[int] | tuple[str, ...]] = field(default_factory=dict)
    within: str = ""
    lacks: tuple[str, ...] = ()
    only: bool = False
    least: int = 1

    def fits(self, case: str, message: Message) -> bool:
        """Whether a failing case shows this."""
        parts = list(message.all_parts())
        keys = {part.key for part in parts}
        asked = [part for part in parts if not self.says or part.key in self.says]
        fitting = [
            part for part in asked if all(_is(part.fields.get(name), value) for name, value in self.fields.items())
        ]
        return (
            case.startswith(self.case)
            and (not self.within or self.within in keys)
            and not keys.intersection(self.lacks)
            and len(fitting) >= self.least * bool(self.says or self.fields)
            and (not self.only or fitting == asked)
        )


def _is(value: object, wanted: str | int | Container[int] | tuple[str, ...]) -> bool:
    """Whether a field has a wanted value, or one of several."""
    plain = str(value) if isinstance(value, str) else value
    return plain == wanted if isinstance(wanted, str | int) else plain in wanted


def _key(message: Message) -> str:
    return message.parts[0].key


IN_EVALUATION = "the output in evaluation mode, compared with training mode"
REGISTERED = "{n} parameters are registered, not {wanted}"
STRETCHED = ("they run from {low} to {high}", "they have mean {mean} and standard deviation {std}")
ROWS = "{what}: {n} of {all} rows receive a wrong gradient"
IDS = "{what}: {n} of {all} ids give a wrong row"
GIVES = "id {id} gives {seen}"
OTHERS_IDS = "ids of other ranks on rank {rank} of {world}"
NOTHING_SEEN = (
    "the tables are the same for all ratios, so this property cannot be checked",
    "the output does not depend on the angle: nothing rotates, so this property cannot be checked",
    "all positions are rotated alike, so this property cannot be checked",
)

DTYPE_DIFFERS = Clue(says=(OTHER_DTYPE,))
SHAPE_DIFFERS = Clue(says=(OTHER_SHAPE,))
HISTORY = Clue("earlier_calls")
CHANGED_BEFORE = Clue(says=(_key(ALONE),))
OTHER_BEFORE = Clue(says=(OTHERWISE,), fields={"before": OTHER_BUILT})
EVALUATION = Clue(says=(IN_EVALUATION,))
INPUT_CHANGED = Clue(says=(_key(AFTER),), fields={"what": "the input"})
PARAMETER_CHANGED = (
    Clue(says=(_key(AFTER),), fields={"what": ("gamma", "the table", "the shard")}),
    Clue(says=("gamma is {dtype} after a {call} call",)),
)
WITHOUT_SPREAD = Clue(says=(MOMENTS,), fields={"std": "0"})  # every draw is the same
ROWS_SCALED = Clue(says=(ROWS_TIMES, _key(ROWS_TIMES_SOME)))
SHORT_AFTER_LONG = Clue(says=(CALL_AFTER,), fields={"s": MS - 1}, within=OF_RATIO)
DEFAULTS = Clue("arguments_have_the_defaults")

# From a cause that no probe looks for to clues of which each of its cases fits one; the most specific causes first.
EXPLAINED: Final[Mapping[str, tuple[Clue, ...]]] = {
    "rope_persistent_tables": (Clue(says=("state_dict() lists {names}",)),),
    "ids_changed_in_place": (Clue(says=(_key(AFTER),), fields={"what": "input_ids"}),),
    "norm_rounded_to_gamma": (Clue("a_float32_input_is_not_rounded"),),
    "norm_mode": (EVALUATION,),
    "vocab_lookup_16_bit_ids": (Clue("ids_beyond_16_bits"),),
    "shard_16_bit_ids": (Clue("ids_beyond_16_bits"),),
    "norm_eps_scaled": (Clue(says=(SHARE,)),),
    "lookup_rows_scaled": (ROWS_SCALED, Clue("ids_beyond_16_bits")),
    "shard_neighbour_answered": (Clue(says=(IDS,), fields={"n": 1}, within=OTHERS_IDS),),
    "shard_filled_otherwise": (
        Clue(
            says=(GIVES,),
            fields={"seen": (str(ONE_NUMBER), "numbers that are not finite")},
            within=OTHERS_IDS,
        ),
    ),
    "rope_table_dtype": (Clue("tables_have_the_dtype", lacks=(_key(ALONE),)),),
    "input_changed": (INPUT_CHANGED,),
    "parameter_changed": (*PARAMETER_CHANGED, HISTORY),
    "state_shared": (CHANGED_BEFORE, OTHER_BEFORE),
    "default_argument": (DEFAULTS, Clue("the_rank_is_zero")),
    "earlier_call_remembered": (Clue("earlier_calls_leave_no_trace"), EVALUATION),
    "not_a_parameter": (Clue(says=(REGISTERED,), fields={"n": 0}), DTYPE_DIFFERS),
    "further_parameter": (
        Clue(says=(REGISTERED,), fields={"n": range(2, 1000)}),
        Clue(says=("a buffer is registered; this module has none",)),
    ),
    "frozen_parameter": (Clue(says=("the parameter does not require gradients",)),),
    "output_dtype": (DTYPE_DIFFERS,),
    "output_shape": (
        SHAPE_DIFFERS,
        Clue("every_batch_row_and_head_turns_alike", ("{dtype} output",), {"dtype": "float32"}),
    ),
    "parameter_dtype": (Clue(says=(DTYPE, DTYPE_WHEN)), DTYPE_DIFFERS),
    "parameter_size": (
        Clue(says=("the parameter has {n} elements; {wanted} are required", "the parameter has {n} elements")),
        SHAPE_DIFFERS,
    ),
    "bad_sizes_accepted": (Clue(says=("{sizes} is accepted; it must raise an error",)),),
    "bad_sizes_unnamed": (Clue(says=("the error raised for {sizes} does not name {size}",)),),
    "bad_sizes_other_error": (Clue(says=("{sizes} raises {kind}; expected a ValueError or an AssertionError",)),),
    "few_digits": (Clue(lacks=NOTHING_SEEN),),
    "shard_seed_without_rank": (Clue(says=(ONE_SEED,)),),
    "init_other_scale": (Clue(says=STRETCHED, lacks=(OF_SEED, NEXT_SEED, AFTER_DRAWS, LATER)),),
    "init_other_distribution": (Clue(says=(_key(OTHER_KIND),)),),
    "init_seed_ignored": (
        Clue(says=(OF_SEED,), fields={"seed": 42}, lacks=(RANKS_SEEDS, ONE_SEED)),
        Clue(says=(RANKS_SEEDS,), fields={"seeds": "42, 43, 44, 45"}),
    ),
    "init_neighbouring_seed": (Clue(says=(NEXT_SEED,)),),
    "init_reset_differs": (Clue(says=(_key(RESET),)),),
    "shard_rows_of_a_table": (Clue(says=(ROWS_OF_TABLE,)),),
    "init_after_extra_draw": (Clue(says=(LATER,)),),
    "init_other_order": (Clue(says=(_key(OTHER_ORDER),)),),
    "init_unseeded": (Clue(says=(_key(UNSEEDED),)),),
    "init_not_drawn": tuple(Clue(says=(_key(ZEROS), _key(ALIKE)), within=draw) for draw in DRAWS.values()),
    "shard_seed_of_later_ranks": (Clue(says=(RANKS_SEEDS,)),),
    "rope_module_gradient": (Clue("gradients_flow_through_the_module"),),
    "gradient_cut": (
        Clue(says=("no gradient reaches {where}",)),
        Clue(says=(RECEIVES,), fields={"seen": "nothing"}, only=True, least=2),
    ),
    "one_row_without_gradient": (Clue(says=(ROWS,), fields={"n": 1}, within="nothing"),),
    "shard_foreign_gradients": (Clue(says=(RECEIVES,), fields={"seen": str(FOREIGN_TOO)}),),
    "gradient_not_summed": (
        Clue(
            says=(RECEIVES,),
            fields={"seen": ("the mean of the gradients of its uses", "the gradient of only one of its uses")},
        ),
    ),
    "gradient_scaled": (
        Clue(says=(SAME_MULTIPLE,)),
        Clue(says=(RECEIVES,), within=MULTIPLE),
    ),
    "rope_module_dtype": (Clue("every_batch_row_and_head", (OTHER_DTYPE,)),),
    "rope_heads": (
        Clue(
            "every_batch_row_and_head",
            ("{dtype} output for shape {shape}: a head is rotated differently beside others than on its own",),
        ),
    ),
    "rope_growth_at_es": tuple(Clue(says=(CALL,), fields={"ratio": ratio, "s": ratio * MS}) for ratio in (1, 3, 5)),
    "rope_growth_beyond_ms": (Clue(says=(CALL,), fields={"ratio": (3, 5), "s": 2 * MS}, within=OF_RATIO),),
    "rope_static_keeps_growth": (SHORT_AFTER_LONG,),
    "rope_dynamic_forgets_growth": (SHORT_AFTER_LONG,),
    "rope_growth_piles_up": (Clue(says=(OF_NO_RATIO,)),),
    "rope_growth_of_initial_ratio": (Clue(says=(CALL,), fields={"ratio": 3}, within=OF_RATIO),),
    "rope_scaling": (Clue("the_ratio_stretches", fields={"ratio": (2, 4)}, lacks=(_key(ALONE),)),),
    "rope_base_ignored": (Clue(fields={"base": 16, "ratio": (1, 2, 4)}, within=SPEEDS, lacks=(_key(ALONE),)),),
    "rope_unscaled_angles": (Clue("the_ratio_stretches", lacks=(_key(ALONE),)),),
    "rotary_tables_changed": (
        Clue(says=(_key(AFTER), "{what} has a different shape after the call"), fields={"what": ("cos", "sin")}),
    ),
    "rotary_heads_differ": (Clue("every_batch_row", ("{dtype} output",), {"dtype": "float32"}),),
}

# From a cause to clues of which at least one of its cases fits one.
NEEDED: Final[Mapping[str, tuple[Clue, ...]]] = {
    "output_shape": (SHAPE_DIFFERS,),
    "few_digits": (Clue("float32_outputs_are_exact"),),
    "lookup_rows_scaled": (ROWS_SCALED,),
    "parameter_changed": PARAMETER_CHANGED,
    "earlier_call_remembered": (HISTORY,),
    "not_a_parameter": (Clue(says=(REGISTERED,), fields={"n": 0}),),
    "parameter_dtype": (Clue(says=(DTYPE, DTYPE_WHEN)),),
    "parameter_size": (
        Clue(says=("the parameter has {n} elements; {wanted} are required", "the parameter has {n} elements")),
        Clue("the_table_is_the_only"),
    ),
    "rope_static_keeps_growth": (Clue(fields={"ratio": 1}),),
    "rope_dynamic_forgets_growth": (Clue(says=(OF_RATIO,), fields={"k": 1}),),
    "rope_base_ignored": (Clue(fields={"base": 16, "ratio": (1, 2)}),),
    "rope_unscaled_angles": (Clue(fields={"ratio": 1}),),
}


def explains(cause: str, failing: Failing) -> bool:
    """Whether a cause explains every failing case but those that say nothing about causes, if there are others."""
    telling = {case: told for case, told in failing.items() if not WITHOUT_SPREAD.fits(case, told)}
    if failing and not telling:
        return False

    def fits(clues: tuple[Clue, ...], case: str) -> bool:
        return any(clue.fits(case, telling[case]) for clue in clues)

    needed = cause not in NEEDED or any(fits(NEEDED[cause], case) for case in telling)
    return needed and (cause not in EXPLAINED or all(fits(EXPLAINED[cause], case) for case in telling))


def shown(property_id: str, failing: Failing) -> str | None:
    """The first cause that the rubric lists for the property and that its failing cases show."""
    listed = {known.id for known in ASSIGNMENT.rubric.misconceptions if property_id in known.properties}
    return next((cause for cause in EXPLAINED if cause in listed and failing and explains(cause, failing)), None)

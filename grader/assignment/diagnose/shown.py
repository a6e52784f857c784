"""Causes that failing cases show by themselves, as data: the statements that their messages make.

A case states what it has compared with a prediction, such as that the outputs are the tables of a ratio. A cause is
named where each failing case of a property makes a statement that follows from the cause: a hint that some failing case
contradicts does more harm than none. Which case fails is no clue, since other causes make the same case fail.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from grader.assignment import ASSIGNMENT
from grader.assignment.hidden import conditions
from grader.assignment.hidden import construction as made
from grader.assignment.hidden import norm_inputs as norm
from grader.assignment.hidden import rope_tables as rope
from grader.assignment.hidden.embeddings import CONTIGUOUS, ONE_ROW
from grader.assignment.hidden.norm_gradients import ALONE_TAKING
from grader.assignment.hidden.ropes import BASE, MOST, MS, PILED_UP
from grader.assignment.hidden.rotations import TWO_OTHERS, WITHOUT
from grader.assignment.hidden.shards import VOCAB, own_rows
from grader.assignment.model import draw_words as draws
from grader.assignment.model import gradient_words as gradients
from grader.assignment.model import turn_words as turns
from grader.assignment.model.histories import ALIKE_UPDATED, OTHER_BUILT, OTHERWISE, RAISES, STILL_BEFORE
from grader.assignment.model.parameters import OF_INPUT
from grader.assignment.model.row_words import (
    CONVERTED,
    CUT,
    FEWER_DIGITS,
    FOREIGN_TOO,
    GIVES,
    IN_16_BITS,
    LEFT_OUT,
    LEFT_OUT_OF_ROWS,
    MULTIPLE,
    ONE_NUMBER,
    OTHERS_SUMMED,
    RECEIVES,
    ROWS_TIMES,
    ROWS_TIMES_SOME,
    WRONG_ROWS,
)
from grader.assignment.oracle import smallest_even_ratio
from grader.testing import (
    ALIKE,
    CLAMPED,
    OTHER_DTYPE,
    OTHER_SHAPE,
    PLACES,
    SAME_MULTIPLE,
    SLIGHT_FACTOR,
    STEPS,
    ZEROS,
    Message,
)

Failing = Mapping[str, Message]  # from a case's id to its message


@dataclass(frozen=True)
class Clue:
    """What a failing case may state; all of it has to hold.

    Attributes:
        says: Templates of which the message makes one statement.
        fields: Values, or sets of values, of that statement's fields.
        case: How the case's id begins.
        beside: What the message states as well.
        lacks: Templates of statements that it does not make.
        only: Whether every statement of ``says`` has these fields, rather than one.
        least: How many such statements there are.
        wrong: Of all elements, the share that such a statement has to count as wrong.
    """

    says: tuple[str, ...]
    fields: Mapping[str, str | int | Container[int] | tuple[str, ...]] = field(default_factory=dict)
    case: str = ""
    beside: Clue | None = None
    lacks: tuple[str, ...] = ()
    only: bool = False
    least: int = 1
    wrong: float = 0.0

    def fits(self, case: str, message: Message) -> bool:
        """Whether a failing case shows this."""
        parts = list(message.all_parts())
        asked = [part for part in parts if part.key in self.says]
        fitting = [
            part
            for part in asked
            if all(_is(part.fields.get(name), value) for name, value in self.fields.items())
            and _share(part.fields) >= self.wrong
        ]
        return (
            case.startswith(self.case)
            and (self.beside is None or self.beside.fits(case, message))
            and not any(part.key in self.lacks for part in parts)
            and len(fitting) >= self.least
            and (not self.only or fitting == asked)
        )


def _is(value: object, wanted: str | int | Container[int] | tuple[str, ...]) -> bool:
    """Whether a field has a wanted value, or one of several."""
    told = [str(value), *(part.key for part in value.parts[:1])] if isinstance(value, Message) else [value]
    return any(one == wanted if isinstance(wanted, str | int) else one in wanted for one in told)


def _share(fields: Mapping[str, object]) -> float:
    """The part of all elements that a statement with these fields counts as wrong."""
    n, everything = fields.get("n"), fields.get("all")
    return n / everything if isinstance(n, int) and isinstance(everything, int) else 0.0


def told(*says: str, **more: Any) -> Clue:
    """What a message says, by templates or messages of them; names that a clue does not have are those of fields."""
    fields = {name: more.pop(name) for name in [*more] if name not in Clue.__dataclass_fields__}
    return Clue(says=_keys(says), lacks=_keys(more.pop("lacks", ())), fields=fields, **more)


def _keys(templates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one.parts[0].key if isinstance(one, Message) else one for one in templates)


STRETCHED = ("they run from {low} to {high}", "they have mean {mean} and standard deviation {std}")
OF_ONE_USE = ("the mean of the gradients of its uses", "the gradient of only one of its uses")
FEW_DIGITS = (str(FEWER_DIGITS), IN_16_BITS)
OF_TABLE = "{dtype} gradient of the table for ids {rows}"
OF_SHARD = "{dtype} gradient of the shard of rank {rank} of {world}"
OTHERS_IDS = "ids of other ranks on rank {rank} of {world}"
OWN = {(rank, world): own_rows(rank, world) for world in (2, 3, VOCAB) for rank in range(world)}
NOT_FINITE = "not finite: {n}"
NO_GRADIENT = "no gradient reaches {where}"

DTYPE_DIFFERS = told(OTHER_DTYPE)
SHAPE_DIFFERS = told(OTHER_SHAPE)
LATER_CHANGES = told("a later call changes the output of an earlier one")
HISTORY = told(OTHERWISE, RAISES)
EVALUATION = told(conditions.IN_EVALUATION)
NOTHING_REGISTERED, SEVERAL_REGISTERED = (told(made.REGISTERED, n=n) for n in (0, range(2, 1000)))
OTHER_SIZE = told("the parameter has {n} elements; {wanted} are required", "the parameter has {n} elements")
PARAMETER_CHANGED = (
    told(conditions.AFTER, what=("gamma", "the table", "the shard")),
    told("gamma is {dtype} after a {call} call; it was built as {built}"),
)
ONE_NUMBER_DRAWN = told(ZEROS, ALIKE, beside=told(*made.DRAWS.values(), beside=told(PLACES, wrong=0.9)))
WITHOUT_SPREAD = told(made.MOMENTS, std="0")  # every draw is the same
CUT_IN_PART = told(ZEROS, case="gradients_", lacks=(norm.OF_ZEROS,))  # zero wherever it is wrong
ROWS_SCALED = told(ROWS_TIMES, ROWS_TIMES_SOME)
HALF_WRONG = (rope.SINES_WRONG, rope.COSINES_WRONG)  # so the angles are right
RATIO_ONE = told(rope.OF_RATIO, k=1, lacks=(conditions.RIGHT_FOR,))  # whatever the ratio
GROWS = range(3 * MS + 1, 9 * MS)  # lengths of calls that grow
GROWN = tuple(smallest_even_ratio(s, MS) for s in GROWS)


def of_ratio(*says: str, k: int | Container[int] = range(MOST), **fields: Any) -> Clue:
    """What a message says of a call that uses the tables of a ratio."""
    return told(*says, **fields, beside=told(rope.OF_RATIO, k=k))


def in_float32(*says: str, **fields: Any) -> Clue:
    """What a message says of the float32 gradient of an embedding."""
    return told(*says, **fields, beside=told(OF_TABLE, OF_SHARD, dtype="float32"))


# From a cause that no probe looks for to clues of which each of its cases fits one; the most specific causes first.
EXPLAINED: Final[Mapping[str, tuple[Clue, ...]]] = {
    "output_reused": (LATER_CHANGES, HISTORY),
    "rope_persistent_tables": (told("state_dict() lists {names}"),),
    "input_changed": (told(conditions.AFTER, what="the input"),),
    "shard_one_mode": (told(conditions.ONE_MODE),),
    "ids_changed_in_place": (told(conditions.AFTER, what="input_ids"),),
    "norm_rounded_to_gamma": (
        told(STEPS, case="a_float32_input_is_not_rounded"),
        told(norm.OF_GROUPS, norm.BESIDE_FLOAT32, case="squares_neither"),  # with a gamma of the input's dtype
        told(norm.OF_GROUPS, norm.BESIDE_FLOAT32, case="only_the_output", dtype="bfloat16"),  # as well
    ),
    "mode_matters": (EVALUATION, told(conditions.ONE_MODE, conditions.NO_GRAD, conditions.RECORDED)),
    "vocab_narrow_ids": (told(CONVERTED),),
    "shard_narrow_ids": (told(CONVERTED),),
    "ids_in_memory_order": (told(CONTIGUOUS),),
    "tokens_in_memory_order": (told(norm.IN_MEMORY), told(turns.RIGHT_CONTIGUOUS)),
    "norm_digits_of_small_groups": (told(norm.BESIDE_LARGER),),
    "backward_of_a_later_call": (told(conditions.CALLED_BETWEEN),),
    "tokens_left_out": (told(LEFT_OUT, LEFT_OUT_OF_ROWS),),
    "norm_eps_scaled": (told(norm.SHARE),),
    "lookup_rows_scaled": (
        ROWS_SCALED,
        told(WRONG_ROWS, case="ids_beyond_16_bits"),
        told(WRONG_ROWS, case="rows_of_any_length"),  # rows of one number are no multiples
    ),
    "shard_neighbour_answered": tuple(
        told(
            WRONG_ROWS,
            n=1,
            beside=told(GIVES, id=(own.start - 1, own.stop), beside=told(OTHERS_IDS, rank=rank, world=world)),
        )
        for (rank, world), own in OWN.items()
    ),
    "shard_filled_otherwise": (told(GIVES, seen=(ONE_NUMBER, "numbers that are not finite"), only=True),),
    "rope_table_dtype": (told(rope.MORE_DIGITS, rope.MORE_DIGITS_GROWN, lacks=(rope.CONVERTED,)),),
    "parameter_changed": (*PARAMETER_CHANGED, HISTORY),
    "state_shared": (
        told(OTHERWISE, RAISES, before=(str(OTHER_BUILT), str(ALIKE_UPDATED))),
        told(WITHOUT, condition=TWO_OTHERS),
    ),
    "default_argument": (told(made.OTHER_DEFAULT), told(made.DTYPE_WHEN, when="by default")),
    "earlier_call_remembered": (HISTORY, told(STILL_BEFORE), EVALUATION, told(rope.CONVERTED), told(turns.OTHER_SINES)),
    "not_a_parameter": (NOTHING_REGISTERED, DTYPE_DIFFERS),
    "further_parameter": (SEVERAL_REGISTERED, told("a buffer is registered; this module has none")),
    "frozen_parameter": (told("the parameter does not require gradients"),),
    "output_dtype": (told(OTHER_DTYPE),),
    "output_shape": (
        SHAPE_DIFFERS,
        told(GIVES, seen="no row of the table", case="any_number_of_ids"),  # as many ids as features
        told("{dtype} output", dtype="float32", case="every_batch_row_and_head_turns"),
    ),
    "parameter_dtype": (told(made.DTYPE, made.DTYPE_WHEN, lacks=(made.REDRAWN,)), DTYPE_DIFFERS),
    "parameter_size": (OTHER_SIZE, SHAPE_DIFFERS),
    "bad_sizes_accepted": (told("{sizes} is accepted; it must raise an error"),),
    "bad_sizes_unnamed": (told("the error raised for {sizes} does not name {size}"),),
    "bad_sizes_other_error": (told("{sizes} raises {kind}; expected a ValueError or an AssertionError"),),
    "norm_step_in_16_bits": (
        told(
            norm.BESIDE_FLOAT32, dtype=("float16", "bfloat16"), lacks=(norm.OTHER_EPS, norm.CLAMPED, norm.OTHER_FORMULA)
        ),
    ),
    "norm_input_clamped": (told(norm.CLAMPED),),
    "few_digits": (
        told(STEPS, NOT_FINITE, norm.OVERFLOW, lacks=(SLIGHT_FACTOR,)),
        told(RECEIVES, seen=FEW_DIGITS, only=True),
    ),
    "shard_seed_without_rank": (told(draws.ONE_SEED, lacks=(made.RIGHT_AGAIN,)),),
    "init_other_scale": (
        told(*STRETCHED, lacks=(draws.OF_SEED, draws.NEXT_SEED, draws.AFTER_DRAWS, draws.LATER)),
        ONE_NUMBER_DRAWN,  # a mean of zero in place of the deviation
    ),
    "init_other_distribution": (told(draws.OTHER_KIND, draws.CLAMPED, draws.REPLACED, draws.BOUNDED),),
    "init_seed_zero": (
        told(*made.DRAWS.values(), seed=0, beside=told(draws.OF_SEED)),
        told(made.MOMENTS, mean="0.25", beside=told(draws.RANKS_SEEDS, seeds="42, 43, 44, 45")),  # of base seed 0
    ),
    "init_seed_ignored": (
        told(draws.OF_SEED, seed=42, lacks=(draws.RANKS_SEEDS, draws.ONE_SEED)),
        told(draws.RANKS_SEEDS, seeds="42, 43, 44, 45"),
    ),
    "init_reset_differs": (told(made.RESET, lacks=(made.FIRST_TOO,)),),
    "init_neighbouring_seed": (told(draws.NEXT_SEED),),
    "shard_rows_of_a_table": (told(draws.ROWS_OF_TABLE),),
    "init_after_extra_draw": (told(draws.LATER), told(made.UNSEEDED)),  # from a generator that is seeded once
    "init_other_order": (told(draws.OTHER_ORDER),),
    "init_unseeded": (told(made.UNSEEDED),),
    "init_not_drawn": (ONE_NUMBER_DRAWN,),
    "shard_seed_of_later_ranks": (told(draws.RANKS_SEEDS, draws.ONE_SEED),),  # a seed of zero times the rank is zero
    "rope_module_gradient": (told(NO_GRADIENT, case="gradients_flow_through_the_module", lacks=(turns.CUT_WITHIN,)),),
    "rotary_gradient_not_turned_back": (told(turns.NOT_BACK),),
    "norm_gradient_at_zero": (told(norm.OF_ZEROS, beside=told(NOT_FINITE)),),
    "norm_detached_rms": (told(gradients.THROUGH, share="0"),),
    "norm_backward_formula": (told(*gradients.OF_FORMULAS, lacks=(ALONE_TAKING["arguments"],)),),
    "gradient_cut": (
        told(NO_GRADIENT),
        told(turns.THROUGH),
        told(RECEIVES, seen=("nothing", CUT), only=True, least=2),
        told(gradients.CUT_AT_OUTPUT),
        CUT_IN_PART,
    ),
    "one_row_without_gradient": (told("{what}: wrong gradients in {n} of {all} rows", n=1, beside=told("nothing")),),
    "shard_foreign_gradients": (told(RECEIVES, seen=str(FOREIGN_TOO)),),
    "gradient_not_summed": (told(RECEIVES, seen=OF_ONE_USE, lacks=(OTHERS_SUMMED,)),),
    "gradient_scaled": (
        told(SAME_MULTIPLE, CLAMPED, turns.BATCH_ALIKE, lacks=(norm.OF_ZEROS,)),
        told(RECEIVES, beside=told(MULTIPLE)),
        told(RECEIVES, seen=OF_ONE_USE[0], only=True, beside=told(ONE_ROW)),  # whose number is that of the batch rows
    ),
    "rope_module_dtype": (told(OTHER_DTYPE, case="every_batch_row_and_head"),),
    "rope_heads": (
        told("{dtype} output for shape {shape}: a head is rotated differently beside others than on its own"),
    ),
    "rope_growth_at_es": tuple(of_ratio(rope.CALL, ratio=ratio, s=ratio * MS, k=ratio + 1) for ratio in (1, 3, 5)),
    "rope_ratio_unheard": (RATIO_ONE, of_ratio(rope.CALL, ratio=(3, 5), s=2 * MS, k=2)),
    "rope_growth_beyond_ms": (of_ratio(rope.CALL, ratio=(3, 5), s=2 * MS, k=2),),
    "rope_positions_go_on": (told(rope.CALL_AFTER, beside=told(rope.SHIFTED, rope.TAKEN_FOR)),),
    "rope_static_keeps_growth": tuple(
        of_ratio(rope.CALL_AFTER, s=s, k=range(smallest_even_ratio(s, MS) + 2, max(GROWN) + 1, 2))
        for s in (*(ratio * MS - 1 for ratio in (1, 2, 3)), *GROWS)
    ),
    "rope_dynamic_forgets_growth": tuple(
        of_ratio(rope.CALL_AFTER, ratio=ratio, s=MS - 1, k=ratio, lacks=(rope.SWITCHED,)) for ratio in (1, 2, 3)
    ),
    "rope_dynamic_shrinks": tuple(
        of_ratio(rope.CALL_AFTER, s=s, k=smallest_even_ratio(s, MS), lacks=(rope.ALONE_RIGHT, rope.SWITCHED))
        for s in GROWS
        if s != 4 * MS - 1  # asked after 4 * MS, which has the same ratio
    ),
    "rope_growth_piles_up": (of_ratio(rope.CALL_AFTER, s=GROWS, k=PILED_UP),),
    "rope_growth_of_initial_ratio": (of_ratio(rope.CALL, ratio=range(2, 6)), told(rope.FEW_ROWS, ratio=range(2, 6))),
    "rope_interleaved_tables": (told(rope.INTERLEAVED),),
    "rope_tables_pieced": (told(rope.IN_PARTS),),
    "rope_growth_unregistered": (told(rope.FEW_NUMBERS, length=GROWS),),
    "rotary_overwritten": (told(turns.OVERWRITTEN),),
    "rotary_other_places": (told(turns.PLACED),),
    "rotary_sign_lost": (told(turns.SIGN_LOST),),
    "rotary_part_stands_still": (told(turns.STILL),),
    "rotary_vectors_left_out": (told(turns.LEFT),),
    "rope_tables_scaled": (told(rope.TIMES_ONE_FACTOR),),
    "rope_scaling": (told(rope.SIZES, case="the_ratio_stretches", ratio=(2, 4), lacks=HALF_WRONG),),
    "rope_far_positions": (told(rope.ROUNDED),),
    "rope_base_ignored": (told(rope.OF_BASE),),
    "rope_unscaled_angles": (told(rope.SIZES, case="the_ratio_stretches", lacks=(rope.OF_RATIO, *HALF_WRONG)),),
    "rotary_tables_changed": (
        told(conditions.AFTER, "{what} has a different shape after the call", what=("cos", "sin")),
    ),
    "norm_group_of_one": (told(norm.UNCHANGED, case="dimensions_of_size_one"),),
    "rotary_heads_differ": (told("{dtype} output", case="every_batch_row", lacks=(turns.RIGHT_TOGETHER,)),),
}

# From a cause to clues of which at least one of its cases fits one.
NEEDED: Final[Mapping[str, tuple[Clue, ...]]] = {
    "earlier_call_remembered": (HISTORY, told(STILL_BEFORE), told(turns.OTHER_SINES)),
    "output_reused": (LATER_CHANGES,),  # memory that is reused may still hold what an earlier call wrote
    "output_shape": (SHAPE_DIFFERS,),
    "lookup_rows_scaled": (ROWS_SCALED,),
    "gradient_not_summed": (in_float32(RECEIVES, seen=OF_ONE_USE, only=True),),  # fewer digits have other sums as well
    "shard_foreign_gradients": (in_float32(RECEIVES, seen=str(FOREIGN_TOO)),),  # 16 bits alone may give no zeros
    "norm_gradient_at_zero": (told(OF_INPUT, dtype="float32", beside=told(norm.OF_ZEROS)),),
    "rope_ratio_unheard": (
        told(rope.OF_RATIO, k=1, case="the_ratio_stretches_the_base-cpu-ratio_four"),
        of_ratio(rope.CALL, k=1),
    ),
    "norm_rounded_to_gamma": (told(STEPS, case="a_float32_input_is_not_rounded"),),
    "few_digits": (
        told(STEPS, case="float32_outputs_are_exact", beside=told(PLACES, wrong=0.5)),  # conversions reach all elements
        in_float32(RECEIVES, seen=FEW_DIGITS),
    ),
    "parameter_changed": PARAMETER_CHANGED,
    "not_a_parameter": (NOTHING_REGISTERED,),
    "parameter_dtype": (told(made.DTYPE, made.DTYPE_WHEN),),
    "parameter_size": (OTHER_SIZE, told(OTHER_SHAPE, case="the_table_is_the_only")),
    "rope_dynamic_forgets_growth": (told(rope.CALL_AFTER, ratio=1),),  # in training; the others may show a mode
    "rope_unscaled_angles": (told(rope.SIZES, ratio=1, base=BASE),),
    "init_other_scale": (told(*STRETCHED),),
    "init_after_extra_draw": (told(draws.LATER),),
    "shard_seed_of_later_ranks": (told(draws.RANKS_SEEDS),),
    "init_seed_ignored": (told(*made.DRAWS.values(), seed=range(1, 1 << 32)),),  # seed 0 alone may count as none
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

"""The code of the hidden tests: no fault is passed over in silence, and in their cases all conditions meet."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.hidden import shards
from grader.assignment.hidden.axes import in_turns, plain
from grader.assignment.hidden.norm_gradients import ASKED, MORE, SEVERAL
from grader.assignment.hidden.norm_inputs import FORWARDS, NEAR_THE_ROOT, ROOTS
from grader.assignment.hidden.ropes import BASE
from grader.assignment.hidden.rotations import ASKED as TURNED
from grader.assignment.hidden.rotations import CALLS, GROWING, MOVING, OF_MODULE, SWITCHING, Calls
from grader.assignment.hidden.shards import OWNED, PURITY, SUMS, ZEROS, Call
from grader.assignment.hidden.vocab_calls import LOOKUPS, MANY, SENT

# Each handler raises, or excuses, or only asks what a module does.
FAULTS = {"Crashed", "InvalidReply", "StudentFault", "TimedOut", "WrongAnswer"}
HANDLED = {"excuse", "skip"}
# Functions that ask whether something holds, or word a message; what they find is judged elsewhere.
ASKING = {
    "answered": "chooses lengths for which a new module does not crash",
    "succeeds": "asks whether a request succeeds, to tell which property charges",
    "rotates": "whether the function answers where it has failed in a module, to tell which property charges",
    "_refused": "asks for an exception: none is the fault",
    "are_modes_alike": "asks whether the mode changes outputs, to tell which property charges",
    "conditions_of": "asks whether the mode or a call changes outputs, to tell which property charges",
    "check_redrawn": "the property about the draw charges for a crash after a reset",
    "check_rows_drawn": "tries the module's own rows after the whole table, and raises if neither is right",
    "check_overwritten": "autograd refuses a call that changes its input: the reading's excuse covers it",
    "may_refuse": "a table is a buffer, which the caller moves with the module",
    "ratio_of": "asks which ratio's tables serve a call, to tell which property charges",
    "read_asking": "a reading, which is paid for by what it finds",
    "told_ratio": "words of a message",
    "told_converted": "words of a message",
    "last": "words of a message: which earlier calls a fault needs",
    "picks": "words of a message: the k' of each length",
    "read_shows": "a reading, which is paid for by what it finds",
    "short": "a reading: asks whether tables have too few positions",
    "test_a_16_bit_shard_gives_what_it_gives_in_float32": "notes a reading, which is paid for by what it finds",
    "build_in_16_bits": "builds another module beside: rope_buffers charges for a crash, where tables have 16 bits",
    "as_held": "asks which layout a module holds; ownership charges for a rank that is refused",
}


def handlers(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.ExceptHandler | ast.withitem]]:
    """The handlers of students' faults, and the name of the function around each."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, ast.FunctionDef) else function
        if isinstance(node, ast.ExceptHandler) and names(node.type) & FAULTS:
            yield inside, node
        if isinstance(node, ast.withitem) and "suppress" in names(node.context_expr):
            yield inside, node
        yield from handlers(node, inside)


def names(tree: ast.AST | None) -> set[str]:
    found = [] if tree is None else list(ast.walk(tree))
    return {node.id for node in found if isinstance(node, ast.Name)} | {
        node.attr for node in found if isinstance(node, ast.Attribute)
    }


def is_aloud(handler: ast.ExceptHandler | ast.withitem) -> bool:
    """Whether a handler raises on some path, and excuses or skips on the others."""
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return raises or bool(names(handler) & HANDLED)


def silent(source: str) -> set[str]:
    return {function for function, handler in handlers(ast.parse(source)) if not is_aloud(handler)}


@pytest.mark.parametrize("path", sorted(ASSIGNMENT.hidden.glob("*.py")), ids=lambda path: path.stem)
def test_no_fault_is_passed_over_in_silence(path: Path) -> None:
    assert silent(path.read_text(encoding="utf-8")) <= ASKING.keys()


def test_a_silent_handler_is_found() -> None:
    quiet = "def case(student):\n    try:\n        student.ask()\n    except Crashed:\n        return\n"
    assert silent(quiet) == {"case"}
    assert silent(quiet.replace("return", "student.excuse(fault, CHARGED)")) == set()
    assert silent("def case():\n    with suppress(WrongAnswer):\n        pass\n") == {"case"}


# ── Cases that are drawn by turns ─────────────────────────────────────────────────────────────────────────────────────


def apart(cases: Iterable[Mapping[str, Any]]) -> set[tuple[tuple[str, str], ...]]:
    """Values of two axes, each with its axis, that are in no case together."""
    shown = [{axis: str(value) for axis, value in case.items()} for case in cases]
    axes = {axis: {case[axis] for case in shown} for axis in shown[0]}
    wanted: set[tuple[tuple[str, str], ...]] = {
        ((first, a), (second, b))
        for first, second in combinations(axes, 2)
        for a, b in product(axes[first], axes[second])
    }
    return wanted - {pair for case in shown for pair in combinations(case.items(), 2)}


def test_values_that_never_meet_are_found() -> None:
    cases = [{"dtype": 16, "again": True}, {"dtype": 32, "again": False}, {"dtype": 16, "again": False}]
    assert apart(cases) == {(("dtype", "32"), ("again", "True"))}


def test_by_turns_all_conditions_meet_in_as_many_cases_as_two_axes_have() -> None:
    for count in (2, 3, 4):
        names, cases = in_turns("again", "value", **{f"v{number}": number for number in range(count)}).args
        assert len(cases) == 3 * count
        assert apart(dict(zip(names, case, strict=True)) for case in cases) == set()


def test_in_the_gradients_of_the_norm_all_conditions_meet() -> None:
    cases = [row._asdict() | ({"shape": SEVERAL} if row.shape == MORE else {}) for row in ASKED]
    assert apart(cases) == set()
    assert (("dtype", str(torch.float32)), ("gamma_dtype", str(torch.float32))) in apart(cases[2:])


def test_in_the_calls_of_the_norm_all_conditions_meet() -> None:
    cases = [row._asdict() | {"layout": row.layout is plain} for row in FORWARDS]
    assert apart(cases) == set()
    assert all(apart(cases[:at] + cases[at + 1 :]) for at in range(len(cases)))


def test_in_rotations_all_conditions_meet() -> None:
    assert apart(row._asdict() | {"dim": row.dim == 2, "size": row.size == 1} for row in TURNED) == set()


def test_in_gradients_through_a_module_all_conditions_meet() -> None:
    wide = [
        {axis: value is torch.float32 for axis, value in row._asdict().items() if "dtype" in axis} for row in OF_MODULE
    ]
    kinds = [{"length": row.grows, "ratio": row.ratio == 1} for row in OF_MODULE]
    assert (
        apart(row._asdict() | of_row | kind for row, of_row, kind in zip(OF_MODULE, wide, kinds, strict=True)) == set()
    )


def in_a_row(rows: Iterable[Calls], count: int) -> set[str]:
    """The kinds of so many calls in a row."""
    return {kinds[at : at + count] for kinds in (row.kinds() for row in rows) for at in range(len(kinds) - count + 1)}


def test_in_histories_of_a_module_all_conditions_meet_and_calls_of_all_kinds_follow_each_other() -> None:
    cases = [
        row._asdict() | {"ratio": row.ratio == 1, "base": row.base == BASE, "lengths": "", "between": ""}
        for row in CALLS
    ]
    assert apart(cases) == set()
    assert apart(cases[1:])
    for kind in (False, True):
        assert {row.between for row in CALLS if row.dynamic is kind} == {"", MOVING, SWITCHING}
    assert in_a_row([row for row in CALLS if not row.dynamic], 2) == {*map("".join, product("sel", repeat=2))}
    triples = {*map("".join, product("sel", repeat=3))}
    assert in_a_row([row for row in CALLS if row.dynamic], 3) >= triples - {"sss", "eee", "lll"}


def test_each_kind_of_ratio_grows_to_each_kind_of_length() -> None:
    kinds = ["one" if row.ratio == 1 else "odd" if row.ratio % 2 else "even" for row in GROWING]
    rows = zip(GROWING, kinds, strict=True)
    assert apart({"ratio": kind, "more": row.beyond > 0, "many": row.max_seq_len > 50} for row, kind in rows) == set()


def test_each_kind_of_eps_meets_each_kind_of_group() -> None:
    sizes = [(eps, size) for eps, size, _ in ROOTS.values()] + [
        (eps, size) for eps, group_sizes in NEAR_THE_ROOT.values() for size in group_sizes
    ]
    kinds = [{"eps": "none" if eps == 0 else "large" if eps > 0.1 else "small", "group": size} for eps, size in sizes]
    assert apart(kinds) == set()


def test_in_the_calls_of_an_embedding_all_conditions_meet() -> None:
    cases = [
        {
            "shape": (row.shape[0] > 1, row.shape[1] > 1),
            "rows": row.size[0] > 2**8,
            "features": row.size[1] > 2**11,
            "order": row.order is plain,
            "last": row.last,
            "frozen": row.frozen,
            "training": row.training,
        }
        for row in LOOKUPS
    ]
    assert apart(cases) == set()
    assert apart(cases[2:])


def test_in_the_gradients_of_a_table_all_conditions_meet() -> None:
    cases = [row._asdict() | {"ids": row.ids is MANY} for row in SENT]
    few = {(("ids", "False"), ("batch", "36"))}  # few ids make few rows
    assert apart(cases) == few
    assert apart(cases[1:]) > few


def shown(row: Call | shards.Sent) -> dict[str, Any]:
    """What a row shows: the kind of its rank, which is a first one where it is alone; and if ids are laid out."""
    place = "first" if row.rank == 0 else "last" if row.rank == row.world - 1 else "between"
    return row._asdict() | {"place": place, "rank": 0, "world": 0, "layout": row.layout is plain}


OF_SHARDS = {"owned": OWNED, "zeros": ZEROS, "purity": PURITY, "sums": SUMS, "gradients": shards.SENT}


@pytest.mark.parametrize("calls", OF_SHARDS.values(), ids=OF_SHARDS)
def test_in_the_calls_and_in_the_gradients_of_a_shard_all_conditions_meet(calls: Sequence[Call | shards.Sent]) -> None:
    cases = [shown(row) for row in calls]
    assert apart(cases) == set()
    assert apart(cases[2:])

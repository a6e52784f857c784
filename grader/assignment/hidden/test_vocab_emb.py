"""Task 2. Rows are compared bit for bit; tables are assigned, so that their initialisation does not matter.

``vocab_lookup`` charges for wrong rows. The other properties compare with the rows that the student's module gives for
single ids.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import Layout, in_turns
from grader.assignment.hidden.conditions import (
    AFTER,
    DTYPES_IN_MODES,
    UNFROZEN,
    check_beside,
    check_untouched,
    in_mode,
    mirrored,
    modes_of,
    only_if,
    passed_back,
    succeeds,
)
from grader.assignment.hidden.construction import (
    FIRST_TOO,
    MOMENTS,
    RESET,
    check_defaults,
    check_drawn,
    check_only_parameter,
    check_redrawn,
    check_rows_drawn,
    unseeded,
)
from grader.assignment.hidden.devices import check_on
from grader.assignment.hidden.embeddings import (
    LIKE_WIDE,
    OF_A_VIEW,
    ONE_ROW,
    VIEWS,
    WIDE_RIGHT,
    built,
    check_assigned,
    check_expanded,
    check_ids,
    check_in_16_bits,
    check_output_dtype,
    check_view,
    conditions_of,
    digits,
    upstream_integers,
)
from grader.assignment.hidden.vocab_calls import LOOKUPS, SENT, Lookup, Sent
from grader.assignment.model.draw_words import Draw
from grader.assignment.model.histories import Step, check_history, with_ids
from grader.assignment.model.outputs import numbers
from grader.assignment.model.parameters import drawn, gradient_of, rows_held
from grader.assignment.model.row_words import SAME_FACTOR, check_rows, told_conversion
from grader.assignment.model.rows import (
    NOTHING,
    Rows,
    Shown,
    check_gradient,
    check_like_wide,
    read_rows,
    require_something,
    rows_by_contract,
)
from grader.testing import (
    Crashed,
    Message,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_dtype,
    check_equal,
    check_shape,
    contract_first,
    dtypes,
    integers,
    name,
    normal,
    require,
    say,
    without_excuse,
)

ALL = slice(None)
OF_TABLE = "{shape} ids, table of {size}"
TOLD = 10  # ids that a message lists
OF_GRADIENT = "{dtype} gradient of the table for ids {rows}"
SIZES_MET = "\nThe table has {n} rows; the largest id of this call is {id}."
REFUSES = ("vocab_dtype_and_registration",)  # charges for crashes with a table of another dtype, or ids in columns
FLOAT64 = say("{what} of a float64 table")


def construct(student: Student, table: Tensor, device: str, *, called: bool = False) -> StudentModule:
    """The student's module with the given table, which it gets new or after a call."""
    vocab_size, emb_size = table.shape
    arguments = {"vocab_size": vocab_size, "emb_size": emb_size, "dtype": table.dtype, "device": device}
    return built(student.VocabEmbedding(**arguments), device, called).assign(table)


def check_lookup(
    student: Student,
    table: Tensor,
    ids: Tensor,
    device: str,
    what: Message,
    *,
    training: bool = True,
    frozen: bool = False,
) -> None:
    """Require each id's row."""

    def check(training: bool, frozen: bool, called: bool) -> None:
        try:
            module = construct(student, table, device, called=called).train(training)
            output = (module.freeze() if frozen else module)(ids.to(device))
        except Crashed as crash:
            raise crash.with_more(say(SIZES_MET, n=len(table), id=int(ids.max()))) from None
        try:
            check_rows(output, table[ids], ids, table, what)
        except WrongAnswer as fault:
            raise fault.with_more(told_conversion(output, ids, table)) from None

    def check_in(training: bool, called: bool) -> None:
        only_if(frozen, partial(check, training, called=called), UNFROZEN)

    check_assigned(student, lambda called: in_mode(partial(check_in, called=called), training), "vocab_purity")


def check_lookups(student: Student, device: str, rows: tuple[Lookup, ...]) -> None:
    for row in rows:
        what = say(OF_TABLE, shape=list(row.shape), size=list(row.size))
        table = normal(student.seed, "table", shape=row.size)
        check_lookup(student, table, row.ids(student.seed), device, what, training=row.training, frozen=row.frozen)


@pytest.mark.rubric("vocab_lookup")
def test_every_id_gives_its_own_row(student: Student, device: str) -> None:
    check_lookups(student, device, LOOKUPS[:2])


@pytest.mark.rubric("vocab_lookup")
def test_any_number_of_ids_works(student: Student, device: str) -> None:
    check_lookups(student, device, LOOKUPS[2:])


@pytest.mark.rubric("vocab_lookup")
def test_rows_are_not_rescaled(student: Student, device: str) -> None:
    """With a table in float64, of more digits than float32 holds; in float32, if it refuses or converts that.

    No id comes twice, and they are not in order.
    """
    scales = torch.exp2(torch.arange(-60, 60, 20).double()).unsqueeze(-1)
    table = normal(student.seed, "scales", shape=(6, 5)).double() * (1 + 2.0**-30) * scales
    ids, what = torch.tensor([[4, 0, 3], [1, 5, 2]]), say("very long and short rows")
    try:
        check_lookup(student, table, ids, device, FLOAT64.filled(what=what))
    except StudentFault as fault:
        if isinstance(fault, WrongAnswer) and keeps_dtype(construct(student, table, device), table, ids.to(device)):
            raise
        check_lookup(student, table.float(), ids, device, what)
        student.excuse(fault, REFUSES)


def keeps_dtype(module: StudentModule, table: Tensor, ids: Tensor) -> bool:
    """Whether the table that a module holds, and its output, have the dtype that was asked for."""
    held = module.held(table.numel())
    return module(ids).dtype is table.dtype and (held is None or held.dtype is table.dtype)


@pytest.mark.rubric("vocab_lookup")
def test_ids_beyond_16_bits_give_their_own_rows(student: Student, device: str) -> None:
    """Real vocabularies have more than 65,536 rows; 257 is no bfloat16 number, 2049 no float16, 32768 no int16."""
    table = digits(torch.arange(66_000)).bfloat16()
    ids = torch.tensor([[257, 2049, 32_767, 32_768], [32_769, 65_535, 65_536, 65_999]])
    what = say("table of {n} rows", n=66000)
    try:
        check_lookup(student, table, ids, device, what)
    except Crashed as crash:
        check_lookup(student, table.float(), ids, device, what)
        student.excuse(crash.with_more(WIDE_RIGHT), REFUSES)


@pytest.mark.rubric("vocab_init_and_reset")
@in_turns("again", "moments", standard=(0.0, 1.0), shifted_with_seed_zero=(-3.0, 2.0))
def test_the_table_is_drawn_normally_with_the_seed(
    student: Student, moments: tuple[float, float], dtype: torch.dtype, again: bool, device: str
) -> None:
    (mean, std), init_seed = moments, 0 if moments[0] else 2_000_000_011 + student.seed
    std = 0.0 if mean and dtype is torch.float16 else std  # legal, but falsy: `init_std or 1.0` loses it
    draw = Draw("normal", mean, std)
    told = [say(MOMENTS, mean=f"{mean:g}", std=f"{std:g}"), *[RESET] * again]

    def make() -> StudentModule:
        arguments = {"init_mean": mean, "init_std": std, "init_seed": init_seed, "dtype": dtype, "device": device}
        return student.VocabEmbedding(vocab_size=16, emb_size=12, **arguments)

    def check(beside: bool, again: bool = again, training: bool = True) -> None:
        module = make().train(training)
        if beside:
            student.VocabEmbedding(vocab_size=8, emb_size=4, init_mean=9.0, init_std=0.5, init_seed=3)
        if again:
            module.assign(torch.full((16, 12), 7.0)).reset_parameters()
        check_rows_drawn(drawn_table(module, device), (16, 12), ALL, draw, init_seed, dtype, device, *told)

    try:
        in_mode(lambda training: check_beside(student, partial(check, training=training)), dtype is not torch.float16)
    except Crashed as crash:
        if std and dtype is torch.float32:
            raise
        if std:  # torch.distributions.Normal refuses a deviation of zero, and nothing forbids to draw with it
            student.excuse(crash, REFUSES)
    except WrongAnswer as fault:
        first = FIRST_TOO if again and not succeeds(lambda: check(False, False)) else None
        raise fault.with_more(first, unseeded(student, lambda: drawn_table(make(), device), fault)) from None


def drawn_table(module: StudentModule, device: str) -> Tensor:
    """``[16, 12]``: the table that the module holds, in whatever layout; if it holds none, the rows that ids give."""
    value = drawn(module, 16 * 12)
    if value is None:
        value = module(torch.arange(16, device=device).unsqueeze(0)).reshape(16, 12)
    return value


@pytest.mark.rubric("vocab_dtype_and_registration")
@dtypes
def test_the_table_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    module = student.VocabEmbedding(vocab_size=10, emb_size=6, dtype=dtype, device=device)
    check_shape(check_only_parameter(module, 60, dtype, device), [10, 6], say("the parameter"))
    if dtype is torch.float32:  # one dtype shows it
        check_redrawn(module, 60, device)


def check_table_by_default(student: Student) -> Tensor:
    """Require a table where only the sizes are given; gives it."""
    module = student.VocabEmbedding(vocab_size=16, emb_size=12)
    return check_only_parameter(module, 192, torch.float32, "cpu", say("by default"))


def defaults_by_contract(student: Student) -> None:
    check_drawn(check_table_by_default(student), Draw("normal", 0.0, 1.0), 42, torch.float32, "cpu")


@pytest.mark.rubric("vocab_dtype_and_registration")
@contract_first(defaults_by_contract, "vocab_init_and_reset")
def test_arguments_have_the_defaults_of_the_stub(student: Student) -> None:
    check_table_by_default(student)

    def table(**arguments: Any) -> Tensor:
        return drawn_table(student.VocabEmbedding(vocab_size=16, emb_size=12, **arguments), "cpu")

    check_defaults(table, init_mean=0.0, init_std=1.0, init_seed=42)


def narrow_by_contract(student: Student, dtype: torch.dtype, layout: Layout, device: str) -> None:
    table = normal(student.seed, "table", shape=(10, 6)).to(dtype)
    ids = TO_THE_LAST
    output = construct(student, table, device).train(False)(layout(ids).to(device))
    check_dtype(output, dtype)
    check_rows(output, table[ids], ids, table, say(OF_A_VIEW, dtype=name(dtype)))


# Of 10, not the first and not the last; sorting moves each of the latter.
IDS, UNSORTED = torch.tensor([[1, 3], [8, 3]]), torch.tensor([[5, 1, 3]])
TO_THE_LAST = torch.tensor([[1, 3], [9, 3]])  # by the contract: code may need the last id, or refuse it


@pytest.mark.rubric("vocab_dtype_and_registration")
@contract_first(narrow_by_contract, "vocab_lookup", "vocab_purity")
@VIEWS
def test_a_16_bit_table_gives_the_rows_that_it_gives_in_float32(
    student: Student, dtype: torch.dtype, layout: Layout, device: str
) -> None:
    """The ids of the 16-bit table are not contiguous."""
    table = normal(student.seed, "table", shape=(10, 6)).to(dtype)
    ids = IDS.to(device)
    wide = construct(student, table.float(), device).train(False)(ids)
    require(bool(wide.any()), NOTHING)

    def check(given: Tensor) -> None:
        output = construct(student, table, device).train(False)(given)
        check_dtype(output, dtype)
        check_like_wide(output, wide, table[ids.cpu()], say(LIKE_WIDE, dtype=name(dtype)))

    try:
        check_view(check, ids, layout)
    except WrongAnswer as fault:
        changed, wider = is_changed(construct(student, table, device), table, ids), table.float()
        if not changed and is_steady(lambda: construct(student, wider, device).train(False), UNSORTED.to(device)):
            raise
        student.excuse(fault, ("vocab_purity" if changed else "vocab_lookup",))


def dtype_by_contract(student: Student, dtype: torch.dtype, device: str, ids: Tensor = TO_THE_LAST) -> None:
    sizes = {"vocab_size": 10, "emb_size": 6, "device": device}
    with without_excuse(but=(Crashed,)):
        check_output_dtype(lambda built: student.VocabEmbedding(**sizes, dtype=built), ids.to(device), dtype)


@pytest.mark.rubric("vocab_dtype_and_registration")
@dtypes
@contract_first(dtype_by_contract, "vocab_lookup")
def test_the_output_has_the_dtype_of_the_table(student: Student, dtype: torch.dtype, device: str) -> None:
    dtype_by_contract(student, dtype, device, IDS)


def device_by_contract(student: Student, device: str, ids: Tensor = TO_THE_LAST) -> None:
    with without_excuse(but=(Crashed,)):
        output = construct(student, normal(student.seed, "table", shape=(10, 6)), device)(ids.to(device))
        require(bool(output.any()), NOTHING)
        if output.numel() != 6 * ids.numel():
            check_shape(output, [*ids.shape, 6])
        check_on([output], device, say("the output"))


@pytest.mark.rubric("vocab_mixed_devices")
@contract_first(device_by_contract, "vocab_lookup")
def test_the_output_is_on_the_device_of_the_ids(student: Student, device: str) -> None:
    """All that this property asks for where there is no second device, of a module that does something."""
    device_by_contract(student, device, IDS)


def purity_by_contract(student: Student, dtype: torch.dtype, device: str, largest: int = 8) -> None:
    """Require ids, the largest of which is the last of the table, and the table to stay the same in either mode."""
    table = (normal(student.seed, "table", shape=(9, 4)) * 8).to(dtype)
    ids = integers(student.seed, "ids", 9, shape=(2, 5), low=1, high=8)
    ids[1, 2] = largest
    module = construct(student, table, device)
    with without_excuse(but=(Crashed,)):
        output, *_ = check_untouched(module, ids.to(device), check=partial(check_ids, ids), modes=modes_of(dtype))
        with student.excused("vocab_lookup"):
            check_rows(output, table[ids], ids, table, say("table of {n} rows", n=9))
        require(bool(output.any()), NOTHING)
        if dtype is torch.float32:
            check_expanded(student, module, ids[1:].to(device), *REFUSES)
        if (left := module.held(table.numel())) is not None:
            check_equal(rows_held(left, table, ALL), table, AFTER.filled(what=say("the table")))


@pytest.mark.rubric("vocab_purity")
@DTYPES_IN_MODES
@contract_first(purity_by_contract, "vocab_lookup", *REFUSES)
def test_ids_and_table_stay_as_they_were(student: Student, dtype: torch.dtype, device: str) -> None:
    try:
        purity_by_contract(student, dtype, device, largest=7)
    except Crashed as crash:
        if dtype is torch.float32:
            raise
        student.excuse(crash, REFUSES)


@pytest.mark.rubric("vocab_purity")
def test_earlier_calls_leave_no_trace(student: Student, device: str) -> None:
    """The module may keep a wider copy of its table."""
    check_in_16_bits(
        partial(check_vocab_history, student, device), lambda fault: student.excuse(fault, ("vocab_lookup", *REFUSES))
    )


def check_vocab_history(
    student: Student, device: str, dtype: torch.dtype, excuse: Callable[[StudentFault], None]
) -> None:
    """Require every call of a history to answer as on a new module."""
    first, second = (normal(student.seed, "history", which, shape=(9, 4)).to(dtype) for which in range(2))
    ids = integers(student.seed, "calls", shape=(3, 4, 12), low=1, high=8)  # the first and the last may be refused
    ids[:, 2, 5:7] = torch.tensor([2, 6])
    updates = [Step(update=(table,)) for table in (second, first)]
    alike = Step(other=lambda: construct(student, second, device), alike=True)
    other = Step(other=lambda: student.VocabEmbedding(vocab_size=11, emb_size=4))
    steps = [alike, other, *with_ids(ids.to(device), updates)]
    check_history(lambda tables: construct(student, tables[0], device), steps, (first,), excuse)


def gradients_by_contract(student: Student, dtype: torch.dtype, device: str) -> None:
    table = table_for_gradients(student.seed, dtype)
    check_gradients(student, rows_by_contract(table, ALL), table, device, by_contract=True)


def table_for_gradients(seed: int, dtype: torch.dtype) -> Tensor:
    """``[7, 5]``."""
    return normal(seed, "table", shape=(7, 5)).to(dtype)


@pytest.mark.rubric("vocab_backward")
@contract_first(gradients_by_contract, "vocab_lookup", "vocab_purity")
@dtypes
def test_gradients_add_up_over_repeated_ids(student: Student, dtype: torch.dtype, device: str) -> None:
    table = table_for_gradients(student.seed, dtype)
    rows = read_rows(lambda: construct(student, table, device), torch.arange(7, device=device), table, (1, 7))
    try:
        require_something(rows)
        check_gradients(student, rows, table, device)
    except Crashed:
        if dtype is torch.float32:
            raise
        student.read.append(Shown(narrow=False))
    except WrongAnswer as fault:
        given = UNSORTED.to(device)
        if not rows.only_rows and is_changed(construct(student, table, device), table, given):
            student.excuse(fault, ("vocab_purity",))  # autograd does not see the change
            check_gradients(student, rows_by_contract(table, ALL), table, device, by_contract=True, called=True)
            return
        found = construct(student, table, device).gradients(
            given, upstream=torch.ones(*given.shape, 5).to(device, table.dtype)
        )
        arrives = any(gradient is not None and bool(gradient.any()) for gradient in found.of_parameters)
        if not arrives or is_steady(lambda: construct(student, table, device), given):
            raise
        student.excuse(fault, ("vocab_lookup",))


def is_steady(make: Callable[[], StudentModule], ids: Tensor) -> bool:
    """Whether a module gives the same for ``ids: [1, s]`` twice, and a new one the same for the first id alone."""
    module = make()
    first, again, alone = module(ids).flatten(), module(ids).flatten(), make()(ids[:, :1]).flatten()
    if first.shape != again.shape or not torch.allclose(first, again, rtol=SAME_FACTOR):
        return False
    if len(first) % ids.numel():
        return True  # no rows that an id alone could be compared with
    row = first[: len(first) // ids.numel()]
    return row.shape == alone.shape and torch.allclose(row, alone, rtol=SAME_FACTOR)


def is_changed(module: StudentModule, table: Tensor, ids: Tensor) -> bool:
    """Whether a call changes the table that the module holds."""
    module(ids)
    held = module.held(table.numel())
    return held is not None and not torch.equal(rows_held(held, table, ALL).cpu(), table)


def check_gradients(
    student: Student, rows: Rows, table: Tensor, device: str, *, by_contract: bool = False, called: bool = False
) -> None:
    """Require the gradients that follow from the rows that single ids give, of modules new or after a call.

    Where they follow from a reading, a few ids come in one row, without the last id, whatever becomes of others.
    """
    for row in SENT:
        if row.dtype is table.dtype:
            if by_contract:
                check_sent(student, row, rows, table, device, called=called)
                continue
            make, given = partial(construct, student, table, device), UNSORTED.to(device)
            conditions = conditions_of(make, given, training=row.training, between=row.between)
            plainly = row._replace(ids=row.ids[:7], batch=1, training=True, between=False)
            check_sent(student, plainly, rows, table, device)
            with student.excused("vocab_purity"):  # which charges for a copy of the table that is kept
                check_sent(student, plainly._replace(**conditions), rows, table, device)  # type: ignore[arg-type] # bool


def check_sent(student: Student, row: Sent, rows: Rows, table: Tensor, device: str, *, called: bool = False) -> None:
    """Require the gradient of one call."""
    ids = row.ids + [6, 6] * (row.batch > 1)
    where = torch.tensor([one for one in ids if not bool(rows.given[one].isnan().any())])
    upstream = upstream_integers(student.seed, (len(where), 5), row.dtype, small=not rows.has_digits_of(table))
    what = say(OF_GRADIENT, dtype=name(row.dtype), rows=f"{ids[:TOLD]}"[:-1] + (", …]" if len(ids) > TOLD else "]"))

    def check(batch: int, training: bool) -> None:
        given = where.reshape(batch, -1).to(device)

        def module(held: Tensor) -> StudentModule:
            return construct(student, held, device, called=called).train(training)

        def outputs(held: Tensor) -> Tensor:
            return numbers(module(held)(given), (given.numel(), 5))

        def received(arriving: Tensor, between: bool) -> None:
            of_table = module(table).gradients(given, upstream=arriving.to(device), between=mirrored(given) * between)
            gradient = rows_held(gradient_of(of_table.of_parameters, say("the table")), table, ALL)
            check_gradient(gradient, rows, where, upstream, ALL, what, outputs, table)

        arriving = upstream.reshape(*given.shape, 5)
        passed_back(received, arriving, row.upstream, row.between)

    try:
        in_mode(partial(check, row.batch), row.training)
    except WrongAnswer as fault:
        fine = row.batch > 1 and succeeds(lambda: check(1, row.training))
        raise fault.with_more(ONE_ROW if fine else None) from None

"""Embeddings, asked id by id: the outputs for single ids determine what batches, sums and gradients must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.testing import Crashed, Message, StudentModule, check_close, check_equal, check_shape, require, say

from .row_words import SAME_FACTOR, check_received

ROUNDED = 6.0  # ulp of bfloat16, the coarsest dtype that a multiple of a row is rounded to
NOTHING = say("every output is zero, so this property cannot be checked")


@dataclass(frozen=True)
class Rows:
    """The outputs for single ids.

    Attributes:
        given: ``[ids, e]``, float64: the outputs; NaN where the module crashes.
        source: ``[ids]``: the row of the table that each output is a multiple of; -1 if there is none, or it is zero.
        factor: ``[ids]``: the output divided by that row; 0 if there is none.
        rows: ``v``, how many rows the table has.
        plain: Whether each output is known to be zero or the row of its own id, bit for bit.
        crash: How the module crashes, if it does so for every id.
    """

    given: Tensor
    source: Tensor
    factor: Tensor
    rows: int
    plain: bool = False
    crash: Crashed | None = None

    @property
    def linear(self) -> bool:
        """Whether every output is zero or a row times one factor, the same for all ids but those that are refused."""
        if self.plain:
            return True
        used = self.source >= 0
        same = bool((self.factor[used] - self.factor[used][:1]).abs().le(SAME_FACTOR).all())
        return same and bool((used | (self.given.nan_to_num() == 0).all(-1)).all())

    def gradient(self, ids: Tensor, upstream: Tensor) -> Tensor:
        """``[v, e]``, float64: the table's gradient that follows, for ``ids: [n]`` and ``upstream: [n, e]``."""
        wanted = torch.zeros(self.rows, upstream.shape[-1], dtype=torch.float64)
        known = self.source[ids] >= 0
        weighted = upstream.double() * self.factor[ids].unsqueeze(-1)
        wanted.index_add_(0, self.source[ids][known], weighted[known])
        return wanted


def rows_by_contract(table: Tensor, own: slice) -> Rows:
    """The outputs that the contract asks for: the rows ``own`` of the table, and zeros."""
    ids = torch.arange(len(table))
    owned = (ids >= own.indices(len(table))[0]) & (ids < own.indices(len(table))[1])
    given = table.double() * owned.unsqueeze(-1)
    return Rows(given, ids.where(owned, -1), owned.double(), len(table), plain=True)


def read_rows(module: StudentModule, ids: Tensor, table: Tensor, shape: tuple[int, int]) -> Rows:
    """Ask for each id, in calls of a shape that is judged, too; in a call each if that gives nothing."""
    given = _together(module, ids, table.shape[1], shape)
    crashes: list[Crashed] = []
    if given is None or not bool(given.any()):
        given = torch.stack([_alone(module, identifier, table.shape[1], crashes) for identifier in ids])
    return replace(_sources(given, table.double()), crash=crashes[0] if len(crashes) == len(ids) else None)


def require_something(*ranks: Rows) -> None:
    """Require an output other than zero, on one rank at least; without it, nothing can be judged.

    Raises:
        Crashed: If instead there is a rank that only crashes.
        WrongAnswer: If all outputs are zero.
    """
    if any(bool((rows.given.nan_to_num() != 0).any()) for rows in ranks):
        return
    if crash := next((rows.crash for rows in ranks if rows.crash), None):
        raise crash
    require(False, NOTHING)


def _together(module: StudentModule, ids: Tensor, size: int, shape: tuple[int, int]) -> Tensor | None:
    """``[ids, e]``; the last call is filled up with the first ids again."""
    together = shape[0] * shape[1]
    rows = []
    for first in range(0, len(ids), together):
        asked = ids[torch.arange(first, first + together, device=ids.device) % len(ids)]
        try:
            given = _real(module(asked.reshape(shape)), together, size)
        except Crashed:
            given = None
        if given is None:
            return None
        rows.append(given)
    return torch.cat(rows)[: len(ids)]


def _alone(module: StudentModule, identifier: Tensor, size: int, crashes: list[Crashed]) -> Tensor:
    """``[e]``, NaN where the module crashes or gives something else; a crash is added to ``crashes``."""
    try:
        output = _real(module(identifier.reshape(1, 1)), 1, size)
    except Crashed as crash:
        crashes.append(crash)
        output = None
    return torch.full((size,), torch.nan, dtype=torch.float64) if output is None else output[0]


def _real(output: Tensor, count: int, size: int) -> Tensor | None:
    """The output as ``[count, size]``, whatever its shape; None if it has another number of elements."""
    if not output.is_floating_point() or output.numel() != count * size:
        return None
    return output.detach().cpu().double().reshape(count, size)


def _sources(given: Tensor, table: Tensor) -> Rows:
    """Find for each output the row of the table that it is a multiple of."""
    zero = (given == 0).all(-1)
    if len(given) == len(table) and bool((zero | (given == table).all(-1)).all()):
        return Rows(given, torch.arange(len(table)).where(~zero, -1), (~zero).double(), len(table), plain=True)
    norms = table.square().sum(-1)  # [v]
    factors = given @ table.T / norms  # [ids, v]: the factor with which each row comes nearest
    off = (given.unsqueeze(1) - factors.unsqueeze(-1) * table).abs().amax(-1)  # [ids, v]
    size = given.abs().amax(-1, keepdim=True)
    fits = (off <= SAME_FACTOR * size) & (size > 0)
    source = torch.where(fits.any(-1), off.where(fits, torch.inf).argmin(-1), -1)
    factor = factors.gather(-1, source.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return Rows(
        given, source, torch.where(source >= 0, factor.where((factor - 1).abs() > SAME_FACTOR, 1.0), 0.0), len(table)
    )


def is_steady(make: Callable[[], StudentModule], ids: Tensor) -> bool:
    """Whether new modules give the same for ``ids: [1, s]`` twice, and the first id gives the same alone."""
    first, again, alone = (make()(given).flatten() for given in (ids, ids, ids[:, :1]))
    if first.shape != again.shape or not torch.allclose(first, again, rtol=SAME_FACTOR):
        return False
    if len(first) % ids.numel():
        return True  # no rows that an id alone could be compared with
    row = first[: len(first) // ids.numel()]
    return row.shape == alone.shape and torch.allclose(row, alone, rtol=SAME_FACTOR)


def check_gradient(gradient: Tensor, rows: Rows, ids: Tensor, upstream: Tensor, own: slice, what: Message) -> None:
    """Compare the gradient of the table's rows ``own`` with the gradient that follows from the outputs for single ids.

    They must be equal if outputs are rows, and nearly equal if outputs are multiples of rows. If ``rows`` is not
    linear, the gradient is not compared, since the right one is not known; nor is that of a row whose id gives zero.
    """
    if rows.linear:
        known = (rows.given[: rows.rows] != 0).any(-1)[own]
        expected, gradient = rows.gradient(ids, upstream)[own][known], gradient[known]
        if rows.plain or bool(((rows.factor == 1) | (rows.source < 0)).all()):
            identifiers, sources = torch.arange(rows.rows)[own][known], rows.source[ids]
            check_received(gradient, expected, identifiers, lambda row: upstream.double()[sources == row], what)
        else:
            sizes = rows.gradient(ids, upstream.abs())[own][known].abs()
            check_close(gradient, expected, sizes, torch.bfloat16, ROUNDED, what)


def check_like_wide(output: Tensor, wide: Tensor, exact: Tensor, what: Message) -> None:
    """Require 16-bit outputs to equal the module's float32 outputs: exactly if those are ``exact``, else rounded."""
    if wide.shape != exact.shape:
        return  # the float32 output has a wrong shape, too: the property about rows charges for it
    check_shape(output, exact.shape)
    wide = wide.reshape(output.shape).cpu()
    neither = wide.isnan() & output.cpu().isnan()  # both NaN: the property about rows charges for it
    output, wide = output.cpu().masked_fill(neither, 0), wide.masked_fill(neither, 0)
    if torch.equal(wide.double().reshape(exact.shape), exact.double()):
        check_equal(output, wide, what)
    else:
        check_close(output, wide.double(), wide.double().abs(), output.dtype, ROUNDED, what)

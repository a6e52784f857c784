"""Embeddings, asked id by id: the outputs for single ids determine what batches, sums and gradients must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from grader.testing import (
    Crashed,
    Message,
    Reading,
    StudentModule,
    check_close,
    check_equal,
    check_shape,
    require,
    say,
)

from .differences import check_differences
from .row_words import SAME_FACTOR, check_received

ROUNDED = 6.0  # ulp of bfloat16, the coarsest dtype that a multiple of a row is rounded to
NOTHING = say("every output is zero, so this property cannot be checked")


@dataclass(frozen=True)
class Shown(Reading):
    """What an embedding shows.

    Attributes:
        owned: Whether the ids that a rank owns give their rows.
        foreign: Whether all other ids give zeros.
        narrow: Whether it answers with a table of 16 bits.
    """

    CHARGED_TO: ClassVar = {
        # The sum where an id alone gives its row, the last where the first call has drawn other rows.
        "owned": ("shard_owned_ids", "shard_sum_over_ranks", "shard_purity"),
        "foreign": ("shard_zeros_elsewhere", "shard_owned_ids"),
        "narrow": ("vocab_dtype_and_registration", "shard_registration_and_arguments"),
    }

    owned: bool = True
    foreign: bool = True
    narrow: bool = True


@dataclass(frozen=True)
class Rows:
    """The outputs for single ids.

    Attributes:
        given: ``[ids, e]``, float64: the outputs; NaN where the module crashes.
        source: ``[ids]``: the row of the table that each output is, up to rounding; -1 if there is none, or it is zero.
        rows: ``v``, how many rows the table has.
        crash: How the module crashes, if it does so for every id.
    """

    given: Tensor
    source: Tensor
    rows: int
    crash: Crashed | None = None

    @property
    def only_rows(self) -> bool:
        """Whether every output is zero or a row, but for ids that are refused."""
        return bool(((self.source >= 0) | (self.given.nan_to_num() == 0).all(-1)).all())

    def has_digits_of(self, table: Tensor) -> bool:
        """Whether every output that is a row of the table is so without rounding."""
        known = self.source >= 0
        return torch.equal(self.given[known], table.double()[self.source[known]])

    def gradient(self, ids: Tensor, upstream: Tensor) -> Tensor:
        """``[v, e]``, float64: the table's gradient that follows, for ``ids: [n]`` and ``upstream: [n, e]``."""
        wanted = torch.zeros(self.rows, upstream.shape[-1], dtype=torch.float64)
        known = self.source[ids] >= 0
        return wanted.index_add_(0, self.source[ids][known], upstream.double()[known])


def rows_by_contract(table: Tensor, own: slice) -> Rows:
    """The outputs that the contract asks for: the rows ``own`` of the table, and zeros."""
    ids = torch.arange(len(table))
    owned = (ids >= own.indices(len(table))[0]) & (ids < own.indices(len(table))[1])
    return Rows(table.double() * owned.unsqueeze(-1), ids.where(owned, -1), len(table))


def read_rows(make: Callable[[], StudentModule], ids: Tensor, table: Tensor, shape: tuple[int, int]) -> Rows:
    """Ask for each id, in calls of a shape that is judged, too; if that gives nothing, each of a new module."""
    given = _together(make(), ids, table.shape[1], shape)
    crashes: list[Crashed] = []
    if given is None or not bool(given.any()):
        given = torch.stack([_alone(make(), identifier, table.shape[1], crashes) for identifier in ids])
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
        except Crashed as crash:
            if module.student.is_about_import(crash):
                raise
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
    """Find for each output the row of the table that it is."""
    off, size = (given.unsqueeze(1) - table).abs().amax(-1), given.abs().amax(-1, keepdim=True)  # [ids, v], [ids, 1]
    fits = (off <= SAME_FACTOR * size) & (size > 0)
    return Rows(given, torch.where(fits.any(-1), off.where(fits, torch.inf).argmin(-1), -1), len(table))


def check_gradient(
    gradient: Tensor,
    rows: Rows,
    ids: Tensor,
    upstream: Tensor,
    own: slice,
    what: Message,
    outputs: Callable[[Tensor], Tensor],
    held: Tensor,
) -> None:
    """Compare the gradient of the table's rows ``own`` with the gradient that follows from the outputs for single ids.

    They must be equal if outputs are rows. If not, a float32 gradient is compared with differences of ``outputs``
    around the rows that are ``held``. That of a row whose id gives zero is not compared, unless another id gives it.
    """
    if rows.only_rows:
        known = (rows.given[: rows.rows] != 0).any(-1)
        known[rows.source[rows.source >= 0]] = True
        known = known[own]
        expected, gradient = rows.gradient(ids, upstream)[own][known], gradient[known]
        identifiers, sources = torch.arange(rows.rows)[own][known], rows.source[ids]
        check_received(gradient, expected, identifiers, lambda row: upstream.double()[sources == row], what)
    elif held.dtype is torch.float32 and torch.equal(outputs(held), outputs(held)):
        check_differences(gradient, outputs, held, upstream, what)


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

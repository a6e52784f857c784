"""Task 4: tables of random angles, and how rotations, gradients and growth are asked for: rows of covering arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import BF16, F16, F32, Layout, across, plain, transposed
from grader.assignment.hidden.ropes import BASE, DIM, LONG, MIDDLE, MS
from grader.assignment.oracle import smallest_even_ratio
from grader.testing import Message, kept, name, normal, say, stated, uniform

LONGER = 8 * MS + 1  # here rules choose 9, 10 or 16
OF_MODULE_INPUT = "{dtype} gradient of the input of NTKAwareRoPE, s = {s}, {sizes}"
WITHOUT = "the same calls are right without {condition}"
TWO_OTHERS = "two other modules, one of them with dynamic={dynamic}"
Shape = tuple[int, int, int]  # rows, positions, heads


@kept
def tables(
    seed: int, positions: int, dim: int, dtype: torch.dtype = torch.float32, most: float = 3.0
) -> tuple[Tensor, Tensor]:
    """Cosines and sines ``[s, hd]`` of random angles up to ``most``, both halves alike."""
    angles = uniform(seed, "angles", dim, shape=(positions, dim // 2), low=-most, high=most).repeat(1, 2)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def turns(
    seed: int, key: str, dim: int, dtype: torch.dtype, table_dtype: torch.dtype, shape: Shape
) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors of that shape, and tables that turn all of them alike, by angles far from a half turn.

    Code that fails at a half turn alone, where ``1 + cos`` vanishes, loses the property about pairs and no other.
    """
    cos, sin = (table.repeat(shape[1], 1) for table in tables(seed, 1, dim, table_dtype, most=2.0))
    return normal(seed, key, dim, shape=(*shape, dim)).to(dtype), cos, sin


def turned_about(x: Tensor) -> Tensor:
    """``[b, s, nh, hd]`` numbers with heads outermost in memory, then positions, then rows."""
    return x.permute(2, 1, 0, 3).contiguous().permute(2, 1, 0, 3)


class Asked(NamedTuple):
    """How a rotation is asked for: a value of each axis. Every two values of two axes meet in some row of ``ASKED``."""

    dtype: torch.dtype
    table_dtype: torch.dtype
    shape: Shape  # several of each, one head, or one position
    dim: int  # 2, or more where float32 meets tables of 16 bits: a pair that is rescaled shows in some angles only
    size: float  # of the numbers: 1, or another
    input: Layout
    tables: Layout
    upstream: Layout
    between: bool  # whether a call comes between forward and backward

    def alone(self, shape: Shape) -> Asked:
        """The same dtypes, of one vector of 8 features, or of as many as a function needs to turn any."""
        return self._replace(shape=shape, dim=8, size=max(1.0, self.size), input=plain, tables=plain, upstream=plain)

    @property
    def told(self) -> Message:
        """The sizes and the tables' dtype, for messages."""
        return stated(shape="x".join(map(str, (*self.shape, self.dim))), tables=name(self.table_dtype))

    @property
    def is_laid_out(self) -> bool:
        """Whether input or tables are not contiguous in memory."""
        return (self.input, self.tables) != (plain, plain)

    def tensors(self, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Input, cosines and sines."""
        x, *both = turns(seed, "x", self.dim, self.dtype, self.table_dtype, self.shape)
        return self.input(x * self.size), self.tables(both[0]), self.tables(both[1])

    def arriving(self, seed: int) -> Tensor:
        """The gradient of the output."""
        return normal(seed, "upstream", self.dim, shape=(*self.shape, self.dim)).to(self.dtype)


SEVERAL, ONE_HEAD, ONE_POSITION = (2, 3, 4), (2, 3, 1), (3, 1, 2)
SMALL, LARGE = 2.0**-40, 2.0**17  # of float32; beyond float16, unless code may convert the input to its tables' dtype
SMALL_16 = 2.0**-8
ASKED = (
    Asked(F32, F32, SEVERAL, 2, SMALL, plain, plain, plain, between=True),
    Asked(F32, F16, ONE_HEAD, 64, SMALL, turned_about, transposed, plain, between=False),
    Asked(F32, BF16, ONE_POSITION, 128, 1.0, turned_about, plain, turned_about, between=False),
    Asked(F16, F32, ONE_HEAD, 16, 1.0, plain, transposed, turned_about, between=False),
    Asked(F16, F16, ONE_POSITION, 2, 1.0, plain, plain, plain, between=True),
    Asked(F16, BF16, SEVERAL, 2, SMALL_16, turned_about, transposed, turned_about, between=False),
    Asked(BF16, F32, ONE_POSITION, 4, LARGE, turned_about, transposed, turned_about, between=True),
    Asked(BF16, F16, SEVERAL, 34, 1.0, plain, plain, turned_about, between=False),
    Asked(BF16, BF16, ONE_HEAD, 2, LARGE, plain, plain, plain, between=True),
)


def told_dtypes(row: Asked | AskedOfModule) -> str:
    """The name of a case."""
    return f"{name(row.dtype)}-tables_{name(row.table_dtype)}"


asked = pytest.mark.parametrize("row", ASKED, ids=told_dtypes)


class AskedOfModule(NamedTuple):
    """How a gradient through a module is asked for. Every two values of two axes meet in some row of ``OF_MODULE``."""

    dtype: torch.dtype  # float32, or 16 bits
    table_dtype: torch.dtype  # likewise
    length: int  # of the sequence, within the tables or beyond; then every rule for the ratio chooses the same
    ratio: int  # the initial one: 1, or another
    dynamic: bool
    training: bool
    upstream: Layout
    between: bool

    @property
    def grows(self) -> bool:
        """Whether the sequence is longer than the tables."""
        return self.length > self.ratio * MS

    @property
    def told(self) -> Message:
        """What a message is about."""
        given = stated(ratio=self.ratio, dynamic=str(self.dynamic), dtype=name(self.table_dtype))
        return say(OF_MODULE_INPUT, dtype=name(self.dtype), s=self.length, sizes=given)


OF_MODULE = (
    AskedOfModule(F32, F32, 5, 1, dynamic=False, training=True, upstream=across, between=True),
    AskedOfModule(F32, F32, 11, 1, dynamic=True, training=False, upstream=plain, between=False),
    AskedOfModule(F32, BF16, 17, 3, dynamic=True, training=True, upstream=plain, between=True),
    AskedOfModule(F16, F32, LONG, 3, dynamic=False, training=True, upstream=across, between=False),
    AskedOfModule(BF16, F16, 5, 1, dynamic=False, training=False, upstream=plain, between=False),
    AskedOfModule(BF16, BF16, LONG, 3, dynamic=True, training=False, upstream=across, between=True),
)
asked_of_module = pytest.mark.parametrize("row", OF_MODULE, ids=lambda row: f"{told_dtypes(row)}-s={row.length}")


class Growing(NamedTuple):
    """A sequence beyond the tables of a module, ``times * ms + beyond`` positions long."""

    times: int
    beyond: int
    ratio: int
    dim: int = DIM
    max_seq_len: int = MS  # small, or so large that one position more changes a quotient by little
    base: int = BASE

    @property
    def length(self) -> int:
        """Of the sequence, in a module of the usual sizes."""
        return self.times * MS + self.beyond

    @property
    def told(self) -> str:
        """The name of a case."""
        times, beyond = f"{self.times}*" * (self.times > 1), f"+{self.beyond}" * (self.beyond > 0)
        return f"s={times}ms{beyond}-ratio={self.ratio}"


class Calls(NamedTuple):
    """A history of a module. Every two values of two axes meet in some row of ``CALLS``, but for ``between``.

    Of calls with fewer positions than the tables have, as many, and more, a static module has any two in a row, a
    dynamic one any three that are not alike. After two growths, one call needs more than the first had left.
    """

    ratio: int
    lengths: tuple[int, ...]
    dynamic: bool
    training: bool
    recording: bool = True  # whether gradients are recorded
    base: int = BASE
    dtype: torch.dtype = torch.float32  # of the tables
    beside: bool = False  # whether an equal module was built before, and an unlike one after; both are alive
    between: str = ""  # what is done to the module between two calls: its mode is switched, or it is moved

    @property
    def case(self) -> str:
        """The name of a case."""
        return str(self.ratio) if self.dynamic else f"{self.ratio}-{'train' if self.training else 'eval'}"

    @property
    def others(self) -> Message:
        """The modules beside, for messages."""
        return say(TWO_OTHERS, dynamic=str(not self.dynamic))

    def without(self) -> Iterator[tuple[Message, Calls]]:
        """The history without one of its unusual conditions, each with that condition, for messages."""
        usual = Calls(self.ratio, self.lengths, self.dynamic, self.training)
        conditions: dict[str, Message | str] = {
            "recording": "torch.no_grad()",
            "base": stated(base=self.base),
            "dtype": stated(dtype=name(self.dtype)),
            "beside": self.others,
            "between": say("{what} between these calls", what=self.between),
        }
        for field, told in conditions.items():
            if getattr(self, field) != (value := getattr(usual, field)):
                yield say(WITHOUT, condition=told), self._replace(**{field: value})

    def held(self) -> list[int]:
        """The ratio of the tables that each call needs."""
        ratios = [self.ratio]
        for length in self.lengths:
            kept = ratios[-1] if self.dynamic else self.ratio
            ratios.append(kept if length <= kept * MS else smallest_even_ratio(length, MS))
        return ratios[1:]

    def kinds(self) -> str:
        """Of each call, whether it has fewer positions than the tables (s), as many (e), or more (l)."""
        before = [self.ratio, *self.held()] if self.dynamic else [self.ratio] * len(self.lengths)
        pairs = zip(self.lengths, before, strict=False)
        return "".join("s" if n < held * MS else "e" if n == held * MS else "l" for n, held in pairs)


SWITCHING, MOVING = "train(), eval()", "to(dtype)"
CALLS = (
    Calls(1, (1, LONGER, MIDDLE, 5, 1), dynamic=False, training=False, base=37, dtype=F16, beside=True),
    Calls(
        2, (5, 12, 12, LONG, 11), dynamic=False, training=True, recording=False, base=37, dtype=F16, between=SWITCHING
    ),
    Calls(3, (LONGER, 18, 5, MIDDLE, 18), dynamic=False, training=False, between=MOVING),
    Calls(
        1,
        (6, 1, 6, MIDDLE, 5, LONG, 48, 25, LONGER, 61),
        dynamic=True,
        training=True,
        recording=False,
        between=SWITCHING,
    ),
    Calls(
        2, (5, 1, 12, 11, 5, MIDDLE, 5, 24, 24, 11), dynamic=True, training=False, recording=False, base=37, beside=True
    ),
    Calls(
        3,
        (MIDDLE, LONG, 48, 48, 61, 72, 73, 97, MIDDLE, 5),
        dynamic=True,
        training=True,
        dtype=F16,
        beside=True,
        between=MOVING,
    ),
)


# Ratio 1, odd and even ones meet multiples of small and of large ``ms``, and lengths beyond these.
GROWING = (
    Growing(1, 1, 1, dim=4, max_seq_len=64),
    Growing(2, 0, 1),
    Growing(3, 0, 1, max_seq_len=7, base=500),
    Growing(3, 0, 2),
    Growing(4, 1, 1, base=37, max_seq_len=64),
    Growing(4, 1, 3),
    Growing(5, 1, 4, max_seq_len=64),
    Growing(6, 0, 5),
    Growing(8, 1, 3, dim=4, max_seq_len=64, base=500),
    Growing(12, 0, 3, max_seq_len=64),
    Growing(130, 1, 1),
)

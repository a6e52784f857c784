"""Values between judge and worker: they arrive as they left, and what has no place in the protocol is not sent."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.core.sandbox.channel import Channel
from grader.core.sandbox.protocol import (
    DTYPES,
    MAX_DEPTH,
    MAX_TENSOR_BYTES,
    MAX_TENSORS,
    MAX_TEXT,
    ProtocolError,
    decode,
    encode,
    pack,
    unpack,
)

Ends = tuple[Channel, Channel]


@pytest.fixture
def ends() -> Iterator[Ends]:
    first, second = (Channel(end.detach()) for end in socket.socketpair())
    yield first, second
    first.close()
    second.close()


def sent(ends: Ends, value: Any) -> Any:
    """The value after its journey. Small enough for the socket's buffer, or nobody would read."""
    ends[0].send(pack(value), time.monotonic() + 5)
    return unpack(ends[1].receive(time.monotonic() + 5))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_a_tensor_of_every_dtype_arrives_bit_for_bit(ends: Ends, dtype: torch.dtype) -> None:
    tensor = (torch.arange(12) % 5 - 1).reshape(3, 4).to(dtype)
    arrived = sent(ends, tensor)
    assert arrived.dtype == dtype
    assert torch.equal(arrived, tensor)


def test_bits_that_are_no_number_arrive_too(ends: Ends) -> None:
    tensor = torch.tensor([torch.nan, -0.0, torch.inf, -torch.inf, 1e-45])
    assert torch.equal(sent(ends, tensor).view(torch.int32), tensor.view(torch.int32))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2),
        torch.arange(3.0).expand(2, 5, 3),
        torch.arange(20.0)[3::4],
        torch.tensor(7.0),
        torch.empty(0, 3),
        torch.empty(3, 0, 2).transpose(0, 2),
        torch.arange(4.0).to(torch.complex64).conj(),
        torch.arange(4.0, requires_grad=True),
        torch.nn.Parameter(torch.ones(2)),
    ],
    ids=["transposed", "expanded", "sliced", "scalar", "empty", "empty_strided", "conjugate", "leaf", "parameter"],
)
def test_shape_strides_and_values_arrive(ends: Ends, tensor: torch.Tensor) -> None:
    arrived = sent(ends, tensor)
    assert torch.equal(arrived, tensor)
    assert type(arrived) is torch.Tensor
    assert not arrived.requires_grad
    assert tensor.numel() == 0 or arrived.stride() == tensor.detach().resolve_conj().stride()


trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(trees)
def test_every_plain_value_comes_back_from_its_encoding(value: Any) -> None:
    try:
        tree = encode(value, [])
    except ProtocolError:  # nested too deeply
        return
    assert decode(json.loads(json.dumps(tree, allow_nan=False)), []) == value


def test_not_a_number_comes_back_as_such(ends: Ends) -> None:
    assert str(sent(ends, [float("nan"), float("-inf"), torch.bfloat16, (1,)])) == "[nan, -inf, torch.bfloat16, (1,)]"


class Subclass(torch.Tensor):
    """A tensor that is none."""


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (object(), "a value of type object"),
        ({1: 2}, "a value of type dict"),
        (1 << 63, "an integer of more than 64 bits"),
        ("x" * (MAX_TEXT + 1), "a text of 524289 characters"),
        (torch.ones(2).as_subclass(Subclass), "a value of type Subclass"),
        (torch.eye(2).to_sparse(), "a tensor that is not dense"),
        (torch.ones(2, device="meta"), "a tensor on the device meta"),
        (torch.ones(2).to(torch.float8_e5m2), "a tensor of torch.float8_e5m2"),
        (torch.ones(1).expand(MAX_TENSOR_BYTES // 4 + 1), "which is too large"),
        ([torch.ones(1)] * (MAX_TENSORS + 1), "a message that is too large"),
        ([torch.ones(MAX_TENSOR_BYTES // 8)] * 3, "a message that is too large"),
        (["x" * MAX_TEXT] * 3, "a message that is too large"),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) and len(value) < 60 else "",
)
def test_what_has_no_place_in_the_protocol_is_not_sent(value: Any, rule: str) -> None:
    with pytest.raises(ProtocolError, match=rule):
        pack(value)


def test_nesting_has_an_end() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(ProtocolError, match="nested more than 8 levels deep"):
        encode(deep, [])
    tree: Any = 1
    for _ in range(MAX_DEPTH + 1):
        tree = {"list": [tree]}
    with pytest.raises(ProtocolError, match="nested too deeply"):
        decode(tree, [])


def test_a_tensor_without_its_memory_is_refused_before_anything_is_read() -> None:
    freed = torch.ones(3)
    freed.untyped_storage().resize_(0)
    with pytest.raises(ProtocolError, match="reaches beyond its memory"):
        encode(freed, [])

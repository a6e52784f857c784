"""Values between judge and worker arrive as they left; what breaks a rule is an error with a name, and time is kept."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.core.sandbox.channel import Allowance, Channel, DeadlineExceeded, PeerClosed, Waited
from grader.core.sandbox.protocol import (
    DTYPES,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    MAX_TENSOR_BYTES,
    MAX_TENSORS,
    MAX_TEXT,
    ProtocolError,
    Values,
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


def within(seconds: float) -> Allowance:
    return Allowance(Waited(None), seconds)


def sent(ends: Ends, value: Any) -> Any:
    """The value after its journey. Small enough for the socket's buffer, or nobody would read."""
    ends[0].send(pack(value))
    return unpack(ends[1].receive(within(5)))


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
    assert bool(arrived.storage_offset()) is not arrived.is_contiguous(), "what is cut out begins inside its memory"


trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
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


def received(data: bytes) -> Any:
    """The value in raw bytes from the wire, after which the other end hangs up."""
    ours, theirs = socket.socketpair()
    with contextlib.closing(Channel(ours.detach())) as channel:
        with theirs:
            theirs.sendall(data)
        return unpack(channel.receive(within(5)))


def framed(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def message(tree: Any, entries: Any = (), payload: bytes = b"") -> bytes:
    """The bytes of a message with that header, right or wrong."""
    header = json.dumps([tree, entries]).encode()
    return struct.pack("<I", len(header)) + header + payload


FLOAT = ["float32", "cpu", [2], [1]]


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (struct.pack("<I", MAX_HEADER_BYTES + 1), "too large"),
        (struct.pack("<I", 3) + b"{}}", "a malformed message"),
        (struct.pack("<I", 2) + b"\xff\xff", "a malformed message"),
        (struct.pack("<I", 9999) + b"[" * 9999, "a malformed message"),
        (struct.pack("<I", 3) + b"[1]", "a malformed message"),
        (message(1, {"a": 1}), "too many tensors"),
        (message(1, [FLOAT] * (MAX_TENSORS + 1)), "too many tensors"),
        (message({"tensor": 0}), "a malformed value"),
        (message({"tensor": -1}, [FLOAT], bytes(8)), "a malformed value"),
        (message({"tensor": True}, [FLOAT], bytes(8)), "a malformed value"),
        (message({"pickle": "x"}), "a malformed value"),
        (message({"list": [], "dict": []}), "a malformed value"),
        (message([1, 2]), "a malformed value"),
        (message({"float": "1e999"}), "a malformed value"),
        (message({"dtype": "object"}), "a malformed value"),
        (message(1, ["float32"]), "a malformed tensor header"),
        (message(1, [["float8", "cpu", [2], [1]]]), "unknown dtype"),
        (message(1, [["float32", "meta", [2], [1]]]), "unknown device"),
        (message(1, [["float32", "gpu:00", [2], [1]]]), "unknown device"),
        (message(1, [["float32", "cuda:99", [2], [1]]], bytes(8)), "unknown device"),
        (message(1, [["float32", "cpu", [2], [1, 1]]]), "a malformed tensor shape"),
        (message(1, [["float32", "cpu", [-2], [1]]]), "a malformed tensor shape"),
        (message(1, [["float32", "cpu", [2], [-1]]]), "a malformed tensor shape"),
        (message(1, [["float32", "cpu", [2.0], [1]]]), "a malformed tensor shape"),
        (message(1, [["float32", "cpu", [1] * 17, [1] * 17]]), "a malformed tensor shape"),
        (message(1, [["float32", "cpu", [1 << 40], [0]]]), "a malformed tensor shape"),
        (message(1, [["float32", "cpu", [1 << 25, 1 << 25], [0, 0]]]), "too large"),
        (message(1, [["float32", "cpu", [2], [1 << 25]]]), "too large"),
        (message(1, [["float32", "cpu", [1 << 24], [1]]] * 2), "too large"),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_each_broken_rule_is_an_error_of_the_protocol(data: bytes, rule: str) -> None:
    with pytest.raises(ProtocolError, match=rule):
        received(framed(data))


def test_a_message_that_is_too_large_is_not_read() -> None:
    with pytest.raises(ProtocolError, match="too large"):
        received(struct.pack("<I", MAX_BYTES + 1))


@pytest.mark.parametrize("kept", [0, 3, 4, 10, -1], ids=lambda kept: f"up_to_{kept}")
def test_a_message_that_breaks_off_is_a_peer_that_is_gone(kept: int) -> None:
    with pytest.raises(PeerClosed, match=r"^$"):
        received(framed(message({"tensor": 0}, [FLOAT], bytes(8)))[:kept])


def test_sending_to_nobody_is_a_peer_that_is_gone() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    channel = Channel(ours.detach())
    channel.send(b"hello")
    with pytest.raises(PeerClosed, match=r"^$"):
        channel.receive()
    channel.close()


OURS = (ProtocolError, PeerClosed, DeadlineExceeded)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_value_or_one_of_three_errors(data: bytes) -> None:
    for sent in (data, framed(data)):
        with contextlib.suppress(*OURS):
            received(sent)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["tensor", "list", "x"]), inner),
    max_leaves=8,
)


@given(json_values, json_values, st.binary(max_size=64))
def test_any_json_in_the_header_is_a_value_or_one_of_three_errors(tree: Any, entries: Any, payload: bytes) -> None:
    with contextlib.suppress(*OURS):
        received(framed(message(tree, entries, payload)))


def test_booleans_of_any_byte_are_booleans() -> None:
    tensor = unpack(message({"tensor": 0}, [["bool", "cpu", [4], [1]]], bytes([0, 1, 2, 255])))
    assert tensor.tolist() == [False, True, True, True]


def test_an_allowance_is_for_a_whole_message_and_not_a_pause_between_bytes() -> None:
    """A peer that sends one byte now and then does not keep the judge waiting."""
    ours, theirs = socket.socketpair()
    channel, started, enough = Channel(ours.detach()), time.monotonic(), threading.Event()

    def drip() -> None:
        for byte in struct.pack("<I", 400) + b"[" * 400:
            theirs.send(bytes([byte]))
            if enough.wait(0.02):
                return

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with pytest.raises(DeadlineExceeded, match=r"^$"):
            channel.receive(within(0.3))
        assert time.monotonic() - started >= 0.3
    finally:
        enough.set()
        dripping.join()
        theirs.close()
        channel.close()


def test_several_values_travel_under_one_header() -> None:
    message = Values()
    for value in (torch.ones(2), {"x": [1, torch.zeros(1, dtype=torch.bool)]}, None):
        message.add(value)
    one, two, three = unpack(message.packed())
    assert torch.equal(one, torch.ones(2))
    assert (two["x"][0], two["x"][1].tolist(), three) == (1, [False], None)


def test_a_value_is_sent_as_it_was_when_it_was_added() -> None:
    message, tensor = Values(), torch.zeros(2)
    message.add(tensor)
    tensor += 1
    assert unpack(message.packed())[0].tolist() == [0, 0]


@pytest.mark.parametrize("value", [[torch.ones(1), object()], [torch.ones(1)] * MAX_TENSORS], ids=["type", "number"])
def test_a_value_that_does_not_fit_is_left_out_with_all_its_tensors(value: object) -> None:
    message = Values()
    message.add(torch.tensor(1.0))
    with pytest.raises(ProtocolError, match=r"a value of type object|too large"):
        message.add(value)
    message.add(torch.tensor(2.0))
    assert [tensor.item() for tensor in unpack(message.packed())] == [1, 2]


@pytest.mark.parametrize(("cut", "rule"), [(-1, "truncated"), (None, "trailing bytes")])
def test_a_message_in_memory_has_its_own_length(cut: int | None, rule: str) -> None:
    with pytest.raises(ProtocolError, match=rule):
        unpack(pack(torch.ones(2))[:cut] if cut else pack(torch.ones(2)) + b"x")


def test_two_ends_that_both_have_much_to_say_are_both_heard(ends: Ends) -> None:
    """More than the sockets hold, in both directions at once: one end posts, and goes on sending while it receives."""
    (one, other), much = ends, bytes(1 << 22)
    one.post(much)
    one.post(much)

    def answer() -> None:
        for _ in range(2):
            other.send(much)
            other.receive()

    answering = threading.Thread(target=answer)
    answering.start()
    for _ in range(2):
        assert one.receive(within(60)) == much
    one.send(b"")
    answering.join()


def test_what_a_peer_said_before_it_went_is_heard_though_it_no_longer_listens() -> None:
    ours, theirs = socket.socketpair()
    channel, peer = Channel(ours.detach()), Channel(theirs.detach())
    peer.send(b"changed")
    peer.close()
    channel.post(b"another question")
    assert channel.receive() == b"changed"
    with pytest.raises(PeerClosed, match=r"^$"):
        channel.receive()
    channel.close()


def test_what_a_worker_computes_is_charged_also_while_the_judge_waits_for_a_core() -> None:
    """Else an endless loop takes many times its allowance on a busy machine."""
    waited = Waited(None)
    allowance = Allowance(waited, 60.0)
    waited.computed_s = 59.0
    assert allowance.left_s() > 0
    waited.computed_s = 60.0
    with pytest.raises(DeadlineExceeded):
        allowance.left_s()

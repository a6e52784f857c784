"""Task 4, first part: ``apply_rotary_pos_emb`` turns each pair ``(x_i, x_{i + hd/2})`` by the angle of its position.

A quarter turn has cosine 0 and sine 1 and sends the pair ``(a, b)`` to ``(-b, a)``.
"""

import itertools
from contextlib import contextmanager, suppress

import pytest
import torch

from src.functional import apply_rotary_pos_emb

from .harness.compare import (
    MismatchError,
    assert_close,
    assert_equal,
    assert_kind,
    assert_unchanged,
    forward_limit,
    gradient,
    shaped,
)
from .harness.parameters import gradient_of

BATCH, SEQ, HEADS, HEAD_DIM = 2, 3, 3, 8  # as many heads as positions, so that mixing them up raises no error
HALF = HEAD_DIM // 2
ONE = torch.tensor(1.0)  # the length of the pair (1, 0), and so of what it is turned into


def numbers(*shape):
    """Return small integers, exact in every dtype."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).remainder(17).sub(8).view(shape)


def plain_tables():
    """Return ``cos`` and ``sin`` [s, hd] with a different multiple of 1/32 for every position and pair.

    They are not cosines of anything, which does not matter where an output is compared with another one.
    """
    cos = torch.arange(1.0, 1 + SEQ * HALF).view(SEQ, HALF) / 32
    return cos.repeat(1, 2), (1 - cos).repeat(1, 2)


def angle_tables(seq=SEQ):
    """Return true cosines and sines [s, hd] of a different angle for every position and pair."""
    angles = torch.arange(1.0, 1 + seq * HALF).view(seq, HALF).repeat(1, 2)
    return angles.cos(), angles.sin()


def one_then_zero(*shape):
    """Return ones in the first half of the last dimension and zeros in the second: every pair is (1, 0)."""
    return torch.cat([torch.ones(*shape, HALF), torch.zeros(*shape, HALF)], dim=-1)


@pytest.mark.rubric("rotary_pairing_and_sign")
def test_a_quarter_turn_swaps_the_halves_and_one_sign(dtype, device):
    """With cos = 0 and sin = 1 the halves change places, and the new first half changes its sign, up to rounding.

    cos = 0、sin = 1 时，前后两半互换，新的前一半变号；允许舍入误差。
    """
    x = numbers(BATCH, SEQ, HEADS, HEAD_DIM)
    cos, sin = torch.zeros(SEQ, HEAD_DIM), torch.ones(SEQ, HEAD_DIM)
    output = apply_rotary_pos_emb(x.to(device, dtype), cos=cos.to(device, dtype), sin=sin.to(device, dtype))
    length = torch.hypot(*x.chunk(2, dim=-1)).repeat(1, 1, 1, 2)  # of each feature's pair
    with telling_of_a_right_half(output, -x[..., HALF:], dtype):
        assert_close(output, torch.cat([-x[..., HALF:], x[..., :HALF]], dim=-1), forward_limit(length, dtype))


@contextmanager
def telling_of_a_right_half(output, first_half, dtype):
    """Have the message of a mismatch inside say that the first half is right, if it is."""
    try:
        yield
    except MismatchError as failure:
        if failure.received is not None:
            with suppress(MismatchError):
                assert_close(output[..., :HALF], first_half, forward_limit(first_half, dtype))
                failure.parts = (("second_half", {}), *failure.parts)
        raise


@pytest.mark.rubric("rotary_pairing_and_sign")
def test_ones_then_zeros_return_the_tables(dtype, device):
    """The pair (1, 0) becomes (cos, sin): the first half of the output is the cosine table, the second the sine.

    特征对 (1, 0) 变为 (cos, sin)：输出的前一半是余弦表，后一半是正弦表。
    """
    cos, sin = (table.to(dtype) for table in angle_tables(seq=1))
    x = one_then_zero(1, 1, 1).to(device, dtype)
    output = apply_rotary_pos_emb(x, cos=cos.to(device), sin=sin.to(device))
    assert_close(
        shaped(output, x.shape)[0, :, 0], torch.cat([cos[:, :HALF], sin[:, :HALF]], dim=-1), forward_limit(ONE, dtype)
    )


@pytest.mark.rubric("rotary_pairing_and_sign")
def test_a_rotation_keeps_the_length_of_every_pair(dtype, device):
    """x_i² + x_{i+hd/2}² is the same before and after, whatever the angle.

    不论转多大的角度，x_i² + x_{i+hd/2}² 都不变。
    """
    x = numbers(BATCH, SEQ, HEADS, HEAD_DIM)
    cos, sin = angle_tables()
    output = apply_rotary_pos_emb(x.to(device, dtype), cos=cos.to(device), sin=sin.to(device))
    before = torch.hypot(*x.chunk(2, dim=-1))
    after = torch.hypot(*shaped(output, x.shape).double().chunk(2, dim=-1))
    assert_close(after, before, forward_limit(before, dtype))


@pytest.mark.rubric("rotary_broadcast")
def test_every_token_is_rotated_as_if_it_were_alone(device):
    """Position s takes row s of the tables, in every batch row and head, so the parts equal the whole.

    在每个 batch、每个 head 里，位置 s 都取表的第 s 行，所以分开旋转与一起旋转的结果相同。
    """
    cos, sin = (table.to(device) for table in plain_tables())
    x = numbers(BATCH, SEQ, HEADS, HEAD_DIM).to(device)
    output = apply_rotary_pos_emb(x, cos=cos, sin=sin)
    alone = torch.empty_like(x)
    for batch, seq, head in itertools.product(range(BATCH), range(SEQ), range(HEADS)):
        token = x[batch, seq, head].view(1, 1, 1, HEAD_DIM)
        turned = apply_rotary_pos_emb(token, cos=cos[[seq]], sin=sin[[seq]])
        alone[batch, seq, head] = shaped(turned, token.shape).view(HEAD_DIM)
    assert_equal(output, alone)


@pytest.mark.rubric("rotary_broadcast")
@pytest.mark.parametrize("shape", [(2, 1, 3, 8), (1, 3, 1, 8), (2, 1, 1, 8)], ids=str)
def test_a_dimension_of_one_stays(shape, device):
    """A single position, batch row or head: the output still has the shape of the input.

    只有一个位置、一行 batch 或一个 head 时，输出的形状仍与输入相同。
    """
    x, (cos, sin) = numbers(*shape).to(device), (table.to(device) for table in angle_tables(seq=shape[1]))
    output = apply_rotary_pos_emb(x, cos=cos, sin=sin)
    assert_kind(output, shape=shape, dtype=torch.float32, device=device)


@pytest.mark.rubric("rotary_dtype")
@pytest.mark.parametrize("table_dtype", ["float32", "float16", "bfloat16"], ids="tables-{}".format)
def test_the_output_has_the_dtype_of_the_input(table_dtype, dtype, device):
    """Whatever the tables' dtype, the output has the input's dtype.

    不论表是什么 dtype，输出的 dtype 都与输入相同。
    """
    cos, sin = (table.to(device, getattr(torch, table_dtype)) for table in plain_tables())
    x = numbers(BATCH, SEQ, HEADS, HEAD_DIM).to(device, dtype)
    output = apply_rotary_pos_emb(x, cos=cos, sin=sin)
    assert_kind(output, shape=(BATCH, SEQ, HEADS, HEAD_DIM), dtype=dtype, device=device)


@pytest.mark.rubric("rotary_dtype")
@pytest.mark.parametrize("table_dtype", ["float16", "bfloat16"], ids="tables-{}".format)
def test_short_tables_cost_a_float32_input_no_digits(table_dtype, device):
    """Tables of zeros and ones are exact in 16 bits, too: a quarter turn moves the input's own numbers, in all digits.

    全零或全一的表在 16 位下也精确：转四分之一圈只是移动输入的数，每一位都不变。
    """
    x = numbers(BATCH, SEQ, HEADS, HEAD_DIM) / 3
    cos, sin = torch.zeros(SEQ, HEAD_DIM), torch.ones(SEQ, HEAD_DIM)
    cos, sin = (table.to(device, getattr(torch, table_dtype)) for table in (cos, sin))
    length = torch.hypot(*x.chunk(2, dim=-1))
    output = apply_rotary_pos_emb(x.to(device), cos=cos, sin=sin).double()
    assert_close(torch.hypot(*output.chunk(2, dim=-1)), length, forward_limit(length, torch.float32))


@pytest.mark.rubric("rotary_backward")
def test_the_gradient_turns_back_by_the_same_angle(dtype, device):
    """Backwards, the rotation is by -angle: upstream (1, 0) becomes (cos, -sin), and (0, 1) becomes (sin, cos).

    反向传播时转的是相反的角度：上游梯度 (1, 0) 变为 (cos, -sin)，(0, 1) 变为 (sin, cos)。
    """
    cos, sin = (table.to(dtype) for table in angle_tables(seq=1))
    cosine, sine = cos[:, :HALF], sin[:, :HALF]
    for shift, turned_back in ((0, [cosine, -sine]), (HALF, [sine, cosine])):
        x = numbers(1, 1, 1, HEAD_DIM).to(device, dtype).requires_grad_()
        output = apply_rotary_pos_emb(x, cos=cos.to(device), sin=sin.to(device))
        (output * one_then_zero(1, 1, 1).roll(shift, dims=-1).to(device, dtype)).sum().backward()
        with gradient({"en": "the input", "zh": "输入"}):
            received = gradient_of(x, "input")[0, :, 0]
            assert_close(received, torch.cat(turned_back, dim=-1), forward_limit(ONE, dtype))


@pytest.mark.rubric("rotary_purity")
def test_input_and_tables_stay_as_they_were(dtype, device):
    """Queries are rotated with the same tables as keys, so nothing that was passed in may change.

    query 和 key 用同样的表旋转，所以传入的张量都不能改动。
    """
    x = numbers(BATCH, SEQ, HEADS, HEAD_DIM).to(device, dtype)
    cos, sin = (table.to(device, dtype) for table in plain_tables())
    passed = {"input": x, "cos": cos, "sin": sin}
    before = {name: tensor.clone() for name, tensor in passed.items()}
    apply_rotary_pos_emb(x, cos=cos, sin=sin)
    for name, tensor in passed.items():
        assert_unchanged(tensor, before[name], name)


@pytest.mark.rubric("rotary_dtype")
def test_the_output_is_on_the_device_of_input_and_tables(elsewhere):
    """On a second device (simulated without a GPU) the numbers are the same.

    在第二个设备（没有 GPU 时由模拟代替）上结果相同。
    """
    x, (cos, sin) = numbers(BATCH, SEQ, HEADS, HEAD_DIM), plain_tables()
    expected = apply_rotary_pos_emb(x, cos=cos, sin=sin)
    output = apply_rotary_pos_emb(x.to(elsewhere), cos=cos.to(elsewhere), sin=sin.to(elsewhere))
    assert_kind(output, shape=tuple(x.shape), dtype=torch.float32, device=elsewhere)
    assert_close(output, expected, forward_limit(expected.abs().max(), torch.float32))

"""Task 4, first part: laws of a rotation."""

import itertools

import pytest
import torch

from src.functional import apply_rotary_pos_emb
from src.modeling.pos_emb import NTKAwareRoPE
from tests.harness.compare import assert_close, assert_kind, assert_unchanged
from tests.harness.student import gradient_of

HEAD_DIM = 8
S = 25
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def numbers(*shape, seed=0):
    """Random numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def tables(positions, head_dim=8):
    """Cosines and sines of random angles, both halves alike."""
    angles = numbers(positions, head_dim // 2, seed=7).repeat(1, 2)
    return angles.cos(), angles.sin()


def assert_turned(output, x):
    """What comes out unturned says nothing about a rotation."""
    assert not torch.equal(output, x), "the output is the input: nothing turns"


@pytest.mark.rubric("rotary_pairing_and_sign")
def test_a_rotation_keeps_the_length_of_each_pair():
    """A rotation keeps lengths: x_i ** 2 + x_(i + hd/2) ** 2 is the same before and after, for each pair.

    旋转保持长度：每一对的 x_i ** 2 + x_(i + hd/2) ** 2 在前后相同。
    """
    for head_dim in {2, 4, 64, HEAD_DIM}:
        x = numbers(1, 1, 1, head_dim)
        output = apply_rotary_pos_emb(x, *tables(1, head_dim))
        before, after = (torch.hypot(*pairs.double().chunk(2, dim=-1)) for pairs in (x, output))
        assert_close(after, before, 1e-4 * before)


@pytest.mark.rubric("rotary_pairing_and_sign")
def test_a_pair_of_one_and_zero_turns_into_its_cosine_and_sine():
    """The pair (1, 0) becomes (cos, sin), (0, 1) what is a quarter turn ahead of it, and a sum the sum of both.

    (1, 0) 变为 (cos, sin)；(0, 1) 变为比它再转四分之一圈的结果；两者之和变为两个结果之和。
    """
    for head_dim in {2, 4, 64, HEAD_DIM}:
        half, (cos, sin) = head_dim // 2, tables(1, head_dim)
        ahead = torch.cat([torch.ones(half), torch.zeros(half)]).view(1, 1, 1, head_dim)
        turned = apply_rotary_pos_emb(ahead, cos, sin).flatten()
        assert_close(turned, torch.cat([cos[0, :half], sin[0, :half]]), torch.tensor(1e-4))
        across = apply_rotary_pos_emb(ahead.roll(half, dims=-1), cos, sin).flatten()
        assert_close(across, torch.cat([-turned[half:], turned[:half]]), torch.tensor(1e-4))
        x, y = numbers(1, 1, 1, head_dim), numbers(1, 1, 1, head_dim, seed=1)
        parts = apply_rotary_pos_emb(x, cos, sin) + apply_rotary_pos_emb(y, cos, sin)
        assert_close(apply_rotary_pos_emb(x + y, cos, sin), parts, torch.tensor(1e-4))


@pytest.mark.rubric("rotary_broadcast")
def test_every_vector_is_turned_as_if_it_were_alone():
    """Turn one vector alone, with its position's row of the tables: it comes out as it does among all others.

    只取一个向量，用它所在位置的那一行表单独旋转：结果与和其他向量一起旋转时相同。
    """
    for shape in ((2, 3, 4, 8), (3, 3, 3, 8), (4, 2, 2, 8), (2, 2, 5, 8), (1, 1, 2, 8), (2, 1, 1, 8)):
        x, (cos, sin) = numbers(*shape), tables(shape[1])
        output = apply_rotary_pos_emb(x, cos, sin)
        assert_turned(output, x)
        assert_kind(output, shape=shape, dtype=torch.float32, device=torch.device("cpu"))
        for row, position, head in itertools.product(*map(range, shape[:3])):
            alone = apply_rotary_pos_emb(x[row, position, head].view(1, 1, 1, 8), cos[[position]], sin[[position]])
            assert_close(output[row, position, head], alone.flatten(), torch.tensor(1e-4))


@pytest.mark.rubric("rotary_dtype")
def test_the_output_has_the_dtype_of_the_input():
    """The dtype of the output is that of the input, whatever the tables are; its numbers are those of float32, rounded.

    无论表是什么 dtype，输出的 dtype 都与输入相同；数值就是 float32 的结果舍入之后。
    """
    for dtype, of_tables in itertools.product(DTYPES, DTYPES):
        x, (cos, sin) = numbers(1, 1, 1, 8).to(dtype), (table.to(of_tables) for table in tables(1))
        output = apply_rotary_pos_emb(x, cos, sin)
        assert_turned(output, x)
        assert_kind(output, shape=(1, 1, 1, 8), dtype=dtype, device=torch.device("cpu"))
        wide = apply_rotary_pos_emb(x.float(), cos.float(), sin.float())
        lengths = torch.hypot(*x.double().chunk(2, dim=-1)).repeat(1, 1, 1, 2)
        assert_close(output, wide, 4 * torch.finfo(dtype).eps * lengths)


@pytest.mark.rubric("rotary_dtype")
def test_a_float32_rotation_keeps_lengths_to_the_last_digits():
    """In float32, the length of each pair stays the same in all digits but the last ones.

    float32 下，每一对的长度除最后几位之外完全不变。
    """
    x = numbers(1, 1, 1, 64)
    output = apply_rotary_pos_emb(x, *tables(1, 64))
    before, after = (torch.hypot(*pairs.double().chunk(2, dim=-1)) for pairs in (x, output))
    assert_close(after, before, 2.0**-20 * before)


@pytest.mark.rubric("rotary_backward")
def test_the_gradient_says_how_the_output_moves():
    """A rotation is linear: input times gradient adds up to output times upstream gradient, for each vector.

    旋转是线性的：对每个向量，输入乘以梯度之和等于输出乘以上游梯度之和。
    """
    for dtype in DTYPES:
        cos, sin = (table.to(dtype) for table in tables(1))
        upstream = numbers(1, 1, 1, 8, seed=1).to(dtype)
        for seed in range(2, 10):
            x = numbers(1, 1, 1, 8, seed=seed).to(dtype).requires_grad_()
            cos, sin = (table.detach().requires_grad_() for table in (cos, sin))  # as if they were learnt, too
            output = apply_rotary_pos_emb(x, cos, sin)
            assert_turned(output, x)
            output.backward(upstream)
            by_gradient = (gradient_of(x, "input").double() * x.double()).sum()
            by_output = (output.double() * upstream.double()).sum()
            assert_close(by_gradient, by_output, torch.tensor(64 * torch.finfo(dtype).eps))


@pytest.mark.rubric("rotary_backward")
def test_gradients_flow_through_the_module():
    """The same holds for NTKAwareRoPE, for cached tables and for longer sequences.

    NTKAwareRoPE 也是如此，无论用缓存的表还是更长的序列。
    """
    for length in {7, S}:
        x, upstream = numbers(1, length, 2, 8).requires_grad_(), numbers(1, length, 2, 8, seed=1)
        output = NTKAwareRoPE(dim=8, max_seq_len=8).train(length == 7)(x)
        output.backward(upstream)
        by_gradient = (gradient_of(x, "input") * x).sum(dim=-1)
        assert_close(by_gradient, (output * upstream).sum(dim=-1), torch.tensor(1e-3))


@pytest.mark.rubric("rotary_purity")
def test_a_call_changes_neither_input_nor_tables():
    """Copies of the input and of both tables, made before the call, still equal them after the call.

    调用之前复制输入和两张表，调用之后它们仍然相等。
    """
    for dtype in DTYPES:
        cos, sin = (table.to(dtype) for table in tables(1))
        passed = {"input": numbers(1, 1, 1, 8).to(dtype), "cos": cos, "sin": sin}
        before = {name: tensor.clone() for name, tensor in passed.items()}
        assert_turned(apply_rotary_pos_emb(*passed.values()), before["input"])
        for name, tensor in passed.items():
            assert tensor.shape == before[name].shape, name
            assert_unchanged(tensor, before[name], name)

"""Task 4, second part: laws of the tables, seen through what they do to the pair (1, 0)."""

import itertools

import pytest
import torch

from src.modeling.pos_emb import NTKAwareRoPE
from tests.harness.compare import assert_close, assert_equal, assert_kind, assert_unchanged

DIM = 8
MAX_SEQ_LEN = 8
BASE = 10000
RATIO = 2
S = 25
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def turns(module, length, dim=8):
    """The cosines and sines of positions 0 to ``length - 1`` that a module uses, as ``[s, hd]``."""
    ahead = torch.cat([torch.ones(1, length, 1, dim // 2), torch.zeros(1, length, 1, dim // 2)], dim=-1)
    return module(ahead)[0, :, 0]


def build(ratio=1, **arguments):
    """Build a module for eight positions of training."""
    return NTKAwareRoPE(dim=8, max_seq_len=8, ratio=ratio, **arguments)


def speeds(ratio, base=BASE):
    """By how much each pair turns from position 0 to position 1."""
    module = NTKAwareRoPE(dim=DIM, max_seq_len=MAX_SEQ_LEN, base=base, ratio=ratio)
    cos, sin = turns(module, 2, DIM)[1].double().chunk(2)
    return torch.atan2(sin, cos)


def assert_same(received, expected):
    """Compare tables."""
    assert_close(received, expected, torch.tensor(1e-4))


def assert_steady(module, length, limit):
    """From one position to the next every pair turns by the same angle."""
    cos, sin = turns(module, length, 16).double().chunk(2, dim=-1)
    exact = NTKAwareRoPE(dim=16, max_seq_len=4200, ratio=2)
    step = turns(exact, 2, 16)[1].double().chunk(2)
    next_cos, next_sin = cos[:-1] * step[0] - sin[:-1] * step[1], sin[:-1] * step[0] + cos[:-1] * step[1]
    assert_close(cos[1:], next_cos, torch.tensor(limit))
    assert_close(sin[1:], next_sin, torch.tensor(limit))


@pytest.mark.rubric("rope_base")
def test_a_ratio_of_k_slows_the_last_pair_down_by_k_and_the_first_not_at_all():
    """Compare k with 1: the first pair turns as fast, the last one k times as slow, the others steadily between them.

    与 k = 1 相比：第一对转得一样快，最后一对慢 k 倍，其余各对在两者之间均匀过渡。
    """
    for base in (64, BASE):
        plain = speeds(1, base)
        assert_close(plain[0], torch.tensor(1.0), torch.tensor(1e-4))
        assert_close(plain[1] ** (DIM // 2), plain[0] / base, DIM * 1e-4 / torch.tensor(base))
    for ratio in {2, 4, RATIO}:
        stretched = speeds(ratio)
        assert_close(stretched[0], plain[0], torch.tensor(1e-4))
        assert_close(ratio * stretched[-1], plain[-1], 1e-4 * plain[-1])
        steps = stretched[1:] / stretched[:-1]
        assert_close(steps, steps[:1].expand_as(steps), 1e-4 * steps)


@pytest.mark.rubric("rope_base")
def test_near_positions_turn_by_the_same_angle_each():
    """From one position to the next every pair turns by the same angle, from position 0 on.

    从位置 0 开始，每到下一个位置，每一对都再转同样的角度。
    """
    assert_steady(NTKAwareRoPE(dim=16, max_seq_len=4200, ratio=2), 32, 1e-4)


@pytest.mark.rubric("rope_exact_angles")
def test_every_position_turns_by_the_same_angle_more():
    """From one position to the next every pair turns by the same angle, far out and with 16-bit tables, too.

    从一个位置到下一个位置，每一对都再转同样的角度；很远的位置、16 位的表也是如此。
    """
    for dtype in DTYPES:
        limit = 2e-3 + 2 * (torch.finfo(dtype).eps if dtype != torch.float32 else 0)
        assert_steady(NTKAwareRoPE(dim=16, max_seq_len=4200, ratio=2, dtype=dtype), 4112, limit)


@pytest.mark.rubric("rope_exact_angles")
def test_far_out_the_last_of_two_pairs_keeps_its_pace():
    """With dim = 4, the last pair at position sqrt(base) * k * n stands where the first one stands at n.

    dim = 4 时，最后一对在位置 sqrt(base) * k * n 处的角度，等于第一对在位置 n 处的角度。
    """
    for dtype in DTYPES:
        limit = torch.tensor(2e-3 + 2 * (torch.finfo(dtype).eps if dtype != torch.float32 else 0))
        for base, ratio, slower in ((16, 1, 4), (16, 2, 8), (10000, 2, 200)):
            module = NTKAwareRoPE(dim=4, max_seq_len=4200, base=base, ratio=ratio, dtype=dtype)
            (first_cos, last_cos), (first_sin, last_sin) = turns(module, 4112, 4).T.view(2, 2, -1)
            assert_close(first_sin[1], torch.tensor(1.0).sin(), limit)
            for first, last in ((first_cos, last_cos), (first_sin, last_sin)):
                assert_close(last[::slower], first[: len(last[::slower])], limit)


@pytest.mark.rubric("rope_base")
def test_leaving_an_argument_out_means_its_default():
    """A module without an argument does the same as one that is given the stub's default.

    不写某个参数，与写上 stub 中的默认值，结果相同。
    """
    options = {"base": 10000, "ratio": 1, "dynamic": False}
    for left_out in options:
        without = NTKAwareRoPE(dim=8, max_seq_len=8, **{key: own for key, own in options.items() if key != left_out})
        given = NTKAwareRoPE(dim=8, max_seq_len=8, **options)
        for length in (7, 25, 7):
            assert_same(turns(without, length), turns(given, length))


@pytest.mark.rubric("rope_boundary")
def test_up_to_es_positions_the_tables_do_not_change():
    """Up to es = ms * k positions, a longer sequence begins as a short one does, and the ratio stays as it was given.

    在 es = ms * k 个位置以内，长序列的开头与短序列相同，ratio 保持给定的值。
    """
    for ratio, dynamic in itertools.product((1, 2, 3, 5), (False, True)):
        long = turns(NTKAwareRoPE(dim=8, max_seq_len=64, ratio=ratio), 64)  # so long that nothing has to be made anew
        module = build(ratio, dynamic=dynamic)
        for length in (1, 7, 8, 8 * min(ratio, 2), 8 * ratio - 1, 8 * ratio):
            assert_same(turns(module, length), long[:length])
            assert_same(turns(build(ratio, dynamic=dynamic), length), long[:length])


@pytest.mark.rubric("rope_boundary")
def test_an_odd_ratio_stays_odd():
    """The last pair of a new module with k = 3 turns 3 times as slow as with k = 1, not 4 times.

    以 k = 3 新建的模块，最后一对比 k = 1 时慢 3 倍，而不是 4 倍。
    """
    for ratio in (3, 5):
        plain, stretched = (turns(build(own), 2)[1].double() for own in (1, ratio))
        assert_close(
            ratio * torch.atan2(stretched[7], stretched[3]), torch.atan2(plain[7], plain[3]), torch.tensor(1e-5)
        )


@pytest.mark.rubric("rope_boundary")
def test_every_batch_row_and_head_is_turned_and_keeps_its_dtype():
    """One vector alone comes out as it does among other rows and heads, in the dtype and the shape of the input.

    单独一个向量的结果与它在其他 batch 行和 head 之间时相同；dtype 和形状与输入一致。
    """
    for dtype, heads in itertools.product(DTYPES, (3, 5)):
        x = torch.randn(2, 5, heads, 8, generator=torch.Generator().manual_seed(0))
        output = build()(x.to(dtype))
        assert_kind(output, shape=(2, 5, heads, 8), dtype=dtype, device=torch.device("cpu"))
        for row, head in itertools.product(range(2), range(heads)):
            alone = build()(x[row : row + 1, :, head : head + 1].to(dtype))
            limit = torch.tensor(8 * torch.finfo(dtype).eps)
            assert_close(output[row, :, head], alone[0, :, 0], limit)


@pytest.mark.rubric("rope_smallest_even_ratio")
def test_a_longer_sequence_is_served_by_the_smallest_even_ratio():
    """Build a module with the smallest even k' for which ms * k' reaches s: a smaller one answers alike, for each s.

    新建一个模块，ratio 取满足 ms * k' 不小于 s 的最小偶数 k'：对每个 s，较小的模块给出同样的结果。
    """
    for ratio, length in itertools.product((1, 3), sorted({*range(9, 82), S})):
        if length <= 8 * ratio:
            continue  # the tables are long enough
        smallest = next(even for even in itertools.count(2, 2) if 8 * even >= length)
        for dynamic in (False, True):
            if length in (40, S):  # another base stretches in the same way
                assert_same(turns(build(ratio, base=500), length), turns(build(smallest, base=500), length))
            module = build(ratio, dynamic=dynamic)
            assert_same(turns(module, length), turns(build(smallest), length))
            if dynamic:
                rows = {size for buffer in module.buffers() for size in buffer.shape}
                assert 8 * smallest in rows, f"s = {length}: buffers {sorted(rows)}"


@pytest.mark.rubric("rope_static")
def test_a_static_module_forgets_a_long_sequence():
    """Call it with a short sequence, a long one, and the same short one again: each answers as a new module does.

    依次用短序列、长序列、同一个短序列调用：每次的结果都与新建的模块相同。
    """
    for ratio in {1, 3, RATIO}:
        used = build(ratio, dynamic=False)
        for length, mode in ((7, True), (57, True), (7, False), (25, False), (57, True), (7, True)):
            assert_same(turns(used.train(mode), length), turns(build(ratio, dynamic=False), length))
    assert not torch.equal(turns(build(), 57)[:7], turns(build(), 7)), "s = 57"


@pytest.mark.rubric("rope_dynamic")
def test_a_dynamic_module_keeps_what_it_grew_to():
    """After a long sequence, a shorter one is turned by the first rows of the same tables, in either mode.

    长序列之后，较短的序列用同样这些表的前几行旋转，两种模式都如此。
    """
    for ratio, mode in itertools.product({1, 3, RATIO}, (True, False)):
        module = build(ratio, dynamic=True).train(mode)
        for grown in (25, 57, 73):
            long = turns(module, grown)
            assert_same(long, turns(build(ratio, dynamic=True), grown))
            for length in (7, 24, grown - 2):
                assert_same(turns(module, length), long[:length])
    assert not torch.equal(turns(build(dynamic=True), 57)[:7], turns(build(), 7)), "s = 57"


@pytest.mark.rubric("rope_dynamic")
def test_growing_in_steps_ends_where_one_step_would():
    """Only the longest sequence counts, not the way there: the buffers have as many rows, es = ms * k'.

    只有最长的序列有影响，与过程无关：buffer 的行数都是 es = ms * k'。
    """
    for lengths in ((9, 17, 33), (25, 31), (31, 57), (57, 7, 25)):
        module = build(dynamic=True)
        for length in lengths:
            turns(module, length)
        smallest = next(even for even in itertools.count(2, 2) if 8 * even >= max(lengths))
        rows = {size for buffer in module.buffers() for size in buffer.shape}
        assert 8 * smallest in rows, f"s = {lengths}: buffers {sorted(rows)}"


@pytest.mark.rubric("rope_buffers")
def test_the_tables_are_buffers_that_state_dict_does_not_list():
    """state_dict() lists no table, before a long sequence and after it; the buffers hold them in the dtype asked for.

    无论长序列之前还是之后，state_dict() 都不列出任何表；buffer 里就是这些表，dtype 按参数指定。
    """
    for dynamic, dtype, ratio in itertools.product((False, True), DTYPES, (1, 3)):
        module = build(ratio, dynamic=dynamic, dtype=dtype)
        for length in (7, 25, 57):
            shown = turns(module, length)
            assert not module.state_dict(), f"state_dict(): {list(module.state_dict())}"
            assert not list(module.parameters()), "parameters()"
            held = sum(buffer.numel() * (2 if buffer.is_complex() else 1) for buffer in module.buffers())
            assert held >= (length if dynamic else 8 * ratio) * 8, f"s = {length}: buffers of {held} numbers"
            assert all(buffer.device.type == "cpu" for buffer in module.buffers()), "buffers on another device"
            assert_equal(shown, shown.to(dtype))


@pytest.mark.rubric("rope_buffers")
def test_calls_change_no_input_and_leave_no_trace():
    """A copy of the input still equals it after the call; after calls with other inputs, a module answers as before.

    调用之前复制输入，调用之后两者仍然相等；处理过别的输入之后，结果与之前相同。
    """
    calls = [torch.randn(2, 5, 5, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(2)]
    for dynamic in (False, True):
        used = build(dynamic=dynamic)
        for x in (calls[0], calls[0].half(), calls[0].bfloat16(), calls[1], calls[0]):
            before = x.clone()
            output = used(x)
            assert_unchanged(x, before, "input")
            assert_equal(output, build(dynamic=dynamic)(before))
        assert_equal(used.eval()(calls[0]), build(dynamic=dynamic)(calls[0]))
        used, long = build(dynamic=dynamic), calls[0].repeat(1, 6, 1, 1)
        NTKAwareRoPE(dim=16, max_seq_len=12, base=16, ratio=3)  # which changes no other
        assert_equal(used(long), build(dynamic=dynamic)(long))

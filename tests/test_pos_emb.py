"""Task 4, second part: NTKAwareRoPE.

``tables_of`` rotates the pair (1, 0) at every position, which shows the cosines and sines that the module used without
knowing how it stores them. Apart from the first property, the tests compare a module with another one, so that a
mistake in the angles fails only the tests about angles.
"""

import pytest
import torch

from src.modeling.pos_emb import NTKAwareRoPE

from .harness.compare import (
    MismatchError,
    about,
    assert_close,
    assert_kind,
    assert_unchanged,
    forward_limit,
    gradient,
    gradient_limit,
    shaped,
)
from .harness.hints import ABOUT_DEFAULTS
from .harness.parameters import gradient_of, listing

DIM, TRAINED = 4, 4  # hd and ms: with hd = 4 and base 10000, theta is 1 and 0.01
THETAS = torch.tensor([1.0, 0.01])


def build(ratio=1, *, device, **arguments):
    """Build a small module; es is 4 * ratio."""
    return NTKAwareRoPE(**{"dim": DIM, "max_seq_len": TRAINED, "ratio": ratio, "device": device, **arguments})


def tables_of(rope, seq, device, dim=DIM):
    """Return the cosines and sines of positions ``0 .. seq - 1`` that the module uses, as ``[seq, hd]``."""
    pairs = torch.cat([torch.ones(1, seq, 1, dim // 2), torch.zeros(1, seq, 1, dim // 2)], dim=-1)
    return shaped(rope(pairs.to(device)), pairs.shape)[0, :, 0]


def table_limit(angles, dtype=torch.float32):
    """A float32 angle is off by a few parts in 2**24, a 16-bit cosine by half an ulp more."""
    rounding = 0.0 if dtype == torch.float32 else 0.5 * torch.finfo(dtype).eps
    return 32 * 2.0**-24 * (1 + angles.double()) + rounding


def tables(seq, ratio=1, trained=TRAINED, after=""):
    """Name the tables that a message is about, with all that is needed to see them again."""
    sizes = f"s = {seq}, ms = {trained}, k = {ratio}"
    after_en, after_zh = (f" after {after}", f"（在 {after} 之后）") if after else ("", "")
    return about({"en": f"the cosines and sines for {sizes}{after_en}", "zh": f"{sizes} 时的余弦和正弦{after_zh}"})


def assert_angles(received, thetas, dtype=torch.float32):
    """Check that position ``n`` turned pair ``i`` by ``n * thetas[i]``."""
    angles = torch.outer(torch.arange(len(received)).double(), thetas.double()).to(received.device)
    expected = torch.cat([angles.cos(), angles.sin()], dim=-1)
    assert_close(received, expected, table_limit(torch.cat([angles, angles], dim=-1), dtype))


def assert_same_tables(received, expected):
    """Check that two modules, or two calls, used the same angles."""
    angles = torch.outer(torch.arange(len(expected)), THETAS.repeat(2)).to(expected.device)
    assert_close(received, expected, table_limit(angles))


NOT_STRETCHED = pytest.mark.hint(
    en="With k = 1 nothing is stretched. Is the first wrong value in row 0? Then which position does that row have? "
    "If it is in a later row: which theta does each column use, and could it be another module's, from outside self?",
    zh="k = 1 时没有任何拉伸。第一个不对的值在第 0 行吗？那么这一行用的是哪个位置？如果在后面的行：每一列用的是哪个 "
    "theta，会不会是另一个模块的（放在了 self 之外）？",
)
OTHER_BASE = pytest.mark.hint(
    en="Are these the angles of base 16, or of a module with another base? Where does base enter the table, and if "
    "modules share tables (a class attribute, a global, lru_cache), does the lookup go by base and ratio, too?",
    zh="这是 base = 16 的角度，还是另一个 base 不同的模块的角度？base 从哪里进入表？如果模块之间共用表"
    "（类属性、全局变量、lru_cache），查表时是否也看 base 和 ratio？",
)


@pytest.mark.rubric("rope_base")
@pytest.mark.parametrize(
    ("base", "ratio", "thetas"),
    [
        pytest.param(10000, 1, [1, 0.1, 0.01, 0.001], marks=NOT_STRETCHED),
        pytest.param(16, 1, [1, 1 / 2, 1 / 4, 1 / 8], marks=OTHER_BASE),
        (16, 8, [1, 1 / 4, 1 / 16, 1 / 64]),
        (16, 4, [1, 1 / 16]),
    ],
    ids=["base-10000-ratio-1", "base-16-ratio-1", "base-16-ratio-8", "base-16-ratio-4-hd-4"],
)
def test_angles_follow_the_stretched_base(base, ratio, thetas, device):
    """The first theta is 1; k stretches the base until the last is divided by k. Here base = {base} and k = {ratio}.

    第一个 theta 总是 1；k 拉伸 base，使最后一个恰好除以 k。这里 base 是 {base}，k 是 {ratio}。
    """
    dim = 2 * len(thetas)
    rope = NTKAwareRoPE(dim=dim, max_seq_len=8, base=base, ratio=ratio, device=device)
    with tables(8 * ratio - 1, ratio, 8):
        assert_angles(tables_of(rope, 8 * ratio - 1, device, dim=dim), torch.tensor(thetas))


@pytest.mark.rubric("rope_exact_angles")
@pytest.mark.parametrize("table_dtype", ["float16", "bfloat16"], ids="tables-{}".format)
def test_angles_are_computed_in_float32_whatever_dtype_the_tables_have(table_dtype, device):
    """There is no 257 in bfloat16 and no 2049 in float16, so positions are rounded, and angles even sooner.

    bfloat16 里没有 257，float16 里没有 2049，所以位置会被舍入，角度更早就会被舍入。
    """
    rope = build(max_seq_len=2100, dtype=getattr(torch, table_dtype), device=device)
    with tables(2064, trained=2100):
        assert_angles(tables_of(rope, 2064, device), THETAS, getattr(torch, table_dtype))


@pytest.mark.rubric("rope_exact_angles")
@pytest.mark.parametrize("table_dtype", ["float32", "float16", "bfloat16"], ids="tables-{}".format)
def test_far_positions_turn_by_the_stretched_angles(table_dtype, device):
    """With hd = 4, base 16 and k = 4, theta is 1 and 1/16, near and far: at 2048 the second pair turns by 128.

    hd = 4、base 16、k = 4 时 theta 是 1 和 1/16，近处远处都如此：在位置 2048，第二对转 128。
    """
    dtype = getattr(torch, table_dtype)
    rope = build(4, base=16, max_seq_len=1050, dtype=dtype, device=device)
    with tables(4112, 4, 1050):
        assert_angles(tables_of(rope, 4112, device), torch.tensor([1, 1 / 16]), dtype)


@pytest.mark.rubric("rope_base")
def test_scores_depend_on_the_distance_only(device):
    """The point of rotary embeddings: q at n and k at m score alike wherever n - m is the same.

    旋转位置编码的意义所在：只要 n - m 相同，位置 n 的 q 与位置 m 的 k 的得分就相同。
    """
    rope = build(ratio=4, device=device)
    query, key = torch.tensor([[3.0, -1, 2, 5], [1, 4, -2, 2]]).view(2, 1, 1, DIM).to(device)
    queries, keys = (rope(vector.expand(1, 16, 1, DIM))[0, :, 0] for vector in (query, key))
    scores = queries @ keys.T  # [n, m]
    limit = 2 * 38 * table_limit(torch.tensor(15))  # a sum of products, 38 at most, whose factors may both be off
    assert_close(scores[1:, 1:], scores[:-1, :-1], limit)


@pytest.mark.rubric("rope_base")
def test_forward_returns_only_the_embedded_input(device):
    """A single tensor with the shape, dtype and device of the input; no tables are returned.

    只返回一个张量，形状、dtype 和 device 都与输入相同；不附带返回表。
    """
    x = torch.ones(2, 3, 5, DIM, device=device)
    assert_kind(build(device=device)(x), shape=(2, 3, 5, DIM), dtype=torch.float32, device=device)


@pytest.mark.rubric("rope_base")
@pytest.mark.hint(**ABOUT_DEFAULTS)
@pytest.mark.parametrize(("argument", "value"), [("base", 10000), ("ratio", 1), ("dynamic", False)], ids=str)
def test_leaving_an_argument_out_means_its_default(argument, value, device):
    """A module without {argument} does the same as one that is given the stub's default, {argument}={value}.

    不写 {argument}，与写上模板中的默认值 {argument}={value}，结果相同。
    """
    sizes = {"dim": DIM, "max_seq_len": TRAINED, "device": device}
    without, given = (NTKAwareRoPE(**sizes, **chosen) for chosen in ({}, {argument: value}))
    for seq in (TRAINED, 9, TRAINED):
        with tables(seq):
            assert_same_tables(tables_of(without, seq, device), tables_of(given, seq, device))


@pytest.mark.rubric("rope_boundary")
@pytest.mark.parametrize("ratio", [1, 2, 3])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_up_to_es_positions_the_tables_do_not_change(dynamic, ratio, device):
    """The tables have es = ms * k rows, and each s up to es uses them, so all begin alike. Here ms = 4, k = {ratio}.

    表有 es = ms * k 行，不超过 es 的每个 s 都用这张表，所以开头都一样。这里 ms = 4、k = {ratio}。
    """
    rope = build(ratio, dynamic=dynamic, device=device)
    short = tables_of(rope, TRAINED, device)
    for seq in range(TRAINED, TRAINED * ratio + 1):
        with tables(seq, ratio):
            assert_same_tables(tables_of(rope, seq, device)[:TRAINED], short)


@pytest.mark.rubric("rope_boundary")
def test_an_odd_ratio_stays_odd(device):
    """The last pair of a new module with k = 3 turns 3 times as slowly as with k = 1, not 4 times.

    以 k = 3 新建的模块，最后一对比 k = 1 时慢 3 倍，而不是 4 倍。
    """
    plain, stretched = (tables_of(build(ratio, device=device), 2, device)[1].double().cpu() for ratio in (1, 3))
    angles = [torch.atan2(turned[3], turned[1]) for turned in (plain, stretched)]
    with tables(2, 3):
        assert_close(3 * angles[1], angles[0], table_limit(angles[0]))


@pytest.mark.rubric("rope_boundary")
@pytest.mark.parametrize("heads", [3, 4])
def test_every_row_and_head_is_turned_as_if_it_were_alone(heads, dtype, device):
    """Position s turns by the same angle in every batch row and head, also where there are as many heads as positions.

    在每个 batch 行和 head 里，位置 s 都转同样的角度，head 与位置一样多时也是如此。
    """
    x = torch.arange(2.0 * 4 * heads * DIM).view(2, 4, heads, DIM).remainder(7).sub(3).div(3).to(device, dtype)
    output = build(device=device)(x)
    assert_kind(output, shape=tuple(x.shape), dtype=dtype, device=device)
    alone = [build(device=device)(head) for row in x.split(1) for head in row.split(1, dim=2)]
    length = torch.hypot(*x.double().chunk(2, dim=-1)).repeat(1, 1, 1, 2)  # of each feature's pair
    together = torch.stack([torch.cat(alone[:heads], dim=2)[0], torch.cat(alone[heads:], dim=2)[0]])
    assert_close(output, together, forward_limit(length, dtype))


@pytest.mark.rubric("rope_smallest_even_ratio")
@pytest.mark.parametrize(
    ("seq", "ratio"), [(5, 2), (8, 2), (9, 4), (16, 4), (17, 6), (20, 6), (24, 6), (25, 8), (33, 10)]
)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_longer_sequence_uses_the_smallest_even_ratio(dynamic, seq, ratio, device):
    """The tables are those of a new module whose k is the smallest even k' with ms * k' >= s. Here ms = 4, s = {seq}.

    表与以 k' 为 k 新建的模块相同，k' 是使 ms * k' 不小于 s 的最小偶数。这里 ms = 4、s = {seq}。
    """
    expected = tables_of(build(ratio, device=device), seq, device)
    with tables(seq):
        assert_same_tables(tables_of(build(dynamic=dynamic, device=device), seq, device), expected)


@pytest.mark.rubric("rope_smallest_even_ratio")
@pytest.mark.hint(
    en="Which k' does your code find here, and which base does it stretch with it? Does the initial k enter either of "
    "them, by itself or through es or a stored base?",
    zh="你的代码在这里算出的 k' 是多少，用它拉伸的是哪个 base？最初的 k 有没有进入其中，不论是直接用到，还是通过 es "
    "或保存下来的 base？",
)
def test_an_odd_initial_ratio_still_grows_to_an_even_one(device):
    """With ms = 4, k = 3 serves 12 positions; 13 need k' = 4, the smallest even ratio that reaches them.

    ms = 4 时，k = 3 够 12 个位置使用；13 个位置需要 k' = 4，即够用的最小偶数。
    """
    expected = tables_of(build(4, device=device), 13, device)
    with tables(13, 3):
        assert_same_tables(tables_of(build(3, device=device), 13, device), expected)


@pytest.mark.rubric("rope_smallest_even_ratio")
def test_growth_stretches_the_base_that_was_given(device):
    """With base 16 and ms = 4, 13 positions need k' = 4, and a module built with base 16 and that ratio agrees.

    base 为 16、ms = 4 时，13 个位置需要 k' = 4；以 base 16 和这个 ratio 新建的模块结果相同。
    """
    grown, built = (build(ratio, base=16, device=device) for ratio in (1, 4))
    with tables(13):
        assert_same_tables(tables_of(grown, 13, device), tables_of(built, 13, device))


@pytest.mark.rubric("rope_static")
@pytest.mark.parametrize(("seq", "ratio"), [(3, 1), (4, 1), (9, 1), (4, 2), (4, 3)])
def test_a_long_sequence_leaves_nothing_behind(seq, ratio, device):
    """With dynamic=False, a module that has seen 20 positions gives the output of a new one with the same k.

    dynamic=False 时，处理过 20 个位置的模块，与以同样的 k 新建的模块结果相同。
    """
    used, fresh = build(ratio, device=device), build(ratio, device=device)
    tables_of(used, 20, device)
    with tables(seq, ratio, after="s = 20"):
        assert_same_tables(tables_of(used, seq, device), tables_of(fresh, seq, device))


@pytest.mark.rubric("rope_dynamic")
@pytest.mark.parametrize("lengths", [(9, 20), (20, 23), (5, 9, 17, 33)], ids=str)
def test_growing_in_steps_ends_where_one_step_would(lengths, device):
    """Growth counts from max_seq_len every time, so only the longest sequence matters, not the way there.

    每次扩展都从 max_seq_len 算起，所以只有最长的序列有影响，中间经过哪些长度无所谓。
    """
    stepwise, at_once = build(dynamic=True, device=device), build(dynamic=True, device=device)
    received = [tables_of(stepwise, seq, device) for seq in lengths][-1]
    with tables(lengths[-1], after=f"s = {', '.join(map(str, lengths[:-1]))}"):
        assert_same_tables(received, tables_of(at_once, lengths[-1], device))


@pytest.mark.rubric("rope_dynamic")
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_every_growth_is_kept(mode, device):
    """After 9, 20 and 33 positions, 7 use the first rows of the tables of 9, of 20 and of 33, in either mode.

    处理过 9、20、33 个位置之后，7 个位置依次用 9、20、33 个位置的表的前几行，两种模式都如此。
    """
    rope = getattr(build(dynamic=True, device=device), mode)()
    for longest in (9, 20, 33):
        grown = tables_of(rope, longest, device)
        with tables(7, after=f"s = {longest}"):
            assert_same_tables(tables_of(rope, 7, device), grown[:7])
        with tables(longest - 1, after=f"s = {longest}"):
            assert_same_tables(tables_of(rope, longest - 1, device), grown[:-1])


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize(("seq", "rows"), [(3, 8), (15, 16)], ids=["at-first", "after-growth"])
def test_the_tables_are_buffers_that_state_dict_does_not_list(seq, rows, dtype, device):
    """The tables have es rows in the requested dtype, and state_dict() lists none. Here es is {rows} after s = {seq}.

    表有 es 行，dtype 按参数指定，state_dict() 里没有表。这里处理过 s = {seq} 之后 es 是 {rows}。
    """
    rope = build(2, dynamic=True, dtype=dtype, device=device)
    tables_of(rope, seq, device)
    buffers = [buffer for buffer in rope.buffers() if rows in buffer.shape and buffer.dtype == dtype]
    if not buffers:
        fields = {"rows": rows, "dtype": dtype, "found": listing(rope.named_buffers())}
        raise MismatchError(("no_buffer_of", fields))
    if rope.state_dict():
        raise MismatchError(("state_dict", {"found": listing(rope.state_dict().items())}))
    if list(rope.parameters()):
        raise MismatchError(("parameters", {"found": listing(rope.named_parameters()), "expected": "0"}))


@pytest.mark.rubric("rope_buffers")
def test_a_module_beside_another_keeps_its_base(device):
    """A module with base 16, built later, does not change how the first one grows.

    之后新建的 base 为 16 的模块，不影响第一个模块的扩展。
    """
    used, fresh = build(dynamic=True, device=device), tables_of(build(dynamic=True, device=device), 20, device)
    build(base=16, ratio=3, dynamic=True, device=device)
    with tables(20):
        assert_same_tables(tables_of(used, 20, device), fresh)


@pytest.mark.rubric("rope_dynamic")
@pytest.mark.hint(
    "no_buffer_of",
    en="Which rows of the grown tables does the module keep: all es of them, or those of this call?",
    zh="模块保留了扩展后的表的哪些行：全部 es 行，还是这次调用用到的行？",
)
@pytest.mark.parametrize(("seq", "rows"), [(9, 16), (20, 24)])
def test_grown_tables_have_es_rows(seq, rows, device):
    """With ms = 4, 9 positions need k' = 4, so es is 16; 20 positions need k' = 6, so es is 24.

    ms = 4 时，9 个位置需要 k' = 4，es 是 16；20 个位置需要 k' = 6，es 是 24。
    """
    rope = build(dynamic=True, device=device)
    tables_of(rope, seq, device)
    if not any(rows in buffer.shape for buffer in rope.buffers()):
        raise MismatchError(
            ("no_buffer_of", {"rows": rows, "dtype": torch.float32, "found": listing(rope.named_buffers())})
        )


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize("seq", [3, 9], ids=["cached", "grown"])
def test_forward_leaves_its_input_as_it_was(seq, dtype, device):
    """The caller's tensor still holds its numbers after the call.

    调用之后，传入的张量数值不变。
    """
    x = torch.arange(1.0, 1 + seq * DIM).view(1, seq, 1, DIM).to(device, dtype)
    before = x.clone()
    build(device=device)(x)
    assert_unchanged(x, before, "input")


@pytest.mark.rubric("rotary_backward")
@pytest.mark.parametrize("seq", [3, 9], ids=["cached", "grown"])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_gradients_flow_through_the_module(mode, seq, device):
    """A rotation is linear: for each vector, input times gradient adds up to output times upstream gradient.

    旋转是线性的：对每个向量，输入乘以梯度之和等于输出乘以上游梯度之和。
    """
    x = torch.arange(1.0, 1 + seq * DIM).view(1, seq, 1, DIM).remainder(7).to(device)
    leaf = x.clone().requires_grad_()
    output = getattr(build(device=device), mode)()(leaf)
    (output * x.flip(1)).sum().backward()
    scale = x.norm(dim=-1) * x.flip(1).norm(dim=-1)
    with gradient({"en": "the input", "zh": "输入"}):
        by_gradient = (gradient_of(leaf, "input") * x).sum(dim=-1)
        assert_close(by_gradient, (output * x.flip(1)).sum(dim=-1), gradient_limit(scale, torch.float32))


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize("moved", ["before-growth", "after-growth"])
def test_tables_follow_the_module_to_a_second_device(moved, elsewhere):
    """Whether moved before or after growth, all tables are on the new device, also those for a longer input.

    无论在扩展之前还是之后移动，所有的表都在新的设备上；更长的输入也在那里得到自己的表。
    """
    rope = build(device="cpu", dynamic=True)
    if moved == "after-growth":
        rope(torch.ones(1, 13, 1, DIM))
    rope.to(elsewhere)
    for seq in (13, 4, 21):
        output = rope(torch.ones(1, seq, 1, DIM, device=elsewhere))
        assert_kind(output, shape=(1, seq, 1, DIM), dtype=torch.float32, device=elsewhere)
    for buffer in rope.buffers():
        assert_kind(buffer, shape=tuple(buffer.shape), dtype=torch.float32, device=elsewhere)

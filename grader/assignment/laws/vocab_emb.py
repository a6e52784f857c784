"""Task 2: laws of a table of rows."""

import pytest
import torch

from src.modeling.vocab_emb import VocabEmbedding
from tests.harness import limits
from tests.harness.compare import (
    assert_close_to_one_of,
    assert_equal,
    assert_kind,
    assert_rows,
    assert_unchanged,
)
from tests.harness.devices import second_device
from tests.harness.student import gradient_of, only_parameter, parameter_of, set_values

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def table_of(rows, features, seed=0):
    """A table of random numbers, its rows of very different lengths."""
    table = torch.randn(rows, features, generator=torch.Generator().manual_seed(seed))
    return table * 2.0 ** (torch.arange(rows) % 8 - 4).unsqueeze(-1)


def build(table, **arguments):
    """Build an embedding that holds a table."""
    module = VocabEmbedding(vocab_size=table.shape[0], emb_size=table.shape[1], **arguments)
    set_values(parameter_of(module, table.numel()), table)
    return module


@pytest.mark.rubric("vocab_lookup")
def test_every_id_gives_its_own_row():
    """Compare the output at one place with the row of the table that the id there names: all bits agree.

    取输出中的一个位置，与该处 id 对应的那一行表比较：每一位都相同。
    """
    for rows, features in ((5, 2), (7, 3), (16, 40), (1000, 8)):
        table = table_of(rows, features)
        for shape in ((3, 9), (1, 1), (4, 1), (1, 6)):
            ids = torch.randint(rows, shape, generator=torch.Generator().manual_seed(rows))
            ids[0, 0], ids[-1, -1] = 0, rows - 1
            assert_rows(build(table)(ids), table[ids], ids)


@pytest.mark.rubric("vocab_lookup")
def test_large_ids_give_their_own_rows():
    """Fill row i with the number i: the output is the ids themselves, also beyond what 16 bits can hold.

    让第 i 行全是 i：输出就是 id 本身，超出 16 位范围的 id 也一样。
    """
    ids = torch.tensor([[2**power + more for power in (8, 11, 15, 16)] for more in (-1, 0, 1)])
    assert_rows(build(torch.arange(66_000.0).unsqueeze(-1))(ids), ids.unsqueeze(-1).float(), ids)
    ends = (torch.arange(66_000) % 64).unsqueeze(-1)  # small enough for any dtype
    for dtype in DTYPES[1:]:
        assert_rows(build(ends, dtype=dtype)(ids), ends[ids].to(dtype), ids)


@pytest.mark.rubric("vocab_init_and_reset")
def test_the_table_is_one_normal_draw_right_after_seeding():
    """Draw as many numbers yourself, right after seeding: the table holds these, and again after reset_parameters().

    自己设种子后立即采样同样多的数：表里就是这些数；reset_parameters() 之后仍是这些数。
    """
    chosen = {"init_mean": -3.0, "init_std": 2.0, "init_seed": 1000}
    still = {**chosen, "init_std": 0.0}
    for mean, std, seed, arguments in ((0.0, 1.0, 42, {}), (-3.0, 2.0, 1000, chosen), (-3.0, 0.0, 1000, still)):
        for dtype in DTYPES:
            draws = []
            for drawn in (dtype, torch.float32):
                source = torch.Generator().manual_seed(seed)
                draws.append(torch.empty(16, 12, dtype=drawn).normal_(mean, std, generator=source).to(dtype))
            limit = limits.draw(draws[0].double().abs() + 2 * abs(mean), dtype)
            module = VocabEmbedding(vocab_size=16, emb_size=12, dtype=dtype, **arguments)
            assert_close_to_one_of(parameter_of(module, 16 * 12).view(16, 12), draws, limit)
            set_values(parameter_of(module, 16 * 12), torch.full((16, 12), 7.0))
            module.reset_parameters()
            assert_close_to_one_of(parameter_of(module, 16 * 12).view(16, 12), draws, limit)


@pytest.mark.rubric("vocab_dtype_and_registration")
def test_the_table_is_the_only_parameter():
    """One trainable parameter [v, e] in the dtype asked for, float32 by default.

    只有一个可训练的参数 [v, e]，dtype 按参数指定（默认 float32）。
    """
    for chosen in ({}, *({"dtype": dtype} for dtype in DTYPES)):
        table = only_parameter(VocabEmbedding(vocab_size=10, emb_size=6, **chosen))
        assert_kind(table, shape=(10, 6), dtype=chosen.get("dtype", torch.float32), device=torch.device("cpu"))


@pytest.mark.rubric("vocab_dtype_and_registration")
def test_leaving_an_argument_out_means_its_default():
    """A module without an argument does the same as one that is given the stub's default.

    不写某个参数，与写上 stub 中的默认值，结果相同。
    """
    for default in ({"init_mean": 0.0}, {"init_std": 1.0}, {"init_seed": 42}):
        without, given = (VocabEmbedding(vocab_size=10, emb_size=6, **chosen) for chosen in ({}, default))
        assert_equal(without(torch.tensor([[1, 3]])), given(torch.tensor([[1, 3]])))


@pytest.mark.rubric("vocab_dtype_and_registration")
def test_the_output_has_the_dtype_of_the_table():
    """Convert the module: its outputs are rows of the table in the new dtype, bit for bit.

    转换模块的 dtype：输出就是新 dtype 的表中的那几行，逐位相同。
    """
    ids, table = torch.tensor([[1, 3], [9, 3]]), table_of(10, 6)
    for dtype in DTYPES:
        for module in (build(table, dtype=dtype), *(build(table, dtype=other).to(dtype) for other in DTYPES)):
            for mode in (True, False):
                output = module.train(mode)(ids)
                assert_kind(output, shape=(2, 2, 6), dtype=dtype, device=torch.device("cpu"))
                assert_equal(output, parameter_of(module, 60).view(10, 6)[ids])


@pytest.mark.rubric("vocab_mixed_devices")
def test_the_table_may_be_on_another_device():
    """Move the table and leave the ids, or the other way round: the same rows, on the device of the ids.

    移动表而不移动 id，或者反过来：取出的行相同，在 id 所在的设备上。
    """
    table, ids, there = table_of(7, 3), torch.tensor([[0, 3, 6]]), second_device() or "cpu"  # a GPU, or a simulated one
    for home, place in ((there, "cpu"), ("cpu", there)):
        module = build(table).to(home)
        output = module(ids.to(place))
        assert_kind(output, shape=(1, 3, 3), dtype=torch.float32, device=torch.device(place))
        assert_rows(output, table[ids], ids)
        assert_kind(parameter_of(module, 21), shape=(7, 3), dtype=torch.float32, device=torch.device(home))


@pytest.mark.rubric("vocab_purity")
def test_a_call_changes_neither_ids_nor_table():
    """Copies of the ids and of the table, made before the call, still equal them after the call.

    调用之前复制 id 和表，调用之后它们仍然相等。
    """
    for dtype in DTYPES:
        module = build(table_of(9, 4), dtype=dtype)
        ids, table = torch.tensor([[0, 8, 0, 1, 5], [2, 3, 3, 8, 7]]), parameter_of(module, 36)
        ids_before, table_before = ids.clone(), table.detach().clone()
        module(ids)
        assert ids.dtype == ids_before.dtype, "input_ids.dtype"
        assert_unchanged(ids, ids_before, "input_ids")
        assert_unchanged(table, table_before, "table")


@pytest.mark.rubric("vocab_purity")
def test_earlier_calls_leave_no_trace():
    """A module that has been called with other ids, and whose table was changed, answers as a new one does.

    模块处理过别的 id、表被改动之后，结果与新建的模块相同。
    """
    used = build(table_of(9, 4))
    calls = [torch.randint(9, (2, 3), generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
    for seed in (0, 1):
        set_values(parameter_of(used, 36), table_of(9, 4, seed))
        for ids in (calls[2], calls[0], calls[1], calls[0], calls[2]):
            assert_equal(used(ids), build(table_of(9, 4, seed))(ids))
    used.eval()
    for seed in (1, 2):
        set_values(parameter_of(used, 36), table_of(9, 4, seed))
        assert_equal(used(calls[0]), build(table_of(9, 4, seed))(calls[0]))


@pytest.mark.rubric("vocab_backward")
def test_each_row_receives_what_its_id_sends():
    """Count how often an id occurs: with an upstream gradient of ones, each entry of its row's gradient is that count.

    数一数某个 id 出现了几次：上游梯度全为 1 时，它那一行梯度的每个元素都等于这个次数。
    """
    for dtype in DTYPES:
        for ids in ([0, 5, 0, 0], [3, 1, 1, 3, 3], [6, 2, 6, 6, 0]):
            module, given = build(table_of(7, 5), dtype=dtype), torch.tensor([ids])
            module.train(dtype is torch.float32)(given).backward(torch.ones(1, len(ids), 5, dtype=dtype))
            counts = torch.bincount(given[0], minlength=7).unsqueeze(-1).expand(7, 5)
            received = gradient_of(parameter_of(module, 35), "table").view(7, 5)
            assert_rows(received, counts, torch.arange(7))

"""Task 3: laws of one rank's part of a table, and of all parts together."""

import pytest
import torch

from src.modeling.vocab_emb import ParallelVocabEmbedding
from tests.harness import limits
from tests.harness.compare import (
    assert_close_to_one_of,
    assert_equal,
    assert_kind,
    assert_names_sizes,
    assert_rejects,
    assert_rows,
    assert_unchanged,
)
from tests.harness.devices import second_device
from tests.harness.student import gradient_of, only_parameter, parameter_of, set_values

VOCAB, EMB = 24, 5
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
ALL_IDS = torch.arange(VOCAB).unsqueeze(0)


def whole_table(seed=0):
    """Numbers from 1 to 2, so that a zero in the output does not come from the table."""
    return 1 + torch.rand(VOCAB, EMB, generator=torch.Generator().manual_seed(seed))


def owned(rank, world_size):
    """The ids of a rank: ``r * n`` to ``(r + 1) * n - 1``, with ``n = v // w``."""
    rows = VOCAB // world_size
    return torch.arange(rank * rows, (rank + 1) * rows)


def foreign(rank, world_size):
    """All other ids."""
    own = owned(rank, world_size)
    return torch.tensor([number for number in range(VOCAB) if number < own[0] or number > own[-1]])


def build(rank, world_size, table, **arguments):
    """Build a rank's shard of a table."""
    module = ParallelVocabEmbedding(VOCAB, EMB, rank=rank, world_size=world_size, **arguments)
    set_values(parameter_of(module, VOCAB // world_size * EMB), table[owned(rank, world_size)])
    return module


def first_rank(vocab_size, world_size):
    """Build the shard of rank 0."""
    return ParallelVocabEmbedding(vocab_size, 4, rank=0, world_size=world_size)


def places(*world_sizes):
    """Every rank of these worlds."""
    return [(rank, world_size) for world_size in world_sizes for rank in range(world_size)]


@pytest.mark.rubric("shard_owned_ids")
def test_owned_ids_give_their_rows():
    """Each id that a rank owns gives its row of the rank's shard, the first and the last one too, on every rank.

    rank 自己的每个 id（包括第一个和最后一个）都给出分片中对应的那一行，每个 rank 都如此。
    """
    table = whole_table()
    for rank, world_size in places(1, 2, 3):
        ids = owned(rank, world_size).unsqueeze(0)
        assert_rows(build(rank, world_size, table)(ids), table[ids], ids)


@pytest.mark.rubric("shard_owned_ids")
def test_large_ids_give_their_own_rows():
    """Fill each row with its id: the output is the ids themselves, also beyond what 16 bits can hold.

    让每一行全是它的 id：输出就是 id 本身，超出 16 位范围的 id 也一样。
    """
    half, ids = 33_000, torch.tensor([[33_000, 35_057, 35_059], [65_537, 65_539, 65_999]])
    module = ParallelVocabEmbedding(2 * half, 1, rank=1, world_size=2)
    set_values(parameter_of(module, half), torch.arange(half, 2.0 * half))
    assert_rows(module(ids), ids.unsqueeze(-1).float(), ids)
    for dtype in DTYPES[1:]:
        module = ParallelVocabEmbedding(2 * half, 1, rank=1, world_size=2, dtype=dtype)
        set_values(parameter_of(module, half), torch.arange(half, 2 * half) % 64)  # small enough for any dtype
        assert_rows(module(ids), (ids % 64).unsqueeze(-1).to(dtype), ids)


@pytest.mark.rubric("shard_zeros_elsewhere")
def test_ids_of_other_ranks_give_zeros():
    """Where an id belongs to another rank, every number of the output is exactly zero.

    id 属于其他 rank 的位置，输出的每个数都严格为零。
    """
    table = whole_table()
    for rank, world_size in (*places(2, 3), (0, 24), (12, 24), (23, 24)):
        module, ids = build(rank, world_size, table), foreign(rank, world_size).unsqueeze(0)
        assert_rows(module(ids), torch.zeros(*ids.shape, EMB), ids)
        assert module(owned(rank, world_size).unsqueeze(0)).any(), "zeros"
        for number in ids[0]:  # alone, too
            assert_rows(module(number.view(1, 1)), torch.zeros(1, 1, EMB), number.view(1, 1))


@pytest.mark.rubric("shard_sum_over_ranks")
def test_at_every_place_one_rank_answers():
    """At every place, exactly one rank's output may differ from zero; that one is the row of the whole table.

    在每个位置，恰好只有一个 rank 的输出可以不为零；它就是整张表的那一行。
    """
    table = whole_table()
    for world_size in (1, 2, 3, 4):
        ids = torch.randint(VOCAB, (3, 16), generator=torch.Generator().manual_seed(world_size))
        outputs = torch.stack([build(rank, world_size, table)(ids) for rank in range(world_size)])
        assert_rows(outputs.sum(dim=0), table[ids], ids)
        answers = outputs.any(dim=-1).sum(dim=0)
        assert_equal(answers, torch.ones(3, 16))


@pytest.mark.rubric("shard_seed")
def test_each_rank_draws_its_own_rows():
    """Draw as many numbers yourself, right after seeding with base seed + rank: the rank's shard holds these.

    自己用 base seed + rank 设种子后立即采样同样多的数：该 rank 的分片就是这些数。
    """
    chosen = {"init_mean": 0.25, "init_std": 0.5, "init_base_seed": 7}
    still = {**chosen, "init_std": 0.0}
    for mean, std, seed, arguments in ((0.0, 1.0, 42, {}), (0.25, 0.5, 7, chosen), (0.25, 0.0, 7, still)):
        for dtype in DTYPES:
            for place in ({"rank": 0}, *({"rank": rank, "world_size": 3} for rank in range(3))):
                draws, shape = [], (48 // place.get("world_size", 1), 8)
                for drawn in (dtype, torch.float32):
                    source = torch.Generator().manual_seed(seed + place.get("rank", 0))
                    draws.append(torch.empty(shape, dtype=drawn).normal_(mean, std, generator=source).to(dtype))
                limit = limits.draw(draws[0].double().abs() + 2 * abs(mean), dtype)
                module = ParallelVocabEmbedding(48, 8, dtype=dtype, **place, **arguments)
                shard = parameter_of(module, draws[0].numel())
                assert_close_to_one_of(shard.view(shape), draws, limit)
                set_values(shard, torch.full(shape, 7.0))
                ParallelVocabEmbedding(8, 4, init_mean=9.0, init_base_seed=70)  # which changes no other
                module.reset_parameters()
                assert_close_to_one_of(parameter_of(module, shard.numel()).view(shape), draws, limit)


@pytest.mark.rubric("shard_registration_and_arguments")
def test_the_shard_is_the_only_parameter():
    """One trainable parameter [v / w, e] in the dtype asked for, float32 by default; alone, the whole table.

    只有一个可训练的参数 [v / w, e]，dtype 按参数指定（默认 float32）；只有一个 rank 时是整张表。
    """
    for place in ({}, {"rank": 0, "world_size": 1}, {"rank": 1, "world_size": 2}, {"rank": 2, "world_size": 3}):
        for chosen in ({}, *({"dtype": dtype} for dtype in DTYPES)):
            shard = only_parameter(ParallelVocabEmbedding(VOCAB, EMB, **place, **chosen))
            shape = (VOCAB // place.get("world_size", 1), EMB)
            assert_kind(shard, shape=shape, dtype=chosen.get("dtype", torch.float32), device=torch.device("cpu"))


@pytest.mark.rubric("shard_registration_and_arguments")
def test_leaving_an_argument_out_means_its_default():
    """A module without an argument does the same as one that is given the stub's default.

    不写某个参数，与写上 stub 中的默认值，结果相同。
    """
    for default in ({"rank": 0}, {"init_mean": 0.0}, {"init_std": 1.0}, {"init_base_seed": 42}):
        without, given = (ParallelVocabEmbedding(VOCAB, EMB, world_size=2, **chosen) for chosen in ({}, default))
        assert_equal(without(torch.tensor([[5, 6, 7]])), given(torch.tensor([[5, 6, 7]])))


@pytest.mark.rubric("shard_registration_and_arguments")
def test_the_output_has_the_dtype_of_the_shard():
    """Convert the module: rows and zeros come out in the new dtype, bit for bit, for own ids and for others.

    转换模块的 dtype：输出的行和零都是新的 dtype，逐位相同，自己的 id 和其他 id 都如此。
    """
    table = whole_table()
    for dtype in DTYPES:
        for module in (
            build(0, 2, table, dtype=dtype),
            *(build(0, 2, table, dtype=other).to(dtype) for other in DTYPES),
        ):
            for ids in (torch.tensor([[5, 6, 7]]), torch.tensor([[0, 6, 13]]), torch.tensor([[14, 15, 23]])):
                output = module(ids)
                assert_kind(output, shape=(1, 3, EMB), dtype=dtype, device=torch.device("cpu"))
                shard = parameter_of(module, VOCAB // 2 * EMB).view(-1, EMB)
                for place, number in enumerate(ids[0]):
                    assert_equal(output[0, place], shard[number] if number < 12 else torch.zeros(EMB))


@pytest.mark.rubric("shard_registration_and_arguments")
def test_a_vocabulary_that_does_not_divide_is_refused():
    """Sizes that leave a rest raise a ValueError or an AssertionError.

    不能整除的尺寸要抛出 ValueError 或 AssertionError。
    """
    for vocab_size, world_size in ((10, 3), (25, 4), (7, 8)):
        assert_rejects(first_rank, names=("vocab_size", "world_size"), vocab_size=vocab_size, world_size=world_size)


@pytest.mark.rubric("shard_sizes_named")
def test_the_error_names_both_sizes():
    """The error for sizes that leave a rest holds both numbers.

    不能整除的尺寸，报错信息里有这两个数。
    """
    for vocab_size, world_size in ((10, 3), (25, 4), (7, 8)):
        assert_names_sizes(first_rank, names=("vocab_size", "world_size"), vocab_size=vocab_size, world_size=world_size)


@pytest.mark.rubric("shard_mixed_devices")
def test_the_shard_may_be_on_another_device():
    """Move the shard and leave the ids, or the other way round: the same output, on the device of the ids.

    移动分片而不移动 id，或者反过来：输出相同，在 id 所在的设备上。
    """
    there = second_device() or "cpu"  # a GPU, or a simulated one
    expected, elements = build(1, 2, whole_table())(ALL_IDS), VOCAB // 2 * EMB
    for home, place in ((there, "cpu"), ("cpu", there)):
        module = build(1, 2, whole_table()).to(home)
        output = module(ALL_IDS.to(place))
        assert_kind(output, shape=(1, VOCAB, EMB), dtype=torch.float32, device=torch.device(place))
        assert_equal(output, expected)
        shard = parameter_of(module, elements).flatten()
        assert_kind(shard, shape=(elements,), dtype=torch.float32, device=torch.device(home))


@pytest.mark.rubric("shard_purity")
def test_a_call_changes_neither_ids_nor_shard():
    """Copies of the ids and of the shard, made before the call, still equal them after the call.

    调用之前复制 id 和分片，调用之后它们仍然相等。
    """
    for rank, world_size in places(2, 3):
        module, ids = build(rank, world_size, whole_table()), ALL_IDS.clone()
        shard = parameter_of(module, VOCAB // world_size * EMB)
        before = shard.detach().clone()
        module(ids)
        assert ids.dtype == ALL_IDS.dtype, "input_ids.dtype"
        assert_unchanged(ids, ALL_IDS, "input_ids")
        assert_unchanged(shard, before, "shard")


@pytest.mark.rubric("shard_purity")
def test_earlier_calls_leave_no_trace():
    """A module that has been called with other ids, and whose shard was changed, answers as a new one does.

    模块处理过别的 id、分片被改动之后，结果与新建的模块相同。
    """
    used = build(1, 3, whole_table())
    calls = [torch.randint(8, 16, (2, 3), generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
    for seed in (0, 1):
        set_values(parameter_of(used, 8 * EMB), whole_table(seed)[8:16])
        for ids in (calls[2], calls[0], calls[1], calls[0], calls[2]):
            assert_equal(used(ids), build(1, 3, whole_table(seed))(ids))
    assert_equal(used.eval()(calls[0]), build(1, 3, whole_table(1))(calls[0]))


@pytest.mark.rubric("shard_backward")
def test_only_owned_ids_send_gradients():
    """With an upstream gradient of ones, a row of the shard receives how often its own id occurs, and nothing else.

    上游梯度全为 1 时，分片的每一行收到的正好是它自己的 id 出现的次数，没有别的。
    """
    repeats = torch.randint(VOCAB, (1, 12), generator=torch.Generator().manual_seed(0))
    ids = torch.cat([ALL_IDS, repeats], dim=1)
    for rank, world_size in places(1, 2, 3):
        for dtype in DTYPES:
            module, own = build(rank, world_size, whole_table(), dtype=dtype), owned(rank, world_size)
            module.train(dtype is torch.float32)(ids).backward(torch.ones(*ids.shape, EMB, dtype=dtype))
            counts = torch.bincount(ids[0], minlength=VOCAB)[own].unsqueeze(-1).expand(-1, EMB)
            received = gradient_of(parameter_of(module, len(own) * EMB), "shard").view(-1, EMB)
            assert_rows(received, counts, own)

"""Tasks 2 and 3: the vocabulary embedding, whole and split over ranks.

The tables are filled with their own row numbers, ``T[i, j] = i``, so that an output tells which row it came from.
Looking up copies, so every comparison of outputs and gradients is exact.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch

import src.modeling.vocab_emb as vocab_emb

from .harness.compare import (
    MismatchError,
    about,
    assert_equal,
    assert_kind,
    assert_names_sizes,
    assert_rejects,
    assert_rows,
    assert_unchanged,
    draw_limit,
    gradient,
    shaped,
    telling,
)
from .harness.hints import ABOUT_DEFAULTS
from .harness.parameters import assert_drawn, gradient_of, only_parameter, parameter_of, set_values

VOCAB, EMB, WORLD = 16, 8, 4
ROWS = VOCAB // WORLD  # ids that one rank owns
TABLE = {"en": "the table", "zh": "表"}
SHARD = {"en": "the shard", "zh": "分片"}
OWN_IDS = {"en": "for this rank's own ids", "zh": "连本 rank 自己的 id"}
NO_GRADIENT_FOR_ONE = pytest.mark.hint(
    "one_id",
    en="A single row does not receive its id's gradient. Is this id treated as padding, as padding_idx does?",
    zh="只有一行没有收到它的 id 传来的梯度。是否把这个 id 当成了填充（例如 padding_idx）？",
)
EVERY_RANK = pytest.mark.parametrize("rank", range(WORLD), ids="rank-{}".format)
OWNERS = [(4, 0), (4, 1), (4, 2), (4, 3), (2, 0), (2, 1), (1, 0)]  # numbers of ranks, and one of them


def new_table(**arguments):
    """Build a module with a table of 16 rows, or as the arguments say."""
    return vocab_emb.VocabEmbedding(**{"vocab_size": VOCAB, "emb_size": EMB, **arguments})


def new_shard(**arguments):
    """Build a module for a rank of four, or as the arguments say."""
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": 0, "world_size": WORLD}
    return vocab_emb.ParallelVocabEmbedding(**{**sizes, **arguments})


def whole(**arguments):
    """Build a table whose row ``i`` is filled with the number ``i``."""
    module = new_table(**arguments)
    set_values(parameter_of(module, VOCAB * EMB), numbered_rows(range(VOCAB)))
    return module


def shard(rank, **arguments):
    """Build a rank's shard; row ``i`` of the whole table would be filled with ``i + 1``, so no row is zero."""
    module = new_shard(rank=rank, **arguments)
    own = owned_by(rank, arguments.get("world_size", WORLD))
    set_values(parameter_of(module, len(own) * EMB), numbered_rows(own) + 1)
    return module


def owned_by(rank, ranks=WORLD):
    """Return the consecutive ids of a rank."""
    return range(rank * VOCAB // ranks, (rank + 1) * VOCAB // ranks)


def numbered_rows(ids):
    """Return rows that are filled with their own number."""
    return torch.tensor(list(ids), dtype=torch.float32).unsqueeze(-1).expand(-1, EMB)


def normal_draws(size, mean, std, seed, dtype, device):
    """Draw right after seeding, in the dtype itself and in float32; both are right."""
    return [
        torch.empty(size, dtype=drawn, device=device)
        .normal_(mean, std, generator=torch.Generator(device).manual_seed(seed))
        .to(dtype)
        for drawn in (dtype, torch.float32)
    ]


def table_gradient(module, ids, upstream, elements):
    """Send ``upstream`` back from the embedded ``ids`` and return what arrives at the table."""
    (module(ids.clone()) * upstream).sum().backward()
    return gradient_of(parameter_of(module, elements), TABLE)


def large_ids(device):
    """Return ids that 8, 11, 15 or 16 bits cannot hold, and 70000 rows of small whole numbers."""
    ids = torch.tensor([[257, 2049, 32769, 65537], [69999, 40001, 32768, 65536]], device=device)
    return ids, (torch.arange(70_000) % 61).unsqueeze(-1)


@pytest.mark.rubric("vocab_lookup")
def test_every_id_gives_the_row_with_its_number(dtype, device):
    """Row i is filled with i, so the output shows the ids themselves; the first and the last id are among them.

    第 i 行全是 i，所以输出就是 id 本身；第一个和最后一个 id 都在其中。
    """
    ids = torch.tensor([[0, 15, 3, 3], [7, 0, 14, 1]], device=device)
    output = whole(dtype=dtype, device=device)(ids)
    assert_rows(output, ids.unsqueeze(-1).expand(2, 4, EMB), ids)


@pytest.mark.rubric("vocab_lookup")
def test_a_row_comes_out_bit_for_bit(dtype, device):
    """Looking up all ids in order copies the table, whatever its numbers.

    依次查所有 id，得到的就是整张表，不论表里的数多么零碎。
    """
    module = whole(dtype=dtype, device=device)
    table = parameter_of(module, VOCAB * EMB)
    set_values(table, torch.linspace(-3, 2, VOCAB * EMB).sin())
    assert_equal(module(torch.arange(VOCAB, device=device).unsqueeze(0)), table.unsqueeze(0))


@pytest.mark.rubric("vocab_lookup")
def test_large_ids_are_not_rounded(dtype, device):
    """Row i of 70000 holds i mod 61, so 257, which bfloat16 lacks, gives 13, and 65537, beyond 16 bits, gives 23.

    70000 行的表，第 i 行是 i mod 61：257（bfloat16 里没有）得到 13，65537（超出 16 位）得到 23。
    """
    ids, rows = large_ids(device)
    module = new_table(vocab_size=len(rows), emb_size=1, dtype=dtype, device=device)
    set_values(parameter_of(module, len(rows)), rows)
    assert_rows(module(ids), rows[ids.cpu()], ids)


@pytest.mark.rubric("vocab_lookup")
def test_id_0_is_an_ordinary_id(device):
    """Row 0 holds a 5 here and comes out like any other: it is not padding.

    这里第 0 行全是 5，它与其他行一样被取出：不是填充。
    """
    module = whole(device=device)
    set_values(parameter_of(module, VOCAB * EMB), numbered_rows(range(VOCAB)) + 5)
    ids = torch.tensor([[0, 1, 0]], device=device)
    assert_rows(module(ids), numbered_rows([0, 1, 0]).unsqueeze(0) + 5, ids)


@pytest.mark.rubric("vocab_init_and_reset")
@pytest.mark.parametrize(("mean", "std", "seed"), [(0.0, 1.0, 42), (3.0, 0.5, 7)], ids=["mean-0", "mean-3"])
def test_the_table_is_one_normal_draw_right_after_seeding(mean, std, seed, dtype, device):
    """A draw of the same size from the same seed; a 16-bit one may be drawn in float32 and then converted.

    数值就是用同一个种子、设好种子后立即做的一次同样大小的采样；16 位时也可以先用 float32 采样再转换。
    """
    module = new_table(init_mean=mean, init_std=std, init_seed=seed, dtype=dtype, device=device)
    draws = normal_draws((VOCAB, EMB), mean, std, seed, dtype, device)
    limit = draw_limit((draws[0].double() - mean).abs() + abs(mean), dtype)
    with about(TABLE):
        assert_drawn(module, draws, limit)


@pytest.mark.rubric("vocab_backward")
@NO_GRADIENT_FOR_ONE
def test_a_row_receives_the_sum_of_the_gradients_of_its_uses(dtype, device):
    """Id 3 occurs with upstream 1, 2 and 4, id 0 with 8, id 5 with 16 and 32; all other rows receive zero.

    id 3 的上游梯度有 1、2、4 三份，id 0 有一份 8，id 5 有 16 和 32 两份；其余各行为零。
    """
    module = whole(dtype=dtype, device=device)
    ids = torch.tensor([[3, 3, 0], [5, 3, 5]], device=device)
    upstream = torch.tensor([[1.0, 2, 8], [16, 4, 32]], device=device, dtype=dtype).unsqueeze(-1)
    expected = torch.zeros(VOCAB, EMB)
    expected[3], expected[0], expected[5] = 1 + 2 + 4, 8, 16 + 32
    received = table_gradient(module, ids, upstream, VOCAB * EMB)
    with gradient(TABLE):
        assert_rows(received, expected, torch.arange(VOCAB))


@pytest.mark.rubric("shard_owned_ids")
@pytest.mark.parametrize(("ranks", "rank"), OWNERS, ids=[f"rank-{rank}-of-{ranks}" for ranks, rank in OWNERS])
def test_an_owned_id_gives_its_row_of_the_shard(ranks, rank, device):
    """Rank r of w owns the ids 16 r / w to 16 (r + 1) / w - 1; row i of the whole table holds i + 1.

    w 个 rank 中的 rank r 拥有 id 16 r / w 到 16 (r + 1) / w - 1；整张表的第 i 行全是 i + 1。
    """
    ids = torch.tensor([list(owned_by(rank, ranks))], device=device)
    output = shard(rank, world_size=ranks, device=device)(ids)
    assert_rows(output, numbered_rows(owned_by(rank, ranks)).unsqueeze(0) + 1, ids)


@pytest.mark.rubric("shard_owned_ids")
def test_large_owned_ids_are_not_rounded(dtype, device):
    """Of 140000 rows, rank 1 of 2 owns 70000 to 139999; row i of its shard holds i mod 61.

    140000 行、2 个 rank：rank 1 拥有 70000 到 139999；它的分片的第 i 行是 i mod 61。
    """
    ids, rows = large_ids(device)
    module = new_shard(vocab_size=2 * len(rows), emb_size=1, rank=1, world_size=2, dtype=dtype, device=device)
    set_values(parameter_of(module, len(rows)), rows)
    assert_rows(module(ids + len(rows)), rows[ids.cpu()], ids + len(rows))


@pytest.mark.rubric("shard_zeros_elsewhere")
@pytest.mark.hint(
    "one_id",
    en="Only one foreign id gives a row, the one next to this rank's range. Which comparison lets it in: < or <=, "
    "> or >=?",
    zh="只有一个其他 rank 的 id 得到了结果，就是紧挨着本 rank 范围的那个。是哪个比较放它进来的：< 还是 <=，> 还是 >=？",
)
@EVERY_RANK
def test_an_id_of_another_rank_gives_zeros(rank, device):
    """Of all 16 ids, those outside 4 r to 4 r + 3 give exactly zero, those inside do not.

    16 个 id 全部输入：4 r 到 4 r + 3 之外必须得到严格的零，之内则不是零。
    """
    ids = torch.arange(VOCAB, device=device).unsqueeze(0)
    output = shaped(shard(rank, device=device)(ids), (1, VOCAB, EMB))
    own = torch.tensor([[[i in owned_by(rank)] for i in range(VOCAB)]], device=device)
    assert_rows(output.masked_fill(own, 0), torch.zeros(1, VOCAB, EMB), ids)
    if not output.any():
        raise MismatchError(("only_zeros", {"where": OWN_IDS}))


@pytest.mark.rubric("shard_sum_over_ranks")
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_outputs_of_all_ranks_add_up_to_the_full_embedding(world_size, dtype, device):
    """Exactly one rank gives a row for each id and the others give zeros, so the sum is the row, bit for bit.

    每个 id 恰有一个 rank 给出它的行，其他 rank 都给零，所以和就是这一行，每一位都相同。
    """
    ids = torch.tensor([[0, 15, 3, 4], [8, 7, 11, 12]], device=device)
    shape = {"world_size": world_size, "dtype": dtype, "device": device}
    shards = [new_shard(rank=rank, **shape) for rank in range(world_size)]
    elements = VOCAB * EMB // world_size
    table = torch.cat([parameter_of(module, elements).detach().view(-1, EMB) for module in shards])
    with about({"en": f"the sum over {world_size} ranks", "zh": f"{world_size} 个 rank 之和"}):
        assert_equal(sum(module(ids.clone()) for module in shards), table[ids])


@pytest.mark.rubric("shard_seed")
@EVERY_RANK
def test_rank_r_draws_right_after_seeding_with_base_seed_plus_r(rank, dtype, device):
    """Each rank draws once, just its shard, seeded with init_base_seed + rank; in float32 or in the shard's own dtype.

    每个 rank 以 init_base_seed + rank 为种子采样一次，只采样自己的分片；用 float32 或分片的 dtype 采样都可以。
    """
    module = new_shard(rank=rank, init_mean=2.0, init_std=0.5, init_base_seed=7, dtype=dtype, device=device)
    draws = normal_draws((ROWS, EMB), 2.0, 0.5, 7 + rank, dtype, device)
    limit = draw_limit((draws[0].double() - 2).abs() + 2, dtype)
    with about(SHARD):
        assert_drawn(module, draws, limit)


@pytest.mark.rubric("shard_registration_and_arguments")
def test_zeros_have_the_dtype_of_the_shard(dtype, device):
    """Even if every id belongs to another rank, the zeros have the shard's dtype.

    所有 id 都属于其他 rank 时，得到的零仍是分片的 dtype。
    """
    output = shard(0, dtype=dtype, device=device)(torch.tensor([[4, 9, 15]], device=device))
    assert_kind(output, shape=(1, 3, EMB), dtype=dtype, device=device)


@pytest.mark.rubric("shard_registration_and_arguments")
def test_a_vocabulary_that_does_not_split_evenly_is_refused():
    """10 rows do not split over 4 ranks.

    10 行不能平分给 4 个 rank。
    """
    names = ("vocab_size", "world_size")
    assert_rejects(vocab_emb.ParallelVocabEmbedding, names=names, vocab_size=10, emb_size=EMB, rank=0, world_size=4)


@pytest.mark.rubric("shard_sizes_named")
def test_the_error_names_vocab_size_and_world_size():
    """The message contains 10 and 4, so that the reader can see what does not fit.

    报错信息里有 10 和 4，读的人才看得出哪里不合适。
    """
    sizes = {"vocab_size": 10, "emb_size": EMB, "rank": 0, "world_size": 4}
    assert_names_sizes(vocab_emb.ParallelVocabEmbedding, names=("vocab_size", "world_size"), **sizes)


@pytest.mark.rubric("shard_backward")
@NO_GRADIENT_FOR_ONE
@EVERY_RANK
def test_only_owned_ids_send_gradients(rank, dtype, device):
    """Each id i occurs twice, with upstream 1 and 2, so an owned row receives 3; foreign ids must add nothing.

    每个 id 出现两次，上游梯度为 1 和 2，所以自有的行得到 3；其他 rank 的 id 不应贡献任何梯度。
    """
    ids = torch.arange(VOCAB, device=device).repeat(2, 1)  # [2, v]
    upstream = torch.tensor([[[1.0]], [[2.0]]], device=device, dtype=dtype)
    received = table_gradient(shard(rank, dtype=dtype, device=device), ids, upstream, ROWS * EMB)
    with gradient(SHARD):
        assert_rows(received, torch.full((ROWS, EMB), 3.0), torch.tensor(owned_by(rank)))


# ── What holds for the whole table, and for the shard of a rank alike ───────────────────────────────────────────────


@dataclass(frozen=True)
class Kind:
    """One of the two layers: what it is called, how to build it, its rows, and the seed, given and drawn with."""

    name: dict[str, str]
    new: Callable[..., torch.nn.Module]
    rows: int
    given: dict[str, int]
    seed: int

    def parameter(self, module):
        """Return the module's table or shard."""
        return parameter_of(module, self.rows * EMB)

    def filled(self, factor=1, **arguments):
        """Build a module whose rows hold one number each, none of them zero."""
        module = self.new(**arguments)
        set_values(self.parameter(module), factor * (numbered_rows(range(self.rows)) + 1))
        return module


def both(vocab, shard, ranks, *asked):
    """Run a test on the whole table and on the shards of some ranks, each with the mark of its property.

    The questions ``asked`` are about shards alone.
    """
    kinds = [pytest.param(Kind(TABLE, new_table, VOCAB, {"init_seed": 42}, 42), marks=vocab, id="table")]
    for rank in ranks:
        kind = Kind(SHARD, partial(new_shard, rank=rank), ROWS, {"init_base_seed": 42}, 42 + rank)
        kinds.append(pytest.param(kind, marks=[shard, *asked], id=f"rank-{rank}"))
    return pytest.mark.parametrize("kind", kinds)


ONE_RANK, EVERY = [2], range(WORLD)
INIT = both(pytest.mark.rubric("vocab_init_and_reset"), pytest.mark.rubric("shard_seed"), ONE_RANK)
OF_OUTPUT = pytest.mark.rubric("vocab_dtype_and_registration"), pytest.mark.rubric("shard_registration_and_arguments")
OUTPUT = both(*OF_OUTPUT, ONE_RANK)


@INIT
def test_a_deviation_of_zero_makes_every_entry_the_mean(kind, device):
    """With init_std = 0 nothing is random; a ValueError that refuses it is right, too.

    init_std = 0 时没有随机性；抛出 ValueError 拒绝它也是对的。
    """
    try:
        module = kind.new(init_mean=3.0, init_std=0.0, device=device)
    except ValueError:
        return
    with about(kind.name):
        assert_equal(kind.parameter(module).flatten(), torch.full((kind.rows * EMB,), 3.0))


@INIT
def test_reset_parameters_restores_the_first_values(kind, dtype, device):
    """The same seed gives the same values on every reset, whatever other modules hold.

    同样的种子得到同样的值，调用多少次、另有什么模块都一样。
    """
    module = kind.new(dtype=dtype, device=device)
    first = kind.parameter(module).detach().clone()
    type(module)(vocab_size=VOCAB, emb_size=EMB, init_mean=9.0, device=device)
    set_values(kind.parameter(module), torch.zeros(kind.rows, EMB))
    module.reset_parameters()
    with about(kind.name):
        assert_equal(kind.parameter(module), first)


@INIT
def test_the_draw_is_made_on_the_device_that_is_asked_for(kind, elsewhere):
    """The generator is on the parameter's own device: on a second device, a seed gives other numbers than on the CPU.

    generator 与参数在同一个设备上；在第二个设备上，同一个种子得到的数与 CPU 上不同。
    """
    module = kind.new(init_mean=0.0, init_std=1.0, **kind.given, device=elsewhere)
    parameter = kind.parameter(module)
    assert_kind(parameter, shape=tuple(parameter.shape), dtype=torch.float32, device=elsewhere)
    (drawn, _) = normal_draws((kind.rows, EMB), 0.0, 1.0, kind.seed, torch.float32, elsewhere)
    assert_drawn(module, [drawn], draw_limit(drawn, torch.float32))


@both(
    pytest.mark.rubric("vocab_dtype_and_registration"),
    pytest.mark.rubric("shard_registration_and_arguments"),
    ONE_RANK,
    pytest.mark.hint(
        "shape",
        en="Which rows does your parameter hold? Is one of them not a row of this rank, such as a row of zeros?",
        zh="你的参数里有哪些行？其中有没有不属于本 rank 的行，例如一行零？",
    ),
)
def test_there_is_one_parameter(kind, dtype, device):
    """One trainable nn.Parameter, [v, e] or for a rank [v / w, e], with the requested dtype and device.

    只有一个可训练的 nn.Parameter：整张表是 [v, e]，一个 rank 的分片是 [v / w, e]，dtype 和 device 按参数指定。
    """
    own = only_parameter(kind.new(dtype=dtype, device=device))
    with about(kind.name):
        assert_kind(own, shape=(kind.rows, EMB), dtype=dtype, device=device)


WHOLE_DEFAULTS = {"init_mean": 0.0, "init_std": 1.0, "init_seed": 42, "dtype": torch.float32}
SHARD_DEFAULTS = {"rank": 0, "world_size": 1, "init_mean": 0.0, "init_std": 1.0, "init_base_seed": 42}


@pytest.mark.hint(**ABOUT_DEFAULTS)
@pytest.mark.parametrize(
    ("layer", "argument", "value"),
    [pytest.param("VocabEmbedding", *one, marks=OF_OUTPUT[0]) for one in WHOLE_DEFAULTS.items()]
    + [pytest.param("ParallelVocabEmbedding", *one, marks=OF_OUTPUT[1]) for one in SHARD_DEFAULTS.items()],
    ids=str,
)
def test_leaving_an_argument_out_means_its_default(layer, argument, value, device):
    """A module without {argument} does the same as one that is given the stub's default, {argument}={value}.

    不写 {argument}，与写上模板中的默认值 {argument}={value}，结果相同。
    """
    build = partial(getattr(vocab_emb, layer), vocab_size=VOCAB, emb_size=EMB, device=device)
    given, without = (only_parameter(build(**chosen)) for chosen in ({argument: value}, {}))
    assert_kind(without, shape=tuple(given.shape), dtype=given.dtype, device=given.device)
    assert_equal(without, given)


@OUTPUT
def test_the_output_follows_the_dtype_of_the_parameter(kind, dtype, device):
    """The output has the parameter's current dtype, also after module.to(dtype), in both modes and for sliced ids.

    输出的 dtype 取自参数现在的 dtype，模块转换之后也是如此；train、eval 以及切片得到的 id 都不影响。
    """
    for module in (kind.filled(dtype=dtype, device=device), kind.filled(device=device).to(dtype)):
        for mode in (True, False):
            ids = torch.tensor([[1, 2, 13, 0], [1, 2, 13, 0]], device=device)[:, :-1]
            assert_kind(module.train(mode)(ids), shape=(2, 3, EMB), dtype=dtype, device=device)


@OUTPUT
def test_a_moved_module_answers_where_it_was_moved_to(kind, elsewhere):
    """On a second device (simulated without a GPU) the output is the same.

    在第二个设备（没有 GPU 时由模拟代替）上输出相同。
    """
    for ids in torch.tensor([[[0, 9], [15, 9]], [[0, 15], [4, 15]]]):  # of the second, rank 2 owns none
        expected = kind.filled()(ids)
        output = kind.filled().to(elsewhere)(ids.to(elsewhere))
        assert_kind(output, shape=tuple(expected.shape), dtype=expected.dtype, device=elsewhere)
        assert_equal(output, expected)


@both(pytest.mark.rubric("vocab_mixed_devices"), pytest.mark.rubric("shard_mixed_devices"), ONE_RANK)
def test_the_output_is_on_the_device_of_the_ids(kind, device):
    """Where parameter and ids are on one device, the output is there, too.

    参数与 id 在同一个设备上时，输出也在那里。
    """
    output = kind.filled(device=device)(torch.tensor([[0, 5]], device=device))
    assert_kind(output, shape=(1, 2, EMB), dtype=torch.float32, device=device)


@both(pytest.mark.rubric("vocab_mixed_devices"), pytest.mark.rubric("shard_mixed_devices"), ONE_RANK)
def test_the_parameter_may_be_on_another_device_than_the_ids(kind, elsewhere):
    """The output is the same, on the device of the ids; the parameter stays where it is, its gradient arrives there.

    输出相同，在 id 所在的设备上；参数留在原处，它的梯度也传到那里。
    """
    ids = torch.tensor([[0, 9], [15, 9]])
    expected = kind.filled()(ids)
    for home, device in ((torch.device("cpu"), elsewhere), (elsewhere, torch.device("cpu"))):
        module = kind.filled().to(home)
        output = module(ids.to(device))
        assert_kind(output, shape=tuple(expected.shape), dtype=expected.dtype, device=device)
        assert_equal(output, expected)
        output.sum().backward()
        for tensor in (kind.parameter(module), gradient_of(kind.parameter(module), kind.name)):
            assert_kind(tensor, shape=tuple(tensor.shape), dtype=torch.float32, device=home)


@both(pytest.mark.rubric("vocab_purity"), pytest.mark.rubric("shard_purity"), EVERY)
def test_a_call_changes_neither_ids_nor_rows(kind, device):
    """The caller owns the ids and passes them to every rank; training alone changes the rows.

    id 属于调用者，各个 rank 先后收到同一份；各行只在训练时改变。
    """
    module, ids = kind.filled(device=device), torch.tensor([[0, 15, 3], [7, 7, 12]], device=device)
    ids_before, rows_before = ids.clone(), kind.parameter(module).detach().clone()
    module(ids)
    assert_unchanged(ids, ids_before, "input_ids")
    assert_unchanged(kind.parameter(module), rows_before, kind.name)


@both(pytest.mark.rubric("vocab_purity"), pytest.mark.rubric("shard_purity"), EVERY)
def test_earlier_calls_leave_no_trace(kind, device):
    """After other ids and other rows, a module gives the output of a new one.

    处理过别的 id、换过各行的值之后，结果与新建的模块相同。
    """
    used = kind.filled(device=device)
    first, second = torch.tensor([[[0, 15, 3], [7, 7, 1]], [[4, 5, 9], [12, 2, 6]]], device=device)
    for mode, factor, ids in itertools.product((True, False), (2, 3), (first, second, first)):
        fresh = kind.filled(factor, device=device).train(mode)
        before = kind.parameter(fresh).detach().clone()
        set_values(kind.parameter(used.train(mode)), before)
        with telling("not_as_new"):
            assert_equal(used(ids.clone()), fresh(ids.clone()))
        assert_unchanged(kind.parameter(used), before, kind.name)


@both(pytest.mark.rubric("vocab_backward"), pytest.mark.rubric("shard_backward"), EVERY)
def test_evaluation_mode_stops_no_gradient(kind, device):
    """In eval(), the parameter receives the gradient that it receives in train().

    在 eval() 模式下，参数收到的梯度与 train() 模式相同。
    """
    ids, one = torch.tensor([[3, 0, 3, 5], [4, 9, 15, 12]], device=device), torch.ones((), device=device)
    trained, evaluated = (
        table_gradient(kind.filled(device=device).train(mode), ids, one, kind.rows * EMB) for mode in (True, False)
    )
    with gradient(kind.name):
        assert_equal(evaluated, trained)

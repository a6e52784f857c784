"""Task 4, second part: NTKAwareRoPE.

``tables_of`` rotates the pair (1, 0) at every position, which shows the cosines and sines that the module used without
knowing how it stores them. Apart from the first property, the tests compare a module with another one, so that a
mistake in the angles fails only the tests about angles.
"""

import pytest
import torch

from src.modeling.pos_emb import NTKAwareRoPE

from . import limits
from .compare import MismatchError, assert_close, assert_kind
from .student import listing

DIM, TRAINED = 4, 4  # hd and ms: with hd = 4 and base 10000, theta is 1 and 0.01
THETAS = torch.tensor([1.0, 0.01])


def build(ratio=1, *, device, **arguments):
    """Build a small module; es is 4 * ratio."""
    return NTKAwareRoPE(**{"dim": DIM, "max_seq_len": TRAINED, "ratio": ratio, "device": device, **arguments})


def tables_of(rope, seq, device, dim=DIM):
    """Return the cosines and sines of positions ``0 .. seq - 1`` that the module uses, as ``[seq, hd]``."""
    pairs = torch.cat([torch.ones(1, seq, 1, dim // 2), torch.zeros(1, seq, 1, dim // 2)], dim=-1)
    return rope(pairs.to(device))[0, :, 0]


def assert_angles(received, thetas, dtype=torch.float32):
    """Check that position ``n`` turned pair ``i`` by ``n * thetas[i]``."""
    angles = torch.outer(torch.arange(len(received)).double(), thetas.double()).to(received.device)
    expected = torch.cat([angles.cos(), angles.sin()], dim=-1)
    assert_close(received, expected, limits.tables(torch.cat([angles, angles], dim=-1), dtype))


def assert_same_tables(received, expected):
    """Check that two modules, or two calls, used the same angles."""
    angles = torch.outer(torch.arange(len(expected)), THETAS.repeat(2)).to(expected.device)
    assert_close(received, expected, limits.tables(angles))


@pytest.mark.rubric("rope_base")
@pytest.mark.parametrize(
    ("base", "ratio", "thetas"),
    [(10000, 1, [1, 0.1, 0.01, 0.001]), (16, 1, [1, 1 / 2, 1 / 4, 1 / 8]), (16, 8, [1, 1 / 4, 1 / 16, 1 / 64])],
    ids=["base-10000-ratio-1", "base-16-ratio-1", "base-16-ratio-8"],
)
def test_angles_follow_the_stretched_base(base, ratio, thetas, device):
    """With hd = 8, theta_i is base^(-i/4). From k = 1 to 8, base 16 becomes 256 and the last theta an eighth."""
    rope = NTKAwareRoPE(dim=8, max_seq_len=8, base=base, ratio=ratio, device=device)
    assert_angles(tables_of(rope, 8 * ratio - 1, device, dim=8), torch.tensor(thetas))


@pytest.mark.rubric("rope_base")
@pytest.mark.parametrize("table_dtype", ["float16", "bfloat16"], ids="tables-{}".format)
def test_angles_are_computed_in_float32_whatever_dtype_the_tables_have(table_dtype, device):
    """There is no 257 in bfloat16 and no 2049 in float16; such positions would turn by a neighbour's angle."""
    rope = build(max_seq_len=2100, dtype=getattr(torch, table_dtype), device=device)
    assert_angles(tables_of(rope, 2064, device), THETAS, getattr(torch, table_dtype))


@pytest.mark.rubric("rope_base")
def test_scores_depend_on_the_distance_only(device):
    """The point of rotary embeddings: q at n and k at m score alike wherever n - m is the same."""
    rope = build(ratio=4, device=device)
    query, key = torch.tensor([[3.0, -1, 2, 5], [1, 4, -2, 2]]).view(2, 1, 1, DIM).to(device)
    queries, keys = (rope(vector.expand(1, 16, 1, DIM))[0, :, 0] for vector in (query, key))
    scores = queries @ keys.T  # [n, m]
    assert_close(scores[1:, 1:], scores[:-1, :-1], limits.scores(largest=38, angle=15))


@pytest.mark.rubric("rope_base")
def test_forward_returns_only_the_embedded_input(device):
    """One tensor, with the shape, dtype and device of the input, and no tables beside it."""
    x = torch.ones(2, 3, 5, DIM, device=device)
    assert_kind(build(device=device)(x), shape=(2, 3, 5, DIM), dtype=torch.float32, device=device)


@pytest.mark.rubric("rope_boundary")
@pytest.mark.parametrize("ratio", [1, 2, 3])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_up_to_es_positions_the_tables_do_not_change(dynamic, ratio, device):
    """The tables have es = 4 k rows: a sequence of exactly es positions begins as a short one does, for odd k too."""
    rope = build(ratio, dynamic=dynamic, device=device)
    short = tables_of(rope, TRAINED, device)
    for seq in range(TRAINED, TRAINED * ratio + 1):
        assert_same_tables(tables_of(rope, seq, device)[:TRAINED], short)


@pytest.mark.rubric("rope_smallest_even_ratio")
@pytest.mark.parametrize(
    ("seq", "ratio"), [(5, 2), (8, 2), (9, 4), (16, 4), (17, 6), (20, 6), (24, 6), (25, 8), (33, 10)]
)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_longer_sequence_uses_the_smallest_even_ratio(dynamic, seq, ratio, device):
    """With ms = 4, 4 k' must reach the length, and k' is even. A module built with that ratio has the same tables."""
    expected = tables_of(build(ratio, device=device), seq, device)
    assert_same_tables(tables_of(build(dynamic=dynamic, device=device), seq, device), expected)


@pytest.mark.rubric("rope_smallest_even_ratio")
def test_an_odd_initial_ratio_still_grows_to_an_even_one(device):
    """With ms = 4, k = 3 serves 12 positions; 13 need k' = 4, the smallest even ratio that reaches them."""
    expected = tables_of(build(4, device=device), 13, device)
    assert_same_tables(tables_of(build(3, device=device), 13, device), expected)


@pytest.mark.rubric("rope_static")
@pytest.mark.parametrize("seq", [3, 4, 9], ids=["short", "ms", "middle"])
def test_a_long_sequence_leaves_nothing_behind(seq, device):
    """With dynamic=False, a module that has seen 20 positions answers as a new one does."""
    used, fresh = build(device=device), build(device=device)
    tables_of(used, 20, device)
    assert_same_tables(tables_of(used, seq, device), tables_of(fresh, seq, device))


@pytest.mark.rubric("rope_dynamic")
@pytest.mark.parametrize("seq", [3, 9, 17])
def test_shorter_sequences_use_the_tables_of_the_longest(seq, device):
    """With dynamic=True, the tables of 20 positions stay: a shorter sequence uses their first rows."""
    rope = build(dynamic=True, device=device)
    grown = tables_of(rope, 20, device)
    assert_same_tables(tables_of(rope, seq, device), grown[:seq])


@pytest.mark.rubric("rope_dynamic")
@pytest.mark.parametrize("lengths", [(9, 20), (20, 23), (5, 9, 17, 33)], ids=str)
def test_growing_in_steps_ends_where_one_step_would(lengths, device):
    """Growth counts from max_seq_len every time, so only the longest sequence matters, not the way there."""
    stepwise, at_once = build(dynamic=True, device=device), build(dynamic=True, device=device)
    received = [tables_of(stepwise, seq, device) for seq in lengths][-1]
    assert_same_tables(received, tables_of(at_once, lengths[-1], device))


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize(("seq", "rows"), [(3, 8), (15, 16)], ids=["at-first", "after-growth"])
def test_the_tables_are_buffers_that_state_dict_does_not_list(seq, rows, dtype, device):
    """With ms = 4 and k = 2, es is 8, and 16 after 15 positions: the buffers' rows, in the dtype asked for."""
    rope = build(2, dynamic=True, dtype=dtype, device=device)
    tables_of(rope, seq, device)
    buffers = [buffer for buffer in rope.buffers() if rows in buffer.shape and buffer.dtype == dtype]
    if not buffers:
        fields = {"rows": rows, "dtype": dtype, "found": listing(rope.named_buffers())}
        raise MismatchError(("no_buffer_of", fields))
    if rope.state_dict():
        raise MismatchError(("state_dict", {"found": listing(rope.state_dict().items())}))
    if list(rope.parameters()):
        raise MismatchError(("parameters", {"found": listing(rope.named_parameters()), "expected": "none"}))


@pytest.mark.rubric("rope_buffers")
def test_a_moved_module_answers_where_it_was_moved_to(device):
    """Built on the CPU, moved, and grown: tables that are buffers follow, then and afterwards."""
    rope = build(dynamic=True, device="cpu").to(device)
    x = torch.ones(1, 20, 1, DIM, device=device)
    assert_kind(rope(x), shape=(1, 20, 1, DIM), dtype=torch.float32, device=device)
    if behind := [name for name, buffer in rope.named_buffers() if buffer.device.type != device.type]:
        raise MismatchError(("stayed_behind", {"names": ", ".join(behind)}))

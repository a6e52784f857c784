"""Task 2. Rows are compared bit for bit; tables are assigned, so that their initialisation does not matter."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.hidden.checks import arrived, check_drawn, check_only_parameter, normal_draw, only_parameter
from grader.judge.cases import dtypes, integers, normal
from grader.judge.compare import DTYPES, check_equal, check_like, check_shape, name, require
from grader.judge.student import Student, StudentModule

SIZES = ((5, 1), (7, 3), (16, 40), (1000, 8))  # (v, e), the smallest first: it is what a student reads


def construct(student: Student, table: Tensor, device: str) -> StudentModule:
    """The student's module with the given table."""
    vocab_size, emb_size = table.shape
    arguments = {"vocab_size": vocab_size, "emb_size": emb_size, "dtype": table.dtype, "device": device}
    return student.VocabEmbedding(**arguments).assign(table)


def ids_with_edges(seed: int, vocab_size: int, shape: tuple[int, int]) -> Tensor:
    """Random ids, with the first and the last of the vocabulary among them, and repeats."""
    ids = integers(seed, "ids", vocab_size, shape=shape, low=0, high=vocab_size)
    ids[0, :4] = torch.tensor([0, vocab_size - 1, 0, 1])
    return ids


@pytest.mark.rubric("vocab_lookup")
@dtypes
def test_every_id_gives_its_own_row(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    for size in SIZES:
        table = normal(seed, "table", shape=size).to(dtype)
        ids = ids_with_edges(seed, size[0], (3, 9))
        check_equal(construct(student, table, device)(ids.to(device)), table[ids], f"{name(dtype)} embedding")


@pytest.mark.rubric("vocab_lookup")
def test_any_number_of_ids_works(student: Student, seed: int, device: str) -> None:
    table = normal(seed, "table", shape=(11, 6))
    module = construct(student, table, device)
    for shape in ((1, 1), (4, 1), (1, 6)):
        ids = integers(seed, "few", shape=shape, low=0, high=11)
        check_equal(module(ids.to(device)), table[ids], f"embedding of {list(shape)} ids")


@pytest.mark.rubric("vocab_lookup")
def test_rows_are_not_rescaled(student: Student, seed: int, device: str) -> None:
    table = normal(seed, "scales", shape=(6, 5)) * torch.exp2(torch.arange(-12, 12, 4).float()).unsqueeze(-1)
    ids = torch.arange(6).reshape(2, 3)
    check_equal(construct(student, table, device)(ids.to(device)), table[ids], "embedding of very long and short rows")


@pytest.mark.rubric("vocab_init_and_reset")
@pytest.mark.parametrize("moments", [None, (-3.0, 2.0)], ids=["default", "shifted"])
@dtypes
def test_the_table_is_drawn_normally_with_the_seed(
    student: Student, seed: int, moments: tuple[float, float] | None, dtype: torch.dtype, device: str
) -> None:
    init_seed = 42 if moments is None else 1000 + seed
    mean, std = moments or (0.0, 1.0)
    more = {} if moments is None else {"init_mean": mean, "init_std": std, "init_seed": init_seed}
    draw = normal_draw(mean, std)
    module = student.VocabEmbedding(vocab_size=16, emb_size=12, dtype=dtype, device=device, **more)
    check_drawn(module, draw, init_seed, dtype, device)
    module.assign(7.0).reset_parameters()
    check_drawn(module, draw, init_seed, dtype, device, " after reset_parameters()")


@pytest.mark.rubric("vocab_dtype_and_registration")
@dtypes
def test_the_table_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    module = student.VocabEmbedding(vocab_size=10, emb_size=6, dtype=dtype, device=device)
    check_only_parameter(module, 60, dtype, device)
    check_shape(only_parameter(module), [10, 6])


@pytest.mark.rubric("vocab_dtype_and_registration")
def test_only_the_sizes_have_no_default(student: Student) -> None:
    check_only_parameter(student.VocabEmbedding(vocab_size=10, emb_size=6), 60, torch.float32, "cpu")


@pytest.mark.rubric("vocab_dtype_and_registration")
@dtypes
def test_the_output_has_the_dtype_of_the_table(student: Student, dtype: torch.dtype, device: str) -> None:
    """As built, and after the module has been converted."""
    module = student.VocabEmbedding(vocab_size=10, emb_size=6, dtype=dtype, device=device)
    ids = torch.tensor([[0, 3], [9, 3]], device=device)
    check_like(module(ids), torch.empty(2, 2, 6, dtype=dtype, device=device))
    for converted in DTYPES:
        check_like(module.to(converted)(ids), torch.empty(2, 2, 6, dtype=converted, device=device))


@pytest.mark.rubric("vocab_purity")
@dtypes
def test_ids_and_table_stay_as_they_were(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    table = (normal(seed, "table", shape=(9, 4)) * 8).to(dtype)
    ids = ids_with_edges(seed, 9, (2, 5))
    module = construct(student, table, device)
    _, (after,) = module.observe(ids.to(device))
    require(after.dtype == ids.dtype, "the ids have another dtype after the call")
    check_equal(after, ids, "input_ids after the call")
    check_equal(only_parameter(module), table, "the table after the call")


@pytest.mark.rubric("vocab_backward")
@dtypes
def test_gradients_add_up_over_repeated_ids(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """Small whole numbers arrive from above, so that every order of adding gives the same bits."""
    for ids in ([[0, 0, 0, 4]], [[1, 2], [2, 1]], [[6, 3, 6, 6, 0, 3]]):
        where = torch.tensor(ids)
        upstream = integers(seed, "upstream", shape=(*where.shape, 5), low=-8, high=9).to(dtype)
        module = construct(student, normal(seed, "table", shape=(7, 5)).to(dtype), device)
        gradient = arrived(module.gradients(where.to(device), upstream=upstream.to(device)).of_parameters, "the table")
        expected = torch.zeros(7, 5, dtype=torch.float64)
        expected.index_add_(0, where.flatten(), upstream.double().flatten(0, 1))
        check_equal(gradient, expected, f"{name(dtype)} gradient of the table for ids {ids}")

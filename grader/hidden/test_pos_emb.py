"""Task 4, NTKAwareRoPE. Tables are read through forward: a rotated (1, 0) is the cosine and the sine of the angle.

How ``apply_rotary_pos_emb`` pairs and turns is charged there; here the tables are read as it would show them.
"""

from __future__ import annotations

import pytest
import torch

from grader.hidden.rope_tables import DIM, MS, check_output, check_tables, construct
from grader.judge import oracle
from grader.judge.cases import dtypes, normal
from grader.judge.compare import check_equal, check_like, check_shape, require
from grader.judge.conventions import convention_followed
from grader.judge.student import Student, StudentModule


@pytest.mark.rubric("rope_base")
@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_the_ratio_stretches_the_base(student: Student, ratio: int, device: str) -> None:
    """The whole tables of new modules."""
    for longest, dim, base in ((2, 4, 10000), (32, 4, 10000), (32, 8, 500000), (32, 64, 10000)):
        module = student.NTKAwareRoPE(dim=dim, max_seq_len=longest, base=base, ratio=ratio, device=device)
        length = longest * ratio
        check_tables(student, module, length, ratio, device, dim=dim, base=base, scaling=oracle.ntk_angles)


@pytest.mark.rubric("rope_base")
@dtypes
def test_far_positions_are_exact(student: Student, dtype: torch.dtype, device: str) -> None:
    """Beyond 256 positions are no bfloat16 numbers, beyond 2048 no float16 numbers."""
    module = student.NTKAwareRoPE(dim=16, max_seq_len=2056, ratio=2, dtype=dtype, device=device)
    check_tables(student, module, 4112, 2, device, dim=16, dtype=dtype, scaling=oracle.ntk_angles)


@pytest.mark.rubric("rope_boundary")
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("ratio", [1, 2, 3, 5])
def test_the_cached_tables_serve_up_to_es_positions(student: Student, ratio: int, dynamic: bool, device: str) -> None:
    module = construct(student, device, ratio, dynamic=dynamic)
    for length in sorted({1, MS, min(ratio, 2) * MS, ratio * MS - 1, ratio * MS}):
        check_tables(student, module, length, ratio, device)


@pytest.mark.rubric("rope_boundary")
@dtypes
def test_every_batch_row_and_head_is_turned_and_keeps_its_dtype(
    student: Student, seed: int, dtype: torch.dtype, device: str
) -> None:
    x = normal(seed, "x", shape=(2, 5, 3, DIM)).to(dtype)
    output = construct(student, device)(x.to(device))
    check_shape(output, x.shape)
    angles = oracle.ntk_angles(DIM, 10000, 1, 5).float().repeat(1, 2)
    own = student.apply_rotary_pos_emb(x.to(device), angles.cos().to(device), angles.sin().to(device))
    if own.dtype == dtype:  # or that function has been charged for it
        check_like(output, x.to(device))
    check_output(output, x, convention_followed(student))


@pytest.mark.rubric("rope_smallest_even_ratio")
@pytest.mark.parametrize("length", [MS + 1, 2 * MS, 3 * MS, 4 * MS, 4 * MS + 1, 5 * MS, 6 * MS, 8 * MS + 1, 12 * MS])
def test_longer_sequences_use_the_smallest_even_ratio(student: Student, length: int, device: str) -> None:
    for ratio in (1, 3):
        used = oracle.smallest_even_ratio(length, MS) if length > ratio * MS else ratio
        check_tables(student, construct(student, device, ratio), length, used, device)


# Lengths between 3 and 4, and between 7 and 8 times ``MS``: every rule for the ratio, right or wrong, picks 4 and 8.
SHORT, MIDDLE, LONG = MS, 3 * MS + 1, 7 * MS + 1


@pytest.mark.rubric("rope_static")
@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_a_static_module_forgets_a_long_sequence(student: Student, ratio: int, device: str) -> None:
    module = construct(student, device, ratio)
    for length, used in ((SHORT, ratio), (LONG, 8), (SHORT, ratio), (ratio * MS, ratio), (MIDDLE, 4), (SHORT, ratio)):
        check_tables(student, module, length, used, device, when=" after longer and shorter calls")


@pytest.mark.rubric("rope_dynamic")
@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_a_dynamic_module_keeps_what_it_grew_to(student: Student, ratio: int, device: str) -> None:
    """Two growths in a row, both counted from ``max_seq_len``; in between and afterwards shorter inputs."""
    module = construct(student, device, ratio, dynamic=True)
    check_tables(student, module, SHORT, ratio, device)
    for longest, grown in ((MIDDLE, 4), (LONG, 8)):
        for length in (longest, SHORT, grown * MS, grown * MS - 1):
            check_tables(student, module, length, grown, device, when=f" after a call with s = {longest}")


@pytest.mark.rubric("rope_dynamic")
def test_a_middle_length_after_a_long_one_uses_the_grown_tables(student: Student, device: str) -> None:
    module = construct(student, device, dynamic=True)
    for length in (LONG, MIDDLE, SHORT):
        check_tables(student, module, length, 8, device, when=f" after a call with s = {LONG}")


def check_registration(module: StudentModule, positions: int) -> None:
    """Require the tables to be buffers, one for each position and feature pair at least, outside ``state_dict``."""
    require(not module.parameters(), "a parameter is registered; this module has none")
    require(not module.state_dict(), f"state_dict() lists {', '.join(module.state_dict())}")
    held = sum(buffer.value.numel() * (2 if buffer.value.is_complex() else 1) for buffer in module.buffers())
    require(held >= positions * DIM, f"the registered buffers hold {held} numbers, too few for {positions} positions")


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize("ratio", [1, 3])
def test_tables_are_non_persistent_buffers(student: Student, ratio: int, device: str) -> None:
    module = construct(student, device, ratio)
    check_registration(module, ratio * MS)
    for buffer in module.buffers():
        require(buffer.value.device.type == torch.device(device).type, f"a buffer is on {buffer.value.device}")


@pytest.mark.rubric("rope_buffers")
def test_tables_are_on_the_cpu_where_no_device_is_given(student: Student) -> None:
    module = student.NTKAwareRoPE(dim=DIM, max_seq_len=MS)
    check_registration(module, MS)
    for buffer in module.buffers():
        require(buffer.value.device.type == "cpu", f"a buffer is on {buffer.value.device}")


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_growth_registers_nothing_else(student: Student, dynamic: bool, device: str) -> None:
    module = construct(student, device, dynamic=dynamic)
    module(torch.ones(1, LONG, 1, DIM, device=device))
    check_registration(module, 8 * MS if dynamic else MS)


@pytest.mark.rubric("rope_buffers")
@pytest.mark.parametrize("grown", ["before", "after"])
def test_tables_follow_the_module_to_another_device(student: Student, grown: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device beside the CPU")
    module = construct(student, "cpu", dynamic=True)
    if grown == "before":
        module(torch.ones(1, 3 * MS, 1, DIM))
    for device in module.buffer_devices("cuda:0", (1, 3 * MS, 1, DIM)):
        require(device == "cuda:0", f"module.to('cuda:0') and growth {grown} it leave a buffer on {device}")


@pytest.mark.rubric("rope_buffers")
@dtypes
def test_the_input_stays_as_it_was(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    x = normal(seed, "x", shape=(2, 5, 3, DIM)).to(dtype)
    _, (after,) = construct(student, device).observe(x.to(device))
    check_equal(after, x, "the input after the call")

"""Task 4: how the tables of a module are read through forward, and compared."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.judge import oracle
from grader.judge.compare import (
    TABLE_LIMIT,
    TABLE_UNIT,
    check_close,
    check_errors,
    check_shape,
    error_in_ulp,
    name,
    ulp,
)
from grader.judge.conventions import Angles, Convention, convention_followed, scaling_followed, turning_scale
from grader.judge.student import Student, StudentModule

DIM, MS = 8, 8
# Angles of up to 4 radians in float32 are off by some units in the last place, and 16-bit outputs round them away.
TURNING_LIMIT = {torch.float32: 64.0, torch.float16: 4.0, torch.bfloat16: 4.0}


def table_errors(actual: Tensor, expected: Tensor, angles: Tensor, dtype: torch.dtype) -> Tensor:
    """Errors of cosines and sines in units of ``2^-24 (1 + angle)``, plus what a 16-bit table rounds."""
    errors = (actual - expected).abs()
    if dtype is not torch.float32:  # half an ulp of a number up to one, for the table's own rounding
        errors = (errors - float(ulp(torch.tensor(0.75), dtype)) / 2).clamp(min=0)
    return (errors / (TABLE_UNIT * (1 + angles))).nan_to_num(nan=torch.inf)


def check_tables(
    student: Student,
    module: StudentModule,
    length: int,
    ratio: int,
    device: str,
    *,
    dim: int = DIM,
    base: float = 10000,
    dtype: torch.dtype = torch.float32,
    scaling: Angles | None = None,
    when: str = "",
) -> None:
    """Require the tables that a call on ``length`` positions uses to be those of ``ratio``.

    How the ratio stretches the angles is charged to ``rope_base`` alone; elsewhere the student's own way counts.
    """
    convention = convention_followed(student)
    probe = convention.probe(dim).expand(1, length, 1, dim).contiguous()
    output = module(probe.to(device))
    check_shape(output, [1, length, 1, dim])
    angles = (scaling or scaling_followed(student))(dim, base, ratio, length)
    read = torch.cat(convention.read(output[0, :, 0].double().cpu()), dim=-1)  # [s, hd], cosines, then sines
    candidates = []
    for cos_pairs, sin_pairs in convention.pairs_read(dim):
        both = torch.cat((angles[:, cos_pairs], angles[:, sin_pairs]), dim=-1)  # [s, hd]
        expected = torch.cat((angles[:, cos_pairs].cos(), angles[:, sin_pairs].sin()), dim=-1)
        candidates.append((table_errors(read, expected, both, dtype), expected))
    errors, expected = min(candidates, key=lambda candidate: float(candidate[0].max()))
    what = f"cosines and sines for s = {length}{when}, [position, feature]"
    check_errors(errors, TABLE_LIMIT, what, read, expected, 1.0)


def construct(student: Student, device: str, ratio: int = 1, *, dynamic: bool = False) -> StudentModule:
    """A small module: 8 features, trained on 8 positions. Options that have their default are left out."""
    options: dict[str, int | bool] = {"ratio": ratio} if ratio != 1 else {}
    if dynamic:
        options["dynamic"] = True
    return student.NTKAwareRoPE(dim=DIM, max_seq_len=MS, device=device, **options)


def check_output(output: Tensor, x: Tensor, convention: Convention) -> None:
    """Require an output of a module with ratio 1 to be ``x`` turned, to within what its dtype can tell."""
    candidates = []
    for cos_pairs, sin_pairs in convention.pairs_read(DIM):
        angles = oracle.ntk_angles(DIM, 10000, 1, x.shape[1])
        cos, sin = torch.empty(x.shape[1], DIM, dtype=torch.float64), torch.empty(x.shape[1], DIM, dtype=torch.float64)
        order = convention.order(DIM)
        cos[:, order], sin[:, order] = angles[:, cos_pairs].cos().repeat(1, 2), angles[:, sin_pairs].sin().repeat(1, 2)
        candidates.append(convention.rotate(x, cos, sin))
    scale = turning_scale(x)
    nearest = min(candidates, key=lambda expected: float(error_in_ulp(output, expected, scale, x.dtype).max()))
    check_close(output, nearest, scale, x.dtype, TURNING_LIMIT[x.dtype], f"{name(x.dtype)} output")

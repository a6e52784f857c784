"""What the contract asks of a submission, in float64 and without the grader: a second opinion on right work."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grader.core.sandbox.importer import MemoryImporter
from grader.specimens.students import write_files
from grader.specimens.styles import Style, forget_modules

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
ULPS = {torch.float32: 16, torch.float16: 4, torch.bfloat16: 4}


@contextlib.contextmanager
def imported(style: Style, folder: Path) -> Iterator[dict[str, Any]]:
    """The names that a submission defines, as Python itself imports it from a folder."""
    write_files(style.files, folder)
    path_before, before, finders = sys.path[:], _taken_out(), sys.meta_path[:]
    # Without the importer of a submission that was judged in this process before.
    sys.meta_path[:] = [finder for finder in finders if not isinstance(finder, MemoryImporter)]
    sys.path[:] = [str(folder), *(entry for entry in sys.path if not (Path(entry) / "src").exists())]
    importlib.invalidate_caches()
    forget_modules()
    try:
        modules = [importlib.import_module(f"src.{name}") for name in ("functional", "modeling.norm")]
        modules += [importlib.import_module(f"src.modeling.{name}") for name in ("vocab_emb", "pos_emb")]
        yield {name: value for module in modules for name, value in vars(module).items()}
    finally:
        _taken_out()
        sys.path[:], sys.meta_path[:] = path_before, finders
        sys.modules.update(before)


def _taken_out() -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "src"}


def check(names: Mapping[str, Any]) -> None:
    """Raise an AssertionError if one of the five pieces differs from its contract."""
    check_norm(names["GroupRMSNorm"])
    check_vocab(names["VocabEmbedding"])
    check_shards(names["ParallelVocabEmbedding"])
    check_rotation(names["apply_rotary_pos_emb"])
    check_rope(names["NTKAwareRoPE"])


def close(found: Tensor, expected: Tensor, scale: Tensor, ulps: float = 0, extra: Tensor | float = 0.0) -> None:
    """Compare, in ulp of the dtype of what was found, which is given to what was expected, at a scale."""
    info = torch.finfo(found.dtype)
    room = (ulps or ULPS[found.dtype]) * (
        info.eps * scale.abs() + info.smallest_normal * info.eps
    ) + extra * scale.abs()
    assert found.shape == expected.shape
    error = (found.double() - expected).abs()
    assert (error <= room).all(), f"off by {error.max()}"


def drawn(parameter: Tensor, method: str, seed: int, *numbers: float) -> bool:
    """Whether a parameter holds one draw right after seeding, in its own dtype or in float32; 4 ulp for sums."""
    for dtype in (parameter.dtype, torch.float32):
        fresh = torch.empty(parameter.shape, dtype=dtype)
        getattr(fresh, method)(*numbers, generator=torch.Generator().manual_seed(seed))
        room = 4 * torch.finfo(parameter.dtype).eps * (fresh.double().abs() + abs(numbers[0]))
        if ((parameter.double() - fresh.double()).abs() <= room).all():
            return True
    return False


def check_parameter(
    module: nn.Module, shape: tuple[int, ...], dtype: torch.dtype, draw: tuple[Any, ...]
) -> nn.Parameter:
    """One parameter, no buffer, and a reset that draws the same values again."""
    (parameter,) = module.parameters()
    assert not list(module.buffers())
    assert len(module.state_dict()) == 1
    assert parameter.numel() == math.prod(shape)
    assert len(shape) == 1 or parameter.shape == shape
    assert parameter.dtype == dtype
    assert parameter.requires_grad
    assert drawn(parameter, *draw)
    before = parameter.detach().clone()
    parameter.data.fill_(3)
    module.reset_parameters()  # type: ignore[operator] # a submission's
    assert before.equal(next(module.parameters()))
    return next(module.parameters())


def refuses(cls: type[nn.Module], **sizes: int) -> None:
    """Sizes that do not divide raise, and the message has both."""
    with pytest.raises((AssertionError, ValueError)) as refusal:
        cls(**sizes)
    assert all(str(size) in str(refusal.value) for name, size in sizes.items() if name != "emb_size")


def check_norm(cls: type[nn.Module]) -> None:
    """Groups, eps, gamma, dtypes, gradients, values of gamma, sizes."""
    refuses(cls, hidden_size=10, group_size=3)
    shapes = [(2, 3, 24, 4), (1, 1, 6, 6), (1, 5, 7, 1), (3, 2, 30, 5), (1, 2, 1024, 512), (2, 2, 16, 8)]
    cases = [*product(shapes, DTYPES, DTYPES)]
    for number, ((b, s, h, gz), dtype, own) in enumerate(cases):
        eps, low, high = (1e-5, 0.75, 1e-3)[number % 3], *((-1.0, 1.0), (0.5, 2.0))[number % 2]
        module = cls(hidden_size=h, group_size=gz, eps=eps, init_range=(low, high), init_seed=number, dtype=own)
        gamma = next(iter(module.parameters()))
        if h % 16 == 0:
            gamma = check_parameter(module, (h,), own, ("uniform_", number, low, high))
        x = (torch.randn(s, b, h) * (1, 300, 1e-3)[number % 3]).to(dtype).transpose(0, 1)
        if number % 5 == 0:
            x = x[:1].expand(b, s, h)
        before, leaf = x.clone(), x.detach().requires_grad_()
        output = module(leaf)
        x64, gamma64 = x.double().requires_grad_(), gamma.detach().double().flatten().requires_grad_()
        groups = x64.reshape(b, s, -1, gz)
        expected = (groups / (groups.square().mean(-1, keepdim=True) + eps).sqrt()).reshape(b, s, h) * gamma64
        assert (output.dtype, output.device, x.equal(before)) == (dtype, x.device, True)
        close(output, expected, expected)
        assert output.equal(module.eval()(x))
        upstream = torch.randn(b, s, h).to(dtype)
        (output * upstream).sum().backward()
        (expected * upstream.double()).sum().backward()
        grads = [t.grad for t in (leaf, x64, gamma, gamma64) if t.grad is not None]
        assert len(grads) == 4
        x_terms, gamma_terms = absolute_terms(x, gamma.detach(), upstream, gz, eps)
        coarse = 8 * max(torch.finfo(dtype).eps, torch.finfo(own).eps)
        close(grads[0], grads[1], x_terms, 64, extra=coarse)
        close(grads[2].flatten(), grads[3], gamma_terms, 64, extra=coarse)


def absolute_terms(x: Tensor, gamma: Tensor, upstream: Tensor, gz: int, eps: float) -> tuple[Tensor, Tensor]:
    """The sums of absolute terms in the gradients of x and gamma: where these cancel, rounding stays."""
    x, scaled = (t.double().abs().unflatten(-1, (-1, gz)) for t in (x, upstream * gamma.double().flatten()))
    rms = (x.square().mean(-1, keepdim=True) + eps).sqrt()
    of_x = scaled / rms + x / rms**3 * (scaled * x).mean(-1, keepdim=True)
    return of_x.flatten(-2), ((x / rms).flatten(-2) * upstream.double().abs()).sum((0, 1))


def check_vocab(cls: type[nn.Module]) -> None:
    """Rows bit for bit, gradients, values of the table."""
    for number, ((v, e, b, s), dtype) in enumerate(product([(16, 5, 2, 7), (1, 16, 1, 1), (48, 3, 3, 40)], DTYPES)):
        mean, std = ((0.0, 1.0), (-2.0, 0.5))[number % 2]
        module = cls(vocab_size=v, emb_size=e, init_mean=mean, init_std=std, init_seed=number, dtype=dtype)
        table = check_parameter(module, (v, e), dtype, ("normal_", number, mean, std))
        check_rows(module, table, torch.randint(v, (b, s)), torch.arange(v))
        converted = module.to(torch.float16)
        assert converted(torch.zeros(1, 2, dtype=torch.long)).dtype == torch.float16


def check_rows(module: nn.Module, table: Tensor, ids: Tensor, own: Tensor) -> None:
    """Rows for the ids in ``own``, zeros for others; gradients of small integers."""
    before, values = ids.clone(), table.detach().clone()
    output = module(ids)
    owned = (ids >= own[0]) & (ids <= own[-1])
    expected = torch.where(owned.unsqueeze(-1), values[(ids - own[0]).clamp(0, len(own) - 1)], 0)
    assert output.equal(expected), "wrong rows"
    assert (output.dtype, ids.equal(before), table.equal(values)) == (table.dtype, True, True)
    upstream = torch.randint(-3, 4, output.shape).to(output.dtype)
    table.grad = None
    (output * upstream).sum().backward()
    right = torch.zeros(table.shape, dtype=torch.float64)
    right.index_add_(0, ids[owned] - own[0], upstream[owned].double())
    assert table.grad is not None
    assert table.grad.double().equal(right)


def check_shards(cls: type[nn.Module]) -> None:
    """Owned rows, zeros, gradients, seeds by rank, sizes."""
    refuses(cls, vocab_size=10, emb_size=4, world_size=3)
    for (v, e, w), dtype in product([(12, 8, 3), (5, 16, 5), (32, 3, 2), (8, 6, 1)], DTYPES):
        n, ids = v // w, torch.cat((torch.arange(v), torch.randint(v, (v,)))).view(2, v)
        for rank in range(w):
            module = cls(
                vocab_size=v,
                emb_size=e,
                rank=rank,
                world_size=w,
                init_mean=1.0,
                init_std=0.5,
                init_base_seed=9,
                dtype=dtype,
            )
            draw = ("normal_", 9 + rank, 1.0, 0.5)
            shard = check_parameter(module, (n, e), dtype, draw) if n * e % 16 == 0 else next(module.parameters())
            check_rows(module, shard, ids, torch.arange(rank * n, (rank + 1) * n))
            check_rows(module, shard, ids[:, :1] * 0 + v - 1, torch.arange(rank * n, (rank + 1) * n))


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The rotation in float64."""
    a, b = x.double().chunk(2, -1)
    half = x.shape[-1] // 2
    c, s = cos.double()[:, None, :half], sin.double()[:, None, :half]
    return torch.cat((a * c - b * s, b * c + a * s), -1)


def lengths(x: Tensor) -> Tensor:
    """The length of the pair that each feature belongs to."""
    a, b = x.double().chunk(2, -1)
    return torch.cat((torch.hypot(a, b), torch.hypot(a, b)), -1)


def check_rotation(function: Any) -> None:
    """Values, dtype, gradients, and that nothing is modified."""
    shapes = [(2, 5, 3, 8), (1, 1, 1, 2), (3, 2, 1, 6), (1, 4, 2, 64)]
    for (b, s, nh, hd), dtype, tables in product(shapes, DTYPES, DTYPES):
        angles = (torch.rand(s, hd // 2) * 50).repeat(1, 2)
        cos, sin = angles.cos().to(tables), angles.sin().to(tables)
        x = torch.randn(b, nh, s, hd).to(dtype).transpose(1, 2)
        leaf, kept = x.detach().requires_grad_(), [t.clone() for t in (x, cos, sin)]
        output = function(leaf, cos, sin)
        assert output.dtype == dtype
        close(output, turned(x, cos, sin), lengths(x))
        upstream = torch.randn(output.shape).to(dtype)
        (output * upstream).sum().backward()
        assert leaf.grad is not None
        close(leaf.grad, turned(upstream, cos, -sin), lengths(upstream), 32)
        assert all(now.equal(then) for now, then in zip((x, cos, sin), kept, strict=True))


def check_rope(cls: type[nn.Module]) -> None:
    """A history of calls, and what is registered after each."""
    sizes = [(8, 10, 1), (6, 7, 3), (2, 5, 1), (64, 16, 2)]
    for (hd, ms, k), dynamic, tables in product(sizes, (False, True), DTYPES):
        module = cls(dim=hd, max_seq_len=ms, base=500, ratio=k, dynamic=dynamic, dtype=tables)
        check_tables(module, hd, ms, k, tables)
        factors = (1,) if hd == 2 else (1, k, 5, 1, 8, 3, k)
        for call, factor in enumerate(factors):
            s = ms * factor + (call % 2 if hd > 2 else 0)
            kept = k
            if s > ms * k:
                kept = k if not dynamic else 2 * math.ceil(s / ms / 2)
            served = 2 * math.ceil(s / ms / 2) if s > ms * k else k
            dtype = DTYPES[call % 3]
            x = torch.randn(1 + call % 2, s, 2, hd).to(dtype)
            leaf = x.clone().requires_grad_()
            output = module(leaf)
            cos, sin, angles = right_tables(hd, ms * served, 500, served)
            coarse = 2 * torch.finfo(tables).eps if tables != torch.float32 else 0.0
            room = coarse + 64 * 2**-24 * (1 + angles[:s].unsqueeze(1))
            close(output, turned(x, cos[:s], sin[:s]), lengths(x), extra=room)
            assert output.dtype == dtype
            output.float().sum().backward()
            assert leaf.grad is not None
            assert leaf.grad.any()
            k = kept
            check_tables(module, hd, ms, k, tables)


def right_tables(hd: int, length: int, base: float, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cosines, sines and angles, ``[length, hd]``, in float64."""
    scaled = base * k ** (hd / (hd - 2)) if k > 1 else base
    theta = torch.tensor([scaled ** (-2 * i / hd) for i in range(hd // 2)] * 2, dtype=torch.float64)
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * theta
    return angles.cos(), angles.sin(), angles


def check_tables(module: nn.Module, hd: int, ms: int, k: int, dtype: torch.dtype) -> None:
    """Both tables among the buffers, and nothing in the state."""
    assert not module.state_dict()
    assert not list(module.parameters())
    cos, sin, angles = right_tables(hd, ms * k, 500, k)
    room = 32 * 2**-24 * (1 + angles) + (0 if dtype == torch.float32 else torch.finfo(dtype).eps)
    for right in (cos, sin):
        fitting = [b for b in module.buffers() if b.shape == right.shape and ((b.double() - right).abs() <= room).all()]
        assert fitting
        assert fitting[0].dtype == dtype

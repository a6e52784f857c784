"""Requests that every right solution answers alike, by name; the hidden tests take no part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, product
from math import ceil
from typing import Any, Final

import torch
from torch import Tensor

from .answers import Operation, Probe

DTYPES: Final = (torch.float32, torch.float16, torch.bfloat16)


def _load(module: str, name: str) -> Probe:
    return Probe([("load", {"module": f"src.{module}", "name": name})])


def _build(name: str, number: int = 0, /, **arguments: Any) -> Operation:
    return "construct", {"number": number, "name": name, "arguments": arguments}


def _do(operation: str, *arguments: Any, target: int | str = 0, **more: Any) -> Operation:
    return operation, {"target": target, "arguments": [*arguments], **more}


def _method(name: str, *arguments: Any) -> Operation:
    return _do("method", *arguments, name=name)


def _assign(value: Tensor | float) -> Operation:
    return "assign", {"target": 0, "values": [value]}


PARAMETERS, BUFFERS, STATE = ((operation, {"target": 0}) for operation in ("parameters", "buffers", "state_dict"))
RESET: Final = [_method("reset_parameters"), PARAMETERS]


def _random(*shape: int, dtype: torch.dtype = torch.float32, times: float = 1.0) -> Tensor:
    seed = sum(shape) * 97 + len(shape)
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * times).to(dtype)


def _integers(high: int, *shape: int, low: int = 0) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(sum(shape) + high))


def _drawn(method: str, seed: int, shape: tuple[int, ...], dtype: torch.dtype, *numbers: float) -> tuple[Tensor, ...]:
    empty = [torch.empty(shape, dtype=kind) for kind in (dtype, torch.float32)]
    return tuple(getattr(e, method)(*numbers, generator=torch.Generator().manual_seed(seed)).to(dtype) for e in empty)


def _norm(second: str | None) -> Iterator[Probe]:
    name = "GroupRMSNorm"
    yield _load("modeling.norm", name)
    for h, gz in ((10, 3), (4, 8), (7, 5), (12, 24)):
        yield Probe([_build(name, hidden_size=h, group_size=gz), STATE], sizes=(h, gz))
    yield Probe([_build(name, hidden_size=48, group_size=6), PARAMETERS])
    yield Probe([_do("call", _random(2, 3, 48, times=3e-3))])
    shapes = [(2, 3, 24, 4), (1, 1, 6, 6), (1, 5, 7, 1), (3, 2, 30, 5), (1, 2, 1024, 512), (2, 2, 16, 8), (4, 1, 48, 3)]
    for number, ((b, s, h, gz), dtype, kind) in enumerate(product(shapes, DTYPES, DTYPES)):
        eps, times = (1e-5, 0.75, 1e-3, 15.0)[number % 4], (1.0, 300.0, 1e-3, 0.01, 3000.0)[number % 5]
        low, high = ((-1.0, 1.0), (0.5, 2.0), (-3.0, -1.0))[number % 3]
        more = {"hidden_size": h, "group_size": gz, "init_seed": number, "dtype": kind}
        built, gamma = _build(name, **more, eps=eps, init_range=(low, high)), _assign(_random(h, dtype=kind))
        if h % 16 == 0:
            draws = _drawn("uniform_", number, (h,), kind, low, high)
            yield from (Probe(asked, draws=draws) for asked in ([built, PARAMETERS], [_assign(3.0), *RESET]))
        x, upstream = _random(s, b, h, dtype=dtype, times=times).transpose(0, 1), _random(b, s, h, dtype=dtype)
        x = (x * torch.exp2(torch.arange(h // gz) % 4).repeat_interleave(gz)).to(dtype) if number % 2 else x
        x = x[:1].expand(b, s, h) if number % 7 == 0 else x
        yield Probe([built, gamma, _do("observe", x)])
        yield Probe([_method("eval"), _do("observe", x)])
        if gz > 1:  # or the terms of the gradient cancel
            yield Probe([_method("train"), _do("backward", x, upstream=upstream)], "all", (dtype, kind))
        yield Probe([PARAMETERS])
        yield Probe([_assign(_random(h, dtype=kind) + 1), _do("call", _random(1, 4, h))])
        if gz > 1:
            yield Probe([_do("backward", _random(1, 4, h, times=2), upstream=_random(1, 4, h))], "all", (dtype, kind))
        yield Probe([_method("to", DTYPES[number % 3]), _do("observe", _random(1, 2, h, dtype=dtype))])
        yield Probe([built, gamma, _build(name, 1, hidden_size=2 * h, group_size=gz, eps=2.0), _do("call", x)])
        yield from (Probe([asked]) for asked in (BUFFERS, STATE) if number % 9 == 0)
        if second and number % 8 == 0:
            moved = _build(name, **more, device=second)
            if h % 16 == 0:
                yield Probe([moved, PARAMETERS], draws=_drawn("uniform_", number, (h,), kind, -1.0, 1.0))
            for home in ("cpu", second):
                yield Probe([moved, gamma, _do("call", x.to(home))])
                back = _do("backward", x.contiguous().to(home), upstream=upstream.to(home))
                yield from (Probe([moved, gamma, back], "all", DTYPES) for _ in range(gz > 1))
            yield Probe([built, gamma, _do("call", x.to(second))])
            yield Probe([built, gamma, _method("to", second), _do("call", x.to(second))])


def _embedding(
    name: str, v: int, shape: tuple[int, int], second: str | None, draw: tuple[int, float, float], **arguments: Any
) -> Iterator[Probe]:
    built, there = (_build(name, **arguments, **more) for more in ({}, {"device": second or "cpu"}))
    dtype: torch.dtype = arguments["dtype"]
    if shape[0] * shape[1] % 16 == 0:
        drawn = [there, PARAMETERS], [built, PARAMETERS], [_assign(3.0), *RESET], [RESET[0], *RESET]
        yield from (Probe(one, draws=_drawn("normal_", draw[0], shape, dtype, *draw[1:])) for one in drawn)
    table = _random(*shape, dtype=dtype)
    given, several = _assign(table), (torch.arange(v).reshape(1, v), _integers(v, 3, 5), _integers(v, 4, 2).t())
    for number, ids in enumerate(several):
        back = _do("backward", ids, upstream=_integers(4, *ids.shape, shape[1], low=-3).to(dtype))
        asked = [built, given, _do("observe", ids)], [back], [_method("eval"), _do("call", ids)]
        yield from (Probe(one, "exact") for one in asked)
        yield Probe([_method("train"), PARAMETERS], "exact")
        yield Probe([_assign(table + 1), _do("call", ids)], "exact")
        if second and number < 2:
            moved = ids.to(second)
            away = [there, given, _do("observe", ids)], [there, given, _do("observe", moved)], [back]
            yield from (Probe(one, "exact") for one in away)
            yield Probe([built, given, _do("call", moved)], "exact")
            yield Probe([_method("to", second), _do("call", moved)], "exact")
    zeros = torch.zeros(1, 2, dtype=torch.long)
    for ids in (zeros, torch.full((1, 1), v - 1), _integers(v, 1, 4).expand(3, 4)):
        yield Probe([built, given, _do("observe", ids)], "exact")
        yield Probe([_do("backward", ids, upstream=torch.ones(*ids.shape, shape[1], dtype=dtype))], "exact")
    yield from (Probe([built, given, _method("to", kind), _do("observe", zeros)], "exact") for kind in DTYPES)
    yield from (Probe([asked]) for asked in (BUFFERS, STATE))


def _vocab(second: str | None) -> Iterator[Probe]:
    name = "VocabEmbedding"
    yield _load("modeling.vocab_emb", name)
    yield Probe([_build(name, vocab_size=16, emb_size=6), PARAMETERS])
    for seed, ((v, e), dtype) in enumerate(product([(16, 5), (1, 16), (48, 3), (7, 7)], DTYPES)):
        mean, std = ((0.0, 1.0), (-2.0, 0.5), (10.0, 3.0))[seed // 2 % 3]
        more = {"vocab_size": v, "emb_size": e, "init_mean": mean, "init_std": std, "init_seed": seed, "dtype": dtype}
        yield from _embedding(name, v, (v, e), second, (seed, mean, std), **more)


def _shards(second: str | None) -> Iterator[Probe]:
    name = "ParallelVocabEmbedding"
    yield _load("modeling.vocab_emb", name)
    for v, w in ((10, 3), (4, 8), (7, 5)):
        yield Probe([_build(name, vocab_size=v, emb_size=4, world_size=w), STATE], sizes=(v, w))
    for ranks in ({}, {"rank": 1, "world_size": 2}):
        yield Probe([_build(name, vocab_size=16, emb_size=6, **ranks), PARAMETERS])
    for v, e, w in ((12, 8, 3), (5, 16, 5), (32, 3, 2), (8, 6, 1), (24, 4, 4)):
        for rank in range(w):
            mean, std = ((1.0, 0.5), (0.0, 1.0))[rank % 2]
            sizes = {"vocab_size": v, "emb_size": e, "rank": rank, "world_size": w, "init_base_seed": 9 * w}
            more = {**sizes, "init_mean": mean, "init_std": std, "dtype": DTYPES[(v + rank) % 3]}
            here = second if rank < 2 else None
            yield from _embedding(name, v, (v // w, e), here, (9 * w + rank, mean, std), **more)


def _rotation(second: str | None) -> Iterator[Probe]:
    name = "apply_rotary_pos_emb"
    yield _load("functional", name)
    shapes = [(2, 5, 3, 8), (1, 1, 1, 2), (3, 2, 1, 6), (1, 4, 2, 64), (2, 3, 3, 4), (3, 3, 3, 6)]
    for number, ((b, s, nh, hd), dtype, kind) in enumerate(product(shapes, DTYPES, DTYPES)):
        angles = torch.rand(s, hd // 2, generator=torch.Generator().manual_seed(number)) * 50
        cos, sin = (table.repeat(1, 2).to(kind) for table in (angles.cos(), angles.sin()))
        x, upstream = _random(b, nh, s, hd, dtype=dtype).transpose(1, 2), _random(b, s, nh, hd, dtype=dtype)
        x = x[:1].expand(b, s, nh, hd) if number % 5 == 0 else x
        there = [[t.contiguous().to(second) for t in (x, cos, sin)]] if second else []
        given = [[2 * x, sin, cos], [x[:, :1], cos[-1:], sin[-1:]], *there]
        yield Probe([_do("observe", x, cos, sin, target=name)], "pair", (dtype,))
        yield from (Probe([_do("call", *tensors, target=name)], "pair", (dtype,)) for tensors in given)
        yield Probe([_do("backward", x, cos, sin, target=name, upstream=upstream)], "all", (dtype, kind))


def _rope(second: str | None) -> Iterator[Probe]:
    name = "NTKAwareRoPE"
    yield _load("modeling.pos_emb", name)
    yield from _calls(_build(name, dim=8, max_seq_len=6), 8, 6, 1, False, 10000, torch.float32, (6, 3, 13, 6))
    bases, sizes = cycle((500, 10000, 100000)), [(8, 10, 1), (6, 7, 3), (64, 16, 2), (4, 5, 4), (16, 3, 5)]
    for (hd, ms, k), dynamic, kind in product(sizes, (False, True), DTYPES):
        base = next(bases)
        more = {"dim": hd, "max_seq_len": ms, "base": base, "ratio": k, "dynamic": dynamic, "dtype": kind}
        tail = (ms * k, ms * k + 1, 5 * ms, ms, 4 * ms, 6 * ms, 8 * ms + 1, ms - 1, 7 * ms, 9 * ms, ms * k, 1)
        lengths = (1, ms, *tail[:: 1 if kind is DTYPES[0] else 2])
        yield from _calls(_build(name, **more), hd, ms, k, dynamic, base, kind, lengths)
        longest = _do("call", _random(1, 12 * ms, 1, hd))
        yield Probe([_build(name, **more), longest], "pair", (kind,), _angles(hd, base, 12 * ms))
        if second:
            length = 5 * ms + 1
            there, x = _build(name, **more, device=second), _random(1, length, 1, hd, dtype=kind).to(second)
            moved = [_build(name, **more), _method("to", second), _do("call", x)]
            yield Probe([*moved, BUFFERS], dtypes=(kind,), angles=_angles(hd, base, ms * (6 if dynamic else k)))
            call = Probe([_do("call", x)], "pair", (kind,), _angles(hd, base, length))
            yield from (call, Probe([there, BUFFERS], dtypes=(kind,), angles=_angles(hd, base, ms * k)), call)
            grown = [_build(name, **more), _do("call", _random(1, length, 1, hd)), _method("to", second)]
            yield Probe([*grown, *call.operations], "pair", (kind,), _angles(hd, base, length))
            further = _random(1, 7 * ms + 1, 1, hd, dtype=kind).to(second)
            yield Probe([_do("call", further)], "pair", (kind,), _angles(hd, base, 7 * ms + 1))
    far = [_build(name, dim=128, max_seq_len=512, ratio=8), _do("call", _random(1, 4096, 1, 128))]
    yield Probe(far, "pair", angles=_angles(128, 10000, 4096))


def _angles(hd: int, base: int, length: int) -> Tensor:
    return torch.outer(torch.arange(length), torch.tensor([base ** (-2 * i / hd) for i in range(hd // 2)]))


def _calls(
    built: Operation, hd: int, ms: int, k: int, dynamic: bool, base: int, kind: torch.dtype, lengths: Sequence[int]
) -> Iterator[Probe]:
    yield Probe([built, STATE])
    yield Probe([BUFFERS], dtypes=(kind,), angles=_angles(hd, base, ms * k))
    for call, s in enumerate(lengths):
        x = _random(1 + call % 2, 2, s, hd, dtype=DTYPES[call % 3]).transpose(1, 2)
        answer = [_method("train", call % 4 < 2), _do("observe", x)]
        yield Probe(answer, "pair", (kind, x.dtype), _angles(hd, base, s))
        k = 2 * ceil(s / ms / 2) if dynamic and s > ms * k else k
        yield Probe([BUFFERS], dtypes=(kind,), angles=_angles(hd, base, ms * k))
        if call % 3 == 0:
            yield Probe([_do("backward", x, upstream=_random(*x.shape, dtype=x.dtype))], "all", DTYPES)
    yield from (Probe([asked]) for asked in (STATE, PARAMETERS))


PROBES: Final[Mapping[str, Callable[[str | None], Iterator[Probe]]]] = {
    "GroupRMSNorm": _norm,
    "VocabEmbedding": _vocab,
    "ParallelVocabEmbedding": _shards,
    "apply_rotary_pos_emb": _rotation,
    "NTKAwareRoPE": _rope,
}

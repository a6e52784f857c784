"""Writes a GGUF file of a Llama with drawn weights: what ``make chat`` is tested on where no model is installed."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

import torch
from torch import Tensor

from tests.models.gguf import LETTERS

BLOCKS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM = 2, 128, 96, 2, 1, 64
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("t h", "th e", "Ġ the")
TOKENS = (
    *SPECIAL,
    *LETTERS.values(),
    *(merge.replace(" ", "") for merge in MERGES),
    "<|a|>",
    "<|b|>",
)  # 264, for four ranks
U32, F32, TEXT, LIST = 4, 6, 8, 9
ALIGNMENT = 32


def tiny_gguf() -> bytes:
    """The file: its embedding in Q8_0, its matrices in Q4_1 and F16, its norms in F32, as the real one mixes types."""
    torch.manual_seed(0)
    facts: dict[str, object] = {
        "general.architecture": "llama",
        "llama.block_count": BLOCKS,
        "llama.embedding_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.context_length": 8192,
        "llama.rope.freq_base": 100000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.merges": MERGES,
    }
    kv = KV_HEADS * HEAD_DIM
    tensors = {"token_embd.weight": q8_0(torch.randn(len(TOKENS), HIDDEN) / 4)}
    for block in range(BLOCKS):
        shapes = {
            "attn_q": HIDDEN,
            "attn_k": kv,
            "attn_v": kv,
            "attn_output": HIDDEN,
            "ffn_gate": INNER,
            "ffn_up": INNER,
        }
        drawn = {name: torch.randn(rows, HIDDEN) / HIDDEN**0.5 for name, rows in shapes.items()}
        drawn["ffn_down"] = torch.randn(HIDDEN, INNER) / INNER**0.5
        for name, matrix in drawn.items():
            tensors[f"blk.{block}.{name}.weight"] = f16(matrix) if name == "attn_v" else q4_1(matrix)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{block}.{name}.weight"] = f32(0.5 + torch.rand(HIDDEN))
    tensors["output_norm.weight"] = f32(0.5 + torch.rand(HIDDEN))
    return gguf(facts, tensors)


Stored = tuple[tuple[int, ...], int, bytes]  # shape, type and bytes


def gguf(facts: Mapping[str, object], tensors: Mapping[str, Stored]) -> bytes:
    """A file with these facts and tensors."""
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    for name, fact in facts.items():
        header += _text(name) + _fact(fact)
    data = b""
    for name, (shape, kind, stored) in tensors.items():
        header += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        header += struct.pack("<IQ", kind, len(data))
        data += stored + bytes(-len(stored) % ALIGNMENT)
    return header + bytes(-len(header) % ALIGNMENT) + data


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _fact(fact: object) -> bytes:
    if isinstance(fact, tuple):
        return struct.pack("<IIQ", LIST, TEXT, len(fact)) + b"".join(_text(str(item)) for item in fact)
    if isinstance(fact, str):
        return struct.pack("<I", TEXT) + _text(fact)
    return struct.pack("<II", U32, fact) if isinstance(fact, int) else struct.pack("<If", F32, fact)


def f32(values: Tensor) -> Stored:
    """Numbers as they are."""
    return tuple(values.shape), 0, _packed("f", values)


def f16(values: Tensor) -> Stored:
    """Numbers in half precision."""
    return tuple(values.shape), 1, _packed("e", values)


def q8_0(values: Tensor) -> Stored:
    """Blocks of 32: a scale, and 32 signed bytes."""
    data = b""
    for block in values.view(-1, 32):
        scale = float(block.abs().max()) / 127
        data += struct.pack("<e32b", scale, *(round(value / scale) for value in block.tolist()))
    return tuple(values.shape), 8, data


def q4_1(values: Tensor) -> Stored:
    """Blocks of 32: a scale, the least value, and 16 bytes: low nibbles first, then the high ones."""
    data = b""
    for block in values.view(-1, 32):
        least = float(block.min())
        scale = (float(block.max()) - least) / 15
        steps = [min(15, math.floor((value - least) / scale + 0.5)) for value in block.tolist()]
        pairs = (low | high << 4 for low, high in zip(steps[:16], steps[16:], strict=True))
        data += struct.pack("<ee16B", scale, least, *pairs)
    return tuple(values.shape), 3, data


def _packed(code: str, values: Tensor) -> bytes:
    return struct.pack(f"<{values.numel()}{code}", *values.flatten().tolist())

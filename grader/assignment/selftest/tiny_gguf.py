"""Writes a GGUF file of a Llama with drawn weights: what ``make chat`` is tested on where no model is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

BLOCKS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM = 2, 128, 96, 2, 1, 64
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("t h", "th e", "Ġ the")
_SHOWN = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_LETTERS = map(chr, (*_SHOWN, *range(256, 512 - len(_SHOWN))))  # of the 256 bytes, as in GPT-2
TOKENS = (*SPECIAL, *_LETTERS, *(merge.replace(" ", "") for merge in MERGES), "<|a|>", "<|b|>")  # 264, for four ranks


def write_tiny(path: Path) -> None:
    """Write the model: its embedding in Q8_0, its matrices in Q4_1 and F16, its norms in F32, as the real one mixes."""
    torch.manual_seed(0)
    file = writer(path, "llama")
    file.add_block_count(BLOCKS)
    file.add_embedding_length(HIDDEN)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(KV_HEADS)
    file.add_context_length(8192)
    file.add_rope_freq_base(100000.0)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_token_list(TOKENS)
    file.add_token_merges(MERGES)
    kv = KV_HEADS * HEAD_DIM
    add(file, "token_embd.weight", torch.randn(len(TOKENS), HIDDEN) / 4, "Q8_0")
    rows = {"attn_q": HIDDEN, "attn_k": kv, "attn_v": kv, "attn_output": HIDDEN, "ffn_gate": INNER, "ffn_up": INNER}
    for block in range(BLOCKS):
        drawn = {name: torch.randn(count, HIDDEN) / HIDDEN**0.5 for name, count in rows.items()}
        drawn["ffn_down"] = torch.randn(HIDDEN, INNER) / INNER**0.5
        for name, matrix in drawn.items():
            add(file, f"blk.{block}.{name}.weight", matrix, "F16" if name == "attn_v" else "Q4_1")
        for name in ("attn_norm", "ffn_norm"):
            add(file, f"blk.{block}.{name}.weight", 0.5 + torch.rand(HIDDEN), "F32")
    add(file, "output_norm.weight", 0.5 + torch.rand(HIDDEN), "F32")
    write(file)


def writer(path: Path, architecture: str) -> Any:
    """A ``gguf.GGUFWriter`` for a file, to which facts and tensors can be added."""
    return import_module("gguf").GGUFWriter(path, architecture)


def add(file: Any, name: str, values: Tensor, kind: str) -> None:
    """Add a tensor in one of GGUF's types."""
    package = import_module("gguf")
    chosen = package.GGMLQuantizationType[kind]
    file.add_tensor(name, package.quantize(values.numpy(), chosen), raw_dtype=chosen)


def write(file: Any) -> None:
    """Write what was added."""
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()

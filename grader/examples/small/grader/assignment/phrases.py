"""What the hidden tests of this assignment say, in Chinese; the engine knows the sentences that they are parts of."""

from __future__ import annotations

from typing import Final

PHRASES: Final = {
    "last token with heads={heads}": "heads={heads} 时的最后一个 token",
    "last token with base={base}": "base={base} 时的最后一个 token",
    "output for {seq} tokens with queries of zeros": "query 全为零时 {seq} 个 token 的输出",
    "output for ff_size={size}": "ff_size={size} 时的输出",
    "the parameters are called {names}": "参数的名字是 {names}",
    "nothing": "（没有参数）",
    "{matrix} with seed {seed} after reset_parameters()": "reset_parameters() 之后种子 {seed} 的 {matrix}",
    "{matrix} with seed {seed}": "种子 {seed} 的 {matrix}",
}

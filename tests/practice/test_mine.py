"""Your tests for `make practice`, which hand in what breaks wrong implementations: write functions like the one below.

Each takes one argument, an implementation of ``visible``, and fails (by `assert`, say) if that is wrong. The contract
stands in `right_1` in `implementations.py`. Use torch and Python's standard library, and at most 50 tests.

这里写你的测试：每个测试函数接收一个参数，即 ``visible`` 的一个实现；实现有错时，测试要失败（例如用 `assert`）。约定见
`implementations.py` 中的 `right_1`。只用 torch 和 Python 标准库，最多 50 个测试。
"""

import torch


def test_each_token_sees_itself(visible):
    """An example; keep it or not."""
    mask = visible(torch.tensor([7, 7, 3]), window=1)
    assert mask.diagonal().all()

"""Task 3 as it is used: shards in real processes, summed over a real network interface."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from grader import REPOSITORY

pytestmark = pytest.mark.process

DEADLINE_S = 100  # for all ranks together; they take seconds


def run_ranks(world_size: int, folder: Path, **given: Tensor) -> list[dict[str, Tensor]]:
    """What each rank saved. Ranks end with their parent, and the parent with the deadline."""
    torch.save(given, folder / "given.pt")
    # Loopback alone: gloo would look for the address of the machine's name, which a sandbox may not resolve.
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0"}
    command = [sys.executable, "-m", "grader.assignment.selftest.ranks", str(world_size), str(folder)]
    parent = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert parent.returncode == 0, parent.stderr
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(world_size)]


def test_shards_summed_over_processes_are_the_full_embedding(tmp_path: Path) -> None:
    """Forward and backward, bit for bit: of the summands of each row one is not zero, and gradients are integers."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(16, 4, generator=generator, requires_grad=True)
    ids = torch.cat((torch.arange(16), torch.randint(16, (16,), generator=generator))).view(2, 16)
    upstream = torch.randint(-3, 4, (2, 16, 4), generator=generator).float()
    expected = nn.functional.embedding(ids, table)
    (gradient,) = torch.autograd.grad(expected, table, upstream)

    ranks = run_ranks(4, tmp_path, table=table.detach(), ids=ids, upstream=upstream)
    for rank in ranks:
        assert torch.equal(rank["whole"], expected)
    assert torch.equal(torch.cat([rank["gradient"] for rank in ranks]), gradient)


def test_a_rank_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    """One that finds a table it cannot split."""
    with pytest.raises(AssertionError, match=r"vocab_size=3 does not divide over world_size=2"):
        run_ranks(2, tmp_path, table=torch.zeros(3, 1), ids=torch.zeros(1, 1).long(), upstream=torch.zeros(1, 1, 1))

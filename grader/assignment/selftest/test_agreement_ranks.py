"""Task 3 as it is used: shards in real processes, summed over a real network interface.

The tests run this module, ``python -m grader.assignment.selftest.test_agreement_ranks WORLD_SIZE FOLDER``. The folder
holds ``given.pt``, gets ``<rank>.pt`` from every rank, and is where the ranks find one another.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed
from torch import nn
from torch.multiprocessing.spawn import start_processes

from grader import REPOSITORY
from ref.modeling import ParallelVocabEmbedding

pytestmark = pytest.mark.process

DEADLINE_S = 100  # for all ranks together; they take seconds
TIMEOUT = timedelta(seconds=60)  # for each meeting of the ranks: a lost one must not keep the others


def run_rank(rank: int, world_size: int, folder: Path) -> None:
    """Embed the given ids on this rank's rows, add up over all ranks, and save the sum and the shard's gradient."""
    torch.set_num_threads(1)
    given = torch.load(folder / "given.pt", weights_only=True)
    vocab_size, emb_size = given["table"].shape
    shard = ParallelVocabEmbedding(vocab_size=vocab_size, emb_size=emb_size, rank=rank, world_size=world_size)
    shard.shard.data.copy_(given["table"].chunk(world_size)[rank])

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world_size, timeout=TIMEOUT
    )
    try:
        part = shard(given["ids"])
        whole = part.detach().clone()
        torch.distributed.all_reduce(whole)
        # Every rank computes the same loss of the sum, so a part's gradient is the sum's: nothing to communicate.
        part.backward(given["upstream"])
        torch.save({"whole": whole, "gradient": shard.shard.grad}, folder / f"{rank}.pt")
    finally:
        torch.distributed.destroy_process_group()


def main(world_size: int, folder: Path) -> None:
    """Start all ranks, and end all if one fails. They are forked, so that torch is imported once."""
    start_processes(run_rank, (world_size, folder), world_size, start_method="fork")


def test_shards_summed_over_processes_are_the_full_embedding(tmp_path: Path) -> None:
    """Forward and backward, bit for bit: of the summands of each row one is not zero, and gradients are integers."""
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(16, 4, generator=generator, requires_grad=True)
    ids = torch.cat((torch.arange(16), torch.randint(16, (16,), generator=generator))).view(2, 16)
    upstream = torch.randint(-3, 4, (2, 16, 4), generator=generator).float()
    expected = nn.functional.embedding(ids, table)
    (gradient,) = torch.autograd.grad(expected, table, upstream)
    torch.save({"table": table.detach(), "ids": ids, "upstream": upstream}, tmp_path / "given.pt")

    # Loopback alone: gloo would look for the address of the machine's name, which a sandbox may not resolve.
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0"}
    command = [sys.executable, "-m", __name__, "4", str(tmp_path)]
    ranks = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=DEADLINE_S)
    assert ranks.returncode == 0, ranks.stderr

    saved = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(4)]
    for rank in saved:
        assert torch.equal(rank["whole"], expected)
    assert torch.equal(torch.cat([rank["gradient"] for rank in saved]), gradient)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

"""Task 3 among real processes: ``python -m grader.assignment.selftest.ranks WORLD_SIZE FOLDER``.

The folder holds ``given.pt``, gets ``<rank>.pt`` from every rank, and is where the ranks find one another.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed
from torch.multiprocessing.spawn import start_processes

from ref.modeling import ParallelVocabEmbedding

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


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

"""A parameter on another device than the input, left there; other ways to go wrong with devices: ``devices_wrong``."""

import torch
from torch import nn

from grader.specimens.variants import wrong


@wrong("GroupRMSNorm.forward", breaks="norm_mixed_devices")
def gamma_left_where_it_is(self, input):
    """Multiplies by gamma, on whatever device that is."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma).to(input.dtype)


@wrong("VocabEmbedding.forward", breaks="vocab_mixed_devices")
def table_left_where_it_is(self, input_ids):
    """Hands ids and table to the library as they are."""
    return nn.functional.embedding(input_ids, self.table)


@wrong("VocabEmbedding.forward", breaks="vocab_mixed_devices")
def rows_left_with_the_table(self, input_ids):
    """Indexes the table, which takes ids of the CPU and gives rows on its own device."""
    return self.table[input_ids]


@wrong("ParallelVocabEmbedding.forward", breaks="shard_mixed_devices")
def shard_left_where_it_is(self, input_ids):
    """Looks rows up in the shard, on whatever device that is."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_mixed_devices")
def rows_left_with_the_shard(self, input_ids):
    """Moves the ids to the shard, and its rows nowhere."""
    rows = input_ids.to(self.shard.device) - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)

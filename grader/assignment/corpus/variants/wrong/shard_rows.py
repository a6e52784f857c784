"""ParallelVocabEmbedding: faults in which ids a rank answers, and with which row."""

from functools import partial

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import ShardInSteps
from grader.specimens.variants import wrong
from ref.modeling.vocab_emb import ParallelVocabEmbedding

from . import SHARD, SHARD_OUTPUT

wrong_range = partial(wrong, breaks="shard_owned_ids", also=SHARD_OUTPUT)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_registration_and_arguments")
def views_the_ids_as_one_row(self, input_ids):
    """Fails on ids such as tokens[:, :-1], which are no view of one row."""
    rows = input_ids.view(-1) - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device))
    return embedded.masked_fill(foreign.unsqueeze(-1), 0).view(*input_ids.shape, -1)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_registration_and_arguments", hint="ids_in_memory_order")
def ids_read_in_memory_order(self, input_ids):
    """Takes ids as they lie in memory, so those of a transposed view get each other's rows."""
    rows = input_ids.as_strided((input_ids.numel(),), (1,)) - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device))
    return embedded.masked_fill(foreign.unsqueeze(-1), 0).view(*input_ids.shape, -1)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_registration_and_arguments", hint="ids_in_memory_order")
def start_of_a_slice_ignored(self, input_ids):
    """Reads ids from the beginning of their memory, so those of a slice give the rows of the ids before them."""
    rows = input_ids.as_strided(input_ids.shape, input_ids.stride(), 0) - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_registration_and_arguments", hint="output_shape")
def batch_lost_without_own_ids(self, input_ids):
    """Squeezes the zeros of a call that has no own ids."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)
    return embedded.squeeze(0) if bool(foreign.all()) else embedded


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT, hint="shard_lost_edge_row")
def row_zero_taken_for_foreign(self, input_ids):
    """Sends foreign ids to row 0, and then clears whatever came from row 0."""
    rows = input_ids - self.first_id
    rows = torch.where((rows >= 0) & (rows < self.shard.shape[0]), rows, 0)
    return self.shard.to(input_ids.device)[rows].masked_fill((rows == 0).unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT)
def remainder_by_one_less(self, input_ids):
    """Numbers rows by the id's remainder, of a division by one less than there are rows."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    rows = (input_ids % max(len(self.shard) - 1, 1)).masked_fill(foreign, 0)
    return self.shard.to(input_ids.device)[rows].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT, hint="shard_lost_edge_row")
def last_of_an_odd_number_of_rows_lost(self, input_ids):
    """Answers two halves of the range, each of half as many ids as it has rows, rounded down."""
    rows, held = input_ids - self.first_id, len(self.shard)
    foreign = (rows < 0) | (rows >= (2 * (held // 2) if held > 4 else held))
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT)
def rows_in_reverse(self, input_ids):
    """Subtracts the id from the end of the range."""
    rows = self.first_id + self.shard.shape[0] - 1 - input_ids
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT, hint="lookup_rows_scaled")
def rows_halved_where_all_are_owned(self, input_ids):
    """Halves the rows of a call that has no foreign id."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    own = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)]
    return own.masked_fill(foreign.unsqueeze(-1), 0) if bool(foreign.any()) else own / 2


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT)
def start_not_subtracted(self, input_ids):
    """Masks rightly and looks up the global id, which the shard does not have."""
    foreign = (input_ids < self.first_id) | (input_ids >= self.first_id + self.shard.shape[0])
    return self.shard.to(input_ids.device)[input_ids.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong(
    "ParallelVocabEmbedding.forward", breaks="shard_registration_and_arguments", also=SHARD_OUTPUT, hint="output_dtype"
)
def mask_of_the_wrong_dtype(self, input_ids):
    """Multiplies by a float32 mask, which makes the output of a bfloat16 shard float32."""
    rows = input_ids - self.first_id
    owned = (rows >= 0) & (rows < self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows * owned] * owned.unsqueeze(-1).float()


@wrong_range("ParallelVocabEmbedding.choose_first_id", over=ShardInSteps)
def every_rank_starts_at_zero(self):
    """Ignores the rank: all shards answer the ids of the first."""
    return 0


@wrong_range("ParallelVocabEmbedding.choose_first_id", over=ShardInSteps)
def ranks_counted_from_one(self):
    """Gives every rank the range of the next."""
    return (self.rank + 1) * (self.vocab_size // self.world_size)


@wrong(
    "ParallelVocabEmbedding",
    over=ShardInSteps,
    breaks="shard_owned_ids shard_registration_and_arguments",
    also=SHARD,
    hint="parameter_size",
)
class ShardSizeFromTheRank(ParallelVocabEmbedding):
    """Divides the vocabulary by the rank, as one source of the exercise has it."""

    def register_shard(self, values):
        rows = self.vocab_size // max(self.rank, 1)
        self.first_id = self.rank * rows
        self.shard = nn.Parameter(values.new_empty(rows, values.shape[1]))


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT, hint="shard_clamped_ids")
def mask_taken_after_clamping(self, input_ids):
    """Asks which ids are foreign when none is left."""
    rows = (input_ids - self.first_id).clamp(0, self.shard.shape[0] - 1)
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT, hint="shard_clamped_ids")
def foreign_ids_give_row_zero(self, input_ids):
    """Multiplies the ids by the mask, not the output."""
    rows = input_ids - self.first_id
    owned = (rows >= 0) & (rows < self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows * owned]


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT, hint="shard_wrapped_ids")
def only_larger_ids_masked(self, input_ids):
    """Clears the ids above the range; those below wrap as negative indices, where they do not fail."""
    rows = input_ids - self.first_id
    foreign = rows >= self.shard.shape[0]
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong(
    "ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT, hint="shard_neighbour_answered"
)
def one_id_too_many_below(self, input_ids):
    """Includes the last id of the previous rank."""
    rows = input_ids - self.first_id
    foreign = (rows < -1) | (rows >= self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows.clamp(0, self.shard.shape[0] - 1)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT)
def every_rank_answers_id_zero(self, input_ids):
    """Takes id 0 for padding that all ranks share; it is next to the range of few ranks."""
    rows = input_ids - self.first_id
    foreign = ((rows < 0) | (rows >= self.shard.shape[0])) & (input_ids != 0)
    return self.shard.to(input_ids.device)[rows.clamp(0, self.shard.shape[0] - 1)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong(
    "ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT, hint="shard_filled_otherwise"
)
def foreign_ids_give_ones(self, input_ids):
    """Fills with one."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 1)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere shard_sum_over_ranks shard_backward")
def mask_of_the_first_row(self, input_ids):
    """Asks only which ids of the first batch row are foreign."""
    rows = input_ids - self.first_id
    foreign = ((rows < 0) | (rows >= self.shard.shape[0]))[:1].expand_as(rows)
    own = self.shard.to(input_ids.device)[rows.clamp(0, self.shard.shape[0] - 1)]
    return own.masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", hint="shard_filled_otherwise")
def foreign_ids_give_the_mean(self, input_ids):
    """Fills with init_mean, which is zero by default."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    own = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)]
    return own.masked_fill(foreign.unsqueeze(-1), self.init_mean)


@wrong(
    "ParallelVocabEmbedding.forward",
    breaks="shard_owned_ids shard_zeros_elsewhere",
    also=SHARD_OUTPUT,
    hint="shard_filled_otherwise output_shape",
)
def foreign_ids_left_out(self, input_ids):
    """Returns a list of the owned rows, without the zeros between them."""
    rows = input_ids - self.first_id
    return self.shard.to(input_ids.device)[rows[(rows >= 0) & (rows < self.shard.shape[0])]]

"""ParallelVocabEmbedding: faults in the seed, the registration, the gradient and in side effects."""

from functools import partial

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import ShardInSteps
from grader.specimens.variants import wrong
from ref.modeling.vocab_emb import ParallelVocabEmbedding

from . import SHARD, SHARD_OUTPUT

wrong_parameter = partial(wrong, over=ShardInSteps, breaks="shard_registration_and_arguments", also=SHARD)


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed", hint="shard_seed_of_later_ranks")
def seed_times_rank(self, base_seed):
    """Multiplies where it should add."""
    return base_seed * self.rank


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed", hint="shard_seed_of_later_ranks")
def seed_plus_first_id(self, base_seed):
    """Adds the start of the range."""
    return base_seed + self.rank * (self.vocab_size // self.world_size)


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed", hint="shard_seed_of_later_ranks")
def seed_minus_rank(self, base_seed):
    """Subtracts the rank."""
    return base_seed - self.rank


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed", hint="shard_seed_of_later_ranks")
def seed_cut_to_three_digits(self, base_seed):
    """Adds the rank, and takes what is left of a division by 1000."""
    return (base_seed + self.rank) % 1000


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed")
def seed_ignored_by_one_rank(self, base_seed):
    """Seeds only where there are several ranks."""
    return base_seed + self.rank if self.world_size > 1 else 0


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed", hint="init_seed_ignored")
def seed_ignored(self, base_seed):
    """Writes the default seed where init_base_seed belongs."""
    return 42 + self.rank


@wrong("ParallelVocabEmbedding.reset_parameters", breaks="shard_seed", hint="init_unseeded")
def never_seeded(self):
    """Draws from wherever the global generator stands."""
    nn.init.normal_(self.shard, self.init_mean, self.init_std)


@wrong("ParallelVocabEmbedding.reset_parameters", breaks="shard_seed", hint="init_other_scale")
def mean_and_deviation_ignored(self):
    """Draws from the standard normal distribution."""
    generator = torch.Generator(self.shard.device).manual_seed(self.init_seed)
    nn.init.normal_(self.shard, generator=generator)


@wrong("ParallelVocabEmbedding.reset_parameters", breaks="shard_seed", hint="init_after_extra_draw")
def draws_once_before(self):
    """Makes the shard with randn after seeding, and fills it with the next numbers."""
    torch.manual_seed(self.init_seed)
    self.shard = nn.Parameter(torch.randn_like(self.shard))
    nn.init.normal_(self.shard, self.init_mean, self.init_std)


@wrong("ParallelVocabEmbedding", over=ShardInSteps, breaks="shard_seed", hint="shard_rows_of_a_table")
class PartOfTheWholeTable(ParallelVocabEmbedding):
    """Draws the whole table from the base seed and cuts this rank's rows out."""

    def choose_seed(self, base_seed):
        return base_seed

    def reset_parameters(self):
        generator = torch.Generator(self.shard.device).manual_seed(self.init_seed)
        table = torch.empty(self.vocab_size, self.shard.shape[1], dtype=self.shard.dtype, device=self.shard.device)
        table.normal_(self.init_mean, self.init_std, generator=generator)
        self.shard.data.copy_(table[self.first_id : self.first_id + self.shard.shape[0]])


@wrong(
    "ParallelVocabEmbedding.register_shard",
    over=ShardInSteps,
    breaks="shard_registration_and_arguments shard_zeros_elsewhere",
    also=SHARD,
    hint="shard_neighbour_answered parameter_size",
)
def parameter_with_a_row_for_foreign_ids(self, values):
    """Gives the parameter one row more, which the first id of the next rank then finds."""
    self.shard = nn.Parameter(values.new_zeros(values.shape[0] + 1, values.shape[1]))


@wrong(
    "ParallelVocabEmbedding.check_sizes",
    over=ShardInSteps,
    breaks="shard_sizes_named",
    hint="bad_sizes_unnamed",
)
def message_without_the_numbers(self, vocab_size, world_size):
    """Names the arguments and not their values."""
    assert vocab_size % world_size == 0, "vocab_size must be divisible by world_size"


@wrong(
    "ParallelVocabEmbedding.check_sizes",
    over=ShardInSteps,
    breaks="shard_registration_and_arguments",
    hint="bad_sizes_other_error",
)
def another_kind_of_error(self, vocab_size, world_size):
    """Raises RuntimeError."""
    if vocab_size % world_size != 0:
        raise RuntimeError(f"{vocab_size} is not a multiple of {world_size}")


@wrong("ParallelVocabEmbedding.forward", breaks="shard_purity", also=SHARD_OUTPUT, hint="ids_changed_in_place")
def foreign_ids_overwritten(self, input_ids):
    """Assigns the first owned id to the foreign ones, in the caller's tensor."""
    foreign = (input_ids < self.first_id) | (input_ids >= self.first_id + self.shard.shape[0])
    input_ids[foreign] = self.first_id
    return self.shard.to(input_ids.device)[input_ids - self.first_id].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_purity", hint="ids_changed_in_place")
def ids_shifted_in_place_without_gradients(self, input_ids):
    """Copies the ids in training only; in evaluation it shifts those of the caller."""
    local = input_ids.clone() if self.training else input_ids
    local -= self.first_id
    foreign = (local < 0) | (local >= self.shard.shape[0])
    return self.shard.to(local.device)[local.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong(
    "ParallelVocabEmbedding.forward", breaks="shard_purity shard_owned_ids", also=SHARD_OUTPUT, hint="parameter_changed"
)
def first_row_used_for_zeros(self, input_ids):
    """Clears row 0 of the shard to serve foreign ids."""
    self.shard.data[0] = 0
    rows = input_ids - self.first_id
    return self.shard.to(input_ids.device)[rows.masked_fill((rows < 0) | (rows >= self.shard.shape[0]), 0)]


@wrong("ParallelVocabEmbedding.forward", breaks="shard_backward", hint="shard_foreign_gradients")
def mask_hidden_from_autograd(self, input_ids):
    """Clears the output through .data, so foreign ids send their gradient to row 0."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)]
    embedded.data[foreign] = 0
    return embedded


@wrong("ParallelVocabEmbedding.forward", breaks="shard_backward", hint="shard_foreign_gradients")
def foreign_rows_subtracted_as_constants(self, input_ids):
    """Subtracts the detached rows of foreign ids, which leaves their gradient in place."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)]
    return embedded - embedded.detach() * foreign.unsqueeze(-1)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_backward", hint="one_row_without_gradient")
def row_zero_taken_for_padding(self, input_ids):
    """Keeps foreign gradients out with padding_idx=0, and those of the first owned id with them."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device), padding_idx=0)
    return embedded.masked_fill(foreign.unsqueeze(-1), 0)

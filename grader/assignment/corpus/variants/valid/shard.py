"""ParallelVocabEmbedding, done right in other ways."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import ShardInSteps
from grader.specimens.variants import valid
from ref.modeling.vocab_emb import ParallelVocabEmbedding, VocabEmbedding


@valid("ParallelVocabEmbedding.forward")
def chosen_by_where(self, input_ids):
    """Chooses between row and zero with torch.where."""
    shard = self.shard.to(input_ids.device)
    rows = input_ids - self.first_id
    owned = (rows >= 0) & (rows < shard.shape[0])
    embedded = shard[torch.where(owned, rows, torch.zeros_like(rows))]
    return torch.where(owned.unsqueeze(-1), embedded, torch.zeros_like(embedded))


@valid("ParallelVocabEmbedding.forward")
def gradient_kept_sparse(self, input_ids):
    """Has the library hold the gradients of the rows in use only."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    embedded = nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device), sparse=True)
    return embedded.masked_fill(foreign.unsqueeze(-1), 0)


@valid("ParallelVocabEmbedding.forward")
def masked_by_multiplication(self, input_ids):
    """Multiplies by a mask in the dtype of the shard."""
    shard = self.shard.to(input_ids.device)
    rows = input_ids - self.first_id
    owned = (rows >= 0) & (rows < shard.shape[0])
    return nn.functional.embedding(rows * owned, shard) * owned.unsqueeze(-1).to(shard.dtype)


@valid("ParallelVocabEmbedding.forward")
def masked_after_clamping(self, input_ids):
    """Clamps the ids, with the mask taken before."""
    shard = self.shard.to(input_ids.device)
    last_id = self.first_id + shard.shape[0] - 1
    owned = (input_ids >= self.first_id) & (input_ids <= last_id)
    rows = input_ids.clamp(self.first_id, last_id) - self.first_id
    return shard[rows] * owned[..., None]


@valid("ParallelVocabEmbedding.forward")
def masked_after_modulo(self, input_ids):
    """Wraps the ids and keeps the output where the quotient is the rank."""
    shard = self.shard.to(input_ids.device)
    count = shard.shape[0]
    owned = input_ids // count == self.first_id // count
    return shard[input_ids % count].masked_fill(~owned.unsqueeze(-1), 0.0)


@valid("ParallelVocabEmbedding.forward")
def owned_rows_written_into_zeros(self, input_ids):
    """Starts with zeros and fills in what it owns."""
    shard = self.shard.to(input_ids.device)
    output = shard.new_zeros(*input_ids.shape, shard.shape[1])
    owned = (input_ids >= self.first_id) & (input_ids < self.first_id + shard.shape[0])
    output[owned] = shard[input_ids[owned] - self.first_id]
    return output


@valid("ParallelVocabEmbedding.forward")
def foreign_rows_overwritten(self, input_ids):
    """Clones the ids, and assigns zeros to the new output, as Megatron does."""
    shard = self.shard.to(input_ids.device)
    foreign = (input_ids < self.first_id) | (input_ids >= self.first_id + shard.shape[0])
    masked_ids = input_ids.clone() - self.first_id
    masked_ids[foreign] = 0
    output = nn.functional.embedding(masked_ids, shard)
    output[foreign, :] = 0.0
    return output


@valid("ParallelVocabEmbedding.forward")
def row_of_zeros_appended(self, input_ids):
    """Sends foreign ids to a row of zeros after the shard."""
    shard = self.shard.to(input_ids.device)
    count = shard.shape[0]
    padded = torch.cat((shard, shard.new_zeros(1, shard.shape[1])))
    rows = input_ids - self.first_id
    return nn.functional.embedding(torch.where((rows < 0) | (rows >= count), count, rows), padded)


@valid("ParallelVocabEmbedding.forward")
def row_of_zeros_prepended(self, input_ids):
    """Clamps ids to a row of zeros on either side of the shard."""
    shard = self.shard.to(input_ids.device)
    padded = nn.functional.pad(shard, (0, 0, 1, 1))
    return padded[(input_ids - self.first_id + 1).clamp(0, shard.shape[0] + 1)]


@valid("ParallelVocabEmbedding.forward")
def one_hot_without_foreign_columns(self, input_ids):
    """Compares ids with the range and multiplies the comparison by the shard, exactly."""
    shard = self.shard.to(input_ids.device)
    own_ids = torch.arange(shard.shape[0], device=input_ids.device) + self.first_id
    return ((input_ids.unsqueeze(-1) == own_ids).double() @ shard.double()).to(shard.dtype)


@valid("ParallelVocabEmbedding.forward")
def loop_over_tokens(self, input_ids):
    """Decides token by token."""
    shard = self.shard.to(input_ids.device)
    output = []
    for token in input_ids.flatten().tolist():
        row = token - self.first_id
        output.append(shard[row] if 0 <= row < shard.shape[0] else shard.new_zeros(shard.shape[1]))
    return torch.stack(output).view(*input_ids.shape, -1)


@valid("ParallelVocabEmbedding")
class ExtendsVocabEmbedding(VocabEmbedding):
    """Is a VocabEmbedding of v/w rows with a seed of its own; takes further arguments."""

    def __init__(self, vocab_size, emb_size, rank=0, world_size=1, init_base_seed=42, process_group=None, **options):
        assert vocab_size % world_size == 0, f"{vocab_size} rows on {world_size} ranks"
        self.start = rank * (vocab_size // world_size)
        super().__init__(vocab_size // world_size, emb_size, init_seed=init_base_seed + rank, **options)

    def forward(self, input_ids):
        rows = input_ids - self.start
        foreign = rows.lt(0) | rows.ge(len(self.table))
        return super().forward(rows.masked_fill(foreign, 0)).masked_fill(foreign[..., None], 0)


@valid("ParallelVocabEmbedding", over=ShardInSteps)
class LibraryEmbeddingInside(ParallelVocabEmbedding):
    """Holds an nn.Embedding."""

    def register_shard(self, values):
        self.embedding = nn.Embedding(*values.shape, _weight=values)

    def reset_parameters(self):
        torch.manual_seed(self.init_seed)
        nn.init.normal_(self.embedding.weight, self.init_mean, self.init_std)

    def forward(self, input_ids):
        rows = input_ids - self.first_id
        owned = (rows >= 0) & (rows < self.embedding.num_embeddings)
        rows = rows.where(owned, 0).to(self.embedding.weight.device)
        return self.embedding(rows).to(input_ids.device).where(owned.unsqueeze(-1), 0)


@valid("ParallelVocabEmbedding.reset_parameters")
def forked_generator(self):
    """Seeds the global generator inside fork_rng, which puts it back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(self.init_seed)
        self.shard.data.normal_(self.init_mean, self.init_std)


@valid("ParallelVocabEmbedding.reset_parameters")
def standard_draw_stretched(self):
    """Draws from the standard normal distribution and stretches that, in a new Parameter."""
    torch.manual_seed(self.init_seed)
    self.shard = nn.Parameter(torch.randn_like(self.shard) * self.init_std + self.init_mean)


@valid("ParallelVocabEmbedding.reset_parameters")
def drawn_in_float32_and_cast(self):
    """Draws in float32 and casts to the dtype of the shard."""
    torch.manual_seed(self.init_seed)
    drawn = torch.normal(self.init_mean, self.init_std, self.shard.shape, device=self.shard.device)
    self.shard.data.copy_(drawn)


@valid("ParallelVocabEmbedding.check_sizes", over=ShardInSteps)
def assertion_with_a_message(self, vocab_size, world_size):
    """Asserts, with both numbers in the message."""
    assert vocab_size % world_size == 0, f"{vocab_size} / {world_size} leaves a remainder"


@valid("ParallelVocabEmbedding.reset_parameters")
def refuses_a_deviation_of_zero(self):
    """Draws only what varies, as torch.distributions.Normal does."""
    if self.init_std <= 0:
        raise ValueError("init_std must be positive")
    generator = torch.Generator(self.shard.device).manual_seed(self.init_seed)
    nn.init.normal_(self.shard, self.init_mean, self.init_std, generator=generator)

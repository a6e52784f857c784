"""VocabEmbedding, done right in other ways."""

import torch
from torch import nn

from grader.specimens.variants import valid


@valid("VocabEmbedding.forward")
def indexing(self, input_ids):
    """Indexes the table."""
    return self.table.to(input_ids.device)[input_ids]


@valid("VocabEmbedding.forward")
def index_select(self, input_ids):
    """Selects rows by the flat ids."""
    return self.table.to(input_ids.device).index_select(0, input_ids.flatten()).view(*input_ids.shape, -1)


@valid("VocabEmbedding.forward")
def gradient_kept_sparse(self, input_ids):
    """Has the library hold the gradients of the rows in use only."""
    return nn.functional.embedding(input_ids, self.table.to(input_ids.device), sparse=True)


@valid("VocabEmbedding.forward")
def gather(self, input_ids):
    """Gathers along the rows."""
    index = input_ids.reshape(-1, 1).expand(-1, self.table.shape[1])
    return self.table.to(index.device).gather(0, index).unflatten(0, input_ids.shape)


@valid("VocabEmbedding.forward")
def one_hot_in_float64(self, input_ids):
    """Multiplies one-hot vectors by the table in double precision, where every product is exact."""
    one_hot = nn.functional.one_hot(input_ids, self.table.shape[0]).double()
    return (one_hot @ self.table.to(one_hot)).to(self.table.dtype)


@valid("VocabEmbedding.forward")
def distinct_ids_first(self, input_ids):
    """Looks each distinct id up once."""
    distinct, position = torch.unique(input_ids, return_inverse=True)
    return self.table.to(input_ids.device)[distinct][position]


@valid("VocabEmbedding.forward")
def loop_over_tokens(self, input_ids):
    """Stacks the rows one by one."""
    table = self.table.to(input_ids.device)
    return torch.stack([torch.stack([table[token] for token in sequence]) for sequence in input_ids.tolist()])


@valid("VocabEmbedding.forward")
def loop_over_the_batch(self, input_ids):
    """Fills an output row by row."""
    table = self.table.to(input_ids.device)
    output = table.new_zeros(*input_ids.shape, table.shape[1])
    for row, ids in enumerate(input_ids):
        output[row] = nn.functional.embedding(ids, table)
    return output


@valid("VocabEmbedding.forward")
def elements_of_the_flat_table(self, input_ids):
    """Takes elements of the flat table by their offsets."""
    size = self.table.shape[1]
    places = input_ids.unsqueeze(-1) * size + torch.arange(size, device=input_ids.device)
    return torch.take(self.table.to(input_ids.device), places)


@valid("VocabEmbedding.forward")
def backward_written_by_hand(self, input_ids):
    """Has an autograd function that accumulates with index_add_."""

    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table, ids):
            ctx.save_for_backward(ids)
            ctx.shape = table.shape
            return table[ids]

        @staticmethod
        def backward(ctx, grad):
            (ids,) = ctx.saved_tensors
            return grad.new_zeros(ctx.shape).index_add_(0, ids.flatten(), grad.flatten(0, -2)), None

    return Lookup.apply(self.table.to(input_ids.device), input_ids)


@valid("VocabEmbedding")
class LibraryEmbeddingInside(nn.Module):
    """Holds an nn.Embedding and seeds before it is filled a second time; takes further arguments."""

    def __init__(
        self,
        vocab_size,
        emb_size,
        init_mean=0.0,
        init_std=1.0,
        init_seed=42,
        dtype=torch.float32,
        device="cpu",
        process_group=None,
    ):
        super().__init__()
        self.init_mean, self.init_std, self.init_seed = init_mean, init_std, init_seed
        self.embedding = nn.Embedding(vocab_size, emb_size, dtype=dtype, device=device)
        self.reset_parameters()

    def reset_parameters(self):
        torch.manual_seed(self.init_seed)
        nn.init.normal_(self.embedding.weight, mean=self.init_mean, std=self.init_std)

    def forward(self, input_ids):
        return self.embedding(input_ids.to(self.embedding.weight.device)).to(input_ids.device)


@valid("VocabEmbedding")
class LibraryEmbeddingExtended(nn.Embedding):
    """Is an nn.Embedding, whose constructor calls reset_parameters."""

    def __init__(self, vocab_size, emb_size, init_mean=0.0, init_std=1.0, init_seed=42, dtype=None, device="cpu"):
        self.draw = (init_mean, init_std, init_seed)
        super().__init__(vocab_size, emb_size, dtype=dtype or torch.float32, device=device)

    def reset_parameters(self):
        mean, std, seed = self.draw
        nn.init.normal_(self.weight, mean, std, generator=torch.Generator(self.weight.device).manual_seed(seed))

    def forward(self, input_ids):
        return super().forward(input_ids.to(self.weight.device)).to(input_ids.device)


@valid("VocabEmbedding.reset_parameters")
def global_seed(self):
    """Seeds the global generator."""
    torch.manual_seed(self.init_seed)
    self.table.data.normal_(self.init_mean, self.init_std)


@valid("VocabEmbedding.reset_parameters")
def forked_generator(self):
    """Seeds the global generator inside fork_rng, which puts it back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(self.init_seed)
        nn.init.normal_(self.table, self.init_mean, self.init_std)


@valid("VocabEmbedding.reset_parameters")
def standard_draw_stretched(self):
    """Draws from the standard normal distribution and stretches that."""
    torch.manual_seed(self.init_seed)
    self.table = nn.Parameter(torch.randn_like(self.table) * self.init_std + self.init_mean)


@valid("VocabEmbedding.reset_parameters")
def drawn_in_float32_and_cast(self):
    """Draws in float32 and casts to the dtype of the table."""
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    drawn = torch.empty_like(self.table, dtype=torch.float32)
    drawn.normal_(self.init_mean, self.init_std, generator=generator)
    self.table.data.copy_(drawn)


@valid("VocabEmbedding.reset_parameters")
def refuses_a_deviation_of_zero(self):
    """Draws only what varies, as torch.distributions.Normal does."""
    if self.init_std <= 0:
        raise ValueError("init_std must be positive")
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    nn.init.normal_(self.table, self.init_mean, self.init_std, generator=generator)

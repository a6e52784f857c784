"""VocabEmbedding: faults in the lookup, the table, its draw, its gradient and in side effects."""

import torch
from torch import nn

from grader.specimens.variants import wrong
from ref.modeling.vocab_emb import VocabEmbedding

from . import VOCAB, VOCAB_OUTPUT


@wrong("VocabEmbedding.forward", breaks="vocab_dtype_and_registration")
def views_the_ids_as_one_row(self, input_ids):
    """Fails on ids such as tokens[:, :-1], which are no view of one row."""
    rows = self.table.to(input_ids.device).index_select(0, input_ids.view(-1))
    return rows.view(*input_ids.shape, -1)


@wrong("VocabEmbedding.forward", breaks="vocab_dtype_and_registration", hint="ids_in_memory_order")
def ids_read_in_memory_order(self, input_ids):
    """Takes ids as they lie in memory, so those of a transposed view get each other's rows."""
    flat = input_ids.as_strided((input_ids.numel(),), (1,))
    return self.table.to(input_ids.device)[flat].view(*input_ids.shape, -1)


@wrong("VocabEmbedding.forward", breaks="vocab_lookup")
def distinct_ids_sorted(self, input_ids):
    """Looks each id up once, and puts the rows back in place only where some id comes twice."""
    ids, places = input_ids.unique(return_inverse=True)
    rows = self.table.to(input_ids.device)[ids]
    return rows.view(*input_ids.shape, -1) if ids.numel() == input_ids.numel() else rows[places]


@wrong("VocabEmbedding.forward", breaks="vocab_dtype_and_registration", hint="ids_in_memory_order")
def step_of_a_slice_ignored(self, input_ids):
    """Knows transposed and expanded ids, and takes all others for contiguous ones."""
    known = input_ids.stride(0) in (0, 1)
    ids = input_ids if known else input_ids.as_strided(input_ids.shape, (input_ids.shape[1], 1))
    return self.table.to(input_ids.device)[ids]


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", also=VOCAB_OUTPUT)
def next_row(self, input_ids):
    """Counts rows from one."""
    return nn.functional.embedding((input_ids + 1) % self.table.shape[0], self.table.to(input_ids.device))


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", also=VOCAB_OUTPUT, hint="lookup_rows_scaled")
def rows_normalised(self, input_ids):
    """Returns rows of length one."""
    return nn.functional.normalize(nn.functional.embedding(input_ids, self.table.to(input_ids.device)), dim=-1)


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", also=VOCAB_OUTPUT)
def one_hot_in_half(self, input_ids):
    """Multiplies one-hot vectors by the table in float16, which costs it bits."""
    one_hot = nn.functional.one_hot(input_ids, self.table.shape[0]).half()
    return (one_hot @ self.table.to(input_ids.device).half()).to(self.table.dtype)


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", also=VOCAB_OUTPUT, hint="output_shape")
def batch_merged_into_the_sequence(self, input_ids):
    """Returns [b * s, e]."""
    return self.table.to(input_ids.device)[input_ids.flatten()]


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", hint="mode_matters")
def drops_values_in_training(self, input_ids):
    """Has a dropout."""
    return nn.functional.dropout(
        nn.functional.embedding(input_ids, self.table.to(input_ids.device)), 0.5, self.training
    )


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="init_unseeded")
def never_seeded(self):
    """Draws from wherever the global generator stands."""
    nn.init.normal_(self.table, self.init_mean, self.init_std)


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="init_seed_zero")
def seed_zero_is_none(self):
    """Takes the default where the seed is 0."""
    torch.manual_seed(self.init_seed or 42)
    nn.init.normal_(self.table, self.init_mean, self.init_std)


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="mode_matters")
def not_drawn_in_evaluation(self):
    """Leaves the table of a model in use as it is."""
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    if self.training:
        nn.init.normal_(self.table, self.init_mean, self.init_std, generator=generator)


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="init_other_distribution")
def uniform_for_normal(self):
    """Draws from a uniform distribution of the same mean and deviation."""
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    reach = 3**0.5 * self.init_std
    nn.init.uniform_(self.table, self.init_mean - reach, self.init_mean + reach, generator=generator)


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="init_other_scale")
def deviation_ignored(self):
    """Leaves init_std out."""
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    nn.init.normal_(self.table, self.init_mean, generator=generator)


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="init_after_extra_draw")
def table_of_a_new_embedding(self):
    """Makes an nn.Embedding after seeding, which draws, and fills it with the next numbers."""
    torch.manual_seed(self.init_seed)
    embedding = nn.Embedding(*self.table.shape, dtype=self.table.dtype, device=self.table.device)
    nn.init.normal_(embedding.weight, self.init_mean, self.init_std)
    self.table = embedding.weight


@wrong("VocabEmbedding", breaks="vocab_init_and_reset", hint="init_reset_differs")
class SeededInTheConstructorOnly(VocabEmbedding):
    """Seeds in the constructor, so a later reset draws other numbers."""

    def __init__(self, vocab_size, emb_size, init_seed=42, **options):
        torch.manual_seed(init_seed)
        super().__init__(vocab_size, emb_size, init_seed=init_seed, **options)

    def reset_parameters(self):
        nn.init.normal_(self.table, self.init_mean, self.init_std)


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration", also=VOCAB_OUTPUT, hint="output_dtype")
class OutputDtypeOfTheConstructor(VocabEmbedding):
    """Remembers the dtype argument, and converts to it even after module.to(another)."""

    def __init__(self, vocab_size, emb_size, dtype=torch.float32, **options):
        super().__init__(vocab_size, emb_size, dtype=dtype, **options)
        self.dtype = dtype

    def forward(self, input_ids):
        return super().forward(input_ids).to(self.dtype)


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration vocab_backward", also=VOCAB, hint="not_a_parameter")
class TableOfTheFirstUse(VocabEmbedding):
    """Registers the table when it is first needed, so that an optimizer made before finds none."""

    def __init__(self, *sizes, **options):
        nn.Module.__init__(self)
        self.arguments = sizes, options

    def reset_parameters(self):
        sizes, options = self.__dict__.pop("arguments", (None, None))
        if sizes is None:
            super().reset_parameters()
        else:
            super().__init__(*sizes, **options)

    def forward(self, input_ids):
        if not self._parameters:
            self.reset_parameters()
        return super().forward(input_ids)


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration", also=VOCAB, hint="further_parameter")
class SecondParameter(VocabEmbedding):
    """Adds a bias."""

    def __init__(self, vocab_size, emb_size, **options):
        super().__init__(vocab_size, emb_size, **options)
        self.bias = nn.Parameter(torch.zeros(emb_size))


@wrong("VocabEmbedding.forward", breaks="vocab_purity", also=VOCAB_OUTPUT, hint="ids_changed_in_place")
def ids_turned_into_offsets(self, input_ids):
    """Turns the caller's ids into offsets of the flat table."""
    offsets = input_ids.mul_(self.table.shape[1]).unsqueeze(-1)
    return self.table.to(input_ids.device).flatten()[offsets + torch.arange(self.table.shape[1], device=offsets.device)]


@wrong("VocabEmbedding.forward", breaks="vocab_purity", also=VOCAB_OUTPUT, hint="ids_changed_in_place")
def ids_shifted_for_a_padding_row(self, input_ids):
    """Puts a row of zeros before the table and moves the caller's ids by one."""
    padded = torch.cat((torch.zeros_like(self.table.to(input_ids.device)[:1]), self.table.to(input_ids.device)))
    input_ids += 1
    return nn.functional.embedding(input_ids, padded)


@wrong("VocabEmbedding.forward", breaks="vocab_purity")
def ids_clamped_in_place(self, input_ids):
    """Writes right ids over themselves, which fails where they are expanded."""
    return self.table.to(input_ids.device)[input_ids.clamp_(0, len(self.table) - 1)]


@wrong(
    "VocabEmbedding.forward",
    breaks="vocab_purity vocab_lookup",
    also=VOCAB_OUTPUT,
    hint="parameter_changed lookup_rows_scaled",
)
def rows_limited_in_length(self, input_ids):
    """Passes max_norm, which rescales the rows in the table itself."""
    return nn.functional.embedding(input_ids, self.table.to(input_ids.device), max_norm=1.0)


@wrong("VocabEmbedding.forward", breaks="vocab_purity vocab_lookup", also=VOCAB_OUTPUT, hint="parameter_changed")
def first_row_cleared_at_every_call(self, input_ids):
    """Writes zeros into row 0 of the table before each lookup."""
    self.table.data[0] = 0
    return nn.functional.embedding(input_ids, self.table.to(input_ids.device))


@wrong("VocabEmbedding.forward", breaks="vocab_backward", hint="one_row_without_gradient")
def no_gradient_for_id_zero(self, input_ids):
    """Passes padding_idx=0, which keeps row 0 from learning."""
    return nn.functional.embedding(input_ids, self.table.to(input_ids.device), padding_idx=0)


@wrong("VocabEmbedding.forward", breaks="vocab_backward", hint="gradient_not_summed")
def gradient_averaged_over_repeated_ids(self, input_ids):
    """Passes scale_grad_by_freq."""
    return nn.functional.embedding(input_ids, self.table.to(input_ids.device), scale_grad_by_freq=True)


@wrong("VocabEmbedding.forward", breaks="vocab_backward", hint="gradient_not_summed")
def last_gradient_wins(self, input_ids):
    """Has a backward of its own, which overwrites where it should accumulate."""

    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table):
            ctx.rows = table.shape[0]
            return table[input_ids]

        @staticmethod
        def backward(ctx, grad_output):
            grad = grad_output.new_zeros(ctx.rows, grad_output.shape[-1])
            grad[input_ids] = grad_output
            return grad

    return Lookup.apply(self.table.to(input_ids.device))


@wrong("VocabEmbedding.forward", breaks="vocab_backward", hint="few_digits")
def gradient_summed_in_bfloat16(self, input_ids):
    """Adds up in bfloat16, whatever the dtype of the table."""

    class Rows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table):
            ctx.shape = table.shape
            return table[input_ids]

        @staticmethod
        def backward(ctx, grad_output):
            rows = grad_output.flatten(0, 1).bfloat16()
            total = torch.zeros(ctx.shape, dtype=torch.bfloat16, device=rows.device)
            return total.index_add_(0, input_ids.flatten(), rows).to(grad_output.dtype)

    return Rows.apply(self.table.to(input_ids.device))


@wrong("VocabEmbedding.forward", breaks="vocab_backward")
def own_backward_views_the_gradient(self, input_ids):
    """Has a backward of its own, which takes the gradient that arrives to be contiguous."""

    class Rows(torch.autograd.Function):
        @staticmethod
        def forward(ctx, table):
            ctx.rows = table.shape[0]
            return table[input_ids]

        @staticmethod
        def backward(ctx, grad_output):
            rows = grad_output.view(-1, grad_output.shape[-1])
            return rows.new_zeros(ctx.rows, rows.shape[-1]).index_add_(0, input_ids.flatten(), rows)

    return Rows.apply(self.table.to(input_ids.device))


@wrong("VocabEmbedding.forward", breaks="vocab_lookup")
def sorted_rows_put_back_by_the_order(self, input_ids):
    """Looks sorted ids up, and puts their rows back by the order in place of its inverse."""
    ids, order = input_ids.flatten().sort()
    rows = self.table.to(input_ids.device)[ids]
    return rows[order].unflatten(0, input_ids.shape)


@wrong("VocabEmbedding.forward", breaks="vocab_backward", hint="gradient_cut")
def first_half_without_gradient(self, input_ids):
    """Keeps the first half of the features from learning."""
    frozen, learning = self.table.to(input_ids.device)[input_ids].tensor_split(2, dim=-1)
    return torch.cat((frozen.detach(), learning), dim=-1)


@wrong("VocabEmbedding.forward", breaks="vocab_lookup")
def ranks_of_ids_for_ids(self, input_ids):
    """Leaves repeats out, and takes the places of the ids that are left for ids."""
    return self.table.to(input_ids.device)[input_ids.unique(return_inverse=True)[1]]


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", also="vocab_mixed_devices", hint="output_shape")
def features_before_many_positions(self, input_ids):
    """Swaps the last two dimensions where there are at least as many positions as features."""
    rows = self.table.to(input_ids.device)[input_ids]
    return rows.mT if input_ids.shape[-1] >= rows.shape[-1] else rows

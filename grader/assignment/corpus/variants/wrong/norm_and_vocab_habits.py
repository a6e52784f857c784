"""GroupRMSNorm and VocabEmbedding: faults that come from other habits, none of them on the list of misconceptions."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps
from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.vocab_emb import VocabEmbedding

from . import NORM_OUTPUT, VOCAB, VOCAB_OUTPUT


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_changed")
def gamma_through_a_sigmoid(self, input):
    """Uses gamma as a gate."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * torch.sigmoid(self.gamma.to(input.device).float())).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_changed")
def gamma_kept_from_falling_below_one(self, input):
    """Clamps gamma."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device).float().clamp(min=1.0)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT)
def eps_no_smaller_than_a_millionth(self, input):
    """Guards against an eps that is too small for somebody's taste."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + max(self.eps, 1e-2))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_root_of_another_token")
def first_token_decides_for_its_sequence(self, input):
    """Takes the root mean square of the first position."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups[:, :1].square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_groups_share")
def mean_of_the_hidden_dimension_taken_off(self, input):
    """Centres the whole hidden dimension before it normalises groups."""
    x = input.float()
    groups = (x - x.mean(dim=-1, keepdim=True)).unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward", also="norm_purity", hint="gradient_scaled")
def gradient_of_gamma_averaged(self, input):
    """Averages the gradient of gamma over the tokens, with a hook."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    weight = self.gamma.to(input.device) * 1.0
    if weight.requires_grad:
        weight.register_hook(lambda gradient: gradient / (input.shape[0] * input.shape[1]))
    return ((groups / rms).flatten(-2) * weight).to(input.dtype)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_neighbouring_seed")
def seed_one_too_large(self):
    """Adds one to the seed."""
    generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed + 1)
    nn.init.uniform_(self.gamma, *self.init_range, generator=generator)


@wrong(
    "GroupRMSNorm.check_sizes",
    over=NormInSteps,
    breaks="norm_registration_and_arguments norm_sizes_named",
    hint="bad_sizes_accepted",
)
def sizes_checked_the_other_way_round(self, hidden_size, group_size):
    """Refuses a group only if it is larger than the hidden dimension."""
    if group_size > hidden_size:
        raise ValueError(f"hidden_size={hidden_size} is smaller than group_size={group_size}")


@wrong(
    "GroupRMSNorm.check_sizes",
    over=NormInSteps,
    breaks="norm_dtype_and_shape norm_registration_and_arguments norm_sizes_named",
    hint="bad_sizes_accepted",
)
def sizes_divided_the_other_way_round(self, hidden_size, group_size):
    """Swaps the sizes, so that every module of several groups is refused."""
    if group_size % hidden_size != 0:
        raise ValueError(f"hidden_size={hidden_size}, group_size={group_size}")


@wrong("GroupRMSNorm", breaks="norm_purity", also=NORM_OUTPUT, hint="earlier_call_remembered")
class SharpensWithEveryCall(GroupRMSNorm):
    """Counts its calls, and lets eps fall with them."""

    def forward(self, input):
        output = super().forward(input)
        self.eps = self.eps * 0.5 + 1e-3
        return output


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration", also=VOCAB, hint="parameter_size")
class TableTransposed(VocabEmbedding):
    """Holds the table as [e, v]."""

    def __init__(self, vocab_size, emb_size, **options):
        super().__init__(emb_size, vocab_size, **options)

    def forward(self, input_ids):
        return self.table.to(input_ids.device).T[input_ids]


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration", also=VOCAB, hint="parameter_size")
class RowForUnknownWords(VocabEmbedding):
    """Adds one row to the table."""

    def __init__(self, vocab_size, emb_size, **options):
        super().__init__(vocab_size + 1, emb_size, **options)


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", also=VOCAB_OUTPUT)
def ids_below_one_raised_to_one(self, input_ids):
    """Counts ids from one, and lets zero stand for the first."""
    return nn.functional.embedding(input_ids.clamp(min=1), self.table.to(input_ids.device))


@wrong("VocabEmbedding.forward", breaks="vocab_purity", hint="earlier_call_remembered")
def output_of_the_same_tensor(self, input_ids):
    """Answers as before where the ids come in the tensor of the last call, whatever it holds by now."""
    if getattr(self, "seen", None) is not input_ids:
        self.seen, self.kept = input_ids, nn.functional.embedding(input_ids, self.table.to(input_ids.device))
    return self.kept


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_dtype_and_registration", also=VOCAB, hint="parameter_dtype")
def new_table_in_float32(self):
    """Draws a new table, and forgets its dtype."""
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    drawn = torch.empty(self.table.shape, device=self.table.device).normal_(
        self.init_mean, self.init_std, generator=generator
    )
    self.table = nn.Parameter(drawn)


@wrong("VocabEmbedding.forward", breaks="vocab_backward", also=VOCAB_OUTPUT, hint="gradient_scaled")
def gradient_averaged_over_the_batch(self, input_ids):
    """Divides the gradient by the number of ids, with a hook."""
    output = nn.functional.embedding(input_ids, self.table.to(input_ids.device))
    if output.requires_grad:
        output.register_hook(lambda gradient: gradient / input_ids.numel())
    return output

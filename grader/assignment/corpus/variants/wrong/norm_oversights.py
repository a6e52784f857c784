"""GroupRMSNorm and the embeddings: oversights, each in one place."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps, ShardInSteps
from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.vocab_emb import ParallelVocabEmbedding, VocabEmbedding

from . import NORM, NORM_OUTPUT, SHARD, SHARD_OUTPUT, VOCAB_OUTPUT


@wrong("GroupRMSNorm", over=NormInSteps, breaks="norm_registration_and_arguments", also=NORM, hint="further_parameter")
class GammaInPieces(GroupRMSNorm):
    """Holds a parameter for each group."""

    def register_gamma(self, values):
        self.pieces = nn.ParameterList([nn.Parameter(piece.clone()) for piece in values.split(self.group_size)])

    def reset_parameters(self):
        generator = torch.Generator(self.pieces[0].device).manual_seed(self.init_seed)
        with torch.no_grad():
            for piece in self.pieces:
                piece.uniform_(*self.init_range, generator=generator)

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return (groups / rms * torch.stack(list(self.pieces)).to(input.device)).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm", over=NormInSteps, breaks="norm_registration_and_arguments", also=NORM, hint="further_parameter")
class BiasRegisteredFirst(GroupRMSNorm):
    """Adds a bias of zeros, and registers it before gamma."""

    def register_gamma(self, values):
        self.bias = nn.Parameter(torch.zeros_like(values))
        self.gamma = nn.Parameter(values)

    def forward(self, input):
        return (super().forward(input) + self.bias.to(input)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_output_order")
def output_put_together_in_another_order(self, input):
    """Normalises groups rightly, and transposes them before they are flattened."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).mT.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_multiplies")
def root_stretched_by_eps(self, input):
    """Multiplies the root by one and eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True)) * (1 + self.eps)
    return ((groups / rms.clamp(min=1e-30)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="few_digits")
def everything_in_bfloat16(self, input):
    """Converts to bfloat16 first, for speed."""
    groups = input.bfloat16().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_dtype_and_shape", also=NORM_OUTPUT, hint="output_dtype")
def output_in_double(self, input):
    """Computes in float64 and stays there."""
    groups = input.double().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms).flatten(-2) * self.gamma.to(input.device)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_other_distribution")
def range_taken_for_mean_and_deviation(self):
    """Draws normally, with the bounds as mean and deviation."""
    generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
    nn.init.normal_(self.gamma, self.init_range[0], abs(self.init_range[1]), generator=generator)


@wrong("GroupRMSNorm.forward", breaks="norm_purity", also=NORM_OUTPUT, hint="mode_matters")
def noise_in_training(self, input):
    """Multiplies by a little noise in training."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    noise = 1 + 0.5 * torch.rand_like(groups) if self.training else 1
    return ((groups / rms * noise).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_purity", hint="output_reused")
def one_output_for_each_shape(self, input):
    """Writes into the last output of that shape, where no gradients are recorded."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    output = ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)
    if torch.is_grad_enabled():
        return output
    key = f"{output.shape} {output.dtype} {output.device}"
    return self.__dict__.setdefault(key, torch.empty_like(output)).copy_(output)


@wrong("VocabEmbedding.forward", breaks="vocab_backward", also=VOCAB_OUTPUT, hint="gradient_cut")
def looked_up_in_a_copy(self, input_ids):
    """Clones the table without its history."""
    return nn.functional.embedding(input_ids, self.table.to(input_ids.device).detach().clone())


@wrong("VocabEmbedding.reset_parameters", breaks="vocab_init_and_reset", hint="init_other_scale")
def mean_added_twice(self):
    """Adds the mean to a draw that has it already."""
    generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
    nn.init.normal_(self.table, self.init_mean, self.init_std, generator=generator)
    self.table.data += self.init_mean


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration", also=VOCAB_OUTPUT, hint="output_dtype")
class Float32InEvaluation(VocabEmbedding):
    """Converts the output in evaluation only."""

    def forward(self, input_ids):
        output = super().forward(input_ids)
        return output if self.training else output.float()


@wrong(
    "ParallelVocabEmbedding",
    over=ShardInSteps,
    breaks="shard_registration_and_arguments",
    also=SHARD,
    hint="further_parameter",
)
class RowsInAList(ParallelVocabEmbedding):
    """Holds a parameter for each row."""

    def register_shard(self, values):
        self.rows = nn.ParameterList([nn.Parameter(row.clone()) for row in values])

    def reset_parameters(self):
        generator = torch.Generator(self.rows[0].device).manual_seed(self.init_seed)
        drawn = torch.stack([torch.empty_like(row) for row in self.rows])
        drawn.normal_(self.init_mean, self.init_std, generator=generator)
        with torch.no_grad():
            for row, values in zip(self.rows, drawn, strict=True):
                row.copy_(values)

    def forward(self, input_ids):
        shard = torch.stack(list(self.rows)).to(input_ids.device)
        rows = input_ids - self.first_id
        foreign = (rows < 0) | (rows >= len(shard))
        return shard[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong(
    "ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT, hint="shard_filled_otherwise"
)
def not_a_number_for_foreign_ids(self, input_ids):
    """Marks foreign ids with nan."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(
        foreign.unsqueeze(-1), float("nan")
    )


@wrong("ParallelVocabEmbedding.forward", breaks="shard_zeros_elsewhere", also=SHARD_OUTPUT)
def end_of_the_range_looked_up(self, input_ids):
    """Takes the first id of the next rank for its own, and fails there."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows > self.shard.shape[0])
    return self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT)
def only_the_first_rank_answers(self, input_ids):
    """Gives zeros on all ranks but the first."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    output = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)
    return output if self.first_id == 0 else output * 0


@wrong("ParallelVocabEmbedding.forward", breaks="shard_backward", also=SHARD_OUTPUT, hint="gradient_scaled")
def gradient_doubled(self, input_ids):
    """Adds the rows once with and once without their history."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    output = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)
    return 2 * output - output.detach()

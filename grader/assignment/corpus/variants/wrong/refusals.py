"""Code that is right but for one condition of a call, under which it raises or is wrong: each costs one property."""

import torch
from torch import nn

from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.pos_emb import NTKAwareRoPE
from ref.modeling.vocab_emb import ParallelVocabEmbedding, VocabEmbedding


@wrong("GroupRMSNorm", breaks="norm_dtype_and_shape")
class NormOfASqueezedInput(GroupRMSNorm):
    """Takes three sizes of an input without its dimensions of size one."""

    def forward(self, input):
        _batch, _seq, _hidden = input.squeeze().shape
        return super().forward(input)


@wrong("GroupRMSNorm", breaks="norm_purity")
class NormWithoutItsFastPath(GroupRMSNorm):
    """Calls a method that does not exist, where no gradient is asked for."""

    def forward(self, input):
        return super().forward(input) if torch.is_grad_enabled() else self.fused(input)


@wrong("GroupRMSNorm", breaks="norm_eps_inside_sqrt")
class EpsOfZeroUnheard(GroupRMSNorm):
    """Takes an eps of zero for none."""

    def __init__(self, hidden_size, group_size, eps=1e-5, **arguments):
        super().__init__(hidden_size, group_size, eps or 1e-5, **arguments)


@wrong("GroupRMSNorm", breaks="norm_backward")
class NoGradientOfZeros(GroupRMSNorm):
    """Multiplies groups of zeros by zero."""

    def forward(self, input):
        zeros = (input.unflatten(-1, (-1, self.group_size)) == 0).all(-1).repeat_interleave(self.group_size, -1)
        return super().forward(input).masked_fill(zeros, 0)


@wrong("VocabEmbedding", breaks="vocab_lookup")
class RowsOfSqueezedIds(VocabEmbedding):
    """Takes two sizes of ids without their dimensions of size one."""

    def forward(self, input_ids):
        _batch, _seq = input_ids.squeeze().shape
        return super().forward(input_ids)


@wrong("ParallelVocabEmbedding", breaks="shard_owned_ids")
class ShardOfSqueezedIds(ParallelVocabEmbedding):
    """Takes two sizes of ids without their dimensions of size one."""

    def forward(self, input_ids):
        _batch, _seq = input_ids.squeeze().shape
        return super().forward(input_ids)


@wrong("ParallelVocabEmbedding", breaks="shard_owned_ids")
class ShardOfSeveralPositions(ParallelVocabEmbedding):
    """Refuses a column of ids."""

    def forward(self, input_ids):
        assert input_ids.shape[1] > 1
        return super().forward(input_ids)


@wrong("ParallelVocabEmbedding", breaks="shard_zeros_elsewhere", hint="shard_one_mode")
class ForeignRowsInEvaluation(ParallelVocabEmbedding):
    """Looks up a row for every id in evaluation mode."""

    def forward(self, input_ids):
        own = (input_ids - self.first_id).clamp(0, len(self.shard) - 1)
        return super().forward(input_ids if self.training else own + self.first_id)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast")
def pairs_in_a_view(input, cos, sin):
    """Merges dimensions with view, which queries refuse that were transposed."""
    first, second = input.view(-1, 2, input.shape[-1] // 2).view(*input.shape[:3], 2, -1).unbind(-2)
    cos, sin = cos[:, None, : first.shape[-1]], sin[:, None, : first.shape[-1]]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast")
def one_head_squeezed_away(input, cos, sin):
    """Loses the dimension of heads where there is one head in one row."""
    x = input.squeeze(2) if len(input) == 1 else input
    first, second = x.chunk(2, dim=-1)
    turned = x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]
    return turned.to(input.dtype).reshape(input.shape)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast")
def one_position_left_as_it_is(input, cos, sin):
    """Takes one position for position 0, which is not rotated."""
    first, second = input.chunk(2, dim=-1)
    turned = input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]
    return input.clone() if len(cos) == 1 else turned.to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast")
def one_head_refused(input, cos, sin):
    """Asks for several heads."""
    assert input.shape[2] > 1
    first, second = input.chunk(2, dim=-1)
    return (input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("NTKAwareRoPE", breaks="rope_boundary")
class RopeOfASqueezedInput(NTKAwareRoPE):
    """Takes three sizes of an input without its dimensions of size one."""

    def forward(self, input):
        assert input.squeeze().dim() > 2
        return super().forward(input)


@wrong("NTKAwareRoPE", breaks="rope_smallest_even_ratio rope_static")
class StaticGrowthNotImplemented(NTKAwareRoPE):
    """Raises what stubs raise for a sequence beyond the tables of a static module."""

    def forward(self, input):
        if input.shape[1] > len(self.cos) and not self.dynamic:
            raise NotImplementedError
        return super().forward(input)


@wrong("NTKAwareRoPE", breaks="rotary_backward", hint="rope_module_gradient")
class RopeWithoutGradientInItsTables(NTKAwareRoPE):
    """Cuts the gradient of every sequence that the cached tables serve."""

    def forward(self, input):
        output = super().forward(input)
        return output.detach() if input.shape[1] <= self.max_seq_len else output


@wrong("NTKAwareRoPE", breaks="rotary_backward", hint="rope_module_gradient")
class RopeWithoutGradientBeyondItsTables(NTKAwareRoPE):
    """Cuts the gradient of 16-bit sequences that a static module's tables are too short for."""

    def forward(self, input):
        output = super().forward(input)
        cut = input.dtype != torch.float32 and input.shape[1] > len(self.cos)
        return output.detach() if cut else output


@wrong(
    "GroupRMSNorm",
    breaks="norm_registration_and_arguments norm_sizes_named",
    hint="bad_sizes_accepted",
)
class OnlyTooLargeGroupsAreRefused(GroupRMSNorm):
    """Looks at the larger size, not at the remainder."""

    def __init__(self, hidden_size, group_size, eps=1e-5, **more):
        if group_size > hidden_size:
            raise ValueError(f"{group_size=} is more than {hidden_size=}")
        super().__init__(hidden_size, hidden_size, eps, **more)
        self.group_size = group_size


@wrong("VocabEmbedding.forward", breaks="vocab_lookup")
def hot_rows_of_the_ids_met(self, input_ids):
    """Multiplies by one-hot rows that are as long as the largest id, not as the table."""
    table = self.table.to(input_ids.device)
    return nn.functional.one_hot(input_ids).to(table.dtype) @ table


@wrong("GroupRMSNorm", breaks="norm_registration_and_arguments")
class OneGroupIsRefused(GroupRMSNorm):
    """Takes a single group for a mistake of the caller."""

    def __init__(self, hidden_size, group_size, eps=1e-5, **more):
        if group_size >= hidden_size:
            raise ValueError(f"{group_size=} does not divide {hidden_size=}")
        super().__init__(hidden_size, group_size, eps, **more)

"""Mistakes that show under two conditions at once: memory and an update, growth and a base, 16 bits and a size.

What modules share on their class or in a global is in :mod:`.shared`.
"""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import RopeInSteps
from grader.specimens.variants import wrong
from ref.functional import apply_rotary_pos_emb
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.pos_emb import NTKAwareRoPE
from ref.modeling.vocab_emb import ParallelVocabEmbedding, VocabEmbedding


@wrong("GroupRMSNorm", breaks="norm_backward", hint="gradient_cut")
class NormWithoutGradientInEvaluation(GroupRMSNorm):
    """Cuts the gradient in evaluation mode."""

    def forward(self, input):
        output = super().forward(input)
        return output if self.training else output.detach()


@wrong("GroupRMSNorm", breaks="norm_backward", hint="gradient_cut")
class FrozenNormWithoutGradient(GroupRMSNorm):
    """Cuts the gradient of the input where gamma is frozen."""

    def forward(self, input):
        return super().forward(input if self.gamma.requires_grad else input.detach())


@wrong("GroupRMSNorm", breaks="norm_purity", hint="mode_matters")
class NormClampedInEvaluation(GroupRMSNorm):
    """Clamps its input in evaluation, to a bound that only outliers reach."""

    def forward(self, input):
        return super().forward(input if self.training else input.clamp(-1000, 1000))


@wrong("VocabEmbedding", breaks="vocab_backward", hint="gradient_cut")
class TableWithoutGradientInEvaluation(VocabEmbedding):
    """Cuts the gradient in evaluation mode."""

    def forward(self, input_ids):
        output = super().forward(input_ids)
        return output if self.training else output.detach()


@wrong("ParallelVocabEmbedding", breaks="shard_backward", hint="gradient_cut")
class ShardWithoutGradientInEvaluation(ParallelVocabEmbedding):
    """Cuts the gradient in evaluation mode."""

    def forward(self, input_ids):
        output = super().forward(input_ids)
        return output if self.training else output.detach()


@wrong("GroupRMSNorm", breaks="norm_registration_and_arguments", hint="frozen_parameter")
class NormFrozenByAResetInEvaluation(GroupRMSNorm):
    """Draws again, in evaluation, into a parameter that then does not require gradients."""

    def reset_parameters(self):
        super().reset_parameters()
        self.gamma.requires_grad_(self.training)


@wrong("GroupRMSNorm", breaks="norm_dtype_and_shape", hint="norm_group_of_one")
class SingleFeaturesLeftAsTheyAre(GroupRMSNorm):
    """Skips the division where a group has one feature."""

    def forward(self, input):
        if self.group_size > 1:
            return super().forward(input)
        return (input * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm", breaks="norm_purity")
class NormRaisesInEvaluation(GroupRMSNorm):
    """Reads an attribute in evaluation mode that nothing has set."""

    def forward(self, input):
        return super().forward(input) if self.training else self.frozen(input)


@wrong("GroupRMSNorm", breaks="norm_purity", hint="earlier_call_remembered")
class MaskOfAsManyElements(GroupRMSNorm):
    """Remembers a mask by the number of elements, so that another shape with as many raises."""

    def forward(self, input):
        self.masks = getattr(self, "masks", {})
        return super().forward(input) * self.masks.setdefault(input.numel(), torch.ones(input.shape)).to(input)


@wrong("GroupRMSNorm", breaks="norm_gamma norm_backward", hint="gradient_cut")
class GammaConvertedOnce(GroupRMSNorm):
    """Makes a float32 copy of gamma in the constructor: of a gamma in float32, that is gamma itself."""

    def __init__(self, *sizes, **arguments):
        super().__init__(*sizes, **arguments)
        self.wide = self.gamma.detach().float()

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return ((groups / rms).flatten(-2) * self.wide.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm", breaks="norm_purity", hint="earlier_call_remembered")
class ShapeOfTheFirstInput(GroupRMSNorm):
    """Gives every output the shape of the first one."""

    def forward(self, input):
        self.shape = getattr(self, "shape", input.shape)
        return super().forward(input).reshape(self.shape)


@wrong("GroupRMSNorm", breaks="norm_gamma")
class OneGroupWithoutGamma(GroupRMSNorm):
    """Forgets gamma where there is one group."""

    def forward(self, input):
        if self.group_size < input.shape[-1]:
            return super().forward(input)
        return nn.functional.rms_norm(input.float(), input.shape[-1:], None, self.eps).to(input.dtype)


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration")
class ResetInTheDtypeOfTheConstructor(VocabEmbedding):
    """Gives the table the constructor's dtype again on a reset."""

    def __init__(self, *sizes, dtype=torch.float32, **options):
        self.dtype = dtype
        super().__init__(*sizes, dtype=dtype, **options)

    def reset_parameters(self):
        self.table.data = self.table.data.to(self.dtype)
        super().reset_parameters()


@wrong("apply_rotary_pos_emb", breaks="rotary_backward", hint="rotary_gradient_not_turned_back")
def gradient_turned_further(input, cos, sin):
    """Has a backward that turns the gradient by +angle, too."""

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, cos, sin):
            ctx.save_for_backward(cos, sin)
            first, second = input.chunk(2, dim=-1)
            return (input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)

        @staticmethod
        def backward(ctx, gradient):
            return Turn.forward(ctx, gradient, *ctx.saved_tensors), None, None

    return Turn.apply(input, cos, sin)


@wrong("apply_rotary_pos_emb", breaks="rotary_backward", hint="gradient_scaled")
def gradient_averaged_over_the_batch(input, cos, sin):
    """Has a hook that gives each batch row the mean of what arrives."""
    first, second = input.chunk(2, dim=-1)
    output = input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]
    if output.requires_grad:
        output.register_hook(lambda gradient: gradient.mean(0, keepdim=True).expand_as(gradient))
    return output.to(input.dtype)


@wrong("NTKAwareRoPE", breaks="rotary_backward", hint="rope_module_gradient")
class RopeWithoutGradientInEvaluation(NTKAwareRoPE):
    """Cuts the gradient in evaluation mode."""

    def forward(self, input):
        output = super().forward(input)
        return output if self.training else output.detach()


@wrong("NTKAwareRoPE", breaks="rope_boundary rotary_backward", hint="rope_module_dtype rope_module_gradient")
class RopeForInference(NTKAwareRoPE):
    """Gives float32 in either mode, which must not hide that evaluation cuts the gradient."""

    def forward(self, input):
        output = super().forward(input).float()
        return output if self.training else output.detach()


@wrong("GroupRMSNorm", breaks="norm_purity", hint="state_shared")
class GroupSizeOfTheLatestModule(GroupRMSNorm):
    """Keeps the group size where all modules share it."""

    def __init__(self, hidden_size, group_size, **options):
        super().__init__(hidden_size, group_size, **options)
        type(self).latest = group_size

    def forward(self, input):
        self.group_size = type(self).latest
        return super().forward(input)


@wrong("GroupRMSNorm", breaks="norm_purity", hint="earlier_call_remembered")
class GammaCopiedInEvaluation(GroupRMSNorm):
    """Keeps a copy of gamma from its first call in evaluation mode."""

    def forward(self, input):
        if self.training:
            return super().forward(input)
        self.kept = getattr(self, "kept", self.gamma.detach().clone())
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return ((groups / rms).flatten(-2) * (self.kept + 0 * self.gamma).to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm", breaks="norm_purity", hint="earlier_call_remembered")
class GammaOfItsLastVersion(GroupRMSNorm):
    """Without gradients, keeps a copy of gamma until its version changes, which a write into .data does not."""

    def forward(self, input):
        if torch.is_grad_enabled():
            return super().forward(input)
        version = self.gamma._version
        if getattr(self, "kept", (None,))[0] != version:
            self.kept = version, self.gamma.detach().float().clone()
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return ((groups / rms).flatten(-2) * self.kept[1].to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", hint="norm_step_in_16_bits")
def bfloat16_through_float16(self, input):
    """Passes 16-bit inputs through float16, which holds no number above 65,504."""
    wide = (input if input.dtype == torch.float32 else input.half()).float()
    groups = wide.unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("VocabEmbedding", breaks="vocab_purity", hint="earlier_call_remembered")
class RowsOfTheLastIds(VocabEmbedding):
    """Answers the same ids again from memory."""

    def forward(self, input_ids):
        last, output = getattr(self, "last", (input_ids + 1, None))
        if not torch.equal(last, input_ids):
            output = super().forward(input_ids)
            self.last = (input_ids.clone(), output)
        return output


@wrong("VocabEmbedding", breaks="vocab_purity", hint="earlier_call_remembered")
class TableCopiedInEvaluation(VocabEmbedding):
    """Keeps a copy of the table from its first call in evaluation mode."""

    def forward(self, input_ids):
        if self.training:
            return super().forward(input_ids)
        self.kept = getattr(self, "kept", self.table.detach().clone())
        return nn.functional.embedding(input_ids, (self.kept + 0 * self.table).to(input_ids.device))


@wrong("VocabEmbedding", breaks="vocab_lookup", hint="mode_matters")
class DropoutSeededByTheDraw(VocabEmbedding):
    """Seeds the global generator for the draw, so that each new module drops the same numbers first."""

    def reset_parameters(self):
        torch.manual_seed(self.init_seed)
        nn.init.normal_(self.table, self.init_mean, self.init_std)

    def forward(self, input_ids):
        return nn.functional.dropout(super().forward(input_ids), 0.1, self.training)


@wrong("VocabEmbedding.forward", breaks="vocab_lookup", hint="vocab_narrow_ids")
def ids_in_the_dtype_of_the_table(self, input_ids):
    """Converts the ids to the dtype of the table and back."""
    return nn.functional.embedding(input_ids.to(self.table.dtype).long(), self.table.to(input_ids.device))


@wrong("ParallelVocabEmbedding", breaks="shard_purity", hint="earlier_call_remembered")
class ShardRowsOfTheLastSum(ParallelVocabEmbedding):
    """In evaluation, answers ids from memory that have the shape, sum and ends of the last ones."""

    def forward(self, input_ids):
        ends = input_ids[0, 0].item(), input_ids[-1, -1].item()
        key = (input_ids.shape, input_ids.sum().item(), ends, self.shard._version)
        last, output = getattr(self, "last", (None, None))
        if self.training or last != key:
            output = super().forward(input_ids)
            self.last = key, output
        return output


@wrong("ParallelVocabEmbedding", breaks="shard_owned_ids", hint="shard_narrow_ids")
class ShardIdsInTheDtypeOfTheShard(ParallelVocabEmbedding):
    """Converts the ids to the dtype of the shard and back."""

    def forward(self, input_ids):
        return super().forward(input_ids.to(self.shard.dtype).long())


@wrong("apply_rotary_pos_emb", breaks="rotary_dtype")
def input_in_the_dtype_of_the_tables(input, cos, sin):
    """Converts the input to the dtype of the tables first."""
    first, second = input.to(cos.dtype).chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input.to(cos.dtype) * cos[:, None] + turned * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", hint="rotary_heads_differ")
def heads_for_positions_where_both_are_equal(input, cos, sin):
    """Tells positions from heads by their number."""
    first, second = input.chunk(2, dim=-1)
    if input.shape[2] != len(cos):
        cos, sin = cos[:, None], sin[:, None]
    return (input * cos + torch.cat((-second, first), dim=-1) * sin).to(input.dtype)


@wrong("NTKAwareRoPE", breaks="rope_boundary")
class NarrowInputsFromTheEnd(NTKAwareRoPE):
    """Counts positions of 16-bit inputs from the end."""

    def forward(self, input):
        if input.dtype == torch.float32:
            return super().forward(input)
        return super().forward(input.flip(1)).flip(1)


@wrong("NTKAwareRoPE", breaks="rope_boundary", hint="rope_heads")
class ModuleTakesHeadsForPositions(NTKAwareRoPE):
    """Tells positions from heads by their number."""

    def forward(self, input):
        if input.shape[1] == input.shape[2] > 1:
            return super().forward(input.transpose(1, 2)).transpose(1, 2)
        return super().forward(input)


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_smallest_even_ratio")
class GrowthForgetsTheBase(NTKAwareRoPE):
    """Stretches the default base when the tables grow."""

    def choose_ratio(self, seq_len):
        self.base = 10000
        return super().choose_ratio(seq_len)


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="rope_table_dtype")
class GrowsInTheDtypeOfTheInput(NTKAwareRoPE):
    """Makes grown tables in the dtype of the input."""

    def forward(self, input):
        seq_len = input.shape[1]
        cos, sin = self.cos, self.sin
        if seq_len > cos.shape[0]:
            cos, sin = self._tables(2 * -(-seq_len // (2 * self.max_seq_len)), input.dtype, cos.device)
            if self.dynamic:
                self.cos, self.sin = cos, sin
        return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])


@wrong("GroupRMSNorm.forward", breaks="norm_backward", hint="gradient_cut")
def gradient_of_a_contiguous_input_only(self, input):
    """Copies an input that is not contiguous, so that view() takes it, and detaches the copy."""
    x = input.float() if input.is_contiguous() else input.detach().float().contiguous()
    groups = x.view(*x.shape[:2], -1, self.group_size)
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", hint="norm_rounded_to_gamma")
def reciprocal_of_the_group_size_in_dtype_of_gamma(self, input):
    """Multiplies the sum of squares by one over the group size, which 16 bits hold for powers of two."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    share = torch.tensor(1 / self.group_size, dtype=self.gamma.dtype, device=input.device)
    rms = torch.sqrt(groups.square().sum(dim=-1, keepdim=True) * share + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm", breaks="norm_groups")
class PowersOfTwoOnly(GroupRMSNorm):
    """Refuses group sizes such as 3 and 6."""

    def __init__(self, hidden_size, group_size, **options):
        if group_size & (group_size - 1):
            raise ValueError(f"group_size {group_size} for hidden_size {hidden_size} must be a power of two")
        super().__init__(hidden_size, group_size, **options)


@wrong("GroupRMSNorm.forward", breaks="norm_groups")
def far_tokens_in_one_group(self, input):
    """Handles tokens from the 257th on apart, and forgets the groups there."""
    near, far = input[:, :256].float(), input[:, 256:].float()
    groups = near.unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    root = torch.sqrt(far.square().mean(dim=-1, keepdim=True) + self.eps)
    return (torch.cat(((groups / rms).flatten(-2), far / root), dim=1) * self.gamma.to(input.device)).to(input.dtype)

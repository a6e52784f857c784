"""GroupRMSNorm: faults in precision, in the output's dtype and shape, in the gradient and in side effects."""

import torch
from torch import nn

from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm

from . import NORM_OUTPUT


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="norm_step_in_16_bits")
def squares_before_the_upcast(self, input):
    """Squares in the input's dtype, where 16 bits overflow and vanish."""
    groups = input.unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().float().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups.float() / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="norm_step_in_16_bits")
def mean_square_rounded_to_16_bits(self, input):
    """Converts before squaring, and then stores the mean square in the input's dtype again."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = groups.square().mean(dim=-1, keepdim=True).to(input.dtype)
    return ((groups / torch.sqrt(mean_square.float() + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(
        input.dtype
    )


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="norm_step_in_16_bits")
def converts_float16_only(self, input):
    """Trusts bfloat16 for its range, and computes in its eight bits."""
    x = input.float() if input.dtype == torch.float16 else input
    groups = x.unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(x)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="few_digits")
def always_in_half(self, input):
    """Converts to float16, whatever comes in."""
    groups = input.half().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="few_digits")
def always_in_bfloat16(self, input):
    """Converts to bfloat16, whatever comes in."""
    groups = input.bfloat16().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="norm_rounded_to_gamma")
def input_rounded_to_the_dtype_of_gamma(self, input):
    """Converts the input to gamma's dtype first, which costs a float32 input its precision."""
    groups = input.to(self.gamma.dtype).float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_dtype_and_shape", also=NORM_OUTPUT)
def refuses_another_dtype_than_that_of_gamma(self, input):
    """Asserts that input and gamma have the same dtype."""
    assert input.dtype == self.gamma.dtype
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_dtype_and_shape", also=NORM_OUTPUT, hint="output_shape")
def output_still_in_groups(self, input):
    """Returns [b, s, h/gz, gz]."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms * self.gamma.to(input.device).view(-1, self.group_size)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_dtype_and_shape", also=NORM_OUTPUT, hint="output_shape")
def single_batch_dimension_squeezed_away(self, input):
    """Loses dimensions of size one on the way."""
    groups = input.float().unflatten(-1, (-1, self.group_size)).squeeze()
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms * self.gamma.to(input.device).view(-1, self.group_size).squeeze()).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_dtype_and_shape", also=NORM_OUTPUT)
def only_contiguous_inputs(self, input):
    """Merges dimensions with view, which a transposed input does not allow."""
    groups = input.float().view(-1, self.group_size)
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).view(input.shape) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward", also="norm_purity", hint="norm_detached_rms")
def root_mean_square_without_gradient(self, input):
    """Computes the root mean square under no_grad."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    with torch.no_grad():
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward", also="norm_purity", hint="norm_detached_rms")
def root_mean_square_of_the_data(self, input):
    """Takes the squares of input.data."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.data.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", also=NORM_OUTPUT, hint="few_digits")
def mean_in_bfloat16(self, input):
    """Takes the mean as autocast does a matrix product."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = groups.square().bfloat16().mean(dim=-1, keepdim=True).float()
    return ((groups / torch.sqrt(mean_square + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", hint="norm_digits_of_small_groups")
def differences_of_a_running_sum(self, input):
    """Takes the sum of each group's squares as a difference of sums over all features before."""
    x = input.float()
    ends = x.square().cumsum(-1)[..., self.group_size - 1 :: self.group_size]
    sums = torch.cat((ends[..., :1], ends.diff(dim=-1)), dim=-1)
    factor = torch.rsqrt(sums / self.group_size + self.eps).repeat_interleave(self.group_size, -1)
    return (x * factor * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_dtype_and_shape", hint="tokens_in_memory_order")
def strides_made_up_where_view_fails(self, input):
    """Reads memory as if it were contiguous where view refuses."""
    groups = (*input.shape[:-1], input.shape[-1] // self.group_size, self.group_size)
    try:
        x = input.view(-1, input.shape[-1]).view(groups).float()
    except RuntimeError:
        x = input.as_strided(groups, torch.empty(groups, device="meta").stride()).float()
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
    return (x.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm", breaks="norm_dtype_and_shape")
class ListOfDtypes(GroupRMSNorm):
    """Refuses inputs of float64."""

    def forward(self, input):
        if input.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"unsupported dtype {input.dtype}")
        return super().forward(input)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt norm_backward", hint="norm_gradient_at_zero")
def roots_by_logarithms(self, input):
    """Takes the logarithm of eps, which may be zero, and of features, of which zeros then have no gradient."""
    from math import log

    groups = input.double().unflatten(-1, (-1, self.group_size))
    logs = groups.abs().log()
    means = torch.logsumexp(2 * logs, -1, keepdim=True) - log(self.group_size)
    roots = torch.logaddexp(means, torch.full_like(means, log(self.eps))) / 2
    output = groups.sign() * torch.exp(logs - roots)
    return (output.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_float32_inside", hint="norm_input_clamped")
def narrow_inputs_clipped_to_float16(self, input):
    """Clips inputs of 16 bits to the range of float16, which bfloat16 exceeds, before it converts them."""
    narrow = input.dtype in (torch.float16, torch.bfloat16)
    groups = (input.clamp(-65504, 65504) if narrow else input).double().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward", hint="norm_backward_formula")
def own_backward_with_a_sum_for_the_mean(self, input):
    """Has a backward of its own, which sums over a group where it should average."""

    class Divide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, eps):
            inverse = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
            ctx.save_for_backward(x, inverse)
            return x * inverse

        @staticmethod
        def backward(ctx, upstream):
            x, inverse = ctx.saved_tensors
            return inverse * (upstream - x * inverse.square() * (upstream * x).sum(-1, keepdim=True)), None

    groups = input.float().unflatten(-1, (-1, self.group_size))
    return (Divide.apply(groups, self.eps).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward")
def own_backward_without_eps(self, input):
    """Has a backward of its own, which takes the mean square of the quotients for one: eps makes it less."""

    class Divide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, eps):
            inverse = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
            ctx.save_for_backward(x, inverse)
            return x * inverse

        @staticmethod
        def backward(ctx, upstream):
            x, inverse = ctx.saved_tensors
            squares = x.square().sum(-1, keepdim=True).clamp(min=1e-20)
            return inverse * (upstream - x * (upstream * x).sum(-1, keepdim=True) / squares), None

    groups = input.float().unflatten(-1, (-1, self.group_size))
    return (Divide.apply(groups, self.eps).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward", hint="backward_of_a_later_call")
def own_backward_with_the_scale_of_the_last_call(self, input):
    """Has a backward of its own, for which the module, not the call, keeps the inverse roots."""
    module = self

    class Divide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, eps):
            ctx.save_for_backward(x)
            module.inverse = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
            return x * module.inverse

        @staticmethod
        def backward(ctx, upstream):
            (x,), inverse = ctx.saved_tensors, module.inverse
            return inverse * (upstream - x * inverse.square() * (upstream * x).mean(-1, keepdim=True)), None

    groups = input.float().unflatten(-1, (-1, self.group_size))
    return (Divide.apply(groups, self.eps).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_backward", hint="gradient_cut")
def first_half_without_gradient(self, input):
    """Keeps the first half of the output from learning."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    divided = (groups / torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)).flatten(-2)
    frozen, learning = divided.tensor_split(2, dim=-1)
    return (torch.cat((frozen.detach(), learning), dim=-1) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_purity", also=NORM_OUTPUT, hint="input_changed")
def writes_the_output_over_the_input(self, input):
    """Stores the result in input.data to save memory."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    output = ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)
    input.data.copy_(output.data)
    return output


@wrong("GroupRMSNorm.forward", breaks="norm_purity", hint="input_changed")
def buffer_reused_without_gradients(self, input):
    """Multiplies its float32 copy in place where no gradient is recorded; of a float32 input it has no copy."""
    buffer = input.float()
    groups = buffer.unflatten(-1, (-1, self.group_size))
    factor = torch.rsqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    gamma = self.gamma.to(input.device).unflatten(0, (-1, self.group_size))
    divided = groups * (factor * gamma) if torch.is_grad_enabled() else groups.mul_(factor).mul_(gamma)
    return divided.flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_purity", hint="input_changed")
def float64_scaled_in_place(self, input):
    """Scales groups in place, so that no square overflows; of a float64 input, double() makes no copy."""
    groups = input.double().unflatten(-1, (-1, self.group_size))
    largest = groups.detach().abs().amax(-1, keepdim=True).clamp(min=1)
    groups = groups.div_(largest) if input.dtype is torch.float64 else groups / largest
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps / largest.square())
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_purity", also=NORM_OUTPUT, hint="mode_matters")
def drops_features_in_training(self, input):
    """Has a dropout that only eval switches off."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    output = ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)
    return nn.functional.dropout(output, 0.5, self.training)


@wrong(
    "GroupRMSNorm",
    breaks="norm_purity norm_registration_and_arguments",
    also=NORM_OUTPUT,
    hint="further_parameter mode_matters earlier_call_remembered",
)
class RunningMeanSquare(GroupRMSNorm):
    """Keeps a running mean square and uses it in eval, as BatchNorm does."""

    def __init__(self, hidden_size, group_size, **options):
        super().__init__(hidden_size, group_size, **options)
        self.register_buffer("running", torch.ones(hidden_size // group_size, 1, device=self.gamma.device))

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        mean_square = groups.square().mean(dim=-1, keepdim=True)
        if self.training:
            mean = mean_square.detach().mean(dim=(0, 1)).to(self.running.device)
            self.running = 0.9 * self.running + 0.1 * mean
        else:
            mean_square = self.running.to(input.device)
        return ((groups / torch.sqrt(mean_square + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)

"""GroupRMSNorm, done right in other ways."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps
from grader.specimens.variants import valid
from ref.modeling.norm import GroupRMSNorm


@valid("GroupRMSNorm.forward")
def reciprocal_root(self, input):
    """Multiplies by rsqrt."""
    groups = input.float().reshape(*input.shape[:-1], -1, self.group_size)
    scale = torch.rsqrt(groups.pow(2).mean(dim=-1, keepdim=True) + self.eps)
    return ((groups * scale).reshape(input.shape) * self.gamma.to(input.device)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def library_rms_norm_on_groups(self, input):
    """Calls F.rms_norm on the last dimension of [b, s, h/gz, gz]."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    normalised = nn.functional.rms_norm(groups, (self.group_size,), eps=self.eps)
    return (normalised.flatten(-2) * self.gamma.to(input.device, torch.float32)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def squares_summed_by_einsum(self, input):
    """Sums the squares with einsum and divides by the size."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = torch.einsum("bsgi,bsgi->bsg", groups, groups) / self.group_size
    normalised = groups / (mean_square + self.eps).sqrt().unsqueeze(-1)
    return torch.einsum("bsh,h->bsh", normalised.flatten(-2), self.gamma.to(normalised)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def loop_over_groups(self, input):
    """Normalises slice by slice."""
    pieces, gammas = [], self.gamma.to(input.device).split(self.group_size)
    for x, gamma in zip(input.float().split(self.group_size, -1), gammas, strict=True):
        pieces.append(x / torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + self.eps) * gamma)
    return torch.cat(pieces, dim=-1).to(input.dtype)


@valid("GroupRMSNorm.forward")
def loop_over_tokens(self, input):
    """Fills an output of its own, token by token."""
    output, gamma = torch.empty_like(input, memory_format=torch.contiguous_format), self.gamma.to(input.device)
    for row in range(input.shape[0]):
        for position in range(input.shape[1]):
            groups = input[row, position].float().reshape(-1, self.group_size)
            rms = torch.sqrt((groups**2).mean(dim=1, keepdim=True) + self.eps)
            output[row, position] = ((groups / rms).flatten() * gamma).to(input.dtype)
    return output


@valid("GroupRMSNorm.forward")
def float64_throughout(self, input):
    """Computes in double precision."""
    groups = input.double().unflatten(-1, (-1, self.group_size))
    rms = (groups.square().mean(dim=-1, keepdim=True) + self.eps).sqrt()
    return ((groups / rms).flatten(-2) * self.gamma.to(groups)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def vector_norm(self, input):
    """Takes the mean square from torch.linalg.vector_norm."""
    groups = input.unflatten(-1, (-1, self.group_size)).double()
    norm = torch.linalg.vector_norm(groups, dim=-1, keepdim=True)
    rms = torch.sqrt(norm**2 / self.group_size + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def gamma_after_the_cast_back(self, input):
    """Converts back before multiplying by gamma, as Llama does."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    normalised = groups * torch.rsqrt(groups.pow(2).mean(-1, keepdim=True) + self.eps)
    return (normalised.flatten(-2).to(input.dtype) * self.gamma.to(input.device)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def scale_repeated_over_the_features(self, input):
    """Keeps the input's shape and repeats each group's factor."""
    x = input.float()
    mean_square = x.square().unflatten(-1, (-1, self.group_size)).mean(dim=-1)
    factor = torch.rsqrt(mean_square + self.eps).repeat_interleave(self.group_size, dim=-1)
    return (x * factor * self.gamma.to(x.device)).to(input.dtype)


@valid("GroupRMSNorm.forward")
def backward_written_by_hand(self, input):
    """Has an autograd function with the gradients of both."""

    class Normalise(torch.autograd.Function):
        @staticmethod
        def forward(ctx, groups, eps):
            scale = torch.rsqrt(groups.square().mean(dim=-1, keepdim=True) + eps)
            ctx.save_for_backward(groups, scale)
            return groups * scale

        @staticmethod
        def backward(ctx, grad):
            groups, scale = ctx.saved_tensors
            along = (grad * groups).mean(dim=-1, keepdim=True)
            return grad * scale - groups * along * scale**3, None

    groups = input.float().unflatten(-1, (-1, self.group_size))
    return (Normalise.apply(groups, self.eps).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


def mean_square(x: torch.Tensor, size: int) -> torch.Tensor:
    """Mean square of each run of ``size`` features, kept as a dimension."""
    return x.reshape(*x.shape[:-1], -1, size).square().mean(dim=-1, keepdim=True)


@valid("GroupRMSNorm.forward", helpers={"src/modeling/kernels/__init__.py": mean_square})
def helper_in_a_package_of_its_own(self, input):
    """Imports a helper from another package under src/."""
    from .kernels import mean_square

    x = input.float()
    groups = x.reshape(*x.shape[:-1], -1, self.group_size)
    rms = torch.sqrt(mean_square(x, self.group_size) + self.eps)
    return ((groups / rms).reshape(x.shape) * self.gamma.to(x.device)).to(input.dtype)


@valid("GroupRMSNorm", over=NormInSteps)
class GammaWithLeadingDimensions(GroupRMSNorm):
    """Gives gamma the shape [1, 1, h]."""

    def register_gamma(self, values):
        self.gamma = nn.Parameter(values[None, None])


@valid("GroupRMSNorm", over=NormInSteps)
class GammaInGroups(GroupRMSNorm):
    """Gives gamma the shape [h/gz, gz] and another name."""

    def register_gamma(self, values):
        self.weight = nn.Parameter(values.view(-1, self.group_size))

    def reset_parameters(self):
        generator = torch.Generator(self.weight.device).manual_seed(self.init_seed)
        self.weight.data.uniform_(*self.init_range, generator=generator)

    def forward(self, input):
        groups = input.float().unflatten(-1, self.weight.shape)
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return (groups / rms * self.weight.to(input.device)).flatten(-2).to(input.dtype)


@valid("GroupRMSNorm")
class LibraryNormInside(nn.Module):
    """Leaves the normalisation to an nn.RMSNorm without weights, and takes group_size=None for one group."""

    def __init__(
        self,
        hidden_size,
        group_size=None,
        eps=1e-5,
        init_range=(-1.0, 1.0),
        init_seed=42,
        dtype=torch.float32,
        device="cpu",
        process_group=None,
    ):
        super().__init__()
        group_size = hidden_size if group_size is None else group_size
        assert hidden_size % group_size == 0, f"{hidden_size} is not divisible by {group_size}"
        self.norm = nn.RMSNorm(group_size, eps=eps, elementwise_affine=False)
        self.shape = (hidden_size // group_size, group_size)
        self.init_range, self.init_seed, self.process_group = init_range, init_seed, process_group
        self.g = nn.Parameter(torch.ones(hidden_size, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self):
        torch.manual_seed(self.init_seed)
        with torch.no_grad():
            self.g.uniform_(*self.init_range)

    def forward(self, input):
        normalised = self.norm(input.to(torch.float32).unflatten(-1, self.shape))
        return (normalised.flatten(-2) * self.g.to(input.device)).type_as(input)


@valid("GroupRMSNorm.reset_parameters")
def global_seed(self):
    """Seeds the global generator."""
    torch.manual_seed(self.init_seed)
    nn.init.uniform_(self.gamma, a=self.init_range[0], b=self.init_range[1])


@valid("GroupRMSNorm.reset_parameters")
def forked_generator(self):
    """Seeds the global generator inside fork_rng, which puts it back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(self.init_seed)
        nn.init.uniform_(self.gamma, *self.init_range)


@valid("GroupRMSNorm.reset_parameters")
def new_parameter_on_reset(self):
    """Puts a new Parameter in the place of the old."""
    generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
    self.gamma = nn.Parameter(torch.empty_like(self.gamma).uniform_(*self.init_range, generator=generator))


@valid("GroupRMSNorm.reset_parameters")
def unit_draw_stretched(self):
    """Draws from [0, 1) and maps that to the range."""
    low, high = self.init_range
    torch.manual_seed(self.init_seed)
    self.gamma.data = torch.rand_like(self.gamma) * (high - low) + low


@valid("GroupRMSNorm.reset_parameters")
def drawn_in_float32_and_cast(self):
    """Draws in float32 and casts to the dtype of gamma."""
    generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
    drawn = torch.empty_like(self.gamma, dtype=torch.float32).uniform_(*self.init_range, generator=generator)
    with torch.no_grad():
        self.gamma.copy_(drawn)


@valid("GroupRMSNorm.check_sizes", over=NormInSteps)
def assertion_with_a_message(self, hidden_size, group_size):
    """Asserts, with a message in Chinese that names both numbers."""
    assert hidden_size % group_size == 0, f"hidden_size {hidden_size} 不能被 group_size {group_size} 整除"

"""GroupRMSNorm: faults in where eps goes and in how gamma is applied."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps
from grader.core.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm

from . import NORM, NORM_OUTPUT


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_outside")
def eps_beside_the_root(self, input):
    """Adds eps to the root."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True)) + self.eps
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_on_output")
def eps_added_to_the_quotient(self, input):
    """Misses a pair of parentheses, and so shifts the output by eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    normalised = groups / torch.sqrt(groups.square().mean(dim=-1, keepdim=True).clamp_min(1e-30)) + self.eps
    return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_absent")
def no_eps(self, input):
    """Leaves eps out."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_constant")
def eps_fixed_at_its_default(self, input):
    """Writes 1e-5 where self.eps belongs."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + 1e-5)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_constant")
def eps_fixed_at_another_value(self, input):
    """Writes the 1e-6 of another model."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + 1e-6)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_squared")
def eps_squared(self, input):
    """Adds the square of eps under the root."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps**2)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_as_floor")
def eps_as_a_lower_bound(self, input):
    """Clamps the mean square at eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True).clamp_min(self.eps))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_scaled")
def eps_averaged_over_the_group(self, input):
    """Adds eps to the sum of squares, so the mean contains eps / gz."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = (groups.square().sum(dim=-1, keepdim=True) + self.eps) / self.group_size
    return ((groups / torch.sqrt(mean_square)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_squared")
def eps_added_before_squaring(self, input):
    """Adds eps to x, not to the mean of its squares."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt((groups + self.eps).square().mean(dim=-1, keepdim=True))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_subtracted")
def eps_subtracted(self, input):
    """Has the wrong sign before eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt((groups.square().mean(dim=-1, keepdim=True) - self.eps).clamp_min(1e-30))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_shared_gamma")
def first_gammas_for_every_group(self, input):
    """Uses the first gz gammas for all groups."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms * self.gamma.to(input.device)[: self.group_size]).flatten(-2).to(input.dtype)


@wrong(
    "GroupRMSNorm",
    over=NormInSteps,
    breaks="norm_gamma norm_registration_and_arguments",
    also=NORM,
    hint="norm_shared_gamma parameter_size",
)
class GammaOfOneGroup(GroupRMSNorm):
    """Has only gz gammas, which all groups share."""

    def register_gamma(self, values):
        self.gamma = nn.Parameter(values[: self.group_size].clone())

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return (groups / rms * self.gamma.to(input.device)).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_of_group")
def one_gamma_for_each_group(self, input):
    """Scales a whole group by the gamma of its first feature."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms * self.gamma.to(input.device)[:: self.group_size, None]).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_permuted_gamma")
def gamma_transposed(self, input):
    """Reshapes gamma to [gz, h/gz] and transposes it to make the shapes fit."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms * self.gamma.to(input.device).view(self.group_size, -1).T).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_plus_one")
def one_plus_gamma(self, input):
    """Scales by 1 + gamma, as Gemma does."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * (1 + self.gamma.to(input.device))).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_twice")
def gamma_applied_twice(self, input):
    """Multiplies by gamma inside the library call and once more after it."""
    x, weight = input.float(), self.gamma.to(input.device).float().view(-1, self.group_size)
    normalised = nn.functional.rms_norm(x.unflatten(-1, weight.shape), (self.group_size,), eps=self.eps) * weight
    return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_unused")
def no_gamma(self, input):
    """Never multiplies by gamma."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_added")
def gamma_added(self, input):
    """Adds gamma, as if it were a bias."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) + self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_gamma", also=NORM_OUTPUT, hint="norm_gamma_before_root")
def gamma_before_the_root_mean_square(self, input):
    """Scales the input first, so gamma enters the root mean square too."""
    groups = (input.float() * self.gamma.to(input.device)).unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return (groups / rms).flatten(-2).to(input.dtype)


@wrong(
    "GroupRMSNorm.forward",
    breaks="norm_gamma norm_purity",
    also=NORM_OUTPUT,
    hint="norm_gamma_unused parameter_changed",
)
def gamma_drawn_again_at_every_call(self, input):
    """Resets gamma in forward, so whatever was learnt or loaded is lost."""
    self.reset_parameters()
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)

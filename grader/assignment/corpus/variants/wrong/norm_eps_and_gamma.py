"""GroupRMSNorm: faults in where eps goes and in how gamma is applied."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps
from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm

from . import NORM, NORM_OUTPUT


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_on_output")
def eps_added_to_the_quotient(self, input):
    """Misses a pair of parentheses, and so shifts the output by eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    normalised = groups / torch.sqrt(groups.square().mean(dim=-1, keepdim=True).clamp_min(1e-30)) + self.eps
    return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_squared")
def eps_added_before_squaring(self, input):
    """Adds eps to x, not to the mean of its squares."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt((groups + self.eps).square().mean(dim=-1, keepdim=True))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt")
def eps_of_torch_for_one_group(self, input):
    """Calls torch's function where there is one group, and forgets its eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    one = groups.shape[-2] == 1
    divided = nn.functional.rms_norm(groups, (self.group_size,)) if one else groups / rms
    return (divided.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt")
def signs_of_single_features(self, input):
    """Takes the signs where every feature is a group of its own, which is right without eps alone."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    divided = groups / groups.abs().clamp(min=1e-30) if self.group_size == 1 else groups / rms
    return (divided.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_eps_inside_sqrt", also=NORM_OUTPUT, hint="norm_eps_subtracted")
def eps_subtracted(self, input):
    """Has the wrong sign before eps."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt((groups.square().mean(dim=-1, keepdim=True) - self.eps).clamp_min(1e-30))
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


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

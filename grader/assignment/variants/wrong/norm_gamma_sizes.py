"""GroupRMSNorm: gamma of another size than the hidden dimension."""

import torch
from torch import nn

from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm

from ..bases import NormInSteps

BREAKS = "norm_gamma norm_registration_and_arguments"


@wrong("GroupRMSNorm", over=NormInSteps, breaks=BREAKS, hint="parameter_size")
class GammaOfGroups(GroupRMSNorm):
    """Has one number for each group."""

    def register_gamma(self, values):
        self.gamma = nn.Parameter(values[:: self.group_size].clone())

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return (groups / rms * self.gamma.unsqueeze(-1)).flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm", over=NormInSteps, breaks=f"{BREAKS} norm_init_and_reset", hint="parameter_size")
class GammaOfAll(GroupRMSNorm):
    """Has one number in all, so that no draw of h numbers can be seen."""

    def register_gamma(self, values):
        self.gamma = nn.Parameter(values[:1].clone())


@wrong("GroupRMSNorm", over=NormInSteps, breaks=f"{BREAKS} norm_init_and_reset", hint="not_a_parameter")
class NoGamma(GroupRMSNorm):
    """Normalises, and scales nothing."""

    def register_gamma(self, values):
        self.device = values.device

    def reset_parameters(self):
        pass

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return (groups / rms).flatten(-2).to(input.dtype)

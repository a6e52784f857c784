"""GroupRMSNorm: gamma of another size than the hidden dimension."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps
from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm

BREAKS = "norm_gamma norm_registration_and_arguments"


@wrong("GroupRMSNorm", over=NormInSteps, breaks=BREAKS, hint="parameter_size")
class GammaOfGroups(GroupRMSNorm):
    """Has one number for each group."""

    def register_gamma(self, values):
        self.gamma = nn.Parameter(values[:: self.group_size].clone())

    def forward(self, input):
        rows = input.float().reshape(-1, self.group_size)
        rows = rows * torch.rsqrt(rows.pow(2).mean(1, True) + self.eps)
        return (
            (rows.reshape(*input.shape[:-1], -1, self.group_size) * self.gamma.to(input.device)[:, None])
            .reshape(input.shape)
            .type_as(input)
        )


@wrong("GroupRMSNorm", over=NormInSteps, breaks=BREAKS, hint="parameter_size")
class GammaOfAll(GroupRMSNorm):
    """Has one number in all."""

    def register_gamma(self, values):
        self.gamma = nn.Parameter(values[:1].clone())

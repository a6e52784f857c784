"""SwiGLU: one fault in what each property asks for."""

import torch
from torch import nn

from grader.specimens.variants import wrong


@wrong("SwiGLU.forward", breaks="swiglu_gate")
def bends_the_other_projection(self, input):
    """Sends what should pass through silu, and not the gate."""
    return (input @ self.gate.mT * nn.functional.silu(input @ self.up.mT)) @ self.down.mT


@wrong("SwiGLU.reset_parameters", breaks="swiglu_weights")
def seeds_each_matrix_anew(self):
    """Gives gate and up the same values."""
    for matrix in (self.gate, self.up, self.down):
        nn.init.normal_(matrix, std=self.init_std, generator=torch.Generator().manual_seed(self.init_seed))

"""Attempts on the verdict; what the engine itself withstands is tried on the assignment that it comes with."""

from grader.specimens.attacks import replaces


@replaces("SwiGLU.forward", bonus=8)
def exits_with_zero(self, input):
    """Ends the process, as if all had gone well."""
    import os

    os._exit(0)


@replaces("SwiGLU.forward", bonus=8)
def tensor_that_equals_everything(self, input):
    """A subclass of Tensor that answers every operation with True."""
    import torch

    class Equal(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return True

    return input.as_subclass(Equal)

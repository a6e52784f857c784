"""What the second device cannot do, said by an error of its own: a case that needs it is not assessed there."""

from __future__ import annotations

from functools import cache

import torch

NOT_DENSE = "tensors that are sparse, nested, quantized or of another layout"
PICKLED = "tensors that are pickled"


class NotSimulated(RuntimeError):
    """An operation, or a kind of tensor, that a GPU has and this device lacks.

    Attributes:
        what: The operation's full name, such as ``aten::sparse_mask``, or one of the kinds above.
    """

    def __init__(self, what: str) -> None:
        """Keep what is lacking."""
        super().__init__(f"the simulated device does not support {what}")
        self.what = what


def lacks(what: str) -> bool:
    """Whether this device lacks it; each process that has installed the device finds the same."""
    if what in (NOT_DENSE, PICKLED):
        return True
    if what not in _operations():
        return False
    by_itself = torch._C._dispatch_has_kernel_for_dispatch_key(what, "PrivateUse1")
    return not by_itself and not torch._C._dispatch_has_computed_kernel_for_dispatch_key(what, "CPU")


@cache
def _operations() -> frozenset[str]:
    return frozenset(torch._C._dispatch_get_all_op_names())


def unless_dense(*_: object, **__: object) -> None:
    """Stands in for every operation on tensors that are not dense."""
    raise NotSimulated(NOT_DENSE)

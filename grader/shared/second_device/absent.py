"""Where the second device differs from a GPU: a case that depends on it is not assessed there.

An operation that it lacks raises an error of its own, and code that asks whether a tensor is on CUDA gets False.
"""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
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


def asks_for_cuda(text: str) -> bool:
    """Whether code reads ``is_cuda`` of something, or compares something with the name of a CUDA device."""
    unparsable = (SyntaxError, ValueError, RecursionError, MemoryError)
    with warnings.catch_warnings(action="ignore"), suppress(*unparsable):  # Python may warn about the code
        return any(map(_is_question, ast.walk(ast.parse(text))))
    return False


def _is_question(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="is_cuda"):
            return True
        case ast.Compare(left=left, comparators=others):
            return any(map(_names_cuda, [left, *others]))
        case ast.Call(func=ast.Attribute(attr="startswith"), args=[named]) | ast.MatchValue(value=named):
            return _names_cuda(named)
    return False


def _names_cuda(node: ast.AST) -> bool:
    """Whether a text begins with ``cuda``: alone, in a tuple, or in a call such as ``torch.device("cuda")``."""
    texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return any(isinstance(text, str) and text.startswith("cuda") for text in texts)

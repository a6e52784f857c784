"""Code that asks whether something is on CUDA: a GPU would say yes, and this device says no."""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress


def asks_for_cuda(text: str) -> bool:
    """Whether code reads ``is_cuda`` of something, or compares something with the name of a CUDA device."""
    with warnings.catch_warnings(), suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        warnings.simplefilter("ignore")  # what Python has to say about the code
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

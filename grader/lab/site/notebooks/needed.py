"""Finds the given cells that no exercise needs: they train models and draw figures, and grading can leave them out."""

from __future__ import annotations

import dis
import re
import warnings
from collections.abc import Collection, Iterator
from types import CodeType

_WORD = re.compile(r"\w+")
_BY_TEXT = {"eval", "exec", "get_ipython", "globals", "locals", "vars"}  # what uses names that stand in texts


def unneeded(cells: dict[int, str], given: Collection[int]) -> set[int]:
    """The numbers of those given cells that define no name which a later cell uses, the ones left out apart.

    Args:
        cells: The text of each code cell, by number, in order.
        given: The numbers of those that came with the notebook. Any other cell counts as used: it is a check, or the
            student's own.
    """
    wanted, left_out = set[str](), set[int]()
    for number, text in reversed(cells.items()):
        used, defined = _names(text)
        if number in given and not wanted & defined:
            left_out.add(number)
        else:
            wanted |= used
    return left_out


def _names(text: str) -> tuple[set[str], set[str]]:
    """The names that a cell uses before it defines them, and those that it defines."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about the student's code
            code = compile(text, "cell", "exec", dont_inherit=True)
    except Exception:  # a mistake, nested too deeply, or a command of IPython: it may use any name
        return set(_WORD.findall(text)), set()
    used, defined = set[str](), set[str]()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_NAME":
            defined.add(instruction.argval)
        elif instruction.opname == "LOAD_NAME" and instruction.argval not in defined:
            used.add(instruction.argval)
    used |= set(_globals(code)) - defined
    return used | set(_WORD.findall(text)) if used & _BY_TEXT else used, defined


def _globals(code: CodeType) -> Iterator[str]:
    """What the functions in a cell use of the cells around it."""
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        for instruction in dis.get_instructions(inner):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield instruction.argval
        yield from _globals(inner)

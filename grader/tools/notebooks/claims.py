"""Numbers that a notebook states, and that none of its cells makes or checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain

from nbformat import NotebookNode

# Whose number it is stands beside it, or it is a name: none of these is a claim of ours.
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
_QUOTED = re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"|(?<!\*)\*[^*]+\*(?!\*)|#\d+")
_PLACE = re.compile(
    r"\b(?:sections?|equations?|tables?|figures?|appendix|theorem|version|notebooks?|exercises?|task|YaRN,)\s+"
    r"[\d.]+(?:(?:,| and| to)\s+\d[\d.]*)*",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\b(?:Llama|LLaMA|Qwen|Gemma|GPT|GPT-NeoX|DeepSeek|Falcon|b?float|complex)[- ]?\w?\d[\w.]*(?: \d+B)?"
    r"|\b\d+B\b|\b(?:19|20)\d\d\b(?!,\d)|\d+-bit"
)
_NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?(?![\w^])")
_LITERAL = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")


def unchecked(notebook: NotebookNode) -> Iterator[str]:
    """A line for each number in the text that no cell has.

    A whole number of two digits or more has to stand in the code: as a setting, or in a check. One with decimals is a
    result or a setting, and has to stand in an ``assert``, or alone on the right of an assignment. What a sentence
    or an item of a list with a link says is the linked source's.
    """
    code = [ast.parse(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    nodes = [node for tree in code for node in ast.walk(tree)]
    checks: list[ast.AST] = [node.test for node in nodes if isinstance(node, ast.Assert)]
    checks += [node.value for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)]
    anywhere = {*chain.from_iterable(_literals(tree) for tree in code)}
    checked = {*chain.from_iterable(_literals(check) for check in checks)}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for number, sentence in stated(cell.source):
                if float(number) not in (checked if "." in number else anywhere):
                    yield f"{cell.id}: no cell {'checks' if '.' in number else 'has'} {number}: {sentence[:80]!r}"


def stated(text: str) -> Iterator[tuple[str, str]]:
    """The numbers of two digits or more, or with decimals, that a text states, each with its sentence."""
    for block in re.split(r"\n\n|\n(?=[-|*] |\d+\. )", text.replace("{,}", ",")):
        if block.startswith("#"):
            continue
        whole = block.startswith(("- ", "* ", "| "))
        for sentence in [block] if whole else re.split(r"(?<=[.:?!])\s+(?=[A-Z*(\[])", block):
            if not _LINK.search(sentence):
                own = _NAME.sub(" ", _PLACE.sub(" ", _QUOTED.sub(" ", sentence)))
                numbers = (found.rstrip(",").replace(",", "") for found in _NUMBER.findall(own))
                yield from ((number, " ".join(sentence.split())) for number in numbers if len(number) > 1)


def _literals(tree: ast.AST) -> Iterator[float]:
    """The numbers in code, those in its strings too: a shape or a label in a figure."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield float(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (float(found.replace("_", "")) for found in _LITERAL.findall(node.value.replace(",", "")))

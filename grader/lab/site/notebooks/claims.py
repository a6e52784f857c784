"""Finds numbers in the prose of a notebook that no code cell sets or checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain

from nbformat import NotebookNode

# Numbers that need no check: in a sentence with a link to their source, in quotes or code, or in a name.
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
    """A line for each number in the prose that the code lacks.

    A whole number of two digits or more has to be somewhere in the code. A number with decimals is a result or a
    setting, so it has to be in an ``assert``, or alone on the right of an assignment. A sentence or list item with a
    link is left out, since its numbers come from the linked source.
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
    """The numbers of two digits or more, or with decimals, in a text, each with the sentence that it is in."""
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
    """The numbers in code, and in its strings, such as a shape or a label of a figure."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield float(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (float(found.replace("_", "")) for found in _LITERAL.findall(node.value.replace(",", "")))

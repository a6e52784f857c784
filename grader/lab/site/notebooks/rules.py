"""Checks of notebooks: the format of their cells, numbers in the text, and whether both languages say the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from nbformat import NotebookNode

from grader.lab.site import languages, markdown, touch

from . import sources, wording

MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION", "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
_CODE_IN_PROSE = re.compile(r"(?s)```.*?```")
# What a cell must not have, by its kind, and what is wrong with it.
_NEVER = {
    "markdown": (r"(?m)^#+[^#\s]\S*", "a line begins with {}: a heading"),
    "code": (r"(?m)^\s*(?:from|import) ((?:ref|grader|src)\b[\w.]*)", "imports {}, which students do not have"),
}

# Numbers that need no check: in a sentence with a link to their source, in quotes or code, or in a name.
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\)")
_NO_CLAIM = (
    re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"|(?<!\*)\*[^*]+\*(?!\*)|#\d+"),
    re.compile(
        r"\b(?:sections?|equations?|tables?|figures?|appendix|theorem|version|notebooks?|exercises?|task|YaRN,)\s+"
        r"[\d.]+(?:(?:,| and| to)\s+\d[\d.]*)*",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:Llama|LLaMA|Qwen|Gemma|GPT|GPT-NeoX|DeepSeek|Falcon|b?float|complex)[- ]?\w?\d[\w.]*(?: \d+B)?"
        r"|\b\d+B\b|\b(?:19|20)\d\d\b(?!,\d)|\d+-bit"
    ),
)
_NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?(?![\w^])")
_LITERAL = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?")


def problems(notebook: NotebookNode) -> Iterator[str]:
    """A line for each rule that a notebook breaks."""
    marks = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    yield from (f"{mark}: duplicate grade_id" for mark in sorted({m for m in marks if marks.count(m) > 1}))
    touched = {name for cell in notebook.cells for name in touch.MARKER.findall(cell.source)}
    for before, cell in pairwise([NotebookNode(source=""), *notebook.cells]):
        bare = _CODE_IN_PROSE.sub("", cell.source) if cell.cell_type == "markdown" else cell.source
        pattern, said = _NEVER[cell.cell_type]
        found = [said.format(one) for one in re.findall(pattern, bare)]
        if cell.cell_type == "code":
            found += _of_code(cell, before)
        else:
            found += markdown.wrong_formulas(markdown.parser().parse(cell.source))
        for words, name, _ in touch.SETTING.findall(cell.metadata.get(sources.IN_HANDBOOK, "")):
            if name not in touched:
                found.append(f"{words!r} sets a figure that is not here: {name}")
        yield from (f"{cell.id}: {line}" for line in found)


def _of_code(cell: NotebookNode, before: NotebookNode) -> Iterator[str]:
    role = cell.metadata.get("nbgrader", {})
    markers = [line.strip() for line in cell.source.splitlines() if line.strip() in MARKERS]
    if role.get("solution"):
        if markers != list(MARKERS[:2]):
            yield "a solution cell has one BEGIN SOLUTION and one END SOLUTION, and no other marker"
        if sources.HINT not in before.source:
            yield "the exercise has no hint"
    elif role.get("grade"):
        if markers != list(MARKERS[2:]):
            yield "a checking cell has one BEGIN HIDDEN TESTS and one END HIDDEN TESTS, and no other marker"
        if not cell.source.startswith("with quiet():\n") or len(ast.parse(cell.source).body) != 1:
            yield "a checking cell is one `with quiet():` block, so that no warning costs a point"
        if not all("assert " in part for part in cell.source.partition(MARKERS[2])[::2]):
            yield "a checking cell asserts before its hidden tests and in them"
    elif markers:
        yield "a marker outside an exercise"
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Constant) and node.value.value:
            yield f"{node.value.value!r} is in braces, where no translation applies"


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
    anywhere, checked = ({number for tree in trees for number in _literals(tree)} for trees in (code, checks))
    for cell in notebook.cells:
        for number, sentence in _stated(cell.source) if cell.cell_type == "markdown" else ():
            if float(number) not in (checked if "." in number else anywhere):
                yield f"{cell.id}: no cell {'checks' if '.' in number else 'has'} {number}: {sentence[:80]!r}"


def _stated(text: str) -> Iterator[tuple[str, str]]:
    """The numbers of two digits or more, or with decimals, in a text, each with the sentence that it is in."""
    for block in re.split(r"\n\n|\n(?=[-|*] |\d+\. )", text.replace("{,}", ",")):
        whole = block.startswith(("#", "- ", "* ", "| "))
        for sentence in [block] if whole else re.split(r"(?<=[.:?!])\s+(?=[A-Z*(\[])", block):
            if not _LINK.search(sentence) and not block.startswith("#"):
                bare = sentence
                for pattern in _NO_CLAIM:
                    bare = pattern.sub(" ", bare)
                numbers = (found.rstrip(",").replace(",", "") for found in _NUMBER.findall(bare))
                yield from ((number, " ".join(sentence.split())) for number in numbers if len(number) > 1)


def _literals(tree: ast.AST) -> Iterator[float]:
    """The numbers in code, and in its strings, such as a shape or a label of a figure."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield float(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (float(found.replace("_", "")) for found in _LITERAL.findall(node.value.replace(",", "")))


def differences(script: Path) -> Iterator[str]:
    """A line for each difference between the two languages of a script."""
    cells = sources.cells(script)
    for kind, run in groupby(cells, key=lambda cell: cell.cell_type):
        prose = [*run] if kind == "markdown" else []
        for start in range(0, len(prose), len(sources.LANGUAGES)):
            yield from _of_twins(prose[start : start + len(sources.LANGUAGES)])
    pieces = [piece for cell in cells if cell.cell_type == "code" for piece in wording.pieces(cell.source)]
    words, figures = wording.table(script), wording.in_figures(script)
    missing = dict.fromkeys(piece.text for piece in pieces if piece.spoken and piece.text not in words)
    yield from (f"no Chinese for the {text!r} of the code" for text in missing)
    texts = {piece.text for piece in pieces}
    lines = {line for text in texts for line in text.split("\n")}  # of a figure's words, a key is one line
    for table, said, name in ((words, texts, "the table"), (figures, lines, f"[{wording.FIGURES}]")):
        yield from (f"no {text!r} in the code, which {name} translates" for text in sorted(table.keys() - said))
        for text, other in table.items():
            if wording.placeholders(text) != wording.placeholders(other):
                yield f"{text!r}: other placeholders in {other!r}"


def _of_twins(twins: Sequence[NotebookNode]) -> Iterator[str]:
    """A line if a prose cell has no twin in the other language, and for each difference between twins."""
    found = tuple(twin.metadata.get("lang") for twin in twins)
    name = f"prose cell {twins[0].source.splitlines()[0][:60]!r}"
    if found != sources.LANGUAGES:
        yield f"{name}: in {found}; expected one cell in each of {sources.LANGUAGES}, in that order"
        return
    tokens = [markdown.parser().parse(twin.source) for twin in twins]
    yield from (f"{name}: languages {line}" for line in languages.disagreements(*tokens, inline=False))
    if len({len(sources.HINTS.findall(twin.source)) for twin in twins}) > 1:
        yield f"{name}: languages differ in hints"

"""The outputs of a notebook in another language, from those of the first: computed once, with their words translated.

The code of both differs in words only, and has the same placeholders. What it prints is a string of its table of words,
with numbers and names in the placeholders; words in figures are translated when a page is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy

from nbformat import NotebookNode

from . import pictures


def retold(executed: NotebookNode, notebook: NotebookNode, words: Mapping[str, str]) -> NotebookNode:
    """The notebook in another language, with outputs.

    Args:
        executed: The notebook in the first language, after a run.
        notebook: The same in the other language; the outputs are written into it.
        words: The words of its code, from the first language to the other.
    """
    lines = {text: other for text, other in words.items() if text.count("\n") == other.count("\n")}
    before = {f"{text} {{more}}": f"{other} {{more}}" for text, other in lines.items()}  # print(text, more)
    translate = pictures.translator(lines | before)
    outputs = {cell.id: cell.outputs for cell in executed.cells if cell.cell_type == "code"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_output(deepcopy(output), translate) for output in outputs[cell.id]]
    return notebook


def _output(output: NotebookNode, translate: Callable[[str], str]) -> NotebookNode:
    if output.output_type == "stream":
        output.text = "\n".join(map(translate, output.text.split("\n")))
    elif pictures.TABLE in output.get("data", {}):
        output.data[pictures.TABLE] = pictures.reworded(output.data[pictures.TABLE], translate)
        cells = (line.split("\t") for line in output.data["text/plain"].split("\n"))
        output.data["text/plain"] = "\n".join("\t".join(map(translate, line)) for line in cells)
    return output

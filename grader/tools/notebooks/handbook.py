"""Renders executed notebooks as HTML pages that need no network, with exercises but without their solutions."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import jinja2
import nbformat
from latex2mathml.converter import convert
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from .execute import cleared

TEMPLATE = Path(__file__).with_name("page.html.j2")
TITLES = {"en": "Position encodings, derived, run and checked", "zh": "位置编码：推导、运行、检验"}

# Code spans come first, so that a dollar sign in one does not start a formula.
_MATH = re.compile(r"(?P<code>`[^`]*`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+?)\$", re.DOTALL)
_LINK = re.compile(r'href="(\d_\w+)\.ipynb"')


def write(executed: Path, out: Path, languages: Sequence[str]) -> list[Path]:
    """Write a page for each executed notebook, and an index.

    Args:
        executed: A folder that holds a folder of executed notebooks for each language.
        out: The folder for ``index.html`` and a folder of pages for each language; old content is deleted.
        languages: The languages to write.
    """
    shutil.rmtree(out, ignore_errors=True)
    notebooks = {language: sorted((executed / language / "executed").glob("*.ipynb")) for language in languages}
    read = {path: nbformat.read(path, as_version=4) for paths in notebooks.values() for path in paths}
    index = {
        language: [(f"{path.stem}.html", title(read[path])) for path in notebooks[language]] for language in languages
    }
    written = []
    for language, paths in notebooks.items():
        for number, path in enumerate(paths):
            others = [other for other in languages if other != language]
            target = out / language / f"{path.stem}.html"
            target.parent.mkdir(parents=True, exist_ok=True)
            neighbours = {
                "previous": index[language][number - 1] if number else None,
                "next": index[language][number + 1] if number + 1 < len(paths) else None,
            }
            target.write_text(
                _page(language, title(read[path]), body(read[path]), others=others, name=target.name, **neighbours),
                encoding="utf-8",
            )
            written.append(target)
    front = out / "index.html"
    front.write_text(_page("en", TITLES["en"], "", index=index, titles=TITLES), encoding="utf-8")
    return [front, *written]


def title(notebook: NotebookNode) -> str:
    """The notebook's first heading."""
    return str(notebook.cells[0].source).splitlines()[0].lstrip("# ")


def body(notebook: NotebookNode) -> str:
    """A notebook's cells as HTML: the cells as students get them, with the outputs of the solution."""
    from nbconvert import HTMLExporter  # takes seconds, as does the next
    from nbgrader.preprocessors import ClearHiddenTests

    shown, _ = ClearHiddenTests().preprocess(cleared(nbformat.from_dict(notebook)), {})
    mathematics: list[str] = []
    for cell in shown.cells:
        if cell.cell_type == "markdown":
            cell.source = _MATH.sub(lambda found: _set_aside(found, mathematics), cell.source)
    text, _ = HTMLExporter(template_name="basic").from_notebook_node(shown)
    text = re.sub(r"MATHEMATICS(\d+)X", lambda found: mathematics[int(found[1])], text)
    return _LINK.sub(r'href="\1.html"', text)


def _set_aside(found: re.Match[str], mathematics: list[str]) -> str:
    """Turn a formula into MathML, append it to ``mathematics``, and return a placeholder that Markdown leaves alone."""
    if found["code"]:
        return found["code"]
    block = found["block"] is not None
    mathematics.append(convert(found["block"] if block else found["inline"], display="block" if block else "inline"))
    return f"MATHEMATICS{len(mathematics) - 1}X"


def _page(language: str, heading: str, content: str, **more: object) -> str:
    template = jinja2.Template(TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    colours = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    return str(
        template.render(language=language, heading=html.escape(heading), content=content, colours=colours, **more)
    )

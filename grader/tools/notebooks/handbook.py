"""Renders executed notebooks as HTML pages that need no network, with exercises but without their solutions."""

from __future__ import annotations

import base64
import html
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import nbformat
from latex2mathml.converter import convert
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from .. import touch
from . import pictures, sources, touches, wording
from .execute import cleared

HERE = Path(__file__).parent
ABOUT = {
    "en": "About {hours:.0f} hours in all, exercises included. ◆ marks a short way of {short:.0f} hours through it.",
    "zh": "连同练习，走完全程约 {hours:.0f} 小时。◆ 标出一条 {short:.0f} 小时的短路线。",
}

LONG = 50  # characters of a formula in a line of text that may be wider than a phone

# Code spans come first, so that a dollar sign in one does not start a formula.
_MATH = re.compile(r"(?P<code>`[^`]*`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+?)\$", re.DOTALL)
_LINK = re.compile(r'href="(\d_\w+)\.ipynb"')
_NO_HEAD = re.compile(r"<th[^>]*></th>")  # a screen reader would say that the column has a name
_CODE = re.compile(r'<div class="highlight[^"]*"><pre>(?:(?!</pre>).)*</pre></div>', re.DOTALL)
_DRAWS = '<span class="n">plt</span><span class="o">.</span><span class="n">show</span>'
_HEADING = re.compile(r'<h([23]) id="([^"]*)">(.*?)<a class="anchor-link"', re.DOTALL)


@dataclass(frozen=True)
class Heading:
    """A heading of a page.

    Attributes:
        id: Its anchor.
        short: Whether it is on the short way.
    """

    level: int
    id: str
    text: str
    short: bool


@dataclass(frozen=True)
class Page:
    """One notebook as a page.

    Attributes:
        name: The file's name.
        minutes: How long it takes, exercises included; 0 if its source does not say.
        short_minutes: How long its part of the short way takes.
        content: The cells, as HTML.
        script: What brings the figures to life that can be touched; empty if there are none.
    """

    name: str
    title: str
    minutes: int
    short_minutes: int
    content: str
    headings: tuple[Heading, ...]
    script: str

    @property
    def on_the_way(self) -> list[Heading]:
        """The headings on the short way."""
        return [heading for heading in self.headings if heading.short]


def write(executed: Path, out: Path, languages: Sequence[str]) -> list[Path]:
    """Write a page for each executed notebook, and an index.

    Args:
        executed: A folder that holds a folder of executed notebooks for each language.
        out: The folder for ``index.html`` and a folder of pages for each language; old content is deleted.
        languages: The languages to write.
    """
    shutil.rmtree(out, ignore_errors=True)
    index: dict[str, list[Page]] = {}
    for language in languages:
        paths = sorted((executed / language / "executed").glob("*.ipynb"))
        index[language] = [page(path, language) for path in paths]
    written = []
    for language, pages in index.items():
        (out / language).mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(pages):
            written.append(out / language / one.name)
            text = _render(
                language,
                one.title,
                others=[other for other in languages if other != language],
                previous=pages[number - 1] if number else None,
                next=pages[number + 1] if number + 1 < len(pages) else None,
                **vars(one),
            )
            written[-1].write_text(text, encoding="utf-8")
    front = out / "index.html"
    first = index[languages[0]]
    hours, short_hours = (sum(times) / 60 for times in ([p.minutes for p in first], [p.short_minutes for p in first]))
    titles = sources.titles()
    more = {"index": index, "titles": titles, "about": ABOUT, "hours": hours, "short_hours": short_hours}
    front.write_text(_render("en", titles["en"], **more), encoding="utf-8")
    return [front, *written]


def page(path: Path, language: str) -> Page:
    """The page of an executed notebook."""
    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0]
    words = {} if language == sources.LANGUAGES[0] else wording.in_figures(sources.SOURCES / f"{path.stem}.py")
    pictures.show(notebook, language, words)
    numbers = touches.taken(notebook)
    content, short = body(notebook), _short(notebook)
    found = _HEADING.findall(content)
    headings = tuple(
        Heading(int(level), anchor, html.unescape(re.sub(r"<[^>]+>", "", text)).strip(), on_the_way)
        for (level, anchor, text), on_the_way in zip(found, short, strict=True)
    )
    minutes, short_minutes = (int(first.metadata.get(name, 0)) for name in ("minutes", "short_minutes"))
    names = tuple(dict.fromkeys(touch.MARKER.findall(content)))
    script = touch.script(sources.TOUCHES, names, numbers)
    content = _CODE.sub(lambda found: _folded(found[0], language), content)
    content = touch.MARKER.sub(lambda found: touch.figure(found[1]), content)
    return Page(f"{path.stem}.html", title(notebook), minutes, short_minutes, content, headings, script)


def _folded(code: str, language: str) -> str:
    """Code that draws a figure, behind a line to click on; other code as it is."""
    if _DRAWS not in code:
        return code
    summary = {"en": "The code of the figure", "zh": "画图的代码"}[language]
    return f'<details class="code"><summary>{summary}</summary>{code}</details>'


def _short(notebook: NotebookNode) -> list[bool]:
    """For each heading below the title, whether its cell is on the short way."""
    return [
        bool(cell.metadata.get("short"))
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL).splitlines()
        if re.match(r"#{2,3} ", line)
    ]


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
    text = _NO_HEAD.sub("<td></td>", text)
    return _LINK.sub(r'href="\1.html"', text)


def _set_aside(found: re.Match[str], mathematics: list[str]) -> str:
    """Turn a formula into MathML, append it to ``mathematics``, and return a placeholder that Markdown leaves alone."""
    if found["code"]:
        return found["code"]
    block = found["block"] is not None
    formula = convert(found["block"] if block else found["inline"], display="block" if block else "inline")
    wide = "formula" if block else "long" if len(found["inline"]) > LONG else ""  # scrolls where there is no room
    mathematics.append(f'<span class="{wide}">{formula}</span>' if wide else formula)
    return f"MATHEMATICS{len(mathematics) - 1}X"


@cache
def styles() -> str:
    """The style sheet, with the mathematical font and the colours of code for light and dark screens in it."""
    font = base64.b64encode((HERE / "fonts" / "stix-two-math.woff").read_bytes()).decode()
    sheet = (HERE / "handbook.css").read_text(encoding="utf-8").replace("FONT", font)
    light, dark = (HtmlFormatter(style=name).get_style_defs(".highlight pre") for name in ("xcode", "github-dark"))
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"
    return "\n".join([sheet, touch.styles(), light, dark, ".highlight pre { background: none; }"])


def _render(language: str, heading: str, **more: object) -> str:
    template = jinja2.Template(
        (HERE / "page.html.j2").read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True
    )
    named: Mapping[str, object] = {"language": language, "heading": html.escape(heading), "css": styles()}
    return str(template.render(**named, **more))

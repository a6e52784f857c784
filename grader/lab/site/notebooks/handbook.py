"""Renders executed notebooks as HTML pages that need no network, with exercises but without their solutions."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

import jinja2
import nbformat
from nbformat import NotebookNode

from grader.lab.site import markdown, touch

from . import publish, shown, sources, times, wording
from .execute import cleared
from .rules import MARKERS

HERE = Path(__file__).parent
NUMBERS = "application/vnd.touch+json"  # as `to_touch` in notebooks/source/figures.py writes it
# Whole sentences in parentheses, in Latin and in Chinese; a link has parentheses of its own.
_REMARKS = (
    re.compile(r"(?:(?<=[.:?!*]\s)|(?<=\n\n))(\()([A-Z\[`$][^()]*(?:\([^()]*\)[^()]*)*[.?!])(\))"),
    re.compile(r"(?<=[。：？！\n])(（)([^（）]*(?:（[^（）]*）[^（）]*)*。)(）)"),
)
TEMPLATE = """{% extends "basic/index.html.j2" %}
{% block input %}<div class="inner_cell">{{ cell.source | highlight_code }}</div>{% endblock %}"""
_INDENT = re.compile(r"((?:<[^>]*>)*)( *)(.*)")
_TITLE = re.compile(r"<h1 .*?</h1>", re.DOTALL)


@dataclass(frozen=True)
class Heading:
    """A heading of a page, with its anchor, and whether it is on the shortcut."""

    level: int
    id: str
    text: str
    short: bool


@dataclass(frozen=True)
class Page:
    """One notebook as a page.

    Attributes:
        name: The file's name.
        minutes: How long it takes, exercises included.
        short_minutes: How long its part of the shortcut takes.
        points: Those of all exercises together.
        emblem: The small picture beside the title, as SVG; may be empty.
        content: The cells below the title, as HTML.
        references: The works that it cites, with the link to each.
        figures: The names of its interactive figures.
        numbers: What its cells have passed to interactive figures, on this page or another.
    """

    name: str
    title: str
    minutes: int
    short_minutes: int
    points: float
    emblem: str
    content: str
    headings: tuple[Heading, ...]
    references: dict[str, str]
    figures: list[str]
    numbers: dict[str, object]


def write(executed: Path, out: Path, languages: Sequence[str], site: publish.Site | None = None) -> list[Path]:
    """Write a page for each executed notebook into a folder for each language, and an index; old content is deleted.

    On a ``site``, where the public reads them, pages have solutions; the course's pages have none.
    """
    shutil.rmtree(out, ignore_errors=True)
    fronts = {one: "index.html" if one == languages[0] else f"{one}/index.html" for one in languages}
    texts = dict.fromkeys(fronts.values(), "")  # the first pages come first
    for language in languages:
        paths = (executed / language / "executed").glob("*.ipynb")
        brief_first = sorted(paths, key=lambda path: (path.stem != sources.BRIEF, path.name))
        pages = [page(path, language, solved=site is not None) for path in brief_first]
        texts[fronts[language]] = _front(site, language, fronts, pages)
        numbers = _numbers(pages)
        for before, one, after in zip([None, *pages], pages, [*pages[1:], None], strict=False):
            twins = {other: f"{other}/{one.name}" for other in languages}
            texts[twins[language]] = _render(
                language,
                one.title,
                others=[other for other in languages if other != language],
                front=relpath(fronts[language], language),
                previous=before,
                next=after,
                exercises=exercises(one.headings),
                script=(HERE / "contents.js").read_text(encoding="utf-8") + _script(one.figures, numbers),
                **publish.public(site, language, twins, _finding(one, language)),
                **vars(one),
            )
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in texts]


def _front(site: publish.Site | None, language: str, fronts: Mapping[str, str], pages: Sequence[Page]) -> str:
    """A language's first page: what the whole is about, the way to the task, and a map of the pages."""
    front, cover, named = sources.front(), fronts[language], {page.name.removesuffix(".html"): page for page in pages}
    prose = nbformat.v4.new_markdown_cell(markdown.unbroken(front["about"][language]), id="front")
    about = body(nbformat.v4.new_notebook(cells=[prose]), language)
    return _render(
        language,
        front["title"][language],
        about=about,
        brief=named.get(sources.BRIEF),
        tool=named.get(sources.TOOL),
        pages=[page for stem, page in named.items() if stem != sources.BRIEF],
        way=_way(front, pages, language),
        findings={f"{stem}.html": finding[language] for stem, finding in front["findings"].items()},
        folder=f"{language}/".removeprefix(f"{dirname(cover)}/"),
        fronts={other: relpath(path, dirname(cover) or ".") for other, path in fronts.items() if other != language},
        **publish.public(site, language, fronts, publish.plain(about)),
        script=_script(touch.figures(about), _numbers(pages)),
    )


def _numbers(pages: Sequence[Page]) -> dict[str, object]:
    """What cells of all pages have passed to interactive figures."""
    return {figure: given for page in pages for figure, given in page.numbers.items()}


def _finding(one: Page, language: str) -> str:
    """What a page finds, or its first sentences."""
    return sources.front()["findings"].get(Path(one.name).stem, {}).get(language) or publish.plain(one.content)


def _way(front: Mapping[str, Any], pages: Sequence[Page], language: str) -> list[tuple[str, str, str, int]]:
    """For each step of the hour to the task: the address below the folder, the heading, what to do, and the minutes."""
    steps = []
    for step in front["way"]:
        if "notebook" not in step:
            steps.append(("", "", step["do"][language], step["minutes"]))
            continue
        page = next((page for page in pages if page.name == f"{step['notebook']}.html"), None)
        if page is None:
            return []  # a handbook of other notebooks
        heading = next(one for one in page.headings if one.text.startswith(step["heading"][language]))
        english = sources.read(sources.SOURCES / f"{step['notebook']}.py", sources.LANGUAGES[0])
        minutes = round(times.of_section(english, step["heading"][sources.LANGUAGES[0]]))
        steps.append((f"{page.name}#{heading.id}", heading.text, step["do"][language], minutes))
    return steps


def _script(figures: Sequence[str], numbers: Mapping[str, object]) -> str:
    """What brings a page's figures to life, with the numbers that these show."""
    return touch.script(sources.TOUCHES, figures, {name: numbers[name] for name in figures if name in numbers})


def page(path: Path, language: str, *, solved: bool = False) -> Page:
    """The page of an executed notebook; ``solved`` shows a solution to those who ask for it."""
    notebook = nbformat.read(path, as_version=4)
    words = {} if language == sources.LANGUAGES[0] else wording.in_figures(sources.SOURCES / f"{path.stem}.py")
    shown.show(notebook, language, words)
    numbers = _taken(notebook)
    content, cited = shown.with_cards(_TITLE.sub("", body(notebook, language, solved=solved), count=1))
    english = sources.read(sources.SOURCES / f"{path.stem}.py", sources.LANGUAGES[0])
    return Page(
        name=f"{path.stem}.html",
        title=notebook.cells[0].source.splitlines()[0].lstrip("# "),
        minutes=times.minutes(english),
        short_minutes=times.minutes(english, short=True),
        points=sum(times.points(english).values()),
        emblem=sources.emblem(path.stem),
        content=content,
        headings=tuple(_headings(notebook)),
        references=cited,
        figures=touch.figures(content),
        numbers=numbers,
    )


def _headings(notebook: NotebookNode) -> Iterator[Heading]:
    """The headings below the title."""
    for cell in notebook.cells:
        tokens = markdown.parser().parse(cell.source) if cell.cell_type == "markdown" else []
        for token, line in pairwise(tokens):
            if token.type == "heading_open" and token.tag in ("h2", "h3"):
                text = html.unescape(re.sub(r"<[^>]+>", "", markdown.html([line]))).strip()
                yield Heading(int(token.tag[1]), str(token.attrs["id"]), text, bool(cell.metadata.get("short")))


def _taken(notebook: NotebookNode) -> dict[str, object]:
    """Take the numbers for figures out of a notebook's outputs: the name of each figure with what it needs."""
    found: dict[str, object] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found |= output.get("data", {}).get(NUMBERS, {})
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if NUMBERS not in output.get("data", {})]
    return found


def exercises(headings: Sequence[Heading]) -> int:
    """How many exercises have a heading."""
    return sum(heading.text.startswith(("Exercise ", "练习 ")) for heading in headings)


def _code(highlighted: Callable[[str], str], language: str, source: str, **_metadata: object) -> str:
    """A cell's code, in which the rest of a long line is indented further than its beginning.

    Code that imports, draws a figure, checks an exercise or solves it is behind a line to click on.
    """
    opening, _, rest = highlighted(source.removeprefix(f"{times.SOLUTION}\n")).partition("<pre>")
    text, _, closing = rest.rpartition("</pre>")
    code = "".join([opening, "<pre>", *map(_line, text.splitlines()), "</pre>", closing])
    if kind := times.folded(source):
        return f'<details class="code"><summary>{shown.SAY(language, kind)}</summary>{code}</details>'
    return code


def _line(line: str) -> str:
    """A line of code, whose indent is given to the style sheet: as text, it would be a place to break the line."""
    tags, indent, rest = _INDENT.fullmatch(line).groups()  # type: ignore[union-attr]  # never None: all may be empty
    return f'<span class="line" style="--in:{len(indent)}">{tags}<span class="in">{indent}</span>{rest}\n</span>'


def body(notebook: NotebookNode, language: str, *, solved: bool = False) -> str:
    """A notebook's cells as HTML, as students get them, with the outputs of the solution, which ``solved`` shows."""
    from nbconvert import HTMLExporter  # takes seconds, as do the next two
    from nbconvert.filters import Highlight2HTML
    from nbgrader.preprocessors import ClearHiddenTests

    book, _ = ClearHiddenTests().preprocess(cleared(nbformat.from_dict(notebook)), {})
    if solved:
        book.cells = [part for pair in zip(book.cells, notebook.cells, strict=True) for part in _with_solution(*pair)]
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.metadata.get(sources.IN_HANDBOOK, cell.source)
    code = partial(_code, Highlight2HTML(pygments_lexer="ipython3"), language)
    exporter = HTMLExporter(raw_template=TEMPLATE, filters={"highlight_code": code, "markdown2html": _prose})
    text, _ = exporter.from_notebook_node(book)
    return markdown.finished(text)


def _prose(source: str) -> str:
    """Markdown as HTML, with marked remarks."""
    for remark in _REMARKS:
        source = remark.sub(r"<span class=aside><i>\1</i>\2<i>\3</i></span>", source)
    return markdown.html(markdown.parser().parse(source))


def _with_solution(cell: NotebookNode, solution: NotebookNode) -> list[NotebookNode]:
    """A cell as students get it, and after one to write in, a cell with the solution."""
    if not solution.metadata.get("nbgrader", {}).get("solution"):
        return [cell]
    lines = [line for line in solution.source.splitlines() if line.strip() not in MARKERS]
    return [cell, nbformat.v4.new_code_cell("\n".join([times.SOLUTION, *lines]), id=f"{cell.id}-solution")]


def _render(language: str, heading: str, **more: object) -> str:
    template = jinja2.Template(
        (HERE / "page.html.j2").read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True
    )
    sheet = (HERE / "handbook.css").read_text(encoding="utf-8").replace("FONT", markdown.font())
    css = f"{touch.styles()}\n{sheet}"
    return str(template.render(language=language, heading=html.escape(heading), css=css, **more))

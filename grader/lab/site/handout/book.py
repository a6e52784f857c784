"""Writes all pages of a language as one PDF with Typst, which pip can install on every system."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import typst
from markdown_it.tree import SyntaxTreeNode

from grader.lab.site import formulas

from .pages import Page

STYLE = Path(__file__).with_name("book.typ")
COVER = "figures/cover.svg"  # in the handout's source; the title page does without, too
CHINESE_FONTS = (
    "Noto Serif CJK SC",
    "Source Han Serif SC",
    "Songti SC",
    "SimSun",
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Zen Hei",
)


class NoFont(Exception):
    """No font has the characters of the language; the text names a font to install."""


def write(pages: Sequence[Page], out: Path, title: str, families: Sequence[str] | None = None) -> Path:
    """Write ``handout.pdf`` into ``out``.

    Args:
        pages: The pages, in order.
        out: An existing folder.
        title: The title on the first page.
        families: Names of the fonts to choose from; by default those of this machine.

    Raises:
        NoFont: If the pages are Chinese and no font has Chinese characters.
    """
    language = pages[0].language
    installed = typst.Fonts().families() if families is None else families
    chinese = [font for font in CHINESE_FONTS if font in installed]
    if language == "zh" and not chinese:
        raise NoFont("no Chinese font found; install one, such as Noto Serif CJK SC (Debian, Ubuntu: fonts-noto-cjk)")
    style = STYLE.read_text(encoding="utf-8")
    cover = pages[0].folder.parent / COVER
    picture = cover.read_text(encoding="utf-8") if cover.is_file() else ""
    settings = {"title": title, "lang": language, "chinese": chinese[:1], "cover": picture}
    book = "\n".join([style, f"#show: book.with(..json(bytes({_string(json.dumps(settings))})))", *map(source, pages)])
    path = out / "handout.pdf"
    path.write_bytes(typst.compile(book.encode()))
    return path


def source(page: Page) -> str:
    """A page as Typst source: function calls with all text in string literals, so that Typst finds no markup in it."""
    return f"#metadata(none) <{page.name}>\n{_Writer(page).inside(SyntaxTreeNode(page.tokens))}"


_string = partial(json.dumps, ensure_ascii=False)  # Typst's literals are JSON's


class _Writer:
    """Writes the nodes of one page's syntax tree; each method is named after its kind of node."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def inside(self, node: SyntaxTreeNode) -> str:
        return "".join(self.write(child) for child in node.children)

    def write(self, node: SyntaxTreeNode) -> str:
        if (wrapper := self.WRAPPERS.get(node.type)) is not None:
            return wrapper.format(self.inside(node))
        return self.WRITERS[node.type](self, node)

    def heading(self, node: SyntaxTreeNode) -> str:
        return f"#heading(level: {node.tag[1]})[{self.inside(node)}]\n"

    def paragraph(self, node: SyntaxTreeNode) -> str:
        """A paragraph; if it ends in a colon, there is no page break after it."""
        inside, follows = self.inside(node), node.next_sibling
        announces = follows and follows.type != "paragraph" and inside.rstrip('"').endswith((":", "\uff1a"))
        return f"\n#announcement[{inside}]\n\n" if announces else f"\n{inside}\n\n"

    def text(self, node: SyntaxTreeNode) -> str:
        return f"#{_string(node.content)}" if node.content else ""

    def code(self, node: SyntaxTreeNode) -> str:
        return f"#raw({_string(node.content)})"

    def fence(self, node: SyntaxTreeNode) -> str:
        language = '"python"' if node.info == "python" else "none"
        return f"#raw(block: true, lang: {language}, {_string(node.content.rstrip())})\n"

    def formula(self, node: SyntaxTreeNode) -> str:
        text = formulas.typst(node.content)
        return f"\n$ {text} $\n\n" if node.type != "math_inline" else f"${text}$"

    def image(self, node: SyntaxTreeNode) -> str:
        picture = (self.page.folder / str(node.attrs["src"])).read_text(encoding="utf-8")
        return f'#figure(image(bytes({_string(picture)}), format: "svg", width: 84%, alt: {_string(node.content)}))'

    def link(self, node: SyntaxTreeNode) -> str:
        target = str(node.attrs["href"])
        if local := re.match(r"(\w+)\.md", target):
            return f"#link(<{local[1]}>)[{self.inside(node)}]"
        return f"#link({_string(target)})[{self.inside(node)}]"

    def items(self, node: SyntaxTreeNode) -> str:
        if node.children[0].attrs.get("class") == "requirement":
            function = "checklist"
        else:
            function = "list" if node.type == "bullet_list" else "enum"
        return f"#{function}({', '.join(f'[{self.inside(item)}]' for item in node.children)})\n"

    def table(self, node: SyntaxTreeNode) -> str:
        rows = [row for part in node.children for row in part.children]
        cells = ", ".join(f"[{self.inside(cell)}]" for row in rows[1:] for cell in row.children)
        head = ", ".join(f"[{self.inside(cell)}]" for cell in rows[0].children)
        return f"#columns-of({len(rows[0].children)}, ({head},), ({cells},))\n"

    WRAPPERS = {  # noqa: RUF012  (never changed)
        "inline": "{}",
        "strong": "#strong[{}]",
        "em": "#emph[{}]",
        "softbreak": " ",
        "blockquote": "#quote(block: true)[{}]\n",
        "hr": "#line(length: 100%)\n",
        "html_block": "",  # paper shows the picture or the table before it
    }
    WRITERS: dict[str, Callable[[_Writer, SyntaxTreeNode], str]] = {  # noqa: RUF012  (never changed)
        "heading": heading,
        "paragraph": paragraph,
        "text": text,
        "code_inline": code,
        "fence": fence,
        "math_inline": formula,
        "math_inline_double": formula,
        "math_block": formula,
        "image": image,
        "link": link,
        "bullet_list": items,
        "ordered_list": items,
        "table": table,
    }

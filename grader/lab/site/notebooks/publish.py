"""What the handbook has beside its pages where the public reads it: addresses, dates, a preview, a citation, a feed.

Everything follows from the address of the site and from the repository that it is built in, so that the same commit
gives the same bytes. The course's handbook has none of it.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import nbformat

from grader import REPOSITORY

from . import sources
from .preview import preview

BRANCH = "gh-pages"  # where the workflow leaves the pages, and the notebooks that Colab opens
PREVIEW = "preview.png"
FEED = "feed.xml"
NOTEBOOKS = "notebooks"
_PAGES = re.compile(r"https://([\w-]+)\.github\.io/([\w.-]+)")
_FETCH = """# These pages' notebooks import a few modules that lie beside them.
from pathlib import Path
from urllib.request import urlretrieve

for name in {names}:
    if not Path(name).exists():
        urlretrieve("{folder}/" + name, name)"""


@dataclass(frozen=True)
class Change:
    """A commit that changed the notebooks."""

    commit: str
    date: str
    what: str


@dataclass(frozen=True)
class Site:
    """Where the pages are read.

    Attributes:
        address: Of the first page's folder, without a slash at the end.
    """

    address: str

    @property
    def repository(self) -> str:
        """The address of the repository, where the site's own names it; else empty."""
        found = _PAGES.fullmatch(self.address)
        return f"https://github.com/{found[1]}/{found[2]}" if found else ""

    def of(self, page: str) -> str:
        """The address of a page; that of an ``index.html`` ends with its folder."""
        return f"{self.address}/{page.removesuffix('index.html')}"

    def head(self, page: str, language: str, title: str, description: str, others: Mapping[str, str]) -> str:
        """The part of a page's head that a search engine, a feed reader or a preview reads.

        Args:
            page: Its path below the site.
            language: Its language.
            title: Its title.
            description: It in a sentence or two.
            others: The path of the same page in each other language.
        """
        here, dates = self.of(page), [change.date for change in changes()]
        tags = [("rel", "canonical", here), ("rel", "license", f"{self.address}/LICENSE")]
        lines = [f'<link {kind}="{name}" href="{html.escape(to)}">' for kind, name, to in tags]
        for other, path in {language: page, **others}.items():
            lines.append(f'<link rel="alternate" hreflang="{other}" href="{html.escape(self.of(path))}">')
        lines.append(f'<link rel="alternate" type="application/atom+xml" href="{self.address}/{FEED}">')
        properties = {"title": title, "description": description, "url": here, "type": "article", "locale": language}
        properties |= {"image": f"{self.address}/{PREVIEW}", "image:width": "1200", "image:height": "630"}
        lines.append(f'<meta name="description" content="{html.escape(description)}">')
        lines.append('<meta name="twitter:card" content="summary_large_image">')
        lines += [f'<meta property="og:{name}" content="{html.escape(said)}">' for name, said in properties.items()]
        if dates:
            lines.append(f'<meta property="article:published_time" content="{dates[-1]}">')
            lines.append(f'<meta property="article:modified_time" content="{dates[0]}">')
        return "\n".join(lines)

    def colab(self, language: str, stem: str) -> str:
        """The address that opens a notebook in Colab; empty if the site does not name a repository."""
        path = self.repository.removeprefix("https://github.com/")
        return (
            f"https://colab.research.google.com/github/{path}/blob/{BRANCH}/{NOTEBOOKS}/{language}/{stem}.ipynb"
            if path
            else ""
        )

    def edit(self, name: str) -> str:
        """The address at which a page's source is edited; empty if the site does not name a repository."""
        return f"{self.repository}/edit/main/notebooks/source/{name}" if self.repository else ""

    def citation(self, title: str) -> str:
        """The site as BibTeX knows it."""
        dated = changes()
        lines = [f"  title = {{{title}}},", f"  url = {{{self.address}/}},"]
        lines += [f"  year = {{{dated[0].date[:4]}}}," if dated else "", f"  author = {{{{{author()}}}}},"]
        return "\n".join(["@misc{position-encodings,", *filter(None, lines), "}"])


@cache
def changes() -> tuple[Change, ...]:
    """The commits that changed the notebooks, the newest first; none outside a repository."""
    told = subprocess.run(
        ["git", "log", "--format=%H%x09%cs%x09%s", "--", sources.ROOT.relative_to(REPOSITORY).as_posix()],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return tuple(Change(*line.split("\t", 2)) for line in told.stdout.splitlines()) if told.returncode == 0 else ()


def author() -> str:
    """Whom the licence names."""
    found = re.search(
        r"^Copyright \(c\) \d{4} (.+)$", (REPOSITORY / "LICENSE").read_text(encoding="utf-8"), re.MULTILINE
    )
    return found[1] if found else ""


def public(
    site: Site | None, languages: Sequence[str], language: str, page: str, title: str, description: str
) -> dict[str, object]:
    """What the template of a page needs where the public reads it; nothing without a site.

    Args:
        site: Where it is read.
        languages: All of them, the first one first.
        language: The page's.
        page: Its path, with ``{language}`` or ``{front}`` in the place of its folder.
        title: Its title.
        description: It in a sentence or two.
    """
    if site is None:
        return {}
    paths = {one: page.format(language=one, front="" if one == languages[0] else f"{one}/") for one in languages}
    stem, others = Path(paths[language]).stem, {one: path for one, path in paths.items() if one != language}
    walk = stem in {script.stem for script in sources.scripts()}
    return {
        "head": site.head(paths[language], language, title, description, others),
        "colab": site.colab(language, stem) if walk else "",
        "edit": site.edit("title.toml" if stem == "index" else f"{stem}.py"),
        "citation": site.citation(sources.front().title[languages[0]]),
        "dated": changes()[0].date if changes() else "",
        "licence": site.of("LICENSE"),
    }


def plain(content: str, longest: int = 200) -> str:
    """The first paragraph of HTML as plain text, cut after a word."""
    text = html.unescape(re.sub(r"<[^>]+>", "", re.split("</p>", content, maxsplit=1)[0]))
    return text.strip() if len(text) <= longest else text.strip()[:longest].rsplit(" ", 1)[0] + " …"


def write(site: Site, out: Path, pages: Sequence[str], title: str, released: Mapping[str, Path]) -> None:
    """Write what a site has beside its pages: map, feed, preview, licence, and the notebooks to open.

    Args:
        site: Where the pages are read.
        out: The folder of the pages.
        pages: Their paths below it.
        title: What the whole is called.
        released: For each language, the folder of the notebooks as students get them.
    """
    dated = changes()
    modified = f"<lastmod>{dated[0].date}</lastmod>" if dated else ""
    rows = "".join(f"<url><loc>{escape(site.of(page))}</loc>{modified}</url>\n" for page in pages)
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    texts = {"sitemap.xml": f'<urlset xmlns="{schema}">\n{rows}</urlset>\n', FEED: feed(site, title, dated)}
    for name, text in texts.items():
        (out / name).write_text(f'<?xml version="1.0" encoding="utf-8"?>\n{text}', encoding="utf-8")
    (out / PREVIEW).write_bytes(preview())
    (out / ".nojekyll").touch()
    (out / "LICENSE").write_bytes((REPOSITORY / "LICENSE").read_bytes())
    for language, folder in released.items():
        _notebooks(site, language, folder, out / NOTEBOOKS / language)


def feed(site: Site, title: str, dated: Sequence[Change]) -> str:
    """The latest changes, as a feed reader reads them."""
    entries = [
        f"<entry><id>{site.address}/#{change.commit}</id><title>{escape(change.what)}</title>"
        f'<updated>{change.date}T00:00:00Z</updated><link href="{escape(site.address)}/"/></entry>'
        for change in dated[:20]
    ]
    updated = f"<updated>{dated[0].date if dated else '1970-01-01'}T00:00:00Z</updated>"
    links = f'<link href="{site.address}/"/><link rel="self" href="{site.address}/{FEED}"/>'
    named = f"<id>{site.address}/</id><title>{escape(title)}</title><author><name>{escape(author())}</name></author>"
    return "\n".join(['<feed xmlns="http://www.w3.org/2005/Atom">', named, links, updated, *entries, "</feed>", ""])


def _notebooks(site: Site, language: str, folder: Path, out: Path) -> None:
    """Copy the notebooks that students get; each first fetches the modules that it imports."""
    out.mkdir(parents=True)
    names = [helper.name for helper in sources.helpers()]
    for name in names:
        (out / name).write_bytes((folder / name).read_bytes())
    fetch = _FETCH.format(names=json.dumps(names), folder=f"{site.address}/{NOTEBOOKS}/{language}")
    for path in sorted(folder.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(1, nbformat.v4.new_code_cell(fetch, id="fetch"))
        (out / path.name).write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")

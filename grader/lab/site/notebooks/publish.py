"""What the handbook has beside its pages where the public reads it: addresses, dates, a preview, a citation, a feed.

Everything follows from the address of the site and from the repository that it is built in, so that the same commit
gives the same bytes. The course's handbook has none of it.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import nbformat

from grader import REPOSITORY

from . import sources

BRANCH = "gh-pages"  # where the workflow leaves the pages, and the notebooks that Colab opens
NOTEBOOKS = "notebooks"
LONGEST = 200  # characters of a page's description
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
    """The address at which the pages are read: that of the first page's folder, without a slash at the end."""

    address: str

    @property
    def repository(self) -> str:
        """The address of the repository, where the site's own names it; else empty."""
        found = _PAGES.fullmatch(self.address)
        return f"https://github.com/{found[1]}/{found[2]}" if found else ""

    def of(self, page: str) -> str:
        """The address of a page; that of an ``index.html`` ends with its folder."""
        return f"{self.address}/{page.removesuffix('index.html')}"


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
    licence = (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    found = re.search(r"^Copyright \(c\) \d{4} (.+)$", licence, re.MULTILINE)
    return found[1] if found else ""


def public(site: Site | None, language: str, pages: Mapping[str, str], description: str) -> dict[str, object]:
    """What the template of a page needs where the public reads it; nothing without a site.

    ``pages`` has the paths of it and of its twins, by language; ``description`` says in a sentence or two what it is.
    """
    if site is None:
        return {}
    page = Path(pages[language])
    return {
        "site": site,
        "address": site.of(pages[language]),
        "twins": {one: site.of(pages[one]) for one in sorted(pages, key=lambda one: one != language)},
        "description": description,
        "notebook_path": "" if page.stem == "index" else f"{BRANCH}/{NOTEBOOKS}/{page.with_suffix('.ipynb')}",
        "source": "title.toml" if page.stem == "index" else f"{page.stem}.py",
        "whole": sources.front()["title"][sources.LANGUAGES[0]],
        "changes": changes(),
        "author": author(),
    }


def plain(content: str) -> str:
    """The first paragraph of HTML as plain text, cut after a word."""
    text = html.unescape(re.sub(r"<[^>]+>", "", content.partition("</p>")[0])).strip()
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"


def write(site: Site, out: Path, pages: Sequence[Path], released: Mapping[str, Path]) -> None:
    """Write what a site has beside its pages: map, feed, preview, licence, and the released notebooks by language."""
    names, title = [page.relative_to(out).as_posix() for page in pages], sources.front()["title"][sources.LANGUAGES[0]]
    told = {"site": site, "pages": names, "title": title, "changes": changes(), "author": author()}
    for name in ("sitemap.xml", "feed.xml"):
        template = (Path(__file__).parent / f"{name}.j2").read_text(encoding="utf-8")
        text = jinja2.Template(template, autoescape=True, keep_trailing_newline=True).render(**told)
        (out / name).write_text(text, encoding="utf-8")
    for path in (sources.SOURCES / "preview.png", REPOSITORY / "LICENSE"):
        shutil.copyfile(path, out / path.name)
    (out / ".nojekyll").touch()
    for language, folder in released.items():
        _notebooks(site, language, folder, out / NOTEBOOKS / language)


def _notebooks(site: Site, language: str, folder: Path, out: Path) -> None:
    """Copy the notebooks that students get; each first fetches the modules that it imports."""
    out.mkdir(parents=True)
    names = [helper.name for helper in sources.helpers()]
    for name in names:
        shutil.copyfile(folder / name, out / name)
    fetch = _FETCH.format(names=json.dumps(names), folder=f"{site.address}/{NOTEBOOKS}/{language}")
    for path in sorted(folder.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(1, nbformat.v4.new_code_cell(fetch, id="fetch"))
        (out / path.name).write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")

"""Figures of the handbook that can be touched, driven by keyboard in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

import nbformat

from grader.tools.notebooks import handbook, sources
from grader.tools.touch import MARKER

from .browser import Tab, chromium, needs_axe, needs_browser
from .small_notebook import NAME, reference, small_walkthrough

pytestmark = [pytest.mark.process, pytest.mark.slow]

TOUCHES = sorted(path.stem for path in sources.TOUCHES.glob("*.js"))
TOLD = "document.querySelector('[data-touch={0}] .told').textContent"


def test_every_figure_to_touch_is_in_a_notebook_in_both_languages() -> None:
    marked = [name for script in sources.scripts() for name in MARKER.findall(script.read_text(encoding="utf-8"))]
    assert sorted(marked) == sorted(TOUCHES * len(sources.LANGUAGES))


@pytest.fixture(scope="module", name="book")
def _book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A handbook of the small notebook, with every figure to touch."""
    folder = tmp_path_factory.mktemp("book")
    with small_walkthrough(folder / "source"):
        for language in sources.LANGUAGES:
            notebook = reference()
            notebook.cells[0].source += "".join(f"\n\n<!-- touch: {name} -->" for name in TOUCHES)
            path = folder / "build" / language / "executed" / f"{NAME}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(nbformat.writes(notebook), encoding="utf-8")
        handbook.write(folder / "build", folder / "book", sources.LANGUAGES)
    return folder / "book"


@pytest.fixture(scope="module", name="tab")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield Tab(driver)


@pytest.fixture(name="page")
def _page(book: Path) -> Path:
    return book / "en" / f"{NAME}.html"


@needs_browser
def test_clock_hands_follow_m_and_n(tab: Tab, page: Path) -> None:
    tab.open(page)
    told = TOLD.format("clock")
    assert tab.evaluate(told).startswith("m − n = 7:")
    tab.focus("[aria-label='position m of the query']")
    tab.press("ARROW_RIGHT", 3)
    tab.wait_for(f"{told}.startsWith('m − n = 10:')")
    before = tab.evaluate(told)
    tab.focus("[data-touch=clock] input[type=checkbox]")
    tab.press(" ")
    tab.focus("[aria-label='position n of the key']")
    tab.press("PAGE_UP", 2)
    tab.wait_for("document.activeElement.getAttribute('aria-valuenow') === '25'")
    assert tab.evaluate(told) == before, "Moved together, the angles between the hands stay."
    tab.press("END")
    assert tab.evaluate("document.activeElement.getAttribute('aria-valuenow')") == "40"


@needs_browser
def test_wavelengths_follow_method_and_sliders(tab: Tab, page: Path) -> None:
    tab.open(page)
    told = TOLD.format("wavelengths")
    assert "18 of 64 pairs" in tab.evaluate(told)
    assert "nothing new up to 4,096 positions, with 32,768 wanted" in tab.evaluate(told)
    tab.focus("[data-touch=wavelengths] select")
    tab.press("ARROW_DOWN")
    tab.wait_for(f"{told}.includes('PI: nothing new up to 32,768')")
    tab.press("ARROW_DOWN")
    tab.wait_for(f"{told}.includes('NTK: nothing new up to 18,696')")
    tab.focus("[data-touch=wavelengths] input")
    tab.press("HOME")
    tab.wait_for(f"!{told}.includes('18 of 64')")


@needs_browser
def test_a_cache_goes_stale_and_is_mended(tab: Tab, page: Path) -> None:
    tab.open(page)
    told = TOLD.format("stale")
    assert tab.evaluate(told).startswith("4 tokens")
    assert "up to 0°" in tab.evaluate(told)
    tab.focus("[data-touch=stale] button:nth-of-type(2)")
    tab.press("ENTER", 4)
    tab.wait_for(f"{told}.startsWith('8 tokens') && !{told}.includes('up to 0°')")
    tab.focus("[data-touch=stale] input")
    tab.press(" ")
    tab.wait_for(f"{told}.includes('up to 0°')")


@needs_axe
@needs_browser
def test_axe_finds_nothing(tab: Tab, book: Path) -> None:
    for page in sorted(book.rglob("*.html")):
        for width, dark in ((1200, False), (375, True)):
            tab.open(page, width=width, dark=dark)
            assert tab.violations() == [], page


@needs_browser
def test_every_control_is_reached_by_tab(tab: Tab, page: Path) -> None:
    tab.open(page)
    controls = "[data-touch] :is(button, input, select, [tabindex='0'])"
    wanted = tab.evaluate(f'document.querySelectorAll("{controls}").length')
    reached = 0
    for _ in range(40):
        tab.press("TAB")
        reached += bool(tab.evaluate(f'document.activeElement.matches("{controls}")'))
    assert reached >= wanted > 10


@needs_browser
def test_pages_fit_a_phone_and_follow_a_dark_screen(tab: Tab, book: Path) -> None:
    for language in sources.LANGUAGES:
        page = book / language / f"{NAME}.html"
        tab.open(page, width=375, dark=True)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    assert "对" in tab.evaluate(TOLD.format("wavelengths"))


@needs_browser
def test_without_scripts_nothing_is_shown_where_nothing_can_be_touched(tab: Tab, book: Path) -> None:
    tab.open(book / "en" / f"{NAME}.html", scripts=False)
    shown = "[...document.querySelectorAll('.touch')].map((one) => getComputedStyle(one).display)"
    assert tab.evaluate(shown) == ["none"] * len(TOUCHES)

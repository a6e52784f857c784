"""How the handbook's pages look in a real browser: on screens of any width, in the dark, and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_output

from grader.lab.site.notebooks import handbook, sources
from grader.selftest import LONG
from grader.selftest.browser import Tab
from grader.selftest.small_handbook import NUMBERS, STORY
from grader.selftest.small_notebook import NAME, executed

INK = "rgb(31, 35, 40)"
# What the figures of the real notebooks show, as if their cells had been run: the story goes as far as theirs does.
GIVEN = NUMBERS | {"story": {"trained": 64, "edges": [0, 64, 256, 512], "theta": [1.0, 0.1], "methods": STORY}}


@pytest.fixture(scope="module")
def prose(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pages of the real notebooks, which have not been run; without ``GRADER_LONG=1`` every fourth, in one language."""
    folder = tmp_path_factory.mktemp("prose")
    pages = [(language, script) for language in sources.LANGUAGES for script in sorted(sources.pages())]
    for language, script in pages[:: 1 if LONG else 4]:
        notebook = sources.read(script, language)
        numbers = new_output("display_data", {handbook.NUMBERS: GIVEN})
        notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        notebook.cells.append(new_code_cell("# run", outputs=[numbers]))
        executed(folder, language, notebook, script.stem)
    written = handbook.write(folder, folder / "book", sources.LANGUAGES)
    return [page for page in written if page.name != "index.html"]


pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_pages_fit_a_phone_and_follow_a_dark_screen(tab: Tab, book: Path) -> None:
    for language in sources.LANGUAGES:
        page = book / language / f"{NAME}.html"
        tab.open(page, width=375, dark=True)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    assert "对" in tab.evaluate("document.querySelector('[data-touch=wavelengths] .told').textContent")


def test_punctuation_stays_in_the_line_of_its_formula_at_any_width(view: Tab) -> None:
    apart = """[...document.querySelectorAll('main :is(math, .sets)')].flatMap((formula) => {
      const line = (node, range = new Range()) => (range.selectNode(node), range.getBoundingClientRect());
      const beside = [formula.previousSibling, formula.nextSibling].filter((one) => /^[(),;.!]+$/.test(one?.data));
      return beside.filter((one) => line(one).top > line(formula).bottom || line(one).bottom < line(formula).top)
        .map((one) => one.data);
    })"""
    for width in range(330, 1200, 30):
        view.resize(width)
        assert view.evaluate(apart) == [], width


def test_no_formula_or_table_of_the_notebooks_is_cut_on_a_wide_screen(tab: Tab, prose: list[Path]) -> None:
    wide = """[...document.querySelectorAll('main :is(.formula, table, pre)')]
      .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent.trim())"""
    for page in prose:
        tab.open(page)
        tab.wait_for("!document.querySelector('math') || document.fonts.check('1em \"Handbook Math\"')")
        assert tab.evaluate(wide) == [], page


def test_code_goes_on_below_and_what_is_wider_than_the_screen_says_so_until_its_end(tab: Tab, page: Path) -> None:
    tab.open(page, width=375)
    lines = "[...document.querySelectorAll('.line')]"
    assert tab.evaluate(f"{lines}.every((one) => one.scrollWidth <= one.clientWidth)")
    heights = tab.evaluate(f"{lines}.map((one) => one.clientHeight)")
    assert max(heights) > 1.5 * min(heights), "A line is too long for one."
    assert tab.evaluate("((one) => one.scrollWidth <= one.clientWidth)(document.querySelector('.output_area pre'))")
    wide = "document.querySelector('.output_area table')"
    marks = f"((one) => [one.classList.contains('more'), one.tabIndex])({wide})"
    tab.wait_for(f"{marks}.join() === 'true,0'")
    tab.evaluate(f"{wide}.scrollLeft = 9999")
    tab.wait_for(f"!{marks}[0]")
    tab.evaluate(f"{wide}.scrollLeft = 0")
    tab.wait_for(f"{marks}[0]")
    tab.resize(1200)
    tab.wait_for(f"{marks}.join() === 'false,-1'")


def test_a_work_shows_where_the_keyboard_rests_on_its_link_if_there_is_room(tab: Tab, page: Path) -> None:
    shown = "getComputedStyle(document.querySelector('.card')).display"
    for width, resting in ((1200, "block"), (375, "none")):
        tab.open(page, width=width)
        assert tab.evaluate(shown) == "none"
        tab.focus(".cite a")
        assert tab.evaluate(shown) == resting


def test_on_paper_nothing_is_dark_or_cut_or_waits_for_a_touch_or_leads_nowhere(tab: Tab, book: Path) -> None:
    for language in sources.LANGUAGES:
        tab.open(book / language / f"{NAME}.html", width=700, dark=True, medium="print")
        colours = "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
        assert tab.evaluate(colours) == [INK, "rgb(255, 255, 255)"]
        assert tab.evaluate(
            "[...document.querySelectorAll('.controls, .tick, .hint, nav')].every((one) => !one.offsetParent)"
        )
        assert tab.evaluate("[...document.querySelectorAll('.touch .told')].every((one) => one.offsetParent)")
        said = "getComputedStyle(document.querySelector({!r}), '::after').content"
        assert "example.org" in tab.evaluate(said.format("main a[href*=example]"))
        assert tab.evaluate(said.format(".cite a")) == "none"
        assert "arXiv:2104.09864v5" in tab.evaluate("document.querySelector('.references').innerText")
        cut = "((one) => { one.append('wide '.repeat(99)); return one.scrollWidth - one.clientWidth; })"
        assert tab.evaluate(f"{cut}(document.querySelector('pre'))") <= 0
        style = "(({color, textDecorationLine}) => [color, textDecorationLine])"  # what sets a figure is words there
        assert tab.evaluate(f"{style}(getComputedStyle(document.querySelector('.sets')))") == [INK, "none"]


# Presses every button of a page that sets a figure; gives what its figure then shows otherwise than asked.
PRESS = """[...document.querySelectorAll('[data-sets]')].flatMap((button) => {
  button.click();
  const [name, asked] = button.dataset.sets.split('?'), figure = document.querySelector(`[data-touch="${name}"]`);
  const told = figure.querySelector('.told').textContent;
  const shown = { checkbox: ({ checked }) => (checked ? 'yes' : 'no'), 'select-one': ({ value }) => value,
    range: ({ nextSibling }) => nextSibling.textContent.replaceAll(/[,°]/g, '') };
  return [...new URLSearchParams(asked)].flatMap(([name, value]) => {
    const control = figure.querySelector(`[data-control="${name}"]`);
    const now = shown[control.type]?.(control) ?? control.ariaValueNow ?? told.match(value)?.[0];
    return now === value ? [] : [`${button.dataset.sets}: ${name} is ${now}`];
  });
})"""


def test_all_words_that_set_a_figure_find_its_controls_and_what_they_ask_for(tab: Tab, prose: list[Path]) -> None:
    for page in prose:
        tab.open(page)
        assert tab.evaluate("document.querySelectorAll('button.sets').length") >= 2, page
        assert tab.evaluate(PRESS) == [], page
    tab.open(next(page for page in prose if page.match("en/4_*")))
    tab.evaluate("document.querySelector('.sets').dataset.sets = 'walk?distance=5'")  # but it sets what it was made for
    assert tab.evaluate(PRESS) == ["walk?distance=5: distance is 10"]

"""The handout's figures that can be touched and examples that can be edited, driven by keyboard in a real browser."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.core.rubric import LANGUAGES
from grader.lab.site.handout.pages import read
from grader.selftest import LONG
from grader.selftest.browser import Tab, needs_axe
from ref.modeling import GroupRMSNorm, NTKAwareRoPE

SOURCE = ASSIGNMENT.root / "handout"
FIGURES = sorted(path.stem for path in (SOURCE / "touch").glob("*.js"))
CONTROLS = "main :is(button, input, select)"
TABLES = """[...document.querySelectorAll("main table")].map((table) => [...table.rows].map((row) =>
  [...row.cells].map((cell) => [...cell.childNodes].map((one) => one.matches?.("input") ? one.value : one.textContent)
    .join("").trim())))"""
TOLD = "document.querySelector('[data-touch={0}] .told').textContent"

FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_every_figure_to_touch_is_in_a_page_once() -> None:
    for language in LANGUAGES:
        touches = [name for page in read(language, ASSIGNMENT.rubric, SOURCE) for name in page.touches]
        assert sorted(touches) == FIGURES


def pages(rendered: Path) -> list[Path]:
    """Every page of a task, in turn in one language and the other; with ``GRADER_LONG=1`` in both."""
    every = [rendered / language / f"{task.id}.html" for task in ASSIGNMENT.rubric.tasks for language in LANGUAGES]
    return every if LONG else [*every[::4], *every[3::4]]


def row(tab: Tab, table: int, number: int) -> list[str]:
    cells: list[str] = tab.evaluate(TABLES)[table][number][1:]
    return cells


def test_without_scripts_picture_and_table_stand_there_alone(tab: Tab, rendered: Path) -> None:
    for page in pages(rendered):
        tab.open(page, scripts=False)
        shown = "[...document.querySelectorAll('.touch')].map((one) => getComputedStyle(one).display)"
        assert set(tab.evaluate(shown)) == {"none"}
        assert tab.evaluate("document.querySelectorAll('main svg').length") >= 1
        assert tab.evaluate(f"document.querySelectorAll('{CONTROLS}').length") == 0


def test_scripts_compute_what_the_text_says(tab: Tab, rendered: Path) -> None:
    for page in pages(rendered):
        tab.open(page, scripts=False)
        printed = tab.evaluate(TABLES)
        tab.open(page)
        assert tab.evaluate("document.querySelectorAll('main .number').length") >= 2, page
        assert tab.evaluate(TABLES) == printed, page


@pytest.mark.parametrize("width", [375, 1200])
def test_pages_fit_and_every_control_is_reached_by_tab(tab: Tab, rendered: Path, width: int) -> None:
    for page in pages(rendered):
        tab.open(page, width=width, dark=width == 375)
        assert tab.evaluate(FITS), page
        wanted = tab.evaluate(f"document.querySelectorAll('{CONTROLS}').length")
        tab.evaluate("window.reached = new Set()")
        tab.evaluate("document.addEventListener('focusin', ({ target }) => reached.add(target))")
        tab.press("TAB", wanted + 40)
        tab.wait_for(f"[...document.querySelectorAll('{CONTROLS}')].every((one) => reached.has(one))")
        named = (
            "[...document.querySelectorAll('main :is(input, select)')].every((one) => one.ariaLabel || one.labels[0])"
        )
        assert tab.evaluate(named)


@needs_axe
def test_axe_finds_nothing(tab: Tab, rendered: Path) -> None:
    for page in sorted(rendered.rglob("*.html")):
        for width, dark in ((1200, False), (375, True)):
            tab.open(page, width=width, dark=dark)
            assert tab.violations() == [], page


def test_groups_share_a_root(tab: Tab, rendered: Path) -> None:
    tab.open(rendered / "en" / "task1.html")
    told = TOLD.format("groups")
    assert "3 groups" in tab.evaluate(told)
    assert "its group's root 2.24" in tab.evaluate(told)
    tab.press("END", at="[data-touch=groups] label + label input")
    tab.wait_for(f"{told}.includes('Feature 4 is 20')")
    root = math.sqrt((20**2 + 1 + 1 + 9) / 4)
    assert f"comes out as {1 / root:.2f}" in tab.evaluate(told)
    tab.press("HOME", at="[data-touch=groups] input")
    tab.wait_for(f"{told}.includes('12 groups') && {told}.includes('alone in its group')")


def test_borders_of_a_shard_move(tab: Tab, rendered: Path) -> None:
    tab.open(rendered / "en" / "task3.html")
    told = TOLD.format("shard")
    assert tab.evaluate(told) == "Rank 1 of 3 owns ids 4 to 7. Asked for id 5, it answers with row 1 of its shard."
    tab.press("ARROW_RIGHT", at="[data-touch=shard] input")
    tab.wait_for(f"{told}.startsWith('Rank 1 of 4 owns ids 3 to 5.') && {told}.includes('row 2 of')")
    tab.press("END", at="[data-touch=shard] label:nth-of-type(2) input")
    tab.wait_for(f"{told} === 'Rank 3 of 4 owns ids 9 to 11. Asked for id 5, it answers zero; rank 1 has that row.'")
    tab.press("HOME", at="[data-touch=shard] input")
    tab.wait_for(f"{told}.startsWith('Rank 0 of 1 owns ids 0 to 11.')")
    assert tab.evaluate("document.querySelectorAll('[data-touch=shard] .mine').length") == 12


def test_a_pair_turns_and_wavelengths_stretch(tab: Tab, rendered: Path) -> None:
    tab.open(rendered / "zh" / "task4.html")
    turned, stretched = TOLD.format("turn"), TOLD.format("stretch")
    tab.press("ARROW_RIGHT", 4, at="[data-touch=turn] input")
    tab.press("ARROW_RIGHT", at="[data-touch=turn] label:nth-of-type(2) input")
    angle = 6 * 100 ** (-2 / 8)
    tab.wait_for(f"{turned}.includes('({math.cos(angle):.2f}, {math.sin(angle):.2f})')")
    tab.press("END", at="[data-touch=stretch] input")
    rope = NTKAwareRoPE(dim=16, max_seq_len=2, base=10000, ratio=16)
    longest = 2 * math.pi / math.asin(rope.sin[1, 7].item())
    tab.wait_for(f"{stretched}.startsWith('k = 16：')")
    told = int(tab.evaluate(f"{stretched}.match(/变为 ([\\d,]+) 个/)[1]").replace(",", ""))
    assert told == pytest.approx(longest, rel=1e-4)
    assert "16.00 倍" in tab.evaluate(stretched)


def test_an_edited_norm_is_what_the_reference_computes(tab: Tab, rendered: Path) -> None:
    tab.open(rendered / "en" / "task1.html")
    tab.press("ARROW_UP", 3, at="[aria-label='x, feature 2']")
    tab.press("ARROW_DOWN", 2, at="[aria-label='\u03b3, feature 3']")
    tab.press("ARROW_DOWN", at="[data-touch=norm_example] select")
    tab.wait_for(f"{TOLD.format('norm_example')}.startsWith('gz = 4, so 1 root:')")
    norm = GroupRMSNorm(hidden_size=4, group_size=4, eps=24)
    with torch.no_grad():
        norm.gamma.copy_(torch.tensor([7.0, 2, 10, 3]))
    expected = norm(torch.tensor([[[1.0, 7, 4, -1]]])).flatten().tolist()
    assert [float(cell) for cell in row(tab, 0, 7)] == pytest.approx(expected, rel=1e-3)


def test_edited_ids_are_looked_up_and_refused_outside_the_table(tab: Tab, rendered: Path) -> None:
    tab.open(rendered / "en" / "task2.html")
    tab.press("ARROW_DOWN", 2, at="[data-touch=lookup_example] input")  # the ids are 1, 1, 3 now
    tab.wait_for(f"{TOLD.format('lookup_example')} === 'The output is [[[2, 3], [2, 3], [-4, 6]]].'")
    assert [cells[-1] for cells in tab.evaluate(TABLES)[0][1:]] == ["0, 0", "3, 1", "0, 0", "4, 5"]
    tab.open(rendered / "en" / "task3.html")
    tab.press("ARROW_DOWN", 2, at="[aria-label='id 1 of 4']")
    assert row(tab, 0, 2)[1] == "3, 30"
    tab.press("BACKSPACE")
    tab.press("7")
    told = TOLD.format("shard_example")
    tab.wait_for(f"{told} === 'id 1 of 4: a whole number from 0 to 5 is needed.'")
    assert tab.evaluate("document.querySelector('table').matches('.behind')")
    tab.press("ENTER", at="[data-touch=shard_example] button")
    tab.wait_for(f"{told} === 'Nothing to say about this sentence: rank 1.'")
    assert row(tab, 0, 0) == ["owns", "id 4", "id 1", "id 5", "id 0"]


def test_edited_examples_of_task_4(tab: Tab, rendered: Path) -> None:
    tab.open(rendered / "en" / "task4.html")
    tab.press("ARROW_UP", 4, at="[aria-label='feature 0']")
    tab.wait_for(f"{TOLD.format('turn_example')} === 'The output is [0.6, -0.8, 5.8, 4.4].'")
    tab.press("ARROW_DOWN", 3, at="[aria-label=k]")
    tab.wait_for(f"{TOLD.format('stretch_example')}.endsWith('= 64.')")
    assert row(tab, 1, 2) == row(tab, 1, 1)

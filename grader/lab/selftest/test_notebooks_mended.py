"""What the notebooks once said wrongly, and no check of a cell can find: it is not said again, in either language."""

from __future__ import annotations

import re
from functools import cache

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

from grader.lab.site.notebooks import sources

# A pattern, and a sentence of the kind that it finds.
WRONG = {
    "linear is proved, not supposed": (r"[Ss]uppose[^.]* linear|(?:假)?设 \$f\$ 是?线性", "Suppose $f$ is linear."),
    "a bias is proved under assumptions": (r"random key is the rule", "The random key is the rule."),
    "PI is section 2.3": (r"2306\.15595\w*\)?,? (?:\(?section )?3\.2", "[PI](a/2306.15595v2), 3.2"),
    "issue 1429 is about two settings": (r"1429[^.]*(?:square|平方)", "(Megatron-LM#1429 says: squared.)"),
    "at most, not below": (r"largest power of two below", "Let $P$ be the largest power of two below $H$."),
    "no type of scaling is called ntk": (r"type[\"'`]?: [\"'`]ntk[\"'`]", '`{"rope_type": "ntk"}`'),
    "a loss is no test of DroPE": (r"DroPE(?:'s claim does not| 的说法没有)", "DroPE's claim does not replicate."),
    "retrieval can be shown": (
        r"cannot be\s+shown at this size|在这个规模上无法证明",
        "That cannot be shown at this size.",
    ),
    "s times as many are no s times more": (r"多了 ?\$?[\w,]+\$? ?倍", "键多了 $s$ 倍。"),
    "the first loss does not grow with the base": (
        r"smallest base (?:that gets beyond|without such)|base above the bound|能越过它的\s?最小底数",
        "Take a base above the bound.",
    ),
    "Gemma 4 reads what its makers say": (r"Gemma 4\"?[^.]* 131_072", '"Gemma 4": (512, None, 131_072'),
    "a needle is compared with itself": (
        r"leaves the needle about a fifth|只有五分之一左右",
        "leaves the needle about a fifth",
    ),
    "a pair is no right answer": (r"(?:[慢快]|静止|会转)的对(?![数称比应齐话])", "让慢的对停下来。"),
    "axial is not what Heo et al. propose": (
        r"axial[^.]*\s?form\s+that \[Heo|研究的“轴向”形式",
        "the “axial” form that [Heo",
    ),
    "frequencies are in no checkpoint": (r"inv_freq[^.]* (?:saved|stored) in", "`inv_freq` is stored in checkpoints."),
}


# What the sources of the assignment say, and a link or a correction must be found for, in both languages.
SAID = {
    "the letters of the programs": r"c_\\kappa = \\kappa",
    "the stairs of Task 4": r"\*\*(?:Task 4|任务 4)\*\*",
    "which rule counts as wrong": r"(?:here it counts as wrong|在这里它算错)",
    "ChatGLM pairs neighbours": r"ChatGLM3 (?:pair neighbours|是相邻配对)",
    "Falcon's RW models": r"(?:Only its RW models|只有它的 RW 模型)",
    "invariance in keys": r"(?:\*invariant\*|\*不变\*)",
    "where the sinusoids come from": r"kexue\.fm/archives/8231",
    "the first account of RoPE": r"kexue\.fm/archives/8265",
    "base beta": r"kexue\.fm/archives/9675",
    "log n by entropy": r"kexue\.fm/archives/8823",
    "the first NTK post": r"LocalLLaMA/comments/14lz7j5",
}


@pytest.mark.parametrize("pattern", SAID.values(), ids=SAID)
@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_what_the_sources_say_is_told(language: str, pattern: str) -> None:
    books = [sources.read(script, language) for script in sources.scripts()]
    assert any(re.search(pattern, " ".join(cell.source.split())) for one in books for cell in one.cells)


@cache
def prose() -> str:
    """What all notebooks say, in both languages, with single spaces."""
    notebooks = [sources.read(script, language) for script in sources.pages() for language in sources.LANGUAGES]
    return " ".join(" ".join(cell.source.split()) for one in notebooks for cell in one.cells)


@pytest.mark.parametrize(("pattern", "example"), WRONG.values(), ids=WRONG)
def test_what_was_mended_is_not_said_again(pattern: str, example: str) -> None:
    assert re.search(pattern, example)
    assert re.search(pattern, prose()) is None

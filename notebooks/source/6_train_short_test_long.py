# %% [markdown] lang="en"
# # 6 · Train short, test long
#
# Here we train five small language models that differ in **nothing but the position code**, on 64 characters at a time,
# and read up to 512. Then the RoPE model gets every scaling of notebook 5, without further training; and at last we ask
# which of them can find what is far back.
#
# All of it takes about two minutes on one idle thread; the text is Python's own manual.

# %% [markdown] lang="zh"
# # 6 · 短训练，长测试
#
# 这一节真的动手训练五个小语言模型，**除了位置编码，其余完全相同**：训
# 练时每次只读 64 个字符，测试时最多读 512 个。之后，再让 RoPE 模型用上第 5 节的各种缩放，不再训练。最后再问：谁能把远
# 处的东西再找出来？
#
# 机器空闲时，单线程跑完全部内容大约两分钟；文本是 Python 自带的手册。

# %%
import base64
import math
from functools import partial
from itertools import pairwise
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    headline,
    look,
    name_lines,
    shade_beyond,
    show_table,
    to_touch,
    use_style,
)
from given import frequencies, share_kept
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

torch.set_num_threads(1)
use_style()

SEEDS = (0, 1, 2)  # every model is trained three times
TRAINED, LONGEST = 64, 512  # characters in a window, when training and when testing
LENGTHS = (64, 128, 256, 512)

# %% [markdown] lang="en"
# ## The text
#
# What `help("yield")` shows comes from `pydoc_data.topics`. Our tokens are its characters. Some topics repeat paragraphs of
# others; we keep each once, or a part of the test would have been in the training. The last tenth is held out.

# %% [markdown] lang="zh"
# ## 文本
#
# `help("yield")` 显示的内容来自 `pydoc_data.topics`。我们的 token 就是单个字符。有些主题会重复别的主题里的段落；
# 每个段落只保留一份，否则一部分测试内容就混进了训练内容。最后十分之一留作测试。

# %%
paragraphs = dict.fromkeys(paragraph for topic in topics.values() for paragraph in topic.split("\n\n"))
text = "\n\n".join(paragraphs)
alphabet = sorted(set(text))
number_of = {letter: number for number, letter in enumerate(alphabet)}
tokens = torch.tensor([number_of[letter] for letter in text])

cut = 9 * len(tokens) // 10
train_tokens, test_tokens = tokens[:cut], tokens[cut:]
windows = test_tokens[: 48 * (LONGEST + 1)].view(48, LONGEST + 1)[::2]  # each: 512 characters, and one to predict
print(f"{len(text):,} characters, {len(alphabet)} different ones; {windows.numel():,} of them for the test")

# %% [markdown] lang="en"
# ## Five codes, three places
#
# *Sinusoidal* and *learned* codes are added to the embedding $z_p$
# of the token at position $p$; *RoPE* turns queries and keys; *ALiBi* adds $-\rho_h\,(m - n)$ to the score of query $m$
# and key $n$, with $\rho_h = 2^{-8h/H}$ in head $h = 1 \dots H$ ([Press et al.,
# 3](https://arxiv.org/abs/2108.12409v2)); *NoPE* has the causal mask alone. For RoPE, $d$ is the size of a head. Ours
# is 16, so $\theta_i = 10^{-i/2}$: eight pairs.
#
# A learned table ends with its last row: asked for position 64, it raises an `IndexError`. To have anything to
# measure, we give it 512 rows, of which training reaches the first 64.

# %% [markdown] lang="zh"
# ## 五种编码，三个位置
#
# *正弦*（sinusoidal）和*可学习*（learned）的编码，加到位置 $p$ 上 token 的嵌入 $z_p$ 上；
# *RoPE* 旋转查询和键；*ALiBi* 给查询 $m$ 与键 $n$ 的得分加上 $-\rho_h\,(m - n)$，头 $h = 1 \dots H$ 的 $\rho_h = 2^{-8h/H}$
# （[Press 等，第 3 节](https://arxiv.org/abs/2108.12409v2)）；*NoPE* 只有因果掩码。对 RoPE 来说，$d$ 是一个头的大小。我们取 16，
# 于是 $\theta_i = 10^{-i/2}$，共八对。
#
# 可学习的表到最后一行就没有了：向它要第 64 个位置，只会得到 `IndexError`。为了能测出点什么，我们给它 512 行，训练只
# 碰得到前 64 行。

# %%
WIDTH, HEADS = 64, 4
HEAD_DIM = WIDTH // HEADS


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs (i, i + d/2) of [..., n, d]; the first half of sin comes with a minus."""
    return x * cos + x.roll(HEAD_DIM // 2, dims=-1) * sin


class Block(nn.Module):
    """Causal attention, then an MLP, each with a norm before it and a residual around it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH, bias=False)
        )

    def forward(self, z: Tensor, turn, bias: Tensor | None) -> Tensor:
        """[batch, n, WIDTH] to the same; queries and keys go through turn, and bias is added to the scores."""
        query, key, value = (
            self.project(self.attention_norm(z)).unflatten(-1, (3, HEADS, HEAD_DIM)).permute(2, 0, 3, 1, 4)
        )
        mixed = scaled_dot_product_attention(turn(query), turn(key), value, attn_mask=bias, is_causal=bias is None)
        z = z + self.output(mixed.transpose(1, 2).flatten(2))  # [batch, heads, n, d] to [batch, n, WIDTH]
        return z + self.mlp(self.mlp_norm(z))


class Reader(nn.Module):
    """Two blocks, and the position code by name."""

    def __init__(self, code: str, letters: int) -> None:
        super().__init__()
        self.code = code
        self.letters = nn.Embedding(letters, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, letters, bias=False)
        self.rows = nn.Embedding(LONGEST, WIDTH)  # only "learned" reads it; made last, so all start alike

    def forward(self, tokens: Tensor, theta: Tensor | None = None, window: int | None = None) -> Tensor:
        """Logits of the next character: [batch, n] to [batch, n, letters]. RoPE alone minds the settings."""
        position = torch.arange(tokens.shape[1])
        back = position[:, None] - position  # [n, n], m - n
        z, turn, bias = self.letters(tokens), nn.Identity(), None
        if self.code == "learned":
            z = z + self.rows(position)
        elif self.code == "sinusoidal":
            angle = torch.outer(position, frequencies(WIDTH).float())
            z = z + torch.cat([angle.sin(), angle.cos()], dim=-1)
        elif self.code == "ALiBi":
            slopes = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256])
            bias = (slopes.view(-1, 1, 1) * -back).masked_fill(back < 0, -torch.inf)  # the mask as well
        elif self.code == "RoPE":
            angle = torch.outer(position, frequencies(HEAD_DIM).float() if theta is None else theta)
            cos, sin = angle.cos().repeat(1, 2), torch.cat([-angle.sin(), angle.sin()], dim=-1)
            turn = partial(rotate, cos=cos, sin=sin)
            if window:  # only the last ones are seen, the query's own included
                bias = torch.zeros(back.shape).masked_fill(~((back >= 0) & (back < window)), -torch.inf)
        for block in self.blocks:
            z = block(z, turn, bias)
        return self.head(self.norm(z))


# %% [markdown] lang="en"
# ## Training
#
# With the same seed, all five start from the same weights, see the same batches in the same order, and take the same
# 280 steps. The loss is the cross-entropy of the next character, $-\ln P(\text{what came next})$, in nats (natural
# logarithms). Guessing blindly among about a hundred characters costs $\ln 100 \approx 4.6$.

# %% [markdown] lang="zh"
# ## 训练
#
# 种子相同时，五个模型从同样的权重出发，按同样的次序看同样的批次，都走 280 步。
# 损失是下一个字符的交叉熵 $-\ln P(\text{实际出现的字符})$，单位是 nat（用自然对数）。在大约一百个字符里瞎猜，损失是 $\ln 100 \approx 4.6$。


# %%
def next_character(model: Reader, generator: torch.Generator, length: int, batch: int, **scaling) -> Tensor:
    """The loss on a batch of random windows of length characters."""
    start = torch.randint(len(train_tokens) - length, (batch, 1), generator=generator)
    window = train_tokens[start + torch.arange(length + 1)]
    return cross_entropy(model(window[:, :-1], **scaling).flatten(0, 1), window[:, 1:].flatten())


def fit(model: Reader, seed: int, loss_of, steps: int, rate: float, **setting) -> Reader:
    """The model itself, after training on the loss of steps batches."""
    generator = torch.Generator().manual_seed(seed)  # for the batches
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99), fused=True)
    for step in range(steps):
        warm, cool = min(1, (step + 1) / 20), (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.param_groups[0]["lr"] = rate * warm * cool
        loss = loss_of(model, generator, **setting)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def train(code: str, seed: int) -> Reader:
    """A reader after training on windows of TRAINED characters."""
    torch.manual_seed(seed)  # for the weights
    model = Reader(code, len(alphabet))
    return fit(model, seed, next_character, steps=280, rate=1e-2, length=TRAINED, batch=8)


assert (280 * 8 * TRAINED, round(math.log(100), 1)) == (143_360, 4.6)  # what the text says
CODES = ("NoPE", "sinusoidal", "learned", "ALiBi", "RoPE")
models = {code: [train(code, seed) for seed in SEEDS] for code in CODES}

# %% [markdown] lang="en"
# ## One number is not enough
#
# "The loss at length 512 is 2.3" hides *where* the model fails, so we keep the loss of
# each position. With $W$ windows, and $x^{(w)}_p$ the character at position $p$ of window $w$:
#
# $$
# \ell_p = \frac1W \sum_{w=1}^{W} -\ln P\bigl(x^{(w)}_{p+1} \mid x^{(w)}_0, \dots, x^{(w)}_p\bigr) .
# $$
#
# The model gives logits $a_1, \dots, a_V$ for the $V$ characters, and
# $P(y) = e^{a_y} / \sum_{y'} e^{a_{y'}}$.

# %% [markdown] lang="zh"
# ## 只报一个数不够
#
# “长度 512 时损失是 2.3”：这样一平均，就看不出模型是*在哪里*出错的，所以我们把每个位置的损失都留下来。设
# 有 $W$ 个窗口，$x^{(w)}_p$ 是第 $w$ 个窗口里位置 $p$ 上的字符：
#
# $$
# \ell_p = \frac1W \sum_{w=1}^{W} -\ln P\bigl(x^{(w)}_{p+1} \mid x^{(w)}_0, \dots, x^{(w)}_p\bigr) .
# $$
#
# 模型对 $V$ 个字符各给出一个 logit，$a_1, \dots, a_V$，概率是 $P(y) = e^{a_y} / \sum_{y'} e^{a_{y'}}$。

# %% [markdown] lang="en"
# ### Exercise 6.1 · The loss at each position (2 points)
#
# Write `loss_by_position`. Take logarithms *before* averaging over the windows, and let a library function such as
# `torch.log_softmax` do it: $e^{1000}$ does not fit into a float, and a probability may be rounded to 0,
# whose logarithm is $-\infty$.
#
# Hint: Three steps: log-probabilities over the letters, then of each position the one of its target, then the mean
# over the windows. Mind the minus.
#
# Hint: For the second step `gather` helps. It wants an index with as many dimensions as there are in what it picks from:
# the targets lack one.

# %% [markdown] lang="zh"
# ### 练习 6.1 · 每个位置的损失（2 分）
#
# 写出 `loss_by_position`。要*先*取对数，再对窗口求平均；取对数请交给 `torch.log_softmax` 这样的库函数：
# $e^{1000}$ 超出了浮点数的范围，而概率又可能舍入成 0，0 的对数是 $-\infty$。
#
# 提示：三步：先对各个字符取对数概率，再在每个位置挑出目标的那一个，最后对窗口求平均。别忘了负号。
#
# 提示：第二步可以用 `gather`。下标的维数要与被挑选的张量相同：targets 还少一维。


# %% nbgrader={"grade_id": "loss_by_position", "solution": true}
def loss_by_position(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean loss at each position, over the windows, in nats: [n].

    Args:
        logits: [windows, n, letters]; logits[w, p] predict targets[w, p].
        targets: [windows, n], dtype long.
    """
    ### BEGIN SOLUTION
    log_probability = torch.log_softmax(logits, dim=-1)
    return -log_probability.gather(-1, targets[:, :, None]).squeeze(-1).mean(dim=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "loss_by_position_laws", "grade": true, "points": 2}
with quiet():
    losses = loss_by_position(torch.zeros(3, 5, 7), torch.zeros(3, 5, dtype=torch.long))
    assert losses.shape == (5,), "One loss comes out for each of the n positions."
    torch.testing.assert_close(losses, torch.full((5,), math.log(7)), msg="Seven equal logits: P = 1/7, loss ln 7.")
    logits = torch.tensor([[[1 / 2, 1 / 2]], [[1 / 8, 7 / 8]]]).log()
    losses = loss_by_position(logits, torch.tensor([[0], [0]]))
    expected = torch.tensor([math.log(4)])
    torch.testing.assert_close(losses, expected, msg="P = 1/2 and 1/8 in two windows: (ln 2 + ln 8) / 2 = ln 4.")
    sure = loss_by_position(torch.tensor([[[500.0, 0.0]]]), torch.tensor([[1]]))
    torch.testing.assert_close(sure, torch.tensor([500.0]), msg="P = e^-500 is 0 in a float, its logarithm is -500.")
    ### BEGIN HIDDEN TESTS
    generator = torch.Generator().manual_seed(1)
    logits, targets = torch.randn(6, 4, 9, generator=generator), torch.randint(9, (6, 4), generator=generator)
    kept, losses = logits.clone(), loss_by_position(logits, targets)
    assert losses.shape == (4,), "One loss comes out for each of the n positions."
    assert (losses > 0).all(), "No probability exceeds 1, so no loss is negative."
    by_hand = torch.stack(
        [(logits[:, p].exp().sum(-1).log() - logits[range(6), p, targets[:, p]]).mean() for p in range(4)]
    )
    torch.testing.assert_close(losses, by_hand, msg="At p: the mean of ln(sum of exp(a)) - a[target].")
    raised = loss_by_position(logits + 3, targets)
    torch.testing.assert_close(raised, losses, msg="A constant on all logits changes no probability.")
    order = torch.tensor([2, 0, 3, 1])
    turned = loss_by_position(logits[:, order], targets[:, order])
    torch.testing.assert_close(turned, losses[order], msg="Each position is scored by itself.")
    sure = loss_by_position(torch.tensor([[[1000.0, 0.0]]]), torch.tensor([[1]]))
    torch.testing.assert_close(sure, torch.tensor([1000.0]), msg="Sure and wrong: the loss is 1000, not infinity.")
    assert torch.equal(logits, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# Our models are causal, so one pass over 512
# characters measures every length: the loss in windows of length $n$ is the mean of the first $n$ losses of the long
# pass.

# %% [markdown] lang="zh"
# 我们的模型是因果的，所以读一遍 512 个字符，各种长度就都测到了：窗口长度为 $n$ 时的损失，就是这条曲线开头 $n$ 个值的平均。


# %%
@torch.no_grad()
def read(model: Reader, first: int = 0, last: int = LONGEST, **scaling) -> Tensor:
    """The loss at each position when only characters first .. last-1 of each test window are read: [last - first]."""
    curves = [
        loss_by_position(model(part[:, first:last], **scaling), part[:, first + 1 : last + 1])
        for part in windows.split(8)
    ]
    return torch.stack(curves).mean(dim=0)


def read_all(trained: list[Reader], **scaling) -> Tensor:
    """The curve of each seed's model: [seeds, LONGEST]."""
    return torch.stack([read(model, **scaling) for model in trained])


curves = {code: read_all(trained) for code, trained in models.items()}
for code, (model, *_) in models.items():
    gap = (read(model, last=TRAINED) - curves[code][0, :TRAINED]).abs().max()
    assert gap < 1e-3, "A causal model does not know what comes later."
    print(f"{code:>11}: one long pass and a short one differ by at most {gap:.0e}")

# %%
EDGES = [0, 1, 2, 4, 8, 16, 64, 128, 192, 256, 320, 384, 448, 512]
MIDDLES = [math.sqrt((low + 1) * high) for low, high in pairwise(EDGES)]


def binned(curves: Tensor) -> Tensor:
    """Curves [seeds, n], averaged between the edges, since single positions are noisy: [seeds, bins]."""
    return torch.stack([curves[:, low:high].mean(1) for low, high in pairwise(EDGES)], dim=1)


def loss_at(curves: Tensor, length: int) -> Tensor:
    """The mean loss in windows of a length: [seeds]."""
    return curves[:, :length].mean(1)


def past(curves: Tensor, first: int = 256) -> Tensor:
    """The mean loss from position first on: [seeds]."""
    return curves[:, first:].mean(1)


def draw(axes: plt.Axes, curves: dict[str, Tensor]) -> None:
    """The curves over the position: mean and range of the seeds, with the length of training marked."""
    for name, each in curves.items():
        (colour, dashes, marker), bins = look(name), binned(each)
        axes.fill_between(MIDDLES, bins.amin(0), bins.amax(0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(MIDDLES, bins.mean(0), color=colour, linestyle=dashes, marker=marker, markersize=3.5, label=name)
    shade_beyond(axes, TRAINED, LONGEST, "beyond training")
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 4, 16, 64, 128, 256, 512], ["1", "4", "16", "64", "128", "256", "512"])
    axes.set(xlabel="characters read so far", ylabel="loss, nats per character", xlim=(1, LONGEST), ylim=(1.7, 3.05))


figure, axes = plt.subplots(figsize=(5.2, 3.4))
draw(axes, curves)
far = {code: past(curves[code]).mean().item() for code in CODES}
near = {code: loss_at(curves[code], TRAINED).mean().item() for code in CODES}
finding = f"RoPE leads in its window ({near['RoPE']:.2f}, ALiBi {near['ALiBi']:.2f}), is lost beyond"
headline(figure, f"{finding}\n({far['RoPE']:.2f} to {far['ALiBi']:.2f})")
name_lines(axes)
plt.show()


# %%
def table(title: str, rows: dict[str, Tensor]) -> None:
    """Show the mean loss over the seeds, and how far the farthest seed is from it."""
    values = {name: [loss_at(each, length) for length in LENGTHS] for name, each in rows.items()}
    shown = {
        name: [f"{c.mean():.2f} ± {(c - c.mean()).abs().max():.2f}" for c in each] for name, each in values.items()
    }
    show_table(title, [f"{length}" for length in LENGTHS], shown)


table("Loss, nats per character, in windows of ... characters; ± the farthest of three seeds", curves)

# %% [markdown] lang="en" short=true
# Lines are means over three seeds and bands reach from the lowest seed to the highest, here and in all figures below.
# (Bumps that all curves share are the text's.)
#
# ## What may we conclude?
#
# A claim that flips with the seed is no claim. What cells assert holds for each of the three.

# %% [markdown] lang="zh" short=true
# 这里和下面各图里，线是三个种子的平均，色带从最低的种子到最高的种子。（各条曲线共有的起伏出自文本。）
#
# ## 能得出什么结论？
#
# 换个种子就不成立的说法，不能算结论。各格里断言的，对三个种子逐个成立。

# %%
short, long = ({code: loss_at(curves[code], length) for code in CODES} for length in (TRAINED, LONGEST))
for code in CODES:
    assert code == "RoPE" or (short["RoPE"] < short[code]).all(), "RoPE is best within its window."
    assert code == "ALiBi" or (long["ALiBi"] < long[code]).all(), "ALiBi is best at eight times the length."
assert (long["RoPE"] > short["RoPE"] + 0.1).all(), "RoPE by itself does not carry over."
assert (long["ALiBi"] < short["ALiBi"] + 0.05).all(), "ALiBi loses nothing."
assert (short["learned"] > short["RoPE"] + 0.3).all(), "In its window RoPE leads a learned table by more than 0.3."
assert (past(curves["NoPE"]) < past(curves["RoPE"])).all(), "Far beyond the window NoPE is better than RoPE."
print("All six hold for each of the three seeds.")

# %% [markdown] lang="en" short=true
# ## Which pairs break it?
#
# The hypothesis of notebook 5: RoPE fails beyond its window because of the **slow** pairs, which never made a full
# turn in training and come to new angles. Ours are the pairs 3 to 7; the **fast** ones, 0 to 2, have seen the whole
# circle. To test a cause is to take it away, and nothing else.
#
# **Clamp** the distance that a pair sees. A clamped pair takes $D = 63$, the largest distance within 64 characters, for every
# distance beyond it, so it meets no angle that training did not show; the other pairs see the true one:
#
# $$
# S_{mn} = \frac{1}{\sqrt d}\, \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^*\, e^{\mathrm{j} \theta_i \Delta_i}, \qquad
# \Delta_i = \begin{cases} \min(\Delta, D) & \text{pair } i \text{ is clamped} \\ \Delta & \text{otherwise.} \end{cases}
# $$
#
# ([Su's ReRoPE](https://kexue.fm/archives/9708) clamps all pairs.)
#
# **Predict first.** The trained model will be read four times: with no pair clamped, the slow ones, the fast ones,
# and all. Which will be as good beyond the window as within it? What would prove the hypothesis wrong?

# %% [markdown] lang="zh" short=true
# ## 是哪些特征对坏了事？
#
# 第 5 节的假设是：RoPE 在窗口之外失灵，原因在**低频对**，它们在训练中没有转满过一圈，于是碰到了新的角度。在我们这里，
# 就是第 3 到第 7 对；**高频对**是第 0 到第 2 对，它们见过整个圆。检验一个原因，就是把它拿掉，别的都不动。
#
# 把一对所看到的距离**截住**。64 个字符之内，最大的距离是 $D = 63$；被截住的特征对，凡是更远的距离都当作 $D$，不会碰到训练
# 没见过的角度；其余的特征对看到的是真实的距离：
#
# $$
# S_{mn} = \frac{1}{\sqrt d}\, \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^*\, e^{\mathrm{j} \theta_i \Delta_i}, \qquad
# \Delta_i = \begin{cases} \min(\Delta, D) & \text{第 } i \text{ 对被截住} \\ \Delta & \text{否则。} \end{cases}
# $$
#
# （[苏剑林的 ReRoPE](https://kexue.fm/archives/9708) 把所有的特征对都截住。）
#
# **先预测**：训练好的模型要读四遍：一对也不截、只截低频对、只截高频对、全都截。哪一种在窗口之外会和窗口之内一样好？发生了什么，就说明假设错了？

# %% [markdown] lang="en"
# ### Exercise 6.2 · Clamp the distance (3 points)
#
# Write `clamped_angles`: for each distance the angle $\theta_i \Delta_i$ of each pair. Clamp the distance at $D$, and so the
# angle at $D\,\theta_i$, not at $D$.
#
# Hint: Think of two tables with a row for each distance: one as it is, one clamped at $D$. Each pair takes its column from
# one or the other.
#
# Hint: `torch.where` chooses by a mask. The mask is `[d/2]`; with distances of `[n, 1]`, `[n, d/2]` comes out.

# %% [markdown] lang="zh"
# ### 练习 6.2 · 把距离截住（3 分）
#
# 写出 `clamped_angles`：对每个距离，给出每一对的角度 $\theta_i \Delta_i$。截住的是距离，止于 $D$；角度于是止于
# $D\,\theta_i$，而不是 $D$。
#
# 提示：设想两张表，都是每个距离一行：一张照原样，一张截到 $D$。每一对从其中一张取自己的那一列。
#
# 提示：`torch.where` 按掩码选择。掩码是 `[d/2]`；距离若是 `[n, 1]`，选出来的就是 `[n, d/2]`。


# %% nbgrader={"grade_id": "clamped_angles", "solution": true}
def clamped_angles(distances: Tensor, theta: Tensor, clamped: Tensor, limit: int) -> Tensor:
    """The angle of each pair at each distance: [n, d/2].

    Args:
        distances: [n], whole numbers, at least 0.
        theta: [d/2], radians per position.
        clamped: [d/2], bool: whether the pair takes the limit for every distance beyond it.
        limit: D.
    """
    ### BEGIN SOLUTION
    far = distances[:, None]
    return torch.where(clamped, far.clamp(max=limit), far) * theta
    ### END SOLUTION


# %% nbgrader={"grade_id": "clamped_angles_laws", "grade": true, "points": 3}
with quiet():
    speeds, second = torch.tensor([1.0, 0.5]), torch.tensor([False, True])
    angles = clamped_angles(torch.tensor([0, 1, 2, 7]), speeds, second, 2)
    assert angles.shape == (4, 2), "A row for each distance, a column for each pair."
    by_hand = torch.tensor([[0, 0], [1, 0.5], [2, 1], [7, 1]])
    torch.testing.assert_close(angles, by_hand, msg="Limit 2: at distance 7 pair 0 turns by 7, pair 1 by 2 times 1/2.")
    ### BEGIN HIDDEN TESTS
    distances, speeds = torch.arange(40), torch.tensor([1.0, 0.3, 0.02])
    for pattern in ([False] * 3, [True] * 3, [True, False, True]):
        clamped = torch.tensor(pattern)
        angles = clamped_angles(distances, speeds, clamped, 7)
        free = torch.outer(distances.float(), speeds)
        torch.testing.assert_close(angles[:8], free[:8], msg="Up to the limit nothing is clamped.")
        torch.testing.assert_close(angles[:, ~clamped], free[:, ~clamped], msg="The other pairs see the true distance.")
        stuck = free[7, clamped].expand(32, -1)
        torch.testing.assert_close(angles[8:, clamped], stuck, msg="Beyond the limit a clamped pair turns no further.")
    assert torch.equal(distances, torch.arange(40)), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS


# %%
def scores_by_distance(query: Tensor, key: Tensor, angles: Tensor) -> Tensor:
    """Scores [..., n, n] of queries and keys [..., n, d] that are not rotated, if pair i turns by angles[distance, i]."""
    position = torch.arange(query.shape[-2])
    back = (position[:, None] - position).clamp(min=0)  # what lies ahead is masked later
    scores = torch.zeros(*query.shape[:-1], len(position))
    for i in range(HEAD_DIM // 2):
        q, k = (x[..., [i, i + HEAD_DIM // 2]] for x in (query, key))
        turned = torch.stack([k[..., 1], -k[..., 0]], dim=-1)
        cos, sin = angles[:, i].cos()[back], angles[:, i].sin()[back]
        scores.addcmul_(q @ k.mT, cos).addcmul_(q @ turned.mT, sin)  # real part of q k* exp(j angle)
    return scores / HEAD_DIM**0.5


@torch.no_grad()
def by_distance(model: Reader, tokens: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    """Logits, if pairs turn by angles[distance, pair], and the weights of attention: [blocks, batch, heads, n, n]."""
    n = tokens.shape[1]
    z, attention, ahead = model.letters(tokens), [], torch.ones(n, n, dtype=torch.bool).triu(1)
    for block in model.blocks:
        heads = block.project(block.attention_norm(z)).unflatten(-1, (3, HEADS, HEAD_DIM))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        attention.append(scores_by_distance(query, key, angles).masked_fill(ahead, -torch.inf).softmax(-1))
        z = z + block.output((attention[-1] @ value).transpose(1, 2).flatten(2))
        z = z + block.mlp(block.mlp_norm(z))
    return model.head(model.norm(z)), torch.stack(attention)


def read_by_distance(model: Reader, angles: Tensor) -> tuple[Tensor, Tensor]:
    """The loss at each position of sixteen windows, and the mean weights over them: [blocks, heads, n, n]."""
    curves, attention = [], torch.zeros(())
    for part in windows[:16].split(4):
        logits, weights = by_distance(model, part[:, :-1], angles)
        curves.append(loss_by_position(logits, part[:, 1:]))
        attention = attention + weights.mean(1) / 4  # four parts
    return torch.stack(curves).mean(dim=0), attention


theta = frequencies(HEAD_DIM).float()
slow = TRAINED * theta < 2 * math.pi  # less than a turn within the window
new = 128 * theta % (2 * math.pi) > (TRAINED - 1) * theta  # at distance 128, beyond the arc of the window
assert torch.equal(new, slow)  # what the text says
settings = {"none": slow & ~slow, "slow pairs": slow, "fast pairs": ~slow, "all pairs": slow | ~slow}
readings = {
    name: [
        read_by_distance(model, clamped_angles(torch.arange(LONGEST), theta, clamped, TRAINED - 1))
        for model in models["RoPE"]
    ]
    for name, clamped in settings.items()
}
clamps, attention = (
    {name: torch.stack([reading[part] for reading in each]) for name, each in readings.items()} for part in (0, 1)
)
inside = {name: each[:, :TRAINED].mean(1) for name, each in clamps.items()}
beyond = {name: past(each, TRAINED) for name, each in clamps.items()}
with torch.no_grad():
    usual = loss_by_position(models["RoPE"][0](windows[:16, :-1]), windows[:16, 1:])
assert torch.allclose(clamps["none"][0], usual, atol=1e-3), "Nothing clamped: the angles are the usual ones."
assert TRAINED - 1 == 63
show_table(
    "Loss, nats per character, by the pairs whose distance is clamped (mean of three seeds)",
    ["within the window", "beyond it"],
    {name: [f"{side[name].mean():.2f}" for side in (inside, beyond)] for name in clamps},
)

within = inside["none"]
assert (beyond["none"] > within + 0.2).all(), "As trained, RoPE fails beyond its window."
assert (beyond["slow pairs"] < within + 0.1).all(), "With the slow pairs clamped it reads as well as within."
assert (beyond["fast pairs"] > beyond["none"] - 0.1).all(), "To clamp the fast pairs cures nothing."
assert (beyond["slow pairs"] < beyond["all pairs"] + 0.05).all(), "To clamp the fast pairs as well gains nothing."

figure, axes = plt.subplots(figsize=(5.2, 3.2))
draw(axes, clamps)
axes.set_ylim(1.7, 3.4)
for line, name in zip(axes.get_lines(), clamps, strict=True):
    line.set_label("nothing clamped" if name == "none" else f"{name} clamped")
lost = {name: each.mean().item() for name, each in beyond.items()}
finding = f"Beyond the window: {lost['none']:.2f}; slow pairs clamped, {lost['slow pairs']:.2f}"
headline(figure, f"{finding};\nfast pairs clamped, {lost['fast pairs']:.2f}")
name_lines(axes)
plt.show()

# %% [markdown] lang="en"
# Was it as you predicted? Clamp the slow pairs, and the failure is gone, although the fast ones still see every
# distance as it is. Clamp the fast pairs, and nothing is cured. So this model fails beyond its window *because slow pairs
# come to new angles*.
#
# ## Where do the heads look?
#
# If a strange angle gives a far key a high score, the softmax takes weight from the keys near by. So take the last 64
# queries, from position 448 on, and ask of each head how much it looks at each distance.

# %% [markdown] lang="zh"
# 和你的预测一样吗？截住低频对，失灵就消失了，尽管高频对看到的仍是真实的距离。截住高频对，什么也没治好。
# 可见这个模型在窗口之外失灵，*原因是低频对转到了新的角度*。
#
# ## 各个头在看哪里？
#
# 如果一个陌生的角度让远处的键得了高分，softmax 就从近处的键那里拿走权重。所以取最后 64 个查
# 询，即从位置 448 起，问每个头：它在每个距离上看多少？

# %% [markdown] lang="en"
# ### Exercise 6.3 · How far a head looks (2 points)
#
# Write `weight_at_distances`. Row $m$ of the weights holds what query $m$ gives to each key $n$, so distance
# $\Delta = m - n$ lies on a diagonal. Only queries from `first` on count: each of them has a key at every distance from 0
# to `first`.
#
# Hint: `diagonal` takes an offset, negative below the main one; `dim1` and `dim2` have to say that the last two dimensions
# are meant.
#
# Hint: The diagonal at distance $\Delta$ begins with query number $\Delta$, the first that has a key so far back. How
# many of its entries come before query number `first`?


# %% [markdown] lang="zh"
# ### 练习 6.3 · 一个头看多远（2 分）
#
# 写出 `weight_at_distances`。权重的第 $m$ 行是查询 $m$ 分给各个键 $n$ 的权重，所以距离 $\Delta = m - n$ 在一条对角线上。
# 只算从 `first` 起的查询：它们在 0 到 `first` 的每个距离上都有键。
#
# 提示：`diagonal` 有一个偏移参数，主对角线下方为负；要用 `dim1` 和 `dim2` 说明指的是最后两维。
#
# 提示：距离 $\Delta$ 的对角线从第 $\Delta$ 个查询开始，它是第一个往回这么远还有键的查询。在查询 `first` 之前，这条对
# 角线上有几个元素？


# %% nbgrader={"grade_id": "weight_at_distances", "solution": true}
def weight_at_distances(weights: Tensor, first: int) -> Tensor:
    """The mean weight that the queries from first on give to the key at each distance 0 .. first: [..., first + 1].

    Args:
        weights: [..., n, n], causal: weights[..., m, n] is 0 for n > m.
        first: The first query that counts, less than n.
    """
    ### BEGIN SOLUTION
    back = [weights.diagonal(-distance, dim1=-2, dim2=-1)[..., first - distance :] for distance in range(first + 1)]
    return torch.stack([each.mean(-1) for each in back], dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "weight_at_distances_laws", "grade": true, "points": 2}
with quiet():
    weights = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    looks = weight_at_distances(weights, 1)
    assert looks.shape == (2,), "One mean comes out for each of the distances 0 and 1."
    by_hand = torch.tensor([(0.5 + 0.5) / 2, (0.5 + 0.3) / 2])
    torch.testing.assert_close(looks, by_hand, msg="Queries 1 and 2: 0.5, 0.5 for themselves; 0.5, 0.3 one back.")
    looks = weight_at_distances(weights, 2)
    torch.testing.assert_close(looks, torch.tensor([0.5, 0.3, 0.2]), msg="Query 2 alone: its row, read backwards.")
    ### BEGIN HIDDEN TESTS
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(2, 3, 9, 9, generator=generator).masked_fill(torch.ones(9, 9).triu(1) == 1, -torch.inf)
    weights = scores.softmax(-1)
    kept = weights.clone()
    for first in (0, 4, 8):
        looks = weight_at_distances(weights, first)
        assert looks.shape == (2, 3, first + 1), "Leading dimensions stay: one row for each head."
        for distance in range(first + 1):
            picked = torch.stack([weights[..., m, m - distance] for m in range(first, 9)]).mean(0)
            torch.testing.assert_close(looks[..., distance], picked, msg="At each distance: the mean over the queries.")
    assert torch.equal(weights, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %%
FIRST = 448  # the first of the last 64 queries
assert LONGEST - FIRST == 64  # what the text says
looks = {name: weight_at_distances(weights, FIRST) for name, weights in attention.items()}  # of [seed, block, head]
shares = {name: seen[:, 1, :, TRAINED:].sum(-1).mean(1) for name, seen in looks.items()}  # [seeds]
assert (shares["none"] > shares["slow pairs"] + 0.2).all(), (
    "With the slow pairs clamped, the second block looks less far."
)
assert (shares["fast pairs"] > shares["slow pairs"] + 0.2).all(), "With the fast pairs clamped it does not."
far = {name: share.mean().item() for name, share in shares.items()}
assert (abs(1 - shares["slow pairs"] - 5 / 6) < 0.05).all(), "With slow pairs clamped, five sixths stay in the window."

edges = [*range(16), *(round(16 * 2 ** (step / 6)) for step in range(29)), FIRST + 1]
means = {  # between the edges: [blocks, heads, bins], of the first seed
    name: torch.stack([seen[0, :, :, low:high].mean(-1) for low, high in pairwise(edges)], -1)
    for name, seen in looks.items()
}

figure, panels = plt.subplots(1, 2, figsize=(5.2, 2.6), sharey=True)
for axes, (name, title) in zip(panels, {"none": "as trained", "slow pairs": "slow pairs clamped"}.items(), strict=True):
    each = looks[name][0, 1].cumsum(-1)
    for head, (seen, colour) in enumerate(zip(each, (BLUE, VERMILION, GREEN, BLACK), strict=True), 1):
        axes.plot(range(1, FIRST + 1), seen[1:], color=colour, linewidth=1.1, label=f"head {head}")
    axes.set_title(title, fontweight="normal", fontsize=9.5)
    axes.axvspan(TRAINED, FIRST, color=GREY, alpha=0.12, linewidth=0)
    axes.set(xscale="log", ylim=(0, 1.02), xlim=(1, FIRST), xlabel="distance")
panels[0].set_ylabel("weight up to here")
panels[0].legend(fontsize=8, loc="upper left")
finding = "The second block's heads look beyond the window"
remedy = f"with {far['none']:.0%} of their weight; {far['slow pairs']:.0%} with the slow pairs clamped,"
headline(figure, f"{finding}\n{remedy}\n{far['fast pairs']:.0%} with the fast ones clamped")
plt.show()

shown = {name: [[float(f"{mean:.2e}") for mean in head] for head in each.flatten(0, 1)] for name, each in means.items()}
to_touch("attention", {"edges": edges, "trained": TRAINED, "blocks": len(models["RoPE"][0].blocks), "means": shown})

# %% [markdown] lang="en"
# [As trained](#attention?reading=none), the heads of the second block jump to keys hundreds of characters back, which
# look to the fast pairs much like keys near by. Telling them apart is the work of the slow pairs.
# [Clamped](#attention?reading=slow+pairs), they put all of these keys at
# distance 63: about five sixths of the weight stays where training put it.
#
# <!-- touch: attention -->
#
# ## Now stretch RoPE, without training
#
# Change only the frequencies of the trained RoPE model, for $s = 8$ times the length $L = 64$, by the formulas of
# notebook 5, with NTK's factor $\kappa = s$, and both ramps of YaRN with $\alpha = 1$ and $\beta = 32$, as for Llama. Over
# turns, that leaves *no* pair alone: even the fastest makes only 10.2 turns in 64 characters.
#
# **Dynamic** scaling takes $s = l/L$ at length $l$. We read 64 more characters each time, and compute all keys
# afresh (exercise 5.5 showed why).

# %% [markdown] lang="zh"
# [不加改动](#attention?reading=none)时，第二个块的头会跳到几百个字符之前的键上去；在高频对看来，这些键和近处的差不多。把它
# 们区别开来是低频对的事。[截住](#attention?reading=slow+pairs)之后，它们把所有
# 这些键都看作在距离 63 处：约六分之五的权重留在训练时学会看的地方。
#
# <!-- touch: attention -->
#
# ## 现在拉长 RoPE，不训练
#
# 只改训练好的 RoPE 模型的频率，目标是 $L = 64$ 的 $s = 8$ 倍，公式见第 5 节：NTK 的倍数取 $\kappa = s$，YaRN 的两种斜坡
# 都像 Llama 那样取 $\alpha = 1$、$\beta = 32$。按圈数的斜坡这时*没有一对*保持原样：最快的一对在 64 个字符里也只转 10.2 圈。
#
# **动态**缩放在长度为 $l$ 时取 $s = l/L$。我们每次多读 64 个字符，并把所有的键重新计算一遍（为什么，见练习 5.5）。

# %%
STRETCH = LONGEST // TRAINED  # s
theta = frequencies(HEAD_DIM).float()
turns = TRAINED * theta / (2 * math.pi)
pair = torch.arange(HEAD_DIM // 2)


def ntk(factor: float) -> Tensor:
    """NTK-aware frequencies: pair 0 as it was, the last one slowed by the factor, those between in equal ratios."""
    return theta * factor ** -(pair / pair[-1])


def yarn(ramp: str) -> Tensor:
    """Interpolate where the ramp's gamma is 0, leave alone where it is 1."""
    return torch.lerp(theta / STRETCH, theta, share_kept(ramp).float())


scalings = {
    "as trained": {"theta": theta},
    "PI": {"theta": theta / STRETCH},
    "NTK-aware": {"theta": ntk(STRETCH)},
    "YaRN, ramp over turns, beta 32": {"theta": yarn("ramp over turns, beta 32")},
    "YaRN, ramp over pairs, beta 32": {"theta": yarn("ramp over pairs, beta 32")},
}
yarns = "YaRN, ramp over pairs, beta 32"  # the authors' code, which does best here
assert round(turns[0].item(), 1) == 10.2  # what the text says
circles = 2 * math.pi / theta
ends_at = [round(TRAINED * STRETCH ** (i / 7)) for i in (3, 4, 5, 7)]
assert (round(circles[3].item()), round(8 ** (3 / 7), 1), ends_at) == (199, 2.4, [156, 210, 283, 512])

# %%
stretched = {name: read_all(models["RoPE"], **scaling) for name, scaling in scalings.items() if name != "as trained"}
stretched = {"as trained": curves["RoPE"]} | stretched
ends = range(TRAINED, LONGEST + 1, TRAINED)  # 64, 128, ... 512
blocks = [read_all(models["RoPE"], last=end, theta=ntk(end / TRAINED))[:, -TRAINED:] for end in ends]
stretched["dynamic NTK"] = torch.cat(blocks, dim=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.2), width_ratios=[2, 3])
for name in ("PI", "NTK-aware", yarns):
    colour, dashes, marker = look(name)
    left.plot(pair, scalings[name]["theta"] / theta, color=colour, linestyle=dashes, marker=marker, markersize=3.5)
left.axvspan(2.5, 7.3, color=GREY, alpha=0.12, linewidth=0)
left.text(2.65, 1.06, "no full turn in training", fontsize=8.5, va="top")
left.set(xlabel="pair", ylabel="speed left, of 1", xlim=(-0.3, 7.3), ylim=(0, 1.08))
draw(right, {name: stretched[name] for name in ("as trained", "PI", "NTK-aware", "dynamic NTK", yarns)})
for line in right.get_lines():
    line.set_label(line.get_label().split(",")[0])
late = {name: past(each) for name, each in stretched.items()}
gain = f"{late['as trained'].mean():.2f} to {late[yarns].mean():.2f}; NTK-aware, to {late['NTK-aware'].mean():.2f}"
headline(figure, f"Past 256 characters, YaRN takes RoPE from {gain}")
name_lines(right)
plt.show()

story = {}
for short, name in {"none": "as trained", "PI": "PI", "NTK": "NTK-aware", "YaRN": yarns}.items():
    bins = binned(stretched[name])
    spread = {"mean": bins.mean(0), "lowest": bins.amin(0), "highest": bins.amax(0), "slowed": scalings[name]["theta"]}
    story[short] = {key: [float(f"{value:.5g}") for value in values] for key, values in spread.items()}
to_touch("story", {"trained": TRAINED, "edges": EDGES, "theta": story["none"]["slowed"], "methods": story})

table("Loss of the RoPE model, nats per character, in windows of ... characters", stretched)

# %% [markdown] lang="en"
# In the handbook, the figure below lets you read on yourself: [as trained](#story?hands=none&read=256), with
# [PI](#story?hands=PI&read=256), [NTK](#story?hands=NTK&read=256) or [YaRN](#story?hands=YaRN&read=256).
#
# <!-- touch: story -->

# %% [markdown] lang="zh"
# 在手册里，用下面的图可以自己接着读：[不加改动](#story?hands=none&read=256)，或者用
# [PI](#story?hands=PI&read=256)、[NTK](#story?hands=NTK&read=256)、[YaRN](#story?hands=YaRN&read=256)。
#
# <!-- touch: story -->

# %%
model, *_ = models["RoPE"]  # for the page to run: its weights, one after the other, as floats of 16 bits
weights = {name: weight for name, weight in model.state_dict().items() if name != "rows.weight"}
packed = torch.cat([weight.flatten() for weight in weights.values()]).half().numpy().tobytes()
page = windows[None, 19, :384]
angles = [clamped_angles(torch.arange(LONGEST), theta, settings[name], TRAINED - 1) for name in ("none", "slow pairs")]
free, mended = (loss_by_position(by_distance(model, page[:, :-1], each)[0], page[:, 1:]) for each in angles)
reader = {
    "letters": "".join(alphabet),
    "text": "".join(alphabet[number] for number in page[0]),
    "at": (free - mended).argmax().item(),  # what comes next, clamping helps most to expect
    "trained": TRAINED,
    "heads": HEADS,
    "theta": {short: method["slowed"] for short, method in story.items()},
    "slow": slow.tolist(),
    "order": [(name, weight.shape) for name, weight in weights.items()],
    "weights": base64.b64encode(packed).decode(),
}
to_touch("reader", reader)

# %% [markdown] lang="en"
# In the handbook, the first of the three models itself runs below and reads one
# held-out text, [as trained](#reader?hands=none&colour=surprise), with [YaRN](#reader?hands=YaRN&colour=surprise), or with its
# [slow pairs clamped](#reader?hands=clamped&colour=surprise). You can see what surprises it, or [what clamping
# changes](#reader?hands=clamped&colour=change), and give it a text of your own.
#
# <!-- touch: reader -->

# %% [markdown] lang="zh"
# 在手册里，下面直接运行三个模型中的第一个，让它读一段测试文本：[不加改动](#reader?hands=none&colour=surprise)，用
# [YaRN](#reader?hands=YaRN&colour=surprise)，或者[截住低频对](#reader?hands=clamped&colour=surprise)。可以看到什么让它意外，或者[截住之后变了什么](#reader?hands=clamped&colour=change)，也可以换
# 成你自己写的文本。
#
# <!-- touch: reader -->

# %%
inside = {name: loss_at(each, TRAINED) for name, each in stretched.items()}
whole = {name: loss_at(each, LONGEST) for name, each in stretched.items()}
assert (late[yarns] < late["NTK-aware"]).all(), "Past 256: YaRN is better than NTK-aware."
assert (late["NTK-aware"] < late["as trained"]).all(), "Past 256: NTK-aware is better than no scaling."
assert all((loss_at(stretched["NTK-aware"], n) < loss_at(stretched[yarns], n)).all() for n in (64, 128, 256)), (
    "In windows of up to 256, NTK-aware is better than YaRN."
)
fixed, grown = (stretched[name][:, 200:300].mean(1) for name in ("NTK-aware", "dynamic NTK"))
assert (fixed < grown).all(), "From 200 to 300 characters the fixed factor of 8 is better than the growing one."
assert (late[yarns] < late["YaRN, ramp over turns, beta 32"]).all(), "The ramp has to fit the model."
assert (whole["NTK-aware"] < whole["PI"]).all(), "Over all 512: without fine-tuning, PI is worse than NTK-aware."
assert (inside["PI"] > inside["as trained"] + 0.2).all(), "PI costs a lot within the window."
assert torch.allclose(stretched["dynamic NTK"][:, :TRAINED], curves["RoPE"][:, :TRAINED], atol=1e-3), (
    "Dynamic NTK costs nothing there."
)
print("All eight hold for each of the three seeds.")

# %% [markdown] lang="en"
# ## What each scaling costs
#
# - **PI** meets no new angle, and is bad from the first characters on: the one before looks an eighth of a step away.
# - **NTK-aware** starts well and breaks before 512. Pair $i$ is slowed by $8^{i/7}$, so pair 3 runs out of seen
#   angles at 156 characters, and only the last one lasts to 512.
# - **Dynamic** is the trained model itself within the window. Beyond it, $s = l/L$ is the bare minimum: at 200 to 300
#   characters, the fixed 8 is even better.
# - **YaRN** pays a little in the window. The ramp matters as much as the choice of a method. (Its temperature is left out here.)

# %% [markdown] lang="zh"
# ## 每种缩放的代价
#
# - **PI** 遇不到新的角度，却从头几个字符起就很差：前一个字符看上去只隔了八分之一步。
# - **NTK-aware** 开头很好，不到 512 就垮了。第 $i$ 对放慢 $8^{i/7}$ 倍，所以第 3 对到 156 个字符就用完了见过的角度，只有最后一对能撑到 512。
# - **动态 NTK** 在训练窗口之内就是原来的模型。窗口之外，$s = l/L$ 是刚好够的最小值：
#   在 200 到 300 个字符处，固定取 8 反而更好。
# - **YaRN** 在训练窗口之内略有损失。用哪种斜坡，与选哪种方法同样要紧。（它的温度这里没有用。）

# %% [markdown] lang="en"
# ## Who finds it again?
#
# All tables so far show who is *disturbed* by a long text. Who *uses* it? Eight keys, `a` to `h`, stand in the first half of a
# text of 64 tokens, each with a value after it, `1` to `8`. In
# the second half each key comes three times, alone, and the model has to answer with its value. The letters `i` to
# `x` say nothing; **longer texts get more of them in the middle.** (One block notes at each value which key stood
# before it, the next finds that key again, by *induction heads*:
# [Olsson et al., 2022](https://arxiv.org/abs/2209.11895).)
# The models are as above, trained anew on the answers alone.
#
# **Predict first.** Which of these will find a pair at the far end of 512:
# RoPE as trained; with PI, NTK-aware, YaRN; with the slow pairs clamped; through a window of the last 64 tokens;
# ALiBi; NoPE? One often reads that ALiBi and windows fail here, and that scaled RoPE does not.

# %% [markdown] lang="zh"
# ## 谁能再找到它？
#
# 到现在为止，所有的表说的都是谁受到长文本的*干扰*。谁*用上*了它？八个键，`a` 到 `h`，放在一段 64 个 token 的文本的前一半，
# 每个键后面跟着它的值，`1` 到 `8`。后一半里，每个键单独出现三次，模型要答出它的值。字母 `i` 到 `x` 什么也不说；
# **更长的文本，是在中间加上更多这样的字母。**（一个块在每个值上记下它前面是哪个键，下一个块再按键找到它，靠的是*归纳头*，即 induction heads：
# [Olsson 等，2022](https://arxiv.org/abs/2209.11895)。）模型和上面的一样，从头训练，只看答案的损失。
#
# **先预测**：下面这些，哪些能在 512 个 token 的文本里找到开头的：不加改动
# 的 RoPE；用上 PI、NTK-aware、YaRN；截住低频对；只看最后 64 个 token 的窗口；ALiBi；NoPE？常常读到，
# ALiBi 和窗口在这里会失败，缩放过的 RoPE 则不会。

# %%
KEYS = 8  # tokens 0 to 7 are keys, 8 to 15 values, 16 to 31 say nothing
SIGNS = "abcdefgh12345678ijklmnopqrstuvwx"


def notes(count: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Texts in which each key is given a value, and asked for three times later, in any order.

    Returns:
        The tokens [count, length], and of each question [count, 3 KEYS]: its place, the place of its pair, the answer.
    """
    half = TRAINED // 2  # at the start are the pairs, at the end the questions
    tokens = torch.randint(2 * KEYS, 4 * KEYS, (count, length), generator=generator)
    value = torch.randint(KEYS, 2 * KEYS, (count, KEYS), generator=generator)
    chosen = torch.rand(count, half - KEYS, generator=generator).argsort(1)[:, :KEYS]
    pairs = torch.zeros(count, half - KEYS, dtype=torch.long).scatter(1, chosen, 1)
    given = chosen + (pairs.cumsum(1) - pairs).gather(1, chosen)  # each pair before it takes one place more
    asked = length - half + torch.rand(count, half, generator=generator).argsort(1)[:, : 3 * KEYS]
    key = torch.arange(KEYS).expand(count, KEYS)
    tokens.scatter_(1, given, key).scatter_(1, given + 1, value).scatter_(1, asked, key.repeat(1, 3))
    return tokens, asked, given.repeat(1, 3), value.repeat(1, 3)


example, asked, given, value = notes(1, TRAINED, torch.Generator().manual_seed(7))
print("".join(SIGNS[token] for token in example[0]))
last = asked[0].argmax()  # the last question
key, answer = (SIGNS[token] for token in (example[0, asked[0, last]], value[0, last]))
print(f"the last key is {key}, its value {answer}, and the pair stands {asked[0, last] - given[0, last]} back")


# %%
def answers(model: Reader, generator: torch.Generator, length: int, batch: int, **scaling) -> Tensor:
    """The loss on a batch of texts, at the questions alone."""
    tokens, asked, _, value = notes(batch, length, generator)
    logits = model(tokens, **scaling)[torch.arange(batch)[:, None], asked, KEYS : 2 * KEYS]  # an answer is a value
    return cross_entropy(logits.flatten(0, 1), value.flatten() - KEYS)


def finder(code: str, seed: int) -> Reader:
    """A reader after training on texts of TRAINED tokens."""
    torch.manual_seed(seed)
    return fit(Reader(code, len(SIGNS)), seed, answers, steps=220, rate=5e-3, length=TRAINED, batch=32)


def accuracy_by_distance(right: Tensor, distance: Tensor, edges: list[int]) -> Tensor:
    """The share of right answers between each edge and the next: [edges - 1]."""
    between = [(distance >= low) & (distance < high) for low, high in pairwise(edges)]
    return torch.stack([right[chosen].float().mean() for chosen in between])


@torch.no_grad()
def quiz(model: Reader, length: int, count: int = 8, angles: Tensor | None = None, **setting) -> tuple[Tensor, Tensor]:
    """Whether each question is answered rightly, and how far back its pair stands, in texts of a length."""
    tokens, asked, given, value = notes(count, length, torch.Generator().manual_seed(length))
    logits = model(tokens, **setting) if angles is None else by_distance(model, tokens, angles)[0]
    return logits.argmax(-1).gather(1, asked) == value, asked - given


rope = [finder("RoPE", seed) for seed in SEEDS]

# %%
finders = {code: [finder(code, seed) for seed in SEEDS] for code in ("ALiBi", "NoPE")}

# %%
held = clamped_angles(torch.arange(LONGEST), theta, slow, TRAINED - 1)
readers = {
    "as trained": (rope, {}),
    "PI": (rope, scalings["PI"]),
    "NTK-aware": (rope, scalings["NTK-aware"]),
    "YaRN": (rope, scalings[yarns]),
    "slow pairs clamped": (rope, {"angles": held}),
    "window of 64": (rope, {"window": TRAINED}),
    "ALiBi": (finders["ALiBi"], {}),
    "NoPE": (finders["NoPE"], {}),
}

# %%
STEPS = [1, *range(32, LONGEST + 1, 32)]
MIDS = [(low + high) / 2 for low, high in pairwise(STEPS)]
lengths = STEPS[2:]  # 64, 96, ... 512
quizzes = {
    name: [[quiz(model, length, **setting) for length in lengths] for model in trained]
    for name, (trained, setting) in readers.items()
}
found = {  # [seeds, distances]
    name: torch.stack(
        [accuracy_by_distance(*(torch.cat(part) for part in zip(*each, strict=True)), STEPS) for each in seeds]
    )
    for name, seeds in quizzes.items()
}
shares = {  # [seeds, lengths]
    name: torch.tensor([[right.float().mean() for right, _ in each] for each in seeds])
    for name, seeds in quizzes.items()
}
cells = {name: [100 * each[:, lengths.index(length)] for length in LENGTHS] for name, each in shares.items()}
show_table(
    "Right answers, in texts of ... tokens: the mean of three seeds, and from the lowest to the highest",
    [f"{length}" for length in LENGTHS],
    {name: [f"{c.mean():.0f} % ({c.min():.0f}–{c.max():.0f})" for c in each] for name, each in cells.items()},
)

figure, panels = plt.subplots(2, 1, figsize=(5.2, 5.4), sharex=True)
sides = (
    ("as trained", "PI", "NTK-aware", "YaRN", "slow pairs clamped", "window of 64"),
    ("ALiBi", "NoPE"),
)
for axes, names, title in zip(
    panels, sides, ("one RoPE model, read in six ways", "other models, other training"), strict=True
):
    for name in names:
        (colour, dashes, marker), each = look(name), found[name]
        axes.fill_between(MIDS, each.amin(0), each.amax(0), color=colour, alpha=0.2, linewidth=0)
        axes.plot(MIDS, each.mean(0), color=colour, linestyle=dashes, marker=marker, markersize=3.5, label=name)
    axes.axvspan(TRAINED, LONGEST, color=GREY, alpha=0.12, linewidth=0)
    axes.axhline(1 / KEYS, color=BLACK, linestyle=":", linewidth=0.8)
    axes.set(ylabel="right answers, of 1", xlim=(0, LONGEST), ylim=(0, 1.03))
    axes.set_title(title, fontweight="normal", fontsize=9.5)
axes.set_xlabel("distance from the pair to the question")
ends = {name: each[:, -1].mean().item() for name, each in shares.items()}
reach = f"YaRN {ends['YaRN']:.0%}, ALiBi {ends['ALiBi']:.0%}, RoPE as trained {ends['as trained']:.0%}"
headline(figure, f"Found again in a text of 512 tokens:\n{reach}")
name_lines(*panels)
plt.show()

# %%
far = [quiz(model, 2048, count=4)[0].float().mean().item() for model in finders["ALiBi"]]
print("ALiBi in texts of 2,048 tokens:", ", ".join(f"{share:.0%}" for share in far))
last = {name: each[:, -1] for name, each in shares.items()}  # in texts of 512 tokens
with torch.no_grad():  # change what stands further back than two blocks of 63 reach
    first = notes(1, LONGEST, torch.Generator().manual_seed(8))[0]
    other = first.clone()
    other[:, : LONGEST - 1 - 2 * 63] = 20
    one, two = (rope[0](tokens, window=TRAINED)[0, -1] for tokens in (first, other))
assert torch.equal(one, two), "What no window reaches changes nothing, through two blocks 126 tokens back."
assert 2 * 63 == 126
assert 512 / 256 == 2
assert 2048 / 256 == 8

assert (found["as trained"][:, :2] > 0.95).all(), "RoPE finds what stands within the trained window."
assert (last["as trained"] < 0.8).all(), "As trained it loses much of what stands far back."
again = found["as trained"]
assert (torch.stack([again[:, 7], again[:, 13]]) > again[:, 10] + 0.05).all(), (
    "It finds more about 240 and 430 back than about 336 back."
)
for name in ("YaRN", "slow pairs clamped"):
    assert (last[name] > 0.95).all(), "No new angle, nothing lost."
assert (last["NTK-aware"] > last["as trained"] + 0.1).all(), "NTK-aware finds more than no scaling."
assert (shares["PI"] < 0.7).all(), "PI finds little, even near by."
assert (found["window of 64"][:, :2] > 0.95).all(), "Within the window nothing is lost."
assert (found["window of 64"][:, 4:] < 0.3).all(), "Where no window reaches, one in eight is a guess."
assert last["ALiBi"].min() > 0.85 > max(far), "ALiBi reads to 8 times the length, and not to 32."
assert ((last["NoPE"] - shares["NoPE"][:, 0]).abs() < 0.2).all(), "Without angles far is like near."
assert (shares["NoPE"] < 0.95).all(), "But it does not find all of it."
print("All hold for each of the three seeds.")

# %% [markdown] lang="en"
# ## What was found, and what was not
#
# The dotted line is a guess among eight.
#
# - **RoPE as trained** finds everything in its window, and less and less beyond it, in waves about as long as a round
#   of pair 3, which is 199: more at about 240 and 430 back than at 336.
# - **The same weights, with the slow pairs clamped or with YaRN,** find it all at 8 times the length, *without any
#   training*. What was lost was never the ability to look far back, only the angles it works at.
# - **PI** fails near and far alike: it no longer knows which key stood just before.
# - **A window** finds everything within it and nothing beyond. (Two blocks look at most 126 back.)
# - **ALiBi was the surprise: it is not blind at 512.** Its flattest head takes $\rho_h \Delta = 512/256 = 2$ from a
#   score there, and a key that fits outweighs that. At 2,048 it is 8, and much is lost.
# - **NoPE** finds as much far as near, but not all. (Its three models differ widely.)

# %% [markdown] lang="zh"
# ## 找到了什么，没找到什么
#
# 点线是在八个值里瞎猜。
#
# - **不加改动的 RoPE**，窗口之内全找得到，窗口之外越来越少，而且是一波一波的，波长大约是第 3 对转一圈的 199：往回
#   约 240 和 430 处，比 336 处多。
# - **同样的权重，截住低频对，或用上 YaRN**：在 8 倍长度上也全找得到，*一步也没有再训练*。丢掉的从来不是往远处看的能
#   力，只是它在哪些角度上才有效。
# - **PI** 近处远处都失败：它不知道紧挨在前面的是哪个键了。
# - **窗口**之内全找得到，之外什么也找不到。（两个块最多往回看 126。）
# - **出人意料的是 ALiBi：在 512 处它并没有瞎**。它最平的头在那里从得分里减去 $\rho_h \Delta = 512/256 = 2$，对得上的
#   键压得过它。到 2,048 处要减 8，就丢了很多。
# - **NoPE** 远处近处找到的一样多，但不全。（它的三个模型相差很大。）

# %% [markdown] lang="en"
# ## What does not follow
#
# **Our ranking does not carry over to large language models.** With longer training the weak codes catch up in the window; a
# head of 128 features and a window of thousands have quite a different spectrum; and large models are fine-tuned after
# scaling: then Llama 2 7B has, at 8,192 tokens, a perplexity (the exponential of the loss) of 3.34 with PI, 3.59 with NTK-aware
# scaling and 3.35 with YaRN ([table 1](https://arxiv.org/abs/2309.00071v2)). (Lessons cite that paper for perplexities of "8k to
# 32k", *linear 12.5, NTK 11.8, dynamic 12.2, YaRN 11.2*. They are not in it.)
#
# What does carry over is the method: one difference at a time, the same data, the loss of each position, several seeds.
#
# **Next:** [notebook 7](7_alibi_and_nope.ipynb) looks into the two codes that use no angles at all.

# %% [markdown] lang="zh"
# ## 不能由此推出什么
#
# **我们的排名不能照搬到大语言模型上**：训练再久一些，较弱的编码在窗口之内会追上来；头大小为 128、窗口有几千个 token 时，频谱完全不同；大模型在缩放之后还会微调：
# 这样微调过的 Llama 2 7B，长度 8,192 处的困惑度（损失的指数），用 PI 是 3.34，用 NTK-aware 是 3.59，用 YaRN 是 3.35
# （[表 1](https://arxiv.org/abs/2309.00071v2)）。（讲长上下文的课程常说，“8k 到 32k”的困惑度*线性 12.5，NTK 11.8，动态 12.2，YaRN 11.2*出
# 自这篇论文。论文里没有这些数。）
#
# 能照搬的是方法：一次只改一处，用同样的数据，看每个位置的损失，多试几个种子。
#
# **下一节：**[第 7 节](7_alibi_and_nope.ipynb)细看两种完全不用角度的编码。

# %% [markdown]
# # 6 · 短训练，长测试
#
# 模型只在某个长度的文本上学过，后来却遇到更长的文本，会怎么样？前面几节看的都是公式；这一节真的动手训练：
# 五个小语言模型，**除了位置编码，其余完全相同**。训练时每次只读 64 个字符，测试时读 64、128、256 和 512 个。
# 之后，再让 RoPE 模型用上第 5 节的各种缩放方法，而且不再训练。
#
# 机器空闲时，单线程跑完全部内容大约半分钟，也不用下载任何东西：文本是 Python 自带的手册，就在标准库里。
# 网上流传着一张没有出处的表；读完这一节，你手里会有一张自己测出来的表来代替它。
#
# 图和表里的文字用英文，结论在正文里用中文说明。

# %%
import math
from functools import partial
from itertools import pairwise
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, headline, use_style
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

torch.set_num_threads(1)
use_style()

SEED = 0
TRAINED, LONGEST = 64, 512  # 一个窗口里的字符数：训练时，测试时
LENGTHS = (64, 128, 256, 512)

# %% [markdown]
# ## 文本
#
# `help("yield")` 显示的内容来自 `pydoc_data.topics`。我们的 token 就是单个字符：词表很小，也没有什么会藏在分词器里。
# 有两件事容易忘，要事先做好：
#
# - 有些主题会重复别的主题里的段落（for 和 while 的大部分内容，compound 里也有）。每个段落只保留一份，
#   否则一部分测试内容就混进了训练内容。
# - 最后十分之一留作测试，训练绝不碰它。

# %%
paragraphs = dict.fromkeys(paragraph for topic in topics.values() for paragraph in topic.split("\n\n"))
text = "\n\n".join(paragraphs)
alphabet = sorted(set(text))
number_of = {letter: number for number, letter in enumerate(alphabet)}
tokens = torch.tensor([number_of[letter] for letter in text])

cut = 9 * len(tokens) // 10
train_tokens, test_tokens = tokens[:cut], tokens[cut:]
windows = test_tokens[: 48 * (LONGEST + 1)].view(48, LONGEST + 1)  # 48 个窗口：512 个字符，再加一个待预测的
print(f"共 {len(text):,} 个字符，{len(alphabet)} 种；其中 {windows.numel():,} 个用于测试")

# %% [markdown]
# ## 五种编码，三个位置
#
# 位置编码可以从三个地方进入 Transformer。设 $z_p$ 是位置 $p = 0, 1, 2, \dots$ 上 token 的嵌入，$q_m$ 和 $k_n$
# 是某个头的一个查询和一个键，$S_{mn}$ 是它们的得分：
#
# | 编码 | 从哪里进入 | 做什么 |
# |---|---|---|
# | NoPE | 不进入 | 只有因果掩码（第 0 节） |
# | 正弦（sinusoidal） | 加到 $z_p$ 上 | $p\,\theta_i$ 的正弦和余弦（[Vaswani 等，3.5 节](https://arxiv.org/abs/1706.03762)） |
# | 可学习（learned） | 加到 $z_p$ 上 | 一张表的第 $p$ 行，随模型一起训练 |
# | RoPE | 旋转 $q_m$、$k_n$ | 第 $i$ 对转过角度 $m\,\theta_i$ 或 $n\,\theta_i$（[Su 等，3.2 节](https://arxiv.org/abs/2104.09864)） |
# | ALiBi | 加到 $S_{mn}$ 上 | $-s_h\,(m - n)$，头 $h = 1 \dots H$，$s_h = 2^{-8h/H}$（[Press 等，第 3 节](https://arxiv.org/abs/2108.12409)） |
#
# 其中 $\theta_i = 10000^{-2i/d}$，$i = 0 \dots d/2 - 1$。对 RoPE 来说，$d$ 是一个头的大小。我们取 16，
# 于是 $\theta_i = 10^{-i/2}$：八对，都是整齐的数。
#
# 可学习的表到最后一行就没有了：向它要第 64 个位置，只会得到 `IndexError`。为了能测出点什么，我们给它 512 行，
# 训练只碰得到前 64 行，其余各行始终是初始的随机数。

# %%
WIDTH, HEADS = 64, 4
HEAD_DIM = WIDTH // HEADS


def frequencies(dim: int, base: float = 10000.0) -> Tensor:
    """每一对从一个位置到下一个位置转过的角度：[dim/2]。"""
    return base ** (-torch.arange(0, dim, 2) / dim)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """旋转 [..., n, d] 的各对 (i, i + d/2)；sin 的前一半带负号。"""
    return x * cos + x.roll(HEAD_DIM // 2, dims=-1) * sin


class Block(nn.Module):
    """先因果注意力，后 MLP；各自之前有归一化，外面有残差。"""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH, bias=False)
        )

    def forward(self, z: Tensor, turn, bias: Tensor | None) -> Tensor:
        """[batch, n, WIDTH] 到同样的形状；查询和键经过 turn，bias 加到得分上。"""
        query, key, value = (
            self.project(self.attention_norm(z)).unflatten(-1, (3, HEADS, HEAD_DIM)).permute(2, 0, 3, 1, 4)
        )
        mixed = scaled_dot_product_attention(turn(query), turn(key), value, attn_mask=bias, is_causal=bias is None)
        z = z + self.output(mixed.transpose(1, 2).flatten(2))  # [batch, heads, n, d] 到 [batch, n, WIDTH]
        return z + self.mlp(self.mlp_norm(z))


class Reader(nn.Module):
    """两个块，位置编码按名称选择。"""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code
        self.letters = nn.Embedding(len(alphabet), WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, len(alphabet), bias=False)
        self.rows = nn.Embedding(LONGEST, WIDTH)  # 只有 "learned" 用它；放在最后创建，五个模型的初始权重才相同

    def forward(self, tokens: Tensor, theta: Tensor | None = None, strength: float = 1.0) -> Tensor:
        """下一个字符的 logits：[batch, n] 到 [batch, n, letters]。theta 和 strength 只对 RoPE 起作用。"""
        position = torch.arange(tokens.shape[1])
        z, turn, bias = self.letters(tokens), nn.Identity(), None
        if self.code == "learned":
            z = z + self.rows(position)
        elif self.code == "sinusoidal":
            angle = torch.outer(position, frequencies(WIDTH))
            z = z + torch.cat([angle.sin(), angle.cos()], dim=-1)
        elif self.code == "ALiBi":
            slopes = 2.0 ** (-8 * torch.arange(1, HEADS + 1) / HEADS)
            back = position[:, None] - position  # [n, n]，m - n
            bias = (-slopes[:, None, None] * back).masked_fill(back < 0, -torch.inf)  # 同时也是掩码
        elif self.code == "RoPE":
            angle = torch.outer(position, frequencies(HEAD_DIM) if theta is None else theta)
            cos, sin = strength * angle.cos().repeat(1, 2), strength * torch.cat([-angle.sin(), angle.sin()], dim=-1)
            turn = partial(rotate, cos=cos, sin=sin)
        for block in self.blocks:
            z = block(z, turn, bias)
        return self.head(self.norm(z))


# %% [markdown]
# ## 训练
#
# 五个模型从同样的权重出发，按同样的次序看同样的批次，都走 280 步，每步 8 个窗口，一共 143,360 个字符。
# 损失是下一个字符的交叉熵，单位是 nat（用自然对数）：$-\ln P(\text{实际出现的字符})$。
# 在大约一百个字符里瞎猜，损失是 $\ln 100 \approx 4.6$。
#
# 280 步很少，这是为了不让你久等。这对结论意味着什么，最后会讲。


# %%
def train(code: str, seed: int, steps: int = 280, batch: int = 8, rate: float = 1e-2) -> Reader:
    """在长度为 TRAINED 的窗口上训练好的模型。"""
    torch.manual_seed(seed)  # 用于权重
    generator = torch.Generator().manual_seed(seed)  # 用于批次
    model = Reader(code)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99), fused=True)
    for step in range(steps):
        warm, cool = min(1, (step + 1) / 20), (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.param_groups[0]["lr"] = rate * warm * cool
        start = torch.randint(len(train_tokens) - TRAINED, (batch, 1), generator=generator)
        window = train_tokens[start + torch.arange(TRAINED + 1)]
        loss = cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


CODES = ("NoPE", "sinusoidal", "learned", "ALiBi", "RoPE")
models = {code: train(code, SEED) for code in CODES}

# %% [markdown]
# ## 只报一个数不够
#
# 常见的说法是“长度 512 时损失是 2.3”。对 512 个位置求平均，就看不出模型是*在哪里*出错的。
# 所以我们把每个位置的损失都留下来。设有 $W$ 个窗口，$x^{(w)}_p$ 是第 $w$ 个窗口里位置 $p$ 上的字符：
#
# $$
# \ell_p = \frac1W \sum_{w=1}^{W} -\ln P\bigl(x^{(w)}_{p+1} \mid x^{(w)}_0, \dots, x^{(w)}_p\bigr) .
# $$
#
# 模型对 $V$ 个字符给出 logits $a_1, \dots, a_V$，概率是 $P(j) = e^{a_j} / \sum_k e^{a_k}$，
# 所以 $-\ln P(j) = \ln \sum_k e^{a_k} - a_j$。

# %% [markdown]
# ### 练习 6.1 · 每个位置的损失（2 分）
#
# 写出 `loss_by_position`。要*先*取对数，再对窗口求平均；取对数请交给 `torch.log_softmax` 这样的库函数：
# $e^{1000}$ 超出了浮点数的范围，而由它算出的概率又可能舍入成 0，0 的对数是 $-\infty$。


# %% nbgrader={"grade_id": "loss_by_position", "solution": true}
def loss_by_position(logits: Tensor, targets: Tensor) -> Tensor:
    """每个位置上的损失，对各窗口取平均，单位 nat：[n]。

    Args:
        logits: [windows, n, letters]；logits[w, p] 预测 targets[w, p]。
        targets: [windows, n]，dtype 为 long。
    """
    ### BEGIN SOLUTION
    log_probability = torch.log_softmax(logits, dim=-1)
    return -log_probability.gather(-1, targets[:, :, None]).squeeze(-1).mean(dim=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "loss_by_position_laws", "grade": true, "points": 2}
with quiet():
    losses = loss_by_position(torch.zeros(3, 5, 7), torch.zeros(3, 5, dtype=torch.long))
    assert losses.shape == (5,), "n 个位置，每个位置输出一个损失。"
    torch.testing.assert_close(losses, torch.full((5,), math.log(7)), msg="七个 logits 相等：P = 1/7，损失为 ln 7。")
    logits = torch.tensor([[[1 / 2, 1 / 2]], [[1 / 8, 7 / 8]]]).log()
    losses = loss_by_position(logits, torch.tensor([[0], [0]]))
    expected = torch.tensor([math.log(4)])
    torch.testing.assert_close(losses, expected, msg="两个窗口里 P 分别是 1/2 和 1/8：(ln 2 + ln 8) / 2 = ln 4。")
    ### BEGIN HIDDEN TESTS
    generator = torch.Generator().manual_seed(1)
    logits, targets = torch.randn(6, 4, 9, generator=generator), torch.randint(9, (6, 4), generator=generator)
    kept, losses = logits.clone(), loss_by_position(logits, targets)
    assert losses.shape == (4,), "n 个位置，每个位置输出一个损失。"
    assert (losses > 0).all(), "概率不超过 1，所以损失不会是负数。"
    by_hand = torch.stack(
        [(logits[:, p].exp().sum(-1).log() - logits[range(6), p, targets[:, p]]).mean() for p in range(4)]
    )
    torch.testing.assert_close(losses, by_hand, msg="位置 p 上：ln(exp(a) 之和) - a[目标] 对各窗口的平均。")
    raised = loss_by_position(logits + 3, targets)
    torch.testing.assert_close(raised, losses, msg="给所有 logits 加同一个常数，概率不变。")
    order = torch.tensor([2, 0, 3, 1])
    turned = loss_by_position(logits[:, order], targets[:, order])
    torch.testing.assert_close(turned, losses[order], msg="每个位置各自计算。")
    sure = loss_by_position(torch.tensor([[[1000.0, 0.0]]]), torch.tensor([[1]]))
    torch.testing.assert_close(sure, torch.tensor([1000.0]), msg="很有把握却错了：损失是 1000，不是无穷大。")
    assert torch.equal(logits, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 读一遍，各种长度都有了
#
# 我们的模型是因果的：位置 $p$ 上的输出只取决于位置 $0 \dots p$。所以读 512 个字符时，前 64 个位置上得到的结果，
# 与只读 64 个字符时完全一样。设一次长读得到的曲线是 $\ell_0, \ell_1, \dots$，那么窗口长度为 $n$ 时的损失
# 就是曲线开头 $n$ 个值的平均，而**困惑度**（perplexity）是它的指数：
#
# $$
# \mathrm{loss}(n) = \frac1n \sum_{p=0}^{n-1} \ell_p, \qquad \mathrm{perplexity}(n) = e^{\mathrm{loss}(n)} .
# $$
#
# 困惑度为 8，意思是：拿不准的程度，相当于在 8 个选项里随机挑一个。用概率来写，它是
# $\bigl(\prod_p 1/P_p\bigr)^{1/n}$，一个几何平均。把各个位置的困惑度拿来求平均是另一回事，
# 结果总不会更小，因为 $e^x$ 是向上弯的。

# %% [markdown]
# ### 练习 6.2 · 某个长度的困惑度（2 分）
#
# 写出 `perplexity_at`：由一条曲线求出给定窗口长度下的困惑度。


# %% nbgrader={"grade_id": "perplexity_at", "solution": true}
def perplexity_at(curve: Tensor, length: int) -> float:
    """长度为 length 的窗口的困惑度。

    Args:
        curve: 每个位置上的损失，单位 nat，至少有 length 个。
        length: n，至少为 1。
    """
    ### BEGIN SOLUTION
    return curve[:length].mean().exp().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "perplexity_at_laws", "grade": true, "points": 2}
with quiet():
    even = torch.full((6,), math.log(8))
    assert abs(perplexity_at(even, 6) - 8) < 1e-4, "损失处处为 ln 8，相当于在 8 个里随机挑一个。"
    curve = torch.tensor([math.log(2), math.log(8), math.log(100)])
    assert abs(perplexity_at(curve, 1) - 2) < 1e-4, "长度为 1，就只看第一个位置。"
    assert abs(perplexity_at(curve, 2) - 4) < 1e-4, "2 和 8 的几何平均是 4；算术平均才是 5。"
    ### BEGIN HIDDEN TESTS
    curve = 3 * torch.rand(40, generator=torch.Generator().manual_seed(2))
    kept = curve.clone()
    for length in (1, 7, 39, 40):
        found = perplexity_at(curve, length)
        assert type(found) is float, "困惑度是普通的 float：用 .item() 从张量里取出来。"
        changed = torch.cat([curve[:length], torch.full((5,), 50.0)])
        assert abs(perplexity_at(changed, length) - found) < 1e-4, "从 length 起的位置不计入。"
        raised = perplexity_at(curve + math.log(3), length)
        assert abs(raised - 3 * found) < 1e-3, "每个位置的损失都多 ln 3，困惑度就变成三倍。"
        assert abs(length * math.log(found) - curve[:length].sum().item()) < 1e-3, "n ln(困惑度) 等于损失之和。"
    assert abs(perplexity_at(torch.tensor([3.0, 1.0, 2.0]), 3) - math.exp(2)) < 1e-3, "损失的单位是 nat：底数是 e。"
    assert torch.equal(curve, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# 现在开始读。先验证刚才的规律：对每个模型，比较长读的前 64 个损失与只读 64 个字符时的损失。
# （差别是零；如果你的机器按另一种次序舍入，就是 1e-6 左右。）


# %%
@torch.no_grad()
def read(model: Reader, first: int = 0, last: int = LONGEST, **scaling) -> Tensor:
    """每个测试窗口只读第 first .. last-1 个字符时，各位置上的损失：[last - first]。"""
    curves = [
        loss_by_position(model(part[:, first:last], **scaling), part[:, first + 1 : last + 1])
        for part in windows.split(8)
    ]
    return torch.stack(curves).mean(dim=0)


curves = {code: read(model) for code, model in models.items()}
for code, model in models.items():
    gap = (read(model, last=TRAINED) - curves[code][:TRAINED]).abs().max()
    assert gap < 1e-3, "因果模型不知道后面有什么。"
    print(f"{code:>11}：长读与短读最多相差 {gap:.0e}")

# %% [markdown]
# 下面是五个模型的表现，一直读到远远超出训练长度的地方。

# %%
EDGES = [0, 1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512]
MIDDLES = [math.sqrt((low + 1) * high) for low, high in pairwise(EDGES)]


def binned(curve: Tensor) -> list[float]:
    """曲线在各区间内的平均：单个位置的值噪声太大。"""
    return [curve[low:high].mean().item() for low, high in pairwise(EDGES)]


def loss_at(curve: Tensor, length: int) -> float:
    """窗口为某个长度时的平均损失。"""
    return math.log(perplexity_at(curve, length))


def draw(axes: plt.Axes, curves: dict[str, Tensor], looks: dict[str, tuple]) -> None:
    """画出损失随位置变化的曲线，并标出训练长度。"""
    for name, curve in curves.items():
        colour, dashes, marker = looks[name]
        axes.plot(MIDDLES, binned(curve), color=colour, linestyle=dashes, marker=marker, markersize=3.5, label=name)
    axes.axvspan(TRAINED, LONGEST, color=GREY, alpha=0.12, linewidth=0)
    axes.text(67, 3.03, "beyond training", fontsize=8.5, va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 4, 16, 64, 128, 256, 512], ["1", "4", "16", "64", "128", "256", "512"])
    axes.set(xlabel="characters read so far", ylabel="loss, nats per character", xlim=(1, LONGEST), ylim=(1.7, 3.05))


LOOKS = {
    "NoPE": (BLACK, ":", "s"),
    "sinusoidal": (GREEN, "-.", "^"),
    "learned": (PURPLE, (0, (1, 1)), "v"),
    "ALiBi": (BLUE, "-", "o"),
    "RoPE": (VERMILION, "--", "D"),
}
figure, axes = plt.subplots(figsize=(7.2, 3.4))
draw(axes, curves, LOOKS)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
far = {code: curves[code][256:].mean().item() for code in CODES}
near = {code: loss_at(curves[code], TRAINED) for code in CODES}
finding = f"RoPE leads in its window ({near['RoPE']:.2f} to ALiBi's {near['ALiBi']:.2f}) and is lost beyond it"
axes.set_title(f"{finding} ({far['RoPE']:.2f} to {far['ALiBi']:.2f})", fontsize=9.5)
plt.show()


# %%
def table(title: str, rows: dict[str, Tensor], value) -> None:
    """对每条曲线和每个长度，打印 value(curve, length)。"""
    print(title)
    print(" " * 38 + "".join(f"{length:>8}" for length in LENGTHS))
    for name, curve in rows.items():
        print(f"{name:<38}" + "".join(f"{value(curve, length):8.2f}" for length in LENGTHS))


table("窗口长度（字符数）不同时的损失，单位 nat 每字符：", curves, loss_at)

# %% [markdown]
# 训练窗口之内 RoPE 最低；灰色区域比训练长度更长，在那里 RoPE 的损失升得很高，ALiBi 却保持平稳。
#
# ## 能得出什么结论？
#
# 换个随机种子再训练一次，所有的数都会变一点。换个种子就不成立的说法，不能算结论。下一格里的不等式，
# 在我们试过的八个种子上全部成立；三种较弱的编码在 512 处谁先谁后则不一定，所以我们对此不下结论。

# %%
short, long = ({code: loss_at(curves[code], length) for code in CODES} for length in (TRAINED, LONGEST))
assert all(short["RoPE"] < short[code] for code in CODES if code != "RoPE"), "在训练窗口之内，RoPE 最好。"
assert all(long["ALiBi"] < long[code] for code in CODES if code != "ALiBi"), "在八倍长度上，ALiBi 最好。"
assert long["RoPE"] > short["RoPE"] + 0.1, "RoPE 本身不能延伸到更长的文本。"
assert long["ALiBi"] < short["ALiBi"] + 0.05, "ALiBi 没有损失。"
print("四条全部成立。")

# %% [markdown]
# **RoPE 为什么领先？** 它的得分通过角度取决于距离，所以“前一个字符”只需学一次，就在所有位置上都会了。
# NoPE 得从一个微弱的计数里把它拼出来，相加的编码得靠权重去学；280 步对它们来说几乎不够。
#
# **RoPE 为什么会垮？** 距离为 300 时，第 3 到第 7 对所处的角度，在 64 个字符的窗口里从未出现过。
# 训练中没有任何东西要求那里的得分要小，结果也确实不小。
#
# **ALiBi 为什么稳？** 距离为 $t$ 的键，得分要减去 $s_h t$，也就是权重乘上 $e^{-s_h t}$。我们的斜率是
# 1/4、1/16、1/64 和 1/256；在 $t = 64$ 处，第一个头乘的是 $e^{-16} \approx 10^{-7}$。
# 远处的内容大都被压低了声音，自然就干扰不了。
#
# 可是远处的内容*有帮助*吗？取每个窗口最后 32 个字符，读两遍：一遍前面有全部 480 个字符，一遍只有 32 个。
# 两次损失之差，就是远处文本的价值。

# %%
for code in ("NoPE", "ALiBi", "RoPE"):
    with_far = curves[code][480:].mean().item()
    without = read(models[code], first=448)[32:].mean().item()
    print(f"{code:>6}: 前面 32 个字符时 {without:.2f}，480 个时 {with_far:.2f}；价值 {without - with_far:+.2f}")

# %% [markdown]
# 对 ALiBi 来说几乎为零，对 RoPE 则是很大的损失。*在长文本上不出错，并不等于用上了长文本。*
# Press 等人自己也这么说：超出训练长度时，ALiBi“可能并没有用到比训练时更长的上下文”
# （[附录 B.2](https://arxiv.org/abs/2108.12409)）。窗口一长结果就变好，常常另有原因，他们称之为
# **early token curse**（开头 token 的厄运）：每个窗口开头的字符前面几乎没有内容，窗口越长，这样的开头就越少。
# 在图的最左边就能看到。
#
# ## 现在拉长 RoPE，不训练
#
# 拿训练好的 RoPE 模型，只改频率，目标是 $s = 8$ 倍长度。$L = 64$；第 $i$ 对的波长是 $\lambda_i = 2\pi/\theta_i$，
# 所以它在一个窗口里转 $r_i = L/\lambda_i = L\,\theta_i/2\pi$ 圈。各个公式的推导见第 5 节：
#
# | 名称 | 新频率 $\theta_i'$ | 出处 |
# |---|---|---|
# | PI | $\theta_i / s$ | [Chen 等，3.2 节](https://arxiv.org/abs/2306.15595) |
# | NTK-aware | $\bigl(b\, s^{d/(d-2)}\bigr)^{-2i/d} = \theta_i\, s^{-i/(d/2-1)}$ | [YaRN，3.1 节](https://arxiv.org/abs/2309.00071v2) |
# | 动态 NTK | 同 NTK-aware，但 $s = \max(1, \ell/L)$，$\ell$ 是当前长度 | [YaRN，3.3 节](https://arxiv.org/abs/2309.00071v2) |
# | YaRN | $(1 - \gamma_i)\,\theta_i/s + \gamma_i\,\theta_i$ | [YaRN，3.2 节](https://arxiv.org/abs/2309.00071v2) |
#
# NTK-aware 的第二种写法来自 $b^{-2i/d} = \theta_i$ 以及
#
# $$
# \frac{d}{d-2} \cdot \frac{2i}{d} = \frac{2i}{d-2} = \frac{i}{d/2-1} .
# $$
#
# 所以第 0 对速度不变，最后一对（$i = d/2 - 1$）放慢整整 $s$ 倍。
#
# YaRN 的 $\gamma_i$，对转得多的对取 1，对转不满一圈的对取 0，中间是一段斜坡，而**实际使用的斜坡有两种**。
# 论文的斜坡按圈数线性变化，$\gamma_i = (r_i - \alpha)/(\beta - \alpha)$，截断到 0 与 1 之间；作者的代码则按下标
# $i$ 线性变化，两端是恰好转 $\beta$ 圈和 $\alpha$ 圈的下标，再取整。对 Llama，两者都取 $\alpha = 1$、$\beta = 32$。
# 最后，YaRN 还把余弦和正弦乘以 $\sqrt{1/t} = 0.1 \ln s + 1$，在这里是 1.21。

# %%
STRETCH = LONGEST // TRAINED  # s
theta = frequencies(HEAD_DIM)
turns = TRAINED * theta / (2 * math.pi)
pair = torch.arange(HEAD_DIM // 2)


def ntk(factor: float) -> Tensor:
    """NTK-aware 的频率。"""
    return frequencies(HEAD_DIM, 10000.0 * factor ** (HEAD_DIM / (HEAD_DIM - 2)))


def yarn(gamma: Tensor) -> Tensor:
    """在 gamma 为 0 处插值，为 1 处保持原样。"""
    return (1 - gamma) * theta / STRETCH + gamma * theta


def ramp_over_turns(alpha: float, beta: float) -> Tensor:
    """论文里的斜坡。"""
    return ((turns - alpha) / (beta - alpha)).clamp(0, 1)


def ramp_over_pairs(alpha: float, beta: float) -> Tensor:
    """代码里的斜坡，两端都向外取整。"""

    def index(times: float) -> float:
        """使 r_i = times 的 i：由 L b^(-2i/d) / 2 pi = times 解出。"""
        return HEAD_DIM * math.log(TRAINED / (2 * math.pi * times)) / (2 * math.log(10000.0))

    first, last = max(math.floor(index(beta)), 0), min(math.ceil(index(alpha)), HEAD_DIM - 1)
    return 1 - ((pair - first) / (last - first)).clamp(0, 1)


scalings = {
    "as trained": {"theta": theta},
    "PI": {"theta": theta / STRETCH},
    "NTK-aware": {"theta": ntk(STRETCH)},
    "YaRN, ramp over turns, beta 32": {"theta": yarn(ramp_over_turns(1, 32))},
    "YaRN, ramp over turns, beta 4": {"theta": yarn(ramp_over_turns(1, 4))},
    "YaRN, ramp over pairs, beta 32": {"theta": yarn(ramp_over_pairs(1, 32))},
    "YaRN, the same, with temperature": {
        "theta": yarn(ramp_over_pairs(1, 32)),
        "strength": 0.1 * math.log(STRETCH) + 1,
    },
}
print("训练时各对转过的圈数，以及每种缩放之后速度剩下几成：")
print(f"{'turns':<32}", "  ".join(f"{turn:6.3f}" for turn in turns))
for name in ("PI", "NTK-aware", *list(scalings)[3:6]):
    print(f"{name:<32}", "  ".join(f"{share:6.3f}" for share in scalings[name]["theta"] / theta))

# %% [markdown]
# 每一行给出各对的速度还剩下几成。训练中只有前三对转满过一圈；其余五对只见过圆的一部分，接下来却要面对剩下的部分。
#
# 看看按圈数斜坡、$\beta = 32$ 的 YaRN：最快的一对在 64 个字符里也只转 10.2 圈，所以*没有一对*能保持原样。
# $\beta = 32$ 是为 Llama 找到的，它最快的一对要转几百圈；论文自己说要“视具体情况”调整（3.2 节）。
# 所以这里也列出了 $\beta = 4$。
#
# **动态**缩放没有固定的一组频率。长度为 $\ell$ 时取 $s = \ell/L$，因此文本每变长一点，所有角度都要变，
# 旧的键也不例外。我们一块一块地读，每次多读 64 个字符，并把所有的键重新计算一遍。
# 如果缓存里存的是*按早先的长度旋转过的键*，就会把不同的频率混在一起：这正是
# [transformers#25104](https://github.com/huggingface/transformers/issues/25104) 里的错误。键要在旋转之前缓存
# （YaRN，3.3 节）；否则会怎样，见第 5 节。

# %%
rope = models["RoPE"]
stretched = {name: read(rope, **scaling) for name, scaling in scalings.items()}
ends = range(TRAINED, LONGEST + 1, TRAINED)  # 64、128……512
blocks = [read(rope, last=end, theta=ntk(end / TRAINED))[-TRAINED:] for end in ends]
stretched["dynamic NTK"] = torch.cat(blocks)

LOOKS = {
    "as trained": (VERMILION, "--", "D"),
    "PI": (PURPLE, ":", "v"),
    "NTK-aware": (GREEN, "-.", "^"),
    "dynamic NTK": (ORANGE, (0, (5, 1, 1, 1)), "s"),
    "YaRN, ramp over pairs, beta 32": (BLACK, "-", "o"),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.9), width_ratios=[2, 3])
for name in ("PI", "NTK-aware", "YaRN, ramp over pairs, beta 32"):
    colour, dashes, marker = LOOKS[name]
    left.plot(pair, scalings[name]["theta"] / theta, color=colour, linestyle=dashes, marker=marker, markersize=3.5)
left.axvspan(2.5, 7.3, color=GREY, alpha=0.12, linewidth=0)
left.text(2.65, 1.06, "no full turn in training", fontsize=8.5, va="top")
left.set(xlabel="pair", ylabel="speed left, of 1", xlim=(-0.3, 7.3), ylim=(0, 1.08))
draw(right, {name: stretched[name] for name in LOOKS}, LOOKS)
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
past = {name: curve[256:].mean().item() for name, curve in stretched.items()}
gain = (
    f"{past['as trained']:.2f} to {past['YaRN, ramp over pairs, beta 32']:.2f}; NTK-aware, to {past['NTK-aware']:.2f}"
)
headline(figure, f"Past 256 characters, YaRN takes RoPE from {gain}")
plt.show()

table("RoPE 模型在不同窗口长度（字符数）下的损失，单位 nat 每字符：", stretched, loss_at)

# %% [markdown]
# 下面的不等式同样在八个种子上都成立。

# %%
inside = {name: loss_at(curve, TRAINED) for name, curve in stretched.items()}
whole = {name: loss_at(curve, LONGEST) for name, curve in stretched.items()}
yarns = "YaRN, ramp over pairs, beta 32"
assert past[yarns] < past["NTK-aware"] < past["as trained"], "256 之后：YaRN 最好，其次 NTK-aware，最后是不缩放。"
assert past[yarns] < past["YaRN, ramp over turns, beta 32"], "beta 要与模型相配。"
assert whole["NTK-aware"] < whole["PI"], "就全部 512 个位置而言，不微调时 PI 不如 NTK-aware。"
assert inside["PI"] > inside["as trained"] + 0.2, "PI 在训练窗口之内代价很大。"
assert torch.allclose(stretched["dynamic NTK"][:TRAINED], curves["RoPE"][:TRAINED]), "动态 NTK 在那里没有代价。"
print("五条全部成立。")

# %% [markdown]
# 图的左边是每种缩放对各对做了什么，右边是损失因此变成什么样：
#
# - **PI** 遇不到新的角度，却从头几个字符起就很差。它放慢了*每一对*，包括区分相邻字符的第 0 对：
#   前一个字符现在看上去只隔了八分之一步。微调可以补救，PI 提出时本来就配合微调使用；不微调，就是这个结果。
# - **NTK-aware** 开头很好，不到 512 就垮了。第 $i$ 对放慢 $8^{i/7}$ 倍。第 3 对的圆周是 199 个位置，它只见过 $64$
#   个位置那么长的一段弧；放慢 $8^{3/7} = 2.4$ 倍，到 $64 \cdot 2.4 = 156$ 个字符就用完了见过的角度，
#   第 4 对到 210，第 5 对到 283，只有最后一对能撑到 512。*因子取 8，并不能得到 8 倍的上下文*
#   （YaRN 3.1 节对大模型也这么说）。
# - **动态 NTK** 在训练窗口之内就是原来的模型。窗口之外，$s = \ell/L$ 总是刚好够的最小值，而我们刚刚看到，
#   NTK-aware 需要比这更大的值：在 200 到 300 个字符处，固定取 8 反而更好。因此 transformers 里有一个因子 $f$，
#   用的是 $f\,\ell/L - (f - 1)$，增长速度是 $f$ 倍。
# - **YaRN** 不动第 0 对，对转不满一圈的各对完全插值，在训练窗口之内略有损失。用哪种斜坡、$\beta$ 取多少，
#   与选哪种方法同样要紧；单说一个“YaRN”，信息太少。
# - **温度**在这里作用很小。它的公式是在 LLaMA 模型上拟合出来的（YaRN，3.4 节），不是在我们的模型上。
#
# ## 一张没有出处的表
#
# 讲长上下文的课程常引这样一张表，“8k 到 32k 的困惑度”：*线性 12.5，NTK 11.8，动态 12.2，YaRN 11.2*，
# 并说它出自 YaRN 论文。**论文里没有这张表。** 论文里实际有的是另一番样子：
#
# - [第 2 版](https://arxiv.org/abs/2309.00071v2)表 1：Llama 2 7B 从 4,096 拉长到 8,192，每种方法都经过*微调*，
#   用 Proof-pile，长度 8,192 处：PI 3.34，NTK-aware 3.59，YaRN 3.35。
# - [ICLR 版](https://openreview.net/forum?id=wHBfxhZu1u)表 5：在 2,048 上训练的 LLaMA 7B，*不*微调，
#   $s = 4$，长度 8,192 处：PI 6.18，NTK-aware 超过 10，YaRN 3.65；动态缩放，长度 4,096 处：NTK 5.97，YaRN 3.67。
#
# 差别不是零点几，而是有的方法能用，有的方法不能用；是否再训练过，也大不相同。一张表要写清这些才值得看：
# 哪个模型，哪些文本，训练和测试各多长，是否微调，窗口是并排还是滑动，困惑度按什么单位计算。
# 下面是我们自己的表，这些都写明了：

# %%
print(f"2 个块，宽度 {WIDTH}，{HEADS} 个头；在 Python 帮助主题上以 {TRAINED} 个字符的窗口训练 280 步；种子 {SEED}；")
print(f"{len(windows)} 个没参加训练的窗口，并排不重叠；不微调；因子 s = {STRETCH}。")
others = {code: curve for code, curve in curves.items() if code != "RoPE"}
rows = others | {f"RoPE {name}": curve for name, curve in stretched.items()}
table("不同窗口长度（字符数）下每个字符的困惑度：", rows, perplexity_at)

# %% [markdown]
# （不要拿这些数去和论文里的数比：那里是按 *token* 计算的。如果一个 token 有 4 个字符，它的困惑度就是四个这样的数的乘积。）
#
# ## 不能由此推出什么
#
# **这个排名不能照搬到大语言模型上。** 它说的只是 280 步、64 个字符和大约八万个权重的情形：
#
# - 换个任务，名次就会颠倒。[Kazemnejad 等，2023](https://arxiv.org/abs/2305.19466) 在推理和算术任务上训练小模型，
#   那里对更长输入泛化得最好的是 NoPE，胜过 ALiBi 和 RoPE。
# - 训练再久一些，较弱的编码在窗口之内会追上来。我们很早就停了，对五个模型一视同仁。
# - $d = 16$ 时，8 对里只有 3 对转满过一圈。头大小为 128、窗口为 8,192 时，频谱完全不同，$\beta = 32$ 是适合那里的。
# - 预测一个字符，几乎用不着 300 个字符之前的内容。512 处损失低，只说明模型没受干扰；要说明它*用上了*长文本，
#   就得问它一件写在很前面的事，passkey 检索就是这样做的（YaRN，4.3.2 节）。
# - 大模型在缩放之后会微调。不训练直接用是最严的考验，不是通常的做法。
#
# 能照搬的是方法：一次只改一处，用同样的数据，看每个位置的损失，多试几个种子，不下换个种子就翻的结论。
#
# ## 常见的问题
#
# **按前后两半配对，还是相邻配对：这里哪个对？** 都行。从头训练的模型，权重会自己去适应；我们用的是前后两半配对。
# 只有在不同程序之间搬运权重时才有关系（第 3 节；
# [transformers#25199](https://github.com/huggingface/transformers/issues/25199)）。
#
# **PI 除“每一对”，NTK“分摊压力”：到底是哪些对？** PI 是全部，都除以 $s$。NTK-aware 在 $i = 0$ 处不变，
# 在 $i = d/2 - 1$ 处除以整个 $s$，中间除以 $s^{i/(d/2-1)}$；从上面打印的各行就能读出来。
#
# **YaRN 的注意力因子是乘在 logits 上吗？** 它乘在余弦和正弦上，于是查询和键各乘一次，logits 就乘了它的平方，
# 即 $1/t$（YaRN，3.4 节）。代码里就是 `strength`；值（value）不受影响。
#
# **能用 bfloat16 训练吗？** 能，但位置和角度要像这里一样用 float32 计算；bfloat16 里没有 257 这个数（第 4 节；
# [transformers#29285](https://github.com/huggingface/transformers/issues/29285)）。
#
# **下一节：**[第 7 节](7_alibi_and_nope.ipynb)细看两种完全不用角度的编码：ALiBi 在任意头数下的斜率，以及 NoPE。

# %% [markdown] lang="en"
# # 7 · ALiBi and NoPE
#
# **ALiBi** lowers the scores of far keys. **NoPE** adds nothing, and the model has to count for itself. In notebook 6,
# ALiBi coped best with texts far longer than those of training. Here you will build it, and see why it holds up and
# what it costs.

# %% [markdown] lang="zh"
# # 7 · ALiBi 与 NoPE
#
# **ALiBi** 改的是得分：离得远的键，分量就轻。**NoPE** 什么也不加，模型只好自己去数。在第 6 节里，遇到远比训练时更长的文本，
# 应付得最好的是 ALiBi。这里你会亲手造出它，看清它为什么撑得住，又付出了什么代价。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import close, quiet
from figures import BLACK, BLUE, GREEN, VERMILION, headline, name_lines, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en"
# ## A penalty for distance
#
# Let $m$ be the position of a query, $n \le m$ that of a key, and $d$ the number of features of a head. Head $h$ has
# a fixed number $\rho_h > 0$, its **slope**. ALiBi, *attention with linear biases*, subtracts slope times distance from
# the score ([Press et al., 2021, section 3](https://arxiv.org/abs/2108.12409v2)):
#
# $$
# S_{mn} = \frac{q_m \cdot k_n}{\sqrt d} - \rho_h\, (m - n) .
# $$
#
# Nothing else changes, and nothing is learned. Behind the softmax, the weight is proportional to
#
# $$
# e^{S_{mn}} = e^{q_m \cdot k_n / \sqrt d} \cdot \left( e^{-\rho_h} \right)^{m - n} :
# $$
#
# it halves with every $\ln 2 / \rho_h$ tokens, the **half-life** of the head. A steep head listens to its neighbours, a flat
# one far back. Look [8 tokens back](#slopes?heads=8&distance=8),
# [64](#slopes?heads=8&distance=64), [256](#slopes?heads=8&distance=256). (The dashed step is a window, for comparison.)
#
# <!-- touch: slopes -->
#
# Three details go wrong often: the penalty is **added to the scores** before the softmax; it is **not divided by** $\sqrt d$ (a
# footnote in section 3); and it is there **in inference too**.
#
# ## The slopes
#
# With $H$ heads, the slopes are a geometric sequence that starts at $2^{-8/H}$ and has the same number as its ratio:
#
# $$
# \rho_h = \left( 2^{-8/H} \right)^h = 2^{-8h/H}, \qquad h = 1, 2, \dots, H .
# $$
#
# Eight heads have $\frac12, \frac14, \dots, \frac1{256}$. The last is always $2^{-8} = \frac1{256}$; more heads fill
# the range from 1 down to it more densely. (Two slips are in circulation: $2^{-8/h}$, which is no geometric sequence, and
# counting $h$ from 0, which starts at a slope of 1.)
#
# **What if $H$ is no power of two?** The paper gives the formula above for any number of heads. The authors' code
# does something else, and models are trained with the code ([asked about Baichuan's 40
# heads](https://github.com/baichuan-inc/Baichuan2/issues/225)). Let $P$ be the largest power of two that is at most $H$. Take the slopes
# for $P$ heads. The missing $H - P$ come from the slopes for $2P$ heads, $2^{-4h/P}$: those of even $h$ we have already, so take
# $h = 1, 3, 5, \dots$, as many as are missing, and put them at the end.
#
# For $H = 6$: $P = 4$ gives $\frac14, \frac1{16}, \frac1{64}, \frac1{256}$; then come $h = 1, 3$ of eight heads,
# $\frac12, \frac18$. The weights of a trained head belong to *its* slope, so the order is part of the model.

# %% [markdown] lang="zh"
# ## 对距离的惩罚
#
# 设 $m$ 是查询的位置，$n \le m$ 是键的位置，$d$ 是一个头的特征数。第 $h$ 个头有一个固定的数 $\rho_h > 0$，称为它的**斜率**。
# ALiBi（attention with linear biases，带线性偏置的注意力）从得分里减去斜率乘以距离
# （[Press 等，2021，第 3 节](https://arxiv.org/abs/2108.12409v2)）：
#
# $$
# S_{mn} = \frac{q_m \cdot k_n}{\sqrt d} - \rho_h\, (m - n) .
# $$
#
# 其余一概不变，也没有什么要学。经过 softmax 之后，权重正比于
#
# $$
# e^{S_{mn}} = e^{q_m \cdot k_n / \sqrt d} \cdot \left( e^{-\rho_h} \right)^{m - n} :
# $$
#
# 每过 $\ln 2 / \rho_h$ 个 token 减半，这就是这个头的**半衰期**。斜率大的头只听得见邻居，斜率小的头听得到远处。往回看
# [8 个 token](#slopes?heads=8&distance=8)、[64 个](#slopes?heads=8&distance=64)、[256 个](#slopes?heads=8&distance=256)。（虚线的台阶是窗口，作为对照。）
#
# <!-- touch: slopes -->
#
# 有三个细节常常弄错：惩罚是在 softmax 之前**加到得分上**的；它**不除以** $\sqrt d$（见第 3 节的一个脚注）；**推理时也要有**。
#
# ## 斜率
#
# 有 $H$ 个头时，斜率是一个等比数列，首项是 $2^{-8/H}$，公比也是这个数：
#
# $$
# \rho_h = \left( 2^{-8/H} \right)^h = 2^{-8h/H}, \qquad h = 1, 2, \dots, H .
# $$
#
# 八个头的斜率是 $\frac12, \frac14, \dots, \frac1{256}$。最后一个总是 $2^{-8} = \frac1{256}$；头越多，从 1 到它之间就排得越密。
# （流传的写法里有两处笔误：一是 $2^{-8/h}$，它不是等比数列；二是让 $h$ 从 0 数起，于是第一个斜率成了 1。）
#
# **$H$ 不是 2 的幂怎么办？** 不管多少个头，论文给出的都是上面的公式。作者的代码却不是这样，而模型是用代码训练出来的
# （[有人问过 Baichuan 的 40 个头](https://github.com/baichuan-inc/Baichuan2/issues/225)）。设 $P$ 是不大于 $H$ 的最大的 2 的幂。先取 $P$ 个头的斜率。
# 还缺 $H - P$ 个，从 $2P$ 个头的斜率 $2^{-4h/P}$ 里取：偶数 $h$ 的已经有了，所以取 $h = 1, 3, 5, \dots$，缺几个取几个，放在最后。
#
# 以 $H = 6$ 为例：由 $P = 4$ 得 $\frac14, \frac1{16}, \frac1{64}, \frac1{256}$；然后是八个头里 $h = 1, 3$ 的
# $\frac12, \frac18$。训练好的头，权重是与*它自己的*斜率配套的，所以次序也是模型的一部分。

# %% [markdown] lang="en"
# ### Exercise 7.1 · Slopes (3 points)
#
# Write `alibi_slopes` for any number of heads, as in the authors' code.
#
# Hint: First find $P$: `math.log2`, rounded down, gives its exponent.
#
# Hint: $H - P$ are still missing. They come from the slopes for $2P$ heads, at $h = 1, 3, 5, \dots$. Work out the case of six
# heads above by hand.

# %% [markdown] lang="zh"
# ### 练习 7.1 · 斜率（3 分）
#
# 写出 `alibi_slopes`，头数任意，规则与作者的代码相同。
#
# 提示：先求 $P$：`math.log2` 向下取整就是它的指数。
#
# 提示：还缺 $H - P$ 个，从 $2P$ 个头的斜率里取，$h = 1, 3, 5, \dots$。先把上面六个头的例子用手算一遍。


# %% nbgrader={"grade_id": "alibi_slopes", "solution": true}
def alibi_slopes(num_heads: int) -> Tensor:
    """The slope of each head: [num_heads], float32."""
    ### BEGIN SOLUTION
    power = 2 ** int(math.log2(num_heads))  # P, the largest power of two that is at most H
    neat = 2.0 ** (-8 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * torch.arange(1, 2 * power, 2) / power)  # the odd ones of 2P heads
    return torch.cat([neat, between[: num_heads - power]])
    ### END SOLUTION


# %% nbgrader={"grade_id": "alibi_slopes_laws", "grade": true, "points": 3}
with quiet():
    eight = alibi_slopes(8)
    assert (eight.shape, eight.dtype) == ((8,), torch.float32), "One float32 slope for each head."
    assert torch.allclose(eight, torch.tensor([1 / 2**h for h in range(1, 9)])), "Eight heads: 1/2, 1/4, ... 1/256."
    assert torch.allclose(alibi_slopes(16)[1::2], eight), "Every second slope of 16 heads is one of 8 heads."
    six = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])
    assert torch.allclose(alibi_slopes(6), six), "Six heads: the four of 4 heads, then two of 8 heads, h = 1 and 3."
    ### BEGIN HIDDEN TESTS
    for power in (1, 2, 4, 8, 16, 64):
        slopes = alibi_slopes(power)
        assert (slopes.shape, slopes.dtype) == ((power,), torch.float32), "One float32 slope for each head."
        ratios = slopes / torch.cat([torch.ones(1), slopes[:-1]])
        assert torch.allclose(ratios, ratios[0].expand(power)), "Each slope is the one before times the same ratio."
        assert abs(slopes[-1] * 256 - 1) < 1e-5, "The last slope is 1/256."
    for heads, power in [(3, 2), (5, 4), (7, 4), (12, 8), (20, 16), (40, 32), (63, 32)]:
        slopes = alibi_slopes(heads)
        assert slopes.shape == (heads,), "One slope for each head."
        neat = torch.tensor([2 ** (-8 * h / power) for h in range(1, power + 1)])
        assert torch.allclose(slopes[:power], neat), (
            "First come the slopes of the largest power of two that is at most the heads."
        )
        for number, slope in enumerate(slopes[power:].tolist()):
            above, below = (2 ** (-8 * h / power) for h in (number, number + 1))
            assert abs(slope / math.sqrt(above * below) - 1) < 1e-5, (
                "Then the odd ones of twice as many, the steep ones first."
            )
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## Bias and mask
#
# A decoder also masks what lies ahead. Both are one tensor to be added to the scores, for each head
#
# $$
# B_{mn} = \begin{cases} -\rho_h\, (m - n) & n \le m \\ -\infty & n > m , \end{cases}
# $$
#
# which is why programs often build it as "the mask". When a model writes, it
# keeps old keys in a cache: with $Q$ queries and $K$ keys, the queries are the *last* positions, and row
# $r = 0, \dots, Q - 1$ belongs to position $m = K - Q + r$.

# %% [markdown] lang="zh"
# ## 偏置与掩码
#
# 解码器还要把后面的 token 遮住。两者合成一个张量加到得分上，对每个头是
#
# $$
# B_{mn} = \begin{cases} -\rho_h\, (m - n) & n \le m \\ -\infty & n > m , \end{cases}
# $$
#
# 所以程序里常把它就当作“掩码”来构造。模型往下写时，会把以前的键存在缓存里：有 $Q$ 个查询、$K$ 个键时，查询是*最后*的几个位置，第
# $r = 0, \dots, Q - 1$ 行对应位置 $m = K - Q + r$。

# %% [markdown] lang="en"
# ### Exercise 7.2 · Bias and mask in one (3 points)
#
# Write `alibi_mask`.
#
# Hint: Begin with the distances, a table `[Q, K]`: position of the query minus position of the key. The queries are the
# *last* $Q$ of the $K$ positions.
#
# Hint: Each head multiplies this table by its slope, with a minus. For that the slopes need two more dimensions.
#
# Hint: Keys ahead have a negative distance. Put $-\infty$ there at the end, with `masked_fill`; a product of 0 and
# infinity is nan.

# %% [markdown] lang="zh"
# ### 练习 7.2 · 偏置与掩码合一（3 分）
#
# 写出 `alibi_mask`。
#
# 提示：先求距离，一张 `[Q, K]` 的表：查询的位置减去键的位置。查询是 $K$ 个位置里*最后* $Q$ 个。
#
# 提示：每个头用自己的斜率乘这张表，前面带负号。为此，斜率要再添两维。
#
# 提示：距离为负就是在后面。最后用 `masked_fill` 在那里放上 $-\infty$；如果用乘法，0 乘无穷大会变成 nan。


# %% nbgrader={"grade_id": "alibi_mask", "solution": true}
def alibi_mask(slopes: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """What is added to the scores: minus slope times distance, and minus infinity for keys ahead.

    Args:
        slopes: [heads].
        num_queries: Q, at most num_keys; the queries are the last Q positions.
        num_keys: K; the keys are the positions 0 .. K-1.

    Returns:
        [heads, Q, K].
    """
    ### BEGIN SOLUTION
    query, key = torch.arange(num_keys - num_queries, num_keys), torch.arange(num_keys)
    distance = query[:, None] - key  # [Q, K], negative ahead
    bias = -slopes[:, None, None] * distance  # [heads, Q, K]
    return bias.masked_fill(distance < 0, -torch.inf)
    ### END SOLUTION


# %% nbgrader={"grade_id": "alibi_mask_laws", "grade": true, "points": 3}
with quiet():
    never = -torch.inf
    half = torch.tensor([[[0, never, never], [-0.5, 0, never], [-1, -0.5, 0]]])
    mask = alibi_mask(torch.tensor([0.5]), 3, 3)
    assert mask.shape == (1, 3, 3), "The shape is [heads, queries, keys]."
    assert not mask.isnan().any(), "No entry may be nan: 0 times infinity is."
    assert close(mask, half), "Slope 1/2, three tokens: by hand."
    last = torch.tensor([[[-1.5, -1, -0.5, 0]]])
    assert close(alibi_mask(torch.tensor([0.5]), 1, 4), last), "One query, four keys: the query is the last."
    ### BEGIN HIDDEN TESTS
    slopes = torch.tensor([0.5, 0.25, 1 / 64])
    whole = alibi_mask(slopes, 9, 9)
    assert whole.shape == (3, 9, 9), "The shape is [heads, queries, keys]."
    assert torch.equal(whole.isinf(), torch.ones(3, 9, 9).triu(1) > 0), "Infinite ahead, and only there."
    for head in range(3):
        for m in range(9):
            for n in range(m + 1):
                assert close(whole[head, m, n], -slopes[head] * (m - n)), (
                    "Minus the slope of the head times the distance."
                )
    for queries in (1, 4, 8):
        part = alibi_mask(slopes, queries, 9)
        assert close(part, whole[:, -queries:]), "Fewer queries: the last rows of the whole."
    assert close(alibi_mask(slopes, 5, 5), whole[:, 4:, 4:]), "Only distances count, not where the text begins."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## One row is enough
#
# BLOOM and the authors' own code add $+\rho_h\, n$: positive, the same for all queries, nothing about $m$. "Shouldn't they be
# negative?" ([asked here](https://github.com/ofirpress/attention_with_linear_biases/issues/9)). (Of the Falcon models, only the RW
# ones have ALiBi.) Add one number $c$ to all scores of a row:
#
# $$
# \frac{e^{S_n + c}}{\sum_j e^{S_j + c}} = \frac{e^c\, e^{S_n}}{e^c \sum_j e^{S_j}} = \frac{e^{S_n}}{\sum_j e^{S_j}} .
# $$
#
# Softmax is **invariant to shifts**. Now $-\rho_h (m - n) = \rho_h n - \rho_h m$, and within the row of query $m$ the
# term $-\rho_h m$ is such a constant. It can be dropped, as long as no key ahead gets in: one row of $K$ numbers serves
# all queries.

# %% [markdown] lang="zh"
# ## 一行就够了
#
# BLOOM 和作者自己的代码加的是 $+\rho_h\, n$：是正的，对所有查询都一样，与 $m$ 无关。
# “不应该是负的吗？”（[在这里有人问](https://github.com/ofirpress/attention_with_linear_biases/issues/9)）（Falcon 系列里，只有 RW 模型用 ALiBi。）给一行的所有得分加上同一个数 $c$：
#
# $$
# \frac{e^{S_n + c}}{\sum_j e^{S_j + c}} = \frac{e^c\, e^{S_n}}{e^c \sum_j e^{S_j}} = \frac{e^{S_n}}{\sum_j e^{S_j}} .
# $$
#
# softmax 有**平移不变性**。而 $-\rho_h (m - n) = \rho_h n - \rho_h m$，在查询 $m$ 的那一行里，$-\rho_h m$ 正是这样一个常数。
# 只要后面的键不混进来，就可以去掉它：$K$ 个数的一行，就能供所有查询使用。

# %% [markdown] lang="en"
# ### Exercise 7.3 · One row for all queries (2 points)
#
# Write `key_bias`, a bias that does not depend on the query and gives the same causal attention. Any shift of a
# head's row by a constant is right.
#
# Hint: Multiply out $-\rho_h\,(m - n)$: which part is the same for all keys of a row?
#
# Hint: What remains knows the head and the key, so the middle dimension of the result has
# size 1. Mind the sign: later keys are nearer.

# %% [markdown] lang="zh"
# ### 练习 7.3 · 一行供所有查询使用（2 分）
#
# 写出 `key_bias`：一个与查询无关的偏置，使因果注意力的结果不变。每个头的那一行整体加上任何常数都算对。
#
# 提示：把 $-\rho_h\,(m - n)$ 乘开：哪一部分对这一行的所有键都相同？
#
# 提示：剩下的只看头和键，所以结果中间一维的大小是 1。注意符号：越往后的键越近。


# %% nbgrader={"grade_id": "key_bias", "solution": true}
def key_bias(slopes: Tensor, num_keys: int) -> Tensor:
    """One row for each head, to be added to the scores of every query: [heads, 1, num_keys]."""
    ### BEGIN SOLUTION
    return slopes[:, None, None] * torch.arange(num_keys)
    ### END SOLUTION


# %% nbgrader={"grade_id": "key_bias_laws", "grade": true, "points": 2}
with quiet():
    never = -torch.inf
    half = torch.tensor([[[0, never, never], [-0.5, 0, never], [-1, -0.5, 0]]])  # ALiBi, slope 1/2, by hand
    ahead = torch.tensor([[0, never, never], [0, 0, never], [0, 0, 0]])
    row = key_bias(torch.tensor([0.5]), 3)
    assert row.shape == (1, 1, 3), "One row for each head: [heads, 1, keys]."
    same = torch.allclose(torch.softmax(row + ahead, -1), torch.softmax(half, -1), atol=1e-6)
    assert same, "Behind mask and softmax, the row gives the weights of ALiBi."
    ### BEGIN HIDDEN TESTS
    slopes, keys = torch.tensor([0.5, 0.125, 1 / 256]), torch.arange(20)
    ahead = torch.zeros(20, 20).masked_fill(keys[:, None] < keys, -torch.inf)
    distances = -slopes[:, None, None] * (keys[:, None] - keys)
    scores = torch.randn(3, 20, 20, generator=torch.Generator().manual_seed(2))
    row = key_bias(slopes, 20)
    assert row.shape == (3, 1, 20), "One row for each head: [heads, 1, keys]."
    expected = torch.softmax(scores + distances + ahead, -1)
    assert torch.allclose(torch.softmax(scores + row + ahead, -1), expected, atol=1e-5), "Every head has its own slope."
    steps = row.diff(dim=-1) / slopes[:, None, None]
    assert torch.allclose(steps, torch.ones_like(steps), atol=1e-3), "From key to key the bias rises by the slope."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## Why it holds up, and what it costs
#
# How far can a head look? Let all dot products of a row, divided by $\sqrt d$, lie between $-U$ and $U$, and let the
# text have $L$ tokens. The keys at distance $D$ or more get at most
#
# $$
# \frac{\sum_{j=D}^{L-1} e^{U - \rho_h j}}{\sum_{j=0}^{L-1} e^{-U - \rho_h j}}
# = e^{2U}\, \frac{e^{-\rho_h D} - e^{-\rho_h L}}{1 - e^{-\rho_h L}} \le e^{2U - \rho_h D}
# $$
#
# of the weight: all far keys above score as high as they can, all keys below as low. The bound does not know $L$: a
# head that was trained on $L$ tokens with $\rho_h L$ large sees nothing new in $2L$. ALiBi copes with long texts
# **because it hardly looks at their far parts**, as its authors say ([appendix B](https://arxiv.org/abs/2108.12409v2)).
#
# The price is the number of tokens that a head effectively sees: $e^{\text{entropy}}$ of its
# weights, which is $n$ if $n$ tokens share the weight evenly.

# %% [markdown] lang="zh"
# ## 它为什么撑得住，又付出了什么
#
# 一个头能看多远？设一行里所有的点积除以 $\sqrt d$ 之后都在 $-U$ 与 $U$ 之间，文本有 $L$ 个 token。距离不小于 $D$ 的键，
# 得到的权重最多是
#
# $$
# \frac{\sum_{j=D}^{L-1} e^{U - \rho_h j}}{\sum_{j=0}^{L-1} e^{-U - \rho_h j}}
# = e^{2U}\, \frac{e^{-\rho_h D} - e^{-\rho_h L}}{1 - e^{-\rho_h L}} \le e^{2U - \rho_h D} .
# $$
#
# 分子里让远处的键得分都尽可能高，分母里让所有的键得分都尽可能低。这个上界里没有 $L$：如果一个头在 $L$ 个
# token 上训练过，而 $\rho_h L$ 很大，到了 $2L$ 它也看不到什么新东西。ALiBi 撑得住长文本，**是因为它几乎不看远处**，
# 作者自己也这么说（[附录 B](https://arxiv.org/abs/2108.12409v2)）。
#
# 代价是一个头实际上看到多少个 token：取权重的 $e^{\text{熵}}$，如果 $n$ 个 token 平分权重，它就是 $n$。

# %%
lengths = [2**power for power in range(2, 13)]
random = torch.Generator().manual_seed(4)
heads = [("no bias", 0.0, BLACK, "-"), ("slope 1/256", 1 / 256, BLUE, "--")]
heads += [("slope 1/32", 1 / 32, GREEN, "-."), ("slope 1/2", 1 / 2, VERMILION, ":")]


def tokens_seen(slope: float, length: int) -> float:
    """The effective number of tokens that the last query sees, for random scores; a mean of 50 queries."""
    bias = -slope * torch.arange(length)
    log_weights = torch.log_softmax(torch.randn(50, length, generator=random) + bias, dim=-1)
    return (-(log_weights.exp() * log_weights).sum(-1)).exp().mean().item()


figure, axes = plt.subplots(figsize=(5.0, 3.0))
for name, slope, color, style in heads:
    axes.plot(lengths, [tokens_seen(slope, length) for length in lengths], color=color, linestyle=style, label=name)
axes.set(xlabel="tokens in the text", ylabel="tokens seen")
axes.set_xscale("log", base=2)
axes.set_yscale("log", base=2)
axes.set_xticks([4, 64, 1024, 4096], [4, 64, 1024, 4096])
axes.set_yticks([4, 64, 1024, 4096], [4, 64, 1024, 4096])
headline(figure, f"The flattest head sees {tokens_seen(1 / 256, 4096):.0f} of 4096 tokens")
name_lines(axes)
plt.show()

# %% [markdown] lang="en"
# What does not follow: that a model cannot use a fact that is far back. Several layers can pass it on.
#
# ## NoPE: let them count
#
# In notebook 0 a model with no code at all (the curve “no bias”) read its absolute position $n$ off the share $1/(n +
# 1)$ of the first token. Can it also look at *distances*? Suppose a first layer has written $(n, 1)$ into each token.
# Let one head have the query $(-\rho m,\, \rho)$ and the key $(1,\, n)$, both linear in it. The dot product is
#
# $$
# -\rho m \cdot 1 + \rho \cdot n = -\rho\, (m - n) :
# $$
#
# **ALiBi, out of nothing but counting.** [Kazemnejad et
# al., 2023, section 5](https://arxiv.org/abs/2305.19466v2) prove both steps (theorems 1 and 2). That a network *can* do it does
# not say that it does. On small tasks of reasoning and arithmetic NoPE carried over to longer inputs better than sinusoids, RoPE
# and ALiBi; as a language model it breaks beyond some length, as its attention spreads like that curve, and it helps
# to sharpen each head by a temperature of its own ([Wang et al., 2024](https://arxiv.org/abs/2404.12224)).
#
# **Next:** [notebook 8](8_models_of_2026.ipynb) looks at what the models of 2026 make of all this.

# %% [markdown] lang="zh"
# 由此并不能推出模型用不上远处的事：可以由几层接力传过来。
#
# ## NoPE：让模型自己数
#
# 在第 0 节，完全没有编码的模型（图中“没有偏置”的那条线）由首 token 的份额 $1/(n + 1)$ 读出了自己的绝对位置 $n$。它也能看*距离*吗？
# 假设第一层已经把 $(n, 1)$ 写进了每个 token。设一个头的查询是 $(-\rho m,\, \rho)$，键是 $(1,\, n)$，两者都是它的线性函数。点积是
#
# $$
# -\rho m \cdot 1 + \rho \cdot n = -\rho\, (m - n) :
# $$
#
# **仅凭数数，就得到了 ALiBi。**[Kazemnejad 等，2023，第 5 节](https://arxiv.org/abs/2305.19466v2)证明了这两步（定理 1 和 2）。
# 网络*能*做到，不等于它真的这样做。在一些小型的推理和算术任务上，NoPE 推广到更长输入的能力胜过正弦、RoPE 和 ALiBi；作为语言模型，
# 超过某个长度它也会失灵：注意力越摊越开，就像图里的那条线；给每个头一个自己的温度，让注意力变尖，
# 会有帮助（[Wang 等，2024](https://arxiv.org/abs/2404.12224)）。
#
# **下一节：**[第 8 节](8_models_of_2026.ipynb)看 2026 年的模型拿这些做了什么。

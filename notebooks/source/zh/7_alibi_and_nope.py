# %% [markdown]
# # 7 · ALiBi 与 NoPE
#
# 到目前为止，各种编码都是把位置告诉 *token*：要么给嵌入加上一个向量，要么旋转查询和键。最后这一节看两种什么也不告诉 token 的
# 办法。**ALiBi** 对得分说话：离得远的键，分量就轻。**NoPE** 对谁也不说，模型只好自己去数。
#
# 在第 6 节里，遇到远比训练时更长的文本，应付得最好的是 ALiBi。这里你会亲手造出它，看清它为什么撑得住，又付出了什么代价。
#
# 图中的文字用英文，每幅图的结论都会在正文里用中文说明。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, GREY, PURPLE, VERMILION, headline, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
# ## 对距离的惩罚
#
# 设 $m$ 是查询的位置，$n \le m$ 是键的位置，$d$ 是一个头的特征数。第 $h$ 个头有一个固定的数 $s_h > 0$，称为它的**斜率**。
# ALiBi（*attention with linear biases*，带线性偏置的注意力）从得分里减去斜率乘以距离
# （[Press 等，2021，第 3 节](https://arxiv.org/abs/2108.12409)；原文把斜率记作 $m$）：
#
# $$
# S_{mn} = \frac{q_m \cdot k_n}{\sqrt d} - s_h\, (m - n) .
# $$
#
# 其余一概不变：不给嵌入加向量，也不旋转什么。也没有什么要学：T5 会*学习*这样的偏置，每一段距离对应一个数
# （[Raffel 等，2019，第 2.1 节](https://arxiv.org/abs/1910.10683)）；ALiBi 则直接画一条直线。经过 softmax 之后，这个惩罚起什么作用？
# 权重正比于
#
# $$
# e^{S_{mn}} = e^{q_m \cdot k_n / \sqrt d} \cdot \left( e^{-s_h} \right)^{m - n} ,
# $$
#
# 所以每往回一步，权重就乘以同一个因子 $e^{-s_h} < 1$。它像声音一样渐渐消散：每过 $\ln 2 / s_h$ 个 token 减半，这就是这个头的
# **半衰期**。斜率大的头只听得见邻居，斜率小的头听得到远处。
#
# 有三个细节常常弄错：
#
# - 惩罚是在 softmax 之前**加到得分上**的，不是去乘得分，也不动权重。
# - 它**不除以** $\sqrt d$：除以 $\sqrt d$ 的只有点积（见第 3 节的一个脚注）。
# - 它是模型的一部分，所以**推理时也要有**（[有人问过](https://github.com/ofirpress/attention_with_linear_biases/issues/20)）。
#
# ## 斜率
#
# 有 $H$ 个头时，斜率是一个等比数列，首项是 $2^{-8/H}$，公比也是这个数：
#
# $$
# s_h = \left( 2^{-8/H} \right)^h = 2^{-8h/H}, \qquad h = 1, 2, \dots, H .
# $$
#
# 八个头的斜率是 $\frac12, \frac14, \dots, \frac1{256}$。最后一个总是 $2^{-8} = \frac1{256}$；头越多，只是在这个范围里排得越密。
# 流传的写法里有两处笔误：一是 $2^{-8/h}$，它不是等比数列，次序也反了（八个头会从 $\frac1{256}$ 排到 $\frac12$，而且第二个就是
# $\frac1{16}$）；二是让 $h$ 从 0 数起，于是第一个斜率成了 1（[这里修正过](https://github.com/paiml/aprender/pull/2143)）。
#
# **$H$ 不是 2 的幂怎么办？** 论文说“对 $n$ 个头”，给出的就是上面的公式。作者的代码却不是这样，而模型是用代码训练出来的
# （[有人问过 Baichuan 的 40 个头](https://github.com/baichuan-inc/Baichuan2/issues/225)；
# [MLX 里的一个错误](https://github.com/ml-explore/mlx/pull/3071)）。设 $P$ 是小于 $H$ 的最大的 2 的幂。先取 $P$ 个头的斜率，它们都是
# 2 的整数次幂。还缺 $H - P$ 个，从 $2P$ 个头的斜率 $2^{-8h/(2P)} = 2^{-4h/P}$ 里取。偶数 $h = 2j$ 给出 $2^{-8j/P}$，这些已经有了；
# 奇数 $h = 1, 3, 5, \dots$ 则落在已有的斜率之间。缺几个，就按这个次序取几个，放在最后。
#
# 以 $H = 6$ 为例：由 $P = 4$ 得 $\frac14, \frac1{16}, \frac1{64}, \frac1{256}$；然后是八个头里 $h = 1, 3$ 的
# $\frac12, \frac18$。这些斜率没有排序，也不必排序：头与头之间没有先后。但是训练好的头，它的权重是与*它自己的*斜率配套的，
# 所以次序也是模型的一部分。

# %% [markdown]
# ### 练习 7.1 · 斜率（3 分）
#
# 写出 `alibi_slopes`，头数任意，规则与作者的代码相同。


# %% nbgrader={"grade_id": "alibi_slopes", "solution": true}
def alibi_slopes(num_heads: int) -> Tensor:
    """每个头的斜率：[num_heads]，float32。"""
    ### BEGIN SOLUTION
    power = 2 ** int(math.log2(num_heads))  # P，不超过 H 的最大的 2 的幂
    neat = 2.0 ** (-8 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * torch.arange(1, 2 * power, 2) / power)  # 2P 个头里的奇数项
    return torch.cat([neat, between[: num_heads - power]])
    ### END SOLUTION


# %% nbgrader={"grade_id": "alibi_slopes_laws", "grade": true, "points": 3}
with quiet():
    eight = alibi_slopes(8)
    assert eight.shape == (8,), "每个头一个斜率。"
    assert torch.allclose(eight, torch.tensor([1 / 2**h for h in range(1, 9)])), "八个头：1/2, 1/4, ... 1/256。"
    assert torch.allclose(alibi_slopes(16)[1::2], eight), "16 个头的斜率，每隔一个就是 8 个头的斜率。"
    six = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])
    assert torch.allclose(alibi_slopes(6), six), "六个头：先是 4 个头的四个，再是 8 个头的两个，h = 1 和 3。"
    ### BEGIN HIDDEN TESTS
    for power in (1, 2, 4, 8, 16, 64):
        slopes = alibi_slopes(power)
        assert (slopes.shape, slopes.dtype) == ((power,), torch.float32), "每个头一个 float32 的斜率。"
        ratios = slopes / torch.cat([torch.ones(1), slopes[:-1]])
        assert torch.allclose(ratios, ratios[0].expand(power)), "每个斜率都是前一个乘以同一个公比。"
        assert abs(slopes[-1] * 256 - 1) < 1e-5, "最后一个斜率是 1/256。"
    for heads, power in [(3, 2), (5, 4), (7, 4), (12, 8), (20, 16), (40, 32), (63, 32)]:
        slopes = alibi_slopes(heads)
        assert slopes.shape == (heads,), "每个头一个斜率。"
        neat = torch.tensor([2 ** (-8 * h / power) for h in range(1, power + 1)])
        assert torch.allclose(slopes[:power], neat), "先是不超过头数的 2 的幂所对应的斜率。"
        for number, slope in enumerate(slopes[power:].tolist()):
            above, below = (2 ** (-8 * h / power) for h in (number, number + 1))
            assert abs(slope / math.sqrt(above * below) - 1) < 1e-5, "再是居中的那些，大的在前。"
    ### END HIDDEN TESTS

# %%
figure, axes = plt.subplots(figsize=(7.2, 2.7))
for row, heads in enumerate((6, 8, 12, 16)):
    slopes = alibi_slopes(heads)
    power = 2 ** int(math.log2(heads))
    axes.plot(
        slopes[:power], [row] * power, "o", color=BLUE, markersize=7, label="slopes of P heads" if not row else None
    )
    rest = slopes[power:]
    axes.plot(rest, [row] * len(rest), "D", color=VERMILION, markersize=6, label="between them" if not row else None)
axes.set(xscale="log", xlabel="slope", ylim=(3.6, -0.6))
axes.set_xscale("log", base=2)
axes.set_yticks(range(4), [f"{heads} heads" for heads in (6, 8, 12, 16)])
axes.set_xticks([2.0**-h for h in range(9)], [f"1/{2**h}" if h else "1" for h in range(9)])
axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
steep = {heads: int((alibi_slopes(heads) > 1 / 17).sum()) for heads in (12, 16)}
axes.set_title(f"12 heads crowd the steep end: {steep[12]} of 12 are at 1/16 or more, and {steep[16]} of 16 heads are")
plt.show()

# %% [markdown]
# 从 8 个头到 16 个头，多出来的都从右边，也就是斜率大的一边补进来：12 个头里有 8 个的斜率不小于 1/16，16 个头里也是 8 个。
# 这样的模型，看近处的头比看远处的多。
#
# ## 偏置与掩码
#
# 解码器还要把后面的 token 遮住。两者合成一个张量加到得分上，对每个头是
#
# $$
# B_{mn} = \begin{cases} -s_h\, (m - n) & n \le m \\ -\infty & n > m , \end{cases}
# $$
#
# 所以程序里常把它就当作“掩码”来构造（[有人问过](https://github.com/ofirpress/attention_with_linear_biases/issues/7)）。模型逐个
# token 往下写时，会把以前的键存在缓存里：查询比键少，而且查询是*最后*的几个位置。有 $Q$ 个查询、$K$ 个键时，第
# $r = 0, \dots, Q - 1$ 行对应位置 $m = K - Q + r$。

# %% [markdown]
# ### 练习 7.2 · 偏置与掩码合一（3 分）
#
# 写出 `alibi_mask`。


# %% nbgrader={"grade_id": "alibi_mask", "solution": true}
def alibi_mask(slopes: Tensor, num_queries: int, num_keys: int) -> Tensor:
    """加到得分上的张量：负的斜率乘以距离；对后面的键是负无穷。

    Args:
        slopes: [heads]。
        num_queries: Q，不超过 num_keys；查询是最后 Q 个位置。
        num_keys: K；键是位置 0 .. K-1。

    Returns:
        [heads, Q, K]。
    """
    ### BEGIN SOLUTION
    query, key = torch.arange(num_keys - num_queries, num_keys), torch.arange(num_keys)
    distance = query[:, None] - key  # [Q, K]，后面的键为负
    bias = -slopes[:, None, None] * distance  # [heads, Q, K]
    return bias.masked_fill(distance < 0, -torch.inf)
    ### END SOLUTION


# %% nbgrader={"grade_id": "alibi_mask_laws", "grade": true, "points": 3}
with quiet():
    never = -torch.inf
    half = torch.tensor([[[0, never, never], [-0.5, 0, never], [-1, -0.5, 0]]])
    assert torch.equal(alibi_mask(torch.tensor([0.5]), 3, 3), half), "斜率 1/2，三个 token：手算的结果。"
    last = torch.tensor([[[-1.5, -1, -0.5, 0]]])
    assert torch.equal(alibi_mask(torch.tensor([0.5]), 1, 4), last), "一个查询，四个键：查询是最后一个位置。"
    ### BEGIN HIDDEN TESTS
    slopes = torch.tensor([0.5, 0.25, 1 / 64])
    whole = alibi_mask(slopes, 9, 9)
    assert whole.shape == (3, 9, 9), "形状是 [heads, queries, keys]。"
    assert torch.equal(whole.isinf(), torch.ones(3, 9, 9).triu(1) > 0), "后面是无穷，也只有后面是无穷。"
    assert not whole.isnan().any(), "不能有 nan：0 乘无穷就是 nan。"
    for head in range(3):
        for m in range(9):
            for n in range(m + 1):
                assert whole[head, m, n] == -slopes[head] * (m - n), "该头的斜率乘以距离，取负。"
    for queries in (1, 4, 8):
        part = alibi_mask(slopes, queries, 9)
        assert torch.equal(part, whole[:, -queries:]), "查询较少时，是完整张量的最后几行。"
    assert torch.equal(alibi_mask(slopes, 5, 5), whole[:, 4:, 4:]), "只有距离起作用，与文本从哪里开始无关。"
    ### END HIDDEN TESTS

# %% [markdown]
# 让 64 个得分随机的 token 往回看：用八个头中的三个各看一次，再不带偏置看一次。

# %%
LENGTH = 64
random = torch.Generator().manual_seed(1)
scores = torch.randn(LENGTH, LENGTH, generator=random)
masks = alibi_mask(alibi_slopes(8), LENGTH, LENGTH)
causal = torch.zeros(LENGTH, LENGTH).masked_fill(torch.ones(LENGTH, LENGTH).triu(1) > 0, -torch.inf)
views = {"slope 1/2": masks[0], "slope 1/16": masks[3], "slope 1/256": masks[7], "no bias": causal}

figure, panels = plt.subplots(1, 4, figsize=(7.2, 2.5))
reaches = []
for axes, (name, mask) in zip(panels, views.items(), strict=True):
    weights = torch.softmax(scores + mask, dim=-1)
    from_last = weights[-1].flip(0).cumsum(0)  # 从最后一个键往回累加
    reaches.append(int((from_last < 0.5).sum()) + 1)
    axes.imshow(weights.log10().masked_fill(mask.isinf(), torch.nan), vmin=-3, vmax=0)
    axes.set(xticks=[0, 63], yticks=[0, 63], xlabel="key")
    axes.set_title(f"{name}\nhalf within {reaches[-1]}", fontweight="normal", fontsize=9.5)
panels[0].set(ylabel="query")
headline(
    figure,
    f"Half of the last token's weight lies within {reaches[0]}, {reaches[1]}, {reaches[2]} and {reaches[3]} tokens",
)
plt.show()

# %% [markdown]
# （颜色按对数：黄色是全部权重，深蓝是千分之一或更少，白色是被遮住的。）斜率最大的头，一半的权重就在眼前；斜率最小的头，在 64 个
# token 里几乎与没有偏置一样，文本更长时才看得出差别。
#
# **编码器**两边都看得到。这时取 $-s_h\, |m - n|$，不加掩码；但这样两边看起来一样，还得另想办法区分方向
# （[作者的几个提议](https://github.com/ofirpress/attention_with_linear_biases/issues/5)）。
#
# ## 一行就够了
#
# 打开实际的程序，常常根本找不到距离。BLOOM 和作者自己的代码加的是 $+s_h\, n$：是正的，对所有查询都一样，与 $m$ 无关。
# “不应该是负的吗？”（[在这里有人问](https://github.com/ofirpress/attention_with_linear_biases/issues/9)，
# [还有人问 MPT](https://github.com/mosaicml/llm-foundry/issues/186)）。答案在于 softmax 的一个性质。给一行的所有得分加上同一个数 $c$：
#
# $$
# \frac{e^{S_n + c}}{\sum_j e^{S_j + c}} = \frac{e^c\, e^{S_n}}{e^c \sum_j e^{S_j}} = \frac{e^{S_n}}{\sum_j e^{S_j}} .
# $$
#
# 什么都没变：softmax 有**平移不变性**。而 $-s_h (m - n) = s_h n - s_h m$，在查询 $m$ 的那一行里，$-s_h m$ 正是这样一个常数，
# 可以去掉。剩下的部分与查询无关，所以 $K$ 个数的一行，就能供所有查询使用。
#
# 前提是有掩码（后面的键不能混进来），而且整行加的是同一个常数。

# %% [markdown]
# ### 练习 7.3 · 一行供所有查询使用（2 分）
#
# 写出 `key_bias`：一个与查询无关的偏置，使因果注意力的结果不变。每个头的那一行整体加上任何常数都算对。


# %% nbgrader={"grade_id": "key_bias", "solution": true}
def key_bias(slopes: Tensor, num_keys: int) -> Tensor:
    """每个头一行，加到每个查询的得分上：[heads, 1, num_keys]。"""
    ### BEGIN SOLUTION
    return slopes[:, None, None] * torch.arange(num_keys)
    ### END SOLUTION


# %% nbgrader={"grade_id": "key_bias_laws", "grade": true, "points": 2}
with quiet():
    never = -torch.inf
    half = torch.tensor([[[0, never, never], [-0.5, 0, never], [-1, -0.5, 0]]])  # ALiBi，斜率 1/2，手算
    ahead = torch.tensor([[0, never, never], [0, 0, never], [0, 0, 0]])
    row = key_bias(torch.tensor([0.5]), 3)
    assert row.shape == (1, 1, 3), "每个头一行：[heads, 1, keys]。"
    same = torch.allclose(torch.softmax(row + ahead, -1), torch.softmax(half, -1), atol=1e-6)
    assert same, "经过掩码和 softmax，这一行给出 ALiBi 的权重。"
    ### BEGIN HIDDEN TESTS
    slopes, keys = torch.tensor([0.5, 0.125, 1 / 256]), torch.arange(20)
    ahead = torch.zeros(20, 20).masked_fill(keys[:, None] < keys, -torch.inf)
    distances = -slopes[:, None, None] * (keys[:, None] - keys)
    scores = torch.randn(3, 20, 20, generator=torch.Generator().manual_seed(2))
    row = key_bias(slopes, 20)
    assert row.shape == (3, 1, 20), "每个头一行：[heads, 1, keys]。"
    expected = torch.softmax(scores + distances + ahead, -1)
    assert torch.allclose(torch.softmax(scores + row + ahead, -1), expected, atol=1e-5), "每个头有自己的斜率。"
    steps = row.diff(dim=-1) / slopes[:, None, None]
    assert torch.allclose(steps, torch.ones_like(steps), atol=1e-3), "从一个键到下一个键，偏置增加一个斜率。"
    ### END HIDDEN TESTS

# %% [markdown]
# 在纸上相等，在 16 位里却不相等。bfloat16 有 8 个有效比特，从 256 起就不能表示所有的整数了。$s_h n$ 这一行恰恰在权重所在的地方，
# 也就是最新的那些键上数值很大，相邻的键会舍入成同一个数。距离 $s_h (m - n)$ 则在权重所在的地方很小，舍入只影响那些本来就没有什么
# 分量的键。下面*只把偏置*舍入到 bfloat16，其余都用 float32。低于 $10^{-6}$ 的值画在 $10^{-6}$ 处。

# %%
lengths = [64, 128, 256, 512, 1024, 2048, 4096]
random = torch.Generator().manual_seed(3)


def weight_moved(slope: float, length: int, form: str) -> float:
    """偏置为 bfloat16 时，最后一个查询有多少权重落到别的键上；对 100 个查询求平均。"""
    key = torch.arange(length)
    scores = torch.randn(100, length, generator=random)
    distances = -slope * (length - 1 - key)
    rounded = (slope * key if form == "row" else distances).bfloat16().float()
    moved = torch.softmax(scores + distances, -1) - torch.softmax(scores + rounded, -1)
    return max(moved.abs().sum(-1).mean().item() / 2, 1e-6)  # 再小就低于 float32 的分辨率了


figure, axes = plt.subplots(figsize=(7.2, 2.9))
styles = [("row", 1 / 2, VERMILION, "-", "o"), ("row", 1 / 256, VERMILION, "--", "s")]
styles += [("distance", 1 / 2, BLUE, "-", "o"), ("distance", 1 / 256, BLUE, "--", "s")]
curves = {}
for form, slope, color, dashes, marker in styles:
    curves[form, slope] = [weight_moved(slope, length, form) for length in lengths]
    name = f"{'s n' if form == 'row' else '−s (m − n)'}, s = 1/{round(1 / slope)}"
    axes.plot(lengths, curves[form, slope], color=color, linestyle=dashes, marker=marker, markersize=4, label=name)
axes.set_xscale("log", base=2)
axes.set_xticks(lengths, lengths)
axes.set(yscale="log", ylim=(1e-6, 1), xlabel="tokens in the text", ylabel="weight on wrong keys")
axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
wrong = curves["row", 1 / 2][-1]
most = max(max(curves["distance", slope]) for slope in (1 / 2, 1 / 256))
headline(
    figure,
    f"bfloat16, 4096 tokens: the row misplaces {wrong:.0%} of a steep head's weight, distances ≤ {most:.1%}",
)
plt.show()

# %% [markdown]
# 到 4096 个 token 时，大斜率的头有约四成的权重放错了键；按距离来算，最多只有千分之一左右。所以，要么把偏置留在 float32，要么从查询
# 往回数距离。[BLOOM 所用代码的一次评审](https://github.com/bigscience-workshop/Megatron-DeepSpeed/pull/101)讨论过这个转换；在
# [vLLM](https://github.com/vllm-project/vllm/pull/945) 里，有人报告说给这一行加一个常数，纸上毫无区别，模型写出来的却变了。
#
# ## 它为什么撑得住，又付出了什么
#
# 一个头能看多远？设一行里所有的点积除以 $\sqrt d$ 之后都在 $-b$ 与 $b$ 之间，文本有 $L$ 个 token。距离不小于 $D$ 的键，
# 得到的权重最多是
#
# $$
# \frac{\sum_{j=D}^{L-1} e^{b - s_h j}}{\sum_{j=0}^{L-1} e^{-b - s_h j}}
# = e^{2b}\, \frac{e^{-s_h D} - e^{-s_h L}}{1 - e^{-s_h L}} \le e^{2b - s_h D} .
# $$
#
# 分子里让远处的键得分都尽可能高，分母里让所有的键得分都尽可能低；两个等比数列求和，分母都是 $1 - e^{-s_h}$，正好约去；最后一步用了
# $e^{-s_h L} \ge e^{-s_h D} e^{-s_h L}$。这个上界里没有 $L$：无论文本有没有继续下去，远处的 token 都会淡出。所以，如果一个头在 $L$ 个
# token 上训练过，而 $s_h L$ 很大，到了 $2L$ 它也看不到什么新东西。ALiBi 撑得住长文本，**是因为它几乎不看远处**。作者自己也这么说：
# 大部分好处来自“前文太短的 token 变少了”，而不是用上了更长的上下文（[附录 B](https://arxiv.org/abs/2108.12409)）。
#
# 代价可以用两种方式来量。左图是一个头实际上看到多少个 token：取权重的 $e^{\text{熵}}$，如果 $k$ 个 token 平分权重，它就是 $k$。
# 右图是距离 $D$ 处的*单独*一个 token（文本的第一个），得分要比其他所有 token 高出多少，才能拿到一半的权重。它的权重
# $e^{a - s_h D}$ 必须等于其他所有权重之和，所以
#
# $$
# a = s_h D + \ln \sum_{j=0}^{D-1} e^{-s_h j} .
# $$
#
# 没有偏置时 $s_h = 0$，这就是 $\ln D$。

# %%
lengths = [2**power for power in range(2, 13)]
random = torch.Generator().manual_seed(4)
heads = [("no bias", 0.0, BLACK, "-"), ("s = 1/256", 1 / 256, BLUE, "--")]
heads += [("s = 1/32", 1 / 32, GREEN, "-."), ("s = 1/2", 1 / 2, VERMILION, ":")]


def tokens_seen(slope: float, length: int) -> float:
    """得分随机时，最后一个查询实际上看到的 token 数；对 50 个查询求平均。"""
    bias = -slope * torch.arange(length)
    log_weights = torch.log_softmax(torch.randn(50, length, generator=random) + bias, dim=-1)
    return (-(log_weights.exp() * log_weights).sum(-1)).exp().mean().item()


def price(slope: float, distance: Tensor) -> Tensor:
    """某些距离上的 token，得分要高出多少才能拿到一半的权重。"""
    others = torch.exp(-slope * torch.arange(int(distance.max()))).cumsum(0)  # 到每个距离为止的和
    return slope * distance + others[distance - 1].log()


figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0))
back = torch.arange(1, 4097)
for name, slope, color, style in heads:
    left.plot(lengths, [tokens_seen(slope, length) for length in lengths], color=color, linestyle=style, label=name)
    right.plot(back, price(slope, back), color=color, linestyle=style, label=name)
left.set(xlabel="tokens in the text", ylabel="tokens seen")
left.set_xscale("log", base=2)
left.set_yscale("log", base=2)
left.set_xticks([4, 64, 1024, 4096], [4, 64, 1024, 4096])
left.set_yticks([4, 64, 1024, 4096], [4, 64, 1024, 4096])
left.legend(loc="upper left", fontsize=8.5)
right.set(
    xlabel="distance D", ylabel="score needed for half the weight", ylim=(0, 30), xticks=[0, 1024, 2048, 3072, 4096]
)
free, flat = price(0.0, back)[-1], price(1 / 256, back)[-1]
widest = tokens_seen(1 / 256, 4096)
headline(
    figure,
    f"The flattest head sees {widest:.0f} of 4096 tokens; looking 4096 back costs it {flat:.0f}, NoPE {free:.0f}",
)
plt.show()

# %% [markdown]
# 左图：每个头都在自己的范围上停住，文本再长也不变；斜率最小的头，在 4096 个 token 里也只看到四百来个。右图：有偏置时，代价与距离成
# 正比；没有偏置时，只像对数那样增长。几千个 token 之前只说过一次的事，斜率大的头够不着，斜率小的头要付很高的代价。由此并不能推出
# 模型用不上它：可以由几层接力传过来；而困惑度考的主要是近处的 token，有没有用上它都看不出来。也不能推出用了 ALiBi 的模型都撑得住：
# [BTLM](https://huggingface.co/cerebras/btlm-3b-8k-base) 的作者发现，只在 2048 个 token 上训练走不了多远，于是也用更长的文本训练。
#
# ## NoPE：让模型自己数
#
# 黑线代表完全没有编码的模型。第 0 节找到了词序渗进来的那道缝：在因果掩码之下，一个对所有 token 一视同仁的头，在位置 $n$ 上给首
# token 的份额是 $a_n = 1/(n + 1)$，后面的层可以由此读出 $n = 1/a_n - 1$。这是绝对位置。这样的模型也能看*距离*吗？
#
# 假设第一层已经把 $n$ 写进了每个 token，旁边还有一个 1。这就是第 1 节的编码 $(n, 1)$，带偏置的整数。设一个头的查询是
# $(-s m,\, s)$，键是 $(1,\, n)$，两者都是它的线性函数。点积是
#
# $$
# -s m \cdot 1 + s \cdot n = -s\, (m - n) :
# $$
#
# **仅凭数数，就得到了 ALiBi。**（由上面的平移不变性，只要 $s \cdot n$ 就够了。）
# [Kazemnejad 等，2023，第 5 节](https://arxiv.org/abs/2305.19466)证明了这两步：第一层能恢复绝对位置（定理 1），后面的层能把它变成
# 取决于距离的偏置（定理 2）。整数加到 token 上会淹没它们，在得分里却正得其所。
#
# 网络*能*做到，不等于它真的这样做。而且这个计数器很脆弱：我们来造这个头，取第 1000 个查询，份额分别存成 float32 和 bfloat16。

# %%
QUERY, SLOPE = 1000, 1 / 4
position = torch.arange(QUERY + 1)
share = 1 / (position + 1)
target = torch.softmax(-SLOPE * (QUERY - position), dim=-1)

built = {}
for name, kept in {"float32": share, "bfloat16": share.bfloat16().float()}.items():
    counted = 1 / kept - 1  # 下一层读到的数
    query = torch.stack([-SLOPE * counted[-1], torch.tensor(SLOPE)])  # (-s m, s)
    key = torch.stack([torch.ones_like(counted), counted], dim=-1)  # (1, n)
    built[name] = torch.softmax(key @ query, dim=-1)
missed = {name: (weights - target).abs().sum().item() / 2 for name, weights in built.items()}

figure, axes = plt.subplots(figsize=(7.2, 2.9))
distance = QUERY - position
near = distance <= 30
axes.plot(distance[near], target[near], color=GREY, linestyle="-", linewidth=4, alpha=0.5, label="ALiBi")
axes.plot(distance[near], built["float32"][near], color=BLUE, linestyle="--", label="counted, float32")
axes.plot(
    distance[near],
    built["bfloat16"][near],
    color=PURPLE,
    linestyle="-",
    drawstyle="steps-mid",
    label="counted, bfloat16",
)
axes.set(xlabel="distance", ylabel="weight", ylim=(0, None))
axes.legend(loc="upper right")
astray, worse = missed["float32"], missed["bfloat16"]
headline(
    figure, f"NoPE can build ALiBi: {astray:.0e} of the weight goes astray in float32, but {worse:.0%} in bfloat16"
)
plt.show()

# %% [markdown]
# 用 float32，造出来的头与 ALiBi 完全重合；用 bfloat16，则有近两成的权重放错了地方：一整段位置的份额都是同一个数，这个头分不清它们，
# 只好给同样的权重。
#
# 关于 NoPE，已知的和未知的：
#
# - 在一些小型的推理和算术任务上，它推广到更长输入的能力胜过正弦、RoPE 和 ALiBi；训练之后，它的注意力与 T5 那种学出来的相对偏置相似
#   （[2305.19466](https://arxiv.org/abs/2305.19466)，第 4、5 节）。那些都是小模型、短输入。
# - 作为语言模型，超过某个长度它也会失灵：注意力摊到越来越多的 token 上，就像前面左图里的黑线；给每个头一个自己的温度，让注意力变尖，
#   会有帮助（[Wang 等，2024](https://arxiv.org/abs/2404.12224)）。
# - 没有掩码，它就是盲的（第 0 节）。编码器需要位置编码。
# - 也有混合的模型：一些层用 RoPE 管近处，一些层不用编码管远处（[Yang 等，2025](https://arxiv.org/abs/2501.18795)）。
#
# ## 一张表走完全程
#
# | | 告诉谁 | 唯一 | 平移 | 更长的文本 | 规则 | 更多维度 |
# |---|---|---|---|---|---|---|
# | 整数 | token | 是 | 旁边有 1 时是线性的 | 淹没 token | 有 | 每维一个数 |
# | 比特 | token | 到 $2^d$ 为止 | 非线性：有进位 | 没训练过的新位 | 有 | 每维几个比特 |
# | 正弦 | token | 是 | 旋转 $M_k$ | 有规则，训练找不到 | 有 | 每维几个特征 |
# | 可学习 | token | 看训练结果 | 否 | 没有对应的行 | 无 | 更大的表 |
# | RoPE | 查询、键 | 是 | 旋转，且只取决于 $m - n$ | 经过缩放（第 5 节） | 有 | 每维几对 |
# | ALiBi | 得分 | 按距离 | 只取决于 $m - n$ | 能，靠淡出 | 有 | [平面上的距离](https://arxiv.org/abs/2311.00566) |
# | NoPE | 谁也不告诉 | 看模型数不数 | 看模型数不数 | 能走一段 | – | – |
#
# 没有哪一行处处获胜，小模型上的名次也不能照搬到大模型。但是现在，无论在程序里遇到哪一种，你都能读懂它、说出它算的是什么，
# 并检验它是否如此：用规律来检验，而不是用存好的答案。
#
# 旅程到此结束。想从头再走一遍，请回到[第 0 节](0_why_position.ipynb)。

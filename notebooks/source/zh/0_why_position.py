# %% [markdown]
# # 0 · 为什么需要位置？
#
# 狗咬人不是新闻，人咬狗才是。两句话用的是同样三个词，不同的只有词序。注意力是 Transformer 的核心；
# 如果没有人告诉它词序，它对词序知道多少？
#
# 答案很短：**一无所知**。在这一节里，你会证明这一点、测量这一点，并找到词序还能渗进来的唯一一道缝。最后列出
# 我们希望位置编码具备的五条性质；后面几节会拿着这张清单，把各种编码逐一检验一遍。
#
# 图中的文字用英文，因为不是每台机器都有中文字体；每幅图的结论都会在正文里用中文说明。

# %%
import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, DIVERGING, GREEN, VERMILION, headline, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
# ## 最小的注意力
#
# 一个有 $n$ 个 token 的句子是一个矩阵 $X$，每个 token 占一行，每行 $d$ 个数。注意力由它算出查询 $Q = X W_Q$、
# 键 $K = X W_K$ 和值 $V = X W_V$，再把这些值混合起来：
#
# $$
# S = \frac{Q K^\top}{\sqrt d}, \qquad \mathrm{Attend}(X) = \mathrm{softmax}(S)\, V .
# $$
#
# 元素 $S_{mn}$ 表示第 $m$ 个 token 有多想读取第 $n$ 个 token。softmax 把 $S$ 的每一行变成和为 1 的权重
# （[Vaswani 等，2017](https://arxiv.org/abs/1706.03762)）。这里的权重矩阵是随机取的：
# 下面的结论对任何权重都成立，训练过或没训练过都一样。

# %%
WORDS = ["a", "bites", "chased", "dog", "man", "the"]
DIM = 16  # d，每个 token 的特征数

generator = torch.Generator().manual_seed(6)
TABLE = torch.randn(len(WORDS), DIM, generator=generator)
W_Q, W_K, W_V = 1.5 * torch.randn(3, DIM, DIM, generator=generator) / DIM**0.5


def embed(sentence: str) -> Tensor:
    """句中各词在表里对应的行：[n, DIM]。"""
    return TABLE[[WORDS.index(word) for word in sentence.split()]]


def attend(x: Tensor) -> Tensor:
    """一个没有位置信息的注意力头：[n, DIM] 到 [n, DIM]。"""
    query, key, value = x @ W_Q, x @ W_K, x @ W_V
    scores = query @ key.T / DIM**0.5  # [n, n]
    return torch.softmax(scores, dim=-1) @ value


# %% [markdown]
# ## 谁咬了谁？
#
# 让两个句子各自通过这一层。下图每一行是一个词的输出。


# %%
def show_rows(axes: plt.Axes, rows: Tensor, sentence: str, title: str) -> None:
    """画出一个句子的各个向量，每词一行。"""
    axes.imshow(rows, cmap=DIVERGING, vmin=-2, vmax=2, aspect="auto")
    axes.set(xticks=[], xlabel="features")
    axes.set_yticks(range(len(rows)), sentence.split())
    axes.set_title(title, fontweight="normal", fontsize=9.5)


figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.1))
one, other = "dog bites man", "man bites dog"
output, other_output = attend(embed(one)), attend(embed(other))
difference = other_output.flip(0) - output
show_rows(panels[0], output, one, f"{one}: output")
show_rows(panels[1], other_output, other, f"{other}: output")
show_rows(panels[2], difference, one, f"difference: at most {difference.abs().max():.0e}")
headline(figure, "Whoever bites whom, the vector of each word comes out the same")
plt.show()

# %% [markdown]
# 各行只是换了位置，此外什么也没变。不管狗是咬人还是被咬，dog 的向量都一样，因此这一层之后的任何东西
# 都无从知道是哪一种情况。
#
# ## 背后的规律
#
# 打乱 token 的次序，就是在 $X$ 左边乘一个**置换矩阵** $P$：每行每列恰有一个 1，其余为 0，所以 $P^\top P = I$。
# 让它随着计算一步步走下去：
#
# $$
# Q' = P X W_Q = P Q, \qquad K' = P K, \qquad V' = P V, \qquad
# S' = \frac{P Q K^\top P^\top}{\sqrt d} = P S P^\top .
# $$
#
# 得分还是原来那些，只是行和列以同样的方式打乱了。softmax 一次只看一行，也不在乎行内各数的先后，所以
# $\mathrm{softmax}(P S P^\top) = P\, \mathrm{softmax}(S)\, P^\top$，于是
#
# $$
# \mathrm{Attend}(P X) = P\, \mathrm{softmax}(S)\, P^\top P\, V = P\, \mathrm{Attend}(X) .
# $$
#
# 先打乱再计算，和先计算再打乱，结果相同。具有这种性质的映射称为**置换等变**（permutation equivariant）。
# MLP、归一化、残差这些逐 token 的层也有这个性质，由它们搭起来的一切同样如此：
# *没有掩码、也没有位置信息的 Transformer，无论多深，都看不见词序。*

# %% [markdown]
# ### 练习 0.1 · 量一量它有多“盲”（2 分）
#
# 写出 `order_gap`：它给出“先打乱再过这一层”与“先过这一层再打乱”相差多少。用下标张量就能打乱各行：`x[order]` 即 $P X$。


# %% nbgrader={"grade_id": "order_gap", "solution": true}
def order_gap(layer, x: Tensor, order: Tensor) -> float:
    """layer(P X) 与 P layer(X) 之差的最大绝对值。

    Args:
        layer: 从 [n, d] 到 [n, d] 的函数。
        x: [n, d]。
        order: [n]，0 .. n-1 的一个排列。
    """
    ### BEGIN SOLUTION
    return (layer(x[order]) - layer(x)[order]).abs().max().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "order_gap_laws", "grade": true, "points": 2}
with quiet():
    x, order = embed("the dog chased a man"), torch.tensor([2, 0, 3, 4, 1])
    row_numbers = torch.arange(5.0)[:, None]
    assert order_gap(attend, x, order) < 1e-5, "注意力是置换等变的，差别只来自舍入。"
    assert order_gap(lambda x: 2 * x, x, order) == 0, "乘以 2 是逐 token 的运算，不会产生差别。"
    gap = order_gap(lambda x: x + row_numbers, x, order)
    assert abs(gap - 3) < 1e-5, "加上行号之后：token 1 移到第 4 行，没有哪个 token 移得更远，所以差别是 3。"
    ### BEGIN HIDDEN TESTS
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))
    kept = x.clone()
    for seed in range(5):
        order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
        mean = order_gap(lambda x: x + x.mean(0), x, order)
        assert mean < 1e-5, "对全部 token 求平均，与次序无关。"
        moves = (order - torch.arange(7)).abs().max()
        gap = order_gap(lambda x: x - torch.arange(7.0)[:, None], x, order)
        assert abs(gap - moves) < 1e-5, "减去行号之后：差别就是最远的移动。"
    assert order_gap(lambda x: x.cumsum(0), x, order) > 0.1, "累加和取决于次序。"
    assert order_gap(lambda x: x.cumsum(0), x, torch.arange(7)) == 0, "没有打乱，就没有差别。"
    assert torch.equal(x, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 同一个词出现两次
#
# 看不见词序还有一个更尖锐的后果。设一个句子里有个词出现了两次。把这两处对调，句子不变，$P X = X$；于是由上面的
# 规律得 $\mathrm{Attend}(X) = P\, \mathrm{Attend}(X)$：两处的输出相等。上面再叠多少层，也分不开它们。

# %%
sentence = "the dog chased the man"
output = attend(embed(sentence))
distances = (output[:, None] - output[None, :]).norm(dim=-1)  # [n, n]

figure, axes = plt.subplots(figsize=(4.6, 3.0))
image = axes.imshow(distances)
axes.set_xticks(range(5), sentence.split())
axes.set_yticks(range(5), sentence.split())
for row in range(5):
    for column in range(5):
        shade = "white" if distances[row, column] < distances.max() / 2 else "black"
        axes.text(column, row, f"{distances[row, column]:.1f}", ha="center", va="center", color=shade, fontsize=8)
figure.colorbar(image, label="distance of the outputs")
headline(figure, "The first and the second “the” cannot be told apart")
plt.show()

# %% [markdown]
# 两个 the 的输出距离为零：哪个 the 属于 dog，哪个属于 man？对这一层来说，这个问题根本无从问起。
#
# ## 一道缝：因果掩码
#
# 语言模型从左往右读：只有当 $n \le m$ 时，第 $m$ 个 token 才能看第 $n$ 个 token。做法是给得分加上掩码 $M$，
# 允许看的地方是 0，其余是 $-\infty$；由于 $e^{-\infty} = 0$，相应的权重就消失了：
#
# $$
# \mathrm{Causal}(X) = \mathrm{softmax}(S + M)\, V, \qquad
# M_{mn} = \begin{cases} 0 & n \le m \\ -\infty & n > m . \end{cases}
# $$
#
# 前面的证明到这里走不通了：打乱的是得分，掩码却没有跟着打乱，$P S P^\top + M \ne P\,(S + M)\,P^\top$。

# %% [markdown]
# ### 练习 0.2 · 只许往回看（2 分）
#
# 写出 `causal_attend`：与 `attend` 相同，但带掩码。掩码要加在 softmax *之前*；
# 如果在 softmax 之后才去掉权重，剩下的权重之和就不再是 1。


# %% nbgrader={"grade_id": "causal_attend", "solution": true}
def causal_attend(x: Tensor) -> Tensor:
    """第 m 个 token 只能看到第 0 .. m 个 token 的注意力头：[n, DIM] 到 [n, DIM]。"""
    query, key, value = x @ W_Q, x @ W_K, x @ W_V
    ### BEGIN SOLUTION
    scores = query @ key.T / DIM**0.5  # [n, n]
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)  # 严格在对角线上方：n > m
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ value
    ### END SOLUTION


# %% nbgrader={"grade_id": "causal_attend_laws", "grade": true, "points": 2}
with quiet():
    x = embed("the dog chased a man")
    output = causal_attend(x)
    assert output.shape == x.shape, "每个 token 输出一个向量。"
    torch.testing.assert_close(output[0], x[0] @ W_V, msg="第一个 token 只看得到自己：输出就是它自己的值。")
    torch.testing.assert_close(output[-1], attend(x)[-1], msg="最后一个 token 看得到全部，与没有掩码时一样。")
    torch.testing.assert_close(causal_attend(x[:3]), output[:3], msg="后面的 token 不影响前面的输出。")
    ### BEGIN HIDDEN TESTS
    x = torch.randn(9, DIM, generator=torch.Generator().manual_seed(2))
    kept, output = x.clone(), causal_attend(x)
    for length in range(1, 10):
        torch.testing.assert_close(causal_attend(x[:length]), output[:length], msg="前缀的输出保持不变。")
        torch.testing.assert_close(output[length - 1], attend(x[:length])[-1], msg="对过去各 token 的权重之和为 1。")
    assert causal_attend(100 * x).isfinite().all(), "得分很大时也要保持有限：用 softmax，不要自己做除法。"
    assert (causal_attend(x.flip(0)).flip(0) - output).abs().max() > 0.1, "掩码打破了对称性。"
    assert torch.equal(x, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# 现在用一个随机句子的 40 种随机次序来比较：只有注意力；四个完整的块，带残差、归一化和 MLP，但没有掩码；
# 带掩码的注意力；以及先给每个位置加上各自的向量再做注意力。

# %%
random = torch.Generator().manual_seed(3)
x = torch.randn(12, DIM, generator=random)
positions = torch.randn(12, DIM, generator=random)
w_up, w_down = torch.randn(DIM, 4 * DIM, generator=random) / 4, torch.randn(4 * DIM, DIM, generator=random) / 8


def four_blocks(x: Tensor) -> Tensor:
    """四个没有位置信息的 Transformer 块：[n, DIM] 到 [n, DIM]。"""
    for _ in range(4):
        x = x + attend(torch.nn.functional.layer_norm(x, (DIM,)))
        x = x + torch.relu(torch.nn.functional.layer_norm(x, (DIM,)) @ w_up) @ w_down
    return x


layers = {
    "attention": attend,
    "four blocks": four_blocks,
    "causal attention": causal_attend,
    "attention on X + positions": lambda x: attend(x + positions),
}
orders = [torch.randperm(12, generator=random) for _ in range(40)]

figure, axes = plt.subplots(figsize=(7.2, 2.3))
for row, layer in enumerate(layers.values()):
    gaps = torch.tensor([order_gap(layer, x, order) for order in orders])
    spread = row + 0.25 * (torch.rand(40, generator=random) - 0.5)
    axes.plot(gaps, spread, "o", color=BLUE if row < 2 else VERMILION, alpha=0.5, markersize=4)
axes.set(xscale="log", xlim=(1e-8, 1e2), xlabel="order gap (float32 rounding is near 1e-7)")
axes.set_yticks(range(4), layers)
axes.invert_yaxis()
axes.set_title("Only a mask, or a position code, notices a shuffle")
plt.show()

# %% [markdown]
# 前两行的差别只有舍入误差那么大，后两行则大得多：只有掩码或位置编码才察觉得到次序的变化。
#
# ## 这道缝有多宽？
#
# 单靠掩码，并不宽：在 the the the the 里，每个 token 都是在对相等的值求平均，有没有掩码，所有输出都相等。
# 只有本来就有差异的地方，掩码才能带来次序。而一处差异就够了：一个与众不同的首 token；语言模型在每段文本的开头都有这样一个。
#
# 设有一个头对所有 token 一视同仁，首 token 的值为 1，其余的值为 0。位置 $m = 0, 1, 2, \dots$ 上的 token
# 看得到 $m + 1$ 个 token，其中一个是首 token，所以输出的是首 token 所占的份额
#
# $$
# a_m = \frac{1}{m + 1} .
# $$
#
# 这一层会数数！没有任何位置编码的模型（**NoPE**）就是这样知道自己在哪里的：
# [Kazemnejad 等，2023](https://arxiv.org/abs/2305.19466) 证明第一层就能做到，
# [Haviv 等，2022](https://arxiv.org/abs/2203.16634) 发现训练出来的模型确实如此。

# %% [markdown]
# ### 练习 0.3 · 读出计数（1 分）
#
# 写出 `position_from_share`，由 $a_m$ 求回 $m$。


# %% nbgrader={"grade_id": "position_from_share", "solution": true}
def position_from_share(share: Tensor) -> Tensor:
    """由首 token 的份额求出各 token 的位置，dtype 为 long：[n] 到 [n]。"""
    ### BEGIN SOLUTION
    return (1 / share - 1).round().long()
    ### END SOLUTION


# %% nbgrader={"grade_id": "position_from_share_laws", "grade": true, "points": 1}
with quiet():
    is_first = torch.tensor([1.0, 0, 0, 0, 0, 0])
    looks_back = torch.ones(6, 6).tril()
    share = (looks_back / looks_back.sum(-1, keepdim=True)) @ is_first  # 上面描述的那个头
    assert position_from_share(share).tolist() == [0, 1, 2, 3, 4, 5], "首 token 的位置是 0。"
    ### BEGIN HIDDEN TESTS
    positions_read = position_from_share(1 / torch.arange(1.0, 1001.0))
    assert positions_read.dtype == torch.long, "位置是整数：请转换为 long。"
    assert torch.equal(positions_read, torch.arange(1000)), "先四舍五入再转换；转换本身会直接截断。"
    assert position_from_share(torch.tensor([0.1])).tolist() == [9], "每个份额各自独立求解。"
    ### END HIDDEN TESTS

# %% [markdown]
# 这个计数器有个缺陷。从一个位置到下一个位置，份额大约只减少 $1/m^2$，很快就小于 16 位数所能分辨的差别。
# 把份额舍入到 bfloat16，再读回来看看：

# %%
m = torch.arange(1000)
exact = 1 / (m + 1)
read = position_from_share(exact.bfloat16().float())
lost = int((exact.bfloat16()[1:] == exact.bfloat16()[:-1]).nonzero()[0])  # 第一个与后一位置相等的位置

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8))
left.loglog(m + 1, exact, color=BLUE, linestyle="-", label="share of the first token")
left.loglog(m + 1, exact - 1 / (m + 2), color=VERMILION, linestyle="--", label="step to the next position")
left.set(xlabel="position + 1")
left.legend(loc="lower left")
right.axhline(0, color=BLACK, linestyle=":", linewidth=1)
right.plot(m, read - m, ".", color=GREEN, markersize=2)
right.set(xlabel="position", ylabel="position read, minus true one")
headline(figure, f"A causal layer can count, but in bfloat16 positions {lost} and {lost + 1} are already one")
plt.show()

# %% [markdown]
# 左图：步长比份额本身缩小得快得多。右图：在 bfloat16 里，很早就有相邻的两个位置合而为一，此后读数越来越粗。
#
# 可见词序确实能渗进来，但很微弱：模型得专门花一个头去数，文本一长又读不准。第 6 节会真的训练这样一个模型来比较。
# 更好的办法，是直接*告诉*模型每个 token 在哪里。
#
# ## 我们希望位置编码是什么样的
#
# 记 $\mathrm{PE}(p)$ 为编码对位置 $p$ 给出的描述。参照
# [Fleetwood, 2024](https://huggingface.co/blog/designing-positional-encoding)，我们的清单有五条：
#
# | | 愿望 | 用公式或问题来说 | 在哪里检验 |
# |---|---|---|---|
# | 1 | **唯一** | $p \ne q$ 时 $\mathrm{PE}(p) \ne \mathrm{PE}(q)$，无论文本多长 | 第 1 节 |
# | 2 | **平移是线性的** | $\mathrm{PE}(p + k) = M_k\, \mathrm{PE}(p)$，同一个 $M_k$ 适用于所有 $p$ | 第 1、2 节 |
# | 3 | **能延伸到更长的文本** | 训练时没见过的位置上会发生什么？ | 第 4 至 7 节 |
# | 4 | **有固定的规则** | 一个处处成立的公式，而不是一张碰巧如此的表 | 第 1 节 |
# | 5 | **能推广到更多维度** | 从 $p$ 到图像里的 $(x, y)$：规则跟得上吗？ | 第 2 节 |
#
# 决定后面一切走向的是第二条。在文本里，要紧的很少是“第 4017 个 token”，而常常是“往回三个 token”。如果平移 $k$
# 是一个线性映射，那么由线性映射和点积构成的注意力，就能一次学会在任何地方都“往回看三个”。
#
# **下一节：**[第 1 节](1_before_rope.ipynb)从最直接的编码开始，也就是数字 $p$ 本身，看看它有什么毛病。

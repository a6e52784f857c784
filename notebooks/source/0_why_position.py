# %% [markdown] lang="en"
# # 0 · Why position?
#
# "Dog bites man" is no news, "man bites dog" is. Both hold the same three words. What does attention know about their
# order if nobody tells it? **Nothing**. You will prove it, measure it, and find the one crack through which order leaks
# in. The last section lists five wishes, by which the next notebooks judge one position code after the other.

# %% [markdown] lang="zh"
# # 0 · 为什么需要位置？
#
# 狗咬人不是新闻，人咬狗才是，用的是同样三个词。如果没有人告诉注意力词序，它知道多少？**一无所知**。你会证明这一点、测量
# 这一点，并找到词序唯一能漏进来的地方。最后列出五条要求，后面几节就拿它们逐一检验各种位置编码。（在 Jupyter 里打开时，
# 图中的文字是英文，因为不是每台机器都有中文字体；在手册里都是中文。每幅图的结论，正文都会用中文说明。）

# %%
import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, DIVERGING, VERMILION, headline, to_touch, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en"
# ## Attention, as small as it gets
#
# A sentence of $n$ tokens is a matrix $X$ with a row of $d$ numbers for each token. Attention makes queries
# $Q = X W_Q$, keys $K = X W_K$ and values $V = X W_V$ of it, and mixes the values:
#
# $$
# S = \frac{Q K^\top}{\sqrt d}, \qquad \mathrm{Attend}(X) = \mathrm{softmax}(S)\, V .
# $$
#
# $S_{mn}$ says how much token $m$ wants to read from token $n$; the softmax makes each row add up to one ([Vaswani et
# al., 2017](https://arxiv.org/abs/1706.03762v7)). The weights here are random; what follows holds for any.

# %% [markdown] lang="zh"
# ## 最小的注意力
#
# 一个有 $n$ 个 token 的句子是一个矩阵 $X$，每个 token 占一行，每行 $d$ 个数。注意力由它算出查询 $Q = X W_Q$、
# 键 $K = X W_K$ 和值 $V = X W_V$，再把这些值混合起来：
#
# $$
# S = \frac{Q K^\top}{\sqrt d}, \qquad \mathrm{Attend}(X) = \mathrm{softmax}(S)\, V .
# $$
#
# $S_{mn}$ 表示第 $m$ 个 token 有多想读取第 $n$ 个 token；softmax 让每一行的和
# 为 1（[Vaswani 等，2017](https://arxiv.org/abs/1706.03762v7)）。这里的权重是随机取的，下面的结论对任何权重都成立。

# %%
WORDS = ["a", "bites", "chased", "dog", "man", "the"]
DIM = 16  # d, features of a token

generator = torch.Generator().manual_seed(6)
TABLE = torch.randn(len(WORDS), DIM, generator=generator)
W_Q, W_K, W_V = 1.5 * torch.randn(3, DIM, DIM, generator=generator) / DIM**0.5


def embed(sentence: str) -> Tensor:
    """The rows of the table for the words of a sentence: [n, DIM]."""
    return TABLE[[WORDS.index(word) for word in sentence.split()]]


def attend(x: Tensor) -> Tensor:
    """One attention head without positions: [n, DIM] to [n, DIM]."""
    query, key, value = x @ W_Q, x @ W_K, x @ W_V
    scores = query @ key.T / DIM**0.5  # [n, n]
    return torch.softmax(scores, dim=-1) @ value


# %% [markdown] lang="en" short=true
# ## Who bites whom?
#
# Both sentences pass through the layer. Each row below is what comes out for one word: orange is negative, purple
# positive (blue in the figure to touch).

# %% [markdown] lang="zh" short=true
# ## 谁咬了谁？
#
# 两个句子各自通过这一层。下图每一行是一个词的输出：橙色是负数，紫色是正数（动手的图里是蓝色）。


# %%
def show_rows(axes: plt.Axes, rows: Tensor, sentence: str, title: str) -> None:
    """Draw the vectors of a sentence, one row for each word."""
    axes.imshow(rows, cmap=DIVERGING, vmin=-2, vmax=2, aspect="auto")
    axes.set(xticks=[], xlabel="features")
    axes.set_yticks(range(len(rows)), sentence.split())
    for label in axes.get_yticklabels():
        label.set_color({"dog": BLUE, "man": VERMILION}.get(label.get_text(), BLACK))
    axes.set_title(title, fontweight="normal", fontsize=9.5)


figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.1))
one, other = "dog bites man", "man bites dog"
output, other_output = attend(embed(one)), attend(embed(other))
difference = other_output.flip(0) - output
show_rows(panels[0], output, one, f"{one}: output")
show_rows(panels[1], other_output, other, f"{other}: output")
show_rows(panels[2], difference, one, f"difference: at most {difference.abs().max():.0e}")
headline(figure, "Either way, the vector of each word comes out the same")
plt.show()

places = torch.randn(3, DIM, generator=torch.Generator().manual_seed(0))  # any vectors do
parts = [[(rows @ weights).tolist() for weights in (W_Q, W_K, W_V)] for rows in (embed(one), places)]
to_touch("order", {"words": one.split(), "token": parts[0], "place": parts[1]})

# %% [markdown] lang="en"
# <!-- touch: order -->
#
# The rows changed places, no more. The vector of "dog" is the same whether [the dog
# bites](#order?words=dog+bites+man&attention=plain) or [is bitten](#order?words=man+bites+dog&attention=plain), so no
# later layer can know which it was.
#
# ## The law behind it
#
# To shuffle the tokens is to multiply $X$ from the left by a **permutation matrix** $\Pi$: a single one in each row and
# column, zeros elsewhere, hence $\Pi^\top \Pi = I$. Then
#
# $$
# Q' = \Pi X W_Q = \Pi Q, \qquad K' = \Pi K, \qquad V' = \Pi V, \qquad
# S' = \frac{\Pi Q K^\top \Pi^\top}{\sqrt d} = \Pi S \Pi^\top .
# $$
#
# Rows and columns of the scores are shuffled alike. The softmax takes one row at a time, in whatever order its entries
# are, so $\mathrm{softmax}(\Pi S \Pi^\top) = \Pi\, \mathrm{softmax}(S)\, \Pi^\top$, and
#
# $$
# \mathrm{Attend}(\Pi X) = \Pi\, \mathrm{softmax}(S)\, \Pi^\top \Pi\, V = \Pi\, \mathrm{Attend}(X) .
# $$
#
# Such a map is called **permutation equivariant**. (More exactly: equivariant in the queries, whose outputs move with
# them, and *invariant* in keys with their values, of which only the set counts.) Layers that treat each token alone,
# such as the MLP, the norm and the residual, have the property too: *a Transformer without mask and without positions
# is blind to order, however deep it is.*

# %% [markdown] lang="zh"
# <!-- touch: order -->
#
# 各行只是换了位置。不管[狗咬人](#order?words=dog+bites+man&attention=plain)还
# 是[狗被咬](#order?words=man+bites+dog&attention=plain)，dog 的向量都一样，后面的层无从知道是哪一种情况。
#
# ## 背后的规律
#
# 打乱 token 的次序，就是在 $X$ 左边乘一个**置换矩阵** $\Pi$：每行每列恰有一个 1，其余为 0，所以 $\Pi^\top \Pi = I$。于
# 是
#
# $$
# Q' = \Pi X W_Q = \Pi Q, \qquad K' = \Pi K, \qquad V' = \Pi V, \qquad
# S' = \frac{\Pi Q K^\top \Pi^\top}{\sqrt d} = \Pi S \Pi^\top .
# $$
#
# 得分的行和列以同样的方式打乱。softmax 一次只看一行，不在乎行内各数的先后，所
# 以 $\mathrm{softmax}(\Pi S \Pi^\top) = \Pi\, \mathrm{softmax}(S)\, \Pi^\top$，从而
#
# $$
# \mathrm{Attend}(\Pi X) = \Pi\, \mathrm{softmax}(S)\, \Pi^\top \Pi\, V = \Pi\, \mathrm{Attend}(X) .
# $$
#
# 具有这种性质的映射称为**置换等变**（permutation equivariant）。（说得更准一些：对查询是等变的，输出跟着查询走；对键连
# 同它们的值是*不变*的，只看有哪些，不看次序。）MLP、归一化、残差这些逐 token 的层也有这个性质：*没有掩码、也没有位置信
# 息的 Transformer，无论多深，都看不见词序。*

# %% [markdown] lang="en"
# ### Exercise 0.1 · Measure the blindness (2 points)
#
# Write `order_gap`: by how much "shuffle, then apply the layer" differs from "apply the layer, then shuffle".
# `x[order]` is $\Pi X$.
#
# Below each exercise are some of its checks; grading uses more, on other inputs.
#
# Hint: The layer is used twice: on the shuffled rows, and on the original ones. The second output still has to be
# shuffled.
#
# Hint: A difference may be negative: absolute values first, then the largest. `.item()` makes a `float` of it.

# %% [markdown] lang="zh"
# ### 练习 0.1 · 量一量它有多“盲”（2 分）
#
# 写出 `order_gap`：“先打乱再过这一层”与“先过这一层再打乱”相差多少。`x[order]` 就是 $\Pi X$。
#
# 每道练习下面是一部分检查；评分时还有更多检查，输入也不同。
#
# 提示：这一层要用两次：一次作用在打乱之后的行上，一次作用在原来的行上。后一次的输出还得打乱。
#
# 提示：差可能是负的：先取绝对值，再取最大。`.item()` 把它变成 `float`。


# %% nbgrader={"grade_id": "order_gap", "solution": true}
def order_gap(layer, x: Tensor, order: Tensor) -> float:
    """The largest absolute difference between layer(Π X) and Π layer(X).

    Args:
        layer: A function from [n, d] to [n, d].
        x: [n, d].
        order: [n], a permutation of 0 .. n-1.
    """
    ### BEGIN SOLUTION
    return (layer(x[order]) - layer(x)[order]).abs().max().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "order_gap_laws", "grade": true, "points": 2}
with quiet():
    x, order = embed("the dog chased a man"), torch.tensor([2, 0, 3, 4, 1])
    row_numbers = torch.arange(5.0)[:, None]
    assert order_gap(attend, x, order) < 1e-5, "Attention is permutation equivariant, so its gap is rounding only."
    assert order_gap(lambda x: 2 * x, x, order) == 0, "Doubling treats every token alone, so it leaves no gap."
    for sign in (1, -1):
        gap = order_gap(lambda x, sign=sign: x + sign * row_numbers, x, order)
        assert abs(gap - 3) < 1e-5, (
            "Adding row numbers, or subtracting them: token 1 moves to row 4, no token moves further, so the gap is 3."
        )
    ### BEGIN HIDDEN TESTS
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))
    kept = x.clone()
    for seed in range(5):
        order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
        mean = order_gap(lambda x: x + x.mean(0), x, order)
        assert mean < 1e-5, "The mean over all tokens does not depend on their order."
        moves = (order - torch.arange(7)).abs().max()
        gap = order_gap(lambda x: x - torch.arange(7.0)[:, None], x, order)
        assert abs(gap - moves) < 1e-5, "Subtracting row numbers: the gap is the longest move."
    assert order_gap(lambda x: x.cumsum(0), x, order) > 0.1, "A running sum depends on the order."
    assert order_gap(lambda x: x.cumsum(0), x, torch.arange(7)) == 0, "Without a shuffle there is no gap."
    assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# ## A crack: the causal mask
#
# Language models read from left to right: token $m$ may look at token $n$ only if $n \le m$. A mask $B$ is added to the
# scores, and $e^{-\infty} = 0$ removes the other weights:
#
# $$
# \mathrm{Causal}(X) = \mathrm{softmax}(S + B)\, V, \qquad
# B_{mn} = \begin{cases} 0 & n \le m \\ -\infty & n > m . \end{cases}
# $$
#
# The proof no longer goes through: the scores are shuffled, the mask is not,
# $\Pi S \Pi^\top + B \ne \Pi\,(S + B)\,\Pi^\top$.

# %% [markdown] lang="zh" short=true
# ## 漏进来的一点词序：因果掩码
#
# 语言模型从左往右读：只有当 $n \le m$ 时，第 $m$ 个 token 才能看第 $n$ 个 token。给得分加上掩码 $B$，由
# 于 $e^{-\infty} = 0$，其余的权重就消失了：
#
# $$
# \mathrm{Causal}(X) = \mathrm{softmax}(S + B)\, V, \qquad
# B_{mn} = \begin{cases} 0 & n \le m \\ -\infty & n > m . \end{cases}
# $$
#
# 前面的证明到这里走不通了：得分打乱了，掩码没有，$\Pi S \Pi^\top + B \ne \Pi\,(S + B)\,\Pi^\top$。

# %% [markdown] lang="en"
# ### Exercise 0.2 · Look back only (2 points)
#
# Write `causal_attend`: as `attend`, with the mask. The **prefix law** is the requirement: the outputs of a prefix do
# not change, whatever follows. Mask the scores *before* the softmax: weights that are removed after it no longer add up
# to one, and where those left were rounded to 0, dividing by their sum fails.
#
# Hint: In the scores, `[n, n]`, a row belongs to a query, a column to a key. The entries to remove lie strictly above
# the diagonal: `torch.triu` picks a triangle; its second argument says whether the diagonal belongs to it.
#
# Hint: `masked_fill` takes a mask of bools and sets these scores to $-\infty$. Do not make the mask by a product: 0
# times infinity is nan.

# %% [markdown] lang="zh"
# ### 练习 0.2 · 只许往回看（2 分）
#
# 写出 `causal_attend`：与 `attend` 相同，但带掩码。要求是**前缀律**：不管后面接什么，前缀的输出都不变。掩码要加
# 在 softmax *之前*；在它之后才去掉权重，剩下的和就不是 1，而剩下的若都舍入成了 0，除以这个和也不行。
#
# 提示：得分 `[n, n]` 里，一行属于一个查询，一列属于一个键。该去掉的严格位于对角线上方：`torch.triu` 取出一个三角；对角
# 线算不算在内，由第二个参数决定。
#
# 提示：`masked_fill` 要一个布尔掩码，把这些得分设成 $-\infty$。不要用相乘来做掩码：0 乘无穷大是 nan。


# %% nbgrader={"grade_id": "causal_attend", "solution": true}
def causal_attend(x: Tensor) -> Tensor:
    """One attention head in which token m sees the tokens 0 .. m only: [n, DIM] to [n, DIM]."""
    query, key, value = x @ W_Q, x @ W_K, x @ W_V
    ### BEGIN SOLUTION
    scores = query @ key.T / DIM**0.5  # [n, n]
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)  # strictly above the diagonal: n > m
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ value
    ### END SOLUTION


# %% nbgrader={"grade_id": "causal_attend_laws", "grade": true, "points": 2}
with quiet():
    x = embed("the dog chased a man")
    output = causal_attend(x)
    assert output.shape == x.shape, "One vector comes out for each token."
    assert not output.isnan().any(), "No output may be nan: zero times infinity is."
    torch.testing.assert_close(output[0], x[0] @ W_V, msg="The first token sees itself only: its value comes out.")
    torch.testing.assert_close(output[-1], attend(x)[-1], msg="The last token sees all, as without the mask.")
    prefix_law = "A prefix keeps its outputs, however high or low the scores: the mask is minus infinity."
    for size, text in ((1, x), (1, torch.cat([x[:3], 1e12 * x[3:]])), (1e6, 1e6 * x.flip(0))):
        torch.testing.assert_close(causal_attend(text)[:3] / size, causal_attend(text[:3]) / size, msg=prefix_law)
    ### BEGIN HIDDEN TESTS
    x = torch.randn(9, DIM, generator=torch.Generator().manual_seed(2))
    kept, output = x.clone(), causal_attend(x)
    for length in range(1, 10):
        for size in (1, -1e6):
            prefix, whole = causal_attend(size * x[:length]) / size, causal_attend(size * x)[:length] / size
            torch.testing.assert_close(prefix, whole, msg=prefix_law)
        torch.testing.assert_close(output[length - 1], attend(x[:length])[-1], msg="Weights of the past add up to one.")
    assert causal_attend(100 * x).isfinite().all(), "Large scores stay finite: softmax, not a division of your own."
    assert (causal_attend(x.flip(0)).flip(0) - output).abs().max() > 0.1, "The mask breaks the symmetry."
    assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# Over 40 random shuffles: attention alone; four whole blocks with residual, norm and MLP; attention with your mask; and
# attention on $X$ plus a vector of its own for each position.

# %% [markdown] lang="zh"
# 取 40 种随机次序来比较：只有注意力；四个完整的块，带残差、归一化和 MLP；带掩码的注意力；以及先给每个位置加上各自的向量
# 再做注意力。

# %%
random = torch.Generator().manual_seed(3)
x = torch.randn(12, DIM, generator=random)
positions = torch.randn(12, DIM, generator=random)
w_up, w_down = torch.randn(DIM, 4 * DIM, generator=random) / 4, torch.randn(4 * DIM, DIM, generator=random) / 8


def four_blocks(x: Tensor) -> Tensor:
    """Four Transformer blocks without positions: [n, DIM] to [n, DIM]."""
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

figure, axes = plt.subplots(figsize=(5.0, 2.2))
for row, layer in enumerate(layers.values()):
    gaps = torch.tensor([order_gap(layer, x, order) for order in orders])
    spread = row + 0.25 * (torch.rand(40, generator=random) - 0.5)
    axes.plot(gaps, spread, "o", color=BLUE if row < 2 else VERMILION, alpha=0.5, markersize=4)
axes.set(xscale="log", xlim=(1e-8, 1e2), xlabel="order gap (float32 rounding is near 1e-7)")
axes.set_yticks(range(4), layers)
axes.invert_yaxis()
axes.set_title("Only a mask, or a position code, notices a shuffle")
plt.show()
turned_round = x.flip(0)  # the keys with their values; the queries stay
mixed = torch.softmax(x @ W_Q @ (turned_round @ W_K).T / DIM**0.5, dim=-1) @ (turned_round @ W_V)
torch.testing.assert_close(mixed, attend(x))  # invariant

# %% [markdown] lang="en"
# The first two differ by rounding only, the last two by far more.
#
# ## How far does the crack go?
#
# Not far by itself: in "the the the the" all outputs are equal, mask or no mask, since every token averages equal
# values. One difference is enough: a first token unlike all others, such as the mark that many language models put at
# the start of a text.
#
# Let a head weigh all tokens alike, with the value 1 for the first token and 0 for every other. The token at position
# $m = 0, 1, 2, \dots$ sees $m + 1$ tokens, so out comes the first one's share
#
# $$
# a_m = \frac{1}{m + 1} .
# $$
#
# The layer counts! So a model without any position code (**NoPE**) can know where it is: [Kazemnejad et al.,
# 2023](https://arxiv.org/abs/2305.19466v2) prove that a first layer can do it, and [Haviv et al.,
# 2022](https://arxiv.org/abs/2203.16634) find that trained models do.

# %% [markdown] lang="zh"
# 前两行的差别只有舍入误差，后两行大得多。
#
# ## 漏进来多少？
#
# 单靠掩码，并不多：在 the the the the 里，有没有掩码，每个 token 都是在对相等的值求平均。但一处差异就够了：一个与众不同
# 的首 token，例如许多语言模型放在文本开头的标记。
#
# 设有一个头对所有 token 一视同仁，首 token 的值为 1，其余的值为 0。位置 $m = 0, 1, 2, \dots$ 上的 token 看得
# 到 $m + 1$ 个 token，输出的就是首 token 所占的份额
#
# $$
# a_m = \frac{1}{m + 1} .
# $$
#
# 这一层会数数！没有任何位置编码的模型（**NoPE**）就是这样知道自己在哪里的：
# [Kazemnejad 等，2023](https://arxiv.org/abs/2305.19466v2) 证明第一层就能做到，
# [Haviv 等，2022](https://arxiv.org/abs/2203.16634) 发现训练出来的模型确实如此。

# %% [markdown] lang="en"
# ### Exercise 0.3 · Read the counter (1 point)
#
# Write `position_from_share`, which gives $m$ back from $a_m$.
#
# Hint: Solve $a_m = \frac{1}{m+1}$ for $m$. A share is rounded, so the result is a little more or less than a whole
# number, and a conversion to whole numbers cuts off: round first.

# %% [markdown] lang="zh"
# ### 练习 0.3 · 读出计数（1 分）
#
# 写出 `position_from_share`，由 $a_m$ 求回 $m$。
#
# 提示：从 $a_m = \frac{1}{m+1}$ 解出 $m$。份额带着舍入误差，所以结果比整数略多或略少，而直接转成整数会舍去小数：先四舍
# 五入。


# %% nbgrader={"grade_id": "position_from_share", "solution": true}
def position_from_share(share: Tensor) -> Tensor:
    """The positions, as whole numbers of dtype long, of tokens with these shares of the first token: [n] to [n]."""
    ### BEGIN SOLUTION
    return (1 / share - 1).round().long()
    ### END SOLUTION


# %% nbgrader={"grade_id": "position_from_share_laws", "grade": true, "points": 1}
with quiet():
    is_first = torch.tensor([1.0, 0, 0, 0, 0, 0])
    looks_back = torch.ones(6, 6).tril()
    share = (looks_back / looks_back.sum(-1, keepdim=True)) @ is_first  # the head, as described
    assert position_from_share(share).tolist() == [0, 1, 2, 3, 4, 5], "The first token is at position 0."
    assert position_from_share(share).dtype == torch.long, "Positions are whole numbers: convert them to long."
    assert position_from_share(torch.tensor([0.334])).tolist() == [2], "A share near 1/3 is that of position 2: round."
    ### BEGIN HIDDEN TESTS
    positions_read = position_from_share(1 / torch.arange(1.0, 1001.0))
    assert torch.equal(positions_read, torch.arange(1000)), "Round before you convert; conversion cuts off."
    assert position_from_share(torch.tensor([0.1])).tolist() == [9], "Each share is read by itself."
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# So order leaks in, but it takes a head, and the reading gets coarse in long texts. Better *tell* the model where each
# token is.
#
# ## What we want from a position code
#
# Write $\mathrm{PE}(p)$ for what a code says about position $p$. Five wishes, after [Fleetwood,
# 2024](https://huggingface.co/blog/designing-positional-encoding):
#
# | | wish | as a formula or a question | tested in |
# |---|---|---|---|
# | 1 | **unique** | $p \ne p'$ gives $\mathrm{PE}(p) \ne \mathrm{PE}(p')$, in texts of every length | notebook 1 |
# | 2 | **linear in the shift** | $\mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p)$ with one $M_\delta$ for all $p$ | notebooks 1, 2 |
# | 3 | **extends to longer contexts** | what happens at positions never seen in training? | notebooks 4 to 8 |
# | 4 | **a fixed rule** | a formula that holds everywhere, not a table of accidents | notebook 1 |
# | 5 | **extends to more dimensions** | from $p$ to $(x, y)$ in an image: can the rule follow? | notebooks 2, 8 |
#
# The second wish shapes all that follows. What matters in a text is rarely "token 4,017" and often "three tokens back".
# If a shift is a linear map, attention, made of linear maps and dot products, can learn to look "three back" everywhere
# at once. The hand of a clock has it: [wherever the sentence begins](#hand?before=5), the angle between two words is
# the same.
#
# <!-- touch: hand -->

# %% [markdown] lang="zh" short=true
# 可见词序确实能漏进来，但要占用一个头，文本一长又读不准。不如直接*告诉*模型每个 token 在哪里。
#
# ## 我们希望位置编码是什么样的
#
# 记 $\mathrm{PE}(p)$ 为编码对位置 $p$ 给出的描述。五条要求，参
# 照 [Fleetwood, 2024](https://huggingface.co/blog/designing-positional-encoding)：
#
# | | 要求 | 用公式或问题来说 | 在哪里检验 |
# |---|---|---|---|
# | 1 | **唯一** | $p \ne p'$ 时 $\mathrm{PE}(p) \ne \mathrm{PE}(p')$，无论文本多长 | 第 1 节 |
# | 2 | **平移是线性的** | $\mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p)$，同一个 $M_\delta$ 适用于所有 $p$ | 第 1、2 节 |
# | 3 | **能延伸到更长的文本** | 训练时没见过的位置上会发生什么？ | 第 4 至 8 节 |
# | 4 | **有固定的规则** | 一个处处成立的公式，而不是一张碰巧如此的表 | 第 1 节 |
# | 5 | **能推广到更多维度** | 从 $p$ 到图像里的 $(x, y)$：规则跟得上吗？ | 第 2、8 节 |
#
# 决定后面一切的是第二条。在文本里，要紧的很少是“第 4017 个 token”，而常常是“往回三个 token”。如果平移是线性映射，由线性
# 映射和点积构成的注意力，就能一次学会在任何地方都“往回看三个”。钟的指针就是这样：[不管句子从哪里开始](#hand?before=5)，
# 两个词之间的夹角都一样。
#
# <!-- touch: hand -->

# %% [markdown] lang="en"
# **Next:** [notebook 1](1_before_rope.ipynb) starts with the obvious code, the number $p$ itself.

# %% [markdown] lang="zh"
# **下一节：**[第 1 节](1_before_rope.ipynb)从最直接的编码开始，也就是数字 $p$ 本身。

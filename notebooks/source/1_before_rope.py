# %% [markdown] lang="en"
# # 1 · Integer, binary, sinusoidal, learned
#
# Four codes came before RoPE. Each is a simple idea that fails at one point, and each failure points at the next idea. All
# are used in the same way. The code of position $p$ is a vector $\mathrm{PE}(p)$ of $d$ numbers, as many as
# the embedding $x_p$ of the token at that position has, and the two are **added** before the first layer: $x_p +
# \mathrm{PE}(p)$.

# %% [markdown] lang="zh"
# # 1 · 整数、二进制、正弦、可学习
#
# RoPE 之前有四种编码。每一种都出自一个简单的想法，又都败在某一点上；而每一次失败，都指向下一个想法。
# 它们的用法相同。位置 $p$ 的编码是一个 $d$ 维向量 $\mathrm{PE}(p)$，维数与该位置的 token 的嵌入 $x_p$ 一样；
# 在第一层之前把两者**相加**：$x_p + \mathrm{PE}(p)$。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import close, quiet
from figures import BLUE, GREY, headline, point, show_table, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en"
# ## First idea: the number itself
#
# Positions are numbers, so let us add the number, to every feature: $\mathrm{PE}(p) = (p, p, \dots, p)$.
#
# Think of the token as a signal of $d$ features, each of mean square 1. The code adds the mean square $p^2$. What
# comes next in most models is a normalization. RMSNorm divides a vector by the root of its mean square, which is
# about $\sqrt{1 + p^2}$ now. So of the mean square 1 that comes out of the norm, the token keeps the share
#
# $$
# \frac{1}{1 + p^2} .
# $$
#
# At position 10 that is one percent. LayerNorm is stranger still: it first subtracts the mean over the features, and
# with it the whole code, which is the same in all of them. Nothing of the position is left.

# %% [markdown] lang="zh"
# ## 第一个想法：位置的数值本身
#
# 位置就是数，那就把这个数加到每个特征上：$\mathrm{PE}(p) = (p, p, \dots, p)$。
#
# 把 token 看作有 $d$ 个特征的信号，每个特征的均方为 1。编码带来的均方是 $p^2$。大多数模型接下来会做归一化：RMSNorm
# 把向量除以它的均方根，现在约为 $\sqrt{1 + p^2}$。归一化之后总的均方为 1，其中 token 只占
#
# $$
# \frac{1}{1 + p^2} .
# $$
#
# 到位置 10 就只剩百分之一。LayerNorm 更奇怪：它先减去各特征的平均值，而这个编码在各特征上都相同，于是整个被减掉，
# 位置信息一点不剩。


# %%
DIM = 64  # d, features of a token
random = torch.Generator().manual_seed(0)
tokens = torch.randn(500, DIM, generator=random)

places = torch.tensor([0, 1, 2, 4, 8, 16, 32, 64, 128, 256])
shares = []
for place in places:
    mixed = tokens + place
    kept = tokens / mixed.square().mean(-1, keepdim=True).sqrt()  # what RMSNorm leaves of the token
    shares.append(kept.square().mean().item())
figure, axes = plt.subplots(figsize=(5.0, 2.9))
axes.plot(places + 1, 1 / (1 + places**2), color=GREY, linestyle="-")
axes.plot(places + 1, shares, "o", color=BLUE, markersize=5)
axes.set(xscale="log", yscale="log", xlabel="position + 1", ylabel="share of the token")
point(axes, "measured", (places[4] + 1, shares[4]), (12, 6), BLUE)
point(axes, "1 / (1 + p²)", (15, 1 / (1 + 14**2)), (-10, -8), GREY)
headline(figure, f"Integers: at position 16 RMSNorm keeps {shares[5]:.1%} of the token")
plt.show()

# %% [markdown] lang="en"
# Dividing by the length, $p / n$, tames the size but breaks the rule: "three tokens back" is then $3/n$, another step
# in every text.
#
# ## Second idea: the bits of the number
#
# Computers keep numbers bounded by writing them in digits. In base two, feature $i = 0, 1, \dots, d-1$ is bit $i$ of
# $p$, the lowest first:
#
# $$
# \mathrm{PE}(p)_i = \left\lfloor p / 2^i \right\rfloor \bmod 2 .
# $$
#
# All entries are 0 or 1, the rule is fixed, and the codes are unique up to position $2^d - 1$. Bit $i$ is a square
# wave: it goes through zeros and ones once in every $2^{i+1}$ positions.

# %% [markdown] lang="zh"
# 除以文本长度，即 $p / n$，数值是不大了，规则却坏了：“往回三个 token”成了 $3/n$，在每篇文本里都不一样。
#
# ## 第二个想法：数的各个比特
#
# 计算机用数字的各位来表示数，每一位都不大。在二进制里，第 $i = 0, 1, \dots, d-1$ 个特征就是 $p$ 的第 $i$ 位，最低位在前：
#
# $$
# \mathrm{PE}(p)_i = \left\lfloor p / 2^i \right\rfloor \bmod 2 .
# $$
#
# 所有元素都是 0 或 1，规则固定，直到位置 $2^d - 1$ 都是唯一的。第 $i$ 位是一个方波：每 $2^{i+1}$ 个位置，先是一段 0，
# 再是一段 1。


# %%
def integer(positions: Tensor, dim: int) -> Tensor:
    """The number in every feature: [n] to [n, dim]."""
    return positions[:, None].float().repeat(1, dim)


def binary(positions: Tensor, dim: int) -> Tensor:
    """The bits of the number, the lowest first: [n] to [n, dim]."""
    return (positions[:, None] >> torch.arange(dim) & 1).float()


for position in range(6, 10):
    print(position, binary(torch.tensor([position]), 4)[0].int().tolist())
flips = {
    (m, n): int((binary(torch.tensor([m]), 4) != binary(torch.tensor([n]), 4)).sum())
    for m, n in [(7, 8), (0, 15), (0, 8)]
}
assert flips == {(7, 8): 4, (0, 15): 4, (0, 8): 1}  # what the text says

# %% [markdown] lang="en"
# Look at the step from 7 to 8: all four bits flip. Seven and eight are as far apart as 0 and 15 are, while 0 and 8
# differ in one bit only. Neighbours in the text are not neighbours in the code.
#
# ## Is a shift linear?
#
# The second wish asks for one matrix $M_\delta$ for each shift $\delta$, with
#
# $$
# \mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p) \quad \text{for all } p .
# $$
#
# It is often said that integers and bits fulfil it. They do not, and position 0 is enough to see it: both codes have
# $\mathrm{PE}(0) = 0$. Every matrix maps zero to zero, so $\mathrm{PE}(\delta) = M_\delta\, \mathrm{PE}(0) = 0$, which is false
# for every other position $\delta$ of the code.
#
# Is that unfair? A linear layer may have a bias, which is the same as a feature that is always 1. With it,
#
# $$
# \begin{pmatrix} p + \delta \\ 1 \end{pmatrix} =
# \begin{pmatrix} 1 & \delta \\ 0 & 1 \end{pmatrix} \begin{pmatrix} p \\ 1 \end{pmatrix} :
# $$
#
# integers pass (remember this little matrix; it comes back in notebook 7). Bits still fail, because of the **carry**.
# Take two bits $u_1 u_0$ and $\delta = 1$. The low bit flips: $u_0' = 1 - u_0$, which is linear plus a bias. The high bit
# flips only if there is a carry: $u_1'$ is 1 if exactly one of $u_0, u_1$ is. If $u_1' = \alpha u_0 + \beta u_1 +
# \gamma$ held, the four positions would ask for
#
# $$
# \gamma = 0, \qquad \alpha + \gamma = 1, \qquad \beta + \gamma = 1, \qquad \alpha + \beta + \gamma = 0 .
# $$
#
# The first three give $\alpha + \beta + \gamma = 2$, the last says 0.

# %% [markdown] lang="zh"
# 看从 7 到 8 这一步：四位全都翻转。7 与 8 之间的距离和 0 与 15 之间一样远，而 0 与 8 只差一位。文本里的邻居，
# 在编码里并不相邻。
#
# ## 平移是线性的吗？
#
# 第二条要求说，对每个平移量 $\delta$ 都有一个矩阵 $M_\delta$，使得
#
# $$
# \mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p) \quad \text{对所有 } p .
# $$
#
# 常有人说整数和二进制编码满足它。其实不满足，看位置 0 就够了：这两种编码都有 $\mathrm{PE}(0) = 0$。任何矩阵都把零映到零，
# 于是 $\mathrm{PE}(\delta) = M_\delta\, \mathrm{PE}(0) = 0$，而这对编码里其他任何位置 $\delta$ 都不成立。
#
# 这样说是不是太苛刻？线性层可以带偏置，相当于多一个恒为 1 的特征。有了它，
#
# $$
# \begin{pmatrix} p + \delta \\ 1 \end{pmatrix} =
# \begin{pmatrix} 1 & \delta \\ 0 & 1 \end{pmatrix} \begin{pmatrix} p \\ 1 \end{pmatrix} :
# $$
#
# 整数过关了（记住这个小矩阵，第 7 节还会遇到它）。比特还是不行，原因在**进位**。取两位 $u_1 u_0$ 和 $\delta = 1$。低位翻转：
# $u_0' = 1 - u_0$，线性再加偏置。高位只在有进位时翻转：$u_0, u_1$ 中恰有一个为 1 时，$u_1'$ 为 1。假如
# $u_1' = \alpha u_0 + \beta u_1 + \gamma$，四个位置就要求
#
# $$
# \gamma = 0, \qquad \alpha + \gamma = 1, \qquad \beta + \gamma = 1, \qquad \alpha + \beta + \gamma = 0 .
# $$
#
# 由前三个得 $\alpha + \beta + \gamma = 2$，最后一个却说它是 0。

# %% [markdown] lang="en"
# ### Exercise 1.1 · No matrix does it (2 points)
#
# Write `shift_residual`, a measuring device for any code. It takes the codes of some
# positions, as rows of `before`, and those of the shifted positions, as rows of `after`. It finds the matrix $M$ that
# comes closest to mapping each row $z_p$ to the row $z'_p$, in the sense of least squares, and returns the root of the
# mean, over all $n \cdot d'$ entries ($d'$ is the number of columns of `after`), of what is left:
#
# $$
# \min_M \sqrt{\frac{1}{n\, d'} \sum_p \lVert M z_p - z'_p \rVert^2} .
# $$
#
# With rows instead of columns, $M z_p$ becomes `before @ M.T`; `torch.linalg.lstsq(A, B, driver="gelsd").solution` is
# the `X` for which `A @ X` is closest to `B`. (The driver `gels`, the only one on a GPU, gives nonsense for features that depend
# on each other, such as one that stands twice; `gelsd` does not.) Add no bias: whoever wants one puts a column of ones into `before`. Compute in
# float64.
#
# Hint: Three steps: convert both to float64, let `lstsq` find the best matrix, and see what is left between what it
# makes of `before` and `after`.
#
# Hint: Positions are rows in both tensors, just as `lstsq` wants them, so nothing has to be transposed: its solution
# is already the matrix that stands on the right of `before`.

# %% [markdown] lang="zh"
# ### 练习 1.1 · 没有矩阵做得到（2 分）
#
# 写出 `shift_residual`，一把适用于任何编码的尺子：`before` 的各行是一些位置的编码，`after` 的各行是
# 平移之后的编码。它找出最小二乘意义下最接近“把每一行 $z_p$ 映到 $z'_p$”的矩阵 $M$，并对全部 $n \cdot d'$ 个元素（$d'$ 是
# `after` 的列数）返回剩余误差的均方根：
#
# $$
# \min_M \sqrt{\frac{1}{n\, d'} \sum_p \lVert M z_p - z'_p \rVert^2} .
# $$
#
# 这里用行向量，$M z_p$ 写成 `before @ M.T`；`torch.linalg.lstsq(A, B, driver="gelsd").solution` 给出使 `A @ X` 最接近 `B` 的
# `X`。（特征之间线性相关时，例如同一个特征出现两次，`gels` 这个 driver 会给出毫无意义的结果，而 GPU 上只有它；`gelsd` 不会。）不要自己加偏置：想要偏置的人，会在 `before`
# 里放一列 1。用 float64 计算。
#
# 提示：三步：把两者都转成 float64；让 `lstsq` 求出最好的矩阵；看它作用在 `before` 上的结果与 `after` 还差多少。
#
# 提示：两个张量里，行都是位置，正合 `lstsq` 的要求，所以什么也不用转置：它给出的解就是乘在 `before` 右边的矩阵。


# %% nbgrader={"grade_id": "shift_residual", "solution": true}
def shift_residual(before: Tensor, after: Tensor) -> float:
    """The root of the mean square that the best linear map from rows of before to rows of after leaves.

    Args:
        before: [n, d], any dtype.
        after: [n, d'], any dtype.
    """
    ### BEGIN SOLUTION
    before, after = before.double(), after.double()
    best = torch.linalg.lstsq(before, after, driver="gelsd").solution  # [d, d'], the transpose of M
    return (before @ best - after).square().mean().sqrt().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift_residual_laws", "grade": true, "points": 2}
with quiet():
    # Numbers 0, 1, 2 to 1, 2, 3: the best factor is (1*2 + 2*3) / (1 + 4) = 8/5, which leaves 1, -2/5 and 1/5.
    numbers = torch.tensor([[0.0], [1.0], [2.0]])
    expected = math.sqrt((1 + 0.16 + 0.04) / 3)
    assert abs(shift_residual(numbers, numbers + 1) - expected) < 1e-6, "Numbers to numbers + 1: by hand, root of 0.4."
    with_one = torch.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    assert shift_residual(with_one, numbers + 1) < 1e-12, "With a column of ones, adding 1 is linear; float64 sees it."
    twice = shift_residual(torch.cat([numbers, numbers], dim=1), numbers + 1)
    assert abs(twice - expected) < 1e-6, "Features that stand twice explain no more."
    both = shift_residual(numbers, torch.cat([numbers + 1, numbers + 1], dim=1))
    assert abs(both - expected) < 1e-6, "It is a mean over all entries: two equal columns leave what one leaves."
    two_bits, next_bits = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]]), torch.tensor([[1, 0], [0, 1], [1, 1], [0, 0]])
    assert shift_residual(two_bits, next_bits) > 0.1, "No matrix advances two bits by one."
    ### BEGIN HIDDEN TESTS
    random_rows = torch.Generator().manual_seed(4)
    points = torch.randn(30, 5, generator=random_rows, dtype=torch.float64)
    matrix = torch.randn(3, 5, generator=random_rows, dtype=torch.float64)
    assert shift_residual(points, points @ matrix.T) < 1e-9, "What a matrix made, a matrix explains."
    noise = torch.randn(30, 3, generator=random_rows, dtype=torch.float64)
    left_over = shift_residual(points, noise)
    mixing = torch.randn(5, 5, generator=random_rows, dtype=torch.float64)
    assert abs(shift_residual(points @ mixing, noise) - left_over) < 1e-9, "Mixing the features explains no more."
    doubled = torch.cat([points, points], dim=1)
    assert abs(shift_residual(doubled, noise) - left_over) < 1e-9, "Features that stand twice explain no more."
    assert abs(shift_residual(points, 3 * noise) - 3 * left_over) < 1e-9, (
        "Three times the codes leave three times as much."
    )
    twice = shift_residual(points.repeat(2, 1), noise.repeat(2, 1))
    assert abs(twice - left_over) < 1e-9, "It is a mean over the positions, not a sum."
    assert abs(shift_residual(points[:, :1] * 0, noise) - noise.square().mean().sqrt()) < 1e-9, "Zeros explain nothing."
    ones = torch.ones(4, 1, dtype=torch.long)
    assert abs(shift_residual(ones, torch.tensor([[0], [0], [1], [1]])) - 0.5) < 1e-9, "Whole numbers work too."
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# ## Third idea: round the edges
#
# What was good about bits? Many waves, fast ones to tell neighbours apart and slow ones to tell regions apart. What
# was bad? The sharp edges: jumps between neighbours, and carries. So keep the waves and take smooth ones.
#
# One wave for each speed is not enough. Let $\theta$ be the **frequency** of a wave, the angle in radians by which it
# advances from one position to the next. To move $\sin(\theta p)$ forward we need the addition theorem,
#
# $$
# \sin(\theta p + \theta \delta) = \sin(\theta p) \cos(\theta \delta) + \cos(\theta p) \sin(\theta \delta) ,
# $$
#
# and the right side asks for the cosine at $p$ too. Hence a **pair** for each frequency. This is why there are both:
# not for variety, but because the sine alone cannot be advanced by a linear map ([asked at
# tensor2tensor](https://github.com/tensorflow/tensor2tensor/issues/1700)).
#
# [Vaswani et al., 2017, section 3.5](https://arxiv.org/abs/1706.03762v7) ([Su, 2021](https://kexue.fm/archives/8231) derives it) take $d/2$ pairs, $i = 0, 1, \dots, d/2 - 1$:
#
# $$
# \mathrm{PE}(p)_{2i} = \sin(\theta_i\, p), \qquad \mathrm{PE}(p)_{2i+1} = \cos(\theta_i\, p), \qquad
# \theta_i = b^{-2i/d}, \qquad b = 10000 .
# $$
#
# The **wavelength** $\lambda_i = 2\pi / \theta_i$, the number of positions for one turn, starts at $2\pi$ and grows by
# the same factor $b^{2/d}$ from pair to pair, as the bits' wavelengths grow by 2. In the formula the last is $2\pi
# b^{(d-2)/d}$, a little short of the "$10000 \cdot 2\pi$" that the same section names.

# %% [markdown] lang="zh" short=true
# ## 第三个想法：把棱角磨圆
#
# 比特好在哪里？有许多个波，快的区分邻居，慢的区分区域。坏在哪里？棱角太尖：邻居之间会跳变，还有进位。那就留下波，
# 换成平滑的波。
#
# 每种速度只有一个波是不够的。记 $\theta$ 为波的**频率**，即从一个位置到下一个位置前进的角度，以弧度计。要把
# $\sin(\theta p)$ 往前移，需要加法定理
#
# $$
# \sin(\theta p + \theta \delta) = \sin(\theta p) \cos(\theta \delta) + \cos(\theta p) \sin(\theta \delta) ,
# $$
#
# 右边还要用到 $p$ 处的余弦。所以每个频率要有**一对**。正弦和余弦都要，不是为了花样，而是因为单靠正弦，没有线性映射能让它前进
# （[有人在 tensor2tensor 问过](https://github.com/tensorflow/tensor2tensor/issues/1700)）。
#
# [Vaswani 等，2017，第 3.5 节](https://arxiv.org/abs/1706.03762v7)（推导见[苏剑林，2021](https://kexue.fm/archives/8231)）取 $d/2$ 对，$i = 0, 1, \dots, d/2 - 1$：
#
# $$
# \mathrm{PE}(p)_{2i} = \sin(\theta_i\, p), \qquad \mathrm{PE}(p)_{2i+1} = \cos(\theta_i\, p), \qquad
# \theta_i = b^{-2i/d}, \qquad b = 10000 .
# $$
#
# **波长** $\lambda_i = 2\pi / \theta_i$ 是转一圈所需的位置数。它从 $2\pi$ 开始，每一对都是前一对的 $b^{2/d}$ 倍，正如比特的
# 波长逐位翻倍。按这个公式，最后一个波长是 $2\pi b^{(d-2)/d}$，比同一节所说的“$10000 \cdot 2\pi$”略短。

# %% [markdown] lang="en"
# ### Exercise 1.2 · Build the sinusoids (2 points)
#
# Write `sinusoidal`, with sine and cosine side by side: even features are sines, odd ones cosines.
#
# Hint: Make the angles first: a table with a row for each position and a column for each pair. That is an outer
# product of positions and frequencies.
#
# Hint: The frequency of pair $i$ is $b^{-2i/d}$, and a `torch.arange` that goes in steps of 2 gives all $2i$ at once.
# Compare with the numbers of the second check.
#
# Hint: Sines and cosines are two tables `[n, d/2]`. `torch.cat` would set all sines before all cosines. To make them
# take turns, put the two beside each other in a *new last* dimension, and merge it with the one before.

# %% [markdown] lang="zh"
# ### 练习 1.2 · 造出正弦编码（2 分）
#
# 写出 `sinusoidal`，正弦与余弦相邻：偶数号特征是正弦，奇数号特征是余弦。
#
# 提示：先算角度：一张表，每个位置一行，每一对一列，也就是位置与频率的外积。
#
# 提示：第 $i$ 对的频率是 $b^{-2i/d}$；让 `torch.arange` 每步走 2，就一次得到所有的 $2i$。算完与第二个检查里的数对一
# 对。
#
# 提示：正弦和余弦是两张 `[n, d/2]` 的表。`torch.cat` 会把所有正弦排在所有余弦前面。要让它们轮流，就把两者并排放
# 进*新的最后一维*，再把它与前一维合并。


# %% nbgrader={"grade_id": "sinusoidal", "solution": true}
def sinusoidal(positions: Tensor, dim: int, base: float = 10000.0) -> Tensor:
    """The sinusoidal code of some positions.

    Args:
        positions: [n], whole numbers in any order.
        dim: d, even.
        base: b, the base of the frequencies.

    Returns:
        [n, dim], float32: sin, cos, sin, cos, ...
    """
    ### BEGIN SOLUTION
    frequencies = base ** (-torch.arange(0, dim, 2) / dim)  # [dim / 2]
    angles = positions[:, None] * frequencies  # [n, dim / 2]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # [n, dim / 2, 2] to [n, dim]
    ### END SOLUTION


# %% nbgrader={"grade_id": "sinusoidal_laws", "grade": true, "points": 2}
with quiet():
    code = sinusoidal(torch.tensor([7, 2, 0]), 4, base=100.0)  # frequencies 1 and 100 ** (-2/4) = 1/10
    assert code.shape == (3, 4), "One row for each position, one column for each feature."
    assert code.dtype == torch.float32, "The code is of dtype float32."
    torch.testing.assert_close(code[2], torch.tensor([0.0, 1, 0, 1]), msg="At position 0: sin 0, cos 0, sin 0, cos 0.")
    by_hand = torch.tensor([math.sin(2), math.cos(2), math.sin(0.2), math.cos(0.2)])
    torch.testing.assert_close(code[1], by_hand, msg="At position 2 the angles are 2 and 2/10; sin and cos take turns.")
    ### BEGIN HIDDEN TESTS
    for dim, base in [(2, 10000.0), (6, 64.0), (10, 10000.0), (64, 500000.0)]:
        code = sinusoidal(torch.tensor([7, 0, 300, 41]), dim, base)
        assert (code.shape, code.dtype) == ((4, dim), torch.float32), "The shape is [n, dim], the dtype float32."
        for row, position in enumerate([7, 0, 300, 41]):
            for pair in range(dim // 2):
                angle = position / base ** (2 * pair / dim)
                assert abs(code[row, 2 * pair] - math.sin(angle)) < 1e-4, "Feature 2i is sin(p / b^(2i/d))."
                assert abs(code[row, 2 * pair + 1] - math.cos(angle)) < 1e-4, "Feature 2i+1 is cos(p / b^(2i/d))."
    assert close(sinusoidal(torch.arange(3), 8), sinusoidal(torch.arange(3), 8, 10000.0)), "The base is 10000."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# Now bits and sinusoids side by side. We take $b = 64$ and $d = 12$, so that the wavelength of the sinusoids also
# doubles from pair to pair.

# %% [markdown] lang="zh"
# 现在把比特和正弦放在一起看。取 $b = 64$、$d = 12$，这样正弦的波长也逐对翻倍。

# %%
positions = torch.arange(64)
bits, waves = binary(positions, 6), sinusoidal(positions, 12, base=64.0)
steps = {"bits": bits.diff(dim=0).norm(dim=-1), "sinusoids": waves.diff(dim=0).norm(dim=-1)}

figure, panels = plt.subplots(2, 2, figsize=(7.2, 4.0), height_ratios=[1.6, 1], sharex=True)
for column, (name, code) in enumerate({"bits": bits, "sinusoids": waves}.items()):
    panels[0, column].imshow(code.T, aspect="auto")
    panels[0, column].set_title(name, fontweight="normal", fontsize=9.5)
    panels[1, column].step(positions[:-1], steps[name], where="mid", color=BLUE, linestyle="-", linewidth=1.3)
    panels[1, column].set(xlabel="position", ylim=(0, 2.7))
panels[0, 0].set(ylabel="feature", yticks=range(6))
panels[0, 1].set(yticks=range(0, 12, 2))
panels[1, 0].set(ylabel="distance to the next")
low, high, even = steps["bits"].min(), steps["bits"].max(), steps["sinusoids"].mean()
headline(
    figure, f"Same idea, soft edges: steps of {low:.1f} to {high:.1f} between bits, always {even:.2f} between sinusoids"
)
plt.show()

# %% [markdown] lang="en" short=true
# Above: blue is large. Below: how far apart neighbours are. For bits it depends on the carry ([all eight flip](#odometer?position=127)
# after 127, [one](#odometer?position=128) after 128); for sinusoids every step is the same, and we will soon see why.
#
# <!-- touch: odometer -->
#
# **Are they unique?** Yes, all of them, however long the text. The first pair has $\theta_0 = 1$: if $\sin m = \sin
# n$ and $\cos m = \cos n$, then $m - n$ is a multiple of $2\pi$. As $\pi$ is irrational, the only whole number among
# these is 0. The other pairs see to it that different positions differ by more than rounding.
#
# ## The shift matrix
#
# We have the addition theorem for the sine. The cosine's is $\cos(\theta p + \theta \delta) = \cos(\theta p) \cos(\theta
# \delta) - \sin(\theta p) \sin(\theta \delta)$. Stack the two:
#
# $$
# \begin{pmatrix} \sin \theta (p + \delta) \\ \cos \theta (p + \delta) \end{pmatrix} =
# \begin{pmatrix} \cos \theta \delta & \sin \theta \delta \\ -\sin \theta \delta & \cos \theta \delta \end{pmatrix}
# \begin{pmatrix} \sin \theta p \\ \cos \theta p \end{pmatrix} .
# $$
#
# The matrix holds $\delta$ and $\theta$, but not $p$. It is a rotation. It turns clockwise, because the sine stands first:
# the point $(\sin \omega, \cos \omega)$ starts at the top and runs clockwise as $\omega$ grows, like the hand of a clock. $M_\delta$ has
# one such block on its diagonal for each frequency, and zeros elsewhere. The second wish is fulfilled.

# %% [markdown] lang="zh" short=true
# 上排：蓝处数值大。下排：相邻位置的距离。比特的步长取决于进位（127 之后[八个全翻](#odometer?position=127)，128 之后[只翻一个](#odometer?position=128)）；正弦的每一步都一样长，很快就会看到原因。
#
# <!-- touch: odometer -->
#
# **唯一吗？** 唯一，文本再长也是。第一对的 $\theta_0 = 1$：如果 $\sin m = \sin n$ 且 $\cos m = \cos n$，那么 $m - n$ 是
# $2\pi$ 的整数倍。$\pi$ 是无理数，这些数里的整数只有 0。其他各对则保证，不同位置之间的差别不至于小到舍入误差的量级。
#
# ## 平移矩阵
#
# 正弦的加法定理已经有了。余弦的是
# $\cos(\theta p + \theta \delta) = \cos(\theta p) \cos(\theta \delta) - \sin(\theta p) \sin(\theta \delta)$。把两者叠起来：
#
# $$
# \begin{pmatrix} \sin \theta (p + \delta) \\ \cos \theta (p + \delta) \end{pmatrix} =
# \begin{pmatrix} \cos \theta \delta & \sin \theta \delta \\ -\sin \theta \delta & \cos \theta \delta \end{pmatrix}
# \begin{pmatrix} \sin \theta p \\ \cos \theta p \end{pmatrix} .
# $$
#
# 矩阵里有 $\delta$ 和 $\theta$，没有 $p$。它是一个旋转。因为正弦在前，它是顺时针转的：$\omega$ 增大时，点 $(\sin \omega, \cos \omega)$ 从顶上出发
# 顺时针运动，就像钟表的指针。$M_\delta$ 的对角线上，每个频率有这样一块，其余都是零。第二条要求满足了。

# %% [markdown] lang="en"
# ### Exercise 1.3 · The matrix that moves every position (3 points)
#
# Write `shift_matrix`, the $M_\delta$ with $\mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p)$ for the code of exercise 1.2: sines
# at the even features, cosines at the odd ones. $\delta$ may be negative.
#
# Hint: Pair $i$ has its own block of two rows and two columns, and you have just seen what is in it. Everything
# outside the blocks is 0. Which rows and columns belong to pair $i$?
#
# Hint: Start from a matrix of zeros and go through the pairs. Pair $i$ turns by the angle $\delta\,\theta_i$, and its
# features are numbers $2i$ and $2i + 1$.

# %% [markdown] lang="zh"
# ### 练习 1.3 · 让每个位置前进的矩阵（3 分）
#
# 写出 `shift_matrix`，也就是对练习 1.2 的编码（偶数号特征是正弦，奇数号是余弦）满足
# $\mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p)$ 的 $M_\delta$。$\delta$ 可以是负数。
#
# 提示：第 $i$ 对有自己的一块，两行两列，里面是什么，前面刚刚看到；块以外全是 0。第 $i$ 对占的是哪两行、哪两列？
#
# 提示：从全零的矩阵开始，一对一对地填。第 $i$ 对转过的角度是 $\delta\,\theta_i$，它的两个特征是第 $2i$ 个和
# 第 $2i + 1$ 个。


# %% nbgrader={"grade_id": "shift_matrix", "solution": true}
def shift_matrix(shift: int, dim: int, base: float = 10000.0) -> Tensor:
    """The matrix that advances every sinusoidal code by shift positions: [dim, dim]."""
    ### BEGIN SOLUTION
    matrix = torch.zeros(dim, dim)
    for pair in range(dim // 2):
        angle = shift * base ** (-2 * pair / dim)
        sine, cosine = 2 * pair, 2 * pair + 1  # the two features of the pair
        matrix[sine, sine] = matrix[cosine, cosine] = math.cos(angle)
        matrix[sine, cosine], matrix[cosine, sine] = math.sin(angle), -math.sin(angle)
    return matrix
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift_matrix_laws", "grade": true, "points": 3}
with quiet():
    assert close(shift_matrix(0, 6), torch.eye(6)), "A shift by 0 changes nothing."
    for p in range(5):  # two features: the pair (sin p, cos p)
        here = torch.tensor([math.sin(p), math.cos(p)])
        there = torch.tensor([math.sin(p + 3), math.cos(p + 3)])
        torch.testing.assert_close(shift_matrix(3, 2).float() @ here, there, msg="M_3 takes position p to p + 3.")
    here, there = (torch.tensor([math.sin(p), math.cos(p), math.sin(p / 10), math.cos(p / 10)]) for p in (2, 5))
    moved = shift_matrix(3, 4, base=100.0).float() @ here  # frequencies 1 and 1/10
    torch.testing.assert_close(moved, there, msg="Base 100, four features: pair 0 turns by 3, pair 1 by 3/10.")
    ### BEGIN HIDDEN TESTS
    for dim, base in [(4, 100.0), (8, 10000.0), (32, 500.0)]:
        frequency = [base ** (-2 * pair / dim) for pair in range(dim // 2)]
        for shift in (-40, -1, 2, 17):
            for p in (0, 5, 100):
                here = torch.tensor([wave(p * w) for w in frequency for wave in (math.sin, math.cos)])
                there = torch.tensor([wave((p + shift) * w) for w in frequency for wave in (math.sin, math.cos)])
                moved = shift_matrix(shift, dim, base).float() @ here
                torch.testing.assert_close(
                    moved, there, rtol=0, atol=1e-4, msg="One matrix takes PE(p) to PE(p + shift), for all p."
                )
        both = shift_matrix(5, dim, base).float() @ shift_matrix(-2, dim, base).float()
        direct = shift_matrix(3, dim, base).float()
        torch.testing.assert_close(both, direct, rtol=0, atol=1e-4, msg="Two shifts, one after the other, add up.")
        assert torch.allclose(direct @ direct.T, torch.eye(dim), atol=1e-4), "A rotation: M Mᵀ = I."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# Now all codes meet your device from exercise 1.1, over all shifts of 256 positions. Eight bits hold exactly these and
# start again at 0, so there the shift is meant modulo 256. "A 1 beside the code" is a feature that is always 1.

# %% [markdown] lang="zh"
# 现在用练习 1.1 的尺子量一量各种编码，考察 256 个位置的所有平移。八个比特恰好容纳这么多位置，然后又从 0 开始，
# 所以对比特来说，平移是模 256 的。“编码旁边加一个 1”表示有一个恒为 1 的特征。

# %%
positions, shifts = torch.arange(256), torch.arange(1, 256)
ONE = torch.ones(256, 1)


def residuals(code, with_one: bool) -> list[float]:
    """What is left, for each shift, of a code [n] to [n, d]."""
    before = torch.cat([code(positions), ONE], dim=1) if with_one else code(positions)
    return [shift_residual(before, code(positions + shift)) for shift in shifts]


codes = {
    "the integers / 256": lambda p: integer(p, 1) / 256,
    "the bits": lambda p: binary(p, 8),
    "the sinusoids": lambda p: sinusoidal(p, 16),
}
left_over = {name: [torch.tensor(residuals(code, one)) for one in (False, True)] for name, code in codes.items()}
show_table(
    "What the best matrix leaves, from the best shift to the worst",
    ["the code alone", "with a 1 beside the code"],
    {name: [f"{each.min():.2f} to {each.max():.2f}" for each in both] for name, both in left_over.items()},
)
bits = left_over["the bits"][1]
assert (bits < 0.01).nonzero().flatten().tolist() == [127]  # the shift by 128 alone
assert bits[shifts != 128].min() > 0.1, "Everywhere else the carry shows."

# %% [markdown] lang="en"
# With a 1, integers and sinusoids leave nothing. The bits do so once, at $\delta = 128$: there only the highest bit
# flips, and nothing carries beyond it. Everywhere else the carry shows.
#
# ## What two positions say to each other
#
# Attention compares by dot products. For sinusoids, pair $i$ gives $\sin \theta_i m\, \sin \theta_i n + \cos \theta_i
# m\, \cos \theta_i n = \cos \theta_i (m - n)$, so
#
# $$
# \mathrm{PE}(m) \cdot \mathrm{PE}(n) = \sum_{i=0}^{d/2-1} \cos \theta_i (m - n) .
# $$
#
# Only the distance counts. In particular every code has length $\sqrt{d/2}$, and the squared distance of neighbours,
# $d - 2 \sum_i \cos \theta_i$, is the same everywhere: this is why all steps of the sinusoids were equal. Compare
# with bits (as $\pm 1$), and with a table of random numbers, which is what a learned code starts from.

# %% [markdown] lang="zh"
# 有了 1，整数和正弦什么也不剩。比特只在 $\delta = 128$ 处如此：那里只有最高位翻转，
# 再往上没有进位。其余各处都看得到进位的影响。
#
# ## 两个位置彼此说了什么
#
# 注意力靠点积来比较。对正弦编码，第 $i$ 对给出
# $\sin \theta_i m\, \sin \theta_i n + \cos \theta_i m\, \cos \theta_i n = \cos \theta_i (m - n)$，所以
#
# $$
# \mathrm{PE}(m) \cdot \mathrm{PE}(n) = \sum_{i=0}^{d/2-1} \cos \theta_i (m - n) .
# $$
#
# 只有距离起作用。特别地，每个编码的长度都是 $\sqrt{d/2}$，相邻位置距离的平方 $d - 2 \sum_i \cos \theta_i$ 处处相同：正弦的每一步
# 都一样长，原因就在这里。下面与比特（取 $\pm 1$）以及一张随机数表作比较；可学习的编码就是从随机数表开始的。

# %%
positions = torch.arange(128)
learned = torch.randn(128, DIM, generator=torch.Generator().manual_seed(5))
codes = {"bits (as ±1)": 2 * binary(positions, 8) - 1, "sinusoids": sinusoidal(positions, DIM), "random table": learned}


def spread(products: Tensor) -> float:
    """How much the entries at one distance differ, of all that entries differ: 0 if only the distance counts."""
    diagonals = [products.diagonal(k) for k in range(len(products))]
    within = torch.cat([entries - entries.mean() for entries in diagonals])
    return (within.square().mean() / torch.cat(diagonals).var(correction=0)).item()


figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.8))
for axes, (name, code) in zip(panels, codes.items(), strict=True):
    products = code @ code.T / code.square().sum(-1).mean()
    image = axes.imshow(products, vmin=-1, vmax=1)
    axes.set(xticks=[0, 64, 127], yticks=[0, 64, 127], xlabel="position n")
    axes.set_title(f"{name}\nnot from distance: {spread(products):.0%}", fontweight="normal", fontsize=9.5)
panels[0].set(ylabel="position m")
figure.colorbar(image, ax=panels, label="PE(m) · PE(n), scaled", shrink=0.75)
headline(figure, "Only between sinusoids does the dot product depend on the distance alone")
plt.show()

# %% [markdown] lang="en"
# The stripes along the diagonals are what we wanted. Three things do **not** follow:
#
# - **It does not fall steadily.** A sum of cosines has ripples.
# - **It has no direction.** $\cos$ is even, so "three back" and "three ahead" score the same. A matrix in between
#   must tell them apart.
# - **With a matrix in between, more than the distance counts.** Attention compares $W_Q$ and $W_K$ times the codes.
#   With $A = W_Q W_K^\top$ (codes as rows) the score is $\mathrm{PE}(m)\, A\, \mathrm{PE}(n)^\top$, and a general $A$
#   destroys the stripes. [Yan et al., 2019](https://arxiv.org/abs/1911.04474) made the last two
#   points.

# %% [markdown] lang="zh"
# 沿对角线的条纹正是我们想要的：只有正弦编码的点积完全由距离决定。但有三件事**并不**能由此推出：
#
# - **它并不是稳步下降的。** 余弦之和有起伏。
# - **它没有方向。** $\cos$ 是偶函数，“往回三个”与“往前三个”得分相同，要靠中间的矩阵来区分。
# - **中间有矩阵时，起作用的就不只是距离了。** 注意力比较的是编码乘以 $W_Q$ 和 $W_K$ 之后的结果。记 $A = W_Q W_K^\top$
#   （编码是行向量），得分是 $\mathrm{PE}(m)\, A\, \mathrm{PE}(n)^\top$，一般的 $A$ 会毁掉条纹。后两点是
#   [Yan 等，2019](https://arxiv.org/abs/1911.04474) 指出的。

# %% [markdown] lang="en"
# There is one more stranger in the score: the token. With codes added, it has four terms,
#
# $$
# \begin{matrix}
# (x_m + \mathrm{PE}(m))\, A\, (x_n + \mathrm{PE}(n))^\top = x_m A x_n^\top + x_m A\, \mathrm{PE}(n)^\top \\
# + \, \mathrm{PE}(m) A x_n^\top + \mathrm{PE}(m) A\, \mathrm{PE}(n)^\top ,
# \end{matrix}
# $$
#
# and only the last knows about relative position ([Dai et al., 2019, section 3.3](https://arxiv.org/abs/1901.02860v3)).
# Its strength does not depend on the tokens at all: "look at the adjective three back" has to be pieced together from
# several terms. Keep this in mind. Notebook 2 asks for a code in which content and distance are *multiplied*.
#
# **Why add, and not put the code beside the token?** A matrix $(E_1\ E_2)$ over both side by side gives $E_1 x_p +
# E_2\, \mathrm{PE}(p)$; adding is the case $E_1 = E_2$. It saves features and weights. [Ke et al.,
# 2020](https://arxiv.org/abs/2006.15595) give the codes matrices of their own instead, and leave out the mixed terms.
#
# ## Fourth idea: learn it
#
# Take a table with one row for each position, draw it at random, and train it with everything else ([Gehring et al.,
# 2017, section 3.1](https://arxiv.org/abs/1705.03122v3); BERT and GPT-2 do so). In the original Transformer it was as
# good as sinusoids ([section 3.5 and table 3, row E](https://arxiv.org/abs/1706.03762v7)).
#
# The trouble is the edge of the table: a row is trained only by texts that reach it, and the others stay as the random
# generator drew them. Do sinusoids, which have a rule, read longer texts? Not by themselves: training has no reason to
# find $M_\delta$, only something that agrees with it on the trained positions. Notebook 6 watches both.
#
# **Next:** [notebook 2](2_deriving_rope.ipynb) turns the question round: which code makes the score of two tokens
# depend on their contents and their distance, and on nothing else?

# %% [markdown] lang="zh"
# 得分里还有一位陌生人：token。编码是加上去的，所以得分有四项，
#
# $$
# \begin{matrix}
# (x_m + \mathrm{PE}(m))\, A\, (x_n + \mathrm{PE}(n))^\top = x_m A x_n^\top + x_m A\, \mathrm{PE}(n)^\top \\
# + \, \mathrm{PE}(m) A x_n^\top + \mathrm{PE}(m) A\, \mathrm{PE}(n)^\top ,
# \end{matrix}
# $$
#
# 其中只有最后一项知道相对位置（[Dai 等，2019，第 3.3 节](https://arxiv.org/abs/1901.02860v3)），它的强弱又完全不取决于 token：
# “看往回第三个位置上的形容词”，只能由好几项拼凑出来。请记住这一点。第 2 节要找的，是让内容与距离*相乘*的编码。
#
# **为什么相加，而不是拼在 token 旁边？** 拼接之后用矩阵 $(E_1\ E_2)$，得到 $E_1 x_p + E_2\, \mathrm{PE}(p)$；相加就是
# $E_1 = E_2$ 的情形，省了特征和权重。[Ke 等，2020](https://arxiv.org/abs/2006.15595) 则给编码单独的矩阵，并去掉了交叉项。
#
# ## 第四个想法：让模型去学
#
# 取一张表，每个位置一行，随机初始化，与其余参数一起训练（[Gehring 等，2017，第 3.1
# 节](https://arxiv.org/abs/1705.03122v3)；BERT 和 GPT-2 都是这样）。在最初的 Transformer 里，它与正弦编码不相上下
# （[第 3.5 节和表 3 的 E 行](https://arxiv.org/abs/1706.03762v7)）。
#
# 麻烦在表的边缘：只有长到那里的文本，才会训练到那一行，其余各行还是随机数生成器给出的样子。正弦编码有规则，能读更长的文本吗？光靠它自己不行：
# 训练没有理由恰好找到 $M_\delta$，只需要在训练过的位置上与它一致。这两种情形，第 6 节都看得到。
#
# **下一节：**[第 2 节](2_deriving_rope.ipynb)把问题反过来问：什么样的编码，能让两个 token 的得分只取决于各自的内容和它们的距离？

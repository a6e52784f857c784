# %% [markdown] lang="en"
# # 1 · Integer, binary, sinusoidal, learned
#
# Four codes came before RoPE, and the failure of each points at the next. All are used in the same way: the code of
# position $p$ is a vector $\mathrm{PE}(p)$ of $d$ numbers, as long as the embedding $x_p$ of the token there, and the
# two are **added** before the first layer.

# %% [markdown] lang="zh"
# # 1 · 整数、二进制、正弦、可学习
#
# RoPE 之前有四种编码，每一种的失败都指向下一种。它们的用法相同：位置 $p$ 的编码是一个 $d$ 维向量 $\mathrm{PE}(p)$，维数
# 与该位置的 token 的嵌入 $x_p$ 一样；在第一层之前把两者**相加**。

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
# Add the number to every feature: $\mathrm{PE}(p) = (p, p, \dots, p)$. Let the features of a token have mean square 1.
# The code adds the mean square $p^2$, and RMSNorm, which comes next in most models, divides a vector by the root of its
# mean square, now about $\sqrt{1 + p^2}$. So the token keeps the share
#
# $$
# \frac{1}{1 + p^2} .
# $$
#
# At position 10 that is one percent. And with $p / n$ in place of $p$, "three tokens back" is $3/n$, another step in
# every text.

# %% [markdown] lang="zh"
# ## 第一个想法：位置的数值本身
#
# 把位置这个数加到每个特征上：$\mathrm{PE}(p) = (p, p, \dots, p)$。设 token 各特征的均方为 1。编码带来的均方是 $p^2$，而
# 大多数模型接下来要用 RMSNorm，把向量除以它的均方根，现在约为 $\sqrt{1 + p^2}$。于是 token 只占
#
# $$
# \frac{1}{1 + p^2} .
# $$
#
# 到位置 10 就只剩百分之一。换成 $p / n$ 呢？“往回三个 token”就成了 $3/n$，在每篇文本里都不一样。


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
# ## Second idea: the bits of the number
#
# In base two, feature $i = 0, 1, \dots, d-1$ is bit $i$ of $p$, the lowest first:
#
# $$
# \mathrm{PE}(p)_i = \left\lfloor p / 2^i \right\rfloor \bmod 2 .
# $$
#
# All entries are 0 or 1, and codes are unique up to position $2^d - 1$. Bit $i$ is a square wave: it goes through zeros
# and ones once in every $2^{i+1}$ positions.

# %% [markdown] lang="zh"
# ## 第二个想法：数的各个比特
#
# 在二进制里，第 $i = 0, 1, \dots, d-1$ 个特征就是 $p$ 的第 $i$ 位，最低位在前：
#
# $$
# \mathrm{PE}(p)_i = \left\lfloor p / 2^i \right\rfloor \bmod 2 .
# $$
#
# 所有元素都是 0 或 1，直到位置 $2^d - 1$ 都是唯一的。第 $i$ 位是一个方波：每 $2^{i+1}$ 个位置，先是一段 0，再是一段 1。


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
# From 7 to 8 all four bits flip: as far as from 0 to 15, while 0 and 8 differ in one bit only. Neighbours in the text
# are not neighbours in the code.
#
# ## Is a shift linear?
#
# The second wish asks for one matrix $M_\delta$ for each shift $\delta$, with
#
# $$
# \mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p) \quad \text{for all } p .
# $$
#
# It is often said that integers and bits fulfil it. They do not: both codes have $\mathrm{PE}(0) = 0$, every matrix
# maps zero to zero, so $\mathrm{PE}(\delta) = M_\delta\, \mathrm{PE}(0) = 0$, which is false for every other position
# $\delta$ of the code.
#
# A linear layer may have a bias, which is the same as a feature that is always 1. With it,
#
# $$
# \begin{pmatrix} p + \delta \\ 1 \end{pmatrix} =
# \begin{pmatrix} 1 & \delta \\ 0 & 1 \end{pmatrix} \begin{pmatrix} p \\ 1 \end{pmatrix} :
# $$
#
# integers pass (this little matrix comes back in notebook 2). Bits still fail, because of the **carry**. Take two bits
# $u_1 u_0$ and $\delta = 1$. The low bit flips: $u_0' = 1 - u_0$. The high bit $u_1'$ is 1 if exactly one of $u_0, u_1$
# is. If $u_1' = \alpha u_0 + \beta u_1 + \gamma$ held, the four positions would ask for
#
# $$
# \gamma = 0, \qquad \alpha + \gamma = 1, \qquad \beta + \gamma = 1, \qquad \alpha + \beta + \gamma = 0 .
# $$
#
# The first three give $\alpha + \beta + \gamma = 2$, the last says 0.

# %% [markdown] lang="zh"
# 从 7 到 8，四位全都翻转，与从 0 到 15 一样远，而 0 与 8 只差一位。文本里的邻居，在编码里并不相邻。
#
# ## 平移是线性的吗？
#
# 第二条要求说，对每个平移量 $\delta$ 都有一个矩阵 $M_\delta$，使得
#
# $$
# \mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p) \quad \text{对所有 } p .
# $$
#
# 常有人说整数和二进制编码满足它。其实不满足：这两种编码都有 $\mathrm{PE}(0) = 0$，任何矩阵都把零映到零，于
# 是 $\mathrm{PE}(\delta) = M_\delta\, \mathrm{PE}(0) = 0$，而这对编码里其他任何位置 $\delta$ 都不成立。
#
# 不过线性层可以带偏置，相当于多一个恒为 1 的特征。有了它，
#
# $$
# \begin{pmatrix} p + \delta \\ 1 \end{pmatrix} =
# \begin{pmatrix} 1 & \delta \\ 0 & 1 \end{pmatrix} \begin{pmatrix} p \\ 1 \end{pmatrix} :
# $$
#
# 整数过关了（第 2 节还会遇到这个小矩阵）。比特还是不行，原因在**进位**。取两位 $u_1 u_0$ 和 $\delta = 1$。低位翻
# 转：$u_0' = 1 - u_0$。高位 $u_1'$ 则在 $u_0, u_1$ 中恰有一个为 1 时为 1。假
# 如 $u_1' = \alpha u_0 + \beta u_1 + \gamma$，四个位置就要求
#
# $$
# \gamma = 0, \qquad \alpha + \gamma = 1, \qquad \beta + \gamma = 1, \qquad \alpha + \beta + \gamma = 0 .
# $$
#
# 由前三个得 $\alpha + \beta + \gamma = 2$，最后一个却说它是 0。

# %% [markdown] lang="en"
# ### Exercise 1.1 · No matrix does it (2 points)
#
# Write `shift_residual`, which measures any code. Rows of `before` are the codes of some positions, rows of `after`
# those of the shifted positions. Find the matrix $M$ that comes closest to mapping each row $z_p$ to the row $z'_p$, by
# least squares, and return the root of the mean, over all $n \cdot d'$ entries of `after`, of what is left:
#
# $$
# \min_M \sqrt{\frac{1}{n\, d'} \sum_p \lVert M z_p - z'_p \rVert^2} .
# $$
#
# With rows instead of columns, $M z_p$ becomes `before @ M.T`; `torch.linalg.lstsq(A, B, driver="gelsd").solution` is
# the `X` for which `A @ X` is closest to `B`. (The driver `gels` gives nonsense for features that depend on each
# other.) Add no bias; compute in float64.
#
# Hint: Positions are rows in both, as `lstsq` wants them: its solution is already the matrix on the right of `before`.

# %% [markdown] lang="zh"
# ### 练习 1.1 · 没有矩阵做得到（2 分）
#
# 写出 `shift_residual`，一把适用于任何编码的尺子：`before` 的各行是一些位置的编码，`after` 的各行是平移之后的编码。求出
# 最小二乘意义下最接近“把每一行 $z_p$ 映到 $z'_p$”的矩阵 $M$，并对 `after` 的全部 $n \cdot d'$ 个元素返回剩余误差的均方
# 根：
#
# $$
# \min_M \sqrt{\frac{1}{n\, d'} \sum_p \lVert M z_p - z'_p \rVert^2} .
# $$
#
# 这里用行向量，$M z_p$ 写成 `before @ M.T`；`torch.linalg.lstsq(A, B, driver="gelsd").solution` 给出使 `A @ X` 最接
# 近 `B` 的 `X`。（特征之间线性相关时，`gels` 这个 driver 会给出毫无意义的结果。）不要加偏置；用 float64 计算。
#
# 提示：两个张量里，行都是位置，正合 `lstsq` 的要求：它给出的解就是乘在 `before` 右边的矩阵。


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
# Bits have many waves, fast ones to tell neighbours apart and slow ones to tell regions apart. But their edges are
# sharp: jumps between neighbours, and carries. So take smooth waves.
#
# Let $\theta$ be the **frequency** of a wave, the angle in radians by which it advances from one position to the next.
# By the addition theorem,
#
# $$
# \sin(\theta p + \theta \delta) = \sin(\theta p) \cos(\theta \delta) + \cos(\theta p) \sin(\theta \delta) .
# $$
#
# Advancing the sine at $p$ needs the cosine at $p$ too. Hence a **pair** for each frequency ([asked at
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
# the same factor $b^{2/d}$ from pair to pair, as the bits' wavelengths grow by 2.

# %% [markdown] lang="zh" short=true
# ## 第三个想法：把棱角磨圆
#
# 比特有许多个波，快的区分邻居，慢的区分区域。但棱角太尖：邻居之间会跳变，还有进位。那就换成平滑的波。
#
# 记 $\theta$ 为波的**频率**，即从一个位置到下一个位置前进的角度，以弧度计。由加法定理，
#
# $$
# \sin(\theta p + \theta \delta) = \sin(\theta p) \cos(\theta \delta) + \cos(\theta p) \sin(\theta \delta) .
# $$
#
# 让 $p$ 处的正弦前进，还要用到 $p$ 处的余弦，所以每个频率要有**一
# 对**（[有人在 tensor2tensor 问过](https://github.com/tensorflow/tensor2tensor/issues/1700)）。
#
# [Vaswani 等，2017，第 3.5 节](https://arxiv.org/abs/1706.03762v7)（推导见[苏剑林，2021](https://kexue.fm/archives/8231)）取 $d/2$ 对，$i = 0, 1, \dots, d/2 - 1$：
#
# $$
# \mathrm{PE}(p)_{2i} = \sin(\theta_i\, p), \qquad \mathrm{PE}(p)_{2i+1} = \cos(\theta_i\, p), \qquad
# \theta_i = b^{-2i/d}, \qquad b = 10000 .
# $$
#
# **波长** $\lambda_i = 2\pi / \theta_i$ 是转一圈所需的位置数。它从 $2\pi$ 开始，每一对都是前一对的 $b^{2/d}$ 倍，正如比
# 特的波长逐位翻倍。

# %% [markdown] lang="en"
# ### Exercise 1.2 · Build the sinusoids (2 points)
#
# Write `sinusoidal`: even features are sines, odd ones cosines.
#
# Hint: First the angles, a row for each position and a column for each pair: an outer product of positions and
# frequencies.
#
# Hint: The frequency of pair $i$ is $b^{-2i/d}$; `torch.arange` in steps of 2 gives all $2i$ at once.
#
# Hint: `torch.cat` would set all sines before all cosines. To make them take turns, put them beside each other in a
# *new last* dimension, and merge it with the one before.

# %% [markdown] lang="zh"
# ### 练习 1.2 · 造出正弦编码（2 分）
#
# 写出 `sinusoidal`：偶数号特征是正弦，奇数号特征是余弦。
#
# 提示：先算角度，每个位置一行，每一对一列：位置与频率的外积。
#
# 提示：第 $i$ 对的频率是 $b^{-2i/d}$；让 `torch.arange` 每步走 2，就一次得到所有的 $2i$。
#
# 提示：`torch.cat` 会把所有正弦排在所有余弦前面。要让它们轮流，就把两者并排放进*新的最后一维*，再与前一维合并。


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
# Now both side by side, with $b = 64$ and $d = 12$, so that the wavelength of the sinusoids doubles too.

# %% [markdown] lang="zh"
# 现在把两者放在一起看，取 $b = 64$、$d = 12$，这样正弦的波长也逐对翻倍。

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
# Above: blue is large. Below: how far apart neighbours are. For bits it depends on the carry ([all eight
# flip](#odometer?position=127) after 127, [one](#odometer?position=128) after 128); for sinusoids every step is the
# same.
#
# <!-- touch: odometer -->
#
# **Are they unique?** Yes, however long the text. If pair 0, with $\theta_0 = 1$, is the same at $m$ and $n$, then
# $m - n$ is a multiple of $2\pi$, and as $\pi$ is irrational, the only whole one is 0. The other pairs make the
# difference larger than rounding.
#
# ## The shift matrix
#
# With the cosine's addition theorem below the sine's:
#
# $$
# \begin{pmatrix} \sin \theta (p + \delta) \\ \cos \theta (p + \delta) \end{pmatrix} =
# \begin{pmatrix} \cos \theta \delta & \sin \theta \delta \\ -\sin \theta \delta & \cos \theta \delta \end{pmatrix}
# \begin{pmatrix} \sin \theta p \\ \cos \theta p \end{pmatrix} .
# $$
#
# The matrix holds $\delta$ and $\theta$, but not $p$. It is a rotation, clockwise because the sine stands first.
# $M_\delta$ has one such block on its diagonal for each frequency, and zeros elsewhere. The second wish is fulfilled.

# %% [markdown] lang="zh" short=true
# 上排：蓝处数值大。下排：相邻位置的距离。比特的步长取决于进位（127 之后[八个全翻](#odometer?position=127)，128 之
# 后[只翻一个](#odometer?position=128)）；正弦的每一步都一样长。
#
# <!-- touch: odometer -->
#
# **唯一吗？** 唯一，文本再长也是。如果第一对（$\theta_0 = 1$）在 $m$ 和 $n$ 处相同，那么 $m - n$ 是 $2\pi$ 的整数
# 倍；$\pi$ 是无理数，其中的整数只有 0。其他各对则让差别大过舍入误差。
#
# ## 平移矩阵
#
# 把余弦的加法定理写在正弦的下面：
#
# $$
# \begin{pmatrix} \sin \theta (p + \delta) \\ \cos \theta (p + \delta) \end{pmatrix} =
# \begin{pmatrix} \cos \theta \delta & \sin \theta \delta \\ -\sin \theta \delta & \cos \theta \delta \end{pmatrix}
# \begin{pmatrix} \sin \theta p \\ \cos \theta p \end{pmatrix} .
# $$
#
# 矩阵里有 $\delta$ 和 $\theta$，没有 $p$。它是一个旋转，因为正弦在前，转的是顺时针方向。$M_\delta$ 的对角线上，每个频率
# 有这样一块，其余都是零。第二条要求满足了。

# %% [markdown] lang="en"
# ### Exercise 1.3 · The matrix that moves every position (3 points)
#
# Write `shift_matrix`, the $M_\delta$ with $\mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p)$ for the code of
# exercise 1.2. $\delta$ may be negative.
#
# Hint: Start from zeros and go through the pairs: pair $i$ turns by $\delta\,\theta_i$, and its block has the rows and
# columns $2i$ and $2i + 1$.

# %% [markdown] lang="zh"
# ### 练习 1.3 · 让每个位置前进的矩阵（3 分）
#
# 写出 `shift_matrix`，也就是对练习 1.2 的编码满
# 足 $\mathrm{PE}(p + \delta) = M_\delta\, \mathrm{PE}(p)$ 的 $M_\delta$。$\delta$ 可以是负数。
#
# 提示：从全零的矩阵开始，一对一对地填：第 $i$ 对转过 $\delta\,\theta_i$，它那一块占第 $2i$ 和第 $2i + 1$ 行、列。


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
# Your measure, over all shifts of 256 positions. Eight bits hold exactly these, so for them the shift is meant modulo
# 256.

# %% [markdown] lang="zh"
# 用你的尺子，考察 256 个位置的所有平移。八个比特恰好容纳这么多位置，所以对比特来说，平移是模 256 的。

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
# With a 1 beside the code, integers and sinusoids leave nothing; bits only at $\delta = 128$, where the highest bit
# flips and nothing carries beyond it.
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
# Only the distance counts. Compare bits (as $\pm 1$), and a table of random numbers, from which a learned code starts.

# %% [markdown] lang="zh"
# 编码旁边有了 1，整数和正弦什么也不剩；比特只在 $\delta = 128$ 处如此，那里只有最高位翻转，再往上没有进位。
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
# 只有距离起作用。下面与比特（取 $\pm 1$）以及一张随机数表作比较；可学习的编码就是从随机数表开始的。

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
# The stripes are what we wanted. Two things do **not** follow:
#
# - **It has no direction.** $\cos$ is even, so "three back" and "three ahead" score the same.
# - **With a matrix in between, more than the distance counts.** With $A = W_Q W_K^\top$ (codes as rows) the score is
#   $\mathrm{PE}(m)\, A\, \mathrm{PE}(n)^\top$, and a general $A$ destroys the stripes ([Yan et al.,
#   2019](https://arxiv.org/abs/1911.04474)).

# %% [markdown] lang="zh"
# 只有正弦编码的点积完全由距离决定，这些条纹正是我们想要的。但有两件事**并不**能由此推出：
#
# - **它没有方向。** $\cos$ 是偶函数，“往回三个”与“往前三个”得分相同。
# - **中间有矩阵时，起作用的就不只是距离了。** 记 $A = W_Q W_K^\top$（编码是行向量），得分
#   是 $\mathrm{PE}(m)\, A\, \mathrm{PE}(n)^\top$，一般的 $A$ 会毁掉条纹
#   （[Yan 等，2019](https://arxiv.org/abs/1911.04474)）。

# %% [markdown] lang="en"
# With the tokens, the score has four terms,
#
# $$
# \begin{matrix}
# (x_m + \mathrm{PE}(m))\, A\, (x_n + \mathrm{PE}(n))^\top = x_m A x_n^\top + x_m A\, \mathrm{PE}(n)^\top \\
# + \, \mathrm{PE}(m) A x_n^\top + \mathrm{PE}(m) A\, \mathrm{PE}(n)^\top ,
# \end{matrix}
# $$
#
# and only the last knows about relative position ([Dai et al., 2019, section 3.3](https://arxiv.org/abs/1901.02860v3)).
# Its strength does not depend on the tokens at all. Notebook 2 asks for a code in which content and distance are
# *multiplied*.
#
# ## Fourth idea: learn it
#
# Train a table with one row for each position ([Gehring et al., 2017, section 3.1](https://arxiv.org/abs/1705.03122v3);
# BERT and GPT-2 do so). Texts that do not reach a row do not train it. Sinusoids do not read longer texts by themselves
# either: notebook 6 tests both.
#
# **Next:** [notebook 2](2_deriving_rope.ipynb): which code makes the score of two tokens depend on their contents and
# their distance, and on nothing else?

# %% [markdown] lang="zh"
# 算上 token，得分有四项，
#
# $$
# \begin{matrix}
# (x_m + \mathrm{PE}(m))\, A\, (x_n + \mathrm{PE}(n))^\top = x_m A x_n^\top + x_m A\, \mathrm{PE}(n)^\top \\
# + \, \mathrm{PE}(m) A x_n^\top + \mathrm{PE}(m) A\, \mathrm{PE}(n)^\top ,
# \end{matrix}
# $$
#
# 其中只有最后一项知道相对位置（[Dai 等，2019，第 3.3 节](https://arxiv.org/abs/1901.02860v3)），它的强弱又完全不取决
# 于 token。第 2 节要找的，是让内容与距离*相乘*的编码。
#
# ## 第四个想法：让模型去学
#
# 训练一张表，每个位置一行（[Gehring 等，2017，第 3.1 节](https://arxiv.org/abs/1705.03122v3)；BERT 和 GPT-2 都是这
# 样）。文本没有长到的那些行，就没有训练过。正弦编码虽有规则，光靠它自己也读不了更长的文本：这两种情形，第 6 节都看得
# 到。
#
# **下一节：**[第 2 节](2_deriving_rope.ipynb)：什么样的编码，能让两个 token 的得分只取决于各自的内容和它们的距离？

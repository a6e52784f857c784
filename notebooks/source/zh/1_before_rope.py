# %% [markdown]
# # 1 · 整数、二进制、正弦、可学习
#
# 第 0 节最后列了一张愿望清单：位置编码应当唯一，平移应当是线性的，能用于更长的文本，有固定的规则，还能推广到更多维度。
# 这一节把 RoPE 之前的编码走一遍。每一种都出自一个简单的想法，又都败在某一点上；而每一次失败，都指向下一个想法。
#
# 四种编码的用法相同。位置 $p$ 的编码是一个 $d$ 维向量 $\mathrm{PE}(p)$，维数与该位置的 token 的嵌入 $x_p$ 一样；
# 在第一层之前把两者**相加**：$x_p + \mathrm{PE}(p)$。
#
# 图中的文字用英文，每幅图的结论都会在正文里用中文说明。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, GREY, SEQUENTIAL, VERMILION, headline, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
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
#
# 如果没有归一化（最初的 Transformer 的第一层就是这样），受害的是注意力。查询 $m$ 和键 $n$ 里分别含有固定向量的 $m$ 倍和
# $n$ 倍，所以得分里有一项是 $m n$ 乘以一个只取决于权重的常数 $c$。从一个键到下一个键，这一项变化 $c\, m$，文本越长变化
# 越大，直到 softmax 只选中一个 token：$c > 0$ 时是最后一个，$c < 0$ 时是第一个。

# %%
DIM = 64  # d，每个 token 的特征数
random = torch.Generator().manual_seed(0)
tokens = torch.randn(500, DIM, generator=random)

places = torch.tensor([0, 1, 2, 4, 8, 16, 32, 64, 128, 256])
shares = []
for place in places:
    mixed = tokens + place
    kept = tokens / mixed.square().mean(-1, keepdim=True).sqrt()  # 经过 RMSNorm 之后 token 所剩的部分
    shares.append(kept.square().mean().item())

lengths = [1, 2, 4, 8, 16, 32, 64]
largest = {0: [], 1: []}  # 位置的数值加几次：不加，加一次
for scale, medians in largest.items():
    for length in lengths:
        weights = []
        for _ in range(200):  # 随机的头，随机的文本；最后一个 token 往回看
            w_q, w_k = torch.randn(2, DIM, DIM, generator=random) / DIM**0.5
            x = torch.randn(length, DIM, generator=random) + scale * torch.arange(length)[:, None]
            weights.append(torch.softmax((x[-1] @ w_q) @ (x @ w_k).T / DIM**0.5, dim=-1).max())
        medians.append(torch.stack(weights).median().item())

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
left.plot(places + 1, 1 / (1 + places**2), color=GREY, linestyle="-", label="1 / (1 + p²)")
left.plot(places + 1, shares, "o", color=BLUE, markersize=5, label="measured")
left.set(xscale="log", yscale="log", xlabel="position + 1", ylabel="share of the token")
left.set_title("with RMSNorm", fontweight="normal", fontsize=9.5)
left.legend(loc="lower left")
right.plot(lengths, largest[1], color=VERMILION, marker="o", linestyle="-", label="token + p")
right.plot(lengths, largest[0], color=BLACK, marker="s", linestyle="--", label="token alone")
right.set(xscale="log", xlabel="tokens in the text", ylabel="largest attention weight", ylim=(0, 1.05))
right.set_xticks(lengths, lengths)
right.minorticks_off()
right.set_title("without a norm (median of 200 random heads)", fontweight="normal", fontsize=9.5)
right.legend(loc="center right")
share, weight = shares[5], largest[1][4]
headline(
    figure, f"Integers: at position 16 a norm keeps {share:.1%} of the token; without it one token gets {weight:.0%}"
)
plt.show()

# %% [markdown]
# 左图：测得的份额正好落在 $1/(1+p^2)$ 上，到位置 16 时，归一化之后的 token 只剩千分之四左右。右图：没有归一化时，
# 十几个 token 的文本里，几乎全部权重就都落到一个 token 上了。
#
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
    """每个特征都是位置的数值：[n] 到 [n, dim]。"""
    return positions[:, None].float().repeat(1, dim)


def binary(positions: Tensor, dim: int) -> Tensor:
    """位置的各个比特，最低位在前：[n] 到 [n, dim]。"""
    return (positions[:, None] >> torch.arange(dim) & 1).float()


for position in range(6, 10):
    print(position, binary(torch.tensor([position]), 4)[0].int().tolist())

# %% [markdown]
# 看从 7 到 8 这一步：四位全都翻转。7 与 8 之间的距离和 0 与 15 之间一样远，而 0 与 8 只差一位。文本里的邻居，
# 在编码里并不相邻。
#
# ## 平移是线性的吗？
#
# 第二个愿望要求，对每个平移量 $k$ 都有一个矩阵 $M_k$，使得
#
# $$
# \mathrm{PE}(p + k) = M_k\, \mathrm{PE}(p) \quad \text{对所有 } p .
# $$
#
# 常有人说整数和二进制编码满足它。其实不满足，看位置 0 就够了：这两种编码都有 $\mathrm{PE}(0) = 0$。任何矩阵都把零映到零，
# 于是 $\mathrm{PE}(k) = M_k\, \mathrm{PE}(0) = 0$，而这对编码里其他任何位置 $k$ 都不成立。
#
# 这样说是不是太苛刻？线性层可以带偏置，相当于多一个恒为 1 的特征。有了它，
#
# $$
# \begin{pmatrix} p + k \\ 1 \end{pmatrix} =
# \begin{pmatrix} 1 & k \\ 0 & 1 \end{pmatrix} \begin{pmatrix} p \\ 1 \end{pmatrix} :
# $$
#
# 整数过关了（记住这个小矩阵，第 7 节还会遇到它）。比特还是不行，原因在**进位**。取两位 $b_1 b_0$ 和 $k = 1$。低位翻转：
# $b_0' = 1 - b_0$，线性再加偏置。高位只在有进位时翻转：$b_0, b_1$ 中恰有一个为 1 时，$b_1'$ 为 1。假如
# $b_1' = \alpha b_0 + \beta b_1 + \gamma$，四个位置就要求
#
# $$
# \gamma = 0, \qquad \alpha + \gamma = 1, \qquad \beta + \gamma = 1, \qquad \alpha + \beta + \gamma = 0 .
# $$
#
# 由前三个得 $\alpha + \beta + \gamma = 2$，最后一个却说它是 0。

# %% [markdown]
# ### 练习 1.1 · 没有矩阵做得到（2 分）
#
# 证明很好，再有一把适用于任何编码的尺子也很好。写出 `shift_residual`：`before` 的各行是一些位置的编码，`after` 的各行是
# 平移之后的编码。它找出最小二乘意义下最接近“把每一行 $b_p$ 映到 $a_p$”的矩阵 $M$，并对全部 $n \cdot d'$ 个元素（$d'$ 是
# `after` 的列数）返回剩余误差的均方根：
#
# $$
# \min_M \sqrt{\frac{1}{n\, d'} \sum_p \left\lVert M b_p - a_p \right\rVert^2} .
# $$
#
# 这里用行向量，$M b_p$ 写成 `before @ M.T`；`torch.linalg.lstsq(A, B, driver="gelsd").solution` 给出使 $A X$ 最接近 $B$ 的
# $X$。（特征之间线性相关时，例如同一个特征出现两次，默认的 driver 会出错。）不要自己加偏置：想要偏置的人，会在 `before`
# 里放一列 1。用 float64 计算。


# %% nbgrader={"grade_id": "shift_residual", "solution": true}
def shift_residual(before: Tensor, after: Tensor) -> float:
    """从 before 的各行到 after 的各行，最好的线性映射所剩误差的均方根。

    Args:
        before: [n, d]，任意 dtype。
        after: [n, d']，任意 dtype。
    """
    ### BEGIN SOLUTION
    before, after = before.double(), after.double()
    best = torch.linalg.lstsq(before, after, driver="gelsd").solution  # [d, d']，M 的转置
    return (before @ best - after).square().mean().sqrt().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift_residual_laws", "grade": true, "points": 2}
with quiet():
    # 从 0, 1, 2 到 1, 2, 3：最好的系数是 (1*2 + 2*3) / (1 + 4) = 8/5，剩下 1、-2/5 和 1/5。
    numbers = torch.tensor([[0.0], [1.0], [2.0]])
    expected = math.sqrt((1 + 0.16 + 0.04) / 3)
    assert abs(shift_residual(numbers, numbers + 1) - expected) < 1e-6, "从各数到各数加 1：手算得 0.4 的平方根。"
    with_one = torch.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    assert shift_residual(with_one, numbers + 1) < 1e-6, "有一列 1 时，加 1 是线性的。"
    two_bits, next_bits = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]]), torch.tensor([[1, 0], [0, 1], [1, 1], [0, 0]])
    assert shift_residual(two_bits, next_bits) > 0.1, "没有矩阵能让两个比特前进一步。"
    ### BEGIN HIDDEN TESTS
    random_rows = torch.Generator().manual_seed(4)
    points = torch.randn(30, 5, generator=random_rows, dtype=torch.float64)
    matrix = torch.randn(3, 5, generator=random_rows, dtype=torch.float64)
    assert shift_residual(points, points @ matrix.T) < 1e-9, "由矩阵得出的，矩阵就能解释。"
    noise = torch.randn(30, 3, generator=random_rows, dtype=torch.float64)
    left_over = shift_residual(points, noise)
    mixing = torch.randn(5, 5, generator=random_rows, dtype=torch.float64)
    assert abs(shift_residual(points @ mixing, noise) - left_over) < 1e-9, "把特征重新组合，并不能多解释什么。"
    doubled = torch.cat([points, points], dim=1)
    assert abs(shift_residual(doubled, noise) - left_over) < 1e-9, "特征重复出现，并不能多解释什么。"
    assert abs(shift_residual(points, 3 * noise) - 3 * left_over) < 1e-9, "编码放大三倍，剩下的也是三倍。"
    twice = shift_residual(points.repeat(2, 1), noise.repeat(2, 1))
    assert abs(twice - left_over) < 1e-9, "是对各位置求平均，不是求和。"
    assert abs(shift_residual(points[:, :1] * 0, noise) - noise.square().mean().sqrt()) < 1e-9, "全零什么也解释不了。"
    ones = torch.ones(4, 1, dtype=torch.long)
    assert abs(shift_residual(ones, torch.tensor([[0], [0], [1], [1]])) - 0.5) < 1e-9, "整数类型也要能用。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 第三个想法：把棱角磨圆
#
# 比特好在哪里？有许多个波，快的区分邻居，慢的区分区域。坏在哪里？棱角太尖：邻居之间会跳变，还有进位。那就留下波，
# 换成平滑的波。
#
# 每种速度只有一个波是不够的。记 $\omega$ 为波的**频率**，即从一个位置到下一个位置前进的角度，以弧度计。要把
# $\sin(\omega p)$ 往前移，需要加法定理
#
# $$
# \sin(\omega p + \omega k) = \sin(\omega p) \cos(\omega k) + \cos(\omega p) \sin(\omega k) ,
# $$
#
# 右边还要用到 $p$ 处的余弦。所以每个频率要有**一对**。正弦和余弦都要，不是为了花样，而是因为单靠正弦，没有线性映射能让它前进
# （[有人在 tensor2tensor 问过](https://github.com/tensorflow/tensor2tensor/issues/1700)）。
#
# [Vaswani 等，2017，第 3.5 节](https://arxiv.org/abs/1706.03762)取 $d/2$ 对，$i = 0, 1, \dots, d/2 - 1$：
#
# $$
# \mathrm{PE}(p)_{2i} = \sin(\omega_i\, p), \qquad \mathrm{PE}(p)_{2i+1} = \cos(\omega_i\, p), \qquad
# \omega_i = b^{-2i/d}, \qquad b = 10000 .
# $$
#
# **波长** $\lambda_i = 2\pi / \omega_i$ 是转一圈所需的位置数。它从 $2\pi$ 开始，每一对都是前一对的 $b^{2/d}$ 倍，正如比特的
# 波长逐位翻倍。按这个公式，最后一个波长是 $2\pi b^{(d-2)/d}$，比同一节所说的“$10000 \cdot 2\pi$”略短。
# （[作者的代码](https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_attention.py)用 $d/2 - 1$
# 而不是 $d/2$ 去除 $i$，倒是正好达到。）

# %% [markdown]
# ### 练习 1.2 · 造出正弦编码（2 分）
#
# 写出 `sinusoidal`，正弦与余弦相邻：偶数号特征是正弦，奇数号特征是余弦。


# %% nbgrader={"grade_id": "sinusoidal", "solution": true}
def sinusoidal(positions: Tensor, dim: int, base: float = 10000.0) -> Tensor:
    """一些位置的正弦编码。

    Args:
        positions: [n]，整数，次序任意。
        dim: d，偶数。
        base: b，频率的底数。

    Returns:
        [n, dim]，float32：sin, cos, sin, cos, ...
    """
    ### BEGIN SOLUTION
    frequencies = base ** (-torch.arange(0, dim, 2) / dim)  # [dim / 2]
    angles = positions[:, None] * frequencies  # [n, dim / 2]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # [n, dim / 2, 2] 到 [n, dim]
    ### END SOLUTION


# %% nbgrader={"grade_id": "sinusoidal_laws", "grade": true, "points": 2}
with quiet():
    code = sinusoidal(torch.tensor([0, 1, 2]), 4, base=100.0)  # 频率是 1 和 100 ** (-2/4) = 1/10
    assert code.shape == (3, 4), "每个位置一行，每个特征一列。"
    torch.testing.assert_close(code[0], torch.tensor([0.0, 1, 0, 1]), msg="位置 0 上是 sin 0, cos 0, sin 0, cos 0。")
    by_hand = torch.tensor([math.sin(2), math.cos(2), math.sin(0.2), math.cos(0.2)])
    torch.testing.assert_close(code[2], by_hand, msg="位置 2 的角度是 2 和 2/10；sin 与 cos 交替。")
    ### BEGIN HIDDEN TESTS
    for dim, base in [(2, 10000.0), (6, 64.0), (10, 10000.0), (64, 500000.0)]:
        code = sinusoidal(torch.tensor([7, 0, 300, 41]), dim, base)
        assert (code.shape, code.dtype) == ((4, dim), torch.float32), "形状是 [n, dim]，dtype 是 float32。"
        for row, position in enumerate([7, 0, 300, 41]):
            for pair in range(dim // 2):
                angle = position / base ** (2 * pair / dim)
                assert abs(code[row, 2 * pair] - math.sin(angle)) < 1e-4, "特征 2i 是 sin(p / b^(2i/d))。"
                assert abs(code[row, 2 * pair + 1] - math.cos(angle)) < 1e-4, "特征 2i+1 是 cos(p / b^(2i/d))。"
    assert torch.equal(sinusoidal(torch.arange(3), 8), sinusoidal(torch.arange(3), 8, 10000.0)), "默认的底数是 10000。"
    ### END HIDDEN TESTS

# %% [markdown]
# 很多程序把全部正弦放在前面、全部余弦放在后面，论文作者自己的 tensor2tensor 也是这样。“我想这不要紧”，
# [作者之一回答说](https://github.com/tensorflow/tensor2tensor/issues/391)。对从头训练的模型确实不要紧：编码之后的权重，
# 可以按任何次序读取特征。对已有的权重就要紧了；第 3 节会在 RoPE 那里遇到同样的问题。
#
# 现在把比特和正弦放在一起看。取 $b = 64$、$d = 12$，这样正弦的波长也逐对翻倍。

# %%
positions = torch.arange(64)
bits, waves = binary(positions, 6), sinusoidal(positions, 12, base=64.0)
steps = {"bits": bits.diff(dim=0).norm(dim=-1), "sinusoids": waves.diff(dim=0).norm(dim=-1)}

figure, panels = plt.subplots(2, 2, figsize=(7.2, 4.0), height_ratios=[1.6, 1], sharex=True)
for column, (name, code) in enumerate({"bits": bits, "sinusoids": waves}.items()):
    panels[0, column].imshow(code.T, aspect="auto", cmap=SEQUENTIAL)
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

# %% [markdown]
# 上排：亮处数值大。下排：相邻位置的距离。比特的步长取决于进位，从 1 到 2.4 不等；正弦的每一步都一样长，很快就会看到原因。
#
# **唯一吗？** 唯一，文本再长也是。第一对的 $\omega_0 = 1$：如果 $\sin p = \sin q$ 且 $\cos p = \cos q$，那么 $p - q$ 是
# $2\pi$ 的整数倍。$\pi$ 是无理数，这些数里的整数只有 0。其他各对则保证，不同位置之间的差别不至于小到舍入误差的量级。
#
# **为什么是 10000？** 没有已知的推导，论文里也没有给出。它要足够大，使最慢的几对在一篇文本之内转不完一圈，否则相距很远的位置
# 会显得相像。第 4 节会看它对 RoPE 的影响。
#
# ## 平移矩阵
#
# 正弦的加法定理已经有了。余弦的是
# $\cos(\omega p + \omega k) = \cos(\omega p) \cos(\omega k) - \sin(\omega p) \sin(\omega k)$。把两者叠起来：
#
# $$
# \begin{pmatrix} \sin \omega (p + k) \\ \cos \omega (p + k) \end{pmatrix} =
# \begin{pmatrix} \cos \omega k & \sin \omega k \\ -\sin \omega k & \cos \omega k \end{pmatrix}
# \begin{pmatrix} \sin \omega p \\ \cos \omega p \end{pmatrix} .
# $$
#
# 矩阵里有 $k$ 和 $\omega$，没有 $p$。它是一个旋转。因为正弦在前，它是顺时针转的：$a$ 增大时，点 $(\sin a, \cos a)$ 从顶上出发
# 顺时针运动，就像钟表的指针。$M_k$ 的对角线上，每个频率有这样一块，其余都是零。第二个愿望实现了。

# %% [markdown]
# ### 练习 1.3 · 让每个位置前进的矩阵（3 分）
#
# 写出 `shift_matrix`，也就是对练习 1.2 的编码（偶数号特征是正弦，奇数号是余弦）满足
# $\mathrm{PE}(p + k) = M_k\, \mathrm{PE}(p)$ 的 $M_k$。$k$ 可以是负数。


# %% nbgrader={"grade_id": "shift_matrix", "solution": true}
def shift_matrix(k: int, dim: int, base: float = 10000.0) -> Tensor:
    """让每个正弦编码前进 k 个位置的 M_k：[dim, dim]。"""
    ### BEGIN SOLUTION
    matrix = torch.zeros(dim, dim)
    for pair in range(dim // 2):
        angle = k * base ** (-2 * pair / dim)
        sine, cosine = 2 * pair, 2 * pair + 1  # 这一对的两个特征
        matrix[sine, sine] = matrix[cosine, cosine] = math.cos(angle)
        matrix[sine, cosine], matrix[cosine, sine] = math.sin(angle), -math.sin(angle)
    return matrix
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift_matrix_laws", "grade": true, "points": 3}
with quiet():
    assert torch.equal(shift_matrix(0, 6).float(), torch.eye(6)), "平移 0，什么都不变。"
    for p in range(5):  # 两个特征：一对 (sin p, cos p)
        here = torch.tensor([math.sin(p), math.cos(p)])
        there = torch.tensor([math.sin(p + 3), math.cos(p + 3)])
        torch.testing.assert_close(shift_matrix(3, 2).float() @ here, there, msg="M_3 把位置 p 变到 p + 3。")
    ### BEGIN HIDDEN TESTS
    for dim, base in [(4, 100.0), (8, 10000.0), (32, 500.0)]:
        frequency = [base ** (-2 * pair / dim) for pair in range(dim // 2)]
        for k in (-40, -1, 2, 17):
            for p in (0, 5, 100):
                here = torch.tensor([wave(p * w) for w in frequency for wave in (math.sin, math.cos)])
                there = torch.tensor([wave((p + k) * w) for w in frequency for wave in (math.sin, math.cos)])
                moved = shift_matrix(k, dim, base).float() @ here
                torch.testing.assert_close(moved, there, rtol=0, atol=1e-4, msg="M_k PE(p) = PE(p + k)，对所有 p、k。")
        both = shift_matrix(5, dim, base).float() @ shift_matrix(-2, dim, base).float()
        direct = shift_matrix(3, dim, base).float()
        torch.testing.assert_close(both, direct, rtol=0, atol=1e-4, msg="先后两次平移，相当于加起来平移一次。")
        assert torch.allclose(direct @ direct.T, torch.eye(dim), atol=1e-4), "它是旋转：M Mᵀ = I。"
    ### END HIDDEN TESTS

# %% [markdown]
# 现在用练习 1.1 的尺子量一量各种编码，考察 256 个位置的所有平移。八个比特恰好容纳这么多位置，然后又从 0 开始，
# 所以对比特来说，平移是模 256 的。“with a 1”表示有一个恒为 1 的特征。

# %%
positions, shifts = torch.arange(256), torch.arange(1, 256)
ONE = torch.ones(256, 1)


def residuals(code, with_one: bool) -> list[float]:
    """对每个平移量，编码（[n] 到 [n, d]）所剩的误差。"""
    before = torch.cat([code(positions), ONE], dim=1) if with_one else code(positions)
    return [shift_residual(before, code(positions + k)) for k in shifts]


codes = {
    "integers / 256": (lambda p: integer(p, 1) / 256, BLUE, "--"),
    "bits": (lambda p: binary(p, 8), VERMILION, "-"),
    "sinusoids": (lambda p: sinusoidal(p, 16), GREEN, "-."),
}
figure, panels = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True)
for axes, with_one in zip(panels, (False, True), strict=True):
    for name, (code, color, style) in codes.items():
        left_over = torch.tensor(residuals(code, with_one))
        axes.plot(shifts, left_over, color=color, linestyle=style, linewidth=1.4, label=name)
        if name == "bits":
            least = left_over[shifts != 128].min()
    axes.set(xlabel="shift k", xticks=range(0, 257, 64), ylim=(-0.02, 0.62))
    axes.set_title("with a 1 beside the code" if with_one else "the code alone", fontweight="normal", fontsize=9.5)
panels[0].set(ylabel="what the best matrix leaves")
panels[0].legend(loc="upper left", ncols=3, fontsize=8, handlelength=1.6, columnspacing=0.8)
headline(
    figure, f"Any shift of sinusoids leaves {left_over.max():.0e}; of bits with a 1, {least:.2f} or more, save k = 128"
)
plt.show()

# %% [markdown]
# 正弦在任何平移下剩下的都只是舍入误差。右图里，整数和正弦一起贴在零上。比特只在 $k = 128$ 处碰到零：那里只有最高位翻转，
# 再往上没有进位。其余各处都看得到进位的影响。
#
# ## 两个位置彼此说了什么
#
# 注意力靠点积来比较。对正弦编码，第 $i$ 对给出
# $\sin \omega_i p\, \sin \omega_i q + \cos \omega_i p\, \cos \omega_i q = \cos \omega_i (p - q)$，所以
#
# $$
# \mathrm{PE}(p) \cdot \mathrm{PE}(q) = \sum_{i=0}^{d/2-1} \cos \omega_i (p - q) .
# $$
#
# 只有距离起作用。特别地，每个编码的长度都是 $\sqrt{d/2}$，相邻位置距离的平方 $d - 2 \sum_i \cos \omega_i$ 处处相同：正弦的每一步
# 都一样长，原因就在这里。下面与比特（取 $\pm 1$）以及一张随机数表作比较；可学习的编码就是从随机数表开始的。

# %%
positions = torch.arange(128)
learned = torch.randn(128, DIM, generator=torch.Generator().manual_seed(5))
codes = {"bits (as ±1)": 2 * binary(positions, 8) - 1, "sinusoids": sinusoidal(positions, DIM), "random table": learned}


def spread(products: Tensor) -> float:
    """全部差异中，同一距离内部的差异所占的比例：只由距离决定时为 0。"""
    diagonals = [products.diagonal(k) for k in range(len(products))]
    within = torch.cat([entries - entries.mean() for entries in diagonals])
    return (within.square().mean() / torch.cat(diagonals).var(correction=0)).item()


figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.8))
for axes, (name, code) in zip(panels, codes.items(), strict=True):
    products = code @ code.T / code.square().sum(-1).mean()
    image = axes.imshow(products, vmin=-1, vmax=1)
    axes.set(xticks=[0, 64, 127], yticks=[0, 64, 127], xlabel="position q")
    axes.set_title(f"{name}\nnot from distance: {spread(products):.0%}", fontweight="normal", fontsize=9.5)
panels[0].set(ylabel="position p")
figure.colorbar(image, ax=panels, label="PE(p) · PE(q), scaled", shrink=0.75)
headline(figure, "Only between sinusoids does the dot product depend on the distance alone")
plt.show()

# %% [markdown]
# 沿对角线的条纹正是我们想要的：只有正弦编码的点积完全由距离决定。但有三件事**并不**能由此推出：
#
# - **它并不是稳步下降的。** 余弦之和有起伏（下面的左图：约一半的步子是上升的）。
# - **它没有方向。** $\cos$ 是偶函数，“往回三个”与“往前三个”得分相同，要靠中间的矩阵来区分。
# - **中间有矩阵时，起作用的就不只是距离了。** 注意力比较的是编码乘以 $W_Q$ 和 $W_K$ 之后的结果。记 $A = W_Q W_K^\top$
#   （编码是行向量），得分是 $\mathrm{PE}(p)\, A\, \mathrm{PE}(q)^\top$，一般的 $A$ 会毁掉条纹（右图）。后两点是
#   [Yan 等，2019](https://arxiv.org/abs/1911.04474) 指出的。

# %%
reach = torch.arange(400)
profile = sinusoidal(torch.zeros(1, dtype=torch.long), DIM) @ sinusoidal(reach, DIM).T / (DIM / 2)
rises = int((profile[0].diff() > 0).sum())

code = sinusoidal(torch.arange(128), DIM)
mixing = torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(7)) / DIM**0.5
scores = code @ mixing @ code.T / (DIM / 2)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8), width_ratios=[1.3, 1])
left.plot(reach, profile[0], color=BLUE, linestyle="-", linewidth=1.3)
left.set(xlabel="distance", ylabel="dot product, scaled", ylim=(0, 1.03))
left.set_title("the codes themselves", fontweight="normal", fontsize=9.5)
image = right.imshow(scores)
right.set(xticks=[0, 64, 127], yticks=[0, 64, 127], xlabel="position q", ylabel="position p")
right.set_title("with a random matrix in between", fontweight="normal", fontsize=9.5)
figure.colorbar(image, ax=right, label="score, scaled")
headline(
    figure,
    f"The dot product rises at {rises} of {len(reach) - 1} steps; mixed, {spread(scores):.0%} is not from distance",
)
plt.show()

# %% [markdown]
# 得分里还有一位陌生人：token。编码是加上去的，所以得分有四项，
#
# $$
# (x_p + \mathrm{PE}(p))\, A\, (x_q + \mathrm{PE}(q))^\top = x_p A x_q^\top + x_p A\, \mathrm{PE}(q)^\top +
# \mathrm{PE}(p) A x_q^\top + \mathrm{PE}(p) A\, \mathrm{PE}(q)^\top ,
# $$
#
# 其中只有最后一项知道相对位置（[Dai 等，2019，第 3.3 节](https://arxiv.org/abs/1901.02860)），它的强弱又完全不取决于 token：
# “看往回第三个位置上的形容词”，只能由好几项拼凑出来。请记住这一点。第 2 节要找的，是让内容与距离*相乘*的编码。
#
# **为什么相加，而不是拼在 token 旁边？** 拼接之后用矩阵 $(A_1\ A_2)$，得到 $A_1 x_p + A_2\, \mathrm{PE}(p)$；相加就是
# $A_1 = A_2$ 的情形，省了特征和权重。[Ke 等，2020](https://arxiv.org/abs/2006.15595) 则给编码单独的矩阵，并去掉了交叉项。
#
# ## 第四个想法：让模型去学
#
# 何必费心思？取一张表，每个位置一行，随机初始化，与其余参数一起训练（[Gehring 等，2017，第 3.1
# 节](https://arxiv.org/abs/1705.03122)；BERT 和 GPT-2 都是这样）。在最初的 Transformer 里，它与正弦编码不相上下
# （[第 3.5 节和表 3 的 E 行](https://arxiv.org/abs/1706.03762)）。
#
# 麻烦在表的边缘。GPT-2 的表有 1024 行，对更长的文本，[作者的建议](https://github.com/openai/gpt-2/issues/137)是截断。
# 换一张更大的表也没用：只有长到那里的文本，才会训练到那一行。
#
# 来看看实际情况。让一个头只做一件事：看往回第三个位置。它的查询和键只由位置编码得出；在位置 0 到 63 上训练矩阵（以及表），
# 再一直试到位置 191。

# %%
BACK, TRAINED, ALL = 3, 64, 192


def look_back_weights(code: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    """一个编码 [n, d] 的各位置之间，因果注意力权重的对数：[n, n]。"""
    scores = (code @ w_q) @ (code @ w_k).T / DIM**0.5
    return torch.log_softmax(scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf), dim=-1)


def train_to_look_back(code: Tensor) -> Tensor:
    """训练之后，从 BACK 起每个位置放在正确 token 上的权重：[ALL - BACK]。"""
    random = torch.Generator().manual_seed(8)
    w_q, w_k = ((torch.randn(DIM, DIM, generator=random) / DIM**0.5).requires_grad_() for _ in range(2))
    optimizer = torch.optim.Adam([w_q, w_k, code] if code.requires_grad else [w_q, w_k], lr=3e-3)
    for _ in range(400):
        optimizer.zero_grad()
        look_back_weights(code[:TRAINED], w_q, w_k).diagonal(-BACK).mean().neg().backward()
        optimizer.step()
    return look_back_weights(code, w_q, w_k).diagonal(-BACK).exp().detach()


positions = torch.arange(ALL)
table = torch.randn(ALL, DIM, generator=torch.Generator().manual_seed(9)).requires_grad_()
drawn = table.detach().clone()
built = look_back_weights(sinusoidal(positions, DIM), 40 * shift_matrix(-BACK, DIM).T, torch.eye(DIM))
found = {
    "learned table, trained": (train_to_look_back(table), VERMILION, "--"),
    "sinusoids, trained": (train_to_look_back(sinusoidal(positions, DIM)), BLUE, "-"),
    "sinusoids, built from $M_{-3}$": (built.diagonal(-BACK).exp(), GREEN, "-."),
}
untouched = int((table.detach() == drawn).all(dim=-1).sum())

figure, axes = plt.subplots(figsize=(7.2, 3.0))
for name, (weights, color, style) in found.items():
    axes.plot(positions[BACK:], weights, color=color, linestyle=style, linewidth=1.4, label=name)
axes.axvline(TRAINED - 0.5, color=BLACK, linestyle=":", linewidth=1)
axes.text(TRAINED + 1, 1.03, "never trained", fontsize=8.5)
axes.set(xlabel="position", ylabel="weight on the token 3 back", ylim=(0, 1.1))
axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8.5)
beyond = {name: weights[TRAINED - BACK :].mean() for name, (weights, _, _) in found.items()}
lost, kept, exact = beyond.values()
headline(
    figure, f"Beyond training, the table finds {lost:.0%}, trained sinusoids {kept:.0%}, the right matrix {exact:.0%}"
)
plt.show()
print(f"rows of the table that are still as drawn: {untouched} of {ALL}")

# %% [markdown]
# 表在训练过的地方完美无缺，再往前一步就迷失了：那里的各行还是随机数生成器给出的样子。正弦编码自带规则，所以学到的本领有一部分
# 能带过去。但不是全部：训练没有理由恰好找到 $M_{-3}$，只需要在 64 个位置上与它一致就行，而在这 64 个位置上，慢的几对几乎没有动。
# 处处有效的矩阵是存在的（绿线），但没有什么能保证训练会找到它。
#
# 由此并不能推出：用正弦编码的语言模型读得了更长的文本。这里的头只看得到位置。在语言模型里，超出训练长度几十个 token 之后，困惑度
# 就不再改善，随后变差（[Press 等，2021，第 2.2 节](https://arxiv.org/abs/2108.12409)）。第 6 节会再测一次。
#
# ## 清单现在的样子
#
# | | 唯一 | 平移是线性的 | 更长的文本 | 固定的规则 |
# |---|---|---|---|---|
# | 整数 | 是 | 旁边要有一个 1 | 淹没 token | 是 |
# | 比特 | 到 $2^d$ 个位置为止 | 否，有进位 | 出现没训练过的新位 | 是 |
# | 正弦 | 是 | **是**，$M_k$ | 有规则，但训练找不到 | 是 |
# | 可学习 | 看训练结果 | 没有保证 | 没有对应的行 | 否 |
#
# 正弦编码的几何是对的：平移就是旋转。但它是*加*到 token 上的，又隔着不尊重这种几何的矩阵，还和内容混在一起。
#
# **下一节：**[第 2 节](2_deriving_rope.ipynb)把问题反过来问：什么样的编码，能让两个 token 的得分只取决于各自的内容和它们的距离？

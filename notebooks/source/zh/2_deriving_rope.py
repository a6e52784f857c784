# %% [markdown]
# # 2 · 推导 RoPE
#
# 第 1 节找到了一种按固定线性映射移动的编码：正弦编码往后走 $k$ 个位置，等于乘上一个由许多小旋转组成的矩阵 $M_k$。
# 可是这个编码仍然是*加*到 token 上的，注意力还没来得及看，内容和位置就已经混在了一起。
#
# 这一节把问题倒过来问。我们不先想出一种编码再碰运气，而是先写下注意力得分应当满足的条件，再把编码解出来。
# 解出来的是这样一族：**旋转查询和键**。这就是旋转位置编码 RoPE（[苏剑林等，2021](https://arxiv.org/abs/2104.09864)）。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, DIVERGING, GREY, SKY, VERMILION, headline, no_frame, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
# ## 愿望
#
# 设 $q$ 是一个 token 的查询，$k$ 是另一个 token 的键，刚由 $W_Q$ 和 $W_K$ 算出来，里面还没有位置。
# 设两个 token 的位置是 $m$ 和 $n$。我们要找一个把位置放进向量的函数 $f$：$f(q, m)$ 是位置 $m$ 上的查询，$f(k, n)$ 是位
# 置 $n$ 上的键。它们的点积就是注意力得分，而愿望是（RoFormer，3.1 节）：
#
# $$
# \langle f(q, m),\, f(k, n) \rangle = g(q, k, m - n) .
# $$
#
# 换成一句话：*得分只取决于两个 token 是什么、相距多远，此外什么都不看*。至于 $g$ 是怎样的函数，先不作规定。
# 为了让位置 0 成为“什么都不做”的地方，再要求 $f(x, 0) = x$。
#
# **把编码加上去，做不到这一点**。若 $f(x, p) = x + \mathrm{PE}(p)$，乘开有四项：
#
# $$
# (q + \mathrm{PE}(m)) \cdot (k + \mathrm{PE}(n))
# = q \cdot k + q \cdot \mathrm{PE}(n) + \mathrm{PE}(m) \cdot k + \mathrm{PE}(m) \cdot \mathrm{PE}(n) .
# $$
#
# 对正弦编码来说，最后一项只取决于 $m - n$，这是第 1 节的结论。中间两项却一个只看 $n$，一个只看 $m$。（在真实的层里，
# 两个编码之间还隔着 $W_Q$ 和 $W_K$，连最后一项也保不住。）

# %% [markdown]
# ## 两个数就是一个数
#
# 先看只有两个特征的向量。一对数 $(x_0, x_1)$ 可以读成一个复数
#
# $$
# x = x_0 + \mathrm{j}\, x_1 = |x|\, e^{\mathrm{j} \mathrm{arg}\, x}, \qquad \mathrm{j}^2 = -1 ,
# $$
#
# 其长度为 $|x|$，角度为 $\mathrm{arg}\, x$。（虚数单位写作 $\mathrm{j}$，和 Python 一样；
# 字母 $i$ 马上要用来给特征对编号。）星号表示共轭，即改变虚部的符号，$x^\star = x_0 - \mathrm{j}\, x_1$，
# 角度也就跟着变号。于是
#
# $$
# q\, k^\star = (q_0 + \mathrm{j}\, q_1)(k_0 - \mathrm{j}\, k_1)
# = (q_0 k_0 + q_1 k_1) + \mathrm{j}\, (q_1 k_0 - q_0 k_1) .
# $$
#
# 第一个括号就是点积，也就是 $q\, k^\star$ 的实部。因此，只要找到一个 $f$，对所有的 $q, k, m, n$ 都满足
#
# $$
# f(q, m)\, f(k, n)^\star = g(q, k, m - n)
# $$
#
# （这里的 $g$ 取复数值），两边的实部自然相等，愿望就实现了。这比需要的多要了一点；后面会检查，这样做并没有丢掉什么。

# %% [markdown]
# ## 把编码解出来
#
# 每个复数都有长度和角度，$f$ 也不例外：写成 $f(x, p) = r(x, p)\, e^{\mathrm{j} \varphi(x, p)}$。长度相乘，
# 带星号的因子角度要减去，所以上面的要求分成两条：
#
# $$
# r(q, m)\, r(k, n) = |g(q, k, m - n)|, \qquad \varphi(q, m) - \varphi(k, n) = \mathrm{arg}\, g(q, k, m - n) .
# $$
#
# 由 $f(x, 0) = x$ 知道起点：$r(x, 0) = |x|$，$\varphi(x, 0) = \mathrm{arg}\, x$。角度相差整圈视为相同，向量都不为零。
# 下面三步，每一步只是选定一组 $m$ 和 $n$：
#
# **1. 长度不变**。取 $m = n$，并取 $k = q$。此时右边是 $|g(q, q, 0)|$，与 $m$ 无关，所以左边在 $m$ 处与在 $0$ 处相同：
#
# $$
# r(q, m)^2 = |g(q, q, 0)| = r(q, 0)^2 = |q|^2 \quad\Longrightarrow\quad r(q, m) = |q| .
# $$
#
# **2. 所有向量转得一样多**。仍取 $m = n$，$q$ 和 $k$ 任意。右边同样在 $m$ 处与在 $0$ 处相同，
# 所以 $\varphi(q, m) - \varphi(k, m) = \mathrm{arg}\, q - \mathrm{arg}\, k$。把同一个向量的项移到同一边：
#
# $$
# \varphi(q, m) - \mathrm{arg}\, q = \varphi(k, m) - \mathrm{arg}\, k .
# $$
#
# 左边与 $k$ 无关，右边与 $q$ 无关，所以两边都等于一个只取决于 $m$ 的量，记作 $\psi(m)$：
# 这就是位置 $m$ 让*每一个*向量转过的角度。起点是 $\psi(0) = 0$。
#
# **3. 转过的角度成等差数列**。取 $m = n + 1$。右边是 $\mathrm{arg}\, g(q, k, 1)$，与 $n$ 无关。左边由第 2 步等于
#
# $$
# \varphi(q, n + 1) - \varphi(k, n) = \mathrm{arg}\, q - \mathrm{arg}\, k + \psi(n + 1) - \psi(n) .
# $$
#
# 所以 $\psi(n + 1) - \psi(n)$ 对每个 $n$ 都是同一个数，记作 $\theta$。从 $\psi(0) = 0$ 出发，
# 每一步增加同样多：$\psi(1) = \theta$，$\psi(2) = 2 \theta$，依此类推，$\psi(n) = n \theta$。
#
# 三步合在一起：
#
# $$
# f(x, p) = |x|\, e^{\mathrm{j} (\mathrm{arg}\, x + p \theta)} = x\, e^{\mathrm{j} p \theta} .
# $$
#
# **位置 $p$ 把这一对特征旋转 $p\theta$**。它说到做到吗？
#
# $$
# f(q, m)\, f(k, n)^\star = q\, e^{\mathrm{j} m \theta}\, k^\star\, e^{-\mathrm{j} n \theta}
# = q\, k^\star\, e^{\mathrm{j} (m - n) \theta} ,
# $$
#
# 这是 $q$、$k$ 和 $m - n$ 的函数，确实做到了。推导依照 RoFormer 的 3.4.1 节；$f$ 对 $x$ 是线性的，
# 这一点并没有事先假设，是推出来的。愿望*没有*说的是：$\theta$ 该取多少。

# %% [markdown]
# ### 练习 2.1 · 旋转特征对（2 分）
#
# 回到实数。由 $e^{\mathrm{j} \alpha} = \cos \alpha + \mathrm{j} \sin \alpha$，乘积为
#
# $$
# (x_0 + \mathrm{j}\, x_1)(\cos \alpha + \mathrm{j} \sin \alpha)
# = (x_0 \cos \alpha - x_1 \sin \alpha) + \mathrm{j}\, (x_0 \sin \alpha + x_1 \cos \alpha) .
# $$
#
# 写出 `rotate`：不用复数，一次旋转任意多对。


# %% nbgrader={"grade_id": "rotate", "solution": true}
def rotate(pairs: Tensor, angles: Tensor) -> Tensor:
    """把每一对特征按各自的角度逆时针旋转。

    Args:
        pairs: [..., 2]，最后一维是 x_0 和 x_1。不得改动。
        angles: [...]，弧度；与 pairs 前面的各维广播。

    Returns:
        [..., 2]。
    """
    ### BEGIN SOLUTION
    first, second = pairs[..., 0], pairs[..., 1]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_laws", "grade": true, "points": 2}
with quiet():
    pair, quarter = torch.tensor([3.0, 4.0]), torch.tensor(math.pi / 2)
    torch.testing.assert_close(rotate(pair, torch.tensor(0.0)), pair, msg="不转，就什么都不变。")
    turned = rotate(pair, quarter)
    torch.testing.assert_close(turned, torch.tensor([-4.0, 3.0]), msg="转四分之一圈，(3, 4) 变成 (-4, 3)。")
    assert abs(rotate(pair, torch.tensor(1.0)).norm() - 5) < 1e-5, "旋转不改变长度。"
    ### BEGIN HIDDEN TESTS
    random = torch.Generator().manual_seed(1)
    pairs, angles = torch.randn(5, 3, 2, generator=random), torch.randn(5, 3, generator=random)
    kept, turned = pairs.clone(), rotate(pairs, angles)
    assert turned.shape == pairs.shape, "一对进，一对出。"
    assert torch.equal(pairs, kept), "输入属于调用者，不要改动它。"
    product = torch.view_as_complex(pairs) * torch.polar(torch.ones_like(angles), angles)
    torch.testing.assert_close(turned, torch.view_as_real(product), msg="旋转就是把 x_0 + j x_1 乘以 exp(j angle)。")
    twice = rotate(turned, 2 * angles)
    torch.testing.assert_close(twice, rotate(pairs, 3 * angles), msg="角度相加。")
    one_angle = rotate(pairs, torch.tensor(0.5))
    torch.testing.assert_close(one_angle[2, 1], rotate(pairs[2, 1], torch.tensor(0.5)), msg="各对互不相干，各转各的。")
    ### END HIDDEN TESTS

# %% [markdown]
# 取 $\theta = 0.35$ 来看看。前两幅图里位置不同，距离都是 3：两支箭头一起转，夹角不变，得分也就不变。
# 第三幅图里距离是 5，得分就不同了。

# %%
theta = 0.35
query, key = torch.tensor([1.0, 0.4]), torch.tensor([0.35, 0.6])
cases = [(4, 1), (11, 8), (6, 1)]  # 查询的位置 m，键的位置 n

figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.7))
scores = []
for axes, (m, n) in zip(panels, cases, strict=True):
    for vector, position, colour, name in [(query, m, BLUE, "q"), (key, n, VERMILION, "k")]:
        path = [rotate(vector, torch.tensor(p * theta)) for p in range(position + 1)]  # 从位置 0 开始
        axes.add_patch(plt.Circle((0, 0), vector.norm(), fill=False, color=GREY, linewidth=0.6))
        axes.plot(*torch.stack(path).T, "o", color=colour, alpha=0.4, markersize=3)
        tip = path[-1]
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "linestyle": "-" if name == "q" else "--"}
        axes.annotate("", xy=tip, xytext=(0, 0), arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0})
        axes.text(*(tip + 0.17 * tip / tip.norm()), name, color=colour, ha="center", va="center", fontweight="bold")
    scores.append(rotate(query, torch.tensor(m * theta)) @ rotate(key, torch.tensor(n * theta)))
    axes.set_title(f"query at {m}, key at {n}\nscore {scores[-1]:.3f}", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
    no_frame(axes)
headline(figure, f"Distance 3 scores {scores[0]:.3f} wherever it lies, distance 5 scores {scores[2]:.3f}")
plt.show()

# %% [markdown]
# ## 很多对
#
# 一个头有 $d$ 个特征，$d$ 是偶数，比如 64 或 128。把它们分成 $d/2$ 对，每对读成一个复数 $x_i$，并各有各的角度。
# 点积是各对之和，所以得分为
#
# $$
# \langle f(q, m),\, f(k, n) \rangle
# = \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^\star\, e^{\mathrm{j} (m - n) \theta_i} .
# $$
#
# 每一项只取决于 $m - n$，总和也就如此。每走一个位置转过的角度，我们称为**转速**。RoFormer 的 3.2.2 节沿用了正弦编码的取
# 法（[Vaswani 等](https://arxiv.org/abs/1706.03762)，3.5 节）：
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, 1, \dots, d/2 - 1, \qquad b = 10000 .
# $$
#
# **底数** $b$ 是可调的，第 4 节会看更大的底数。有两件事常常被讲错：
#
# - *是哪些“对”*？所谓“每一对”，指的是**特征**的对，绝不是 token 的对。而且每个特征恰好属于其中一对，
#   论文里是 $(x_0, x_1), (x_2, x_3), \dots$：一共 $d/2$ 对，而不是所有可能的 $d(d-1)/2$ 对。换一种配对方式也行，
#   那是第 3 节的内容。
# - *是哪些角度*？从 0 数起，最后一个是 $\theta_{d/2-1}$，不是 $\theta_{d/2}$。论文从 1 数起，
#   写成 $\theta_i = 10000^{-2(i-1)/d}$，$i = 1, \dots, d/2$，是同一串数。第一个转速总是 1。最后一个是 $b^{-(d-2)/d}$，
#   它不是 $1/b$，而是 $1/b$ 的 $b^{2/d}$ 倍：$d = 128$ 时是 1.15 倍，$d = 8$ 时是十倍。

# %% [markdown]
# ### 练习 2.2 · 转速（1 分）
#
# 写出 `speeds`。一个常见的疏忽是：参数里有 `base`，计算时用的却还是 10000。


# %% nbgrader={"grade_id": "speeds", "solution": true}
def speeds(dim: int, base: float = 10000.0) -> Tensor:
    """每往后一个位置，各对转过多少弧度：[dim/2]，第 0 对在前。"""
    ### BEGIN SOLUTION
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    ### END SOLUTION


# %% nbgrader={"grade_id": "speeds_laws", "grade": true, "points": 1}
with quiet():
    by_hand = torch.tensor([1, 0.1, 0.01, 0.001])
    torch.testing.assert_close(speeds(8).float(), by_hand, msg="d = 8、底数 10000 时：1, 1/10, 1/100, 1/1000。")
    assert speeds(2).tolist() == [1], "d = 2 时只有一对，转速是 base^0 = 1。"
    ### BEGIN HIDDEN TESTS
    by_hand = torch.tensor([1, 0.25])
    torch.testing.assert_close(speeds(4, 16.0).float(), by_hand, msg="d = 4、底数 16 时：先是 1，再是 16^(-1/2)。")
    for dim, base in [(6, 10000.0), (64, 500000.0), (128, 100.0)]:
        theta = speeds(dim, base).float()
        assert theta.shape == (dim // 2,), "每一对有一个转速。"
        torch.testing.assert_close(
            theta[1:] / theta[:-1],
            theta[1] / theta[:1].expand(dim // 2 - 1),
            msg="从一对到下一对，转速按同样的倍数下降。",
        )
        assert abs(theta[-1] * base - base ** (2 / dim)) < 1e-4 * base ** (2 / dim), "最后一个是 base^(-(d - 2)/d)。"
    ### END HIDDEN TESTS

# %% [markdown]
# 这些特征对就像一只怪钟的指针。快的能分清相邻的位置，却一圈又一圈地重复；慢的几乎没动，留着分辨远处。下图取 $d = 16$，
# 位置 0 到 12 各画一个点：第 0 对已经转了将近两圈，第 7 对只转了零点几度。

# %%
theta, last = speeds(16), 12

figure, panels = plt.subplots(2, 4, figsize=(7.2, 4.0))
for i, axes in enumerate(panels.flat):
    circle = torch.linspace(0, 2 * math.pi, 200)
    axes.plot(circle.cos(), circle.sin(), color=GREY, linestyle="-", linewidth=0.6)
    for p in range(last + 1):
        angle = theta[i] * p
        axes.plot(angle.cos(), angle.sin(), "o", color=BLUE, alpha=(1 + 4 * p / last) / 5, markersize=4)
    arrow = {"arrowstyle": "-|>", "color": VERMILION, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(angle.cos(), angle.sin()), xytext=(0, 0), arrowprops=arrow)
    axes.set_title(f"pair {i}: {angle / (2 * math.pi):.2g} turns", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    no_frame(axes)
fastest, slowest = theta[0] * last / (2 * math.pi), math.degrees(theta[-1] * last)
headline(figure, f"After {last} positions pair 0 has turned {fastest:.2f} times, pair 7 by {slowest:.2f} degrees")
plt.show()

# %% [markdown]
# ## 写成一个矩阵
#
# 用实数来写，旋转一对就是乘一个 $2 \times 2$ 的块，旋转所有的对就是乘一个以这些块为对角线的矩阵（RoFormer，式 15）：
#
# $$
# R_p = \begin{pmatrix} B(p\theta_0) & & \\ & \ddots & \\ & & B(p\theta_{d/2-1}) \end{pmatrix}, \qquad
# B(\alpha) = \begin{pmatrix} \cos \alpha & -\sin \alpha \\ \sin \alpha & \cos \alpha \end{pmatrix} .
# $$
#
# 各块互不相干，所以只需要关于 $B$ 的两件事。
#
# - *转置就是转回去*。$\cos$ 是偶函数，$\sin$ 是奇函数，所以 $B(\alpha)^\top = B(-\alpha)$，从而 $R_m^\top = R_{-m}$。
# - *角度相加*。由和角公式，$B(\alpha) B(\beta)$ 左上角的元素是
#   $\cos\alpha\, \cos\beta - \sin\alpha\, \sin\beta = \cos(\alpha + \beta)$，
#   左下角的元素是 $\sin\alpha\, \cos\beta + \cos\alpha\, \sin\beta = \sin(\alpha + \beta)$；右边一列还是这两个数，
#   即 $-\sin(\alpha + \beta)$ 和 $\cos(\alpha + \beta)$。所以 $R_a R_b = R_{a+b}$。
#
# 两者合起来，就是一切所依据的规律：
#
# $$
# R_m^\top R_n = R_{-m} R_n = R_{n - m}, \qquad
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# 放进去的是绝对位置，每个 token 一个；出来的只有距离。

# %% [markdown]
# ### 练习 2.3 · 分块矩阵（2 分）
#
# 给定角度 $\alpha_0, \dots, \alpha_{d/2-1}$，相邻的特征为一对，写出 `rotation_matrix`。`torch.block_diag` 能省些力气。


# %% nbgrader={"grade_id": "rotation_matrix", "solution": true}
def rotation_matrix(angles: Tensor) -> Tensor:
    """把特征 (2i, 2i + 1) 旋转第 i 个角度的矩阵：[d/2] 到 [d, d]，dtype 不变。"""
    ### BEGIN SOLUTION
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1).view(-1, 2, 2)  # [d/2, 2, 2]
    return torch.block_diag(*blocks)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotation_matrix_laws", "grade": true, "points": 2}
with quiet():
    assert torch.equal(rotation_matrix(torch.zeros(3)), torch.eye(6)), "不转，就是单位矩阵。"
    matrix = rotation_matrix(torch.tensor([math.pi / 2, 0.0]))
    x = torch.tensor([3.0, 4.0, 5.0, 6.0])
    turned = torch.tensor([-4.0, 3.0, 5.0, 6.0])
    torch.testing.assert_close(matrix @ x, turned, msg="第一对转四分之一圈：(3, 4) 变成 (-4, 3)。")
    torch.testing.assert_close(matrix.T @ matrix, torch.eye(4), msg="转置就是转回去。")
    ### BEGIN HIDDEN TESTS
    theta = torch.tensor([1.0, 0.3, 0.07, 0.01, 0.002], dtype=torch.float64)
    assert rotation_matrix(theta).dtype == theta.dtype, "矩阵的 dtype 与角度相同。"
    assert rotation_matrix(theta).shape == (10, 10), "d/2 个角度对应 d 行 d 列的矩阵。"
    assert int(torch.count_nonzero(rotation_matrix(theta))) == 20, "除了 2 d 个元素，其余都是零。"
    for m, n in [(0, 3), (7, 7), (100, 4), (12, 2000)]:
        product = rotation_matrix(m * theta).T @ rotation_matrix(n * theta)
        torch.testing.assert_close(product, rotation_matrix((n - m) * theta), msg="规律：R_m^T R_n = R_(n-m)。")
    assert abs(torch.linalg.det(rotation_matrix(theta)) - 1) < 1e-9, "旋转的行列式是 1。"
    second = rotation_matrix(theta)[2:4, 2:4]
    block = torch.tensor([[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]], dtype=torch.float64)
    torch.testing.assert_close(second, block, msg="第 i 个角度属于特征 2i 和 2i + 1。")
    ### END HIDDEN TESTS

# %% [markdown]
# ## 有没有丢掉什么？
#
# 愿望说的只是实数得分，我们要求的却是复数相等；把各对并排放在一起，也是我们自己定的。
# 愿望会不会还允许别的做法？设 $f$ 是线性的，$f(x, p) = A_p\, x$，其中 $A_p$ 是任意的 $d \times d$ 实矩阵，$A_0 = I$。
# 愿望说的是，$q^\top A_m^\top A_n\, k$ 对 $m$、$n$ 的依赖只通过 $n - m$。既然对所有 $q$ 和 $k$ 都成立，
# 矩阵本身也必须如此：$A_m^\top A_n = G_{n-m}$。于是
#
# - 取 $m = n$：$A_m^\top A_m = G_0 = A_0^\top A_0 = I$，所以每个 $A_m$ 都是正交矩阵，$A_m^\top = A_m^{-1}$；
# - 取 $m = 1$：$A_1^\top A_n = G_{n-1} = A_0^\top A_{n-1} = A_{n-1}$，
#   所以 $A_n = A_1 A_{n-1} = A_1 A_1 A_{n-2} = \dots$
#
# $$
# A_n = A_1^{\,n} .
# $$
#
# 也就是说，一般解是一个正交矩阵的幂（[苏剑林](https://kexue.fm/archives/10862)也是这样表述的）。
# 而每个正交矩阵在适当的标准正交基下，都是沿对角线排列的 $2 \times 2$ 旋转，外加个别的 $1$ 和 $-1$，
# 即不动的特征和每走一步就变号的特征。换基可以并入 $W_Q$ 和 $W_K$。所以在实现愿望的线性编码当中，RoPE 不是众多选择之一：
# 除了基和转速可以选，它就是一般解。

# %% [markdown]
# ### 练习 2.4 · 平移测试（2 分）
#
# 把愿望变成一种对任何编码都适用的测量。写出 `shift_gap`：让两个 token 一起平移 $s = 1, 2, \dots, \texttt{longest}$，
# 给出得分变化 $\left| f(q, m + s) \cdot f(k, n + s) - f(q, m) \cdot f(k, n) \right|$ 的最大值。


# %% nbgrader={"grade_id": "shift_gap", "solution": true}
def shift_gap(place, query: Tensor, key: Tensor, m: int, n: int, longest: int) -> float:
    """两个 token 平移同样的距离时，得分最多变化多少。

    Args:
        place: 函数 f：place(x, p) 是位置 p 上的向量 x，[d]。
        query: [d]。
        key: [d]。
        m: 查询的位置。
        n: 键的位置。
        longest: 平移量取 1 .. longest，两端都包括。
    """
    ### BEGIN SOLUTION
    score = place(query, m) @ place(key, n)
    changes = [place(query, m + s) @ place(key, n + s) - score for s in range(1, longest + 1)]
    return max(abs(change.item()) for change in changes)
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift_gap_laws", "grade": true, "points": 2}
with quiet():
    x = torch.tensor([1.0, 0.0])
    assert shift_gap(lambda x, p: x + 0 * p, x, x, 0, 5, 9) == 0, "什么都不做的编码不改变得分：差别是 0。"
    gap = shift_gap(lambda x, p: p * x, x, x, 1, 2, 3)
    assert gap == 18, "乘以位置之后得分是 m n：从 1 * 2 到 4 * 5，变化 18。"
    gap = shift_gap(lambda x, p: x / (p + 1), x, x, 0, 0, 3)
    assert gap == 1 - 1 / 16, "平移三次，得分从 1 降到 1/16：减少 15/16 也是变化。"
    ### BEGIN HIDDEN TESTS
    assert shift_gap(lambda x, p: [1, 2, 1][p % 3] * x, x, x, 0, 0, 3) == 3, "要最大的变化，而不是最后一个。"
    assert shift_gap(lambda x, p: x if p < 5 else 2 * x, x, x, 0, 0, 5) == 3, "最长的平移也要算。"
    assert shift_gap(lambda x, p: x if p < 5 else 2 * x, x, x, 0, 0, 4) == 0, "超过最长平移的就不算。"
    gap = shift_gap(lambda x, p: 2.0**p * x, x, 3 * x, 2, 1, 5)
    assert gap == 3 * (2**13 - 2**3), "查询和键都要从各自的位置出发，平移同样的距离。"

    def turn(x: Tensor, p: int) -> Tensor:
        """每个位置转 0.7。"""
        cos, sin = math.cos(0.7 * p), math.sin(0.7 * p)
        return torch.tensor([[cos, -sin], [sin, cos]]) @ x

    assert shift_gap(turn, torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0]), 3, 8, 50) < 1e-5, (
        "旋转不改变得分：差别只来自舍入。"
    )
    ### END HIDDEN TESTS

# %% [markdown]
# 现在对同一组 $q$ 和 $k$ 比较三种编码：没有位置、加上正弦编码、旋转。每个方块画出查询在各个位置 $m$、
# 键在各个位置 $n$ 时的得分。愿望画成图就是：*同一条对角线上的数全都相等*。没有位置时也满足，但那是空洞的满足：
# 得分连距离也不知道。所以两样都要看：对角线上处处相等，而不同的对角线又彼此不同。只有右边的旋转两样都做到，
# 它的平移差只有舍入误差那么大。

# %%
dim, length = 16, 32
theta = speeds(dim).double()
random = torch.Generator().manual_seed(5)
query, key = torch.randn(2, dim, generator=random, dtype=torch.float64)


def nothing(x: Tensor, p: int) -> Tensor:
    """完全没有位置。"""
    return x + 0 * p


def sinusoid_added(x: Tensor, p: int) -> Tensor:
    """把第 1 节的编码加到 token 上。"""
    angles = p * theta
    return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten()


def rotated(x: Tensor, p: int) -> Tensor:
    """RoPE：把向量旋转。"""
    return rotation_matrix(p * theta) @ x


figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.9))
gaps = []
for axes, place, name in zip(
    panels, [nothing, sinusoid_added, rotated], ["no position", "sinusoids added", "rotated"], strict=True
):
    queries = torch.stack([place(query, p) for p in range(length)])
    keys = torch.stack([place(key, p) for p in range(length)])
    gaps.append(shift_gap(place, query, key, 0, 3, length))
    scores = queries @ keys.T
    image = axes.imshow(scores - scores.mean(), cmap=DIVERGING, vmin=-6, vmax=6)
    title = f"{name}\nshift gap {gaps[-1]:.1g}" if gaps[-1] < 0.01 else f"{name}\nshift gap {gaps[-1]:.1f}"
    axes.set_title(title, fontweight="normal", fontsize=9.5)
    axes.set(xlabel="position n of the key", xticks=[0, 15, 31], yticks=[0, 15, 31])
panels[0].set_ylabel("position m of the query")
figure.colorbar(image, ax=panels, label="score, minus the panel's mean", shrink=0.9)
headline(figure, f"Only rotation sees the distance and nothing else: gap {gaps[2]:.0e} against {gaps[1]:.1f}")
plt.show()

# %% [markdown]
# ## 为什么不旋转值？
#
# 初学者常问：为什么旋转查询和键，却不旋转值？注意力做两件事。由查询和键得到的得分，决定从每个 token 读*多少*；
# 值则是读到的*内容*。愿望说的是得分，而查询和键在点积里相遇，一个旋转抵消另一个。值却没有这样的搭档。
# 设 $a_{mn}$ 是注意力权重；如果按各自的位置旋转值，位置 $m$ 上的输出就是
#
# $$
# o_m = \sum_n a_{mn}\, R_n v_n .
# $$
#
# 把整段文本平移 $s$。权重不变，但每个 $R_n$ 变成 $R_{n+s} = R_s R_n$，输出就成了 $R_s\, o_m$：好不容易去掉的绝对位置，
# 又被这一层说了出去。
#
# 但这并不等于值*不能*旋转。把输出再按它自己的位置转回去，剩下的就是距离：
#
# $$
# R_m^\top \sum_n a_{mn}\, R_n v_n = \sum_n a_{mn}\, R_{n-m}\, v_n .
# $$
#
# 这也是一种自洽的编码，[苏剑林](https://kexue.fm/archives/10862)称之为“第二类旋转位置编码”。RoFormer 只旋转查询和键
# （3.2.2 节），常用的模型也是如此：这已经够了。下面把一段 8 个 token 的文本整体平移，看看输出变化多少。结果是：
# 连值也旋转，输出就大变；不旋转值，或者旋转之后再转回来，变化都只有舍入误差那么大。

# %%
theta = speeds(dim).double()
random = torch.Generator().manual_seed(7)
tokens = torch.randn(8, dim, generator=random, dtype=torch.float64)
w_q, w_k, w_v = torch.randn(3, dim, dim, generator=random, dtype=torch.float64) / dim**0.5


def attend(shift: int, rotate_values: bool, turn_back: bool) -> Tensor:
    """一个头作用于 8 个 token，第一个位于 `shift`：[8, dim]。"""
    turns = torch.stack([rotation_matrix((shift + p) * theta) for p in range(len(tokens))])  # [8, dim, dim]

    def at_positions(x: Tensor) -> Tensor:
        return torch.einsum("pij,pj->pi", turns, x)

    values = at_positions(tokens @ w_v) if rotate_values else tokens @ w_v
    scores = at_positions(tokens @ w_q) @ at_positions(tokens @ w_k).T / dim**0.5
    output = torch.softmax(scores, dim=-1) @ values
    return torch.einsum("pji,pj->pi", turns, output) if turn_back else output  # ji：转置


variants = {
    "q, k and v rotated": (True, False),
    "q, k and v rotated, output turned back": (True, True),
    "q and k rotated": (False, False),
}
shifts = range(1, 65)

figure, axes = plt.subplots(figsize=(7.2, 3.0))
changes = {}
for (name, setting), colour, mark in zip(variants.items(), [VERMILION, SKY, BLACK], ["^", "s", "."], strict=True):
    start = attend(0, *setting)
    changes[name] = torch.tensor([(attend(s, *setting) - start).abs().max() for s in shifts])
    axes.semilogy(shifts, changes[name], mark, color=colour, label=name, markersize=4)
axes.set(xlabel="shift of the whole text", ylabel="largest change of an output", ylim=(1e-17, 1e3))
axes.legend(loc="center right", bbox_to_anchor=(1, 0.45))
moved, still = changes["q, k and v rotated"].max(), changes["q and k rotated"].max()
axes.set_title(f"Rotate values too, and a mere shift changes outputs by {moved:.1f}, not by {still:.0e}")
plt.show()

# %% [markdown]
# ## 更多的维度
#
# 第 0 节的第五个愿望，是规则能从 $p$ 推广到 $(x, y)$：图像块有行有列。用旋转很容易做到，因为各对互不相干：
# 一半的对按行旋转，另一半按列旋转，得分就只取决于行距和列距。[Heo 等，2024](https://arxiv.org/abs/2403.13298) 在图像上
# 研究的“轴向”形式就是这样；分成时间、高、宽三组，就是 [Qwen2-VL](https://arxiv.org/abs/2409.12191) 的 M-RoPE。

# %% [markdown]
# ### 练习 2.5 · 行与列（1 分）
#
# 写出 `grid_angles`：给定 $d/4$ 个转速，前 $d/4$ 对的角度是行乘转速，后 $d/4$ 对的角度是列乘转速。
# 结果可以直接交给 `rotation_matrix`。


# %% nbgrader={"grade_id": "grid_angles", "solution": true}
def grid_angles(row: int, column: int, theta: Tensor) -> Tensor:
    """图像块各对的角度：theta [d/4] 到 [d/2]，行在前。"""
    ### BEGIN SOLUTION
    return torch.cat((row * theta, column * theta))
    ### END SOLUTION


# %% nbgrader={"grade_id": "grid_angles_laws", "grade": true, "points": 1}
with quiet():
    theta = torch.tensor([1.0, 0.5])
    assert grid_angles(2, 3, theta).tolist() == [2, 1, 3, 1.5], (
        "第 2 行第 3 列，转速 1 和 1/2：先是 2, 1，再是 3, 1.5。"
    )
    ### BEGIN HIDDEN TESTS
    theta = torch.tensor([1.0, 0.3, 0.09])
    assert grid_angles(0, 0, theta).tolist() == [0] * 6, "在原点什么都不转。"
    down = grid_angles(9, 4, theta) - grid_angles(7, 4, theta)
    torch.testing.assert_close(down, torch.cat((2 * theta, 0 * theta)), msg="往下走，只转前一半。")
    across = grid_angles(7, 1, theta) - grid_angles(7, 6, theta)
    torch.testing.assert_close(across, torch.cat((0 * theta, -5 * theta)), msg="往旁边走，只转后一半。")
    ### END HIDDEN TESTS

# %% [markdown]
# ## 清单上的进展
#
# | | 愿望 | RoPE |
# |---|---|---|
# | 1 | 唯一 | 是。第 0 对每个位置转一弧度，而 $\pi$ 是无理数，所以没有两个位置相同。 |
# | 2 | 平移是线性的 | 是，而且严格成立：$R_{p+k} = R_k R_p$。 |
# | 3 | 能延伸到更长的文本 | 公式可以。*模型*遇到没见过的角度会怎样，是另一回事：见第 4 至 6 节。 |
# | 4 | 有固定的规则 | 是：一个公式，两个可调的数 $d$ 和 $b$。 |
# | 5 | 能推广到更多维度 | 是，刚才已经看到了。 |
#
# “唯一”说的是数学上。位置很远时，浮点数还分不分得清，是精度问题：见第 4 节。
#
# 关于历史再说一句，因为常有人讲错：RoPE 并不是 LLaMA 首先采用
# 的。[GPT-J](https://github.com/kingoflolz/mesh-transformer-jax) 在 2021 年就用了，
# 然后是[GPT-NeoX-20B](https://arxiv.org/abs/2204.06745) 和 [PaLM](https://arxiv.org/abs/2204.02311)，
# 都早于[LLaMA](https://arxiv.org/abs/2302.13971)；LLaMA 论文的 2.2 节自己注明，这一点取自“GPTNeo”。
#
# **下一节**：没有人会真的去乘一个几乎全是零的矩阵。[第 3 节](3_three_implementations.ipynb)动手写出通行的三种实现，
# 以及隔在它们之间的那个置换。

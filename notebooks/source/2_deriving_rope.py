# %% [markdown] lang="en"
# # 2 · Deriving RoPE
#
# Write down what attention scores should obey, and solve for the code: out comes one family, **rotate the query and the
# key**. This is the rotary position embedding, RoPE, of [Su et al., 2021](https://arxiv.org/abs/2104.09864v5), first
# described in [a post by Su](https://kexue.fm/archives/8265). (LLaMA was not its first model:
# [GPT-J](https://github.com/kingoflolz/mesh-transformer-jax), [GPT-NeoX-20B](https://arxiv.org/abs/2204.06745) and
# [PaLM](https://arxiv.org/abs/2204.02311) were earlier.)

# %% [markdown] lang="zh"
# # 2 · 推导 RoPE
#
# 写下注意力得分应当满足的条件，把编码解出来，得到的是这样一族：**旋转查询和键**。这就是旋转位置编
# 码 RoPE（[苏剑林等，2021](https://arxiv.org/abs/2104.09864v5)；最早见
# 于[他的一篇文章](https://kexue.fm/archives/8265)）。（最先采用它的不
# 是 LLaMA：[GPT-J](https://github.com/kingoflolz/mesh-transformer-jax)、[GPT-NeoX-20B](https://arxiv.org/abs/2204.06745) 和 [PaLM](https://arxiv.org/abs/2204.02311) 都
# 更早。）

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import close, quiet
from figures import BLUE, DIVERGING, GREEN, GREY, VERMILION, headline, no_frame, point, use_style
from matplotlib.patches import Wedge
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en" short=true
# ## The wish
#
# Let $q$ be the query of one token and $k$ the key of another, with no position in them yet, and $m$ and $n$ the
# positions of the two. We look for a function $f$ that puts a position into a vector, such that for the attention score
# (RoFormer, section 3.1)
#
# $$
# \langle f(q, m),\, f(k, n) \rangle = g(q, k, m - n) .
# $$
#
# In words: *the score depends on what the two tokens are and on how far apart they are, and on nothing else*, with any
# function $g$. Position 0 is to be the place where nothing happens: $f(x, 0) = x$.
#
# **Adding a code does not do it.** Of the four terms of notebook 1, two know only one of the two positions.
#
# **Turning does it.** Give the query an angle that grows with its position, and the key likewise. [Move
# both](#clock?together=yes&m=24), and the angle between them stays; [move one](#clock?together=no&m=30), and it grows.
# What remains is how to do it with $d$ features, and whether anything else would do.
#
# <!-- touch: clock -->

# %% [markdown] lang="zh" short=true
# ## 我们的要求
#
# 设 $q$ 是一个 token 的查询，$k$ 是另一个 token 的键，里面还没有位置；两个 token 的位置是 $m$ 和 $n$。我们要找一个把位
# 置放进向量的函数 $f$，使注意力得分满足（RoFormer，3.1 节）
#
# $$
# \langle f(q, m),\, f(k, n) \rangle = g(q, k, m - n) .
# $$
#
# 换成一句话：*得分只取决于两个 token 是什么、相距多远，此外什么都不看*，$g$ 可以是任意函数。位置 0 什么都不
# 做：$f(x, 0) = x$。
#
# **把编码加上去，做不到这一点**。第 1 节的四项里，有两项只知道两个位置中的一个。
#
# **转动就做得到**。让查询转过一个随位置增长的角度，键也一样。[两者一起移动](#clock?together=yes&m=24)，它们之间的角度不
# 变；[只移动一个](#clock?together=no&m=30)，角度就变大。剩下的问题是，$d$ 个特征时怎么做，以及别的办法行不行。
#
# <!-- touch: clock -->

# %% [markdown] lang="en" short=true
# ## Two numbers are one
#
# A pair $(x_0, x_1)$ of features can be read as one complex number
#
# $$
# x = x_0 + \mathrm{j}\, x_1 = |x|\, e^{\mathrm{j} \mathrm{arg}\, x}, \qquad \mathrm{j}^2 = -1 ,
# $$
#
# with length $|x|$ and angle $\mathrm{arg}\, x$, where $e^{\mathrm{j} \omega} = \cos \omega + \mathrm{j} \sin \omega$.
# To multiply is to add angles: $e^{\mathrm{j} \omega} e^{\mathrm{j} \omega'} = e^{\mathrm{j} (\omega + \omega')}$. (We
# write $\mathrm{j}$, as Python does; the letter $i$ will count pairs.) A star flips the sign of the imaginary part,
# $x^* = x_0 - \mathrm{j}\, x_1$, hence of the angle. Then
#
# $$
# q\, k^* = (q_0 + \mathrm{j}\, q_1)(k_0 - \mathrm{j}\, k_1)
# = (q_0 k_0 + q_1 k_1) + \mathrm{j}\, (q_1 k_0 - q_0 k_1) .
# $$
#
# The first bracket is the dot product: it is the real part of $q\, k^*$. So the wish is granted if
#
# $$
# f(q, m)\, f(k, n)^* = g(q, k, m - n) \qquad \text{for all } q, k, m, n,
# $$
#
# with a complex $g$. That is a little more than we need; further down we check what is lost by it.

# %% [markdown] lang="zh" short=true
# ## 两个数就是一个数
#
# 一对特征 $(x_0, x_1)$ 可以读成一个复数
#
# $$
# x = x_0 + \mathrm{j}\, x_1 = |x|\, e^{\mathrm{j} \mathrm{arg}\, x}, \qquad \mathrm{j}^2 = -1 ,
# $$
#
# 其长度为 $|x|$，角度为 $\mathrm{arg}\, x$，而 $e^{\mathrm{j} \omega} = \cos \omega + \mathrm{j} \sin \omega$。相乘就是
# 角度相加：$e^{\mathrm{j} \omega} e^{\mathrm{j} \omega'} = e^{\mathrm{j} (\omega + \omega')}$。（虚数单位写
# 作 $\mathrm{j}$，和 Python 一样；字母 $i$ 要用来给特征对编号。）星号改变虚部的符号，$x^* = x_0 - \mathrm{j}\, x_1$，角
# 度也就跟着变号。于是
#
# $$
# q\, k^* = (q_0 + \mathrm{j}\, q_1)(k_0 - \mathrm{j}\, k_1)
# = (q_0 k_0 + q_1 k_1) + \mathrm{j}\, (q_1 k_0 - q_0 k_1) .
# $$
#
# 第一个括号就是点积，也就是 $q\, k^*$ 的实部。因此，只要
#
# $$
# f(q, m)\, f(k, n)^* = g(q, k, m - n) \qquad \text{对所有的 } q, k, m, n,
# $$
#
# （这里的 $g$ 取复数值），要求就满足了。这比需要的多要了一点；后面会检查，这样做丢掉了什么。

# %% [markdown] lang="en" short=true
# ## Solving for the code
#
# Write $f(x, p) = r(x, p)\, e^{\mathrm{j} \varphi(x, p)}$. Lengths multiply, the angle of the starred factor is
# subtracted, so the demand splits into two:
#
# $$
# r(q, m)\, r(k, n) = |g(q, k, m - n)|, \qquad \varphi(q, m) - \varphi(k, n) = \mathrm{arg}\, g(q, k, m - n) .
# $$
#
# From $f(x, 0) = x$ we know $r(x, 0) = |x|$ and $\varphi(x, 0) = \mathrm{arg}\, x$. Angles are meant up to whole turns,
# and the vectors are not zero. Three steps, each one choice of $m$ and $n$:
#
# **1. The length stays.** Take $m = n$ and $k = q$. The right side does not depend on $m$, so the left side is the same
# at $m$ as at $0$:
#
# $$
# r(q, m)^2 = |g(q, q, 0)| = r(q, 0)^2 = |q|^2 \quad\Longrightarrow\quad r(q, m) = |q| .
# $$
#
# **2. All vectors turn alike.** Take $m = n$, with any $q$ and $k$. Again both sides are the same at $m$ as at $0$:
# $\varphi(q, m) - \varphi(k, m) = \mathrm{arg}\, q - \mathrm{arg}\, k$. Sort by vector:
#
# $$
# \varphi(q, m) - \mathrm{arg}\, q = \varphi(k, m) - \mathrm{arg}\, k .
# $$
#
# The left side does not contain $k$, the right side does not contain $q$. So both equal something that depends on $m$
# alone, $\psi(m)$: the turn that position $m$ gives to *every* vector, with $\psi(0) = 0$.
#
# **3. The turns are an arithmetic progression.** Take $m = n + 1$. The right side is $\mathrm{arg}\, g(q, k, 1)$,
# whatever $n$ is; the left side is, by step 2,
#
# $$
# \varphi(q, n + 1) - \varphi(k, n) = \mathrm{arg}\, q - \mathrm{arg}\, k + \psi(n + 1) - \psi(n) .
# $$
#
# So $\psi(n + 1) - \psi(n)$ is the same number $\theta$ for every $n$, and from $\psi(0) = 0$ we climb to
# $\psi(n) = n \theta$. Together,
#
# $$
# f(x, p) = |x|\, e^{\mathrm{j} (\mathrm{arg}\, x + p \theta)} = x\, e^{\mathrm{j} p \theta} .
# $$
#
# **Position $p$ turns the pair by the angle $p\theta$.** And this keeps its promise:
#
# $$
# f(q, m)\, f(k, n)^* = q\, e^{\mathrm{j} m \theta}\, k^*\, e^{-\mathrm{j} n \theta}
# = q\, k^*\, e^{\mathrm{j} (m - n) \theta} .
# $$
#
# This follows RoFormer, section 3.4.1. Which $\theta$ to take, the wish does *not* say.

# %% [markdown] lang="zh" short=true
# ## 把编码解出来
#
# 写成 $f(x, p) = r(x, p)\, e^{\mathrm{j} \varphi(x, p)}$。长度相乘，带星号的因子角度要减去，所以上面的要求分成两条：
#
# $$
# r(q, m)\, r(k, n) = |g(q, k, m - n)|, \qquad \varphi(q, m) - \varphi(k, n) = \mathrm{arg}\, g(q, k, m - n) .
# $$
#
# 由 $f(x, 0) = x$ 知道 $r(x, 0) = |x|$，$\varphi(x, 0) = \mathrm{arg}\, x$。角度相差整圈视为相同，向量都不为零。三步，
# 每一步只是选定一组 $m$ 和 $n$：
#
# **1. 长度不变**。取 $m = n$，$k = q$。右边与 $m$ 无关，所以左边在 $m$ 处与在 $0$ 处相同：
#
# $$
# r(q, m)^2 = |g(q, q, 0)| = r(q, 0)^2 = |q|^2 \quad\Longrightarrow\quad r(q, m) = |q| .
# $$
#
# **2. 所有向量转得一样多**。取 $m = n$，$q$ 和 $k$ 任意。同样，两边在 $m$ 处与在 $0$ 处相
# 同：$\varphi(q, m) - \varphi(k, m) = \mathrm{arg}\, q - \mathrm{arg}\, k$。把同一个向量的项移到同一边：
#
# $$
# \varphi(q, m) - \mathrm{arg}\, q = \varphi(k, m) - \mathrm{arg}\, k .
# $$
#
# 左边与 $k$ 无关，右边与 $q$ 无关，所以两边都等于一个只取决于 $m$ 的量 $\psi(m)$：位置 $m$ 让*每一个*向量转过的角
# 度，$\psi(0) = 0$。
#
# **3. 转过的角度成等差数列**。取 $m = n + 1$。右边是 $\mathrm{arg}\, g(q, k, 1)$，与 $n$ 无关；左边由第 2 步等于
#
# $$
# \varphi(q, n + 1) - \varphi(k, n) = \mathrm{arg}\, q - \mathrm{arg}\, k + \psi(n + 1) - \psi(n) .
# $$
#
# 所以 $\psi(n + 1) - \psi(n)$ 对每个 $n$ 都是同一个数 $\theta$，从 $\psi(0) = 0$ 出发，得到 $\psi(n) = n \theta$。三步
# 合在一起：
#
# $$
# f(x, p) = |x|\, e^{\mathrm{j} (\mathrm{arg}\, x + p \theta)} = x\, e^{\mathrm{j} p \theta} .
# $$
#
# **位置 $p$ 把这一对特征旋转 $p\theta$**。而且它说到做到：
#
# $$
# f(q, m)\, f(k, n)^* = q\, e^{\mathrm{j} m \theta}\, k^*\, e^{-\mathrm{j} n \theta}
# = q\, k^*\, e^{\mathrm{j} (m - n) \theta} .
# $$
#
# 推导依照 RoFormer 的 3.4.1 节。$\theta$ 该取多少，要求里*没有*说。

# %% [markdown] lang="en" short=true
# ### Exercise 2.1 · Rotate pairs (2 points)
#
# Back to real numbers: to turn by $\omega$ is
#
# $$
# (x_0 + \mathrm{j}\, x_1)(\cos \omega + \mathrm{j} \sin \omega)
# = (x_0 \cos \omega - x_1 \sin \omega) + \mathrm{j}\, (x_0 \sin \omega + x_1 \cos \omega) .
# $$
#
# Write `rotate`, for any number of pairs.
#
# Hint: The real and the imaginary part are the members of the turned pair. Take the members apart first; each has one
# dimension less than the pairs, as the angles have.
#
# Hint: Put the two results side by side in a new last dimension.

# %% [markdown] lang="zh" short=true
# ### 练习 2.1 · 旋转特征对（2 分）
#
# 回到实数：旋转 $\omega$ 就是
#
# $$
# (x_0 + \mathrm{j}\, x_1)(\cos \omega + \mathrm{j} \sin \omega)
# = (x_0 \cos \omega - x_1 \sin \omega) + \mathrm{j}\, (x_0 \sin \omega + x_1 \cos \omega) .
# $$
#
# 写出 `rotate`，旋转任意多对。
#
# 提示：实部和虚部就是转过之后那一对的两个数。先把一对拆成两个数；拆开之后，每个都比 `pairs` 少一维，正好与角度相同。
#
# 提示：把两个结果并排放进新的最后一维。


# %% nbgrader={"grade_id": "rotate", "solution": true}
def rotate(pairs: Tensor, angles: Tensor) -> Tensor:
    """Turn each pair anticlockwise by its angle.

    Args:
        pairs: [..., 2], x_0 and x_1 in the last dimension. Not modified.
        angles: [...], radians; broadcasts against the leading dimensions of the pairs.

    Returns:
        [..., 2].
    """
    ### BEGIN SOLUTION
    first, second = pairs[..., 0], pairs[..., 1]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_laws", "grade": true, "points": 2}
with quiet():
    pair, quarter = torch.tensor([3.0, 4.0]), torch.tensor(math.pi / 2)
    torch.testing.assert_close(rotate(pair, torch.tensor(0.0)), pair, msg="No turn, no change.")
    turned = rotate(pair, quarter)
    torch.testing.assert_close(turned, torch.tensor([-4.0, 3.0]), msg="A quarter turn takes (3, 4) to (-4, 3).")
    assert abs(rotate(pair, torch.tensor(1.0)).norm() - 5) < 1e-5, "A rotation keeps the length."
    many = torch.ones(3, 4, 2)
    turned = rotate(many, torch.tensor([0.0, 0.5, 1.0, 1.5]))
    assert turned.shape == many.shape, "Each pair gives one pair."
    assert torch.equal(many, torch.ones(3, 4, 2)), "The input belongs to the caller: leave it as it is."
    ### BEGIN HIDDEN TESTS
    random = torch.Generator().manual_seed(1)
    pairs, angles = torch.randn(5, 3, 2, generator=random), torch.randn(5, 3, generator=random)
    kept, turned = pairs.clone(), rotate(pairs, angles)
    assert turned.shape == pairs.shape, "Each pair gives one pair."
    assert torch.equal(pairs, kept), "The input belongs to the caller: leave it as it is."
    product = torch.view_as_complex(pairs) * torch.polar(torch.ones_like(angles), angles)
    torch.testing.assert_close(
        turned, torch.view_as_real(product), msg="To rotate is to multiply x_0 + j x_1 by exp(j angle)."
    )
    twice = rotate(turned, 2 * angles)
    torch.testing.assert_close(twice, rotate(pairs, 3 * angles), msg="Angles add up.")
    one_angle = rotate(pairs, torch.tensor(0.5))
    torch.testing.assert_close(one_angle[2, 1], rotate(pairs[2, 1], torch.tensor(0.5)), msg="Pairs turn independently.")
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# With $\theta = 0.35$, twice at the distance 3, then at 5:

# %% [markdown] lang="zh"
# 取 $\theta = 0.35$，两次距离是 3，最后一次是 5：

# %%
theta = 0.35
query, key = torch.tensor([1.0, 0.4]), torch.tensor([0.35, 0.6])
cases = [(4, 1), (11, 8), (6, 1)]  # positions m of the query, n of the key

figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.7))
scores = []
for axes, (m, n) in zip(panels, cases, strict=True):
    for vector, position, colour, name in [(query, m, BLUE, "q"), (key, n, VERMILION, "k")]:
        path = [rotate(vector, torch.tensor(p * theta)) for p in range(position + 1)]  # from position 0
        axes.add_patch(plt.Circle((0, 0), vector.norm(), fill=False, color=GREY, linewidth=0.6))
        axes.plot(*torch.stack(path).T, "o", color=colour, alpha=0.4, markersize=3)
        tip = path[-1]
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "linestyle": "-" if name == "q" else "--"}
        axes.annotate("", xy=tip, xytext=(0, 0), arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0})
        axes.text(*(tip + 0.17 * tip / tip.norm()), name, color=colour, ha="center", va="center", fontweight="bold")
    turned = [rotate(query, torch.tensor(m * theta)), rotate(key, torch.tensor(n * theta))]
    scores.append(turned[0] @ turned[1])
    end, start = (math.degrees(math.atan2(y, x)) % 360 for x, y in turned)
    axes.add_patch(Wedge((0, 0), 0.45, start, end, color=GREEN, alpha=0.35, linewidth=0))
    point(axes, f"{end - start:.0f}° apart", (0, -0.06), (0, -1 if end < 180 else 8), GREEN, line=False)
    axes.set_title(f"query at {m}, key at {n}\nscore {scores[-1]:.3f}", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
    no_frame(axes)
headline(figure, f"Distance 3 scores {scores[0]:.3f} wherever it lies, distance 5 scores {scores[2]:.3f}")
plt.show()

# %% [markdown] lang="en" short=true
# ## Many pairs
#
# A head has $d$ features, say 64 or 128. Cut them into $d/2$ pairs, read each as a complex number $x_i$, and give each
# an angle of its own. The dot product is the sum over the pairs, so the score is
#
# $$
# \langle f(q, m),\, f(k, n) \rangle
# = \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^*\, e^{\mathrm{j} (m - n) \theta_i} .
# $$
#
# Every term depends on $m - n$ only, so the sum does ([four of them](#clock?pairs=four) in the figure above). RoFormer,
# section 3.2.2, takes for the angles per position, the **speeds**, what the sinusoids had (section 3.5 of [Vaswani et
# al.](https://arxiv.org/abs/1706.03762v7)):
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, 1, \dots, d/2 - 1, \qquad b = 10000 .
# $$
#
# The **base** $b$ is a setting. Two things are often stated wrongly:
#
# - *Which pairs?* Pairs of **features**, never of tokens; and each feature is in exactly one of them,
#   $(x_0, x_1), (x_2, x_3), \dots$ in the paper: $d/2$ pairs, not all $d(d-1)/2$. (Other ways of pairing: notebook 3.)
# - *Which angles?* Counted from 0, the last one is $\theta_{d/2-1} = b^{-(d-2)/d}$, not $\theta_{d/2}$, and not $1/b$.

# %% [markdown] lang="zh" short=true
# ## 很多对
#
# 一个头有 $d$ 个特征，比如 64 或 128。把它们分成 $d/2$ 对，每对读成一个复数 $x_i$，各有各的角度。点积是各对之和，所以得
# 分为
#
# $$
# \langle f(q, m),\, f(k, n) \rangle
# = \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^*\, e^{\mathrm{j} (m - n) \theta_i} .
# $$
#
# 每一项只取决于 $m - n$，总和也就如此（上面的图可以显示其中[四项](#clock?pairs=four)）。每走一个位置转过的角度，我们称
# 为**转速**。RoFormer 的 3.2.2 节沿用了正弦编码的取法（[Vaswani 等](https://arxiv.org/abs/1706.03762v7)，3.5 节）：
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, 1, \dots, d/2 - 1, \qquad b = 10000 .
# $$
#
# **底数** $b$ 是可调的。有两件事常常被讲错：
#
# - *是哪些“对”*？是**特征**配成的对，绝不是 token 配成的对；而且每个特征恰好属于其中一对，论文里
#   是 $(x_0, x_1), (x_2, x_3), \dots$：一共 $d/2$ 对，而不是所有可能的 $d(d-1)/2$ 对。（别的配对方式见第 3 节。）
# - *是哪些角度*？从 0 数起，最后一个是 $\theta_{d/2-1} = b^{-(d-2)/d}$，不是 $\theta_{d/2}$，也不是 $1/b$。

# %% [markdown] lang="en"
# ### Exercise 2.2 · The speeds (1 point)
#
# Write `speeds`. A frequent slip is to take `base` as an argument and then compute with 10000 all the same.
#
# Hint: `torch.arange` in steps of 2 gives all $2i$. Make it float64 from the start: what float32 has rounded is lost.

# %% [markdown] lang="zh"
# ### 练习 2.2 · 转速（1 分）
#
# 写出 `speeds`。一个常见的疏忽是：参数里有 `base`，计算时用的却还是 10000。
#
# 提示：`torch.arange` 每步走 2，就得到所有的 $2i$。从一开始就用 float64：float32 舍掉的找不回来。


# %% nbgrader={"grade_id": "speeds", "solution": true}
def speeds(dim: int, base: float = 10000.0) -> Tensor:
    """By how many radians each pair turns from one position to the next: [dim/2], pair 0 first."""
    ### BEGIN SOLUTION
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    ### END SOLUTION


# %% nbgrader={"grade_id": "speeds_laws", "grade": true, "points": 1}
with quiet():
    by_hand = torch.tensor([1, 0.1, 0.01, 0.001])
    torch.testing.assert_close(speeds(8).float(), by_hand, msg="With d = 8, base 10000: 1, 1/10, 1/100, 1/1000.")
    assert close(speeds(2), [1]), "For d = 2 there is one pair, with the speed base^0 = 1."
    by_hand = torch.tensor([1, 0.25])
    torch.testing.assert_close(speeds(4, 16.0).float(), by_hand, msg="With d = 4, base 16: 1, then 16^(-1/2).")
    ### BEGIN HIDDEN TESTS
    for dim, base in [(6, 10000.0), (64, 500000.0), (128, 100.0)]:
        theta = speeds(dim, base).float()
        assert theta.shape == (dim // 2,), "There is one speed for each pair."
        torch.testing.assert_close(
            theta[1:] / theta[:-1],
            theta[1] / theta[:1].expand(dim // 2 - 1),
            msg="From one pair to the next the speed falls by the same factor.",
        )
        assert abs(theta[-1] * base - base ** (2 / dim)) < 1e-4 * base ** (2 / dim), "The last is base^(-(d - 2)/d)."
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# ## As one matrix
#
# In real numbers, a $2 \times 2$ block turns a pair, and a matrix with these blocks down its diagonal turns all pairs
# (RoFormer, equation 15):
#
# $$
# R_p = \begin{pmatrix} B(p\theta_0) & & \\ & \ddots & \\ & & B(p\theta_{d/2-1}) \end{pmatrix}, \qquad
# B(\omega) = \begin{pmatrix} \cos \omega & -\sin \omega \\ \sin \omega & \cos \omega \end{pmatrix} .
# $$
#
# Two facts about $B$,
#
# - *To transpose is to turn back.* $\cos$ is even and $\sin$ is odd, so $B(\omega)^\top = B(-\omega)$, hence
#   $R_m^\top = R_{-m}$.
# - *Angles add up.* $B(\omega)$ is the multiplication by $e^{\mathrm{j} \omega}$, so
#   $B(\omega) B(\omega') = B(\omega + \omega')$, hence $R_m R_n = R_{m+n}$.
#
# together give the law on which everything rests:
#
# $$
# R_m^\top R_n = R_{-m} R_n = R_{n - m}, \qquad\text{so}\qquad
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# Absolute positions go in, and only the distance comes out.

# %% [markdown] lang="zh" short=true
# ## 写成一个矩阵
#
# 用实数来写，一个 $2 \times 2$ 的块旋转一对，以这些块为对角线的矩阵旋转所有的特征对（RoFormer，式 15）：
#
# $$
# R_p = \begin{pmatrix} B(p\theta_0) & & \\ & \ddots & \\ & & B(p\theta_{d/2-1}) \end{pmatrix}, \qquad
# B(\omega) = \begin{pmatrix} \cos \omega & -\sin \omega \\ \sin \omega & \cos \omega \end{pmatrix} .
# $$
#
# 关于 $B$ 的两件事，
#
# - *转置就是转回去*。$\cos$ 是偶函数，$\sin$ 是奇函数，所以 $B(\omega)^\top = B(-\omega)$，从而 $R_m^\top = R_{-m}$。
# - *角度相加*。$B(\omega)$ 就是乘以 $e^{\mathrm{j} \omega}$，所以 $B(\omega) B(\omega') = B(\omega + \omega')$，从
#   而 $R_m R_n = R_{m+n}$。
#
# 合起来就是一切所依据的规律：
#
# $$
# R_m^\top R_n = R_{-m} R_n = R_{n - m}, \qquad\text{故}\qquad
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# 放进去的是绝对位置，出来的只有距离。

# %% [markdown] lang="en"
# ### Exercise 2.3 · The block matrix (2 points)
#
# Write `rotation_matrix` for angles $\omega_0, \dots, \omega_{d/2-1}$, with neighbouring features as pairs.
# `torch.block_diag` may save you work.
#
# Hint: The first row of a block says how the new $x_0$ is made of the old pair, the second row the same for $x_1$: see
# the formula of exercise 2.1.
#
# Hint: All blocks at once are a tensor `[d/2, 2, 2]`. `torch.block_diag` wants the blocks as separate arguments; a star
# in front of a tensor hands over its parts one by one.

# %% [markdown] lang="zh"
# ### 练习 2.3 · 分块矩阵（2 分）
#
# 给定角度 $\omega_0, \dots, \omega_{d/2-1}$，相邻的特征为一对，写出 `rotation_matrix`。`torch.block_diag` 能省些力气。
#
# 提示：一块的第一行说新的 $x_0$ 怎样由原来的一对得到，第二行说 $x_1$：见练习 2.1 的公式。
#
# 提示：所有的块可以是一个 `[d/2, 2, 2]` 的张量。`torch.block_diag` 要的是一个个单独的参数；在张量前面加一个星号，就把它
# 的各部分逐个交出去。


# %% nbgrader={"grade_id": "rotation_matrix", "solution": true}
def rotation_matrix(angles: Tensor) -> Tensor:
    """The matrix that turns features (2i, 2i + 1) by the angle i: [d/2] to [d, d], same dtype."""
    ### BEGIN SOLUTION
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack((cos, -sin, sin, cos), dim=-1).view(-1, 2, 2)  # [d/2, 2, 2]
    return torch.block_diag(*blocks)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotation_matrix_laws", "grade": true, "points": 2}
with quiet():
    assert close(rotation_matrix(torch.zeros(3)), torch.eye(6)), "No turn: the identity."
    assert rotation_matrix(torch.zeros(3).double()).dtype == torch.float64, "The matrix has the dtype of the angles."
    matrix = rotation_matrix(torch.tensor([math.pi / 2, 0.0]))
    x = torch.tensor([3.0, 4.0, 5.0, 6.0])
    turned = torch.tensor([-4.0, 3.0, 5.0, 6.0])
    torch.testing.assert_close(matrix @ x, turned, msg="A quarter turn of the first pair: (3, 4) becomes (-4, 3).")
    torch.testing.assert_close(matrix.T @ matrix, torch.eye(4), msg="The transpose turns back.")
    ### BEGIN HIDDEN TESTS
    theta = torch.tensor([1.0, 0.3, 0.07, 0.01, 0.002], dtype=torch.float64)
    assert rotation_matrix(theta).shape == (10, 10), "d/2 angles make a matrix of d rows and columns."
    assert int(torch.count_nonzero(rotation_matrix(theta))) == 20, "All but 2 d entries are zero."
    for m, n in [(0, 3), (7, 7), (100, 4), (12, 2000)]:
        product = rotation_matrix(m * theta).T @ rotation_matrix(n * theta)
        torch.testing.assert_close(product, rotation_matrix((n - m) * theta), msg="R_m^T R_n = R_(n-m).")
    assert abs(torch.linalg.det(rotation_matrix(theta)) - 1) < 1e-9, "Rotations have the determinant 1."
    second = rotation_matrix(theta)[2:4, 2:4]
    block = torch.tensor([[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]], dtype=torch.float64)
    torch.testing.assert_close(second, block, msg="Angle i belongs to features 2i and 2i + 1.")
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## Was anything lost?
#
# We asked for equality of complex numbers, where real scores would do, and put pairs side by side by hand. Here is the
# answer in full, for any number $d$ of features and positions $0, 1, 2, \dots$
#
# **Theorem.** *A function $f$ with $f(x, 0) = x$ grants the wish if and only if $f(x, p) = A^p x$ with an orthogonal matrix
# $A$. In a suitable orthonormal basis, $A$ is a diagonal of $2 \times 2$ rotations, apart from single entries $1$
# and $-1$.*
#
# Nothing is assumed of $f$:
#
# - *It keeps inner products.* With $m = n$ the wish reads
#   $\langle f(q, m), f(k, m) \rangle = g(q, k, 0) = \langle f(q, 0), f(k, 0) \rangle = \langle q, k \rangle$.
# - *So it is linear.* Write $f(x)$ for $f(x, m)$ and let $z = \xi x + \eta y$ with numbers $\xi, \eta$. Multiplied out,
#   $\| f(z) - \xi f(x) - \eta f(y) \|^2$ is made of inner products, which are the same without the $f$: it is
#   $\| z - \xi x - \eta y \|^2 = 0$. So $f(x, m) = A_m x$, and a matrix that keeps inner products is orthogonal.
# - *So it is a power.* The wish says that $q^\top A_m^\top A_n\, k$ depends on $n - m$ only, for all $q$ and $k$; so
#   $A_m^\top A_n$ does. Hence $A_1^\top A_n = A_0^\top A_{n-1} = A_{n-1}$, that is,
#   $A_n = A_1 A_{n-1} = \dots = A_1^{\,n}$.
# - *And every power does it.* $(A^m q)^\top A^n k = q^\top A^{n-m} k$ if $A$ is orthogonal, since
#   $(A^m)^\top = A^{-m}$.
#
# Every orthogonal matrix has this form. Two entries $1$, or two $-1$, are a pair with the angle $0$ or $\pi$. For even
# $d$ one thing can be left over, if $\det A = -1$: a feature that stays beside one that flips at every step, and tells
# even distances from odd ones. That is all that was lost.
#
# $W_Q$ and $W_K$ can absorb the change of basis ([Su, 2022](https://kexue.fm/archives/9403)). So up to that flip, and
# to the choice of speeds, RoPE is the general solution. The next cell finds it in a random orthogonal matrix, with the
# speeds from its eigenvalues $e^{\pm \mathrm{j} \theta}$.

# %% [markdown] lang="zh"
# ## 有没有丢掉什么？
#
# 原来的要求只涉及实数得分，我们用的条件却是复数相等；把各对并排放在一起，也是我们自己定的。下面是完整的回答，适用于任意
# 的特征数 $d$ 和位置 $0, 1, 2, \dots$
#
# **定理**：设 $f(x, 0) = x$。$f$ 满足要求，当且仅当 $f(x, p) = A^p x$，其中 $A$ 是正交矩阵。在适当的标准正交基下，
# $A$ 是沿对角线排列的 $2 \times 2$ 旋转，外加个别的 $1$ 和 $-1$。
#
# 对 $f$ 没有任何假设：
#
# - *它保持内积*：取 $m = n$，要求就成
#   了 $\langle f(q, m), f(k, m) \rangle = g(q, k, 0) = \langle f(q, 0), f(k, 0) \rangle = \langle q, k \rangle$。
# - *所以它是线性的*：把 $f(x, m)$ 简写成 $f(x)$，设 $z = \xi x + \eta y$，$\xi, \eta$ 是
#   数。$\| f(z) - \xi f(x) - \eta f(y) \|^2$ 乘开之后由内积组成，而内积去掉 $f$ 之后不变，所以它等
#   于 $\| z - \xi x - \eta y \|^2 = 0$。于是 $f(x, m) = A_m x$，而保持内积的矩阵是正交的。
# - *所以它是幂*：要求说的是，$q^\top A_m^\top A_n\, k$ 只取决于 $n - m$，而且对所有 $q$ 和 $k$ 都如此，所
#   以 $A_m^\top A_n$ 也如此。于是 $A_1^\top A_n = A_0^\top A_{n-1} = A_{n-1}$，
#   即 $A_n = A_1 A_{n-1} = \dots = A_1^{\,n}$。
# - *而且每个幂都行*：$A$ 正交时 $(A^m)^\top = A^{-m}$，所以 $(A^m q)^\top A^n k = q^\top A^{n-m} k$。
#
# $A$ 的这个样子，是线性代数关于正交矩阵的基本结论。两个 $1$ 或两个 $-1$ 凑在一起，就是角度为 $0$ 或 $\pi$ 的一
# 对。$d$ 为偶数时只可能剩下一样东西，条件是 $\det A = -1$：一个不动的特征，旁边一个每走一步就变号的特征，它分得清距离的
# 奇偶。丢掉的只有它。
#
# 换基可以并入 $W_Q$ 和 $W_K$（[苏剑林，2022](https://kexue.fm/archives/9403)）。所以除了那个变号的特征，以及转速可以
# 选，RoPE 就是一般解。下一格在一个随机的正交矩阵里找到它，转速取自特征值 $e^{\pm \mathrm{j} \theta}$。

# %%
random = torch.Generator().manual_seed(9)
turn, upper = torch.linalg.qr(torch.randn(6, 6, generator=random, dtype=torch.float64))  # an orthogonal matrix
turn[:, 0] *= torch.linalg.det(turn)  # of determinant 1, so that no single entry of -1 is left
values, basis = torch.linalg.eig(turn)
order = values.imag.argsort(descending=True)[:3]  # one of each pair of conjugates
angles, basis = values.angle()[order], basis[:, order]

query, key = torch.randn(2, 6, generator=random, dtype=torch.float64)
pairs_q, pairs_k = (2**0.5 * basis.mH @ x.to(basis.dtype) for x in (query, key))  # [3], complex: the new basis
for m, n in ((0, 0), (7, 2), (2, 7), (40, 13)):
    score = torch.linalg.matrix_power(turn, m) @ query @ (torch.linalg.matrix_power(turn, n) @ key)
    rope = (pairs_q * pairs_k.conj() * torch.exp(1j * (m - n) * angles)).real.sum()
    print(f"query at {m:2}, key at {n:2}: {score:8.5f} by powers of A, {rope:8.5f} by RoPE in the basis of A")
    assert abs(score - rope) < 1e-9, "A solution of the wish, of determinant 1, is RoPE in some basis."
print("Radians from one position to the next:", ", ".join(f"{angle:.3f}" for angle in angles))

# %% [markdown] lang="en"
# ## The whole family
#
# One thing *was* assumed: that queries and keys go through the same $f$. With matrices $A_m$ for queries and $C_n$ for
# keys, $A_0 = C_0 = I$, the solutions are exactly
#
# $$
# C_n = G^n, \qquad A_m = (G^{-m})^\top, \qquad \text{score} = q^\top G^{\,n-m}\, k ,
# $$
#
# with *any* invertible matrix $G$. Query and key use the same map if and only if $G$ is orthogonal: RoPE, up to that
# flip. ([GRAPE](https://arxiv.org/abs/2512.07805v6) orders codes by this.)
#
# <details><summary>Why there are no others, and which codes these are</summary>
#
# The wish asks that $A_m^\top C_n$ depend on $n - m$ only; call it $G_{n-m}$, and write $G$ for $G_1$. With $m = 0$,
# $C_n = G_n$; with $n = 0$, $A_m^\top = G_{-m}$; with $m = n$, $G_{-m} G_m = G_0 = I$, so $A_m^\top = C_m^{-1}$; with
# $m = 1$, $G_{-1} G_n = G_{n-1}$, so $C_n = G_1 C_{n-1} = \dots = G_1^{\,n}$.
#
# Other matrices on two features: a rotation divided by $\gamma_i < 1$ also multiplies the pair by $\gamma_i^{\,m-n}$
# ([xPos](https://arxiv.org/abs/2212.10554v1)); the little matrix of notebook 1, $1$ on the diagonal and above it, makes
# of the query $(\rho, 0)$ and the key $(0, 1)$ the score $-\rho\, (m - n)$ (ALiBi); the identity does nothing (NoPE).
#
# </details>

# %% [markdown] lang="zh"
# ## 整个家族
#
# 有一点*确实*是假设的：查询和键经过同一个 $f$。如果查询用矩阵 $A_m$，键用 $C_n$，$A_0 = C_0 = I$，全部的解就是
#
# $$
# C_n = G^n, \qquad A_m = (G^{-m})^\top, \qquad \text{得分} = q^\top G^{\,n-m}\, k ,
# $$
#
# 其中 $G$ 是*任意*可逆矩阵。查询和键用同一个映射，当且仅当 $G$ 是正交的：那就是 RoPE，至多差那个变号的特征。
# （[GRAPE](https://arxiv.org/abs/2512.07805v6) 就是这样整理各种编码的。）
#
# <details><summary>为什么没有别的解，这些又是哪些编码</summary>
#
# 要求是 $A_m^\top C_n$ 只取决于 $n - m$；记它为 $G_{n-m}$，并把 $G_1$ 写成 $G$。取 $m = 0$，$C_n = G_n$；
# 取 $n = 0$，$A_m^\top = G_{-m}$；取 $m = n$，$G_{-m} G_m = G_0 = I$，所以 $A_m^\top = C_m^{-1}$；
# 取 $m = 1$，$G_{-1} G_n = G_{n-1}$，所以 $C_n = G_1 C_{n-1} = \dots = G_1^{\,n}$。
#
# 在两个特征上的其他矩阵：旋转再除以 $\gamma_i < 1$，还会把这一对乘
# 以 $\gamma_i^{\,m-n}$（[xPos](https://arxiv.org/abs/2212.10554v1)）；第 1 节的小矩阵，对角线及其上方为 $1$，让查
# 询 $(\rho, 0)$ 和键 $(0, 1)$ 得分 $-\rho\, (m - n)$（ALiBi）；单位矩阵什么也不做（NoPE）。
#
# </details>

# %% [markdown] lang="en"
# ### Exercise 2.4 · The shift test (2 points)
#
# Turn the wish into a measurement of any code. Write `shift_gap`: move both tokens along by
# $\delta = 1, 2, \dots, \texttt{longest}$, and give the largest change of the score,
# $\left| f(q, m + \delta) \cdot f(k, n + \delta) - f(q, m) \cdot f(k, n) \right|$.
#
# Hint: Each change is measured from the first score, and a fall is a change as well.

# %% [markdown] lang="zh"
# ### 练习 2.4 · 平移测试（2 分）
#
# 把这条要求变成对任何编码的一种测量。写出 `shift_gap`：让两个 token 一起平移 $\delta = 1, 2, \dots, \texttt{longest}$，
# 给出得分变化 $\left| f(q, m + \delta) \cdot f(k, n + \delta) - f(q, m) \cdot f(k, n) \right|$ 的最大值。
#
# 提示：每次变化都从最初的得分算起；下降也是变化。


# %% nbgrader={"grade_id": "shift_gap", "solution": true}
def shift_gap(place, query: Tensor, key: Tensor, m: int, n: int, longest: int) -> float:
    """By how much the score changes, at most, when both tokens move by the same shift.

    Args:
        place: The function f: place(x, p) is the vector x, [d], at position p.
        query: [d].
        key: [d].
        m: The position of the query.
        n: The position of the key.
        longest: The shifts are 1 .. longest, both included.
    """
    ### BEGIN SOLUTION
    score = place(query, m) @ place(key, n)
    changes = [place(query, m + s) @ place(key, n + s) - score for s in range(1, longest + 1)]
    return max(abs(change.item()) for change in changes)
    ### END SOLUTION


# %% nbgrader={"grade_id": "shift_gap_laws", "grade": true, "points": 2}
with quiet():
    x = torch.tensor([1.0, 0.0])
    assert shift_gap(lambda x, p: x + 0 * p, x, x, 0, 5, 9) == 0, (
        "A code that does nothing leaves the score as it is: the gap is 0."
    )
    gap = shift_gap(lambda x, p: p * x, x, x, 1, 2, 3)
    assert close(gap, 18), "Multiplied by positions, the score is m n: from 1 * 2 to 4 * 5 it changes by 18."
    gap = shift_gap(lambda x, p: x / (p + 1), x, x, 0, 0, 3)
    assert close(gap, 1 - 1 / 16), "Three shifts take the score from 1 to 1/16: a fall of 15/16 is a change too."
    assert close(shift_gap(lambda x, p: [1, 2, 1][p % 3] * x, x, x, 0, 0, 3), 3), (
        "The largest change, not the last one."
    )
    gap = shift_gap(lambda x, p: [2, 1, 3][p] * x, x, x, 0, 0, 2)
    assert close(gap, 5), "From 4 to 1 and to 9: changes are counted from the start, so the gap is 5."
    ### BEGIN HIDDEN TESTS
    assert close(shift_gap(lambda x, p: [1, 1, 3][p % 3] * x, x, x, 0, 0, 4), 8), (
        "The largest change, wherever it comes."
    )
    assert close(shift_gap(lambda x, p: x if p < 5 else 2 * x, x, x, 0, 0, 5), 3), "The longest shift is included."
    assert shift_gap(lambda x, p: x if p < 5 else 2 * x, x, x, 0, 0, 4) == 0, "And nothing beyond the longest."
    gap = shift_gap(lambda x, p: 2.0**p * x, x, 3 * x, 2, 1, 5)
    assert close(gap, 3 * (2**13 - 2**3)), "Query and key both move, by the same shift, from where they are."

    def turn(x: Tensor, p: int) -> Tensor:
        """A rotation by 0.7 per position."""
        cos, sin = math.cos(0.7 * p), math.sin(0.7 * p)
        return torch.tensor([[cos, -sin], [sin, cos]]) @ x

    assert shift_gap(turn, torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0]), 3, 8, 50) < 1e-5, (
        "Rotation leaves the score as it is: the gap is rounding only."
    )
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# Three codes, for the same $q$ and $k$. Each square shows the score for every position $m$ of the query and $n$ of the
# key. The wish, as a picture: *all entries along a diagonal are equal*, and diagonals differ from each other.

# %% [markdown] lang="zh"
# 对同一组 $q$ 和 $k$ 比较三种编码。每个方块画出查询在各个位置 $m$、键在各个位置 $n$ 时的得分。这条要求画成图就是：*同一
# 条对角线上的数全都相等*，而不同的对角线彼此不同。

# %%
dim, length = 16, 32
theta = speeds(dim).double()
random = torch.Generator().manual_seed(5)
query, key = torch.randn(2, dim, generator=random, dtype=torch.float64)


def nothing(x: Tensor, p: int) -> Tensor:
    """No position at all."""
    return x + 0 * p


def sinusoid_added(x: Tensor, p: int) -> Tensor:
    """The token plus the code of notebook 1."""
    angles = p * theta
    return x + torch.stack((angles.sin(), angles.cos()), dim=-1).flatten()


def rotated(x: Tensor, p: int) -> Tensor:
    """RoPE: the vector, turned."""
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

# %% [markdown] lang="en"
# The same for more codes, with $W_Q$ and $W_K$ between the token and its query or key:
# [RoPE](#diagonals?code=RoPE&words=alike), [sinusoids](#diagonals?code=sinusoids&words=alike), [a
# table](#diagonals?code=learned&words=alike), [no position](#diagonals?code=none&words=alike). Where [all words
# differ](#diagonals?code=RoPE&words=different), scores differ along a diagonal even with RoPE, since their contents do.
#
# <!-- touch: diagonals -->

# %% [markdown] lang="zh"
# 再看几种编码，而且 token 要先经过 $W_Q$ 和 $W_K$ 才成为查询和
# 键：[RoPE](#diagonals?code=RoPE&words=alike)、[加上正弦](#diagonals?code=sinusoids&words=alike)、[加上一张表](#diagonals?code=learned&words=alike)、[没有位置](#diagonals?code=none&words=alike)。
# 如果[词各不相同](#diagonals?code=RoPE&words=different)，即使用 RoPE，得分沿对角线也会不同，因为内容不同。
#
# <!-- touch: diagonals -->

# %% [markdown] lang="en"
# ## Why not the values?
#
# Queries and keys meet in a product in which one rotation undoes the other. Values meet no partner. Let $a_{mn}$ be the
# weights of attention; if values are rotated by their own positions, the output at position $m$ is
#
# $$
# o_m = \sum_n a_{mn}\, R_n v_n .
# $$
#
# Move the whole text by $\delta$. The weights stay, but every $R_n$ becomes $R_{n+\delta} = R_\delta R_n$, so the
# output becomes $R_\delta\, o_m$: it tells the absolute position, which we had just got rid of. Unless the output is
# turned back by its own position:
#
# $$
# R_m^\top \sum_n a_{mn}\, R_n v_n = \sum_n a_{mn}\, R_{n-m}\, v_n .
# $$
#
# That is a consistent code too, "a second kind of rotary embedding" ([Su, 2025](https://kexue.fm/archives/10862)),
# which DeepSeek-V4 adds to the first ([`apply_rotary_pos_emb` with `-sin`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/deepseek_v4/modeling_deepseek_v4.py)).
# RoFormer (section 3.2.2) and most models rotate queries and keys only.

# %% [markdown] lang="zh"
# ## 为什么不旋转值？
#
# 查询和键在点积里相遇，一个旋转抵消另一个；值却没有这样的搭档。设 $a_{mn}$ 是注意力权重；如果按各自的位置旋转值，位
# 置 $m$ 上的输出就是
#
# $$
# o_m = \sum_n a_{mn}\, R_n v_n .
# $$
#
# 把整段文本平移 $\delta$。权重不变，但每个 $R_n$ 变成 $R_{n+\delta} = R_\delta R_n$，输出就成了 $R_\delta\, o_m$：好不
# 容易去掉的绝对位置，又说了出去。除非把输出再按它自己的位置转回去：
#
# $$
# R_m^\top \sum_n a_{mn}\, R_n v_n = \sum_n a_{mn}\, R_{n-m}\, v_n .
# $$
#
# 这也是一种自洽的编码，即“第二类旋转位置编码”（[苏剑林，2025](https://kexue.fm/archives/10862)），DeepSeek-V4 把它与第
# 一类一起用（[带 `-sin` 的 `apply_rotary_pos_emb`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/deepseek_v4/modeling_deepseek_v4.py)）。RoFormer（3.2.2 节）和多数模型只旋转查询和键。

# %% [markdown] lang="en"
# ## More dimensions
#
# The fifth wish: a patch of an image has a row $p_1$ and a column $p_2$. With $p = (p_1, p_2)$, the four steps of the
# theorem give one orthogonal matrix for each axis, $A_{p} = A_1^{\,p_1} A_2^{\,p_2}$. A step down and then across comes
# to the same place as across and then down, hence
#
# $$
# A_1 A_2 = A_2 A_1 .
# $$
#
# Matrices that commute like this turn the same planes, and in a common basis pair $i$ turns by the sum
#
# $$
# p_1\, \theta_i + p_2\, \theta_i' ,
# $$
#
# with a speed for each axis, for any number of axes ([Liu et al., 2025](https://arxiv.org/abs/2504.06308) and [van de
# Geijn et al., 2025](https://arxiv.org/abs/2511.08368) prove it by commuting generators). In general, then, the axes
# are **mixed**: $\theta_i$ and $\theta_i'$ are an arrow, along which the pair turns. [Heo et al.,
# 2024](https://arxiv.org/abs/2403.13298) learn the arrows; [Xiong, 2025](https://jerryxio.ng/posts/nd-rope) spreads
# them evenly. The **axial** form is a special case: every pair has one of both speeds, the other is 0. Start with
# [arrows along the axes](#plane?apart=90), then [spread them](#plane?apart=65), or drag one.
#
# <!-- touch: plane -->

# %% [markdown] lang="zh"
# ## 更多的维度
#
# 第五条要求：图像块有行 $p_1$ 和列 $p_2$。取 $p = (p_1, p_2)$，定理的四步给每个轴一个正交矩
# 阵，$A_{p} = A_1^{\,p_1} A_2^{\,p_2}$。先往下走一步再往右走一步，和先往右再往下，到的是同一处，所以
#
# $$
# A_1 A_2 = A_2 A_1 .
# $$
#
# 这样可交换的矩阵转的是同一些平面；在公共的基下，第 $i$ 对转过的是和
#
# $$
# p_1\, \theta_i + p_2\, \theta_i' ,
# $$
#
# 每个轴一个转速，几个轴都是如此
# （[Liu 等，2025](https://arxiv.org/abs/2504.06308) 和 [van de Geijn 等，2025](https://arxiv.org/abs/2511.08368) 用可交
# 换的生成元证明了这一点）。所以一般情形是各轴**混合**：$\theta_i$ 与 $\theta_i'$ 组成一个箭头，这一对沿着它
# 转。[Heo 等，2024](https://arxiv.org/abs/2403.13298) 让箭头由训练得
# 到；[Xiong，2025](https://jerryxio.ng/posts/nd-rope) 让它们均匀散开。**轴向**形式是特例：每一对只有其中一个转速，另一
# 个是 0。先看[箭头都沿坐标轴](#plane?apart=90)，再[把它们散开](#plane?apart=65)，或者拖动一个。
#
# <!-- touch: plane -->

# %% [markdown] lang="en"
# **Next:** [notebook 3](3_three_implementations.ipynb) builds the implementations in use, and the permutation between
# them.

# %% [markdown] lang="zh"
# **下一节**：[第 3 节](3_three_implementations.ipynb)写出通行的三种实现，以及它们之间的那个置换。

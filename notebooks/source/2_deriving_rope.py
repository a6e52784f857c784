# %% [markdown] lang="en"
# # 2 · Deriving RoPE
#
# This notebook writes down what attention scores should obey, and solves for the code. One family of
# solutions comes out: **rotate the query and the key**. This is the
# rotary position embedding, RoPE, of [Su et al., 2021](https://arxiv.org/abs/2104.09864v5), which [a post of
# Su's](https://kexue.fm/archives/8265) told first.

# %% [markdown] lang="zh"
# # 2 · 推导 RoPE
#
# 这一节先写下注意力得分应当满足的条件，再把编码解出来。
# 解出来的是这样一族：**旋转查询和键**。这就是旋转位置编码 RoPE（[苏剑林等，2021](https://arxiv.org/abs/2104.09864v5)；最早见于[他的一篇文章](https://kexue.fm/archives/8265)）。

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
# Let $q$ be the query of one token and $k$ the key of another, as $W_Q$ and $W_K$ made them, with no position in them
# yet. Let $m$ and $n$ be the positions of the two tokens. We look for a function $f$ that puts a position into a
# vector: $f(q, m)$ is the query at position $m$, and $f(k, n)$ the key at position $n$. Their dot product is the
# attention score, and this is the wish (RoFormer, section 3.1):
#
# $$
# \langle f(q, m),\, f(k, n) \rangle = g(q, k, m - n) .
# $$
#
# In words: *the score depends on what the two tokens are and on how far apart they are, and on nothing else.* Which
# function $g$ it is, we leave open. To make position 0 the place where nothing happens, we also ask for $f(x, 0) = x$.
#
# **Adding a code does not do it.** Of the four terms that notebook 1 found in the product, two know only one of the two
# positions.
#
# **Turning does it.** Before any algebra: give the query an angle that grows with its position, and the key likewise.
# [Move both](#clock?together=yes&m=24), and the angle between them stays; [move one](#clock?together=no&m=30), and it grows. That is all of RoPE; the rest of this notebook finds out how it is done
# with $d$ features, and whether anything else would do.
#
# <!-- touch: clock -->

# %% [markdown] lang="zh" short=true
# ## 我们的要求
#
# 设 $q$ 是一个 token 的查询，$k$ 是另一个 token 的键，刚由 $W_Q$ 和 $W_K$ 算出来，里面还没有位置。
# 设两个 token 的位置是 $m$ 和 $n$。我们要找一个把位置放进向量的函数 $f$：$f(q, m)$ 是位置 $m$ 上的查询，$f(k, n)$ 是位
# 置 $n$ 上的键。它们的点积就是注意力得分，而我们的要求是（RoFormer，3.1 节）：
#
# $$
# \langle f(q, m),\, f(k, n) \rangle = g(q, k, m - n) .
# $$
#
# 换成一句话：*得分只取决于两个 token 是什么、相距多远，此外什么都不看*。至于 $g$ 是怎样的函数，先不作规定。
# 为了让位置 0 成为“什么都不做”的地方，再要求 $f(x, 0) = x$。
#
# **把编码加上去，做不到这一点**。第 1 节乘开得到四项，其中两项只知道两个位置中的一个。
#
# **转动就做得到**。先别管代数：让查询转过一个随位置增长的角度，键也一样。[两者一起移动](#clock?together=yes&m=24)，它们之间的角度不变；
# [只移动一个](#clock?together=no&m=30)，角度就变大。RoPE 就是这样；
# 这一节余下的部分要弄清，$d$ 个特征时怎么做，以及别的办法行不行。
#
# <!-- touch: clock -->

# %% [markdown] lang="en" short=true
# ## Two numbers are one
#
# Begin with vectors of two features. A pair $(x_0, x_1)$ can be read as one complex number
#
# $$
# x = x_0 + \mathrm{j}\, x_1 = |x|\, e^{\mathrm{j} \mathrm{arg}\, x}, \qquad \mathrm{j}^2 = -1 ,
# $$
#
# with length $|x|$ and angle $\mathrm{arg}\, x$. Here $e^{\mathrm{j} \omega}$ stands for $\cos \omega + \mathrm{j} \sin
# \omega$, the number of length 1 at the angle $\omega$. By the addition theorems $e^{\mathrm{j} \omega} e^{\mathrm{j}
# \omega'} = e^{\mathrm{j} (\omega + \omega')}$: to multiply is to add angles. (We write $\mathrm{j}$, as Python does; the letter $i$ will soon count
# pairs.) A star flips the sign of the imaginary part, $x^* = x_0 - \mathrm{j}\, x_1$, hence of the angle. Then
#
# $$
# q\, k^* = (q_0 + \mathrm{j}\, q_1)(k_0 - \mathrm{j}\, k_1)
# = (q_0 k_0 + q_1 k_1) + \mathrm{j}\, (q_1 k_0 - q_0 k_1) .
# $$
#
# The first bracket is the dot product: it is the real part of $q\, k^*$. So if we find an $f$ with
#
# $$
# f(q, m)\, f(k, n)^* = g(q, k, m - n) \qquad \text{for all } q, k, m, n,
# $$
#
# where $g$ is now complex, then the real parts agree too, and the wish is granted. We ask for a little more than we
# need; further down we check what is lost by it.

# %% [markdown] lang="zh" short=true
# ## 两个数就是一个数
#
# 先看只有两个特征的向量。一对数 $(x_0, x_1)$ 可以读成一个复数
#
# $$
# x = x_0 + \mathrm{j}\, x_1 = |x|\, e^{\mathrm{j} \mathrm{arg}\, x}, \qquad \mathrm{j}^2 = -1 ,
# $$
#
# 其长度为 $|x|$，角度为 $\mathrm{arg}\, x$。这里 $e^{\mathrm{j} \omega}$ 就是 $\cos \omega + \mathrm{j} \sin \omega$，
# 即长度为 1、角度为 $\omega$ 的数；由和角公式，$e^{\mathrm{j} \omega} e^{\mathrm{j} \omega'} = e^{\mathrm{j} (\omega + \omega')}$：
# 相乘就是角度相加。（虚数单位写作 $\mathrm{j}$，和 Python 一样；
# 字母 $i$ 马上要用来给特征对编号。）星号表示共轭，即改变虚部的符号，$x^* = x_0 - \mathrm{j}\, x_1$，
# 角度也就跟着变号。于是
#
# $$
# q\, k^* = (q_0 + \mathrm{j}\, q_1)(k_0 - \mathrm{j}\, k_1)
# = (q_0 k_0 + q_1 k_1) + \mathrm{j}\, (q_1 k_0 - q_0 k_1) .
# $$
#
# 第一个括号就是点积，也就是 $q\, k^*$ 的实部。因此，只要找到一个 $f$，满足
#
# $$
# f(q, m)\, f(k, n)^* = g(q, k, m - n) \qquad \text{对所有的 } q, k, m, n,
# $$
#
# （这里的 $g$ 取复数值），两边的实部自然相等，要求就满足了。这比需要的多要了一点；后面会检查，这样做丢掉了什么。

# %% [markdown] lang="en" short=true
# ## Solving for the code
#
# Every complex number has a length and an angle, and so has $f$: write
# $f(x, p) = r(x, p)\, e^{\mathrm{j} \varphi(x, p)}$. Lengths multiply, the angle of the starred factor is subtracted,
# so the demand falls apart into two:
#
# $$
# r(q, m)\, r(k, n) = |g(q, k, m - n)|, \qquad \varphi(q, m) - \varphi(k, n) = \mathrm{arg}\, g(q, k, m - n) .
# $$
#
# From $f(x, 0) = x$ we know how it starts: $r(x, 0) = |x|$ and $\varphi(x, 0) = \mathrm{arg}\, x$. Angles are meant up
# to whole turns, and the vectors are not zero. Three steps, each of them one choice of $m$ and $n$:
#
# **1. The length stays.** Take $m = n$, and $k = q$. The right side is then $|g(q, q, 0)|$, whatever $m$ is, so the
# left side is the same at $m$ as at $0$:
#
# $$
# r(q, m)^2 = |g(q, q, 0)| = r(q, 0)^2 = |q|^2 \quad\Longrightarrow\quad r(q, m) = |q| .
# $$
#
# **2. All vectors turn alike.** Take $m = n$ again, with any $q$ and $k$. Again the right side is the same at $m$ as at
# $0$, so $\varphi(q, m) - \varphi(k, m) = \mathrm{arg}\, q - \mathrm{arg}\, k$. Sort by vector:
#
# $$
# \varphi(q, m) - \mathrm{arg}\, q = \varphi(k, m) - \mathrm{arg}\, k .
# $$
#
# The left side knows nothing of $k$, the right side nothing of $q$. So both equal something that depends on $m$ alone.
# Call it $\psi(m)$: the turn that position $m$ gives to *every* vector. It starts with $\psi(0) = 0$.
#
# **3. The turns are an arithmetic progression.** Take $m = n + 1$. The right side is $\mathrm{arg}\, g(q, k, 1)$,
# whatever $n$ is. The left side is, by step 2,
#
# $$
# \varphi(q, n + 1) - \varphi(k, n) = \mathrm{arg}\, q - \mathrm{arg}\, k + \psi(n + 1) - \psi(n) .
# $$
#
# So $\psi(n + 1) - \psi(n)$ is the same number for every $n$. Call it $\theta$. From $\psi(0) = 0$ we climb in equal
# steps: $\psi(1) = \theta$, $\psi(2) = 2 \theta$, and so on, $\psi(n) = n \theta$.
#
# Put the three together:
#
# $$
# f(x, p) = |x|\, e^{\mathrm{j} (\mathrm{arg}\, x + p \theta)} = x\, e^{\mathrm{j} p \theta} .
# $$
#
# **Position $p$ turns the pair by the angle $p\theta$.** Does it keep its promise?
#
# $$
# f(q, m)\, f(k, n)^* = q\, e^{\mathrm{j} m \theta}\, k^*\, e^{-\mathrm{j} n \theta}
# = q\, k^*\, e^{\mathrm{j} (m - n) \theta} ,
# $$
#
# which is a function of $q$, $k$ and $m - n$. It does. This follows RoFormer, section 3.4.1; that $f$ is linear in $x$
# was not assumed, it came out. What the wish does *not* say is which $\theta$ to take.

# %% [markdown] lang="zh" short=true
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
# f(q, m)\, f(k, n)^* = q\, e^{\mathrm{j} m \theta}\, k^*\, e^{-\mathrm{j} n \theta}
# = q\, k^*\, e^{\mathrm{j} (m - n) \theta} ,
# $$
#
# 这是 $q$、$k$ 和 $m - n$ 的函数，确实做到了。推导依照 RoFormer 的 3.4.1 节；$f$ 对 $x$ 是线性的，
# 这一点并没有事先假设，是推出来的。要求里*没有*说的是：$\theta$ 该取多少。

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
# Write `rotate`, for any number of pairs at once.
#
# Hint: The formula has a real part and an imaginary part: these are the two members of the turned pair. So take the
# members apart first; each has one dimension less than the pairs, as the angles have.
#
# Hint: Cosines and sines now fit the members as they are, whatever the number of dimensions. Put the two results side
# by side in a new last dimension.

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
# 写出 `rotate`：一次旋转任意多对。
#
# 提示：公式有实部和虚部，它们就是转过之后那一对的两个数。所以先把一对拆成两个数；拆开之后，每个都比 `pairs` 少一维，
# 正好与角度相同。
#
# 提示：余弦和正弦这时可以直接与它们相乘，不管前面有几维。再把两个结果并排放进新的最后一维。


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
# A head has $d$ features, with $d$ even, say 64 or 128. Cut them into $d/2$ pairs, read each as a complex number $x_i$,
# and give each an angle of its own. The dot product is the sum over the pairs, so the score is
#
# $$
# \langle f(q, m),\, f(k, n) \rangle
# = \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^*\, e^{\mathrm{j} (m - n) \theta_i} .
# $$
#
# Every term depends on $m - n$ only, so the sum does; [four of them](#clock?pairs=four) in the figure with the clock show
# how it comes about. RoFormer, section 3.2.2, takes for the angles per position, the
# **speeds**, what the sinusoids had (section 3.5 of [Vaswani et al.](https://arxiv.org/abs/1706.03762v7)):
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, 1, \dots, d/2 - 1, \qquad b = 10000 .
# $$
#
# The **base** $b$ is a setting; notebook 4 looks at larger ones. Two things that are often told wrongly:
#
# - *Which pairs?* "Every pair" means pairs of **features**, never pairs of tokens. And each feature is in exactly one
#   of them, $(x_0, x_1), (x_2, x_3), \dots$ in the paper: $d/2$ pairs, not all $d(d-1)/2$ that one could form. Other
#   ways of pairing do as well; that is notebook 3.
# - *Which angles?* Counted from 0, the last one is $\theta_{d/2-1}$, not $\theta_{d/2}$. (The paper counts from 1.) The first speed is always 1. The last is
#   $b^{-(d-2)/d}$, which is not $1/b$ but $b^{2/d}$ times as much: 1.15 times for $d = 128$, ten times for $d = 8$.

# %% [markdown] lang="zh" short=true
# ## 很多对
#
# 一个头有 $d$ 个特征，$d$ 是偶数，比如 64 或 128。把它们分成 $d/2$ 对，每对读成一个复数 $x_i$，并各有各的角度。
# 点积是各对之和，所以得分为
#
# $$
# \langle f(q, m),\, f(k, n) \rangle
# = \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^*\, e^{\mathrm{j} (m - n) \theta_i} .
# $$
#
# 每一项只取决于 $m - n$，总和也就如此；上面带钟的图可以显示其中[四项](#clock?pairs=four)怎样相加。每走一个位置转过的角度，我们称为**转速**。RoFormer 的 3.2.2 节沿用了正弦编码的取
# 法（[Vaswani 等](https://arxiv.org/abs/1706.03762v7)，3.5 节）：
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, 1, \dots, d/2 - 1, \qquad b = 10000 .
# $$
#
# **底数** $b$ 是可调的，第 4 节会看更大的底数。有两件事常常被讲错：
#
# - *是哪些“对”*？所谓“每一对”，指的是**特征**配成的对，绝不是 token 配成的对。而且每个特征恰好属于其中一对，
#   论文里是 $(x_0, x_1), (x_2, x_3), \dots$：一共 $d/2$ 对，而不是所有可能的 $d(d-1)/2$ 对。换一种配对方式也行，
#   那是第 3 节的内容。
# - *是哪些角度*？从 0 数起，最后一个是 $\theta_{d/2-1}$，不是 $\theta_{d/2}$。（论文从 1 数起。）第一个转速总是 1。最后一个是 $b^{-(d-2)/d}$，
#   它不是 $1/b$，而是 $1/b$ 的 $b^{2/d}$ 倍：$d = 128$ 时是 1.15 倍，$d = 8$ 时是十倍。

# %% [markdown] lang="en"
# ### Exercise 2.2 · The speeds (1 point)
#
# Write `speeds`. A frequent slip is to take `base` as an argument and then compute with 10000 all the same.
#
# Hint: Pair $i$ has the exponent $-2i/d$. Write down the exponents for $d = 8$: they begin with 0 and get smaller in
# equal steps.
#
# Hint: `torch.arange` can go in steps of 2. Make it float64 from the start: what float32 has rounded, a later
# conversion does not bring back.

# %% [markdown] lang="zh"
# ### 练习 2.2 · 转速（1 分）
#
# 写出 `speeds`。一个常见的疏忽是：参数里有 `base`，计算时用的却还是 10000。
#
# 提示：第 $i$ 对的指数是 $-2i/d$。先写出 $d = 8$ 时的各个指数：从 0 开始，每一步减少同样多。
#
# 提示：`torch.arange` 可以每步走 2。从一开始就用 float64：float32 舍掉的，后来再转换也找不回来。


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
# In real numbers, a pair is turned by a $2 \times 2$ block, and all pairs by a matrix with these blocks down its
# diagonal (RoFormer, equation 15):
#
# $$
# R_p = \begin{pmatrix} B(p\theta_0) & & \\ & \ddots & \\ & & B(p\theta_{d/2-1}) \end{pmatrix}, \qquad
# B(\omega) = \begin{pmatrix} \cos \omega & -\sin \omega \\ \sin \omega & \cos \omega \end{pmatrix} .
# $$
#
# Blocks do not mix, so two facts about $B$ are enough.
#
# - *To transpose is to turn back.* $\cos$ is even and $\sin$ is odd, so $B(\omega)^\top = B(-\omega)$, hence
#   $R_m^\top = R_{-m}$.
# - *Angles add up.* By the addition theorems the upper left entry of $B(\omega) B(\omega')$ is
#   $\cos\omega\, \cos\omega' - \sin\omega\, \sin\omega' = \cos(\omega + \omega')$ and the lower left one is
#   $\sin\omega\, \cos\omega' + \cos\omega\, \sin\omega' = \sin(\omega + \omega')$; the right column is these two again, as
#   $-\sin(\omega + \omega')$ and $\cos(\omega + \omega')$. Hence $R_m R_n = R_{m+n}$.
#
# Together they give the law on which everything rests:
#
# $$
# R_m^\top R_n = R_{-m} R_n = R_{n - m}, \qquad\text{so}\qquad
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# Absolute positions go in, one for each token, and only the distance comes out.

# %% [markdown] lang="zh" short=true
# ## 写成一个矩阵
#
# 用实数来写，旋转一对就是乘一个 $2 \times 2$ 的块，旋转所有的特征对就是乘一个以这些块为对角线的矩阵（RoFormer，式 15）：
#
# $$
# R_p = \begin{pmatrix} B(p\theta_0) & & \\ & \ddots & \\ & & B(p\theta_{d/2-1}) \end{pmatrix}, \qquad
# B(\omega) = \begin{pmatrix} \cos \omega & -\sin \omega \\ \sin \omega & \cos \omega \end{pmatrix} .
# $$
#
# 各块互不相干，所以只需要关于 $B$ 的两件事。
#
# - *转置就是转回去*。$\cos$ 是偶函数，$\sin$ 是奇函数，所以 $B(\omega)^\top = B(-\omega)$，从而 $R_m^\top = R_{-m}$。
# - *角度相加*。由和角公式，$B(\omega) B(\omega')$ 左上角的元素是
#   $\cos\omega\, \cos\omega' - \sin\omega\, \sin\omega' = \cos(\omega + \omega')$，
#   左下角的元素是 $\sin\omega\, \cos\omega' + \cos\omega\, \sin\omega' = \sin(\omega + \omega')$；右边一列还是这两个数，
#   即 $-\sin(\omega + \omega')$ 和 $\cos(\omega + \omega')$。所以 $R_m R_n = R_{m+n}$。
#
# 两者合起来，就是一切所依据的规律：
#
# $$
# R_m^\top R_n = R_{-m} R_n = R_{n - m}, \qquad\text{故}\qquad
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# 放进去的是绝对位置，每个 token 一个；出来的只有距离。

# %% [markdown] lang="en"
# ### Exercise 2.3 · The block matrix (2 points)
#
# Write `rotation_matrix` for given angles $\omega_0, \dots, \omega_{d/2-1}$, with neighbouring features as pairs.
# `torch.block_diag` may save you work.
#
# Hint: What does one block look like? Its first row says how the new $x_0$ is made of the old pair, its second row
# the same for $x_1$: both stand in the formula of exercise 2.1.
#
# Hint: Cosines and sines of all angles give all blocks at once, as a tensor `[d/2, 2, 2]`. `torch.block_diag` wants the
# blocks as separate arguments; a star in front of a tensor hands over its parts one by one.

# %% [markdown] lang="zh"
# ### 练习 2.3 · 分块矩阵（2 分）
#
# 给定角度 $\omega_0, \dots, \omega_{d/2-1}$，相邻的特征为一对，写出 `rotation_matrix`。`torch.block_diag` 能省些力气。
#
# 提示：一块长什么样？第一行说新的 $x_0$ 怎样由原来的一对得到，第二行说 $x_1$：两者都在练习 2.1 的公式里。
#
# 提示：由所有角度的余弦和正弦，一次就能得到所有的块，一个 `[d/2, 2, 2]` 的张量。`torch.block_diag` 要的是一个个单独的参
# 数；在张量前面加一个星号，就把它的各部分逐个交出去。


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
# We asked for equality of complex numbers, where the wish speaks of real scores only, and we put pairs side by side by
# hand. Would the wish have allowed something else? Here is the answer in full, for vectors of any number $d$ of real
# features and positions $0, 1, 2, \dots$
#
# **Theorem.** *A function $f$ with $f(x, 0) = x$ grants the wish if and only if $f(x, p) = A^p x$ with an orthogonal matrix
# $A$. In a suitable orthonormal basis, $A$ is a diagonal of $2 \times 2$ rotations, apart from single entries $1$
# and $-1$.*
#
# Nothing is assumed of $f$, not even that it is linear. Four steps:
#
# - *It keeps inner products.* With $m = n$ the wish reads
#   $\langle f(q, m), f(k, m) \rangle = g(q, k, 0) = \langle f(q, 0), f(k, 0) \rangle = \langle q, k \rangle$.
# - *So it is linear.* Write $f(x)$ for $f(x, m)$ and let $z = \xi x + \eta y$ with numbers $\xi, \eta$. Multiply out
#   $\| f(z) - \xi f(x) - \eta f(y) \|^2$: it is made of inner products, each of which is the same without the $f$. Hence it is
#   $\| z - \xi x - \eta y \|^2 = 0$. So $f(x, m) = A_m x$, and a matrix that keeps inner products is orthogonal,
#   $A_m^\top A_m = I$.
# - *So it is a power.* The wish says that $q^\top A_m^\top A_n\, k$ depends on $m$ and $n$ through $n - m$ only, for all
#   $q$ and $k$; so the matrices do. Hence $A_1^\top A_n = A_0^\top A_{n-1} = A_{n-1}$, that is,
#   $A_n = A_1 A_{n-1} = A_1 A_1 A_{n-2} = \dots = A_1^{\,n}$.
# - *And every power does it.* $(A^m q)^\top A^n k = q^\top A^{n-m} k$ if $A$ is orthogonal, since $(A^m)^\top = A^{-m}$.
#
# The form of $A$ in a suitable basis is what linear algebra knows of every orthogonal matrix. ([Su](https://kexue.fm/archives/10862)
# states the solution so, for matrices.) Entries $1$ and $-1$ are features that stay, or flip at every step; two of a kind
# are a pair with the angle $0$ or $\pi$. For even $d$ just one thing can be left over, if $\det A = -1$: one feature that
# stays beside one that flips. It tells even distances from odd ones. That is all that was lost.
#
# The change of basis can be absorbed by $W_Q$ and $W_K$ ([Su, 2022](https://kexue.fm/archives/9403)). So RoPE is not one of
# many codes that grant the wish. Up to that flip, and to the choice of basis and speeds, it is the general one. The next
# cell takes a random orthogonal matrix with $\det A = 1$, reads the speeds off its eigenvalues $e^{\pm \mathrm{j} \theta}$,
# and finds RoPE in it.

# %% [markdown] lang="zh"
# ## 有没有丢掉什么？
#
# 原来的要求只涉及实数得分，我们用的条件却是复数相等；把各对并排放在一起，也是我们自己定的。
# 原来的要求会不会还允许别的做法？下面是完整的回答，适用于任意 $d$ 个实特征的向量和位置 $0, 1, 2, \dots$
#
# **定理**：设 $f(x, 0) = x$。$f$ 满足要求，当且仅当 $f(x, p) = A^p x$，其中 $A$ 是正交矩阵。在适当的标准正交基下，
# $A$ 是沿对角线排列的 $2 \times 2$ 旋转，外加个别的 $1$ 和 $-1$。
#
# 对 $f$ 没有任何假设，连线性也不用假设。分四步：
#
# - *它保持内积*：取 $m = n$，要求就成了
#   $\langle f(q, m), f(k, m) \rangle = g(q, k, 0) = \langle f(q, 0), f(k, 0) \rangle = \langle q, k \rangle$。
# - *所以它是线性的*：把 $f(x, m)$ 简写成 $f(x)$，设 $z = \xi x + \eta y$，$\xi, \eta$ 是数。把 $\| f(z) - \xi f(x) - \eta f(y) \|^2$
#   乘开：它由内积组成，而每个内积去掉 $f$ 之后不变。所以它等于 $\| z - \xi x - \eta y \|^2 = 0$。
#   于是 $f(x, m) = A_m x$，而保持内积的矩阵是正交的，$A_m^\top A_m = I$。
# - *所以它是幂*：要求说的是，$q^\top A_m^\top A_n\, k$ 对 $m$、$n$ 的依赖只通过 $n - m$，而且对所有 $q$ 和 $k$ 都成立，
#   所以矩阵本身也如此。于是 $A_1^\top A_n = A_0^\top A_{n-1} = A_{n-1}$，
#   即 $A_n = A_1 A_{n-1} = A_1 A_1 A_{n-2} = \dots = A_1^{\,n}$。
# - *而且每个幂都行*：$A$ 正交时 $(A^m)^\top = A^{-m}$，所以 $(A^m q)^\top A^n k = q^\top A^{n-m} k$。
#
# $A$ 在适当的基下是什么样子，是线性代数关于正交矩阵的基本结论（[苏剑林](https://kexue.fm/archives/10862)对矩阵也是这样表述的）。
# $1$ 和 $-1$ 是不动的特征和每走一步就变号的特征；同样的两个凑在一起，就是角度为 $0$ 或 $\pi$ 的一对。
# $d$ 为偶数时只可能剩下一样东西，条件是 $\det A = -1$：一个不动的特征，旁边一个变号的特征。它分得清距离的奇偶。
# 丢掉的只有它。
#
# 换基可以并入 $W_Q$ 和 $W_K$（[苏剑林，2022](https://kexue.fm/archives/9403)）。所以在满足要求的编码当中，RoPE 不是众多选择之一：
# 除了那个变号的特征，以及基和转速可以选，它就是一般解。
# 下一格随机取一个 $\det A = 1$ 的正交矩阵，从特征值 $e^{\pm \mathrm{j} \theta}$ 读出转速，在里面找到 RoPE。

# %%
assert (round(10000 ** (2 / 128), 2), round(10000 ** (2 / 8))) == (1.15, 10)  # what the text says
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
# One thing *was* assumed: that queries and keys go through the same $f$. Let them differ, $A_m$ for queries and $C_n$ for
# keys, matrices with $A_0 = C_0 = I$. Then the solutions are exactly
#
# $$
# C_n = G^n, \qquad A_m = (G^{-m})^\top, \qquad \text{score} = q^\top G^{\,n-m}\, k ,
# $$
#
# with *any* invertible matrix $G$. Query and key use the same map if and only if $G$ is orthogonal: RoPE, up to that
# flip. Other matrices give other codes ([GRAPE](https://arxiv.org/abs/2512.07805v6) puts them in order by this).
# Rotations alone keep every vector as long as it was.
#
# <details><summary>Why there are no others, and which codes these are</summary>
#
# The wish asks that $A_m^\top C_n$ depend on $n - m$ only; call it $G_{n-m}$, and write $G$ for $G_1$.
#
# - With $m = 0$: $C_n = G_n$. With $n = 0$: $A_m^\top = G_{-m}$.
# - With $m = n$: $G_{-m} G_m = G_0 = I$, so $A_m^\top = C_m^{-1}$: what the query does undoes what the key does.
# - With $m = 1$: $G_{-1} G_n = G_{n-1}$, so $C_n = G_1 C_{n-1} = \dots = G_1^{\,n}$.
#
# | $G$, on two features | what $G^{\,n-m}$ does | the code |
# |---|---|---|
# | a rotation | turns the pair by $(n - m)\, \theta_i$ | RoPE |
# | a rotation, divided by $\gamma_i < 1$ | turns, and multiplies the pair by $\gamma_i^{\,m-n}$ | [xPos](https://arxiv.org/abs/2212.10554v1) |
# | $1$ on the diagonal and above it | adds $n - m$ times one feature to the other; with the query $(\rho, 0)$ and the key $(0, 1)$, the score is $-\rho\, (m - n)$ | ALiBi |
# | the identity | nothing | NoPE |
#
# </details>

# %% [markdown] lang="zh"
# ## 整个家族
#
# 有一点*确实*是假设的：查询和键经过同一个 $f$。现在让它们不同，查询用 $A_m$，键用 $C_n$，都是矩阵，$A_0 = C_0 = I$。
# 全部的解就是
#
# $$
# C_n = G^n, \qquad A_m = (G^{-m})^\top, \qquad \text{得分} = q^\top G^{\,n-m}\, k ,
# $$
#
# 其中 $G$ 是*任意*可逆矩阵。查询和键用同一个映射，当且仅当 $G$ 是正交的：那就是 RoPE，至多差那个变号的特征。
# 其他的 $G$ 给出别的编码（[GRAPE](https://arxiv.org/abs/2512.07805v6) 就是这样整理各种编码的）。
# 只有旋转让每个向量保持原来的长度。
#
# <details><summary>为什么没有别的解，这些又是哪些编码</summary>
#
# 要求是 $A_m^\top C_n$ 只取决于 $n - m$；记它为 $G_{n-m}$，并把 $G_1$ 写成 $G$。
#
# - 取 $m = 0$：$C_n = G_n$。取 $n = 0$：$A_m^\top = G_{-m}$。
# - 取 $m = n$：$G_{-m} G_m = G_0 = I$，所以 $A_m^\top = C_m^{-1}$：查询做的，正好抵消键做的。
# - 取 $m = 1$：$G_{-1} G_n = G_{n-1}$，所以 $C_n = G_1 C_{n-1} = \dots = G_1^{\,n}$。
#
# | $G$ 对两个特征 | $G^{\,n-m}$ 做什么 | 编码 |
# |---|---|---|
# | 旋转 | 把这一对旋转 $(n - m)\, \theta_i$ | RoPE |
# | 旋转，再除以 $\gamma_i < 1$ | 旋转，再把这一对乘以 $\gamma_i^{\,m-n}$ | [xPos](https://arxiv.org/abs/2212.10554v1) |
# | 对角线及其上方为 $1$ | 把一个特征的 $n - m$ 倍加到另一个上；查询取 $(\rho, 0)$，键取 $(0, 1)$，得分就是 $-\rho\, (m - n)$ | ALiBi |
# | 单位矩阵 | 什么也不做 | NoPE |
#
# </details>

# %% [markdown] lang="en"
# ### Exercise 2.4 · The shift test (2 points)
#
# Turn the wish into a measurement, which works for any code. Write `shift_gap`: move both tokens along by
# $\delta = 1, 2, \dots, \texttt{longest}$, and give the largest change of the score,
# $\left| f(q, m + \delta) \cdot f(k, n + \delta) - f(q, m) \cdot f(k, n) \right|$.
#
# Hint: Compute the score where the tokens stand: the query at $m$, the key at $n$. Then once more for each shift,
# with both moved by it.
#
# Hint: Each change is measured from the first score, not from that of the shift before, and a fall is a change as
# well.

# %% [markdown] lang="zh"
# ### 练习 2.4 · 平移测试（2 分）
#
# 把这条要求变成一种对任何编码都适用的测量。写出 `shift_gap`：让两个 token 一起平移 $\delta = 1, 2, \dots, \texttt{longest}$，
# 给出得分变化 $\left| f(q, m + \delta) \cdot f(k, n + \delta) - f(q, m) \cdot f(k, n) \right|$ 的最大值。
#
# 提示：先算 token 在原处的得分：查询在 $m$，键在 $n$。再对每个平移算一次，两者一起移动。
#
# 提示：每次变化都从最初的得分算起，而不是从前一个平移算起；下降也是变化。


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
# Now three codes, for one and the same $q$ and $k$: no position, sinusoids added, and rotation. Each square shows the
# score for every position $m$ of the query and $n$ of the key. The wish, seen as a picture: *all entries along a
# diagonal are equal*. No position grants it in an empty way: the score does not know the distance either. So diagonals
# also have to differ from each other.

# %% [markdown] lang="zh"
# 现在对同一组 $q$ 和 $k$ 比较三种编码：没有位置、加上正弦编码、旋转。每个方块画出查询在各个位置 $m$、
# 键在各个位置 $n$ 时的得分。这条要求画成图就是：*同一条对角线上的数全都相等*。没有位置时也满足，但那是空洞的满足：
# 得分连距离也不知道。所以不同的对角线还要彼此不同。

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
# The same map, to drag over, for more codes, with $W_Q$ and $W_K$ between the token and its query or key, as in a real
# layer: [RoPE](#diagonals?code=RoPE&words=alike), [sinusoids](#diagonals?code=sinusoids&words=alike), [a
# table](#diagonals?code=learned&words=alike), [no position](#diagonals?code=none&words=alike). Where [all words
# differ](#diagonals?code=RoPE&words=different), scores differ along a diagonal even with RoPE, since their contents do.
#
# <!-- touch: diagonals -->

# %% [markdown] lang="zh"
# 还是这张图，可以拖动，编码也多了几种，并且与真实的层一样，token 要先经过 $W_Q$ 和 $W_K$ 才成为查询和键：
# [RoPE](#diagonals?code=RoPE&words=alike)、[加上正弦](#diagonals?code=sinusoids&words=alike)、
# [加上一张表](#diagonals?code=learned&words=alike)、[没有位置](#diagonals?code=none&words=alike)。
# 如果[词各不相同](#diagonals?code=RoPE&words=different)，即使用 RoPE，得分沿对角线也会不同，因为内容不同。
#
# <!-- touch: diagonals -->

# %% [markdown] lang="en"
# ## Why not the values?
#
# Attention does two things. Scores, made of queries and keys, decide *how much* to read from each token. Values are *what* is
# read. Queries and keys meet in a product in which one rotation undoes the other. Values meet no partner. Let $a_{mn}$ be the weights; if
# we rotate values by their own positions, the output at position $m$ is
#
# $$
# o_m = \sum_n a_{mn}\, R_n v_n .
# $$
#
# Move the whole text by $\delta$. The weights stay, but every $R_n$ becomes $R_{n+\delta} = R_\delta R_n$, so the output becomes
# $R_\delta\, o_m$: the layer tells everyone the absolute position, which we had just got rid of.
#
# It does not follow that values *cannot* be rotated. Turn the output back by its own position, and the distance is what
# remains:
#
# $$
# R_m^\top \sum_n a_{mn}\, R_n v_n = \sum_n a_{mn}\, R_{n-m}\, v_n .
# $$
#
# That is a consistent code too. [Su, 2025](https://kexue.fm/archives/10862) calls it a second kind of rotary embedding; on top
# of the first it gained a model of about 1B weights nothing, a loss of 2.719 against 2.712. So RoFormer rotates queries and
# keys only (section 3.2.2), and most models follow it. (DeepSeek-V4 does both: notebook 8.)

# %% [markdown] lang="zh"
# ## 为什么不旋转值？
#
# 注意力做两件事。由查询和键得到的得分，决定从每个 token 读*多少*；
# 值则是读到的*内容*。查询和键在点积里相遇，一个旋转抵消另一个。值却没有这样的搭档。
# 设 $a_{mn}$ 是注意力权重；如果按各自的位置旋转值，位置 $m$ 上的输出就是
#
# $$
# o_m = \sum_n a_{mn}\, R_n v_n .
# $$
#
# 把整段文本平移 $\delta$。权重不变，但每个 $R_n$ 变成 $R_{n+\delta} = R_\delta R_n$，输出就成了 $R_\delta\, o_m$：好不容易去掉的绝对位置，
# 又被这一层说了出去。
#
# 但这并不等于值*不能*旋转。把输出再按它自己的位置转回去，剩下的就是距离：
#
# $$
# R_m^\top \sum_n a_{mn}\, R_n v_n = \sum_n a_{mn}\, R_{n-m}\, v_n .
# $$
#
# 这也是一种自洽的编码。[苏剑林，2025](https://kexue.fm/archives/10862) 称之为“第二类旋转位置编码”；在 1B 左右的模型上，
# 把它叠加到第一类上并没有好处，损失是 2.719，只用第一类是 2.712。所以 RoFormer 只旋转查询和键（3.2.2 节），多数模型也跟着这样做。（DeepSeek-V4 两类都用：第 8 节。）

# %% [markdown] lang="en"
# ## More dimensions
#
# The fifth wish of notebook 0 was that the rule should extend to more dimensions: a patch of an image has a row $p_1$
# and a column $p_2$. With $p = (p_1, p_2)$ and the same wish, that scores depend on $n - m$ alone, the four steps of
# the theorem give one orthogonal matrix for each axis, $A_{p} = A_1^{\,p_1} A_2^{\,p_2}$. A step down and then across
# comes to the same place as across and then down, hence
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
# with a speed for each axis; so it is for any number of axes ([Liu et al., 2025](https://arxiv.org/abs/2504.06308) and
# [van de Geijn et al., 2025](https://arxiv.org/abs/2511.08368) prove it by commuting generators, and the latter ask whether images need it).
# In general, then, the axes are **mixed**: $\theta_i$ and $\theta_i'$ are an arrow, along which the pair turns. That is what [Heo et al.,
# 2024](https://arxiv.org/abs/2403.13298) propose, with arrows that are learned; [Xiong, 2025](https://jerryxio.ng/posts/nd-rope) spreads them evenly. The
# **axial** form is a special case: every pair has one of both speeds, the other is 0. Start with [arrows along the axes](#plane?apart=90), then [spread
# them](#plane?apart=65), or drag one.
#
# <!-- touch: plane -->

# %% [markdown] lang="zh"
# ## 更多的维度
#
# 第 0 节的第五条要求，是规则能推广到更多的维度：图像块有行 $p_1$ 和列 $p_2$。取 $p = (p_1, p_2)$，要求不变，
# 得分只取决于 $n - m$；定理的四步给每个轴一个正交矩阵，$A_{p} = A_1^{\,p_1} A_2^{\,p_2}$。先往下走一步再往右走一步，
# 和先往右再往下，到的是同一处，所以
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
# 每个轴一个转速，几个轴都是如此（[Liu 等，2025](https://arxiv.org/abs/2504.06308) 和 [van de Geijn 等，2025](https://arxiv.org/abs/2511.08368)
# 用可交换的生成元证明了这一点，后者还问图像到底需不需要它）。所以一般情形是各轴**混合**：$\theta_i$ 与 $\theta_i'$ 组成一个箭头，这一对沿着它转。
# [Heo 等，2024](https://arxiv.org/abs/2403.13298) 提出的就是这个，箭头由训练得到；[Xiong，2025](https://jerryxio.ng/posts/nd-rope) 让它们均匀散开。
# **轴向**形式是特例：每一对只有其中一个转速，另一个是 0。
# 先看[箭头都沿坐标轴](#plane?apart=90)，再[把它们散开](#plane?apart=65)，或者拖动一个。
#
# <!-- touch: plane -->

# %% [markdown] lang="en"
# ## A note on history
#
# It is often told wrongly: LLaMA did not introduce RoPE. [GPT-J](https://github.com/kingoflolz/mesh-transformer-jax)
# had it in 2021, then [GPT-NeoX-20B](https://arxiv.org/abs/2204.06745) and [PaLM](https://arxiv.org/abs/2204.02311),
# all before [LLaMA](https://arxiv.org/abs/2302.13971v1), whose section 2.2 gives the credit to "GPTNeo".
#
# **Next:** [notebook 3](3_three_implementations.ipynb) builds the three implementations in use, and the permutation between them.

# %% [markdown] lang="zh"
# ## 关于历史
#
# 常有人讲错：RoPE 并不是 LLaMA 首先采用的。[GPT-J](https://github.com/kingoflolz/mesh-transformer-jax) 在 2021 年就用了，
# 然后是 [GPT-NeoX-20B](https://arxiv.org/abs/2204.06745) 和 [PaLM](https://arxiv.org/abs/2204.02311)，
# 都早于 [LLaMA](https://arxiv.org/abs/2302.13971v1)；LLaMA 论文的 2.2 节自己注明，这一点取自“GPTNeo”。
#
# **下一节**：[第 3 节](3_three_implementations.ipynb)动手写出通行的三种实现，
# 以及隔在它们之间的那个置换。

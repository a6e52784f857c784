# %% [markdown] lang="en"
# # 4 · Decay and precision
#
# Two sentences about RoPE are repeated everywhere: "attention decays with distance", and "just compute it in bfloat16".
# The first is half true: there is a bound that falls, and scores that do not. The second costs a model its sense of
# position.

# %% [markdown] lang="zh"
# # 4 · 衰减与精度
#
# 关于 RoPE，有两句话到处都能听到：“注意力随距离衰减”，以及“直接用 bfloat16 算就行”。第一句只对了一半：上界在下降，得分
# 未必跟着下降。第二句会让模型丢掉位置感。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    SKY,
    VERMILION,
    headline,
    point,
    show_table,
    use_style,
)
from given import frequencies
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en"
# ## The score as a function of distance
#
# As in [notebook 2](2_deriving_rope.ipynb), each pair of features is one complex number, $q_i$ for the query and $k_i$
# for the key; $\mathrm{j}$ is the imaginary unit and a star the conjugate. With $\theta_i = b^{-2i/d}$ and
# $b = 10{,}000$, the score of a query at $m$ and a key at $n$, without the factor $1/\sqrt d$, is
#
# $$
# \mathrm{Re} \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i},
# \qquad h_i = q_i\, k_i^*, \qquad \Delta = m - n .
# $$
#
# The content is in $h_i$, the distance $\Delta$ in the angles.

# %% [markdown] lang="zh"
# ## 得分是距离的函数
#
# 和[第 2 节](2_deriving_rope.ipynb)一样，每一对特征是一个复数，查询的记作 $q_i$，键的记作 $k_i$；$\mathrm{j}$ 是虚数单
# 位，星号表示共轭。设 $\theta_i = b^{-2i/d}$，$b = 10{,}000$，略去因子 $1/\sqrt d$，位置 $m$ 上的查询与位置 $n$ 上的键
# 的得分是
#
# $$
# \mathrm{Re} \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i},
# \qquad h_i = q_i\, k_i^*, \qquad \Delta = m - n .
# $$
#
# 内容在 $h_i$ 里，距离 $\Delta$ 在角度里。

# %%
DIM = 128  # d, features of a head


def score(query: Tensor, key: Tensor, theta: Tensor, distances: Tensor) -> Tensor:
    """The score of a query and a key of [d/2] complex numbers at each distance: [n] to [n]."""
    content = query * key.conj()  # h
    return (content * torch.exp(1j * torch.outer(distances, theta))).sum(-1).real


# %% [markdown] lang="en"
# ## A walk with arrows
#
# Lay the arrows $e^{\mathrm{j} \Delta \theta_i}$, all of length 1, head to tail. After $u$ of them the walk has come to
#
# $$
# T_u = \sum_{i=0}^{u-1} e^{\mathrm{j} \Delta \theta_i}, \qquad u = 1, \dots, d/2 .
# $$
#
# At $\Delta = 0$ all arrows point the same way. [Ten tokens apart](#walk?key=0&base=10000&distance=10) the fast pairs
# already bend away; at [a large distance](#walk?key=0&base=10000&distance=1000) they point anywhere. For equal query
# and key, each pair of length 1, the score is the part of the walk that goes to the right.
#
# <!-- touch: walk -->

# %% [markdown] lang="zh"
# ## 用箭头走路
#
# 把长度都是 1 的箭头 $e^{\mathrm{j} \Delta \theta_i}$ 首尾相接，走完 $u$ 支，就到了
#
# $$
# T_u = \sum_{i=0}^{u-1} e^{\mathrm{j} \Delta \theta_i}, \qquad u = 1, \dots, d/2 .
# $$
#
# 当 $\Delta = 0$ 时，所有箭头指向同一个方向。[相隔十个 token](#walk?key=0&base=10000&distance=10) 时，高频对已经拐
# 开；[相隔很远](#walk?key=0&base=10000&distance=1000)时，它们指向哪里都有可能。如果查询和键相等，每对长度都是 1，得分就
# 是这条路向右走了多远。
#
# <!-- touch: walk -->


# %%
def walk(theta: Tensor, distances: Tensor) -> Tensor:
    """The partial sums T_1 .. T_{d/2} of the arrows, for each distance: [d/2] and [n] to [n, d/2], complex."""
    return torch.exp(1j * torch.outer(distances, theta)).cumsum(-1)


some = torch.tensor([1.0, 10, 100, 1000], dtype=torch.float64)
paths = walk(frequencies(), some)
ends = paths[:, -1].abs()

figure, panels = plt.subplots(2, 2, figsize=(5.0, 2.8), sharex=True, sharey=True)
for axes, path, distance, colour in zip(panels.flat, paths, some, [BLUE, GREEN, ORANGE, VERMILION], strict=True):
    path = torch.cat([torch.zeros(1), path])  # the walk starts at T_0 = 0
    axes.plot(path.real, path.imag, "-o", color=colour, markersize=1.8, linewidth=1)
    axes.plot(path.real[-1], path.imag[-1], "s", color=BLACK, markersize=5)
    axes.set_title(f"distance {distance:.0f}", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-12, 66), ylim=(-8, 18), xticks=[0, 30, 60], yticks=[0, 15])
finding = "The farther apart two tokens, the more arrows curl up:"
headline(figure, f"{finding}\nall 64 end {', '.join(f'{end:.0f}' for end in ends)} away from where they start")
plt.show()

# %% [markdown] lang="en"
# Each walk ends at the square. The fast pairs come first; at distance 1,000 they go in circles, and only the slow
# ones still make way.
#
# ## From the walk to a bound
#
# RoFormer ([arXiv:2104.09864](https://arxiv.org/abs/2104.09864v5), section 3.4.3) makes a bound of it by **Abel's
# summation**. Set $T_0 = 0$ and $h_{d/2} = 0$. Since $e^{\mathrm{j} \Delta \theta_i} = T_{i+1} - T_i$,
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i}
# = \sum_{i=0}^{d/2-1} h_i\, (T_{i+1} - T_i)
# = \sum_{i=0}^{d/2-1} h_i\, T_{i+1} - \sum_{i=0}^{d/2-1} h_i\, T_i .
# $$
#
# In the last sum the term $i = 0$ is zero, and so is the term $i = d/2$ that we add. It then runs from 1 to $d/2$; call
# its index $i + 1$:
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, T_{i+1} - \sum_{i=0}^{d/2-1} h_{i+1}\, T_{i+1}
# = - \sum_{i=0}^{d/2-1} (h_{i+1} - h_i)\, T_{i+1} .
# $$
#
# A real part is at most the absolute value, a sum at most the sum of absolute values, and each difference at most the
# largest, so
#
# $$
# |\text{score}(\Delta)| \;\le\; \Big(\max_{0 \le i < d/2} |h_{i+1} - h_i|\Big) \sum_{u=1}^{d/2} |T_u| .
# $$
#
# The first factor knows only the content, the second only the distance.

# %% [markdown] lang="zh"
# 每条路终止于方块。转得快的特征对排在前面；距离为 1,000 时它们只是在原地打转，只有慢的那些还在往前走。
#
# ## 从走路到上界
#
# RoFormer（[arXiv:2104.09864](https://arxiv.org/abs/2104.09864v5)，3.4.3 节）用**阿贝尔求和法**由此得到一个上界。
# 令 $T_0 = 0$，$h_{d/2} = 0$。由于 $e^{\mathrm{j} \Delta \theta_i} = T_{i+1} - T_i$，
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i}
# = \sum_{i=0}^{d/2-1} h_i\, (T_{i+1} - T_i)
# = \sum_{i=0}^{d/2-1} h_i\, T_{i+1} - \sum_{i=0}^{d/2-1} h_i\, T_i .
# $$
#
# 最后那个和里，$i = 0$ 的一项为零，添上的 $i = d/2$ 一项也为零。于是它从 1 加到 $d/2$；把下标改写成 $i + 1$：
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, T_{i+1} - \sum_{i=0}^{d/2-1} h_{i+1}\, T_{i+1}
# = - \sum_{i=0}^{d/2-1} (h_{i+1} - h_i)\, T_{i+1} .
# $$
#
# 实部不超过绝对值，和的绝对值不超过绝对值的和，每个差又不超过其中最大的一个，所以
#
# $$
# |\text{score}(\Delta)| \;\le\; \Big(\max_{0 \le i < d/2} |h_{i+1} - h_i|\Big) \sum_{u=1}^{d/2} |T_u| .
# $$
#
# 第一个因子只看内容，第二个只看距离。

# %% [markdown] lang="en"
# ### Exercise 4.1 · The whole bound (2 points)
#
# Write `decay_bound`, the right-hand side. Mind $h_{d/2} = 0$.
#
# Hint: $h_i$ has a conjugate in it, and before you take differences, a 0 has to be appended. `walk` gives all $T_u$.

# %% [markdown] lang="zh"
# ### 练习 4.1 · 完整的上界（2 分）
#
# 写出 `decay_bound`，即不等式的右边。别忘了 $h_{d/2} = 0$。
#
# 提示：$h_i$ 里有一个共轭，求差之前要在末尾补一个 0。`walk` 给出所有的 $T_u$。


# %% nbgrader={"grade_id": "decay_bound", "solution": true}
def decay_bound(query: Tensor, key: Tensor, theta: Tensor, distances: Tensor) -> Tensor:
    """What the absolute score cannot exceed, by Abel's summation.

    Args:
        query: [d/2], complex128, one number for each pair.
        key: [d/2], complex128.
        theta: [d/2], radians per position, float64.
        distances: [n], float64.

    Returns:
        [n], float64.
    """
    ### BEGIN SOLUTION
    content = query * key.conj()
    differences = torch.diff(content, append=torch.zeros(1, dtype=content.dtype))
    return differences.abs().max() * walk(theta, distances).abs().sum(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "decay_bound_laws", "grade": true, "points": 2}
with quiet():
    theta, near = frequencies(4), torch.zeros(1, dtype=torch.float64)
    one, three_one = torch.ones(2, dtype=torch.complex128), torch.tensor([3, 1], dtype=torch.complex128)
    bound = decay_bound(three_one, one, theta, near).item()
    assert abs(bound - 6) < 1e-9, "h is 3, 1, 0, its largest step 2; at distance 0 the walk is 1, 2: 2 (1 + 2) = 6."
    bound = decay_bound(one, one, theta, near).item()
    assert abs(bound - 3) < 1e-9, "h is 1, 1, 0: the step down to h_{d/2} = 0 counts; 1 (1 + 2) = 3."
    phases = torch.tensor([1, 1j], dtype=torch.complex128)
    bound = decay_bound(phases, phases, theta, near).item()
    assert abs(bound - 3) < 1e-9, "With the conjugate j times j is 1: h is 1, 1, 0."
    ### BEGIN HIDDEN TESTS
    theta, distances = frequencies(64), torch.arange(0.0, 400.0, dtype=torch.float64)
    for seed in range(4):
        query, key = torch.randn(2, 32, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))
        bound = decay_bound(query, key, theta, distances)
        assert bound.shape == distances.shape, "One number for each distance."
        assert (score(query, key, theta, distances).abs() <= bound + 1e-9).all(), "No score may exceed the bound."
        doubled = decay_bound(query, 2 * key, theta, distances)
        torch.testing.assert_close(doubled, 2 * bound, msg="Twice the key, twice the bound.")
        turned = decay_bound(1j * query, key, theta, distances)
        torch.testing.assert_close(turned, bound, msg="Turning all pairs of the query alike changes no difference.")
    alone = decay_bound(2j * one[:1], one[:1], theta[:1], distances)
    torch.testing.assert_close(alone, torch.full_like(alone, 2.0), msg="With one pair the bound is |q| |k|.")
    bound = decay_bound(phases, phases.conj(), theta[:2], near).item()
    assert abs(bound - 6) < 1e-9, "h is 1, -1, 0: a step from 1 to -1 has length 2, though both are as long."
    rising, ones = torch.tensor([1, 1, 5], dtype=torch.complex128), torch.ones(3, dtype=torch.complex128)
    tail = decay_bound(rising, ones, frequencies(6), near).item()
    assert abs(tail - 5 * 6) < 1e-9, "h is 1, 1, 5, 0: the largest step is the last one, 5; 5 (1 + 2 + 3) = 30."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## It is a bound, not a law
#
# RoFormer's figure 2 plots the distance part, $\frac{1}{d/2} \sum_u |T_u|$, which falls over its 250 positions, with
# ripples. That scores *decay* does not follow, for three reasons:
#
# 1. A ceiling that comes down says nothing about a ball that lies on the floor: the content factor can be so large that
#    the ceiling is never touched.
# 2. The ceiling does not keep falling beyond the figure's edge.
# 3. There are keys that a query likes best at *any* distance you name.
#
# For such a key, choose each $k_i$ with $h_i\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2$. The score at the distance $D$ is
# then $\sum_i |q_i|^2$, and by the inequality of Cauchy and Schwarz no key of the same length $\|k\| = \|q\|$ scores
# more at any distance.

# %% [markdown] lang="zh"
# ## 是上界，不是规律
#
# RoFormer 的图 2 画的是与距离有关的那部分，$\frac{1}{d/2} \sum_u |T_u|$，在图中的 250 个位置以内，它起伏着下降。由此推
# 不出得分会*衰减*，理由有三：
#
# 1. 天花板在往下降，并不说明地板上的球在动：内容那个因子可以大到让得分永远碰不到天花板。
# 2. 天花板出了那幅图的边界，就不再降了。
# 3. 随便说一个距离，都有一个键，查询恰恰在*那个*距离上最喜欢它。
#
# 要造这样的键，就让每个 $k_i$ 满足 $h_i\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2$。距离 $D$ 处的得分就
# 是 $\sum_i |q_i|^2$；由柯西–施瓦茨不等式，长度同为 $\|k\| = \|q\|$ 的键，无论在什么距离，得分都不会更高。

# %% [markdown] lang="en"
# ### Exercise 4.2 · The key that loves distance (2 points)
#
# Write `key_for`: solve $q_i\, k_i^*\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2 = q_i\, q_i^*$ for $k_i$.
#
# Hint: Divide both sides by $q_i$: what is left says what $k_i^*$ is, up to a factor of length 1.
#
# Hint: Move that factor to the other side, then take the conjugate of both sides: what becomes of the sign in its
# exponent?

# %% [markdown] lang="zh"
# ### 练习 4.2 · 喜欢远方的键（2 分）
#
# 写出 `key_for`：从 $q_i\, k_i^*\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2 = q_i\, q_i^*$ 解出 $k_i$。
#
# 提示：两边除以 $q_i$，剩下的式子说明 $k_i^*$ 是什么，只差一个长度为 1 的因子。
#
# 提示：把这个因子移到另一边，再两边取共轭：指数里的符号会怎样？


# %% nbgrader={"grade_id": "key_for", "solution": true}
def key_for(query: Tensor, theta: Tensor, distance: float) -> Tensor:
    """The key, as long as the query in every pair, that the query scores highest at this distance: [d/2], complex."""
    ### BEGIN SOLUTION
    return query * torch.exp(1j * distance * theta)
    ### END SOLUTION


# %% nbgrader={"grade_id": "key_for_laws", "grade": true, "points": 2}
with quiet():
    theta, distances = frequencies(), torch.arange(0.0, 3000.0, dtype=torch.float64)
    query = torch.exp(1j * torch.arange(DIM // 2).double())  # 64 pairs of length 1
    scores = score(query, key_for(query, theta, 1000.0), theta, distances)
    assert scores.argmax() == 1000, "At the distance asked for, the score is highest."
    assert abs(scores.max() - 64) < 1e-9, "There all 64 pairs give |q_i|^2 = 1."
    ### BEGIN HIDDEN TESTS
    for seed, distance in enumerate([0.0, 1.0, 17.0, 2500.0]):
        query = torch.randn(20, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))
        kept = query.clone()
        key = key_for(query, frequencies(40), distance)
        torch.testing.assert_close(key.abs(), query.abs(), msg="Every pair of the key is as long as the query's.")
        scores = score(query, key, frequencies(40), distances)
        assert scores.argmax() == distance, "Highest at the distance asked for, for every query."
        best = query.abs().square().sum()
        torch.testing.assert_close(scores.max(), best, msg="The best score is the query's squared length.")
        assert torch.equal(query, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %%
every = torch.arange(0, 131_073).double()
theta = frequencies()
query = torch.ones(DIM // 2, dtype=torch.complex128)
phases = 2 * math.pi * torch.rand(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
random_key = torch.exp(1j * phases)
relative = torch.cat([walk(theta, part).abs().mean(-1) for part in every.split(8192)])
beyond = relative[every > 4096]
near = every < 4097

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0))
left.axvspan(0.8, 250, color=SKY, alpha=0.25, linewidth=0)
left.text(1.1, 1.0, "what RoFormer's\nfigure 2 shows", fontsize=8.5)
left.semilogx(every[near].clamp(min=0.8), relative[near], color=BLUE, linestyle="-", linewidth=1.2)
stretches = beyond.view(-1, 1024)  # 124 of them, too many points to draw one by one
left.fill_between(every[4097::1024], stretches.amin(-1), stretches.amax(-1), color=BLUE, alpha=0.6, linewidth=0)
left.set(xlabel="distance", ylabel=r"mean of $|T_u|$", ylim=(0, 34), xlim=(0.8, 140_000))
left.set_title("the bound", fontweight="normal", fontsize=9.5)
short = torch.arange(0, 2049).double()
right.plot(short, score(query, random_key, theta, short), color=ORANGE, linestyle=":", linewidth=1)
right.plot(short, score(query, query, theta, short), color=BLUE, linestyle="-", linewidth=1.2)
chosen = score(query, key_for(query, theta, 1000.0), theta, short)
right.plot(short, chosen, color=VERMILION, linestyle="--", linewidth=1.2)
right.set(xlabel="distance", ylabel="score", ylim=(-30, 88), yticks=[0, 32, 64])
lowest_key = score(query, random_key, theta, short)
point(right, "key = query", (0, 64), (8, 2), BLUE, line=False)
point(right, "key_for(1000)", (1000, 64), (8, 2), VERMILION, line=False)
point(right, "random key", (int(lowest_key.argmin()), lowest_key.min()), (1, -3), ORANGE, line=False)
right.set_title("scores of the query of ones", fontweight="normal", fontsize=9.5)
lowest, highest = beyond.min(), beyond.max()
assert (round(lowest.item(), 2), round(highest.item(), 2)) == (1.18, 14.96), "A sample of distances misses these."
finding = (
    f"The bound falls from {relative[0]:.1f}, but beyond 4,096 it only wanders, from {lowest:.2f} to {highest:.2f};"
)
headline(figure, f"{finding}\nand a score may peak at distance {int(chosen.argmax()):,}")
plt.show()

# %% [markdown] lang="en"
# Left: after a few thousand positions nothing falls any more (the band spans the values of each 1,024 distances).
# Right: equal vectors prefer to be near; a random key shows no trend; your key peaks [a thousand tokens
# away](#walk?key=1000&distance=1000).
#
# [Barbero et al., 2024](https://arxiv.org/abs/2410.06205) doubt that RoPE works by decay: in a trained Gemma 7B, some
# heads attend with fast pairs to exactly one distance.

# %% [markdown] lang="zh"
# 左图：过了几千个位置，上界就不再下降（色带是每 1,024 个距离里的取值范围）。右图：相等的向量喜欢离得近；随机的键看不出
# 任何趋势；你造的键，峰值在[一千个 token 之外](#walk?key=1000&distance=1000)。
#
# RoPE 有效，是不是因为衰减？[Barbero 等，2024](https://arxiv.org/abs/2410.06205) 不大相信：在训练好的 Gemma 7B 里，有的头
# 靠高频对只看某一个固定的距离。

# %% [markdown] lang="en"
# ## What a larger base buys
#
# With $q = k$ and $|q_i| = 1$ the score is $\sum_i \cos \Delta \theta_i$, a sum with a meaning for other keys too. Let
# the components of $q$ be independent with mean 0 and variance $\sigma^2$, let one key be *similar*,
# $k' = q + \varepsilon$, and another *random*, $k$; $\varepsilon$ and $k$ have mean 0 and do not depend on $q$. Then,
# with $\mathbb E$ for the mean,
#
# $$
# \mathbb E\big[\text{score}(q, k') - \text{score}(q, k)\big]
# = \mathrm{Re} \sum_i \mathbb E\big[q_i\, q_i^*\big]\, e^{\mathrm{j} \Delta \theta_i}
# = 2 \sigma^2 \sum_{i=0}^{d/2-1} \cos \Delta \theta_i ,
# $$
#
# since the terms with $\varepsilon$ and $k$ vanish on average, and $|q_i|^2$ is the sum of two squares, each of mean
# $\sigma^2$. Where the sum is negative, *a similar key scores lower than a random one* on average. [Men et al.,
# 2024](https://arxiv.org/abs/2405.14591v1) ask that this not happen within the context: so the base bounds the context
# length.
#
# The base sets the slow end: $\theta_{d/2-1} = b^{-(d-2)/d}$, nearly $1/b$. Llama 2 has $b = 10^4$, Llama 3
# $b = 5 \cdot 10^5$ ([arXiv:2407.21783](https://arxiv.org/abs/2407.21783v3), section 3.2), which [Xiong et al.,
# 2023](https://arxiv.org/abs/2309.16039) had found to serve up to 32,768 positions.

# %% [markdown] lang="zh"
# ## 更大的底数换来什么
#
# 当 $q = k$ 且 $|q_i| = 1$ 时，得分是 $\sum_i \cos \Delta \theta_i$；这个和对别的键也有意义。设 $q$ 的各分量相互独立，
# 均值为 0，方差为 $\sigma^2$；一个键与它*相似*，$k' = q + \varepsilon$，另一个键 $k$ 是*随
# 机*的；$\varepsilon$ 与 $k$ 的均值为 0，且与 $q$ 无关。均值记作 $\mathbb E$，于是
#
# $$
# \mathbb E\big[\text{score}(q, k') - \text{score}(q, k)\big]
# = \mathrm{Re} \sum_i \mathbb E\big[q_i\, q_i^*\big]\, e^{\mathrm{j} \Delta \theta_i}
# = 2 \sigma^2 \sum_{i=0}^{d/2-1} \cos \Delta \theta_i ,
# $$
#
# 因为含 $\varepsilon$ 和 $k$ 的项平均为零，而 $|q_i|^2$ 是两个平方之和，每个的均值都是 $\sigma^2$。凡是这个和为负的地
# 方，平均而言，*相似的键得分反而比随机的键低*。[Men 等，2024](https://arxiv.org/abs/2405.14591v1) 要求在上下文之内不出
# 现这种情况：底数因此限定了上下文的长度。
#
# 底数决定慢的那一端：$\theta_{d/2-1} = b^{-(d-2)/d}$，接
# 近 $1/b$。Llama 2 取 $b = 10^4$，Llama 3 取 $b = 5 \cdot 10^5$（[arXiv:2407.21783](https://arxiv.org/abs/2407.21783v3)，3.2 节）；[Xiong 等，2023](https://arxiv.org/abs/2309.16039) 此
# 前已发现，这个值可以用到 32,768 个位置。

# %%
far = torch.arange(1, 131_073).double()
figure, axes = plt.subplots(figsize=(5.0, 2.9))
axes.axhline(0, color=BLACK, linewidth=0.8, linestyle="-")
firsts = []
for base, colour, dashes in ((1e4, VERMILION, "-"), (5e5, BLUE, "-")):
    sums = torch.cat([torch.cos(torch.outer(part, frequencies(base=base))).sum(-1) for part in far.split(8192)])
    first = int((sums < 0).nonzero()[0])
    firsts.append(int(far[first]))
    shown = torch.logspace(0, math.log10(len(far)), 1200).long().unique() - 1
    axes.semilogx(far[shown], sums[shown], color=colour, linestyle=dashes, linewidth=1)
    axes.plot(far[first], 0, "o" if base < 1e5 else "s", color=colour, markersize=8, markeredgecolor="white")
    point(axes, f"{firsts[-1]:,}", (far[first], 0), (-4, -30), colour)
point(axes, "base 10,000", (30, 30), (-4, -10), VERMILION, line=False)
point(axes, "base 500,000", (700, 36), (1, 6), BLUE, line=False)
axes.set(xlabel="distance", ylabel=r"$\sum_i \cos \Delta\theta_i$", yticks=[0, 32, 64], ylim=(-34, 68))
headline(figure, f"Similar keys first lose at distance {firsts[0]:,};\nwith the larger base at {firsts[1]:,}")
plt.show()

# %% [markdown] lang="en"
# The marks, where the curves first fall below zero, are more than ten times apart,
# [500,000](#walk?key=0&base=500000&distance=4096) against [10,000](#walk?key=0&base=10000&distance=4096).
#
# A larger base slows all pairs but the first, so fewer tell near positions apart. And a model has learnt its angles:
# when the base can be changed all the same is the theme of [notebook 5](5_longer_contexts.ipynb).
#
# ## Where the bits go
#
# A float has a fixed number of significant bits $\nu$: 24 in float32, 11 in float16, 8 in bfloat16. Rounding to the
# nearest makes a relative error of at most $2^{-\nu}$. Two consequences:
#
# - **Positions.** Whole numbers up to $2^\nu$ are exact. In bfloat16 that ends at 256: 257 does not exist. From 2,048
#   to 4,096 only every 16th position does.
# - **Angles.** An angle is rounded *relatively*, and a cosine reads it *absolutely*: at an angle of $2^\nu$ radians the
#   error may be a whole one, and the cosine says next to nothing. Pair 0 has $\theta_0 = 1$, so its angle is as large
#   as the position.

# %% [markdown] lang="zh"
# 两个标记是曲线第一次跌到零以下的地方，底数 [500,000](#walk?key=0&base=500000&distance=4096) 的
# 比 [10,000](#walk?key=0&base=10000&distance=4096) 的远十倍以上。
#
# 底数一大，除第 0 对以外都变慢了，能区分近处位置的就更少。而且模型认识的是学过的那些角度：什么时候可以改底数，
# 是[第 5 节](5_longer_contexts.ipynb)的主题。
#
# ## 比特丢在哪里
#
# 浮点数的有效位数 $\nu$ 是固定的：float32 有 24 位，float16 有 11 位，bfloat16 只有 8 位。舍入到最近的数，相对误差至多
# 为 $2^{-\nu}$。由此有两个后果：
#
# - **位置**：$2^\nu$ 以内的整数都是精确的。bfloat16 到 256 为止：没有 257 这个数。从 2,048 到 4,096，每 16 个位置才有一
#   个能表示。
# - **角度**：角度的舍入误差是*相对*的，余弦看的却是*绝对*误差：角度到了 $2^\nu$ 弧度，误差可达整整 1 弧度，余弦就几乎说
#   不出什么了。第 0 对的 $\theta_0 = 1$，它的角度就和位置一样大。

# %% [markdown] lang="en"
# ### Exercise 4.3 · The error of each rounding (3 points)
#
# On the way to $\cos p\,\theta_i$ and $\sin p\,\theta_i$, the frequencies, the position and their product, the angle,
# can be rounded. Write `table_error`:
#
# 1. Round the frequencies to the dtype `frequencies_in`, the position to `positions_in`; multiply **in float64**.
# 2. Round the product to `angles_in`; take cosines and sines **in float64**.
# 3. Compare with the exact values in float64: return the largest absolute error over all pairs, of cosine or sine.
#
# `x.to(dtype)` rounds, `.double()` brings the rounded value back to float64.
#
# Hint: Only tensors can be rounded: make the position a tensor of float64 first.

# %% [markdown] lang="zh"
# ### 练习 4.3 · 每一种舍入的误差（3 分）
#
# 计算 $\cos p\,\theta_i$ 和 $\sin p\,\theta_i$ 时，频率、位置，以及它们的乘积，也就是角度，都可能舍入。写
# 出 `table_error`：
#
# 1. 把频率舍入到 dtype `frequencies_in`，把位置舍入到 `positions_in`；**用 float64** 相乘。
# 2. 把乘积舍入到 `angles_in`；**用 float64** 求余弦和正弦。
# 3. 与 float64 的精确值比较，返回所有的特征对里余弦或正弦的最大绝对误差。
#
# `x.to(dtype)` 完成舍入，`.double()` 把舍入后的值带回 float64。
#
# 提示：能舍入的只有张量：先把位置变成 float64 的张量。


# %% nbgrader={"grade_id": "table_error", "solution": true}
def table_error(
    position: int,
    theta: Tensor,
    *,
    frequencies_in: torch.dtype = torch.float64,
    positions_in: torch.dtype = torch.float64,
    angles_in: torch.dtype = torch.float64,
) -> float:
    """The largest error of cos and sin at a position, if these are rounded to these dtypes.

    Args:
        position: At least 0.
        theta: [d/2], exact, float64.
        frequencies_in: The frequencies are rounded to it before they are multiplied.
        positions_in: The position is rounded to it before it is multiplied.
        angles_in: The product is rounded to it before cos and sin.
    """
    ### BEGIN SOLUTION
    p = torch.tensor(position, dtype=torch.float64)
    exact = p * theta
    rounded = (p.to(positions_in).double() * theta.to(frequencies_in).double()).to(angles_in).double()
    errors = torch.stack([rounded.cos() - exact.cos(), rounded.sin() - exact.sin()])
    return errors.abs().max().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "table_error_laws", "grade": true, "points": 3}
with quiet():
    theta, bf16 = frequencies(), torch.bfloat16
    assert table_error(4095, theta) == 0, "Without rounding there is no error."
    assert table_error(256, theta, positions_in=bf16) == 0, "bfloat16 holds every whole number up to 256."
    lost = max(abs(math.cos(256) - math.cos(257)), abs(math.sin(256) - math.sin(257)))
    error = table_error(257, theta, positions_in=bf16)
    assert abs(error - lost) < 1e-9, "In bfloat16 257 becomes 256, and pair 0 is off by one radian."
    one, powers = torch.ones(1).double(), torch.tensor([1.0, 0.25]).double()
    rounded = max(abs(math.cos(265) - math.cos(264)), abs(math.sin(265) - math.sin(264)))
    error = table_error(265, one, angles_in=bf16)
    assert abs(error - rounded) < 1e-9, "An angle of 265 becomes 264 in bfloat16, its cosine and sine are exact."
    assert table_error(3, powers, frequencies_in=bf16) == 0, "bfloat16 holds powers of two exactly."
    error = table_error(257, one, frequencies_in=bf16)
    assert error == 0, "1 is exact in bfloat16, and 257 times 1 in float64: only what is asked for is rounded."
    ### BEGIN HIDDEN TESTS
    for position in (261, 1001, 4095, 131071):
        stored = torch.tensor(float(position)).bfloat16().item()
        gap = max(abs(math.cos(stored) - math.cos(position)), abs(math.sin(stored) - math.sin(position)))
        error = table_error(position, torch.ones(1).double(), positions_in=bf16)
        assert abs(error - gap) < 1e-9, "One pair of frequency 1: the error of the rounded position, in cos or in sin."
        both = table_error(position, torch.ones(1).double(), angles_in=bf16)
        assert abs(both - gap) < 1e-9, "With frequency 1, rounding the angle is rounding the position."
    assert table_error(2048, theta, positions_in=torch.float16) == 0, "float16 is exact up to 2,048,"
    assert table_error(2049, theta, positions_in=torch.float16) > 0.1, "and not beyond."
    third = torch.tensor([1 / 3], dtype=torch.float64)
    off = abs(torch.tensor(1 / 3).bfloat16().item() - 1 / 3)
    error = table_error(30, third, frequencies_in=bf16)
    exact = max(abs(math.cos(30 / 3 + 30 * s * off) - math.cos(10)) for s in (-1, 1))
    sines = max(abs(math.sin(30 / 3 + 30 * s * off) - math.sin(10)) for s in (-1, 1))
    assert 0.5 * max(exact, sines) < error <= max(exact, sines) + 1e-9, "A frequency's error grows with the position."
    small = table_error(30, third, angles_in=bf16)
    assert small <= 10 * 2**-8, "An angle of 10 in bfloat16 is off by at most 10 / 2^8."
    tiny = table_error(131071, theta, frequencies_in=torch.float32, angles_in=torch.float32)
    assert 1e-5 < tiny < 131071 * 2**-23, "float32 rounds twice, each time by at most 2^-24 of the angle."
    ### END HIDDEN TESTS

# %%
rows = {
    "float32 throughout": {"frequencies_in": torch.float32, "angles_in": torch.float32},
    "bf16 positions": {"positions_in": torch.bfloat16},
    "bf16 frequencies": {"frequencies_in": torch.bfloat16},
    "bf16 angles": {"angles_in": torch.bfloat16},
    "bf16 throughout": dict.fromkeys(("frequencies_in", "positions_in", "angles_in"), torch.bfloat16),
}
theta = frequencies()


def worst_below(end: int, **dtypes: torch.dtype) -> float:
    """The largest error at 64 positions just below the end, spread over two steps of bfloat16 or more."""
    positions = range(max(end - 64 * max(end // 8192, 1), 0), end, max(end // 8192, 1))
    return max(table_error(position, theta, **dtypes) for position in positions)


ends = (256, 4096, 131072)
shown = {name: [worst_below(end, **dtypes) for end in ends] for name, dtypes in rows.items()}
exact = torch.outer(torch.tensor(ends).double(), theta).cos()
shown["bf16 cosines, from exact angles"] = (exact.bfloat16().double() - exact).abs().amax(-1).tolist()
show_table(
    "The largest error just below a position, by what is rounded",
    [f"{end:,}" for end in ends],
    {name: [f"{error:.2g}" for error in errors] for name, errors in shown.items()},
)
for dtype, bits in ((torch.float32, 24), (torch.float16, 11), (torch.bfloat16, 8)):
    assert torch.finfo(dtype).eps == 2.0 ** (1 - bits)  # what the text says
assert max(shown["bf16 cosines, from exact angles"]) < 0.002
assert torch.finfo(torch.float32).eps * 2 ** math.floor(math.log2(1e7 * theta[1])) == 1
# %% [markdown] lang="en"
# A difference of two cosines cannot exceed 2, and bfloat16 comes near it: no information is left. But rounding the
# *finished* cosine (last row) costs less than 0.002, the same everywhere. So
#
# > compute positions, frequencies, angles, cosines and sines in float32; round the tables, if at all, at the end.
#
# [transformers#29285](https://github.com/huggingface/transformers/pull/29285) found Llama and Gemma computing angles in
# bfloat16 under autocast, with visibly worse training. Three traps remain: `model.to(torch.bfloat16)` rounds *buffers*,
# and with them frequencies registered as one; `torch.arange(n, dtype=x.dtype)` makes bfloat16 positions without a
# warning; and if `torch.set_float32_matmul_precision("high")` is set, a GPU may multiply positions and frequencies in
# TF32: 11 significant bits, so positions beyond 2,048 are rounded
# ([transformers#48450](https://github.com/huggingface/transformers/pull/48450)).
#
# **Float32 fails too**, only later: at position $10^7$ the angle of pair 1 is rounded to whole radians. There, make the
# *tables* in float64.

# %% [markdown] lang="zh"
# 两个余弦之差不会超过 2，bfloat16 已经接近 2：信息全没了。但把*算好的*余弦舍入（最后一行），代价不到 0.002，在哪里都一
# 样。所以：
#
# > 位置、频率、角度、余弦和正弦都用 float32 计算；真要舍入，就在最后舍入算好的表。
#
# [transformers#29285](https://github.com/huggingface/transformers/pull/29285) 发现 Llama 和 Gemma 在 autocast 之下
# 用 bfloat16 算角度，训练明显变差。还有三个陷阱：`model.to(torch.bfloat16)` 会舍入*缓冲区*（buffer），注册成缓冲区的频
# 率也就跟着被舍入；`torch.arange(n, dtype=x.dtype)` 会不声不响地造出 bfloat16 的位置；如果设置
# 了 `torch.set_float32_matmul_precision("high")`，有的 GPU 会用 TF32 来乘位置和频率，它只有 11 个有效位，2,048 以上的位
# 置就被舍入了（[transformers#48450](https://github.com/huggingface/transformers/pull/48450)）。
#
# **float32 也会失灵**，只是来得晚些：到了位置 $10^7$，第 1 对的角度已经舍入到整数个弧度。那时，*表*要用 float64 来算。

# %% [markdown] lang="en"
# (Where rotated queries and keys are *stored* in bfloat16, scores depend a little on more than the distance: [Wang et
# al., 2024](https://arxiv.org/abs/2411.13476).)
#
# **Next:** [notebook 5](5_longer_contexts.ipynb): what must change for a model trained on 4,096 positions to read
# 32,768?

# %% [markdown] lang="zh"
# （旋转之后的查询和键*存成* bfloat16，得分就不再只取决于距离，会略有出入：[Wang 等，2024](https://arxiv.org/abs/2411.13476)。）
#
# **下一节：**[第 5 节](5_longer_contexts.ipynb)：在 4,096 个位置上训练的模型，要改什么才能读 32,768 个位置？

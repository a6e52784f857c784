# %% [markdown]
# # 4 · 衰减与精度
#
# 关于 RoPE，有两句话到处都能听到：“注意力随距离衰减”，以及“直接用 bfloat16 算就行”。第一句只对了一半：确实有一个
# 不断下降的上界，可是得分未必跟着下降。第二句会让模型丢掉位置感，而究竟在哪一步丢掉，值得弄清楚。
#
# 这一节里，你会推导这个上界，再打破建立在它上面的成见；看看更大的底数换来了什么；最后量一量每一种舍入各毁掉了什么。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, headline, no_frame, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
# ## 得分是距离的函数
#
# 回忆[第 2 节](2_deriving_rope.ipynb)：RoPE 把一个头的 $d$ 个特征分成 $d/2$ 对，位置 $m$ 上的 token 的第 $i$ 对
# 转过角度 $m\,\theta_i$，其中
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, \dots, d/2 - 1, \qquad b = 10{,}000 .
# $$
#
# 把每一对写成一个复数：查询的记作 $q_i$，键的记作 $k_i$。和第 2 节一样，$\mathrm{j}$ 是虚数单位，星号表示共轭。
# 转过角度 $\varphi$ 就是乘以 $e^{\mathrm{j} \varphi}$；两对数的点积，是一个乘以另一个的共轭之后的实部。
# 于是位置 $m$ 上的查询与位置 $n$ 上的键的得分是
#
# $$
# \mathrm{Re} \sum_{i=0}^{d/2-1} \big(q_i\, e^{\mathrm{j} m \theta_i}\big)
# \big(k_i\, e^{\mathrm{j} n \theta_i}\big)^*
# = \mathrm{Re} \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i},
# \qquad h_i = q_i\, k_i^*, \qquad \Delta = m - n .
# $$
#
# 两个 token 的内容在 $h_i$ 里，它们的距离 $\Delta$ 在角度里。（因子 $1/\sqrt d$ 在这里不起作用，略去。）

# %%
DIM = 128  # d，一个头的特征数


def frequencies(dim: int = DIM, base: float = 10_000.0) -> Tensor:
    """theta_i，每个位置的弧度数：[dim/2]，float64。"""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def score(query: Tensor, key: Tensor, theta: Tensor, distances: Tensor) -> Tensor:
    """查询和键各为 [d/2] 个复数，求它们在各个距离上的得分：[n] 到 [n]。"""
    content = query * key.conj()  # h
    return (content * torch.exp(1j * torch.outer(distances, theta))).sum(-1).real


# %% [markdown]
# ## 用箭头走路
#
# 先只看那些箭头 $e^{\mathrm{j} \Delta \theta_i}$，长度都是 1。把它们首尾相接，走完 $t$ 支箭头，就到了
#
# $$
# S_t = \sum_{i=0}^{t-1} e^{\mathrm{j} \Delta \theta_i}, \qquad t = 1, \dots, d/2 .
# $$
#
# 当 $\Delta = 0$ 时，所有箭头指向同一个方向，$S_t = t$。当 $\Delta$ 很大时，转得快的那些对指向哪里都有可能。

# %% [markdown]
# ### 练习 4.1 · 摆箭头（2 分）
#
# 写出 `walk`：距离 $\Delta$ 对应的那一行是 $S_1, S_2, \dots, S_{d/2}$。


# %% nbgrader={"grade_id": "walk", "solution": true}
def walk(theta: Tensor, distances: Tensor) -> Tensor:
    """各个距离上箭头的部分和 S_1 .. S_{d/2}。

    Args:
        theta: [d/2]，每个位置的弧度数，float64。
        distances: [n]，float64。

    Returns:
        [n, d/2]，complex128。
    """
    ### BEGIN SOLUTION
    return torch.exp(1j * torch.outer(distances, theta)).cumsum(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "walk_laws", "grade": true, "points": 2}
with quiet():
    quarter = torch.tensor([math.pi / 2, math.pi], dtype=torch.float64)
    steps = walk(quarter, torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64))
    assert steps.shape == (3, 2), "每个距离一行，每个箭头数一列。"
    assert steps.dtype == torch.complex128, "箭头是复数，这里的 dtype 是 complex128。"
    by_hand = torch.tensor([[1, 2], [1j, 1j - 1], [-1, 0]], dtype=torch.complex128)
    torch.testing.assert_close(steps, by_hand, msg="距离为 1 时两支箭头是 j 和 -1，距离为 2 时是 -1 和 1。")
    ### BEGIN HIDDEN TESTS
    theta, distances = frequencies(32, 500.0), torch.arange(0.0, 90.0, dtype=torch.float64)
    steps, back = walk(theta, distances), walk(theta, -distances)
    torch.testing.assert_close(back, steps.conj(), msg="朝反方向看，走出来的路是镜像。")
    assert (torch.diff(steps, dim=-1).abs() - 1).abs().max() < 1e-9, "每支箭头的长度都是 1。"
    torch.testing.assert_close(steps[:, 0], torch.exp(1j * distances), msg="第一支箭头属于第 0 对。")
    shorter = walk(theta[:5], distances)
    torch.testing.assert_close(shorter, steps[:, :5], msg="前五步只用得到前五对。")
    ### END HIDDEN TESTS

# %%
some = torch.tensor([1.0, 10, 100, 1000], dtype=torch.float64)
paths = walk(frequencies(), some)
ends = paths[:, -1].abs()

figure, panels = plt.subplots(1, 4, figsize=(7.2, 1.75), sharex=True, sharey=True)
for axes, path, distance, colour in zip(panels, paths, some, [BLUE, GREEN, ORANGE, VERMILION], strict=True):
    path = torch.cat([torch.zeros(1), path])  # 从 S_0 = 0 出发
    axes.plot(path.real, path.imag, "-o", color=colour, markersize=1.8, linewidth=1)
    axes.plot(path.real[-1], path.imag[-1], "s", color=BLACK, markersize=5)
    axes.set_title(f"distance {distance:.0f}", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-12, 66), ylim=(-8, 18), xticks=[0, 30, 60], yticks=[0, 15])
finding = "The farther apart two tokens are, the more arrows curl up: the 64 arrows end"
headline(figure, f"{finding}\n{', '.join(f'{end:.0f}' for end in ends)} away from where they start")
plt.show()

# %% [markdown]
# 图中看得出：两个 token 隔得越远，蜷成一团的箭头越多，终点（黑方块）离起点越近。转得快的对排在前面；
# 距离为 1,000 时它们只是在原地打转，只有慢的那些对还在往前走。
#
# ## 从走路到上界
#
# RoFormer（[arXiv:2104.09864](https://arxiv.org/abs/2104.09864)，3.4.3 节）用**阿贝尔求和法**把这幅图变成了一个上界；
# 这是分部积分的求和版本。令 $S_0 = 0$，$h_{d/2} = 0$。由于 $e^{\mathrm{j} \Delta \theta_i} = S_{i+1} - S_i$，
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i}
# = \sum_{i=0}^{d/2-1} h_i\, (S_{i+1} - S_i)
# = \sum_{i=0}^{d/2-1} h_i\, S_{i+1} - \sum_{i=0}^{d/2-1} h_i\, S_i .
# $$
#
# 最后那个和里，$i = 0$ 的一项为零，因为 $S_0 = 0$；还可以添上 $i = d/2$ 的一项，因为 $h_{d/2} = 0$。
# 于是它从 1 加到 $d/2$；把下标改写成 $i + 1$，让 $i$ 重新从 0 开始：
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, S_{i+1} - \sum_{i=0}^{d/2-1} h_{i+1}\, S_{i+1}
# = - \sum_{i=0}^{d/2-1} (h_{i+1} - h_i)\, S_{i+1} .
# $$
#
# 实部不超过绝对值，和的绝对值不超过绝对值的和，每个差又不超过其中最大的一个：
#
# $$
# |\text{score}(\Delta)| \;\le\; \Big(\max_{0 \le i < d/2} |h_{i+1} - h_i|\Big) \sum_{t=1}^{d/2} |S_t| .
# $$
#
# 第一个因子只看内容，不看距离；第二个只看距离，不看内容。

# %% [markdown]
# ### 练习 4.2 · 完整的上界（2 分）
#
# 写出 `decay_bound`，即不等式的右边。别忘了 $h_{d/2} = 0$：最后一个差是 $0 - h_{d/2-1}$。


# %% nbgrader={"grade_id": "decay_bound", "solution": true}
def decay_bound(query: Tensor, key: Tensor, theta: Tensor, distances: Tensor) -> Tensor:
    """由阿贝尔求和法，得分的绝对值不会超过的数。

    Args:
        query: [d/2]，complex128，每对一个数。
        key: [d/2]，complex128。
        theta: [d/2]，每个位置的弧度数，float64。
        distances: [n]，float64。

    Returns:
        [n]，float64。
    """
    ### BEGIN SOLUTION
    content = query * key.conj()
    differences = torch.diff(content, append=torch.zeros(1, dtype=content.dtype))
    partial_sums = torch.exp(1j * torch.outer(distances, theta)).cumsum(-1)
    return differences.abs().max() * partial_sums.abs().sum(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "decay_bound_laws", "grade": true, "points": 2}
with quiet():
    theta, near = frequencies(4), torch.zeros(1, dtype=torch.float64)
    one, three_one = torch.ones(2, dtype=torch.complex128), torch.tensor([3, 1], dtype=torch.complex128)
    bound = decay_bound(three_one, one, theta, near).item()
    assert abs(bound - 6) < 1e-9, "h 为 3、1、0，最大的一步是 2；距离为 0 时部分和为 1、2：2 (1 + 2) = 6。"
    bound = decay_bound(one, one, theta, near).item()
    assert abs(bound - 3) < 1e-9, "h 为 1、1、0：降到 h_{d/2} = 0 的那一步也要算；1 (1 + 2) = 3。"
    ### BEGIN HIDDEN TESTS
    theta, distances = frequencies(64), torch.arange(0.0, 400.0, dtype=torch.float64)
    for seed in range(4):
        query, key = torch.randn(2, 32, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))
        bound = decay_bound(query, key, theta, distances)
        assert bound.shape == distances.shape, "每个距离一个数。"
        assert (score(query, key, theta, distances).abs() <= bound + 1e-9).all(), "任何得分都不能超过上界。"
        doubled = decay_bound(query, 2 * key, theta, distances)
        torch.testing.assert_close(doubled, 2 * bound, msg="键加倍，上界也加倍。")
        turned = decay_bound(1j * query, key, theta, distances)
        torch.testing.assert_close(turned, bound, msg="把查询的各对转过同一个角度，差的大小不变。")
    alone = decay_bound(2j * one[:1], one[:1], theta[:1], distances)
    torch.testing.assert_close(alone, torch.full_like(alone, 2.0), msg="只有一对时，上界是 |q| |k|。")
    phases = torch.tensor([1, 1j], dtype=torch.complex128)
    bound = decay_bound(phases, phases, theta[:2], near).item()
    assert abs(bound - 3) < 1e-9, "取共轭之后 j 乘 j 得 1：h 为 1、1、0。"
    bound = decay_bound(phases, phases.conj(), theta[:2], near).item()
    assert abs(bound - 6) < 1e-9, "h 为 1、-1、0：从 1 到 -1 的一步长为 2，虽然两者一样长。"
    rising, ones = torch.tensor([1, 1, 5], dtype=torch.complex128), torch.ones(3, dtype=torch.complex128)
    tail = decay_bound(rising, ones, frequencies(6), near).item()
    assert abs(tail - 5 * 6) < 1e-9, "h 为 1、1、5、0：最大的是最后一步，5；5 (1 + 2 + 3) = 30。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 是上界，不是规律
#
# RoFormer 的图 2 画的是与距离有关的那部分对 $t$ 的平均，$\frac{1}{d/2} \sum_t |S_t|$。在那幅图的 250 个位置以内，
# 它是下降的。人们常由此断言：RoPE 会让得分*衰减*。其实推不出来，理由有三：
#
# 1. 天花板在往下降，并不说明地板上的球在动。内容那个因子可以大到让得分永远碰不到天花板。
# 2. 天花板也不会一直降下去：看看那幅图的边界之外，就在下面。
# 3. 随便说一个距离，都有一个键，查询恰恰在*那个*距离上最喜欢它。马上你就要造一个。
#
# 说说第三点。设你想要的距离是 $D$；选取各个 $k_i$，让得分的每一项在距离 $D$ 处都是正实数。如果每一对都有
# $h_i\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2$，那么距离 $D$ 处的得分就是 $\sum_i |q_i|^2$。由柯西–施瓦茨不等式，
# 长度同为 $\|k\| = \|q\|$ 的键，无论在什么距离，得分都不会更高。

# %% [markdown]
# ### 练习 4.3 · 喜欢远方的键（2 分）
#
# 写出 `key_for`。从 $q_i\, k_i^*\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2 = q_i\, q_i^*$ 解出 $k_i$。（小心共轭。）


# %% nbgrader={"grade_id": "key_for", "solution": true}
def key_for(query: Tensor, theta: Tensor, distance: float) -> Tensor:
    """每一对都与查询等长、且查询在这个距离上给它最高分的键：[d/2]，复数。"""
    ### BEGIN SOLUTION
    return query * torch.exp(1j * distance * theta)
    ### END SOLUTION


# %% nbgrader={"grade_id": "key_for_laws", "grade": true, "points": 2}
with quiet():
    theta, distances = frequencies(), torch.arange(0.0, 3000.0, dtype=torch.float64)
    query = torch.ones(DIM // 2, dtype=torch.complex128)
    scores = score(query, key_for(query, theta, 1000.0), theta, distances)
    assert scores.argmax() == 1000, "在指定的距离上，得分最高。"
    assert abs(scores.max() - 64) < 1e-9, "在那里 64 对各贡献 |q_i|^2 = 1。"
    ### BEGIN HIDDEN TESTS
    for seed, distance in enumerate([0.0, 1.0, 17.0, 2500.0]):
        query = torch.randn(20, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))
        kept = query.clone()
        key = key_for(query, frequencies(40), distance)
        torch.testing.assert_close(key.abs(), query.abs(), msg="键的每一对都与查询的等长。")
        scores = score(query, key, frequencies(40), distances)
        assert scores.argmax() == distance, "无论什么查询，都在指定的距离上最高。"
        best = query.abs().square().sum()
        torch.testing.assert_close(scores.max(), best, msg="最高分是查询长度的平方。")
        assert torch.equal(query, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %%
every = torch.cat([torch.arange(0, 4097), torch.logspace(12, 17, 400, base=2).round()]).unique().double()
theta = frequencies()
query = torch.ones(DIM // 2, dtype=torch.complex128)
phases = 2 * math.pi * torch.rand(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
random_key = torch.exp(1j * phases)
relative = walk(theta, every).abs().mean(-1)
beyond = relative[every > 4096]

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0))
left.axvspan(0.8, 250, color=SKY, alpha=0.25, linewidth=0)
left.text(1.1, 1.0, "what RoFormer's\nfigure 2 shows", fontsize=8.5)
left.semilogx(every.clamp(min=0.8), relative, color=BLUE, linestyle="-", linewidth=1.2)
left.set(xlabel="distance", ylabel=r"mean of $|S_t|$", ylim=(0, 34), xlim=(0.8, 140_000))
left.set_title("the bound", fontweight="normal", fontsize=9.5)
short = torch.arange(0, 2049).double()
right.plot(short, score(query, random_key, theta, short), color=ORANGE, linestyle=":", label="random key", linewidth=1)
right.plot(short, score(query, query, theta, short), color=BLUE, linestyle="-", label="key = query", linewidth=1.2)
chosen = score(query, key_for(query, theta, 1000.0), theta, short)
right.plot(short, chosen, color=VERMILION, linestyle="--", label="key_for(1000)", linewidth=1.2)
right.set(xlabel="distance", ylabel="score", ylim=(-22, 88), yticks=[0, 32, 64])
right.legend(loc="upper center", ncols=3, fontsize=7.5, handlelength=1.4, columnspacing=0.7)
right.set_title("scores of the query of ones", fontweight="normal", fontsize=9.5)
lowest, highest = beyond.min(), beyond.max()
finding = (
    f"The bound falls from {relative[0]:.1f}, but beyond 4,096 it only wanders, from {lowest:.1f} to {highest:.1f};"
)
headline(figure, f"{finding}\nand a score may peak at distance {int(chosen.argmax()):,}")
plt.show()

# %% [markdown]
# 左图：上界从 32.5 降下来，但过了几千个位置就不再下降，只是上下摆动。右图：相等的向量喜欢离得近；随机的键看不出
# 任何趋势；而你造的键，峰值在一千个 token 之外。
#
# 随机的键才是常态，不是例外。如果各个 $h_i$ 的相位相互独立、均匀分布，再转过 $\Delta \theta_i$ 之后仍然如此，
# 于是得分在每个距离上的分布都一样：*RoPE 本身并不偏爱任何距离*。会衰减的，是学出来的东西。
# [Barbero 等，2024](https://arxiv.org/abs/2410.06205) 在训练好的 Gemma 7B 里发现，有的头靠快的对只看某一个固定的
# 距离，而慢的对则用来承载含义；他们怀疑衰减并不是 RoPE 有效的原因，现在你大概也会这样怀疑。
#
# 那么相等的向量呢？这对“衰减”的说法最有利了。取 $q = k$ 且 $|q_i| = 1$，得分就是 $\sum_i \cos \Delta \theta_i$。
# 连它也会降到零以下：

# %%
same = score(query, query, theta, torch.arange(0, 4097).double())
print(
    f"{int((same < 0).sum())} of {len(same):,} distances score negative; the first is {int((same < 0).nonzero()[0])}."
)

# %% [markdown]
# ## 更大的底数换来什么
#
# 这个和对一般的键也有意义。设 $q$ 的各分量相互独立，均值为 0，方差为 $\sigma^2$；一个键与它*相似*，
# $k' = q + \varepsilon$，另一个键 $k$ 是*随机*的；$\varepsilon$ 与 $k$ 的均值为 0，且与 $q$ 无关。
# 记期望为 $\mathbb E$，则
#
# $$
# \mathbb E\big[\text{score}(q, k') - \text{score}(q, k)\big]
# = \mathrm{Re} \sum_i \mathbb E\big[q_i\, q_i^*\big]\, e^{\mathrm{j} \Delta \theta_i}
# = 2 \sigma^2 \sum_{i=0}^{d/2-1} \cos \Delta \theta_i ,
# $$
#
# 因为含 $\varepsilon$ 和 $k$ 的项平均为零，而 $|q_i|^2$ 是两个平方之和，每个的均值都是 $\sigma^2$。
# 凡是这个和为负的地方，平均而言，*相似的键得分反而比随机的键低*。
# [Men 等，2024](https://arxiv.org/abs/2405.14591) 要求在上下文之内不出现这种情况，由此得出：底数限定了上下文的长度。
#
# 底数 $b$ 决定慢的那一端：$\theta_{d/2-1} = b^{-(d-2)/d}$，接近 $1/b$。Llama 2 取 $b = 10^4$，Llama 3 取
# $b = 5 \cdot 10^5$（[arXiv:2407.21783](https://arxiv.org/abs/2407.21783)，3.2 节）；
# [Xiong 等，2023](https://arxiv.org/abs/2309.16039) 此前已发现，这个值可以用到 32,768 个位置。

# %%
far = torch.arange(1, 131_073).double()
figure, axes = plt.subplots(figsize=(7.2, 2.9))
axes.axhline(0, color=BLACK, linewidth=0.8, linestyle="-")
firsts = []
for base, colour, dashes in ((1e4, VERMILION, "-"), (5e5, BLUE, "-")):
    sums = torch.cat([torch.cos(torch.outer(part, frequencies(base=base))).sum(-1) for part in far.split(8192)])
    first = int((sums < 0).nonzero()[0])
    firsts.append(int(far[first]))
    shown = torch.logspace(0, math.log10(len(far)), 1200).long().unique() - 1
    axes.semilogx(far[shown], sums[shown], color=colour, linestyle=dashes, linewidth=1)
    axes.plot(far[first], 0, "o" if base < 1e5 else "s", color=colour, markersize=8, markeredgecolor="white")
axes.text(60, 24, "base 10,000", color=VERMILION, ha="right")
axes.text(700, 41, "base 500,000", color=BLUE)
axes.set(xlabel="distance", ylabel=r"$\sum_i \cos \Delta\theta_i$", yticks=[0, 32, 64])
axes.set_title(f"Similar keys first lose at distance {firsts[0]:,}; with the larger base at {firsts[1]:,}")
plt.show()

# %%
for base in (1e4, 5e5):
    turns = 4096 * frequencies(base=base) / (2 * math.pi)  # 每一对在 4,096 个位置之内转的圈数
    idle = int((turns < 1).sum())
    print(f"base {base:9,.0f}: {idle} of 64 pairs do not complete one turn within 4,096 positions")

# %% [markdown]
# 两条曲线第一次跌到零以下的地方（圆点和方块）相差十倍以上：底数为 10,000 时在 1,707，底数为 500,000 时在 18,438。
#
# 天下没有免费的午餐。（要是代码收下参数 `base`，却照样用 10,000 去算，那就什么也换不来；这样的代码还真有流传。）
# 底数一大，除第 0 对以外所有的对都变慢了，在短文本里几乎不动的对就更多，它们说不出多少位置信息。
# 而且底数是模型学到的东西的一部分：改底数，就是把它认识的角度全都改掉。什么时候可以这样改，
# 是[第 5 节](5_longer_contexts.ipynb)的主题。
#
# ## 比特丢在哪里
#
# 到此为止，角度都是精确的。浮点数的有效位数 $p$ 是固定的：float32 有 24 位，float16 有 11 位，bfloat16 只有 8 位。
# $2^e$ 与 $2^{e+1}$ 之间的数，间隔为 $2^{e+1-p}$，所以舍入到最近的数，相对误差至多为 $2^{-p}$。由此有两个后果：
#
# - **位置**：$2^p$ 以内的整数都是精确的。bfloat16 到 256 为止：没有 257 这个数。从 2,048 到 4,096，每 16 个位置
#   才有一个能表示。
# - **角度**：角度的舍入误差是*相对*的，余弦看的却是*绝对*误差。误差 $2^{-p}\, \Delta\theta$ 远小于 1 弧度时无妨；
#   角度到了 $2^p$ 弧度，就什么也不剩了。
#
# 第 0 对的 $\theta_0 = 1$，它的角度就和位置一样大。

# %% [markdown]
# ### 练习 4.4 · 每一种舍入的误差（3 分）
#
# 在算出 $\cos p\,\theta_i$ 和 $\sin p\,\theta_i$ 的路上，有三样东西可能被舍入：频率、位置，以及它们的乘积，也就是角度。
# 写出 `table_error`：
#
# 1. 把频率舍入到 dtype `frequencies_in`，把位置舍入到 `positions_in`；**用 float64** 相乘。
# 2. 把乘积舍入到 `angles_in`；**用 float64** 求余弦和正弦，以免混进别的误差。
# 3. 与精确值比较（不舍入，float64）。返回所有的对里余弦或正弦的最大绝对误差，取二者中较大的。
#
# `x.to(dtype)` 完成舍入，`.double()` 把舍入后的值带回 float64。


# %% nbgrader={"grade_id": "table_error", "solution": true}
def table_error(
    position: int,
    theta: Tensor,
    *,
    frequencies_in: torch.dtype = torch.float64,
    positions_in: torch.dtype = torch.float64,
    angles_in: torch.dtype = torch.float64,
) -> float:
    """按这些 dtype 舍入时，某个位置上 cos 和 sin 的最大误差。

    Args:
        position: 不小于 0。
        theta: [d/2]，精确值，float64。
        frequencies_in: 频率在相乘之前舍入到它。
        positions_in: 位置在相乘之前舍入到它。
        angles_in: 乘积在求 cos 和 sin 之前舍入到它。
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
    assert table_error(4095, theta) == 0, "不舍入就没有误差。"
    assert table_error(256, theta, positions_in=bf16) == 0, "bfloat16 能表示 256 以内的所有整数。"
    lost = max(abs(math.cos(256) - math.cos(257)), abs(math.sin(256) - math.sin(257)))
    error = table_error(257, theta, positions_in=bf16)
    assert abs(error - lost) < 1e-9, "在 bfloat16 里 257 变成 256，第 0 对差了一弧度。"
    powers = torch.tensor([1.0, 0.25], dtype=torch.float64)
    assert table_error(3, powers, frequencies_in=bf16) == 0, "bfloat16 能精确表示 2 的幂。"
    ### BEGIN HIDDEN TESTS
    for position in (261, 1001, 4095, 131071):
        stored = torch.tensor(float(position)).bfloat16().item()
        gap = max(abs(math.cos(stored) - math.cos(position)), abs(math.sin(stored) - math.sin(position)))
        error = table_error(position, torch.ones(1).double(), positions_in=bf16)
        assert abs(error - gap) < 1e-9, "只有频率为 1 的一对：误差就是舍入后的位置带来的，可能在 cos，也可能在 sin。"
        both = table_error(position, torch.ones(1).double(), angles_in=bf16)
        assert abs(both - gap) < 1e-9, "频率为 1 时，舍入角度就是舍入位置。"
    assert table_error(2048, theta, positions_in=torch.float16) == 0, "float16 到 2,048 为止都精确，"
    assert table_error(2049, theta, positions_in=torch.float16) > 0.1, "再往后就不行了。"
    third = torch.tensor([1 / 3], dtype=torch.float64)
    off = abs(torch.tensor(1 / 3).bfloat16().item() - 1 / 3)
    error = table_error(30, third, frequencies_in=bf16)
    exact = max(abs(math.cos(30 / 3 + 30 * s * off) - math.cos(10)) for s in (-1, 1))
    sines = max(abs(math.sin(30 / 3 + 30 * s * off) - math.sin(10)) for s in (-1, 1))
    assert 0.5 * max(exact, sines) < error <= max(exact, sines) + 1e-9, "频率的误差随位置增长。"
    small = table_error(30, third, angles_in=bf16)
    assert small <= 10 * 2**-8, "角度 10 在 bfloat16 里至多差 10 / 2^8。"
    tiny = table_error(131071, theta, frequencies_in=torch.float32, angles_in=torch.float32)
    assert 1e-5 < tiny < 131071 * 2**-23, "float32 舍入两次，每次至多是角度的 2^-24。"
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
print(f"{'largest error at position':27}{255:>10}{4095:>10}{131071:>10}")
for name, dtypes in rows.items():
    print(f"{name:27}" + "".join(f"{table_error(p, theta, **dtypes):10.1g}" for p in (255, 4095, 131071)))

# %%
exponents = torch.arange(1, 18)
looks = [(BLUE, "-", "o"), (ORANGE, ":", "^"), (GREEN, "-.", "s"), (PURPLE, "--", "D"), (VERMILION, "-", "x")]
figure, axes = plt.subplots(figsize=(7.2, 3.3))
for (name, dtypes), (colour, dashes, marker) in zip(rows.items(), looks, strict=True):
    errors = [table_error(2 ** int(e) - 1, theta, **dtypes) for e in exponents]
    errors = torch.tensor(errors).clamp(min=1e-9)  # 误差为零时没有对数
    axes.loglog(2.0**exponents - 1, errors, color=colour, linestyle=dashes, marker=marker, markersize=5, label=name)
exact = torch.outer(2.0 ** exponents.double() - 1, theta).cos()
stored = (exact.bfloat16().double() - exact).abs().amax(-1)
axes.loglog(
    2.0**exponents - 1, stored, color=BLACK, linestyle=(0, (5, 1)), linewidth=1.2, label="bf16 cos, from exact angles"
)
axes.set(xlabel="position", ylabel="largest error of cos and sin", ylim=(1e-8, 4), xlim=(0.9, 150_000))
axes.set_xticks([1, 15, 255, 4095, 131071], ["1", "15", "255", "4,095", "131,071"])
axes.minorticks_off()
axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8.5)
worst, best = (
    table_error(511, theta, **rows["bf16 throughout"]),
    table_error(131071, theta, **rows["float32 throughout"]),
)
axes.set_title(f"bfloat16 angles are off by {worst:.1f} at position 511, float32 by {best:.0e} at 131,071")
plt.show()

# %% [markdown]
# 两个余弦之差不会超过 2，上面那几条曲线已经接近 2：信息全没了。黑色虚线是好消息：把*算好的*余弦舍入，代价约为 0.002，
# 在哪里都一样。所以：
#
# > 位置、频率、角度、余弦和正弦都用 float32 计算；真要舍入，就在最后舍入算好的表。
#
# 各个库都为此吃过苦头。[transformers#29285](https://github.com/huggingface/transformers/pull/29285) 发现 Llama 和
# Gemma 在 autocast 之下用 bfloat16 算角度，训练明显变差；
# [vllm#863](https://github.com/vllm-project/vllm/issues/863) 提出了同样的要求。还有两个陷阱：
# `model.to(torch.bfloat16)` 会舍入*缓冲区*（buffer），注册成缓冲区的频率也就跟着被舍入；
# `torch.arange(n, dtype=x.dtype)` 会不声不响地造出 bfloat16 的位置。
#
# ## 哪种舍入破坏了规律？
#
# 上面的误差是与精确的表相比的。可是用舍入过的数*训练出来*的模型，也许早就习惯了。所以再问一个问题：得分还是不是只取决于
# 距离？取位置 4,064 附近的 64 个相邻 token，都令 $q = k$，各对为 1，画出它们的得分。
# 如果 RoPE 的规律成立，每条对角线上只有一种颜色。

# %%
positions = torch.arange(4032, 4096).double()
bf16 = torch.bfloat16
angles = {
    "exact": torch.outer(positions, theta),
    "bf16 frequencies": torch.outer(positions, theta.to(bf16).double()),
    "bf16 positions": torch.outer(positions.to(bf16).double(), theta),
    "bf16 angles": torch.outer(positions, theta).to(bf16).double(),
}
figure, panels = plt.subplots(1, 4, figsize=(7.2, 2.5))
for axes, (name, angle) in zip(panels, angles.items(), strict=True):
    scores = torch.cos(angle[:, None] - angle[None, :]).mean(-1)  # [64, 64]
    diagonals = [scores.diagonal(offset) for offset in range(-63, 64)]
    spread = max(float(diagonal.max() - diagonal.min()) for diagonal in diagonals)
    image = axes.imshow(scores, vmin=0.2, vmax=1)
    no_frame(axes)
    axes.set_title(name, fontweight="normal", fontsize=9.5)
    axes.set_xlabel(f"differs along a\ndiagonal by {spread:.2f}", fontsize=9)
figure.colorbar(image, ax=panels, label="score / 64", shrink=0.75)
headline(figure, "Rounded frequencies still make a RoPE; rounded positions or angles make none")
plt.show()

# %% [markdown]
# - **舍入频率**：对角线还在。这仍是一个 RoPE，只是 $\theta_i$ 略有不同；用它训练的模型可以安然无事，用精确频率训练的
#   模型却不行，因为到了远处，它的角度全变了。
# - **舍入位置**：变成了方块，16 个邻居共用一个位置。
# - **舍入角度**：各个对在不同的地方破坏规律，画面是对角线上叠了一层噪声。
#
# 最后一个陷阱更隐蔽：就算表是精确的，旋转之后的查询和键通常也*存成* bfloat16，各自舍入。这种误差不像上面那些随位置增长，
# 但它取决于 $m$ 和 $n$ 本身，而不只是 $m - n$。[Wang 等，2024](https://arxiv.org/abs/2411.13476) 测量了它在长上下文中
# 如何累积。
#
# ## 记住这些
#
# - $|\text{score}| \le \max |h_{i+1} - h_i| \cdot \sum_t |S_t|$ 给得分划了上界，并不让得分衰减。
# - “RoPE 会衰减，所以想延伸多长都行”：这里没有任何东西能推出这句话。超出训练长度会怎样，问的是从没见过的角度。
# - 底数更大，相似的键能在更远的距离内保持领先，能分辨近邻的对却更少。
# - 角度要用 float32。
#
# **下一节：**[第 5 节](5_longer_contexts.ipynb)拿一个在 4,096 个位置上训练的模型，看看要改什么才能读 32,768 个位置。

# %% [markdown]
# # 5 · 更长的上下文
#
# 一个模型是用 4,096 个 token 的文本训练的，现在有人递给它一整本书。RoPE 对每个位置都有公式，所以程序不会出错；
# 只是模型开始胡言乱语。这一节要弄清楚为什么，并按问世的先后推导出各种补救办法：位置插值、NTK-aware 缩放、
# 它的动态版本，以及 YaRN。
#
# 把它们全部理清，只需一个问题：*在训练见过的长度之内，一对特征转了多少圈？*

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, headline, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
# ## 设定
#
# 全节都取一个头有 $d = 128$ 个特征，共 64 对。从一个位置到下一个位置，第 $i$ 对转过 $\theta_i = b^{-2i/d}$ 弧度，
# 底数 $b = 10{,}000$。训练见过 $L = 4{,}096$ 个位置（Llama 2 就是如此），我们想要它的 $s = 8$ 倍，即 32,768。
# 字母与 YaRN 论文一致（[arXiv:2309.00071](https://arxiv.org/abs/2309.00071)；下文的节号和式号按它的第 2 版）。

# %%
DIM, BASE = 128, 10_000.0  # d, b
TRAINED, FACTOR = 4096, 8.0  # L, s


def frequencies(dim: int = DIM, base: float = BASE) -> Tensor:
    """theta_i，每个位置的弧度数：[dim/2]，float64。"""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


# %% [markdown]
# ## 圈数
#
# 一整圈是 $2\pi$ 弧度。第 $i$ 对转完一圈需要
#
# $$
# \lambda_i = \frac{2\pi}{\theta_i}
# $$
#
# 个位置，这叫它的**波长**。在训练长度之内，它转了
#
# $$
# r_i = \frac{L}{\lambda_i} = \frac{L\, \theta_i}{2\pi}
# $$
#
# 圈。这个 $2\pi$ 很容易丢：拿 $L$ 和 $1/\theta_i$ 相比，数的是弧度，于是每个阈值都差了六倍多。

# %% [markdown]
# ### 练习 5.1 · 数圈（1 分）
#
# 写出 `turns`，给出 $r_i$。


# %% nbgrader={"grade_id": "turns", "solution": true}
def turns(theta: Tensor, length: float) -> Tensor:
    """每一对在一段长度之内转的圈数：[d/2]，每个位置的弧度数，到 [d/2]。"""
    ### BEGIN SOLUTION
    return length * theta / (2 * math.pi)
    ### END SOLUTION


# %% nbgrader={"grade_id": "turns_laws", "grade": true, "points": 1}
with quiet():
    quarter_and_half = torch.tensor([math.pi / 2, math.pi], dtype=torch.float64)
    counted = turns(quarter_and_half, 8).tolist()
    assert max(abs(counted[0] - 2), abs(counted[1] - 4)) < 1e-9, "八个四分之一圈是 2 圈，八个半圈是 4 圈。"
    ### BEGIN HIDDEN TESTS
    theta = frequencies(32, 700.0)
    kept = theta.clone()
    torch.testing.assert_close(turns(theta, 600), 3 * turns(theta, 200), msg="长度是三倍，圈数也是三倍。")
    one = turns(theta, 2 * math.pi / theta[5].item())
    assert abs(one[5] - 1) < 1e-9, "在自己的波长之内，一对恰好转一圈。"
    assert (one.diff() < 0).all(), "越靠后的对，转的圈数越少。"
    assert torch.equal(theta, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %%
pairs = torch.arange(DIM // 2)
theta = frequencies()
wavelengths, counts = 2 * math.pi / theta, turns(theta, TRAINED)
slow = counts < 1

figure, axes = plt.subplots(figsize=(7.2, 3.2))
axes.axhspan(TRAINED, FACTOR * TRAINED, color=SKY, alpha=0.25, linewidth=0)
axes.semilogy(pairs[~slow], wavelengths[~slow], "o", color=BLUE, markersize=4, label="turns at least once in training")
axes.semilogy(pairs[slow], wavelengths[slow], "^", color=VERMILION, markersize=5, label="never completes a turn")
axes.text(1, 1.25 * TRAINED, "positions 4,096 to 32,768: never seen", fontsize=8.5)
for i, offset in ((0, (6, -11)), (20, (8, -12)), (45, (8, -12)), (63, (-8, 7))):
    side = "right" if i == 63 else "left"
    label = f"pair {i}: {counts[i]:,.2f} turns"
    axes.annotate(label, (i, wavelengths[i]), offset, textcoords="offset points", fontsize=8.5, ha=side)
axes.set(xlabel="pair i", ylabel="wavelength, in positions", ylim=(2, 2e5))
axes.legend(loc="lower right", fontsize=8.5)
axes.set_title(f"{int(slow.sum())} of 64 pairs never complete a turn within 4,096 positions")
plt.show()

# %% [markdown]
# 图中 64 对里有 18 对（三角形）在 4,096 个位置之内转不满一圈。在对数坐标下，波长排成一条直线，因为
# $\ln \lambda_i = \ln 2\pi + \frac{2i}{d} \ln b$；它在第 45 对附近穿过 $L$。在交点左边，训练见过一对的*每一个*角度，
# 往往见过许多遍。在交点右边，训练只见过从 0 到 $L\,\theta_i$ 的一段弧，不满一圈。
#
# 读到 $L$ 以外，这些慢的对就会转到训练从未碰过的角度。对网络来说，这样的输入超出了分布，它会做出什么，谁也说不准。
# RoPE 超出训练长度就失灵，*原因就在这里*；下面的补救办法都是冲着这些对来的：让它们慢下来，留在认识的那段弧上。
#
# 常有人说“每一对”，指的是哪些对？是一个头的 $d/2$ 对，$i = 0, \dots, d/2 - 1$；所有层的所有头用的是同一组
# $\theta_i$。最后一个是 $\theta_{d/2-1}$，不是 $\theta_{d/2}$。

# %% [markdown]
# ### 练习 5.2 · 读到多远才会碰到新角度？（2 分）
#
# 补救办法是把 $\theta_i$ 换成较慢的 $\theta_i'$。$r_i < 1$ 的第 $i$ 对认识直到 $L\,\theta_i$ 的角度；
# 换成 $\theta_i'$ 之后，到位置 $L\, \theta_i / \theta_i'$ 才转到那里。$r_i \ge 1$ 的对认识所有角度，不构成限制。
#
# 写出 `reach`：最先有一对走到它所知的尽头时的长度。如果每一对都认识整个圆，结果就是无穷大。


# %% nbgrader={"grade_id": "reach", "solution": true}
def reach(theta: Tensor, scaled: Tensor, trained: float) -> float:
    """能读到多长，才会有某一对碰到训练中从未出现的角度。

    Args:
        theta: [d/2]，训练时的频率。
        scaled: [d/2]，读的时候用的频率。
        trained: L。
    """
    ### BEGIN SOLUTION
    partial = trained * theta / (2 * math.pi) < 1
    return (trained * theta / scaled)[partial].min().item() if partial.any() else math.inf
    ### END SOLUTION


# %% nbgrader={"grade_id": "reach_laws", "grade": true, "points": 2}
with quiet():
    theta = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
    assert abs(reach(theta, theta, 100) - 100) < 1e-9, "频率不变时，训练在哪里结束，新的角度就从哪里开始。"
    assert abs(reach(theta, theta / 4, 100) - 400) < 1e-9, "放慢四倍，就远四倍。"
    first_slowed = theta / torch.tensor([9.0, 1, 1, 1])
    assert abs(reach(theta, first_slowed, 100) - 100) < 1e-9, "放慢第 0 对没有用：它认识所有角度。"
    ### BEGIN HIDDEN TESTS
    slowed = theta / torch.tensor([1.0, 1, 3, 5])
    assert abs(reach(theta, slowed, 100) - 300) < 1e-9, "最先走到尽头的那一对决定极限。"
    slowed = theta / torch.tensor([1.0, 1, 7, 5])
    assert abs(reach(theta, slowed, 100) - 500) < 1e-9, "那不一定是慢对中的第一对。"
    slowed = theta / torch.tensor([1.0, 8, 20, 20])
    assert abs(reach(theta, slowed, 100) - 2000) < 1e-9, "不管第 1 对现在怎样，训练时它已认识整个圆。"
    assert reach(theta, theta, 7000) == math.inf, "在 7,000 之内第 3 对转了 1.1 圈：所有的对都认识整个圆。"
    assert abs(reach(theta, theta, 6000) - 6000) < 1e-9, "在 6,000 之内就不行：6 弧度不满一圈。"
    ### END HIDDEN TESTS

# %% [markdown]
# 要当心这个数*不是*什么。它不保证质量：见过的角度也可能以没见过的组合、没见过的疏密出现。它只是一个*必要*条件，
# 但已足以把各种办法区分开来。
#
# ## 位置插值（PI）
#
# [Chen 等，2023](https://arxiv.org/abs/2306.15595)（2.3 节）把所有位置压进训练过的范围：用 $p / s$ 代替 $p$。
# 第 $i$ 对的角度变成
#
# $$
# \frac{p}{s}\, \theta_i = p\, \frac{\theta_i}{s},
# $$
#
# 所以，压缩位置，与把*每一对*（$i = 0, \dots, d/2 - 1$）都放慢同样的倍数，是一回事。

# %% [markdown]
# ### 练习 5.3 · PI（1 分）
#
# 写出 `interpolate`，给出放慢之后的频率。


# %% nbgrader={"grade_id": "interpolate", "solution": true}
def interpolate(theta: Tensor, factor: float) -> Tensor:
    """上下文加长 factor 倍时位置插值的频率：[d/2] 到 [d/2]。"""
    ### BEGIN SOLUTION
    return theta / factor
    ### END SOLUTION


# %% nbgrader={"grade_id": "interpolate_laws", "grade": true, "points": 1}
with quiet():
    theta, positions = frequencies(8, 100.0), torch.arange(0.0, 40.0, dtype=torch.float64)
    squeezed = torch.outer(positions / 4, theta)
    angles = torch.outer(positions, interpolate(theta, 4.0))
    torch.testing.assert_close(angles, squeezed, msg="放慢之后在 p 处转的角度，等于原来在 p / s 处转的角度。")
    assert torch.equal(interpolate(theta, 1.0), theta), "倍数为 1，什么都不变。"
    ### BEGIN HIDDEN TESTS
    kept = theta.clone()
    twice = interpolate(interpolate(theta, 2.0), 3.0)
    torch.testing.assert_close(twice, interpolate(theta, 6.0), msg="倍数相乘。")
    longest = (8 * 4096) * interpolate(frequencies(), 8.0)
    torch.testing.assert_close(longest, 4096 * frequencies(), msg="在 s L 处，每一对都停在原来 L 处的角度。")
    assert torch.equal(theta, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# PI 恰好够到 $s L$。代价在近处。第 0 对负责分辨相邻的 token，它们在这一对上相差一弧度；用了 $s = 8$ 的 PI，只差
# 1/8 弧度，“往前一个 token”是什么样子，模型得重新学。所以 Chen 等人还做了约 1,000 步的微调。
#
# ## NTK-aware 缩放：换一个底数
#
# 快的对认识所有角度，不需要帮忙。于是网友 bloc97 提议：最快的不动，最慢的放慢整整那么多倍，其余的介于两者之间。
# 换一个更大的底数正是这个效果。（名字来自神经正切核 NTK 的理论：如果输入里没有快的成分，网络就很难学到细节；
# YaRN，3.1 节。）
#
# 我们要找一个底数 $b'$，使频率 $\theta_i' = b'^{-2i/d}$ 满足
#
# 1. $\theta'_0 = \theta_0$：第 0 对不变；
# 2. $\theta'_{d/2-1} = \theta_{d/2-1} / k$：最后一对放慢 $k$ 倍。
#
# 第一条对任何底数都成立，因为 $b'^{\,0} = 1$。第二条决定了 $b'$：把 $i = d/2 - 1$ 代入
# $b'^{-2i/d} = b^{-2i/d} / k$，再解出来。

# %% [markdown]
# ### 练习 5.4 · 推导底数（2 分）
#
# 先在纸上推导，再写出 `ntk_base`。（推导过程在练习之后。）


# %% nbgrader={"grade_id": "ntk_base", "solution": true}
def ntk_base(base: float, dim: int, factor: float) -> float:
    """使第 0 对照旧、最后一对放慢 factor 倍的底数。

    Args:
        base: b。
        dim: d，偶数，不小于 4。
        factor: k。
    """
    ### BEGIN SOLUTION
    return base * factor ** (dim / (dim - 2))
    ### END SOLUTION


# %% nbgrader={"grade_id": "ntk_base_laws", "grade": true, "points": 2}
with quiet():
    old, new = frequencies(DIM, BASE), frequencies(DIM, ntk_base(BASE, DIM, 8.0))
    assert abs(old[-1] / new[-1] - 8) < 1e-9, "最后一对放慢 8 倍。"
    assert new[0] == old[0], "第 0 对不变。"
    assert ntk_base(BASE, DIM, 1.0) == BASE, "倍数为 1，什么都不变。"
    ### BEGIN HIDDEN TESTS
    for dim, base, factor in ((4, 100.0, 3.0), (64, 5e5, 16.0), (256, 1e4, 2.0), (128, 1e6, 1.5)):
        slowed = frequencies(dim, base) / frequencies(dim, ntk_base(base, dim, factor))
        assert abs(slowed[-1] / factor - 1) < 1e-9, "无论维数多少，最后一对都放慢这个倍数。"
        assert (slowed.diff() > 0).all(), "每一对都比前一对放慢得多。"
    assert abs(ntk_base(100.0, 4, 3.0) - 900) < 1e-9, "d = 4 时最后一对每步转 b^(-1/2)：b' = 100 * 3^2。"
    ### END HIDDEN TESTS

# %% [markdown]
# 推导如下。$i = d/2 - 1$ 时 $2i/d = (d-2)/d$，所以条件 2 就是
#
# $$
# b'^{-\frac{d-2}{d}} = \frac{b^{-\frac{d-2}{d}}}{k}
# \quad\Longleftrightarrow\quad
# b'^{\frac{d-2}{d}} = k\, b^{\frac{d-2}{d}}
# \quad\Longleftrightarrow\quad
# b' = b\, k^{\frac{d}{d-2}} ,
# $$
#
# 最后一步是两边同取 $d/(d-2)$ 次幂。（有的地方把指数印成 $i/(i-2)$，那根本不是一个数，因为 $i$ 是各对的编号。
# 正确的是 $d/(d-2)$；见 YaRN，3.1 节。）
#
# 第 $i$ 对放慢了多少？由 $b'/b = k^{d/(d-2)}$ 得
#
# $$
# \frac{\theta_i}{\theta_i'} = \Big(\frac{b'}{b}\Big)^{2i/d} = k^{\frac{2i}{d-2}} .
# $$
#
# $i = 0$ 时是 1，最后一对是 $k$，中间的*都小于* $k$，包括那些本该放慢整整 $k$ 倍的慢对。下图画出五对特征在训练中
# 见过的角度（蓝色），以及读 32,768 个位置时新出现的角度（橙红色）。


# %%
def draw_arc(axes: plt.Axes, start: float, end: float, **look) -> None:
    """在极坐标上画出两个角度之间的弧，至多一整圈。"""
    grid = torch.linspace(start, min(end, 2 * math.pi), 200)
    axes.plot(grid, torch.ones_like(grid), **look)


theta, shown = frequencies(), (10, 46, 50, 56, 63)
methods = {"unchanged": theta, "PI, s = 8": interpolate(theta, FACTOR)}
methods["NTK, k = 8"] = frequencies(DIM, ntk_base(BASE, DIM, FACTOR))
seen, used = TRAINED * theta, {name: FACTOR * TRAINED * scaled for name, scaled in methods.items()}
new = {name: int(((seen < 2 * math.pi) & (angle > seen * (1 + 1e-9))).sum()) for name, angle in used.items()}

figure, panels = plt.subplots(3, 5, figsize=(7.2, 4.3), subplot_kw={"projection": "polar"})
for row, (name, angle) in zip(panels, used.items(), strict=True):
    for axes, i in zip(row, shown, strict=True):
        draw_arc(axes, 0, 2 * math.pi, color=GREY, linewidth=0.6, linestyle=":")
        draw_arc(axes, 0, seen[i], color=BLUE, linewidth=5, linestyle="-", solid_capstyle="butt")
        if seen[i] < 2 * math.pi and angle[i] > seen[i] * (1 + 1e-9):
            draw_arc(axes, seen[i], angle[i], color=VERMILION, linewidth=2, linestyle="-", solid_capstyle="butt")
        axes.set(ylim=(0, 1.15), xticks=[], yticks=[])
        axes.spines["polar"].set_visible(False)
        axes.text(
            0, 0, f"{new[name]} of 64\nare shown\nnew angles" if i == 10 else "", ha="center", va="center", fontsize=7.5
        )
    row[0].set_ylabel(name, labelpad=12)
for axes, i in zip(panels[0], shown, strict=True):
    axes.set_title(f"pair {i}: {turns(theta, TRAINED)[i]:.2f} turns", fontweight="normal", fontsize=9, loc="center")
some = new["NTK, k = 8"]
headline(figure, f"At 8 times the length PI shows no pair new angles, NTK (k = 8) shows {some} pairs some")
plt.show()

# %%
fast_enough = int((turns(theta, TRAINED) >= 1).sum())  # 认识整个圆的对数
print(f"Pair {fast_enough} is the first that does not know the whole circle.")
for k in (8.0, 8.0 ** ((DIM - 2) / (2 * fast_enough))):
    far = reach(theta, frequencies(DIM, ntk_base(BASE, DIM, k)), TRAINED)
    print(f"k = {k:5.2f} reaches {far:6,.0f} positions, {far / TRAINED:.2f} times the trained length")

# %% [markdown]
# 图中，PI 没有让任何一对碰到新角度，$k = 8$ 的 NTK 却让 17 对碰到了。可见倍数取 8，*并不能*得到 8 倍的上下文。
# 最先不认识整个圆的是 $i = 46$ 这一对，它只放慢了 $8^{92/126} = 4.56$ 倍，能够到的也就是这么远。要够到 8 倍，
# 得让 $k^{92/126} = 8$，即 $k = 8^{126/92} = 17.25$。实际使用时，$k$ 要取得比想要的倍数大，靠试（YaRN，3.1 节）。
#
# ## 动态：需要多少就放慢多少
#
# 到目前为止，每种办法也改变了*短*文本，可短文本本来什么毛病也没有。YaRN 3.3 节让倍数跟着当前的长度 $l$ 走：
#
# $$
# k(l) = \max\Big(1, \frac{l}{L}\Big) ,
# $$
#
# 于是 $L$ 以内模型原封不动，超出之后才慢慢变差。transformers 里叫“dynamic”的是另一条规则：
#
# $$
# k(l) = f\, \frac{l}{L} - (f - 1) \qquad (l > L) ,
# $$
#
# 其中 $f \ge 1$ 是一个设置。它在 $l = L$ 时也从 1 开始，此后增长快 $f$ 倍，正好弥补你刚刚量到的不足；$f = 1$
# 时就是论文的规则。两者都把 $k$ 代入 $b' = b\, k^{d/(d-2)}$。（如果一条规则是把*位置*除以 $l/L$，它也是动态的，
# 但那是动态 PI：第 0 对变了。如果只按最大长度算出一个底数，从此不再变，那就根本不是动态的：
# [vllm#3488](https://github.com/vllm-project/vllm/issues/3488)。）

# %% [markdown]
# ### 练习 5.5 · 底数跟着长度走（2 分）
#
# 按 transformers 的规则写出 `dynamic_base`；长度在 $L$ 以内时 $k = 1$。


# %% nbgrader={"grade_id": "dynamic_base", "solution": true}
def dynamic_base(base: float, dim: int, length: int, trained: int, growth: float = 1.0) -> float:
    """这个长度的文本所用的底数。

    Args:
        base: b，训练时的底数。
        dim: d，偶数，不小于 4。
        length: l，文本当前的长度，包括缓存里的全部。
        trained: L。
        growth: f，不小于 1。
    """
    ### BEGIN SOLUTION
    factor = growth * max(length, trained) / trained - (growth - 1)
    return base * factor ** (dim / (dim - 2))
    ### END SOLUTION


# %% nbgrader={"grade_id": "dynamic_base_laws", "grade": true, "points": 2}
with quiet():
    assert dynamic_base(BASE, DIM, 100, 4096) == BASE, "短文本照训练时那样读。"
    assert dynamic_base(BASE, DIM, 4096, 4096, growth=2.0) == BASE, "恰好等于训练长度时也一样。"
    slowed = frequencies() / frequencies(DIM, dynamic_base(BASE, DIM, 3 * 4096, 4096))
    assert abs(slowed[-1] - 3) < 1e-9, "长度是三倍时，最后一对放慢三倍。"
    assert slowed[0] == 1, "第 0 对永远不变：这是 NTK，不是 PI。"
    ### BEGIN HIDDEN TESTS
    assert abs(dynamic_base(100.0, 4, 20, 10, growth=2.0) - 900) < 1e-9, "k = 2 * 2 - 1 = 3，b' = 100 * 3^2。"
    assert dynamic_base(100.0, 4, 3, 10, growth=5.0) == 100, "不到 L 时，无论 f 是多少，k 都是 1。"
    assert abs(dynamic_base(100.0, 4, 15, 10) - 225) < 1e-9, "k = 1.5，不必是整数。"
    lengths = [dynamic_base(1e4, 64, length, 512, growth=1.5) for length in range(500, 700)]
    steps = torch.tensor(lengths, dtype=torch.float64).diff()
    assert (steps[:12] == 0).all(), "到 L 为止，底数不变。"
    assert (steps[12:] > 0).all(), "从 L 起，每多一个 token 底数都变大。"
    for dim in (16, 64):
        slowed = frequencies(dim, 500.0) / frequencies(dim, dynamic_base(500.0, dim, 5000, 1000, growth=4.0))
        assert abs(slowed[-1] - 17) < 1e-9, "f = 4、长度为五倍时，k = 20 - 3 = 17。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 过期的缓存
#
# 模型写作时，每次添一个 token，此前所有 token 的键都保存在**缓存**里。多数代码先旋转键，*然后*存进缓存。只要频率
# 不变，这样做没有问题；可是底数一旦是动态的，频率就会变。设长度为 $l$ 时的频率为 $\theta_i^{(l)}$。位置 $n$ 上的键
# 到来时，文本有 $n + 1$ 个 token，它转过了 $n\,\theta_i^{(n+1)}$；位置 $m$ 上的查询转过 $m\,\theta_i^{(m+1)}$。
# 得分看到的是二者之差：
#
# $$
# m\, \theta_i^{(m+1)} - n\, \theta_i^{(n+1)}
# = \underbrace{(m - n)\, \theta_i^{(m+1)}}_{\text{right}}
# + \underbrace{n\, \big(\theta_i^{(m+1)} - \theta_i^{(n+1)}\big)}_{\text{stale}} .
# $$
#
# 第一项是对的（right），第二项是过期带来的（stale）。第二项不只取决于 $m - n$，还取决于 $n$ 本身：RoPE 的规律被破坏了。
# 而且同一段文本，一次读完和逐个 token 地读，得分竟然不同。这就是
# [transformers#25104](https://github.com/huggingface/transformers/issues/25104)。
# 解决办法写在 YaRN 3.3 节：键在旋转**之前**存入缓存，每次都用当前的底数旋转所有的键。


# %%
def rotate(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """把 [n, d/2] 个复数对按各自的位置 [n] 旋转。"""
    return x * torch.exp(1j * torch.outer(positions.double(), frequencies(2 * x.shape[-1], base)))


def at_once(queries: Tensor, keys: Tensor, base: float) -> Tensor:
    """一次读完的文本的得分，[n, n]；对角线以上为零。"""
    positions = torch.arange(len(keys))
    return (rotate(queries, positions, base) @ rotate(keys, positions, base).conj().T).real.tril()


def stale(queries: Tensor, keys: Tensor, base_at) -> Tensor:
    """逐个 token 读的文本的得分，键在旋转之后才缓存：错误就在这里。"""
    scores, cache = torch.zeros(len(keys), len(keys), dtype=torch.float64), []
    for step in range(len(keys)):
        base, now = base_at(step + 1), torch.tensor([step])
        cache.append(rotate(keys[step : step + 1], now, base))
        query = rotate(queries[step : step + 1], now, base)
        scores[step, : step + 1] = (query @ torch.cat(cache).conj().T).real
    return scores


# %% [markdown]
# ### 练习 5.6 · 修好缓存（2 分）
#
# 写出 `decode`：和 `stale` 一样，但是要对。每一步都用当前长度的底数 `base_at(step + 1)` 旋转到目前为止的所有键。


# %% nbgrader={"grade_id": "decode", "solution": true}
def decode(queries: Tensor, keys: Tensor, base_at) -> Tensor:
    """逐个 token 读的文本的得分，底数跟着长度走。

    Args:
        queries: [n, d/2]，complex128。
        keys: [n, d/2]，complex128。
        base_at: 由文本当前的长度给出底数的函数。

    Returns:
        [n, n]，float64：第 m 行是查询 m 与键 0 .. m 的得分，其后为零。
    """
    ### BEGIN SOLUTION
    scores = torch.zeros(len(keys), len(keys), dtype=torch.float64)
    for step in range(len(keys)):
        base, seen = base_at(step + 1), torch.arange(step + 1)
        query = rotate(queries[step : step + 1], seen[-1:], base)
        scores[step, : step + 1] = (query @ rotate(keys[: step + 1], seen, base).conj().T).real
    return scores
    ### END SOLUTION


# %% nbgrader={"grade_id": "decode_laws", "grade": true, "points": 2}
with quiet():
    queries, keys = torch.randn(2, 12, 4, dtype=torch.complex128, generator=torch.Generator().manual_seed(0))
    same = decode(queries, keys, lambda _: 50.0)
    assert same.dtype == torch.float64, "得分的 dtype 是 float64。"
    torch.testing.assert_close(same, at_once(queries, keys, 50.0), msg="底数不变时：与一次读完相同。")
    growing = decode(queries, keys, lambda length: 50.0 * length)
    last = at_once(queries, keys, 50.0 * 12)[-1]
    assert (growing[-1] - last).abs().max() < 1e-9, "最后一行：与用最后的底数一次读完相同。"
    ### BEGIN HIDDEN TESTS
    kept = keys.clone()
    for length in range(1, 13):
        prefix = at_once(queries[:length], keys[:length], 50.0 * length)[-1]
        torch.testing.assert_close(growing[length - 1, :length], prefix, msg="每一行也是如此，各用各的底数。")
    assert (growing.triu(1) == 0).all(), "还没到来的 token 没有得分。"
    ones = torch.ones(30, 8, dtype=torch.complex128)
    row = decode(ones, ones, lambda length: 10.0 + length**2)[-1]
    distances = torch.arange(29, -1, -1, dtype=torch.float64)
    law = torch.outer(distances, frequencies(16, 10.0 + 30**2)).cos().sum(-1)
    torch.testing.assert_close(row, law, msg="token 全相同时：得分只取决于距离。")
    asked = []
    decode(queries[:3], keys[:3], lambda length: asked.append(length) or 9.0)
    assert set(asked) == {1, 2, 3}, "每一步都按文本当前的长度取底数，新来的 token 也算在内。"
    assert torch.equal(keys, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %%
small, count = 64, 256  # 训练长度 64，读到它的四倍
ones = torch.ones(count, DIM // 2, dtype=torch.complex128)


def base_at(length: int) -> float:
    """在 64 个位置上训练的模型的动态底数。"""
    return dynamic_base(BASE, DIM, length, small)


right, wrong = decode(ones, ones, base_at), stale(ones, ones, base_at)
hidden = torch.ones(count, count, dtype=torch.bool).triu(1)
errors = (wrong - right).abs()
figure, (left, panel) = plt.subplots(1, 2, figsize=(7.2, 3.0), width_ratios=(1.25, 1))
left.plot(right[-1], color=BLUE, linestyle="-", label="cached before rotation", linewidth=1.4)
left.plot(wrong[-1], color=VERMILION, linestyle="--", label="cached after: stale", linewidth=1.2)
left.set(xlabel="position of the key", ylabel="score of the query at 255", xticks=[0, 64, 128, 192, 255])
left.legend(loc="upper left", fontsize=8.5)
image = panel.imshow(errors.masked_fill(hidden, torch.nan))
panel.plot([-0.5, small - 0.5, small - 0.5], [small - 0.5, small - 0.5, -0.5], color=VERMILION, linestyle="-")
panel.text(small + 6, small - 10, "trained length", color=VERMILION, fontsize=8.5)
panel.set(xticks=[0, 64, 255], yticks=[0, 64, 255], xlabel="key", ylabel="query")
figure.colorbar(image, ax=panel, label="error of stale keys")
inside, beyond = errors[:small].max(), errors.max()
headline(
    figure, f"Up to the trained length 64 the stale cache errs by {inside:.0f}, beyond it by up to {beyond:.1f} of 64"
)
plt.show()

# %% [markdown]
# 左图：近处的键两种做法一致，旧的键不一致。右图：在训练长度 64 以内误差为零，超出之后越来越大；而且误差沿每条对角线
# 都在变，可见得分不再只取决于距离。由此*推不出*的是：这样的模型一定会胡言乱语。有人发现，用过期的键生成，效果差不多
# （[transformers#24653](https://github.com/huggingface/transformers/pull/24653)），也许是因为最要紧的近处的键恰恰
# 最不容易过期。transformers 到 5.23 版仍然先旋转后缓存，因为每来一个 token 就把整个缓存重新旋转一遍太费时间。
# 要清楚自己用的是哪一种，也不要拿一种的得分去和另一种比较。
#
# 还有一个同类的错误：读过一篇长文本之后，代码保留了变大的底数，接着用它读下一篇短文本
# （[transformers#25306](https://github.com/huggingface/transformers/issues/25306)）。
#
# ## YaRN：按圈数区别对待
#
# PI 放慢了不需要帮忙的对，NTK 对需要帮忙的对又放慢得不够。有了圈数 $r_i$，出路就一目了然
# （YaRN，3.2 节，“NTK-by-parts”）：
#
# - $r_i > \beta$，转了很多圈：不去动它；
# - $r_i < \alpha$（取 $\alpha = 1$ 就是不满一圈）：像 PI 那样放慢整整 $s$ 倍；
# - 介于两者之间：混合。
#
# 保留原频率的份额记作 $\gamma$：
#
# $$
# \gamma(r) = \begin{cases} 0 & r < \alpha \\ 1 & r > \beta \\ \dfrac{r - \alpha}{\beta - \alpha} & \alpha \le r \le \beta , \end{cases}
# \qquad
# \theta_i' = \big(1 - \gamma(r_i)\big)\, \frac{\theta_i}{s} + \gamma(r_i)\, \theta_i ,
# $$
#
# Llama 系列取 $\alpha = 1$，$\beta = 32$（式 17 至 20）。

# %% [markdown]
# ### 练习 5.7 · 论文的斜坡（2 分）
#
# 写出 `ramp_over_turns`，由各对的圈数给出 $\gamma$。


# %% nbgrader={"grade_id": "ramp_over_turns", "solution": true}
def ramp_over_turns(counts: Tensor, alpha: float = 1.0, beta: float = 32.0) -> Tensor:
    """由各对在训练长度之内的圈数，求它保留自身频率的份额：[d/2] 到 [d/2]。"""
    ### BEGIN SOLUTION
    return ((counts - alpha) / (beta - alpha)).clamp(0, 1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "ramp_over_turns_laws", "grade": true, "points": 2}
with quiet():
    counts = torch.tensor([100.0, 32.0, 16.5, 1.0, 0.2], dtype=torch.float64)
    share = ramp_over_turns(counts)
    by_hand = torch.tensor([1, 1, 0.5, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(share, by_hand, msg="32 圈以上全部保留，1 圈以下全不保留，正中间保留一半。")
    assert ramp_over_turns(counts, 0.1, 0.3)[-1].sub(0.5).abs() < 1e-9, "两端由参数给定。"
    ### BEGIN HIDDEN TESTS
    kept, grid = counts.clone(), torch.linspace(0, 40, 161, dtype=torch.float64)
    share = ramp_over_turns(grid, 2.0, 10.0)
    assert (share[grid <= 2] == 0).all(), "到 alpha 圈为止，全不保留。"
    assert (share[grid >= 10] == 1).all(), "从 beta 圈起，全部保留。"
    inside = share[(grid >= 2) & (grid <= 10)]
    assert (inside.diff() - 0.25 / 8).abs().max() < 1e-9, "两者之间，对圈数是一条直线。"
    assert torch.equal(counts, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 代码的斜坡
#
# 作者的代码，以及后来的 transformers，用的是另一种斜坡：它对各对的*编号* $i$ 是直线，两端是转 $\beta$ 圈和转
# $\alpha$ 圈的那两对。转 $r$ 圈的是哪一对？把 $\theta_i = b^{-2i/d}$ 代入 $r = L\,\theta_i / 2\pi$，解出 $i$：
#
# $$
# b^{2i/d} = \frac{L}{2\pi r}
# \quad\Longleftrightarrow\quad
# \frac{2i}{d} \ln b = \ln \frac{L}{2\pi r}
# \quad\Longleftrightarrow\quad
# i(r) = \frac{d\, \ln \frac{L}{2\pi r}}{2 \ln b} .
# $$
#
# 这一般不是整数，所以两端各自向外取整，再限制在范围之内：
#
# $$
# \text{low} = \max\big(\lfloor i(\beta) \rfloor,\, 0\big), \qquad
# \text{high} = \min\big(\lceil i(\alpha) \rceil,\, d - 1\big), \qquad
# \gamma_i = 1 - \mathrm{clamp}\Big(\frac{i - \text{low}}{\text{high} - \text{low}},\, 0,\, 1\Big) .
# $$

# %% [markdown]
# ### 练习 5.8 · 代码的斜坡（2 分）
#
# 写出 `ramp_over_pairs`。注意次序：圈数较多的 $\beta$ 对应的是*较小*的编号。


# %% nbgrader={"grade_id": "ramp_over_pairs", "solution": true}
def ramp_over_pairs(dim: int, base: float, trained: float, alpha: float = 1.0, beta: float = 32.0) -> Tensor:
    """每一对保留自身频率的份额，对编号是直线：[dim/2]，float64。"""
    ### BEGIN SOLUTION
    ends = [dim * math.log(trained / (2 * math.pi * r)) / (2 * math.log(base)) for r in (beta, alpha)]
    low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), dim - 1)
    index = torch.arange(dim // 2, dtype=torch.float64)
    return 1 - ((index - low) / (high - low)).clamp(0, 1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "ramp_over_pairs_laws", "grade": true, "points": 2}
with quiet():
    # d = 16，b = 256：theta_i = 2^-i，每一对转的圈数是前一对的一半。L 等于第 0 对的 48 圈。
    share = ramp_over_pairs(16, 256.0, 48 * 2 * math.pi)
    assert share.dtype == torch.float64, "份额的 dtype 是 float64。"
    by_hand = torch.tensor([6, 5, 4, 3, 2, 1, 0, 0], dtype=torch.float64) / 6
    torch.testing.assert_close(
        share, by_hand, msg="转 32 圈：在第 0 与第 1 对之间。转 1 圈：在第 5 与第 6 对之间。low 为 0，high 为 6。"
    )
    share = ramp_over_pairs(128, 10_000.0, 4096)
    assert (share[:21] == 1).all(), "我们的模型：low 为 20，到它为止的对全部保留。"
    assert (share[46:] == 0).all(), "high 为 46，从它起的对全不保留。"
    ### BEGIN HIDDEN TESTS
    assert share.shape == (64,), "每对一个数，不是每个特征一个数。"
    middle = torch.linspace(1, 0, 27, dtype=torch.float64)
    torch.testing.assert_close(share[20:47], middle, msg="low 与 high 之间，对编号是一条直线。")
    share = ramp_over_pairs(16, 256.0, 96 * 2 * math.pi, beta=10.0)
    by_hand = torch.tensor([1, 1, 1, 1, 0.75, 0.5, 0.25, 0], dtype=torch.float64)
    torch.testing.assert_close(
        share, by_hand, msg="L 为 96 圈，beta 为 10：在第 3 与第 4 对之间；low 为 3，high 为 7。"
    )
    share = ramp_over_pairs(16, 256.0, 6 * 2 * math.pi)
    by_hand = torch.tensor([3, 2, 1, 0, 0, 0, 0, 0], dtype=torch.float64) / 3
    torch.testing.assert_close(share, by_hand, msg="没有一对转满 32 圈：low 停在 0。")
    share = ramp_over_pairs(16, 256.0, 1000 * 2 * math.pi)
    by_hand = 1 - (torch.arange(8, dtype=torch.float64) - 4).clamp(min=0) / 6
    torch.testing.assert_close(share, by_hand, msg="最后一对转 7.8 圈：high 为 10，超出了它，但不到 d - 1。")
    share = ramp_over_pairs(16, 256.0, 48 * 2 * math.pi, alpha=5.0)
    by_hand = torch.tensor([4, 3, 2, 1, 0, 0, 0, 0], dtype=torch.float64) / 4
    torch.testing.assert_close(share, by_hand, msg="alpha = 5：在第 3 与第 4 对之间；high 为 4。")
    ### END HIDDEN TESTS

# %%
counts = turns(frequencies(), TRAINED)
paper, code = ramp_over_turns(counts), ramp_over_pairs(DIM, BASE, TRAINED)
gap = int((code - paper).argmax())
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True)
for axes, x in ((left, counts), (right, pairs)):
    axes.plot(x, paper, color=BLUE, linestyle="-", marker="o", markersize=3, label="paper: straight in turns")
    axes.plot(x, code, color=VERMILION, linestyle="--", marker="^", markersize=3.5, label="code: straight in pairs")
left.set(xlim=(-1, 45), xlabel="turns within the trained length", ylabel=r"$\gamma$, share kept")
right.set(xlabel="pair i", yticks=[0, 0.5, 1])
right.legend(loc="upper right", fontsize=8.5)
headline(
    figure,
    f"Two ramps are called YaRN: pair {gap} keeps {paper[gap]:.0%} of its frequency by one, {code[gap]:.0%} by the other",
)
plt.show()

# %% [markdown]
# 两种斜坡相差很大：同一对（第 30 对），按论文保留 25% 的频率，按代码保留 62%。它们都叫 YaRN，得到的却是不同的模型；
# 要说清楚是哪一种。关于代码的版本，学习者常问：
#
# - **最后一对是 `d/2 - 1`，为什么写 `d - 1`？** 看来没有什么理由
#   （[minimind#602](https://github.com/jingyaogong/minimind/issues/602)）。只有当最慢的一对也转了不止 $\alpha$ 圈，
#   即 $L > 2\pi\alpha\, b^{(d-2)/d}$ 时才有差别，这很少见。
# - **两端非取整不可吗？** 论文里没有取整。gpt-oss 就不取整，transformers 称之为 `truncate: false`
#   （[tvm#18576](https://github.com/apache/tvm/pull/18576)）。
# - **`beta_fast` 和 `beta_slow` 是什么？** 就是 $\beta$ 和 $\alpha$：是圈数，不是编号，也不是波长。
# - 如果两端重合，代码把宽度取为 0.001，而不是 0。
#
# ## 混合，再锐化
#
# 最后一味料与角度无关。键多了 $s$ 倍，softmax 就摊得更开。YaRN 把 logit 除以一个**温度** $t < 1$：
#
# $$
# \mathrm{softmax}\Big(\frac{q \cdot k}{t\,\sqrt d}\Big), \qquad \sqrt{\frac 1 t} = 0.1 \ln s + 1
# $$
#
# （3.4 节，式 21 和 22）。注意力的代码不用改：给余弦和正弦都乘上 $c = \sqrt{1/t}$，旋转后的每个向量就变成 $c$ 倍长，
#
# $$
# (c\, q) \cdot (c\, k) = c^2\, (q \cdot k) = \frac{q \cdot k}{t} .
# $$
#
# 所以乘在表上的是 $c$，乘在 logit 上的是 $c^2$；$s = 16$ 时 $c = 1.2773$，$c^2 = 1.6313$。如果只给 logit 乘一次 $c$，
# YaRN 就只做了一半。（DeepSeek 的模型只旋转一个头的部分特征，改表只影响得到这部分，所以他们把 $c^2$ 放进 logit 的缩放：
# [Megatron-LM#1429](https://github.com/NVIDIA/Megatron-LM/issues/1429)。）

# %% [markdown]
# ### 练习 5.9 · YaRN（2 分）
#
# 写出 `yarn`：混合之后的频率，以及乘在表上的因子 $c$。$s \le 1$ 时没有拉长，$c = 1$。


# %% nbgrader={"grade_id": "yarn", "solution": true}
def yarn(theta: Tensor, share: Tensor, factor: float) -> tuple[Tensor, float]:
    """旋转所用的频率，以及 cos 和 sin 要乘的因子。

    Args:
        theta: [d/2]，训练时的频率。
        share: [d/2]，gamma，来自任一种斜坡。
        factor: s。
    """
    ### BEGIN SOLUTION
    return (1 - share) * theta / factor + share * theta, 0.1 * math.log(max(factor, 1.0)) + 1.0
    ### END SOLUTION


# %% nbgrader={"grade_id": "yarn_laws", "grade": true, "points": 2}
with quiet():
    theta, share = torch.tensor([1.0, 0.5, 0.25]).double(), torch.tensor([1.0, 0.5, 0.0]).double()
    scaled, sharpened = yarn(theta, share, 16.0)
    by_hand = torch.tensor([1.0, 0.5 * (0.5 + 0.5 / 16), 0.25 / 16]).double()
    torch.testing.assert_close(scaled, by_hand, msg="gamma = 1 保留频率，0 除以 s，1/2 取平均。")
    assert abs(sharpened - 1.2773) < 1e-4, "s = 16 时，cos 和 sin 要乘以 0.1 ln 16 + 1 = 1.2773。"
    ### BEGIN HIDDEN TESTS
    kept = theta.clone()
    scaled, sharpened = yarn(theta, share, 1.0)
    torch.testing.assert_close(scaled, theta, msg="s = 1 不改变任何频率，")
    assert sharpened == 1, "也不改变长度。"
    assert yarn(theta, share, 0.5)[1] == 1, "小于 1 时不锐化。"
    assert abs(yarn(theta, share, math.e**5)[1] - 1.5) < 1e-9, "对数是自然对数。"
    share = torch.rand(3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scaled, _ = yarn(theta, share, 4.0)
    torch.testing.assert_close(scaled / theta, 0.25 + 0.75 * share, msg="混合在 1/s 与 1 之间是直线。")
    assert torch.equal(theta, kept), "输入属于调用者，不要改动它。"
    ### END HIDDEN TESTS

# %% [markdown]
# 有一个错误值得认识：代码精心算好了掩码 $\gamma$，随后却照样把*每一个*频率都除以 $s$。结果就是普通的 PI，形状和类型
# 都看不出破绽；你的第一个检查看得出来。
#
# ## 全部画在一起

# %%
theta = frequencies()
spectra = {
    "unchanged": theta,
    "PI": interpolate(theta, FACTOR),
    "NTK, k = 8": frequencies(DIM, ntk_base(BASE, DIM, FACTOR)),
    "YaRN, paper": yarn(theta, ramp_over_turns(counts), FACTOR)[0],
    "YaRN, code": yarn(theta, ramp_over_pairs(DIM, BASE, TRAINED), FACTOR)[0],
}
looks = [(BLACK, ":"), (GREEN, "-."), (ORANGE, "--"), (PURPLE, (0, (9, 2))), (BLUE, "-")]
distances = torch.arange(0, 25, dtype=torch.float64)
slowed = {name: theta / scaled for name, scaled in spectra.items()}
neighbours = {name: torch.outer(distances, scaled).cos().mean(-1) for name, scaled in spectra.items()}

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(7.2, 3.4))
for (name, scaled), (colour, dashes) in zip(spectra.items(), looks, strict=True):
    left.semilogy(pairs, 2 * math.pi / scaled, color=colour, linestyle=dashes, label=name, linewidth=1.4)
    middle.plot(pairs, slowed[name], color=colour, linestyle=dashes, linewidth=1.4)
    right.plot(distances, neighbours[name], color=colour, linestyle=dashes, linewidth=1.4)
left.axhline(TRAINED, color=GREY, linewidth=0.8, linestyle="-")
left.text(0, 1.2 * TRAINED, "trained length", fontsize=8, color=GREY)
middle.axvline(fast_enough - 0.5, color=GREY, linewidth=0.8, linestyle="-")
middle.text(fast_enough + 1, 2.2, "less than\none turn", fontsize=8, color=GREY)
left.set(xlabel="pair i", ylim=(3, 1e6))
middle.set(xlabel="pair i", yticks=[1, 2, 4, 6, 8])
right.set(xlabel="distance", ylim=(0.4, 1.02))
for axes, title in ((left, "wavelength"), (middle, "slowed by"), (right, "score of equal vectors / 64")):
    axes.set_title(title, fontweight="normal", fontsize=9.5)
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8.5)
loss = {name: 1 - float(values[1]) for name, values in neighbours.items()}
fewer = loss["unchanged"] / loss["PI"]
finding = "YaRN slows the slow pairs as fully as PI and spares the fast ones;"
headline(figure, f"{finding}\nPI leaves 1/{fewer:.0f} of the contrast between neighbours")
plt.show()

# %%
print(f"{'':12}{'reach / L':>10}{'pair 0 slowed by':>18}{'contrast of neighbours':>24}")
for name, scaled in spectra.items():
    far = reach(theta, scaled, TRAINED) / TRAINED
    print(f"{name:12}{far:10.2f}{slowed[name][0]:18.2f}{loss[name]:24.4f}")

# %% [markdown]
# 图和表说的是同一件事：YaRN 放慢慢的对和 PI 一样彻底，又放过了快的对；PI 则把相邻 token 的对比度降到了六十分之一左右。
# 最后一列的对比度，是从距离 0 到距离 1，相等向量的得分下降了多少。两种 YaRN 都和 PI 一样够到 $8L$，
# 对比度却与训练时相差无几。这就是全部的想法。
#
# | 方法 | 放慢哪些对 | 出处 |
# |---|---|---|
# | PI | 每一对，$s$ 倍 | [arXiv:2306.15595](https://arxiv.org/abs/2306.15595)，2.3 |
# | NTK | 第 $i$ 对放慢 $k^{2i/(d-2)}$ 倍：除第 0 对以外的每一对 | YaRN，3.1 |
# | 动态 NTK | 同上，超出 $L$ 之后 $k$ 随长度增长 | YaRN，3.3 |
# | YaRN | 不满 $\beta$ 圈的对；不满 $\alpha$ 圈的放慢 $s$ 倍 | YaRN，3.2 和 3.4 |
# | Llama 3.1 | 同论文的斜坡，$\alpha = 1$，$\beta = 4$，没有温度 | [官方代码](https://github.com/meta-llama/llama-models/blob/main/models/llama3/model.py) |
# | LongRoPE | 每一对有自己的倍数，靠搜索得到 | [arXiv:2402.13753](https://arxiv.org/abs/2402.13753) |
#
# ## 为什么要温度，为什么是这个数？
#
# 方向可以推导出来。设 $n$ 个键的 logit 是相互独立的正态随机数，方差为 $\sigma^2$。键很多时，$Z = \sum e^{x}$ 接近它的
# 均值 $n\, e^{\sigma^2/2}$，而按 softmax 的权重 $e^{x}/Z$ 求平均，logit 接近 $\sigma^2$（给正态密度乘上 $e^x$，
# 均值就移动 $\sigma^2$）。熵说明注意力摊在多少个键上，于是
#
# $$
# H = -\sum \frac{e^x}{Z} \ln \frac{e^x}{Z} = \ln Z - \sum \frac{e^x}{Z}\, x
# \approx \ln n + \frac{\sigma^2}{2} - \sigma^2 = \ln n - \frac{\sigma^2}{2} .
# $$
#
# 键多了 $s$ 倍，$H$ 就增加 $\ln s$。表乘以 $c$，logit 就乘以 $c^2$，方差乘以 $c^4$，使 $H$ 减少约
# $\frac{\sigma^2}{2}(c^4 - 1)$。增大 logit 可以抵消：这就是方向。
#
# *数值*却推不出来。恰好抵消的 $c$ 取决于 $\sigma$，而 $\sigma$ 因头而异。$0.1 \ln s + 1$ 是用 Llama 模型的困惑度
# 拟合出来的（YaRN，3.4 节）。

# %%
generator, spread = torch.Generator().manual_seed(0), 2.0
stretches = 2.0 ** torch.arange(0, 6)
entropies = {"plain": [], "with c": []}
for stretch in stretches.tolist():
    logits = spread * torch.randn(64, int(1024 * stretch), generator=generator)
    for name, c in (("plain", 1.0), ("with c", 0.1 * math.log(stretch) + 1)):
        weights = (c**2 * logits).softmax(-1)
        entropies[name].append(float(-(weights * weights.log()).sum(-1).mean()))
predicted = math.log(1024) + stretches.log() - spread**2 / 2

figure, axes = plt.subplots(figsize=(7.2, 2.8))
axes.plot(stretches, predicted, color=BLACK, linestyle=":", label=r"$\ln n - \sigma^2/2$")
axes.plot(stretches, entropies["plain"], "s", color=VERMILION, label="measured, plain", linestyle="none")
axes.plot(stretches, entropies["with c"], "o-", color=BLUE, label="measured, logits times $c^2$")
axes.set_xscale("log", base=2)
axes.set_xticks(stretches.tolist(), [f"{stretch:.0f}" for stretch in stretches.tolist()])
axes.set(xlabel="stretch s: 1,024 s keys", ylabel="entropy, in nats")
axes.legend(loc="upper left", fontsize=8.5)
plain, sharp = (entropies[name][-1] - entropies[name][0] for name in entropies)
axes.set_title(f"Entropy with 32 times the keys: {plain:+.1f} nats; with YaRN's factor {sharp:+.1f} (spread 2)")
plt.show()

# %% [markdown]
# 图中，键增加到 32 倍，熵随之增加 3.4 纳特左右，与公式相符；乘上 YaRN 的因子，熵几乎不变（这里 $\sigma = 2$）。
#
# ## 记住这些
#
# - 数圈：$r_i = L\,\theta_i / 2\pi$。模型超出训练长度就失灵，原因在 $r_i < 1$ 的那些对。
# - PI 把所有的对都除以 $s$。NTK 用 $b' = b\,k^{d/(d-2)}$，这里倍数取 8 只能够到 4.56 倍的长度。YaRN 看圈数。
# - 频率随长度而变时，键要在旋转之前存入缓存。
# - YaRN 的斜坡有两个版本；它的因子乘在 cos 和 sin 上，所以 logit 乘的是它的平方。
#
# 这些都是几何。*模型*能不能接着读，要靠实验。有一张流传很广的困惑度表，从 8k 到 32k（线性 12.5、NTK 11.8、动态 12.2、
# YaRN 11.2），标明出自 YaRN 论文，论文里却没有。不如自己来量：
#
# **下一节：**[第 6 节](6_train_short_test_long.ipynb)在 64 个位置上训练模型，再让它们读到 512，用上这一节的所有补救办法。

# %% [markdown] lang="en"
# # 5 · Longer contexts
#
# A model was trained on texts of 4,096 tokens. Now someone hands it a book. RoPE has a formula for every position, so
# nothing crashes; the model just talks nonsense. This notebook finds out why, and derives the remedies.
#
# One question sorts them all: *how often does a pair turn within the length that training saw?* Here are five pairs, of base 20,
# below each word. [Train on less](#sentence?trained=6), and more of them are lost; [on all of it](#sentence?trained=21), and
# none is. [Slow down](#sentence?trained=13&slower=yes) only those that need it: that is where this notebook ends.
#
# <!-- touch: sentence -->

# %% [markdown] lang="zh"
# # 5 · 更长的上下文
#
# 一个模型是用 4,096 个 token 的文本训练的，现在有人递给它一整本书。RoPE 对每个位置都有公式，所以程序不会出错；
# 只是模型开始胡言乱语。这一节要弄清楚为什么，并推导出各种补救办法。
#
# 把它们全部理清，只需一个问题：*在训练见过的长度之内，一对特征转了多少圈？* 下面一句话的每个词下面有五对，底数是 20。
# [训练得短一些](#sentence?trained=6)，走失的就多几对；[训练到整句](#sentence?trained=21)，就一对也不走失。也可以
# 只让需要放慢的[慢下来](#sentence?trained=13&slower=yes)：这一节的终点就是那里。
#
# <!-- touch: sentence -->

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import close, quiet
from figures import (
    BLUE,
    FAST,
    GREY,
    SLOW,
    SMALL,
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
# ## The setting
#
# Throughout, $d = 128$ features of a head make 64 pairs. Pair $i$ turns by $\theta_i = b^{-2i/d}$ radians from one
# position to the next, with base $b = 10{,}000$. Training saw $L = 4{,}096$ positions, as for Llama 2, and we want
# $s = 8$ times that, 32,768. Letters, sections and equations are those of the YaRN paper
# ([arXiv:2309.00071](https://arxiv.org/abs/2309.00071v2), version 2).

# %% [markdown] lang="zh"
# ## 设定
#
# 全节都取一个头有 $d = 128$ 个特征，共 64 对。从一个位置到下一个位置，第 $i$ 对转过 $\theta_i = b^{-2i/d}$ 弧度，
# 底数 $b = 10{,}000$。训练见过 $L = 4{,}096$ 个位置（与 Llama 2 相同），我们想要它的 $s = 8$ 倍，即 32,768。
# 字母、节号和式号都按 YaRN 论文（[arXiv:2309.00071](https://arxiv.org/abs/2309.00071v2)，第 2 版）。

# %%
DIM, BASE = 128, 10_000.0  # d, b
TRAINED, FACTOR = 4096, 8.0  # L, s
assert TRAINED * FACTOR == 32768


# %% [markdown] lang="en" short=true
# ## Turns
#
# A full turn is $2\pi$ radians. Pair $i$ completes one after
#
# $$
# \lambda_i = \frac{2\pi}{\theta_i}
# $$
#
# positions, its **wavelength**. Within the trained length it turns
#
# $$
# r_i = \frac{L}{\lambda_i} = \frac{L\, \theta_i}{2\pi}
# $$
#
# times. (Forget the $2\pi$, and you count radians: every threshold is off by a factor of six.)

# %% [markdown] lang="zh" short=true
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
# 圈。（漏掉 $2\pi$，数的就是弧度，每个阈值都差了六倍多。）


# %%
def turns(theta: Tensor, length: float) -> Tensor:
    """How often each pair turns within a length: [d/2] frequencies in radians per position to [d/2]."""
    return length * theta / (2 * math.pi)


pairs = torch.arange(DIM // 2)
theta = frequencies()
wavelengths, counts = 2 * math.pi / theta, turns(theta, TRAINED)
slow = counts < 1

figure, axes = plt.subplots(figsize=(5.0, 3.3))
axes.axhspan(TRAINED, FACTOR * TRAINED, color=GREY, alpha=0.12, linewidth=0)
axes.semilogy(pairs[~slow], wavelengths[~slow], "o", color=FAST, markersize=4)
axes.semilogy(pairs[slow], wavelengths[slow], "^", color=SLOW, markersize=5)
axes.text(0, 3.6 * TRAINED, "positions 4,096 to 32,768: never seen", fontsize=SMALL)
point(axes, "turns at least once in training", (32, wavelengths[32]), (10, -12), FAST)
point(axes, "never completes\na turn", (50, wavelengths[50]), (12, -16), SLOW)
for i, offset in ((0, (8, -8)), (20, (-8, 4)), (45, (-8, 2)), (63, (-8, 4))):
    point(axes, f"pair {i}: {counts[i]:,.2f} turns", (i, wavelengths[i]), offset, line=False)
axes.set(xlabel="pair i", ylabel="wavelength, in positions", ylim=(2, 2e5))
headline(figure, f"{int(slow.sum())} of 64 pairs never complete a turn\nwithin 4,096 positions")
plt.show()

# %% [markdown] lang="en"
# The wavelengths cross $L$ at pair 45. Left of it, training has shown *every* angle of a pair. Right of it, a pair has only
# ever been seen on an arc from 0 to $L\,\theta_i$, and beyond $L$ it comes to angles that no training step has touched.
#
# The hypothesis of this notebook is that *these slow pairs* are why RoPE fails beyond its training length. All remedies below
# slow them, so that they stay on the arc that they know. [Notebook 6](6_train_short_test_long.ipynb) tests it, pair by pair.

# %% [markdown] lang="zh"
# 波长在第 45 对附近穿过 $L$。在它左边，训练见过一对的*每一个*角度；在它右边，训练只见过从 0 到 $L\,\theta_i$ 的一段弧，
# 读到 $L$ 以外，这些特征对就会转到训练从未碰过的角度。
#
# 这一节的假设是：RoPE 超出训练长度就失灵，原因在*这些低频对*。下面的补救办法都让它们慢下来，留在认识的那段弧上。
# [第 6 节](6_train_short_test_long.ipynb)会一对一对地检验这个假设。

# %% [markdown] lang="en" short=true
# ### Exercise 5.1 · How far before it is new? (2 points)
#
# A remedy replaces $\theta_i$ by a slower $\theta_i'$. Pair $i$ with $r_i < 1$ knows the angles up to $L\,\theta_i$; with
# $\theta_i'$ it gets there at the position $L\, \theta_i / \theta_i'$. A pair with $r_i \ge 1$ knows all angles and sets no
# limit.
#
# Write `reach`: the smallest length at which some pair comes to the end of what it knows, and infinity if every pair
# knows the whole circle.
#
# Hint: Which pairs set a limit is decided by the frequency of *training*, not the new one.
#
# Hint: Compute $L\,\theta_i / \theta_i'$ for every pair, keep the pairs that count (a tensor of
# bools can pick entries), and take the smallest.
#
# Hint: The minimum of nothing is an error. A `float` is asked for.

# %% [markdown] lang="zh" short=true
# ### 练习 5.1 · 读到多远才会碰到新角度？（2 分）
#
# 补救办法是把 $\theta_i$ 换成较慢的 $\theta_i'$。$r_i < 1$ 的第 $i$ 对认识直到 $L\,\theta_i$ 的角度；
# 换成 $\theta_i'$ 之后，到位置 $L\, \theta_i / \theta_i'$ 才转到那里。$r_i \ge 1$ 的特征对认识所有角度，不构成限制。
#
# 写出 `reach`：最先有一对走到它所知的尽头时的长度；如果每一对都认识整个圆，就是无穷大。
#
# 提示：哪些对会设下界限，由*训练时*的频率决定，与新频率无关。
#
# 提示：对每一对算出 $L\,\theta_i / \theta_i'$，留下算数的那些（布尔张量可以挑选元素），取最小的。
#
# 提示：一个也没有时，求最小值会报错。要的是 `float`。


# %% nbgrader={"grade_id": "reach", "solution": true}
def reach(theta: Tensor, scaled: Tensor, trained: float) -> float:
    """The length that can be read before some pair meets an angle that training never showed.

    Args:
        theta: [d/2], the frequencies of training.
        scaled: [d/2], those used for reading.
        trained: L.
    """
    ### BEGIN SOLUTION
    partial = turns(theta, trained) < 1
    return (trained * theta / scaled)[partial].min().item() if partial.any() else math.inf
    ### END SOLUTION


# %% nbgrader={"grade_id": "reach_laws", "grade": true, "points": 2}
with quiet():
    theta = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
    assert abs(reach(theta, theta, 100) - 100) < 1e-9, "As trained, the new begins where training ended."
    assert abs(reach(theta, theta / 4, 100) - 400) < 1e-9, "Four times slower, four times as far."
    first_slowed = theta / torch.tensor([9.0, 1, 1, 1])
    assert abs(reach(theta, first_slowed, 100) - 100) < 1e-9, "Slowing pair 0 helps nobody: it knows all angles."
    assert abs(reach(theta, theta, 6000) - 6000) < 1e-9, "Within 6,000 pair 3 turns by 6 radians, less than a turn."
    slowed = theta / torch.tensor([1.0, 1, 6, 4])
    assert abs(reach(theta, slowed, 100) - 400) < 1e-9, (
        "Pair 2 runs out at 600, pair 3 at 400: the smaller sets the limit."
    )
    ### BEGIN HIDDEN TESTS
    slowed = theta / torch.tensor([1.0, 1, 3, 5])
    assert abs(reach(theta, slowed, 100) - 300) < 1e-9, "The pair that runs out first sets the limit."
    slowed = theta / torch.tensor([1.0, 8, 20, 20])
    assert abs(reach(theta, slowed, 100) - 2000) < 1e-9, "Pair 1 knew the circle in training, whatever it does now."
    assert reach(theta, theta, 7000) == math.inf, "Pair 3 turns 1.1 times within 7,000: all know the circle."
    assert reach(theta, theta / 2, 6400) == math.inf, "Nor does slowing them set a limit then."
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# This is a *necessary* condition and no promise of quality: known angles may come in new combinations.
#
# ## Position interpolation
#
# [Chen et al., 2023](https://arxiv.org/abs/2306.15595v2) (section 2.3) squeeze all positions into the trained range: use
# $p / s$ in place of $p$. The angle of pair $i$ becomes
#
# $$
# \frac{p}{s}\, \theta_i = p\, \frac{\theta_i}{s},
# $$
#
# so squeezing positions is slowing *every pair*, $i = 0, \dots, d/2 - 1$, by the same factor.

# %% [markdown] lang="zh" short=true
# 这只是一个*必要*条件，不保证质量：见过的角度也可能以没见过的组合出现。
#
# ## 位置插值（PI）
#
# [Chen 等，2023](https://arxiv.org/abs/2306.15595v2)（2.3 节）把所有位置压进训练过的范围：用 $p / s$ 代替 $p$。
# 第 $i$ 对的角度变成
#
# $$
# \frac{p}{s}\, \theta_i = p\, \frac{\theta_i}{s},
# $$
#
# 所以，压缩位置就是把*每一对*（$i = 0, \dots, d/2 - 1$）都放慢同样的倍数。

# %% [markdown] lang="en"
# ### Exercise 5.2 · PI (1 point)
#
# Write `interpolate`: the slower frequencies for a model that saw `trained` positions and is to read `wanted`. Nothing is
# slowed if training saw as many as that.
#
# Hint: To squeeze all positions by $s$ is to divide all frequencies by $s$. What is $s$ here?
#
# Hint: For a shorter text, $s$ would be below 1, and the pairs would turn *faster* than in training.

# %% [markdown] lang="zh"
# ### 练习 5.2 · PI（1 分）
#
# 写出 `interpolate`：模型训练时见过 `trained` 个位置，现在要读 `wanted` 个，给出放慢之后的频率。如果训练见过的已经够多，就不放慢。
#
# 提示：把所有位置压缩 $s$ 倍，就是把所有频率除以 $s$。这里的 $s$ 是多少？
#
# 提示：文本比训练时短，$s$ 就小于 1，各对会转得比训练时*还快*。


# %% nbgrader={"grade_id": "interpolate", "solution": true}
def interpolate(theta: Tensor, trained: float, wanted: float) -> Tensor:
    """Frequencies of position interpolation from the trained to the wanted length: [d/2] to [d/2]."""
    ### BEGIN SOLUTION
    return theta / max(1.0, wanted / trained)
    ### END SOLUTION


# %% nbgrader={"grade_id": "interpolate_laws", "grade": true, "points": 1}
with quiet():
    theta, positions = frequencies(8, 100.0), torch.arange(0.0, 40.0, dtype=torch.float64)
    squeezed = torch.outer(positions / 4, theta)
    angles = torch.outer(positions, interpolate(theta, 10, 40))
    torch.testing.assert_close(angles, squeezed, msg="From 10 to 40, at p: the angle that the old pairs had at p / 4.")
    assert close(interpolate(theta, 10, 10), theta), "A text of the trained length needs no squeezing."
    ### BEGIN HIDDEN TESTS
    kept = theta.clone()
    assert close(interpolate(theta, 10, 3), theta), "A shorter text is not stretched."
    twice = interpolate(interpolate(theta, 50, 100), 100, 300)
    torch.testing.assert_close(twice, interpolate(theta, 50, 300), msg="Factors multiply.")
    longest = (8 * 4096) * interpolate(frequencies(), 4096, 8 * 4096)
    torch.testing.assert_close(longest, 4096 * frequencies(), msg="At s L every pair is where it was at L.")
    assert torch.equal(theta, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# PI reaches exactly $s L$. Its price is local: in pair 0, neighbours differ by one radian, and with $s = 8$ only by
# 1/8, so the model has to learn anew what "one token back" looks like: Chen et al. fine-tune.
#
# ## NTK-aware scaling: change the base
#
# The fast pairs know all angles. So, [proposed the user
# bloc97](https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5/ntkaware_scaled_rope_allows_llama_models_to_have), leave the fastest alone, slow the
# slowest by the full factor, and let the others lie between. A larger base does that: look for a $b'$ such that the frequencies
# $\theta_i' = b'^{-2i/d}$ satisfy
#
# 1. $\theta'_0 = \theta_0$: pair 0 is unchanged;
# 2. $\theta'_{d/2-1} = \theta_{d/2-1} / \kappa$: the last pair is slowed by the factor $\kappa$.
#
# The first holds for every base, as $b'^{\,0} = 1$. The second determines $b'$.

# %% [markdown] lang="zh"
# PI 恰好够到 $s L$。代价在近处：相邻的 token 在第 0 对上原本相差一弧度，$s = 8$ 时只差 1/8，“往前一个 token”是什么样子，模型得重新学。
# 所以 Chen 等人还做了微调。
#
# ## NTK-aware 缩放：换一个底数
#
# 高频对认识所有角度。于是网友 [bloc97 提议](https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5/ntkaware_scaled_rope_allows_llama_models_to_have)：最快的不动，最慢的放慢整整那么多倍，其余的介于两者之间。
# 更大的底数正是这个效果。我们要找一个底数 $b'$，使频率 $\theta_i' = b'^{-2i/d}$ 满足
#
# 1. $\theta'_0 = \theta_0$：第 0 对不变；
# 2. $\theta'_{d/2-1} = \theta_{d/2-1} / \kappa$：最后一对放慢 $\kappa$ 倍。
#
# 第一条对任何底数都成立，因为 $b'^{\,0} = 1$。第二条决定了 $b'$。

# %% [markdown] lang="en"
# ### Exercise 5.3 · Derive the base (2 points)
#
# Do it on paper, then write `ntk_base`. (The derivation follows the exercise.)
#
# Hint: Put $i = d/2 - 1$ into the exponent $-2i/d$ of the second condition and simplify it.
#
# Hint: You have $b'$ to a power on the left, $b$ to the same power over $\kappa$ on the right. Raise both sides to
# the power that makes the left side $b'$: what becomes of the exponent of $\kappa$?

# %% [markdown] lang="zh"
# ### 练习 5.3 · 推导底数（2 分）
#
# 先在纸上推导，再写出 `ntk_base`。（推导过程在练习之后。）
#
# 提示：把 $i = d/2 - 1$ 代入第二个条件的指数 $-2i/d$，化简。
#
# 提示：左边是 $b'$ 的某次幂，右边是 $b$ 的同一次幂除以 $\kappa$。两边再取一次幂，让左边成为 $b'$：$\kappa$ 的指数变成
# 多少？


# %% nbgrader={"grade_id": "ntk_base", "solution": true}
def ntk_base(base: float, dim: int, factor: float) -> float:
    """The base with which pair 0 turns as before and the last pair slower by factor.

    Args:
        base: b.
        dim: d, even, at least 4.
        factor: kappa.
    """
    ### BEGIN SOLUTION
    return base * factor ** (dim / (dim - 2))
    ### END SOLUTION


# %% nbgrader={"grade_id": "ntk_base_laws", "grade": true, "points": 2}
with quiet():
    old, new = frequencies(DIM, BASE), frequencies(DIM, ntk_base(BASE, DIM, 8.0))
    assert abs(old[-1] / new[-1] - 8) < 1e-9, "The last pair is 8 times slower."
    assert close(new[0], old[0]), "Pair 0 is unchanged."
    assert close(ntk_base(BASE, DIM, 1.0), BASE), "A factor of 1 changes nothing."
    ### BEGIN HIDDEN TESTS
    for dim, base, factor in ((4, 100.0, 3.0), (64, 5e5, 16.0), (256, 1e4, 2.0), (128, 1e6, 1.5)):
        slowed = frequencies(dim, base) / frequencies(dim, ntk_base(base, dim, factor))
        assert abs(slowed[-1] / factor - 1) < 1e-9, "The last pair is slower by the factor, in every dimension."
        assert (slowed.diff() > 0).all(), "Each pair is slowed more than the one before it."
    assert abs(ntk_base(100.0, 4, 3.0) - 900) < 1e-9, "With d = 4 the last pair turns by b^(-1/2): b' = 100 * 3^2."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# With $i = d/2 - 1$ we have $2i/d = (d-2)/d$, so condition 2 reads
#
# $$
# b'^{-\frac{d-2}{d}} = \frac{b^{-\frac{d-2}{d}}}{\kappa}
# \quad\Longleftrightarrow\quad
# b'^{\frac{d-2}{d}} = \kappa\, b^{\frac{d-2}{d}}
# \quad\Longleftrightarrow\quad
# b' = b\, \kappa^{\frac{d}{d-2}} .
# $$
#
# (The exponent is sometimes printed as $i/(i-2)$, which is no number: $i$ runs over the pairs. It is $d/(d-2)$; YaRN,
# section 3.1.) How much is pair $i$ slowed?
#
# $$
# \frac{\theta_i}{\theta_i'} = {\left(\frac{b'}{b}\right)}^{2i/d} = \kappa^{\frac{2i}{d-2}} .
# $$
#
# [Su, 2023](https://kexue.fm/archives/9675) reads the angles $p\, \beta^{-i}$ as the digits of the
# number $p$ in base $\beta = b^{2/d}$: to write longer numbers with as many digits, enlarge the base of the digits by
#
# $$
# c_\kappa = \kappa^{\frac{2}{d-2}}, \qquad \theta_i' = {(c_\kappa\, \beta)}^{-i}, \qquad b' = {(c_\kappa\, \beta)}^{d/2} ,
# $$
#
# which is how many programs write it, `(c_kappa * beta) ** (d / 2)`. The last digit, $i = d/2 - 1$, has ${c_\kappa}^{i} = \kappa$, as we asked.
#
# The slowing is *less than* $\kappa$ for all pairs but the last, also for the slow ones that need the full factor. How far
# does that reach?

# %% [markdown] lang="zh"
# $i = d/2 - 1$ 时 $2i/d = (d-2)/d$，所以条件 2 就是
#
# $$
# b'^{-\frac{d-2}{d}} = \frac{b^{-\frac{d-2}{d}}}{\kappa}
# \quad\Longleftrightarrow\quad
# b'^{\frac{d-2}{d}} = \kappa\, b^{\frac{d-2}{d}}
# \quad\Longleftrightarrow\quad
# b' = b\, \kappa^{\frac{d}{d-2}} .
# $$
#
# （有的地方把指数印成 $i/(i-2)$，那不是一个数，因为 $i$ 是各对的编号。正确的是 $d/(d-2)$；见 YaRN，3.1 节。）第 $i$ 对放慢了多少？
#
# $$
# \frac{\theta_i}{\theta_i'} = {\left(\frac{b'}{b}\right)}^{2i/d} = \kappa^{\frac{2i}{d-2}} .
# $$
#
# [苏剑林，2023](https://kexue.fm/archives/9675) 的读法是：角度 $p\, \beta^{-i}$ 就是数字 $p$ 的 $\beta$ 进制的各位，$\beta = b^{2/d}$。
# 位数不变，要写更大的数，就把进制放大：
#
# $$
# c_\kappa = \kappa^{\frac{2}{d-2}}, \qquad \theta_i' = {(c_\kappa\, \beta)}^{-i}, \qquad b' = {(c_\kappa\, \beta)}^{d/2} ,
# $$
#
# 许多程序就是这样写的：`(c_kappa * beta) ** (d / 2)`。最高一位 $i = d/2 - 1$ 恰有 ${c_\kappa}^{i} = \kappa$，正是我们要的。
#
# 除了最后一对，放慢的倍数*都小于* $\kappa$，包括那些本该放慢整整 $\kappa$ 倍的低频对。这样够得到多远？

# %%
theta = frequencies()
fast_enough = int((turns(theta, TRAINED) >= 1).sum())  # the number of pairs that know the circle
print(f"Pair {fast_enough} is the first that does not know the whole circle.")
for k in (8.0, 8.0 ** ((DIM - 2) / (2 * fast_enough))):
    far = reach(theta, frequencies(DIM, ntk_base(BASE, DIM, k)), TRAINED)
    print(f"kappa = {k:5.2f} reaches {far:6,.0f} positions, {far / TRAINED:.2f} times the trained length")
assert (fast_enough, round(8 ** (92 / 126), 2), round(8 ** (126 / 92), 2)) == (46, 4.56, 17.25)  # what the text says


# %% [markdown] lang="en"
# So a factor of 8 does *not* give 8 times the context. The first pair that does not know the whole circle, $i = 46$, is
# slowed by $8^{92/126} = 4.56$ only. To get 8 we must ask for $\kappa = 8^{126/92} = 17.25$ (YaRN, section 3.1).
#
# ## Dynamic: only as much as needed
#
# Every remedy so far also changes *short* texts, which needed none. YaRN, section 3.3, lets the factor follow the
# present length $l$: with
#
# $$
# \kappa(l) = \max\Big(1, \frac{l}{L}\Big)
# $$
#
# the model is untouched up to $L$ and degrades slowly beyond. transformers calls another rule "dynamic":
#
# $$
# \kappa(l) = f\, \frac{l}{L} - (f - 1) \quad \text{for } l > L,
# $$
#
# with a setting $f \ge 1$. It too starts from 1 at $l = L$, but grows $f$ times as fast, which makes up for the
# shortfall you just measured. Both put $\kappa$ into $b' = b\, \kappa^{d/(d-2)}$.

# %% [markdown] lang="zh"
# 可见倍数取 8，*并不能*得到 8 倍的上下文。最先不认识整个圆的是 $i = 46$ 这一对，它只放慢了 $8^{92/126} = 4.56$ 倍。要够到 8 倍，
# 得取 $\kappa = 8^{126/92} = 17.25$（YaRN，3.1 节）。
#
# ## 动态：需要多少就放慢多少
#
# 到目前为止，每种办法也改变了*短*文本，可短文本本来什么毛病也没有。YaRN 3.3 节让倍数跟着当前的长度 $l$ 走：
#
# $$
# \kappa(l) = \max\Big(1, \frac{l}{L}\Big) ,
# $$
#
# 于是 $L$ 以内模型原封不动，超出之后才慢慢变差。transformers 里叫“dynamic”的是另一条规则：
#
# $$
# \kappa(l) = f\, \frac{l}{L} - (f - 1) \quad \text{当 } l > L,
# $$
#
# 其中 $f \ge 1$ 是一个设置。它在 $l = L$ 时也从 1 开始，此后增长的速度却是 $f$ 倍，正好弥补你刚刚量到的不足。
# 两者都把 $\kappa$ 代入 $b' = b\, \kappa^{d/(d-2)}$。

# %% [markdown] lang="en"
# ### Exercise 5.4 · The base follows the length (2 points)
#
# Write `dynamic_base` with the rule of transformers; $\kappa = 1$ up to $L$. (Task 4 of the assignment asks for another rule, the
# stairs below; here it counts as wrong.)
#
# Hint: First $\kappa$ from the length, by the second formula above; then the base from $\kappa$, as in exercise 5.3.
#
# Hint: At $l = L$, what is $\kappa$, whatever $f$ is? So you only have to keep lengths below $L$ out.

# %% [markdown] lang="zh"
# ### 练习 5.4 · 底数跟着长度走（2 分）
#
# 按 transformers 的规则写出 `dynamic_base`；长度在 $L$ 以内时 $\kappa = 1$。（作业的任务 4 用的是另一条规则，即下面的阶梯；在这里它算错。）
#
# 提示：先用上面第二个公式由长度得到 $\kappa$，再像练习 5.3 那样由 $\kappa$ 得到底数。
#
# 提示：$l = L$ 时，不管 $f$ 是多少，$\kappa$ 是几？所以只要不让小于 $L$ 的长度进去就行了。


# %% nbgrader={"grade_id": "dynamic_base", "solution": true}
def dynamic_base(base: float, dim: int, length: int, trained: int, growth: float = 1.0) -> float:
    """The base for a text of this length.

    Args:
        base: b, that of training.
        dim: d, even, at least 4.
        length: l, of the text at present, all that is cached included.
        trained: L.
        growth: f, at least 1.
    """
    ### BEGIN SOLUTION
    factor = growth * max(length, trained) / trained - (growth - 1)
    return base * factor ** (dim / (dim - 2))
    ### END SOLUTION


# %% nbgrader={"grade_id": "dynamic_base_laws", "grade": true, "points": 2}
with quiet():
    assert close(dynamic_base(BASE, DIM, 100, 4096), BASE), "A short text is read as in training."
    assert close(dynamic_base(BASE, DIM, 4096, 4096, growth=2.0), BASE), "So is one of the trained length."
    slowed = frequencies() / frequencies(DIM, dynamic_base(BASE, DIM, 3 * 4096, 4096))
    assert abs(slowed[-1] - 3) < 1e-9, "At three times the length the last pair is three times slower."
    assert close(slowed[0], 1), "Pair 0 is never changed: this is NTK, not PI."
    grown = dynamic_base(100.0, 4, 35, 10, growth=2.0)
    assert abs(grown - 3600) < 1e-9, "f = 2 at 3.5 times the length: kappa = 2 * 3.5 - 1 = 6, and b' = 100 * 6^2."
    ### BEGIN HIDDEN TESTS
    assert abs(dynamic_base(100.0, 4, 20, 10, growth=2.0) - 900) < 1e-9, "kappa = 2 * 2 - 1 = 3, b' = 100 * 3^2."
    assert close(dynamic_base(100.0, 4, 3, 10, growth=5.0), 100), "Below L the factor is 1, whatever f is."
    assert abs(dynamic_base(100.0, 4, 15, 10) - 225) < 1e-9, "kappa = 1.5 need not be whole."
    lengths = [dynamic_base(1e4, 64, length, 512, growth=1.5) for length in range(500, 700)]
    steps = torch.tensor(lengths, dtype=torch.float64).diff()
    assert (steps[:12].abs() < 1e-6).all(), "Up to L the base stays."
    assert (steps[12:] > 1).all(), "From L on it grows with every token."
    for dim in (16, 64):
        slowed = frequencies(dim, 500.0) / frequencies(dim, dynamic_base(500.0, dim, 5000, 1000, growth=4.0))
        assert abs(slowed[-1] - 17) < 1e-9, "With f = 4 at five times the length, kappa = 20 - 3 = 17."
    ### END HIDDEN TESTS

# %%
times = torch.linspace(0.2, 8.2, 401)  # l / L
even = torch.tensor([1.0, 2, 4, 4, 6, 6, 8, 8, 10])[
    times.ceil().long() - 1
]  # Task 4: 1 up to L, then the next even number
grown = (times.clamp(min=1), 2 * times.clamp(min=1) - 1, even)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
for kappa, colour, dashes in zip(grown, (BLUE, GREY, VERMILION), ("-", ":", "--"), strict=True):
    left.plot(times, kappa, color=colour, linestyle=dashes)
point(left, "YaRN: $l / L$", (5, 5), (8, -12), BLUE, line=False)
point(left, "transformers, $f = 2$", (4.8, 8.6), (-8, 4), GREY, line=False)
point(left, "Task 4:\neven steps", (6.1, 8), (8, -34), VERMILION)
left.set(xlabel="length l / L", ylabel=r"factor $\kappa$", ylim=(0, 10.5))
calls, kept_after, answered = (0.8, 2.5, 1.5), (1, 4, 4), (1, 4, 2)  # the handout's three calls
right.plot(range(3), kept_after, "o", color=VERMILION, linestyle="-")
right.plot(range(3), answered, "s", color=BLUE, linestyle="--")
point(right, "dynamic=True:\nnever goes back", (2, 4), (-30, 5), VERMILION, line=False)
point(right, "dynamic=False:\nfor this call only", (2, 2), (-20, -22), BLUE, line=False)
right.set_xticks(range(3), [f"l = {call} L" for call in calls])
right.set(xlim=(-0.3, 2.6), ylim=(0, 5), ylabel=r"factor $\kappa$ of the call")
headline(figure, "In steps, the factor changes seldom; kept, it depends on what was read before")
assert (even >= times).all(), "The stairs never reach less than the text needs."
plt.show()

# %% [markdown] lang="en"
# **Task 4** takes the smallest *even* number $k'$ with $k' L \ge l$: stairs, so that tables are not made anew at every
# token. Its switch `dynamic` says what becomes of the new tables. If it is off, they serve this call; if it is on, the
# module keeps them, and a short text after a long one is read with the large factor: **hysteresis**, the answer
# depends on what was read before (in transformers, [a bug](https://github.com/huggingface/transformers/issues/25306)). Your module makes three decisions, then: is the text longer than the tables, which $k'$ does
# it need, and what is kept. Write them down for the three calls in the right panel before you open `pos_emb.py`.

# %% [markdown] lang="zh"
# **任务 4** 取满足 $k' L \ge l$ 的最小*偶数* $k'$：这是阶梯，表不必每个 token 都重做。开关 `dynamic` 说新表怎么办：
# 关着，只供这一次调用；开着，模块就留下它们，长文本之后的短文本也用大倍数来读。这叫**滞后**（hysteresis）：答案取决于之前读过什么（在 transformers 里是[一个错误](https://github.com/huggingface/transformers/issues/25306)）。
# 所以你的模块要做三个决定：文本比表长吗，需要哪个 $k'$，留下什么。打开 `pos_emb.py` 之前，先为右图的三次调用把它们写下来。

# %% [markdown] lang="en"
# ## The stale cache
#
# When a model writes, it adds one token at a time and keeps the keys of all earlier ones in a **cache**. Most code rotates
# a key and *then* caches it. With a dynamic base that goes wrong. Let $\theta_i^{(l)}$ be the frequency at length $l$. The key
# at position $n$ arrived when the text had $n + 1$ tokens
# and was turned by $n\,\theta_i^{(n+1)}$; the query at $m$ turns by $m\,\theta_i^{(m+1)}$. The score sees the difference
#
# $$
# m\, \theta_i^{(m+1)} - n\, \theta_i^{(n+1)}
# = \underbrace{(m - n)\, \theta_i^{(m+1)}}_{\text{right}}
# + \underbrace{n\, \big(\theta_i^{(m+1)} - \theta_i^{(n+1)}\big)}_{\text{stale}} .
# $$
#
# The second term depends on $n$ itself, and the same text gives other scores read at
# once than token by token ([transformers#25104](https://github.com/huggingface/transformers/issues/25104)).
# The cure (YaRN, section 3.3): cache keys **before** rotation, and rotate all of them with the present base.

# %% [markdown] lang="zh"
# ## 过期的缓存
#
# 模型写作时，每次添一个 token，此前所有 token 的键都保存在**缓存**里。多数代码先旋转键，*然后*存进缓存。底数一旦是动态的，
# 这样做就错了。设长度为 $l$ 时的频率为 $\theta_i^{(l)}$。位置 $n$ 上的键
# 到来时，文本有 $n + 1$ 个 token，它转过了 $n\,\theta_i^{(n+1)}$；位置 $m$ 上的查询转过 $m\,\theta_i^{(m+1)}$。
# 得分看到的是二者之差：
#
# $$
# m\, \theta_i^{(m+1)} - n\, \theta_i^{(n+1)}
# = \underbrace{(m - n)\, \theta_i^{(m+1)}}_{\text{正确}}
# + \underbrace{n\, \big(\theta_i^{(m+1)} - \theta_i^{(n+1)}\big)}_{\text{过期}} .
# $$
#
# 第二项取决于 $n$ 本身，于是同一段文本，一次读完和逐个 token 地读，得分竟然不同（[transformers#25104](https://github.com/huggingface/transformers/issues/25104)）。
# 解决办法（YaRN，3.3 节）：键在旋转**之前**存入缓存，每次都用当前的底数旋转所有的键。


# %%
def rotate(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Turn vectors of [n, d/2] complex pairs by their positions [n]."""
    return x * torch.exp(1j * torch.outer(positions.double(), frequencies(2 * x.shape[-1], base)))


def at_once(queries: Tensor, keys: Tensor, base: float) -> Tensor:
    """Scores of a text that is read in one go, [n, n]; entries above the diagonal are zero."""
    positions = torch.arange(len(keys))
    return (rotate(queries, positions, base) @ rotate(keys, positions, base).conj().T).real.tril()


def stale(queries: Tensor, keys: Tensor, base_at) -> Tensor:
    """Scores of a text that is read token by token, with keys cached after rotation: the bug."""
    scores, cache = torch.zeros(len(keys), len(keys), dtype=torch.float64), []
    for step in range(len(keys)):
        base, now = base_at(step + 1), torch.tensor([step])
        cache.append(rotate(keys[step : step + 1], now, base))
        query = rotate(queries[step : step + 1], now, base)
        scores[step, : step + 1] = (query @ torch.cat(cache).conj().T).real
    return scores


# %% [markdown] lang="en"
# ### Exercise 5.5 · Fix the cache (2 points)
#
# Write `decode`, as `stale` but right: at each step, all keys seen so far are rotated with the base of the present
# length, `base_at(step + 1)`.
#
# Hint: Find the line of `stale` in which a key is rotated once and then stored for good. Here keys are stored as they came.
#
# Hint: At each step, rotate the query at its position and *all* keys so far, each at its own, with the base of the present
# length; `at_once` shows how scores are made of them.

# %% [markdown] lang="zh"
# ### 练习 5.5 · 修好缓存（2 分）
#
# 写出 `decode`：和 `stale` 一样，但是要对。每一步都用当前长度的底数 `base_at(step + 1)` 旋转到目前为止的所有键。
#
# 提示：在 `stale` 里找到键只旋转一次就存下来不再动的那一行。这里存的是没有旋转过的键。
#
# 提示：每一步都用当前长度的底数，旋转位于自己位置上的查询，以及到目前为止*所有的*键，各按自己的位置；得分怎么算，看 `at_once`。


# %% nbgrader={"grade_id": "decode", "solution": true}
def decode(queries: Tensor, keys: Tensor, base_at) -> Tensor:
    """Scores of a text that is read token by token, with a base that follows the length.

    Args:
        queries: [n, d/2], complex128.
        keys: [n, d/2], complex128.
        base_at: A function from the length of the text at present to the base.

    Returns:
        [n, n], float64: row m holds the scores of query m with the keys 0 .. m, then zeros.
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
    assert same.dtype == torch.float64, "The scores are float64."
    torch.testing.assert_close(same, at_once(queries, keys, 50.0), msg="With one base: as if read at once.")
    growing = decode(queries, keys, lambda length: 50.0 * length)
    last = at_once(queries, keys, 50.0 * 12)[-1]
    assert (growing[-1] - last).abs().max() < 1e-9, "The last row: as if read at once with the last base."
    fifth = at_once(queries[:5], keys[:5], 50.0 * 5)[-1]
    assert (growing[4, :5] - fifth).abs().max() < 1e-9, "The fifth row: as if five were read at once, with their base."
    ### BEGIN HIDDEN TESTS
    kept = keys.clone()
    for length in range(1, 13):
        prefix = at_once(queries[:length], keys[:length], 50.0 * length)[-1]
        torch.testing.assert_close(growing[length - 1, :length], prefix, msg="So does each row, with its own base.")
    assert (growing.triu(1) == 0).all(), "Nothing is scored that is yet to come."
    ones = torch.ones(30, 8, dtype=torch.complex128)
    row = decode(ones, ones, lambda length: 10.0 + length**2)[-1]
    distances = torch.arange(29, -1, -1, dtype=torch.float64)
    law = torch.outer(distances, frequencies(16, 10.0 + 30**2)).cos().sum(-1)
    torch.testing.assert_close(row, law, msg="Equal tokens: the score depends on the distance alone.")
    asked = []
    decode(queries[:3], keys[:3], lambda length: asked.append(length) or 9.0)
    assert set(asked) == {1, 2, 3}, "The base is asked for the length of the text at each step, the new token included."
    assert torch.equal(keys, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %%
small, count = 64, 256  # a trained length of 64, read to four times that
ones = torch.ones(count, DIM // 2, dtype=torch.complex128)


def base_at(length: int) -> float:
    """The dynamic base of a model that was trained on 64 positions."""
    return dynamic_base(BASE, DIM, length, small)


right, wrong = decode(ones, ones, base_at), stale(ones, ones, base_at)
errors = (wrong - right).abs()
ends = torch.cat([errors[-1, :8], errors[-1, -16:]])
assert ends.mean() < errors[-1, small : 3 * small].mean() / 2  # what the text says
figure, axes = plt.subplots(figsize=(5.0, 3.0))
axes.plot(right[-1], color=BLUE, linestyle="-", linewidth=1.4)
axes.plot(wrong[-1], color=VERMILION, linestyle="--", linewidth=1.2)
axes.set(xlabel="position of the key", ylabel="score of the query at 255", xticks=[0, 64, 128, 192, 255])
low, high = 80 + right[-1, 80:120].argmin(), 60 + wrong[-1, 60:100].argmax()
point(axes, "cached before rotation", (low, right[-1, low]), (8, -3), BLUE)
point(axes, "cached after: stale", (high, wrong[-1, high]), (4, 24), VERMILION)
inside, beyond = errors[:small].max(), errors.max()
headline(
    figure, f"Up to the trained length 64 the stale cache errs by {inside:.0f},\nbeyond it by up to {beyond:.1f} of 64"
)
plt.show()

# %% [markdown] lang="en" short=true
# Keys near by agree, and so do the very first, whose angle is small whatever the base; [those between do
# not](#stale?tokens=12&before=no). Yet generation was found to work about as well
# ([transformers#24653](https://github.com/huggingface/transformers/pull/24653)), and transformers still
# rotates first: [rotating the whole cache anew](#stale?tokens=12&before=yes) costs time.
#
# <!-- touch: stale -->
#
# ## YaRN: treat each pair by its turns
#
# PI slows pairs that need no help; NTK slows the slow ones too little. YaRN decides by the turns $r_i$ (section 3.2,
# "NTK-by-parts"):
#
# - $r_i > \beta$, many turns: leave the pair alone;
# - $r_i < \alpha$, less than one turn for $\alpha = 1$: slow it by the full $s$, as PI does;
# - between: blend.
#
# The share of the old frequency is called $\gamma$:
#
# $$
# \gamma(r) = \begin{cases} 0 & r < \alpha \\ 1 & r > \beta \\ \dfrac{r - \alpha}{\beta - \alpha} & \alpha \le r \le \beta , \end{cases}
# \qquad
# \theta_i' = \big(1 - \gamma(r_i)\big)\, \frac{\theta_i}{s} + \gamma(r_i)\, \theta_i ,
# $$
#
# with $\alpha = 1$ and $\beta = 32$ for the Llama family (equations 17 to 20).

# %% [markdown] lang="zh" short=true
# 近处的键两种做法一致，最前面的几个键也一致（它们的角度本来就小，底数是多少都一样），[中间的键不一致](#stale?tokens=12&before=no)。
# 不过有人发现，用过期的键生成，效果差不多
# （[transformers#24653](https://github.com/huggingface/transformers/pull/24653)）；
# transformers 仍然先旋转后缓存，因为[把整个缓存重新旋转一遍](#stale?tokens=12&before=yes)太费时间。
#
# <!-- touch: stale -->
#
# ## YaRN：按圈数区别对待
#
# PI 放慢了不需要帮忙的特征对；NTK 则让需要帮忙的特征对放慢得不够。YaRN 看圈数 $r_i$ 来定
# （3.2 节，“NTK-by-parts”）：
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

# %% [markdown] lang="en"
# ### Exercise 5.6 · The paper's ramp (2 points)
#
# Write `ramp_over_turns`, which gives $\gamma$ for each pair from its turns.
#
# Hint: Between $\alpha$ and $\beta$ turns, $\gamma$ is a straight line. What is it at $\alpha$, what at $\beta$?
#
# Hint: Outside, the line would go below 0 and above 1; `clamp` cuts it off. If your result is reversed, remember which
# pair keeps its frequency: the one with many turns.

# %% [markdown] lang="zh"
# ### 练习 5.6 · 论文的斜坡（2 分）
#
# 写出 `ramp_over_turns`，由各对的圈数给出 $\gamma$。
#
# 提示：从 $\alpha$ 圈到 $\beta$ 圈，$\gamma$ 是一条直线。在 $\alpha$ 处是多少，在 $\beta$ 处是多少？
#
# 提示：再往外，直线会低于 0、高于 1，用 `clamp` 截掉。如果结果正好反了，想想谁保留自己的频率：转得多的那一对。


# %% nbgrader={"grade_id": "ramp_over_turns", "solution": true}
def ramp_over_turns(counts: Tensor, alpha: float = 1.0, beta: float = 32.0) -> Tensor:
    """The share of its own frequency that a pair keeps, from its turns within the trained length: [d/2] to [d/2]."""
    ### BEGIN SOLUTION
    return ((counts - alpha) / (beta - alpha)).clamp(0, 1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "ramp_over_turns_laws", "grade": true, "points": 2}
with quiet():
    counts = torch.tensor([100.0, 32.0, 16.5, 1.0, 0.2], dtype=torch.float64)
    share = ramp_over_turns(counts)
    by_hand = torch.tensor([1, 1, 0.5, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(share, by_hand, msg="All from 32 turns, none up to 1, half in the middle.")
    assert ramp_over_turns(counts, 0.1, 0.3)[-1].sub(0.5).abs() < 1e-9, "The ends are arguments."
    ### BEGIN HIDDEN TESTS
    kept, grid = counts.clone(), torch.linspace(0, 40, 161, dtype=torch.float64)
    share = ramp_over_turns(grid, 2.0, 10.0)
    assert (share[grid <= 2].abs() < 1e-12).all(), "Nothing up to alpha turns."
    assert ((share[grid >= 10] - 1).abs() < 1e-12).all(), "All from beta turns on."
    inside = share[(grid >= 2) & (grid <= 10)]
    assert (inside.diff() - 0.25 / 8).abs().max() < 1e-9, "Between them, a straight line in the turns."
    assert torch.equal(counts, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## The code's ramp
#
# The authors' code, and transformers after it, ramp differently: straight in the *index* $i$ of the pair, between the
# pairs that turn $\beta$ and $\alpha$ times. Which pair turns $r$ times? Solve $r = L\, b^{-2i/d} / 2\pi$ for $i$:
#
# $$
# b^{2i/d} = \frac{L}{2\pi r}
# \quad\Longleftrightarrow\quad
# i(r) = \frac{d\, \ln \frac{L}{2\pi r}}{2 \ln b} .
# $$
#
# Both ends are rounded outwards, then kept in bounds:
#
# $$
# \text{low} = \max\big(\lfloor i(\beta) \rfloor,\, 0\big), \qquad
# \text{high} = \min\big(\lceil i(\alpha) \rceil,\, d - 1\big),
# $$
#
# $$
# \gamma_i = 1 - \mathrm{clamp}\Big(\frac{i - \text{low}}{\text{high} - \text{low}},\, 0,\, 1\Big) .
# $$

# %% [markdown] lang="zh"
# ## 代码的斜坡
#
# 作者的代码，以及后来的 transformers，用的是另一种斜坡：它对各对的*编号* $i$ 是直线，两端是转 $\beta$ 圈和转
# $\alpha$ 圈的那两对。转 $r$ 圈的是哪一对？由 $r = L\, b^{-2i/d} / 2\pi$ 解出 $i$：
#
# $$
# b^{2i/d} = \frac{L}{2\pi r}
# \quad\Longleftrightarrow\quad
# i(r) = \frac{d\, \ln \frac{L}{2\pi r}}{2 \ln b} .
# $$
#
# 两端各自向外取整，再限制在范围之内：
#
# $$
# \text{low} = \max\big(\lfloor i(\beta) \rfloor,\, 0\big), \qquad
# \text{high} = \min\big(\lceil i(\alpha) \rceil,\, d - 1\big),
# $$
#
# $$
# \gamma_i = 1 - \mathrm{clamp}\Big(\frac{i - \text{low}}{\text{high} - \text{low}},\, 0,\, 1\Big) .
# $$

# %% [markdown] lang="en"
# ### Exercise 5.7 · The code's ramp (2 points)
#
# Write `ramp_over_pairs`. Note the order: $\beta$, the larger number of turns, belongs to the *smaller* index.
#
# Hint: Use $i(r)$ once for each end of the ramp; then round, limit, and last ramp over all $i$.
#
# Hint: The end called low comes from $\beta$, and is rounded down; the end called high from $\alpha$, and is rounded
# up. The limits come after the rounding.

# %% [markdown] lang="zh"
# ### 练习 5.7 · 代码的斜坡（2 分）
#
# 写出 `ramp_over_pairs`。注意次序：圈数较多的 $\beta$ 对应的是*较小*的编号。
#
# 提示：公式 $i(r)$ 在斜坡两端各用一次；然后取整、限制范围；最后对所有的 $i$ 写出斜坡。
#
# 提示：名为 low 的一端来自 $\beta$，向下取整；名为 high 的一端来自 $\alpha$，向上取整。先取整，再限制范围。


# %% nbgrader={"grade_id": "ramp_over_pairs", "solution": true}
def ramp_over_pairs(dim: int, base: float, trained: float, alpha: float = 1.0, beta: float = 32.0) -> Tensor:
    """The share of its own frequency that each pair keeps, straight in its index: [dim/2], float64."""
    ### BEGIN SOLUTION
    ends = [dim * math.log(trained / (2 * math.pi * r)) / (2 * math.log(base)) for r in (beta, alpha)]
    low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), dim - 1)
    index = torch.arange(dim // 2, dtype=torch.float64)
    return 1 - ((index - low) / (high - low)).clamp(0, 1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "ramp_over_pairs_laws", "grade": true, "points": 2}
with quiet():
    # d = 16, b = 256: theta_i = 2^-i, so each pair turns half as often as the one before it. L = 48 turns of pair 0.
    share = ramp_over_pairs(16, 256.0, 48 * 2 * math.pi)
    assert share.dtype == torch.float64, "The shares are float64."
    by_hand = torch.tensor([6, 5, 4, 3, 2, 1, 0, 0], dtype=torch.float64) / 6
    torch.testing.assert_close(
        share, by_hand, msg="32 turns: between pairs 0 and 1. 1 turn: between 5 and 6. low 0, high 6."
    )
    share = ramp_over_pairs(128, 10_000.0, 4096)
    assert ((share[:21] - 1).abs() < 1e-12).all(), "Our model: low is 20, and pairs up to it keep all."
    assert (share[46:].abs() < 1e-12).all(), "high is 46, and pairs from it on keep nothing."
    ### BEGIN HIDDEN TESTS
    assert share.shape == (64,), "One number for each pair, not for each feature."
    middle = torch.linspace(1, 0, 27, dtype=torch.float64)
    torch.testing.assert_close(share[20:47], middle, msg="Between low and high, a straight line in the index.")
    share = ramp_over_pairs(16, 256.0, 96 * 2 * math.pi, beta=10.0)
    by_hand = torch.tensor([1, 1, 1, 1, 0.75, 0.5, 0.25, 0], dtype=torch.float64)
    torch.testing.assert_close(share, by_hand, msg="L = 96 turns, beta 10: between pairs 3 and 4; low 3, high 7.")
    share = ramp_over_pairs(16, 256.0, 6 * 2 * math.pi)
    by_hand = torch.tensor([3, 2, 1, 0, 0, 0, 0, 0], dtype=torch.float64) / 3
    torch.testing.assert_close(share, by_hand, msg="No pair turns 32 times: low stays at 0.")
    share = ramp_over_pairs(16, 256.0, 1000 * 2 * math.pi)
    by_hand = 1 - (torch.arange(8, dtype=torch.float64) - 4).clamp(min=0) / 6
    torch.testing.assert_close(
        share, by_hand, msg="The last pair turns 7.8 times: high is 10, beyond it but below d - 1."
    )
    share = ramp_over_pairs(16, 256.0, 48 * 2 * math.pi, alpha=5.0)
    by_hand = torch.tensor([4, 3, 2, 1, 0, 0, 0, 0], dtype=torch.float64) / 4
    torch.testing.assert_close(share, by_hand, msg="alpha = 5: between pairs 3 and 4; high 4.")
    ### END HIDDEN TESTS

# %%
counts = turns(frequencies(), TRAINED)
paper, code = ramp_over_turns(counts), ramp_over_pairs(DIM, BASE, TRAINED)
gap = int((code - paper).argmax())
at_16 = 0.1 * math.log(16) + 1
assert (round(at_16, 4), round(at_16**2, 4)) == (1.2773, 1.6314)  # what the text says
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True)
for axes, x in ((left, counts), (right, pairs)):
    axes.plot(x, paper, color=BLUE, linestyle="-", marker="o", markersize=3)
    axes.plot(x, code, color=VERMILION, linestyle="--", marker="^", markersize=3.5)
left.set(xlim=(-1, 45), xlabel="turns within the trained length", ylabel=r"$\gamma$, share kept")
right.set(xlabel="pair i", yticks=[0, 0.5, 1])
right.tick_params(labelleft=True)
point(right, "paper: straight\nin turns", (26, paper[26]), (-14, -6), BLUE)
point(right, "code: straight\nin pairs", (35, code[35]), (10, 6), VERMILION)
headline(
    figure,
    f"Two ramps are called YaRN: pair {gap} keeps {paper[gap]:.0%} or {code[gap]:.0%} of its speed",
)
plt.show()

# %% [markdown] lang="en"
# Both are YaRN, and they give different models; say which you mean.
#
# ## Blend, and sharpen
#
# With $s$ times as many keys, the softmax spreads over more of them. YaRN
# divides the scores, which programs call **logits**, by a **temperature** $t < 1$:
#
# $$
# \mathrm{softmax}\Big(\frac{q \cdot k}{t\,\sqrt d}\Big), \qquad \sqrt{\frac 1 t} = 0.1 \ln s + 1
# $$
#
# (section 3.4, equations 21 and 22). The attention code stays: multiply the cosines and sines by
# $c = \sqrt{1/t}$, and each rotated vector is $c$ times as long,
#
# $$
# (c\, q) \cdot (c\, k) = c^2\, (q \cdot k) = \frac{q \cdot k}{t} .
# $$
#
# So $c$ multiplies tables, $c^2$ logits; for $s = 16$, $c = 1.2773$ and $c^2 = 1.6314$.

# %% [markdown] lang="zh"
# 它们都叫 YaRN，得到的却是不同的模型；要说清楚是哪一种。
#
# ## 混合，再锐化
#
# 键的个数变成 $s$ 倍，softmax 就摊得更开。YaRN 把得分（程序里叫 **logit**）除以一个**温度** $t < 1$：
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
# 所以乘在表上的是 $c$，乘在 logit 上的是 $c^2$；$s = 16$ 时 $c = 1.2773$，$c^2 = 1.6314$。

# %% [markdown] lang="en"
# ### Exercise 5.8 · YaRN (2 points)
#
# Write `yarn`: the blended frequencies and the factor $c$ for the tables. For $s \le 1$ nothing is stretched, and $c = 1$.
#
# Hint: A pair keeps the share $\gamma_i$ of its own frequency; the share $1 - \gamma_i$ is taken of the frequency
# that PI would give it.
#
# Hint: The formula above gives the root, $c$, itself: nothing is squared here. The logarithm is the natural one.

# %% [markdown] lang="zh"
# ### 练习 5.8 · YaRN（2 分）
#
# 写出 `yarn`：混合之后的频率，以及乘在表上的因子 $c$。$s \le 1$ 时没有拉长，$c = 1$。
#
# 提示：一对保留自己频率的 $\gamma_i$ 那么多；其余的 $1 - \gamma_i$，取自 PI 会给它的频率。
#
# 提示：上面的公式给出的就是根 $c$：这里不用再平方。对数是自然对数。


# %% nbgrader={"grade_id": "yarn", "solution": true}
def yarn(theta: Tensor, share: Tensor, factor: float) -> tuple[Tensor, float]:
    """Frequencies to rotate with, and what to multiply cos and sin by.

    Args:
        theta: [d/2], the frequencies of training.
        share: [d/2], gamma, from either ramp.
        factor: s.
    """
    ### BEGIN SOLUTION
    return (1 - share) * theta / factor + share * theta, 0.1 * math.log(max(factor, 1.0)) + 1.0
    ### END SOLUTION


# %% nbgrader={"grade_id": "yarn_laws", "grade": true, "points": 2}
with quiet():
    theta, share = torch.tensor([1.0, 0.5, 0.25]).double(), torch.tensor([1.0, 0.5, 0.0]).double()
    scaled, sharpened = yarn(theta, share, 16.0)
    by_hand = torch.tensor([1.0, 0.5 * (0.5 + 0.5 / 16), 0.25 / 16]).double()
    torch.testing.assert_close(scaled, by_hand, msg="gamma = 1 keeps a frequency, 0 divides it by s, 1/2 is the mean.")
    assert abs(sharpened - 1.2773) < 1e-4, "For s = 16, cos and sin are multiplied by 0.1 ln 16 + 1 = 1.2773."
    ### BEGIN HIDDEN TESTS
    kept = theta.clone()
    scaled, sharpened = yarn(theta, share, 1.0)
    torch.testing.assert_close(scaled, theta, msg="s = 1 changes no frequency")
    assert close(sharpened, 1), "and no length."
    assert close(yarn(theta, share, 0.5)[1], 1), "Below 1 nothing is sharpened."
    assert abs(yarn(theta, share, math.e**5)[1] - 1.5) < 1e-9, "The logarithm is the natural one."
    share = torch.rand(3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scaled, _ = yarn(theta, share, 4.0)
    torch.testing.assert_close(scaled / theta, 0.25 + 0.75 * share, msg="The blend is straight between 1/s and 1.")
    assert torch.equal(theta, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# (Code that computes $\gamma$ with care and then divides *every* frequency by $s$ is plain PI; no shape or type reveals it.)
#
# ## All of them in one table
#
# Contrast, in the last column, is how much the score of equal vectors falls from distance 0 to 1.

# %% [markdown] lang="zh" short=true
# （有的代码精心算好了 $\gamma$，随后却照样把*每一个*频率都除以 $s$，那就是普通的 PI，形状和类型都看不出破绽。）
#
# ## 全部放在一张表里
#
# 最后一列的对比度，是从距离 0 到距离 1，相等向量的得分下降了多少。

# %%
theta = frequencies()
spectra = {
    "unchanged": theta,
    "PI": interpolate(theta, TRAINED, FACTOR * TRAINED),
    "NTK, factor 8": frequencies(DIM, ntk_base(BASE, DIM, FACTOR)),
    "YaRN, paper": yarn(theta, ramp_over_turns(counts), FACTOR)[0],
    "YaRN, code": yarn(theta, ramp_over_pairs(DIM, BASE, TRAINED), FACTOR)[0],
}
reached = {name: reach(theta, scaled, TRAINED) / TRAINED for name, scaled in spectra.items()}
slowed = {name: float(theta[0] / scaled[0]) for name, scaled in spectra.items()}
loss = {
    name: float(1 - scaled.cos().mean()) for name, scaled in spectra.items()
}  # how far the score of equal vectors falls from distance 0 to 1
show_table(
    "What each scaling reaches, and what it costs near by",
    ["reach / L", "pair 0 slowed by", "contrast of neighbours"],
    {name: [f"{reached[name]:.2f}", f"{slowed[name]:.2f}", f"{loss[name]:.4f}"] for name in spectra},
)

# %% [markdown] lang="en"
# Both [YaRNs](#wavelengths?method=yarn&factor=8) reach
# $8L$, as [PI](#wavelengths?method=pi&factor=8) does and [NTK](#wavelengths?method=ntk&factor=8) does not, with a contrast close to that of the model as trained.
#
# <!-- touch: wavelengths -->
#
# ## The same, read as digits
#
# In radix $b^{2/d}$ the digit of $p$ at place $i$ is the whole part of $p\, b^{-2i/d}$, modulo the radix. That quotient is $p\, \theta_i$: pair $i$ shows
# it on a circle, which takes a remainder, too, and does not round ([Su, 2023](https://kexue.fm/archives/9706)). A text of $s$ times the length
# needs larger numbers with as many digits, and each method enlarges the radix of some places:
#
# $$
# \frac{\theta_i}{\theta_i'} = c_0\, c_1 \cdots c_i, \qquad c_0\, c_1 \cdots c_{d/2-1} = s .
# $$
#
# Unchanged, the highest digits take values that they never had: the new angles. PI puts all of $s$ on the lowest place, which
# then counts in steps of $1/s$: neighbours look alike. NTK leaves $c_0 = 1$ and loads all others
# alike, with $c_\kappa$. Seconds, minutes, hours and days have a radix of their own each, and so can these: YaRN loads only the
# places of its ramp, between digits that training went through many times and digits that it hardly began.

# %% [markdown] lang="zh"
# 两种 [YaRN](#wavelengths?method=yarn&factor=8) 都和
# [PI](#wavelengths?method=pi&factor=8) 一样够到 $8L$（[NTK](#wavelengths?method=ntk&factor=8) 够不到），对比度却与训练时相差无几。
#
# <!-- touch: wavelengths -->
#
# ## 同一件事，当作数字的各位来读
#
# 在 $b^{2/d}$ 进制里，$p$ 的第 $i$ 位数字，是 $p\, b^{-2i/d}$ 的整数部分对进制取余。这个商就是 $p\, \theta_i$：第 $i$ 对把它画在圆上，
# 同样是取余，只是不取整（[苏剑林，2023](https://kexue.fm/archives/9706)）。文本长 $s$ 倍，就要用同样多的位数写更大的数，各种方法都是把某些位的进制放大：
#
# $$
# \frac{\theta_i}{\theta_i'} = c_0\, c_1 \cdots c_i, \qquad c_0\, c_1 \cdots c_{d/2-1} = s .
# $$
#
# 什么都不改，最高的几位就出现从没有过的数字，也就是新角度。PI 把整个 $s$ 压在最低位上，这一位从此每步只走 $1/s$：
# 相邻的几乎一样。NTK 让 $c_0 = 1$，其余各位平均分摊，都是 $c_\kappa$。秒、分、时、日各有各的进制，这里也可以用这样的“混合进制”：
# YaRN 只让斜坡上的那些位承担，它们夹在训练中早已熟透的位与几乎还没开始转的位之间。

# %% [markdown] lang="en"
# ## Why a temperature, and why this one?
#
# Let the logits $x$ of $n$ keys be independent normal numbers with variance $\sigma^2$. Over how
# many keys attention spreads is told by its entropy, and for many keys that is about
#
# $$
# H = -\sum \frac{e^x}{Z} \ln \frac{e^x}{Z} = \ln Z - \sum \frac{e^x}{Z}\, x
# \approx \ln n + \frac{\sigma^2}{2} - \sigma^2 = \ln n - \frac{\sigma^2}{2} .
# $$
#
# (The sum $Z = \sum e^x$ is near its mean $n\, e^{\sigma^2/2}$, and to weight a normal density by $e^x$ shifts its mean by
# $\sigma^2$.) With $s$ times the keys, $H$ grows by $\ln s$; with all logits multiplied by $c^2$, it is
# $\ln n - c^4 \sigma^2 / 2$. [Su, 2021](https://kexue.fm/archives/8823) asks that the entropy stay: the same for $L$ keys
# without and for $s L$ keys with the factor means
#
# $$
# c^2 = \sqrt{1 + \frac{2 \ln s}{\sigma^2}} \approx 1 + \frac{\ln s}{\sigma^2} .
# $$
#
# So what compensates differs from head to head. YaRN's $0.1 \ln s + 1$ was fitted to the losses of Llama models (section 3.4), and
# its $c^2 \approx 1 + 0.2 \ln s$ is that of a head with $\sigma^2 = 5$. Where few keys hold all the weight, the sums above are
# their largest terms, and $H \approx \ln n - c^2 (\max x - \bar x)$: then $c^2$ has to grow like $\ln n$ itself
# ([Su, 2022](https://kexue.fm/archives/9034)), $c^2 = \ln (s L) / \ln L = 1 + \ln s / \ln L$. All three are the logarithm of the length;
# only its slope is in dispute. In the table below the square root brings the entropy back, YaRN goes further, $\ln n$ not so far.

# %% [markdown] lang="zh"
# ## 为什么要温度，为什么是这个数？
#
# 设 $n$ 个键的 logit $x$ 是相互独立的正态随机数，方差为 $\sigma^2$。注意力摊在多少个键上，由熵来说；
# 键很多时，熵约为
#
# $$
# H = -\sum \frac{e^x}{Z} \ln \frac{e^x}{Z} = \ln Z - \sum \frac{e^x}{Z}\, x
# \approx \ln n + \frac{\sigma^2}{2} - \sigma^2 = \ln n - \frac{\sigma^2}{2} .
# $$
#
# （总和 $Z = \sum e^x$ 接近它的均值 $n\, e^{\sigma^2/2}$；给正态密度乘上 $e^x$，均值就移动 $\sigma^2$。）键的个数变成 $s$ 倍，
# $H$ 就增加 $\ln s$；所有 logit 都乘 $c^2$，$H$ 就变成 $\ln n - c^4 \sigma^2 / 2$。
# [苏剑林，2021](https://kexue.fm/archives/8823) 要求熵不变：$L$ 个键、不乘时的熵，等于 $s L$ 个键、乘了之后的熵，于是
#
# $$
# c^2 = \sqrt{1 + \frac{2 \ln s}{\sigma^2}} \approx 1 + \frac{\ln s}{\sigma^2} .
# $$
#
# 可见恰好抵消的倍数因头而异。YaRN 的 $0.1 \ln s + 1$ 是用 Llama 模型的损失拟合出来的（3.4 节），它的 $c^2 \approx 1 + 0.2 \ln s$ 正是 $\sigma^2 = 5$ 的头所要的。
# 如果权重集中在少数几个键上，上面的和就约等于其中最大的一项，
# 于是 $H \approx \ln n - c^2 (\max x - \bar x)$：这时 $c^2$ 就要像 $\ln n$ 那样增长（[苏剑林，2022](https://kexue.fm/archives/9034)），
# $c^2 = \ln (s L) / \ln L = 1 + \ln s / \ln L$。三者都是长度的对数，有争议的只是斜率。
# 下表里，平方根让熵回到原处，YaRN 过头一点，$\ln n$ 还差一些。

# %%
SPREAD = 5.0  # the variance of the logits
many, wide = TRAINED, round(FACTOR * TRAINED)
factors = {
    "none": 1.0,
    "square root": math.sqrt(1 + 2 * math.log(FACTOR) / SPREAD),
    "YaRN": (0.1 * math.log(FACTOR) + 1) ** 2,
    "ln n": math.log(wide) / math.log(many),
}


def mean_entropy(keys: int, factor: float) -> float:
    """Of 32 queries, whose logits are normal, with every logit multiplied by the factor."""
    normal = torch.randn(32, keys, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = (factor * math.sqrt(SPREAD) * normal).softmax(-1)
    return float(-(weights * weights.log()).sum(-1).mean())


as_trained = mean_entropy(many, 1.0)
entropies = {name: mean_entropy(wide, factor) for name, factor in factors.items()}
show_table(
    f"Entropy of attention over {wide:,} keys; over {many:,} it is {as_trained:.2f}",
    ["factor of logits", "entropy"],
    {name: [f"{factors[name]:.2f}", f"{entropy:.2f}"] for name, entropy in entropies.items()},
)
assert (
    abs(entropies["square root"] - as_trained) < 0.3 < entropies["ln n"] - as_trained < entropies["none"] - as_trained
)
assert entropies["YaRN"] < as_trained
assert abs((factors["YaRN"] - 1) / math.log(FACTOR) - 0.2) < 0.03  # what the text says

# %% [markdown] lang="en"
# ## Reading a configuration
#
# In a model's `config.json`, transformers (version 5.23) knows the types `default`, `linear` (PI), `dynamic`, `yarn`, `longrope` (a factor
# for each pair), `llama3` and `proportional`, but no `ntk`: fixed NTK scaling is nothing but a larger `rope_theta`. $L$ is
# `original_max_position_embeddings`, not the length that is advertised. `attention_factor: 1.0` switches YaRN's temperature off.
#
# **Next:** [notebook 6](6_train_short_test_long.ipynb) trains models on 64 positions and lets them read on to 512, with
# all remedies of this one.

# %% [markdown] lang="zh"
# ## 读懂一份配置
#
# 在模型的 `config.json` 里，transformers（5.23 版）认得的类型有 `default`、`linear`（PI）、`dynamic`、`yarn`、`longrope`（每一对各有一个倍数）、
# `llama3` 和 `proportional`；没有 `ntk`：固定的 NTK 缩放不过是更大的 `rope_theta`。$L$ 是 `original_max_position_embeddings`，
# 而不是宣传的长度。`attention_factor: 1.0` 把 YaRN 的温度关掉。
#
# **下一节：**[第 6 节](6_train_short_test_long.ipynb)在 64 个位置上训练模型，再让它们读到 512，用上这一节的所有补救办法。

# %% [markdown] lang="en"
# # 3 · Three implementations, one permutation
#
# Notebook 2 ended with a matrix $R_p$ of nearly all zeros, with which no program multiplies. Three implementations are
# in use, each a few lines long, and you will write all three.
#
# Two of them agree number by number. The third pairs other features, and a single permutation leads from one to the
# other. So *half-split or adjacent, which one is right?* (transformers
# [#25199](https://github.com/huggingface/transformers/issues/25199),
# [#31859](https://github.com/huggingface/transformers/issues/31859),
# [#33826](https://github.com/huggingface/transformers/issues/33826)). Both are. What is wrong is to mix them, and the
# usual tests do not notice.

# %% [markdown] lang="zh"
# # 3 · 三种实现，一个置换
#
# 第 2 节的结尾是一个矩阵 $R_p$，几乎全是零，没有人会真的去乘它。通行的实现有三种，每种只有几行，你会把三种都写出来。
#
# 其中两种的结果逐个数都相同。第三种的配对不一样，但只隔着一个置换。所以，*前后配对还是相邻配对，哪个才
# 对？*（transformers [#25199](https://github.com/huggingface/transformers/issues/25199)、[#31859](https://github.com/huggingface/transformers/issues/31859)、[#33826](https://github.com/huggingface/transformers/issues/33826)）
# 两个都对。错的是混着用，而通常的测试发现不了。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import close, quiet
from figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    headline,
    name_lines,
    no_frame,
    point,
    use_style,
)
from given import frequencies
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(1)
use_style()

# %% [markdown] lang="en" short=true
# ## What all three share
#
# Queries and keys are tensors `x` of shape `[batch, seq, heads, head_dim]`; we write $d$ for `head_dim`. A token at
# position $p$ turns pair $i$ by the angle $p\, \theta_i$ with $\theta_i = b^{-2i/d}$, the same in every head. The
# function below takes *positions* rather than a length: they need not start at 0, and each row of a batch may have its
# own.
#
# A **layout** says which features are pairs. For $d = 8$:
#
# - **adjacent** (also: interleaved, GPT-J style): $(x_0, x_1), (x_2, x_3), (x_4, x_5), (x_6, x_7)$;
# - **half-split** (also: rotate-half, GPT-NeoX style): $(x_0, x_4), (x_1, x_5), (x_2, x_6), (x_3, x_7)$.
#
# `rotate_slowly` is the definition in plain loops, our yardstick.

# %% [markdown] lang="zh" short=true
# ## 三者共有的部分
#
# 查询和键是形状为 `[batch, seq, heads, head_dim]` 的张量 `x`，`head_dim` 记作 $d$。位置 $p$ 上的 token，第 $i$ 对特征旋
# 转 $p\, \theta_i$，其中 $\theta_i = b^{-2i/d}$，每个头都一样。下面的函数接收的是*位置*，而不是长度：位置不一定从 0 开
# 始，一批文本里各行的位置也可以不同。
#
# **排布**规定哪些特征成对。$d = 8$ 时：
#
# - **相邻配对**（adjacent，又称 interleaved，GPT-J 式）：$(x_0, x_1), (x_2, x_3), (x_4, x_5), (x_6, x_7)$；
# - **前后配对**（half-split，又称 rotate-half，GPT-NeoX 式）：$(x_0, x_4), (x_1, x_5), (x_2, x_6), (x_3, x_7)$。
#
# `rotate_slowly` 用朴素的循环写出定义，是我们的标尺。


# %%
def rotary_angles(positions: Tensor, dim: int, base: float = 10000.0) -> Tensor:
    """Radians for every position and pair: positions [...] to [..., dim/2], float64."""
    return positions[..., None] * frequencies(dim, base)


def adjacent_pairs(dim: int) -> list[tuple[int, int]]:
    """(0, 1), (2, 3), (4, 5), ..."""
    return [(i, i + 1) for i in range(0, dim, 2)]


def half_split_pairs(dim: int) -> list[tuple[int, int]]:
    """(0, dim/2), (1, dim/2 + 1), ..."""
    return [(i, i + dim // 2) for i in range(dim // 2)]


def rotate_slowly(x: Tensor, angles: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """Turn feature pairs[i] of every token and head by the angle i of its position.

    Args:
        x: [batch, seq, heads, dim].
        angles: [seq, dim/2].
        pairs: The layout.
    """
    y = torch.empty_like(x)
    for p in range(x.shape[1]):
        for i, (first, second) in enumerate(pairs):
            turn = complex(math.cos(angles[p, i]), math.sin(angles[p, i]))
            turned = torch.complex(x[:, p, :, first], x[:, p, :, second]) * turn
            y[:, p, :, first], y[:, p, :, second] = turned.real, turned.imag
    return y


def sample(seed: int, *shape: int) -> Tensor:
    """Random numbers to try things on, float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# %% [markdown] lang="en" short=true
# ### Exercise 3.1 · Adjacent pairs (2 points)
#
# The way the paper writes it (RoFormer, section 3.4.2, [arXiv:2104.09864](https://arxiv.org/abs/2104.09864v5)), with
# $\omega_i$ the angle of pair $i$:
#
# $$
# y_{2i} = x_{2i} \cos \omega_i - x_{2i+1} \sin \omega_i, \qquad
# y_{2i+1} = x_{2i} \sin \omega_i + x_{2i+1} \cos \omega_i .
# $$
#
# The slices `x[..., 0::2]` and `x[..., 1::2]` give first and second members of all pairs. At the end these must be
# *interleaved* again: `torch.cat` would leave all first members before all second ones, a bug met in [real
# code](https://github.com/vllm-project/vllm-metal/pull/44).
#
# Hint: A slice of `x` is `[batch, seq, heads, d/2]`, cosines are `[seq, d/2]`. PyTorch matches dimensions from the
# right, so positions would meet heads: `unsqueeze` puts the missing dimension in.

# %% [markdown] lang="zh" short=true
# ### 练习 3.1 · 相邻配对（2 分）
#
# 这是论文里的写法（RoFormer，3.4.2 节，[arXiv:2104.09864](https://arxiv.org/abs/2104.09864v5)），第 $i$ 对的角度记
# 作 $\omega_i$：
#
# $$
# y_{2i} = x_{2i} \cos \omega_i - x_{2i+1} \sin \omega_i, \qquad
# y_{2i+1} = x_{2i} \sin \omega_i + x_{2i+1} \cos \omega_i .
# $$
#
# 切片 `x[..., 0::2]` 和 `x[..., 1::2]` 分别取出所有对的前一成员和后一成员。最后，两部分要重新*交错*排列：`torch.cat` 会
# 让所有前一成员排在所有后一成员之前，[真实的代码](https://github.com/vllm-project/vllm-metal/pull/44)里就出过这个错。
#
# 提示：`x` 的切片是 `[batch, seq, heads, d/2]`，余弦是 `[seq, d/2]`。PyTorch 从右边起对齐各维，照这样，位置就对上了头：
# 用 `unsqueeze` 补上缺的那一维。


# %% nbgrader={"grade_id": "rotate_adjacent", "solution": true}
def rotate_adjacent(x: Tensor, angles: Tensor) -> Tensor:
    """Turn features (2i, 2i + 1) by the angle i, without a loop.

    Args:
        x: [batch, seq, heads, dim]. Not modified.
        angles: [seq, dim/2].

    Returns:
        [batch, seq, heads, dim].
    """
    ### BEGIN SOLUTION
    cos, sin = angles.cos().unsqueeze(-2), angles.sin().unsqueeze(-2)  # [seq, 1, dim/2]
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_adjacent_laws", "grade": true, "points": 2}
with quiet():
    x = torch.tensor([1.0, 2, 3, 4]).view(1, 1, 1, 4)
    assert close(rotate_adjacent(x, torch.zeros(1, 2)), x), "No turn, no change, and the features keep their order."
    turned = rotate_adjacent(x, torch.tensor([[math.pi / 2, 0]])).flatten()
    torch.testing.assert_close(
        turned, torch.tensor([-2.0, 1, 3, 4]), msg="A quarter turn of pair 0: (1, 2) to (-2, 1)."
    )
    two = rotate_adjacent(x.expand(1, 2, 2, 4), torch.tensor([[0, 0], [math.pi / 2, 0]]))  # two positions, two heads
    by_hand = torch.stack([x[0, 0].expand(2, 4), turned.expand(2, 4)])[None]
    torch.testing.assert_close(two, by_hand, msg="Position 1 turns, in both heads: angles belong to positions.")
    ### BEGIN HIDDEN TESTS
    for seed, (batch, seq, heads, dim) in enumerate([(2, 5, 3, 8), (1, 4, 4, 6), (3, 3, 1, 2)]):
        x, angles = sample(seed, batch, seq, heads, dim), rotary_angles(torch.arange(seq) + 7 * seed, dim)
        kept, turned = x.clone(), rotate_adjacent(x, angles)
        assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
        assert turned.shape == x.shape, "The shape stays."
        expected = rotate_slowly(x, angles, adjacent_pairs(dim))
        torch.testing.assert_close(
            turned, expected, msg="Angles belong to the second dimension, not to batch or heads."
        )
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## With complex numbers
#
# A rotation is one multiplication: $x_{2i} + \mathrm{j}\, x_{2i+1}$ times $e^{\mathrm{j} \omega_i}$. [Meta's own Llama
# code](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py) does it this
# way and calls the factors `freqs_cis`, for $\mathrm{cis}\, \omega = \cos \omega + \mathrm{j} \sin \omega$. The pairs
# are adjacent again.
#
# `torch.view_as_complex` reads a last dimension of **exactly 2** as real and imaginary part, and `torch.view_as_real`
# is its inverse. The 2 must stand last, `[..., d/2, 2]`, not `[..., 2, d/2]`; for $d = 4$ these are the same, so a test
# with $d = 4$ alone does not tell. (bfloat16 has to be converted first: there are no complex numbers of that type.)

# %% [markdown] lang="zh"
# ## 用复数
#
# 旋转就是一次乘法：$x_{2i} + \mathrm{j}\, x_{2i+1}$ 乘
# 以 $e^{\mathrm{j} \omega_i}$。[Meta 自己的 Llama 代码](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py)就
# 是这样写的，它把这些乘数叫作 `freqs_cis`，取自 $\mathrm{cis}\, \omega = \cos \omega + \mathrm{j} \sin \omega$。配对仍
# 是相邻的。
#
# `torch.view_as_complex` 把**恰好为 2** 的最后一维读作实部和虚部，`torch.view_as_real` 是它的逆。2 必须在最后，
# 是 `[..., d/2, 2]`，不是 `[..., 2, d/2]`；$d = 4$ 时两者一样，所以只用 $d = 4$ 测试是看不出来的。（bfloat16 要先转换：
# 没有这种类型的复数。）

# %% [markdown] lang="en"
# ### Exercise 3.2 · Complex `freqs_cis` (2 points)
#
# Write `rotate_complex`. Its table `freqs_cis` has the factors $e^{\mathrm{j} \omega}$, which `torch.polar` makes of
# lengths 1 and the angles.
#
# Hint: First cut the last dimension of `x` into `[dim/2, 2]`; `unflatten` does it. The table lacks a dimension for the
# heads, as in exercise 3.1.
#
# Hint: `torch.view_as_real` gives the 2 back as a dimension, which has to be merged again. If PyTorch complains about
# strides, `contiguous()` puts the memory in order.

# %% [markdown] lang="zh"
# ### 练习 3.2 · 复数形式的 `freqs_cis`（2 分）
#
# 写出 `rotate_complex`。它的表 `freqs_cis` 里是乘数 $e^{\mathrm{j} \omega}$，由 `torch.polar` 从长度 1 和各个角度造出。
#
# 提示：先用 `unflatten` 把 `x` 的最后一维切成 `[dim/2, 2]`。表里缺了头那一维，与练习 3.1 一样。
#
# 提示：`torch.view_as_real` 会把那个 2 还成单独的一维，要再合并回去。如果 PyTorch 抱怨 stride，用 `contiguous()` 理顺内
# 存。


# %% nbgrader={"grade_id": "rotate_complex", "solution": true}
def rotate_complex(x: Tensor, freqs_cis: Tensor) -> Tensor:
    """Turn features (2i, 2i + 1) by multiplying them, as complex numbers, by freqs_cis.

    Args:
        x: [batch, seq, heads, dim], float32 or float64. Not modified.
        freqs_cis: [seq, dim/2], complex, of the same precision.

    Returns:
        [batch, seq, heads, dim], real.
    """
    ### BEGIN SOLUTION
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # [batch, seq, heads, dim/2]
    return torch.view_as_real(pairs * freqs_cis.unsqueeze(-2)).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_complex_laws", "grade": true, "points": 2}
with quiet():
    x = torch.tensor([1.0, 2, 3, 4]).view(1, 1, 1, 4)
    turned = rotate_complex(x, torch.tensor([[1j, 1]]))
    assert turned.shape == x.shape, "The trailing 2 is merged again."
    torch.testing.assert_close(
        turned.flatten(), torch.tensor([-2.0, 1, 3, 4]), msg="Pair 0 is 1 + 2j; times j it is -2 + j."
    )
    six = torch.arange(1.0, 7).expand(1, 2, 2, 6)  # two positions, two heads, three pairs
    two = rotate_complex(six, torch.tensor([[1, 1, 1], [1j, 1, 1]]))
    by_hand = torch.stack([six[0, 0], torch.tensor([-2.0, 1, 3, 4, 5, 6]).expand(2, 6)])[None]
    torch.testing.assert_close(two, by_hand, msg="Position 1 turns, in both heads: factors belong to positions.")
    ### BEGIN HIDDEN TESTS
    for seed, (batch, seq, heads, dim) in enumerate([(2, 5, 3, 8), (1, 4, 4, 6), (2, 3, 1, 4)]):
        x, angles = sample(seed, batch, seq, heads, dim), rotary_angles(torch.arange(seq) + 7 * seed, dim)
        kept, turned = x.clone(), rotate_complex(x, torch.complex(angles.cos(), angles.sin()))
        assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
        assert turned.shape == x.shape, "The trailing 2 is merged again."
        expected = rotate_slowly(x, angles, adjacent_pairs(dim))
        torch.testing.assert_close(turned, expected, msg="The same pairs and angles as adjacent.")
    strided = sample(5, 2, 3, 5, 8).transpose(1, 2)  # as after a transpose of heads and sequence
    angles = rotary_angles(torch.arange(5), 8)
    turned = rotate_complex(strided, torch.complex(angles.cos(), angles.sin()))
    expected = rotate_slowly(strided, angles, adjacent_pairs(8))
    torch.testing.assert_close(turned, expected, msg="Strided inputs work too.")
    ### END HIDDEN TESTS

# %% [markdown] lang="en" short=true
# ## Half-split
#
# GPT-NeoX, and the ports of most models to the `transformers` library, pair feature $i$ with feature $i + d/2$: first
# and second members are the two halves of the vector. For $i < d/2$,
#
# $$
# y_i = x_i \cos \omega_i - x_{i+d/2} \sin \omega_i, \qquad
# y_{i+d/2} = x_i \sin \omega_i + x_{i+d/2} \cos \omega_i .
# $$
#
# It is often said to be cheaper. *It saves no arithmetic*: in all three, each pair takes four multiplications, an
# addition and a subtraction.

# %% [markdown] lang="zh" short=true
# ## 前后配对
#
# GPT-NeoX，以及多数模型移植到 `transformers` 库之后的版本，都让特征 $i$ 与特征 $i + d/2$ 成对：各对的前一成员和后一成
# 员，就是向量的前一半和后一半。对 $i < d/2$，
#
# $$
# y_i = x_i \cos \omega_i - x_{i+d/2} \sin \omega_i, \qquad
# y_{i+d/2} = x_i \sin \omega_i + x_{i+d/2} \cos \omega_i .
# $$
#
# 常有人说这样更省。*其实运算一点没省*：三种实现里，每一对都是四次乘法、一次加法、一次减法。

# %% [markdown] lang="en" short=true
# ### Exercise 3.3 · Half-split (2 points)
#
# Write `rotate_half_split`.
#
# Hint: The formulas of exercise 3.1, in other seats. Nothing is interleaved this time: which function joins two blocks?

# %% [markdown] lang="zh" short=true
# ### 练习 3.3 · 前后配对（2 分）
#
# 写出 `rotate_half_split`。
#
# 提示：公式还是练习 3.1 的，只是座位不同。这次不用交错：哪个函数把两块接起来？


# %% nbgrader={"grade_id": "rotate_half_split", "solution": true}
def rotate_half_split(x: Tensor, angles: Tensor) -> Tensor:
    """Turn features (i, i + dim/2) by the angle i, without a loop.

    Args:
        x: [batch, seq, heads, dim]. Not modified.
        angles: [seq, dim/2].

    Returns:
        [batch, seq, heads, dim].
    """
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    turn = torch.polar(torch.ones_like(angles), angles).unsqueeze(-2)  # [seq, 1, dim/2]
    turned = torch.complex(x[..., :half], x[..., half:]) * turn
    return torch.cat((turned.real, turned.imag), dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_half_split_laws", "grade": true, "points": 2}
with quiet():
    x = torch.tensor([1.0, 2, 3, 4]).view(1, 1, 1, 4)
    assert close(rotate_half_split(x, torch.zeros(1, 2)), x), "No turn, no change."
    turned = rotate_half_split(x, torch.tensor([[math.pi / 2, 0]])).flatten()
    expected = torch.tensor([-3.0, 2, 1, 4])
    torch.testing.assert_close(turned, expected, msg="Pair 0 is (x_0, x_2): a quarter turn takes (1, 3) to (-3, 1).")
    two = rotate_half_split(x.expand(1, 2, 2, 4), torch.tensor([[0, 0], [math.pi / 2, 0]]))  # two positions, two heads
    by_hand = torch.stack([x[0, 0].expand(2, 4), expected.expand(2, 4)])[None]
    torch.testing.assert_close(two, by_hand, msg="Position 1 turns, in both heads: angles belong to positions.")
    ### BEGIN HIDDEN TESTS
    for seed, (batch, seq, heads, dim) in enumerate([(2, 5, 3, 8), (1, 4, 4, 6), (3, 3, 1, 2)]):
        x, angles = sample(seed, batch, seq, heads, dim), rotary_angles(torch.arange(seq) + 7 * seed, dim)
        kept, turned = x.clone(), rotate_half_split(x, angles)
        assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
        assert turned.shape == x.shape, "The shape stays."
        expected = rotate_slowly(x, angles, half_split_pairs(dim))
        torch.testing.assert_close(
            turned, expected, msg="Pair i is (x_i, x_(i + d/2)), at every position, in every head."
        )
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## The same pairs in other seats
#
# For $d = 8$, line up first all first members of the adjacent pairs, then all second ones: features
# $0, 2, 4, 6, 1, 3, 5, 7$. Now every pair sits where half-split expects it.
#
# Let $\Pi$ be this reordering, $(\Pi x)_i = x_{\mathrm{order}[i]}$, and $R^{\mathrm{adj}}_p$ and $R^{\mathrm{half}}_p$
# the rotation in either layout. To reorder and rotate in half-split is to rotate adjacent pairs and reorder:
#
# $$
# R^{\mathrm{half}}_p\, \Pi = \Pi\, R^{\mathrm{adj}}_p .
# $$
#
# A permutation is orthogonal, $\Pi^\top \Pi = I$. So if *both* query and key are reordered,
#
# $$
# (R^{\mathrm{half}}_m \Pi q)^\top (R^{\mathrm{half}}_n \Pi k)
# = (\Pi R^{\mathrm{adj}}_m q)^\top (\Pi R^{\mathrm{adj}}_n k)
# = (R^{\mathrm{adj}}_m q)^\top (R^{\mathrm{adj}}_n k) ,
# $$
#
# every score is the same. A model trained from scratch can use either layout; a *trained* one has learnt where its
# pairs sit.

# %% [markdown] lang="zh"
# ## 同样的特征对，换了座位
#
# $d = 8$ 时，先排相邻配对的所有前一成员，再排所有后一成员：特征 $0, 2, 4, 6, 1, 3, 5, 7$。这样每一对都坐到了前后配对要
# 求的座位上。
#
# 记这个重排为 $\Pi$，$(\Pi x)_i = x_{\mathrm{order}[i]}$，两种排布下的旋转记
# 作 $R^{\mathrm{adj}}_p$ 和 $R^{\mathrm{half}}_p$。先换座位再按前后配对旋转，等于先按相邻配对旋转再换座位：
#
# $$
# R^{\mathrm{half}}_p\, \Pi = \Pi\, R^{\mathrm{adj}}_p .
# $$
#
# 置换是正交的，$\Pi^\top \Pi = I$。所以，只要查询和键*都*重排，
#
# $$
# (R^{\mathrm{half}}_m \Pi q)^\top (R^{\mathrm{half}}_n \Pi k)
# = (\Pi R^{\mathrm{adj}}_m q)^\top (\Pi R^{\mathrm{adj}}_n k)
# = (R^{\mathrm{adj}}_m q)^\top (R^{\mathrm{adj}}_n k) ,
# $$
#
# 每个得分就都一样。从头训练的模型用哪种排布都行；*训练好的*模型已经学会了它的各对坐在哪里。

# %%
dim, colours = 8, [BLUE, VERMILION, GREEN, PURPLE]
order = [0, 2, 4, 6, 1, 3, 5, 7]

figure, axes = plt.subplots(figsize=(4.6, 3.0))
for row, pairs, labels in [(1, adjacent_pairs(dim), range(dim)), (0, half_split_pairs(dim), order)]:
    for i, pair in enumerate(pairs):
        for seat in pair:
            box = plt.Rectangle(
                (seat - 0.4, row - 0.13), 0.8, 0.26, facecolor="white", edgecolor=colours[i], linewidth=2
            )
            axes.add_patch(box)
            axes.text(seat, row, f"$x_{labels[seat]}$", ha="center", va="center", color=colours[i], fontsize=11)
        bow, side = (-0.5, 0.13) if row else (0.28, -0.13)
        style = {"arrowstyle": "-", "color": colours[i], "linewidth": 1.5, "connectionstyle": f"arc3,rad={bow}"}
        axes.annotate("", xy=(pair[1], row + side), xytext=(pair[0], row + side), arrowprops=style)
for seat, feature in enumerate(order):
    line = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1, "linestyle": "--"}
    axes.annotate("", xy=(seat, 0.15), xytext=(feature, 0.85), arrowprops=line)
axes.set(xlim=(-0.5, 7.5), ylim=(-0.85, 1.65))
axes.text(-0.4, 1.5, "adjacent", va="center")
axes.text(-0.4, -0.72, "half-split", va="center")
no_frame(axes)
axes.set_title(f"Order {order}:\nthe same pairs, seated for half-split")
plt.show()

# %% [markdown] lang="en"
# ### Exercise 3.4 · The permutation (2 points)
#
# Write `half_split_order` for every even $d$: entry $i$ is the adjacent feature that moves to seat $i$, so that
# `x[..., half_split_order(d)]` is $\Pi x$. (The way back is `half_split_order(d).argsort()`; with $d = 4$ the
# permutation is its own inverse, so a test with $d = 4$ alone [cannot tell the two
# apart](https://github.com/onnxruntime/mobius/pull/396).)
#
# Hint: Write the list for $d = 6$ by hand: who sits in the first half, and where did they sit before?
#
# Hint: Join two ranges in steps of 2; or see the features as a table with a row for each pair: in which order is it
# read?

# %% [markdown] lang="zh"
# ### 练习 3.4 · 置换（2 分）
#
# 对每个偶数 $d$ 写出 `half_split_order`：第 $i$ 个元素是坐到座位 $i$ 上的那个特征在相邻配对里的编号，于
# 是 `x[..., half_split_order(d)]` 就是 $\Pi x$。（反方向是 `half_split_order(d).argsort()`；$d = 4$ 时这个置换恰好是自
# 己的逆，只用 $d = 4$ 测试，[正反分不出来](https://github.com/onnxruntime/mobius/pull/396)。）
#
# 提示：先用手写出 $d = 6$ 的名单：前一半坐的是谁，原来坐在哪里？
#
# 提示：由两段每步走 2 的数列拼成；或者把特征看成一张表，每一对一行：该按什么次序读？


# %% nbgrader={"grade_id": "half_split_order", "solution": true}
def half_split_order(dim: int) -> Tensor:
    """Which adjacent feature sits where in half-split: [dim], dtype long."""
    ### BEGIN SOLUTION
    return torch.arange(dim).view(-1, 2).T.flatten()
    ### END SOLUTION


# %% nbgrader={"grade_id": "half_split_order_laws", "grade": true, "points": 2}
with quiet():
    assert half_split_order(4).tolist() == [0, 2, 1, 3], (
        "Pairs (0, 1) and (2, 3): first members 0, 2, second ones 1, 3."
    )
    assert half_split_order(8).tolist() == [0, 2, 4, 6, 1, 3, 5, 7], "For d = 8, as in the figure."
    assert half_split_order(8).dtype == torch.long, "Indices are of dtype long."
    ### BEGIN HIDDEN TESTS
    for dim in (2, 6, 8, 64):
        order = half_split_order(dim)
        assert order.sort().values.tolist() == list(range(dim)), "Each feature gets one seat."
        seats = list(zip(order[: dim // 2].tolist(), order[dim // 2 :].tolist(), strict=True))
        assert seats == adjacent_pairs(dim), "Seats i and i + d/2 hold the adjacent pair i."
        x, angles = sample(dim, 1, 3, 2, dim), rotary_angles(torch.arange(3), dim)
        reordered_first = rotate_slowly(x[..., order], angles, half_split_pairs(dim))
        rotated_first = rotate_slowly(x, angles, adjacent_pairs(dim))[..., order]
        torch.testing.assert_close(
            reordered_first, rotated_first, msg="To reorder and rotate half-split is to rotate adjacent and reorder."
        )
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## Converting a checkpoint
#
# Queries and keys come from weights, which can be reordered once. A query is $q = W_Q\, x + \beta_Q$, with one row of
# $W_Q$ and one entry of $\beta_Q$ for each feature (`torch.nn.Linear` stores weights as `[out, in]`), so
# $\Pi q = (\Pi W_Q)\, x + \Pi\, \beta_Q$: **reorder the rows.**
#
# "Llama pairs half-split", one reads. Meta's code and weights pair adjacent features; the script that converts them for
# `transformers` (`convert_llama_weights_to_hf.py`) reorders the rows of $W_Q$ and $W_K$, and the port rotates in
# half-split. (ChatGLM2 and ChatGLM3, said to pair halves, are adjacent too, `reshape([sq, -1, np, rot_dim // 2, 2])`:
# [their code in
# PaddleNLP](https://github.com/PaddlePaddle/PaddleNLP/blob/09a77cc40045604635466410dbf403001167df2c/paddlenlp/transformers/chatglm_v2/modeling.py).)
# What a converter has to get right:
#
# - **Each head by itself.** The rows are `heads * head_dim`.
# - **Grouped queries** ([Ainslie et al., 2023](https://arxiv.org/abs/2305.13245)): keys have fewer heads than queries.
#   Before a converter knew that, Llama 2 70B [spoke gibberish](https://github.com/ggml-org/llama.cpp/issues/2376).
# - **Biases** of queries and keys are reordered like rows.
# - **Norms on queries and keys** (as in [Qwen3](https://arxiv.org/abs/2505.09388v1)) stand between projection and
#   rotation. Their weight has one entry for each feature, shared by all heads: `[head_dim]`, reordered as a single
#   head.
# - **Values and the output projection stay.**
# - Some models rotate only the first part of each head, GPT-J [64 of 256
#   features](https://huggingface.co/EleutherAI/gpt-j-6b). Then only that part is reordered.

# %% [markdown] lang="zh"
# ## 转换检查点
#
# 查询和键来自权重，而权重只需重排一次。查询是 $q = W_Q\, x + \beta_Q$，每个特征对应 $W_Q$ 的一行和 $\beta_Q$ 的一个元素
# （`torch.nn.Linear` 的权重按 `[out, in]` 存放），所以 $\Pi q = (\Pi W_Q)\, x + \Pi\, \beta_Q$：**重排行**即可。
#
# 常读到“Llama 是前后配对”。其实 Meta 的代码和权重是相邻配对；为 `transformers` 转换权重的脚本
# （`convert_llama_weights_to_hf.py`）重排了 $W_Q$ 和 $W_K$ 的行，移植后的代码再按前后配对旋转。（也常有人
# 说 ChatGLM2 和 ChatGLM3 是前后配对，其实它们也是相邻配
# 对，`reshape([sq, -1, np, rot_dim // 2, 2])`：[PaddleNLP 里的代码](https://github.com/PaddlePaddle/PaddleNLP/blob/09a77cc40045604635466410dbf403001167df2c/paddlenlp/transformers/chatglm_v2/modeling.py)。）
# 转换时要注意：
#
# - **每个头各自重排**。行数是 `heads * head_dim`。
# - **分组查询**（[Ainslie 等，2023](https://arxiv.org/abs/2305.13245)）：键的头数比查询少。在转换工具懂得这一点之
#   前，Llama 2 70B [满口胡话](https://github.com/ggml-org/llama.cpp/issues/2376)。
# - 查询和键的**偏置**，与行一样重排。
# - **查询和键的归一化**（如 [Qwen3](https://arxiv.org/abs/2505.09388v1)）在投影与旋转之间。归一化的权重每个特征一个、各
#   头共用，形状是 `[head_dim]`，要当作一个头来重排。
# - **值和输出投影不动**。
# - 有些模型只旋转每个头的前一部分，例如 GPT-J 只旋
#   转 [256 个特征中的 64 个](https://huggingface.co/EleutherAI/gpt-j-6b)。那就只重排这一部分。

# %% [markdown] lang="en"
# ### Exercise 3.5 · Convert (3 points)
#
# Write `convert`, from adjacent to half-split, for a whole attention layer. `torch.Tensor.unflatten(0, (heads, -1))`
# makes the heads visible; a reshape and a transpose can replace `half_split_order`.
#
# Hint: Cut the rows of `q.weight` into heads, the features of a head into pairs, and bring the first members of each
# head before the second ones; then merge what was cut.

# %% [markdown] lang="zh"
# ### 练习 3.5 · 转换（3 分）
#
# 为整个注意力层写出 `convert`，从相邻配对转换到前后配对。`torch.Tensor.unflatten(0, (heads, -1))` 能让各头显出来；不
# 用 `half_split_order`，一次变形加一次转置也行。
#
# 提示：把 `q.weight` 的行切成头，头里的特征切成对，让每个头里各对的第一个数排到第二个数前面，再把切开的合起来。


# %% nbgrader={"grade_id": "convert", "solution": true}
def convert(layer: dict[str, Tensor], query_heads: int, key_heads: int) -> dict[str, Tensor]:
    """The same attention layer for half-split rotation. All heads are rotated in full.

    Args:
        layer: Adjacent layout. `q.weight` [query_heads * head_dim, hidden], `q.bias` [query_heads * head_dim],
            `k.weight` and `k.bias` likewise for key_heads, `q_norm` and `k_norm` [head_dim], and `v.weight`, `v.bias`
            and `o.weight`. Not modified.
        query_heads: Heads of the queries.
        key_heads: Heads of keys and values; divides query_heads.

    Returns:
        A new dictionary with the same keys and shapes.
    """
    ### BEGIN SOLUTION
    heads = {"q.weight": query_heads, "q.bias": query_heads, "k.weight": key_heads, "k.bias": key_heads}
    heads |= {"q_norm": 1, "k_norm": 1}
    converted = dict(layer)
    for name, number in heads.items():
        pairs = layer[name].unflatten(0, (number, -1, 2))  # [heads, head_dim/2, 2, ...]
        converted[name] = pairs.transpose(1, 2).flatten(0, 2)  # first members of the pairs before second ones
    return converted
    ### END SOLUTION


# %% nbgrader={"grade_id": "convert_laws", "grade": true, "points": 3}
with quiet():

    def make_layer(seed: int, query_heads: int, key_heads: int, head_dim: int) -> dict[str, Tensor]:
        """A random attention layer over 12 hidden features."""
        rows, fewer = query_heads * head_dim, key_heads * head_dim
        shapes = {"q.weight": (rows, 12), "k.weight": (fewer, 12), "v.weight": (fewer, 12), "o.weight": (12, rows)}
        shapes |= {
            "q.bias": (rows,),
            "k.bias": (fewer,),
            "v.bias": (fewer,),
            "q_norm": (head_dim,),
            "k_norm": (head_dim,),
        }
        return {name: sample(seed + i, *shape) for i, (name, shape) in enumerate(shapes.items())}

    def layer_scores(
        layer: dict[str, Tensor], query_heads: int, key_heads: int, pairs: list[tuple[int, int]]
    ) -> Tensor:
        """Scores [query_heads, seq, seq] of 5 random tokens: project, normalise, rotate, multiply."""
        tokens, turned = sample(99, 1, 5, 12), {}
        for name, heads in {"q": query_heads, "k": key_heads}.items():
            x = (tokens @ layer[f"{name}.weight"].T + layer[f"{name}.bias"]).unflatten(-1, (heads, -1))
            x = x / x.pow(2).mean(-1, keepdim=True).sqrt() * layer[f"{name}_norm"]
            turned[name] = rotate_slowly(x, rotary_angles(torch.arange(5), x.shape[-1]), pairs)
        keys = turned["k"].repeat_interleave(query_heads // key_heads, dim=2)
        return torch.einsum("bmhd,bnhd->hmn", turned["q"], keys)

    layer = make_layer(0, 1, 1, 8)
    kept = {name: value.clone() for name, value in layer.items()}
    converted = convert(layer, 1, 1)
    assert all(torch.equal(layer[name], kept[name]) for name in kept), "The layer belongs to the caller."
    rows = layer["q.weight"][[0, 2, 4, 6, 1, 3, 5, 7]]
    assert torch.equal(converted["q.weight"], rows), "For one head of 8 features: rows 0, 2, 4, 6, 1, 3, 5, 7."
    assert torch.equal(converted["v.weight"], layer["v.weight"]), "Values are not rotated, so their weights stay."
    before, after = layer_scores(layer, 1, 1, adjacent_pairs(8)), layer_scores(converted, 1, 1, half_split_pairs(8))
    torch.testing.assert_close(after, before, msg="The scores are the same: look at biases and norms.")
    layer = make_layer(3, 2, 1, 4)  # two heads of queries, one of keys
    before = layer_scores(layer, 2, 1, adjacent_pairs(4))
    after = layer_scores(convert(layer, 2, 1), 2, 1, half_split_pairs(4))
    torch.testing.assert_close(after, before, msg="Each head by itself; keys have fewer heads than queries.")
    ### BEGIN HIDDEN TESTS
    for query_heads, key_heads, head_dim in [(4, 4, 8), (6, 2, 8), (4, 1, 6), (8, 2, 4)]:
        layer = make_layer(query_heads, query_heads, key_heads, head_dim)
        kept = {name: value.clone() for name, value in layer.items()}
        converted = convert(layer, query_heads, key_heads)
        assert converted.keys() == layer.keys(), "The converted layer has the same entries as the layer."
        assert all(converted[name].shape == layer[name].shape for name in layer), "Shapes stay."
        assert all(torch.equal(layer[name], kept[name]) for name in layer), "The layer belongs to the caller."
        before = layer_scores(layer, query_heads, key_heads, adjacent_pairs(head_dim))
        after = layer_scores(converted, query_heads, key_heads, half_split_pairs(head_dim))
        torch.testing.assert_close(after, before, msg="Each head by itself; keys have fewer heads than queries.")
        for name in ("v.weight", "v.bias", "o.weight"):
            assert torch.equal(converted[name], layer[name]), (
                "Values are not rotated: they and the output projection stay."
            )
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## How a mixed layout fails
#
# Suppose a head looks 5 tokens back: $d = 32$, adjacent pairs, $q_i = 1$ for the eight fastest, 0 for the others, and
# the same vector as key, turned by the angles of position 5. The score is then
# $\sum_{i=0}^{7} \cos((m - n - 5)\, \theta_i)$, largest at distance 5. Four common mistakes:
#
# - **A. Not converted.** The weights have one layout, and the code rotates in the other.
# - **B. Half converted.** Queries were reordered, keys were not.
# - **C. Tables of one layout, rotation of the other.** Tables need each angle twice. In half-split they are repeated as
#   a block, $(\omega_0, \omega_1, \dots, \omega_0, \omega_1, \dots)$; in adjacent, one by one,
#   $(\omega_0, \omega_0, \omega_1, \omega_1, \dots)$. The former [is no
#   bug](https://github.com/huggingface/transformers/issues/40462), but crossing the two [is
#   one](https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6).
# - **D. Turned the wrong way.** The sign of the sine is flipped, for queries and keys. The head then looks 5 tokens
#   *ahead*, which the mask forbids; of what lies behind, it likes 1 back best.

# %% [markdown] lang="zh"
# ## 混用排布会怎样出错
#
# 设有一个头往回看 5 个 token：$d = 32$，相邻配对，最快的八对 $q_i = 1$，其余为 0；键是同一个向量，但已按位置 5 的角度旋
# 转过。得分是 $\sum_{i=0}^{7} \cos((m - n - 5)\, \theta_i)$，在距离 5 处最大。四个常见的错误：
#
# - **A. 没有转换**：权重是一种排布，代码按另一种旋转。
# - **B. 只转换了一半**：查询重排了，键没有。
# - **C. 表用一种排布，旋转用另一种**：表里每个角度要出现两次。前后配对是整段重
#   复，$(\omega_0, \omega_1, \dots, \omega_0, \omega_1, \dots)$；相邻配对是逐个重
#   复，$(\omega_0, \omega_0, \omega_1, \omega_1, \dots)$。前一
#   种[没有写错](https://github.com/huggingface/transformers/issues/40462)，但把两种混在一
#   起[就错了](https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6)。
# - **D. 转反了方向**：正弦弄错了符号。这个头看的于是成了 5 个 token *之后*，那里被掩码挡住了；在往回看得到的里面，它最
#   喜欢往回 1 个。

# %%
dim, back, far = 32, 5, 24
order = half_split_order(dim)
query = torch.zeros(1, 1, 1, dim, dtype=torch.float64)
query[..., 0:16:2] = 1  # real parts of the pairs 0 to 7
key = rotate_adjacent(query, rotary_angles(torch.tensor([back]), dim))


def cross_tables(x: Tensor, angles: Tensor) -> Tensor:
    """Mistake C: angles repeated one by one, but pairs (i, i + dim/2); each member finds an angle of its own."""
    y = torch.empty_like(x)
    for first, second in half_split_pairs(dim):
        one, other = angles[0, first // 2], angles[0, second // 2]  # what such a table holds in these two seats
        y[..., first] = x[..., first] * one.cos() - x[..., second] * one.sin()
        y[..., second] = x[..., first] * other.sin() + x[..., second] * other.cos()
    return y


def score_at(rotate, query: Tensor, key: Tensor, m: int, n: int) -> float:
    """The score of a query at position m and a key at position n, [1, 1, 1, dim] each."""
    at_m, at_n = (rotary_angles(torch.tensor([p]), dim) for p in (m, n))
    return (rotate(query, at_m) * rotate(key, at_n)).sum().item()


cases = {
    "right": (rotate_half_split, query[..., order], key[..., order]),
    "A: not converted": (rotate_half_split, query, key),
    "B: queries only": (rotate_half_split, query[..., order], key),
    "C: crossed tables": (cross_tables, query[..., order], key[..., order]),
    "D: wrong way": (lambda x, angles: rotate_half_split(x, -angles), query[..., order], key[..., order]),
}
colours, marks = [BLACK, VERMILION, BLUE, GREEN, ORANGE], ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), width_ratios=[3, 2], sharey=True)
peaks = {}
for (name, case), colour, dashes in zip(cases.items(), colours, marks, strict=True):
    by_distance = torch.tensor([score_at(*case, 40, 40 - distance) for distance in range(far)], dtype=torch.float64)
    by_position = torch.tensor([score_at(*case, m + back, m) for m in range(60)], dtype=torch.float64)
    left.plot(by_distance, color=colour, linestyle=dashes)
    right.plot(by_position, color=colour, linestyle=dashes, label=name)
    peaks[name] = int(by_distance.argmax())
left.axvline(back, color=GREY, linewidth=0.8, linestyle="-", zorder=0)
left.set(xlabel="distance m - n, query at 40", ylabel="score")
right.set(xlabel="position n of the key, at distance 5")
right.tick_params(labelleft=True)
looked, *mixed = peaks.values()
point(left, f"right: looks {looked} back", (back, max(left.lines[0].get_ydata())), (14, -4))
headline(figure, f"The head looked {looked} back; mixed up, it looks {', '.join(map(str, mixed))} back")
name_lines(right)
plt.show()
# %% [markdown] lang="en"
# Left: none of the four looks 5 tokens back. Right: both tokens move along together, and
# [A](#layout?keys=no&queries=no&blocks=yes&forward=yes), [B](#layout?keys=no&queries=yes&blocks=yes&forward=yes) and
# [D](#layout?keys=yes&queries=yes&blocks=yes&forward=no) are *flat*: any pairing, and any direction, is a rotation, so
# **the shift test of notebook 2 passes**. At distance 0, A and D even give the right score. Only
# [C](#layout?keys=yes&queries=yes&blocks=no&forward=yes) is not a rotation, and fails it. (The other direction is not
# wrong in itself: [nanochat](https://github.com/karpathy/nanochat/blob/master/nanochat/gpt.py) always turns clockwise.)
#
# <!-- touch: layout -->
#
# So a mixed layout breaks no law of RoPE, only the agreement with what the weights have learnt: the model speaks fluent
# nonsense. The test that finds it: **compare scores with the original implementation, at several distances**, with
# $d > 4$ and more than one head.

# %% [markdown] lang="zh"
# 左图：四种错误里，没有一种还在看 5 个 token 之前。右图：两个 token 一起移
# 动，[A](#layout?keys=no&queries=no&blocks=yes&forward=yes)、[B](#layout?keys=no&queries=yes&blocks=yes&forward=yes)、[D](#layout?keys=yes&queries=yes&blocks=yes&forward=no) 都
# 是*平的*：不管怎样配对、朝哪个方向，都是旋转，所以**第 2 节的平移测试照样通过**；在距离 0 处，A 和 D 的得分甚至是对
# 的。只有 [C](#layout?keys=yes&queries=yes&blocks=no&forward=yes) 不是旋转，通不过。（反方向本身并没有
# 错：[nanochat](https://github.com/karpathy/nanochat/blob/master/nanochat/gpt.py) 一直是顺时针转的。）
#
# <!-- touch: layout -->
#
# 可见混用排布并不违反 RoPE 的任何规律，破坏的是与权重所学内容之间的约定：模型流利地胡说。能查出来的测试是：**在几个不同
# 的距离上，与原来的实现比较得分**，并且 $d > 4$、不止一个头。

# %% [markdown] lang="en"
# ## Positions that do not start at 0
#
# With a key cache, a new token comes alone, but its position is the number of tokens before it. Code that builds its
# table from the length of the *input* does not turn it.
#
# In batches, shorter texts are padded on the left. A shift common to all tokens of a text does no harm, unless one step
# counts the padding and the next does not: in [unsloth #3699](https://github.com/unslothai/unsloth/issues/3699) the
# padded texts came out as garbage. So count the real tokens of each row, in every step alike.

# %% [markdown] lang="zh"
# ## 位置不从 0 开始
#
# 有了键缓存，新 token 独自到来，它的位置却是它之前 token 的个数。如果代码按*输入*的长度造表，它就没有旋转。
#
# 成批处理时，较短的文本要在左侧填充。一段文本里所有 token 一起平移，没有害处；有害的是前一步把填充数进去、后一步又不
# 数：在 [unsloth #3699](https://github.com/unslothai/unsloth/issues/3699) 里，被填充的文本输出成了乱码。所以要逐行数真
# 实的 token，而且每一步都这样数。

# %% [markdown] lang="en"
# ### Exercise 3.6 · Count the real tokens (1 point)
#
# Write `position_ids`: the first real token of each row is at position 0, the next at 1, and so on. Padding gets
# position 0.
#
# Hint: A running sum along the row, which accepts bools, counts the real tokens up to and including this one.
#
# Hint: Compare this count with what is asked, at the first real token and at the padding before it: one operation fixes
# each.

# %% [markdown] lang="zh"
# ### 练习 3.6 · 数真实的 token（1 分）
#
# 写出 `position_ids`：每一行第一个真实 token 的位置是 0，下一个是 1，依此类推。填充的位置填 0。
#
# 提示：沿着行累加，就数出到这个 token 为止（连它在内）有几个真实的 token；布尔值也能累加。
#
# 提示：拿这个数与要的结果比一比，看第一个真实 token 处和它前面的填充处：各用一步就能改过来。


# %% nbgrader={"grade_id": "position_ids", "solution": true}
def position_ids(is_real: Tensor) -> Tensor:
    """The positions of tokens in a batch that is padded on the left: [batch, seq] bool to [batch, seq] long."""
    ### BEGIN SOLUTION
    return (is_real.cumsum(dim=-1) - 1).clamp(min=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "position_ids_laws", "grade": true, "points": 1}
with quiet():
    is_real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]).bool()
    by_hand = [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert position_ids(is_real).tolist() == by_hand, "Count from the first real token of each row."
    assert position_ids(is_real).dtype == torch.long, "Positions are of dtype long."
    ### BEGIN HIDDEN TESTS
    padding = torch.tensor([0, 6, 3, 1])
    is_real = torch.arange(7) >= padding[:, None]
    positions = position_ids(is_real)
    assert positions[:, -1].tolist() == [6, 0, 3, 5], "The last token comes after all real ones before it."
    assert (positions[~is_real] == 0).all(), "Padding gets position 0."
    longer = position_ids(torch.cat((is_real, torch.ones(4, 1).bool()), dim=1))
    assert torch.equal(longer[:, :-1], positions), "A further token does not move those before it."
    assert torch.equal(longer[:, -1], positions[:, -1] + 1), "The further token stands one position after the last."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## All of it
#
# Causal attention with rotary positions, as a language model has it, with a cache of the turned keys. It multiplies in
# a fourth way: the two halves are rolled past each other.

# %% [markdown] lang="zh"
# ## 全部合在一起
#
# 语言模型里就是这样写的：带旋转位置的因果注意力，转好的键存进缓存。乘法用的是第四种写法：两半互相滚过。


# %%
class Attention(nn.Module):
    """Causal attention with rotary positions: [batch, seq, width] to the same."""

    def __init__(self, width: int, heads: int, base: float = 10000.0) -> None:
        super().__init__()
        self.heads, self.dim, self.base = heads, width // heads, base
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        """Turn the queries or keys [batch, heads, seq, dim] of tokens at these positions [seq]."""
        angles = rotary_angles(positions, self.dim, self.base).to(x.dtype)
        cos, sin = torch.cat((angles, angles), dim=-1).cos(), torch.cat((-angles, angles), dim=-1).sin()
        return x * cos + x.roll(self.dim // 2, dims=-1) * sin  # sin(-ω) is the minus of the first half

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The output for new tokens, and the keys and values of all tokens so far, to be handed in with the next."""
        query, key, value = self.project(x).unflatten(-1, (3, self.heads, self.dim)).permute(2, 0, 3, 1, 4)
        past = 0 if cache is None else cache[0].shape[2]
        positions = past + torch.arange(x.shape[1])
        query, key = self.turn(query, positions), self.turn(key, positions)  # values are left as they are
        if cache is not None:
            key, value = torch.cat((cache[0], key), dim=2), torch.cat((cache[1], value), dim=2)
        seen = torch.arange(key.shape[2]) <= positions[:, None]
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=seen)
        return self.out(mixed.transpose(1, 2).flatten(2)), (key, value)


torch.manual_seed(0)
layer, text = Attention(32, 4).double(), sample(11, 2, 10, 32)
with torch.no_grad():
    at_once, _ = layer(text)
    cache, pieces = None, []
    for new in text.split((4, 1, 1, 3, 1), dim=1):  # a prompt, then a token or a few
        piece, cache = layer(new, cache)
        pieces.append(piece)
in_pieces = torch.cat(pieces, dim=1)
turned = layer.turn(text.unflatten(-1, (4, 8)).transpose(1, 2), torch.arange(10)).transpose(1, 2)
defined = rotate_slowly(text.unflatten(-1, (4, 8)), rotary_angles(torch.arange(10), 8), half_split_pairs(8))
print(f"in pieces with a cache: off from at once by {(in_pieces - at_once).abs().max():.0e} at most")
print(f"rolled: off from the definition by {(turned - defined).abs().max():.0e} at most")
assert (in_pieces - at_once).abs().max() < 1e-12
assert (turned - defined).abs().max() < 1e-12

# %% [markdown] lang="en"
# **Next:** [notebook 4](4_decay_and_precision.ipynb): do scores fall with distance, and what becomes of the angles in
# 16 bits?

# %% [markdown] lang="zh"
# **下一节**：[第 4 节](4_decay_and_precision.ipynb)：得分随距离下降吗？角度存成 16 位之后又会怎样？

# %% [markdown] lang="en"
# # 3 · Three implementations, one permutation
#
# Notebook 2 ended with a matrix: position $p$ multiplies queries and keys by $R_p$. For $d = 128$ features it has
# $128^2 = 16384$ entries, of which $2 d = 256$ are not zero. Nobody multiplies by it. Three implementations are in use,
# each a few lines long, and you will write all three.
#
# Two of them agree number by number. The third pairs other features, and its results look all different; yet a single
# permutation leads from one to the other. So the question keeps coming back: *half-split or adjacent, which one is
# right?* (transformers [#25199](https://github.com/huggingface/transformers/issues/25199),
# [#31859](https://github.com/huggingface/transformers/issues/31859),
# [#33826](https://github.com/huggingface/transformers/issues/33826)). Both are. What is wrong is to mix them, and the
# usual tests do not notice.

# %% [markdown] lang="zh"
# # 3 · 三种实现，一个置换
#
# 第 2 节的结尾是一个矩阵：位置 $p$ 上的查询和键要乘以 $R_p$。特征数 $d = 128$ 时，它有 $128^2 = 16384$ 个元素，
# 其中不为零的只有 $2 d = 256$ 个，没有人会真的去乘它。通行的实现有三种，每种只有几行，你会把三种都写出来。
#
# 其中两种的结果逐个数都相同。第三种的配对不一样，结果看上去也完全不同，但只隔着一个置换。
# 于是同一个问题反复出现：*前后配对还是相邻配对，
# 哪个才对？*（transformers [#25199](https://github.com/huggingface/transformers/issues/25199)、[#31859](https://github.com/huggingface/transformers/issues/31859)、[#33826](https://github.com/huggingface/transformers/issues/33826)）
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
# position $p$ turns pair $i$ by the angle $p\, \theta_i$ with $\theta_i = b^{-2i/d}$, the same in every head. These
# angles are a table, `[seq, head_dim/2]`. The function below takes the *positions* rather than a length: they need not
# start at 0, and each row of a batch may have its own. That will matter at the end.
#
# A **layout** says which features are pairs. For $d = 8$ these two are in use:
#
# - **adjacent** (also: interleaved, GPT-J style): $(x_0, x_1), (x_2, x_3), (x_4, x_5), (x_6, x_7)$;
# - **half-split** (also: rotate-half, GPT-NeoX style): $(x_0, x_4), (x_1, x_5), (x_2, x_6), (x_3, x_7)$.
#
# `rotate_slowly` is the definition in plain loops, for any layout. It is our yardstick.

# %% [markdown] lang="zh" short=true
# ## 三者共有的部分
#
# 查询和键是形状为 `[batch, seq, heads, head_dim]` 的张量 `x`，`head_dim` 记作 $d$。位置 $p$ 上的 token，
# 第 $i$ 对特征旋转 $p\, \theta_i$，其中 $\theta_i = b^{-2i/d}$，每个头都一样。这些角度列成一张表，`[seq, head_dim/2]`。
# 下面的函数接收的是*位置*，而不是长度：位置不一定从 0 开始，一批文本里各行的位置也可以不同。这一点到最后会很要紧。
#
# **排布**规定哪些特征成对。$d = 8$ 时，通行的有两种：
#
# - **相邻配对**（adjacent，又称 interleaved，GPT-J 式）：$(x_0, x_1), (x_2, x_3), (x_4, x_5), (x_6, x_7)$；
# - **前后配对**（half-split，又称 rotate-half，GPT-NeoX 式）：$(x_0, x_4), (x_1, x_5), (x_2, x_6), (x_3, x_7)$。
#
# `rotate_slowly` 用朴素的循环写出定义，适用于任何排布。它是我们的标尺。


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


whole = torch.block_diag(*[torch.ones(2, 2)] * 64)  # where the matrix for d = 128 may have entries
assert (whole.shape, whole.numel(), int(whole.sum())) == ((128, 128), 16384, 256)  # what the text says


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
# The way the paper writes it (RoFormer, section 3.4.2, [arXiv:2104.09864](https://arxiv.org/abs/2104.09864v5)). For each
# pair $i$, with $\omega_i$ its angle,
#
# $$
# y_{2i} = x_{2i} \cos \omega_i - x_{2i+1} \sin \omega_i, \qquad
# y_{2i+1} = x_{2i} \sin \omega_i + x_{2i+1} \cos \omega_i .
# $$
#
# The slices `x[..., 0::2]` and `x[..., 1::2]` give first and second members of all pairs. The angles lack a dimension
# for the heads: `[seq, d/2]` has to become `[seq, 1, d/2]`. At the end the two halves must be *interleaved* again.
# `torch.cat` would leave all first members before all second ones, a bug met in
# [real code](https://github.com/vllm-project/vllm-metal/pull/44).
#
# Hint: Write down the shapes. A slice of `x` is `[batch, seq, heads, d/2]`, cosines are `[seq, d/2]`. PyTorch matches
# dimensions from the right, so as they are, positions would meet heads.
#
# Hint: `unsqueeze` puts the missing dimension in. Then the two formulas can be written as they stand, for all pairs
# at once.

# %% [markdown] lang="zh" short=true
# ### 练习 3.1 · 相邻配对（2 分）
#
# 这是论文里的写法（RoFormer，3.4.2 节，[arXiv:2104.09864](https://arxiv.org/abs/2104.09864v5)）。对每一对 $i$，
# 设它的角度为 $\omega_i$，
#
# $$
# y_{2i} = x_{2i} \cos \omega_i - x_{2i+1} \sin \omega_i, \qquad
# y_{2i+1} = x_{2i} \sin \omega_i + x_{2i+1} \cos \omega_i .
# $$
#
# 切片 `x[..., 0::2]` 和 `x[..., 1::2]` 分别取出所有对的前一成员和后一成员。角度还缺一个对应各头的维度：
# 要把 `[seq, d/2]` 变成 `[seq, 1, d/2]`。最后，两部分要重新*交错*排列。`torch.cat` 会让所有前一成员排在所有后一成员之
# 前，[真实的代码](https://github.com/vllm-project/vllm-metal/pull/44)里就出过这个错。
#
# 提示：先写下各个形状。`x` 的切片是 `[batch, seq, heads, d/2]`，余弦是 `[seq, d/2]`。PyTorch 从右边起对齐各维，照这样，位
# 置就对上了头。
#
# 提示：用 `unsqueeze` 补上缺的那一维。之后两条公式照写即可，所有的特征对一次算完。


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
# A pair is a complex number, and a rotation is one multiplication: $x_{2i} + \mathrm{j}\, x_{2i+1}$ times
# $e^{\mathrm{j} \omega_i}$. This is how Meta's own Llama code does it
# ([llama/model.py](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py));
# it calls the factors `freqs_cis`, since $\mathrm{cis}\, \omega$ is an old name for
# $\cos \omega + \mathrm{j} \sin \omega$. The pairs are adjacent again.
#
# `torch.view_as_complex` reads a last dimension of **exactly 2** as real and imaginary part, and `torch.view_as_real`
# is its inverse. The 2 must stand last, `[..., d/2, 2]`, not `[..., 2, d/2]`; for $d = 4$ these are the same, so a test
# with $d = 4$ alone does not tell. The way back has to merge the last two dimensions. (Two more slips of tutorials:
# `torch.cat` wants one tuple, `torch.cat((a, b))`; and bfloat16 has to be converted first, since there are no complex
# numbers of that type.)

# %% [markdown] lang="zh"
# ## 用复数
#
# 一对就是一个复数，旋转就是一次乘法：$x_{2i} + \mathrm{j}\, x_{2i+1}$ 乘以 $e^{\mathrm{j} \omega_i}$。Meta 自己
# 的[Llama 代码](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py)就是这
# 样写的，它把这些乘数叫作 `freqs_cis`，因为 $\mathrm{cis}\, \omega$ 是 $\cos \omega + \mathrm{j} \sin \omega$ 的旧称。
# 配对仍是相邻的。
#
# `torch.view_as_complex` 把**恰好为 2** 的最后一维读作实部和虚部，`torch.view_as_real` 是它的逆。2 必须在最后，是 `[..., d/2, 2]`，
# 不是 `[..., 2, d/2]`；$d = 4$ 时两者一样，所以只用 $d = 4$ 测试是看不出来的。回来的路上要把最后两维合并。
# （教程里还有两个错误：`torch.cat` 要的是一个元组，`torch.cat((a, b))`；bfloat16 要先转换，因为没有这种类型的复数。）

# %% [markdown] lang="en"
# ### Exercise 3.2 · Complex `freqs_cis` (2 points)
#
# Write `rotate_complex`. Its table `freqs_cis` has the factors $e^{\mathrm{j} \omega}$, which `torch.polar` makes of
# lengths 1 and the angles.
#
# Hint: `torch.view_as_complex` reads a last dimension of size 2 as real and imaginary part. So first cut the last
# dimension of `x` into `[dim/2, 2]`; `unflatten` does it.
#
# Hint: The table lacks a dimension for the heads, as the angles of exercise 3.1 did. After that, to rotate is one
# multiplication.
#
# Hint: `torch.view_as_real` gives the 2 back as a dimension of its own, which has to be merged again. And if PyTorch
# complains about strides, the memory of `x` is not in order: `contiguous()` puts it so.

# %% [markdown] lang="zh"
# ### 练习 3.2 · 复数形式的 `freqs_cis`（2 分）
#
# 写出 `rotate_complex`。它的表 `freqs_cis` 里是乘数 $e^{\mathrm{j} \omega}$，由 `torch.polar` 从长度 1 和各个角度造出。
#
# 提示：`torch.view_as_complex` 把大小为 2 的最后一维读成实部和虚部。所以先把 `x` 的最后一维切成 `[dim/2, 2]`，
# 用 `unflatten`。
#
# 提示：表里缺了头那一维，与练习 3.1 的角度一样。补上之后，旋转就是一次乘法。
#
# 提示：`torch.view_as_real` 会把那个 2 还成单独的一维，要再合并回去。如果 PyTorch 抱怨 stride，那是 `x` 在内存里的次
# 序不合适，用 `contiguous()` 理顺。


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
# GPT-NeoX, and the ports of most models to the `transformers` library, pair feature $i$ with feature $i + d/2$. Then no
# interleaving is needed: first and second members of the pairs are the two halves of the vector. For $i < d/2$,
#
# $$
# y_i = x_i \cos \omega_i - x_{i+d/2} \sin \omega_i, \qquad
# y_{i+d/2} = x_i \sin \omega_i + x_{i+d/2} \cos \omega_i .
# $$
#
# It is often said to be cheaper. *It saves no arithmetic.* Each pair takes four multiplications, an addition and a
# subtraction, in all three implementations. What differs is how memory is walked through: two solid halves, or every
# second number. Which is faster depends on the machine and the compiler.

# %% [markdown] lang="zh" short=true
# ## 前后配对
#
# GPT-NeoX，以及多数模型移植到 `transformers` 库之后的版本，都让特征 $i$ 与特征 $i + d/2$ 成对。这样就不必交错：
# 各对的前一成员和后一成员，就是向量的前一半和后一半。对 $i < d/2$，
#
# $$
# y_i = x_i \cos \omega_i - x_{i+d/2} \sin \omega_i, \qquad
# y_{i+d/2} = x_i \sin \omega_i + x_{i+d/2} \cos \omega_i .
# $$
#
# 常有人说这样更省。*其实运算一点没省*：三种实现里，每一对都是四次乘法、一次加法、一次减法。不同的是怎样读写内存：
# 是两段连续的数，还是每隔一个取一个。哪种更快，要看机器和编译器。

# %% [markdown] lang="en" short=true
# ### Exercise 3.3 · Half-split (2 points)
#
# Write `rotate_half_split`.
#
# Hint: The two formulas are those of exercise 3.1. Only the seats are others: the first members of all pairs are the
# first half of the features, the second members the second half.
#
# Hint: The results have to sit where their inputs sat. So this time nothing is interleaved: which function joins two
# blocks?

# %% [markdown] lang="zh" short=true
# ### 练习 3.3 · 前后配对（2 分）
#
# 写出 `rotate_half_split`。
#
# 提示：公式还是练习 3.1 的那两条，只是座位不同：所有对的第一个数是前一半特征，第二个数是后一半特征。
#
# 提示：结果要坐回原来的座位，所以这次不用交错：哪个函数把两块接起来？


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
# Compare the layouts for $d = 8$. In both there are four pairs, and pair $i$ turns by the same angle; but its members
# sit in other seats. Line up first all first members of the adjacent pairs, then all second ones: features
# $0, 2, 4, 6, 1, 3, 5, 7$. Now every pair sits where half-split expects it.
#
# Let $\Pi$ be this reordering, $(\Pi x)_i = x_{\mathrm{order}[i]}$, a permutation matrix as in notebook 0. Write
# $R^{\mathrm{adj}}_p$ and $R^{\mathrm{half}}_p$ for the rotation in either layout. Reordering and then rotating in
# half-split is the same as rotating adjacent pairs and then reordering:
#
# $$
# R^{\mathrm{half}}_p\, \Pi = \Pi\, R^{\mathrm{adj}}_p .
# $$
#
# A permutation does not change dot products, $\Pi^\top \Pi = I$. So if *both* query and key are reordered,
#
# $$
# (R^{\mathrm{half}}_m \Pi q)^\top (R^{\mathrm{half}}_n \Pi k)
# = (\Pi R^{\mathrm{adj}}_m q)^\top (\Pi R^{\mathrm{adj}}_n k)
# = (R^{\mathrm{adj}}_m q)^\top (R^{\mathrm{adj}}_n k) ,
# $$
#
# every score is the same. Neither layout is more right than the other; a model trained from scratch can use either. A
# *trained* model has learnt where its pairs sit.

# %% [markdown] lang="zh"
# ## 同样的特征对，换了座位
#
# 比较 $d = 8$ 时的两种排布。两边都有四对，第 $i$ 对旋转的角度也相同，只是成员坐的座位不同。先排相邻配对的所有前一成员，
# 再排所有后一成员：特征 $0, 2, 4, 6, 1, 3, 5, 7$。这样每一对都坐到了前后配对要求的座位上。
#
# 记这个重排为 $\Pi$，$(\Pi x)_i = x_{\mathrm{order}[i]}$，它和第 0 节一样是一个置换矩阵。
# 两种排布下的旋转记作 $R^{\mathrm{adj}}_p$ 和 $R^{\mathrm{half}}_p$。先换座位再按前后配对旋转，
# 等于先按相邻配对旋转再换座位：
#
# $$
# R^{\mathrm{half}}_p\, \Pi = \Pi\, R^{\mathrm{adj}}_p .
# $$
#
# 置换不改变点积，$\Pi^\top \Pi = I$。所以，只要查询和键*都*重排，
#
# $$
# (R^{\mathrm{half}}_m \Pi q)^\top (R^{\mathrm{half}}_n \Pi k)
# = (\Pi R^{\mathrm{adj}}_m q)^\top (\Pi R^{\mathrm{adj}}_n k)
# = (R^{\mathrm{adj}}_m q)^\top (R^{\mathrm{adj}}_n k) ,
# $$
#
# 每个得分就都一样。两种排布没有哪个更正确；从头训练的模型用哪种都行。但*训练好的*模型已经学会了它的各对坐在哪里。

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
# `x[..., half_split_order(d)]` is $\Pi x$. (The way back is `half_split_order(d).argsort()`.) Beware of testing with
# $d = 4$ alone: there the permutation is its own inverse, and forward and backward cannot be told apart. That, too,
# [has happened](https://github.com/onnxruntime/mobius/pull/396).
#
# Hint: Write the list for $d = 6$ by hand: who sits in the first half, the first members or the second ones? Where
# did they sit before?
#
# Hint: It can be made of two ranges in steps of 2. Or see the features as a table with a row for each pair: in which
# order must it be read?

# %% [markdown] lang="zh"
# ### 练习 3.4 · 置换（2 分）
#
# 对每个偶数 $d$ 写出 `half_split_order`：第 $i$ 个元素是坐到座位 $i$ 上的那个特征在相邻配对里的编号，
# 于是 `x[..., half_split_order(d)]` 就是 $\Pi x$。（反方向是 `half_split_order(d).argsort()`。）小心不要只用 $d = 4$ 测
# 试：那时这个置换恰好是自己的逆，正反分不出来。这样的事也[发生过](https://github.com/onnxruntime/mobius/pull/396)。
#
# 提示：先用手写出 $d = 6$ 的名单：前一半坐的是各对的第一个数还是第二个数？它们原来坐在哪里？
#
# 提示：可以由两段每步走 2 的数列拼成；也可以把特征看成一张表，每一对一行：这张表该按什么次序读？


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
# Reordering queries and keys at run time would cost something. But they come from weights, and weights can be reordered
# once. A query is $q = W_Q\, x + \beta_Q$, with one row of $W_Q$ and one entry of $\beta_Q$ for each feature (`torch.nn.Linear`
# stores weights as `[out, in]`), so $\Pi q = (\Pi W_Q)\, x + \Pi\, \beta_Q$: **reorder the rows.**
#
# "Llama pairs half-split", one reads. Meta's code and weights pair adjacent features. The script that converts them for
# `transformers` (`convert_llama_weights_to_hf.py`) reorders the rows of $W_Q$ and $W_K$, and the port then rotates in
# half-split. Same scores, other layout; the maintainers say so in #25199 and #31859, linked above. What a converter has
# to get right:
#
# - **Each head by itself.** The rows are `heads * head_dim`; the permutation acts inside each head.
# - **Grouped queries** ([Ainslie et al., 2023](https://arxiv.org/abs/2305.13245)): keys have fewer heads than queries.
#   Before a converter knew that, Llama 2 70B [spoke gibberish](https://github.com/ggml-org/llama.cpp/issues/2376), and so did
#   [TinyLlama](https://github.com/jzhang38/TinyLlama/issues/24), until the converter [counted the heads of keys
#   right](https://github.com/ggml-org/llama.cpp/pull/3364).
# - **Biases** of queries and keys are reordered like rows.
# - **Norms on queries and keys** (as in [Qwen3](https://arxiv.org/abs/2505.09388v1)) stand between projection and
#   rotation. The root mean square over a head does not care about order, but its weight has one entry for each feature,
#   shared by all heads: `[head_dim]`, reordered as a single head.
# - **Values and the output projection stay.** Nothing rotates them.
# - Some models rotate only the first part of each head, GPT-J
#   [64 of 256 features](https://huggingface.co/EleutherAI/gpt-j-6b). Then only that part is reordered.

# %% [markdown] lang="zh"
# ## 转换检查点
#
# 运行时再去重排查询和键，是要花代价的。不过它们来自权重，而权重只需重排一次。查询是 $q = W_Q\, x + \beta_Q$，
# 每个特征对应 $W_Q$ 的一行和 $\beta_Q$ 的一个元素（`torch.nn.Linear` 的权重按 `[out, in]` 存放），
# 所以 $\Pi q = (\Pi W_Q)\, x + \Pi\, \beta_Q$：**重排行**即可。
#
# 常读到“Llama 是前后配对”。其实 Meta 的代码和权重是相邻配对。
# 为 `transformers` 转换权重的脚本（`convert_llama_weights_to_hf.py`）重排了 $W_Q$ 和 $W_K$ 的行，
# 移植后的代码再按前后配对旋转。得分相同，排布不同；维护者在上面的 #25199 和 #31859 里就是这样回答的。转换时要注意：
#
# - **每个头各自重排**。行数是 `heads * head_dim`，置换只在每个头内部进行。
# - **分组查询**（[Ainslie 等，2023](https://arxiv.org/abs/2305.13245)）：键的头数比查询少。
#   在转换工具懂得这一点之前，Llama 2 70B [满口胡话](https://github.com/ggml-org/llama.cpp/issues/2376)；
#   [TinyLlama](https://github.com/jzhang38/TinyLlama/issues/24) 也是，直到转换工具[把键的头数算对](https://github.com/ggml-org/llama.cpp/pull/3364)。
# - 查询和键的**偏置**，与行一样重排。
# - **查询和键的归一化**（如 [Qwen3](https://arxiv.org/abs/2505.09388v1)）在投影与旋转之间。整个头的均方根与次序无关，
#   但归一化的权重每个特征一个、各头共用，形状是 `[head_dim]`，要当作一个头来重排。
# - **值和输出投影不动**。没有谁旋转它们。
# - 有些模型只旋转每个头的前一部分，
#   例如 GPT-J 只旋转 [256 个特征中的 64 个](https://huggingface.co/EleutherAI/gpt-j-6b)。那就只重排这一部分。

# %% [markdown] lang="en"
# ### Exercise 3.5 · Convert (3 points)
#
# Write `convert`, from adjacent to half-split, for a whole attention layer. `torch.Tensor.unflatten(0, (heads, -1))`
# makes the heads visible. You need not use your `half_split_order`: a reshape and a transpose do the same.
#
# Hint: First decide what has to move: all that works on queries and keys after they are projected and before they are
# rotated. Values and outputs are never rotated.
#
# Hint: A row of `q.weight` makes one feature of one head. Cut the rows into heads, the features of a head into pairs,
# and bring the first members of each head before the second ones; then merge what was cut.

# %% [markdown] lang="zh"
# ### 练习 3.5 · 转换（3 分）
#
# 为整个注意力层写出 `convert`，从相邻配对转换到前后配对。`torch.Tensor.unflatten(0, (heads, -1))` 能让各头显出来。
# 不一定要用你写的 `half_split_order`：一次变形加一次转置，效果相同。
#
# 提示：先想清楚要动哪些：在投影之后、旋转之前作用于查询和键的一切。值和输出从不旋转。
#
# 提示：`q.weight` 的一行产生某个头的一个特征。把行切成头，头里的特征切成对，让每个头里各对的第一个数排到第二个数前
# 面，再把切开的合起来。


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
# Suppose a model has a head that looks 5 tokens back. We build one, with $d = 32$ and adjacent pairs: $q_i = 1$ for the
# eight fastest pairs, 0 for the others, and the same vector as key, turned by the angles of position 5. The score is
# then $\sum_{i=0}^{7} \cos((m - n - 5)\, \theta_i)$, largest at distance 5. Now four common mistakes:
#
# - **A. Not converted.** The weights have one layout, here adjacent, and the code rotates in the other, queries and keys
#   alike.
# - **B. Half converted.** Queries were reordered, keys were not.
# - **C. Tables of one layout, rotation of the other.** Code with ready-made tables needs each angle twice. In
#   half-split they are repeated as a block, $(\omega_0, \omega_1, \dots, \omega_0, \omega_1, \dots)$; in adjacent, one
#   by one, $(\omega_0, \omega_0, \omega_1, \omega_1, \dots)$. People ask whether the former is a bug
#   ([transformers #40462](https://github.com/huggingface/transformers/issues/40462)). It is not, but crossing the two
#   [is one](https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6).
# - **D. Turned the wrong way.** The sign of the sine is flipped, for queries and keys alike. The head then looks 5
#   tokens *ahead*. There it may not look (a mask); of what lies behind, it likes 1 back best.

# %% [markdown] lang="zh"
# ## 混用排布会怎样出错
#
# 设模型里有一个往回看 5 个 token 的头。我们来造一个：$d = 32$，相邻配对；最快的八对 $q_i = 1$，其余为 0；
# 键是同一个向量，但已按位置 5 的角度旋转过。得分是 $\sum_{i=0}^{7} \cos((m - n - 5)\, \theta_i)$，在距离 5 处最大。现在犯四个常见的错误：
#
# - **A. 没有转换**：权重是一种排布（这里是相邻配对），代码按另一种旋转，查询和键都一样。
# - **B. 只转换了一半**：查询重排了，键没有。
# - **C. 表用一种排布，旋转用另一种**：使用现成的表时，每个角度要出现两次。
#   前后配对是整段重复，$(\omega_0, \omega_1, \dots, \omega_0, \omega_1, \dots)$；
#   相邻配对是逐个重复，$(\omega_0, \omega_0, \omega_1, \omega_1, \dots)$。
#   有人问前一种是不是写错了（[transformers #40462](https://github.com/huggingface/transformers/issues/40462)）。
#   没有写错，但把两种混在一起[就错了](https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6)。
# - **D. 转反了方向**：查询和键的正弦都弄错了符号。这个头看的于是成了 5 个 token *之后*。那里被掩码挡住了；在往回看得到的
#   里面，它最喜欢往回 1 个。

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
# Left: none of the four looks 5 tokens back. Right: both tokens move along together, and [A](#layout?keys=no&queries=no&blocks=yes&forward=yes),
# [B](#layout?keys=no&queries=yes&blocks=yes&forward=yes) and [D](#layout?keys=yes&queries=yes&blocks=yes&forward=no) are *flat*. Any
# pairing, and any direction, is a rotation, so the score still depends on the distance alone, and **the shift test of
# notebook 2 passes**. Lengths are kept, and position 0 still changes nothing. At distance 0, A and D even give the
# right score. Only [C](#layout?keys=yes&queries=yes&blocks=no&forward=yes) is not a rotation at all, and the shift test finds it out. (Nor is the other direction wrong in
# itself: [nanochat](https://github.com/karpathy/nanochat/blob/master/nanochat/gpt.py) turns clockwise, in training and
# afterwards.)
#
# <!-- touch: layout -->
#
# So a mixed layout breaks no law of RoPE. It breaks the agreement with what the weights have learnt. The program runs,
# and the model speaks fluent nonsense. The test that finds it: **compare scores with the original
# implementation, at several distances**, with $d > 4$ and more than one head.

# %% [markdown] lang="zh"
# 左图：四种错误里，没有一种还在看 5 个 token 之前。右图：两个 token 一起移动，[A](#layout?keys=no&queries=no&blocks=yes&forward=yes)、
# [B](#layout?keys=no&queries=yes&blocks=yes&forward=yes)、[D](#layout?keys=yes&queries=yes&blocks=yes&forward=no) 都是*平的*。不管怎样配对、
# 朝哪个方向，都是旋转，所以得分仍然只取决于距离，**第 2 节的平移测试照样通过**。长度不变，位置 0 仍然什么都不改变；
# 在距离 0 处，A 和 D 的得分甚至是对的。只有 [C](#layout?keys=yes&queries=yes&blocks=no&forward=yes) 根本不是旋转，平移测试才查得出来。（反方向本身也没有错：
# [nanochat](https://github.com/karpathy/nanochat/blob/master/nanochat/gpt.py) 就是顺时针转的，训练时和训练后都如此。）
#
# <!-- touch: layout -->
#
# 可见混用排布并不违反 RoPE 的任何规律，破坏的是与权重所学内容之间的约定。程序照常运行，
# 模型流利地胡说。能查出来的测试是：**在几个不同的距离上，与原来的实现比较得分**，并且 $d > 4$、
# 不止一个头。

# %% [markdown] lang="en"
# ## Positions that do not start at 0
#
# With a key cache, a new token comes alone, as a sequence of length 1. Its position is not 0: it is the number of
# tokens before it. Code that builds its table from the length of the *input* turns every new query by nothing.
#
# In batches, shorter texts are padded on the left. A shift common to all tokens of a text does no harm; harm is done when one
# step counts the padding and the next does not. In [unsloth #3699](https://github.com/unslothai/unsloth/issues/3699) the padded
# texts of a batch came out as garbage, while the longest one was fine. The remedy is to count the real tokens of each
# row, in every step alike.

# %% [markdown] lang="zh"
# ## 位置不从 0 开始
#
# 有了键缓存，新 token 独自到来，是一个长度为 1 的序列。它的位置却不是 0，而是它之前 token 的个数。
# 如果代码按*输入*的长度造表，每个新查询都等于没有旋转。
#
# 成批处理时，较短的文本要在左侧填充。一段文本里所有 token 一起平移，没有害处；有害的是前一步把填充数进去、后一步又不数。
# 在[unsloth #3699](https://github.com/unslothai/unsloth/issues/3699) 里，一批文本中被填充的输出成了乱码，
# 最长的那段却没事。办法是逐行数真实的 token，而且每一步都这样数。

# %% [markdown] lang="en"
# ### Exercise 3.6 · Count the real tokens (1 point)
#
# Write `position_ids`: the first real token of each row is at position 0, the next at 1, and so on. Padding gets
# position 0; it is masked anyway.
#
# Hint: How many real tokens stand in the row up to and including this one? A running sum along the row counts them;
# it accepts bools.
#
# Hint: Compare this count with what is asked: at the first real token, and at the padding before it. Both are off,
# and each can be mended by one operation.

# %% [markdown] lang="zh"
# ### 练习 3.6 · 数真实的 token（1 分）
#
# 写出 `position_ids`：每一行第一个真实 token 的位置是 0，下一个是 1，依此类推。填充的位置填 0，反正它会被掩掉。
#
# 提示：到这个 token 为止（连它在内），这一行里有几个真实的 token？沿着行累加就数出来了，布尔值也能累加。
#
# 提示：拿这个数与要的结果比一比：第一个真实 token 处，以及它前面的填充处。两处都不对，各用一步就能改过来。


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
# ## The code you will meet
#
# Five lines and the end of one, from programs in use, as they stand there, and what each of them says.
#
# | line | where | what it says |
# |---|---|---|
# | `freqs_cis = self.freqs_cis[start_pos : start_pos + seqlen]` | [Meta's Llama](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py) | The table is read from where the new tokens stand. With a cache `start_pos` is not 0. |
# | `freqs = position_ids[..., None].float() * self.inv_freq.to(device=x.device, dtype=torch.float)` | [Llama in transformers](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama/modeling_llama.py) | Positions, not a length; and float32, whatever the type of the model (notebook 4). |
# | `cos = emb.cos() * self.attention_scaling` | the same | YaRN's factor sits in the tables, so logits get its square (notebook 5). |
# | `q_rot, q_pass = q[..., :rotary_dim], q[..., rotary_dim:]` | [GPT-NeoX in transformers](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gpt_neox/modeling_gpt_neox.py) | Only the first features of a head turn (notebook 8). |
# | `cos = cos[..., : cos.shape[-1] // 2].repeat_interleave(2, dim=-1)` | [GLM in transformers](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/glm/modeling_glm.py) | The table came with its angles as a block and gets them one by one: this model has adjacent pairs. |
# | `attn_output.transpose(1, 2), cos, -sin)` | [DeepSeek-V4 in transformers](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/deepseek_v4/modeling_deepseek_v4.py) | A minus at the sine turns back: here the output, since the values were rotated (notebook 2). |
#
# (ChatGLM is often listed with Llama as pairing halves. ChatGLM2 and ChatGLM3 pair neighbours, `reshape([sq, -1, np, rot_dim // 2, 2])`, and turn
# half of a head: [their code in PaddleNLP](https://github.com/PaddlePaddle/PaddleNLP/blob/09a77cc40045604635466410dbf403001167df2c/paddlenlp/transformers/chatglm_v2/modeling.py).)
#
# The next cell is the whole of it, as a language model has it: causal attention with rotary positions, and a cache of the
# turned keys for a model that writes. It multiplies in a fourth way, with the two halves rolled past each other.

# %% [markdown] lang="zh"
# ## 你会遇到的代码
#
# 下面是正在使用的程序里的五行，外加一行的末尾，照抄原文，并说明每一行的意思。
#
# | 代码 | 出处 | 意思 |
# |---|---|---|
# | `freqs_cis = self.freqs_cis[start_pos : start_pos + seqlen]` | [Meta 的 Llama](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py) | 从新 token 所在的位置开始读表。有缓存时 `start_pos` 不是 0。 |
# | `freqs = position_ids[..., None].float() * self.inv_freq.to(device=x.device, dtype=torch.float)` | [transformers 的 Llama](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama/modeling_llama.py) | 用的是位置，不是长度；而且不管模型是什么类型，都用 float32（第 4 节）。 |
# | `cos = emb.cos() * self.attention_scaling` | 同上 | YaRN 的因子放在表里，所以 logit 乘的是它的平方（第 5 节）。 |
# | `q_rot, q_pass = q[..., :rotary_dim], q[..., rotary_dim:]` | [transformers 的 GPT-NeoX](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gpt_neox/modeling_gpt_neox.py) | 一个头只有前面几个特征旋转（第 8 节）。 |
# | `cos = cos[..., : cos.shape[-1] // 2].repeat_interleave(2, dim=-1)` | [transformers 的 GLM](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/glm/modeling_glm.py) | 表送来时角度是整段重复的，这里改成逐个重复：这个模型用相邻配对。 |
# | `attn_output.transpose(1, 2), cos, -sin)` | [transformers 的 DeepSeek-V4](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/deepseek_v4/modeling_deepseek_v4.py) | 正弦前的负号表示转回去：转回去的是输出，因为值旋转过（第 2 节）。 |
#
# （ChatGLM 常与 Llama 一起被归入前后配对。其实 ChatGLM2 和 ChatGLM3 是相邻配对，`reshape([sq, -1, np, rot_dim // 2, 2])`，而且只转半个头：
# [PaddleNLP 里的代码](https://github.com/PaddlePaddle/PaddleNLP/blob/09a77cc40045604635466410dbf403001167df2c/paddlenlp/transformers/chatglm_v2/modeling.py)。）
#
# 下一格就是全部，语言模型里就是这样写的：带旋转位置的因果注意力，写作时把转好的键存进缓存。乘法用的是第四种写法：两半互相滚过。


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
# **Next:** [notebook 4](4_decay_and_precision.ipynb) asks how scores fall with distance, whether they do at all, and
# what becomes of the angles in 16 bits.

# %% [markdown] lang="zh"
# **下一节**：[第 4 节](4_decay_and_precision.ipynb)要问的是，得分随距离怎样下降、究竟是不是在下降，
# 以及角度存成 16 位之后会怎样。

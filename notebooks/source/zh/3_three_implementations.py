# %% [markdown]
# # 3 · 三种实现，一个置换
#
# 第 2 节的结尾是一个矩阵：位置 $p$ 上的查询和键要乘以 $R_p$。特征数 $d = 128$ 时，它有 $128^2 = 16384$ 个元素，
# 其中不为零的只有 $2 d = 256$ 个，没有人会真的去乘它。通行的实现有三种，每种只有几行，你会把三种都写出来。
#
# 其中两种的结果逐个数都相同。第三种的配对不一样，结果看上去也完全不同，但只隔着一个置换。对照代码的人常常在这里绊倒，
# 于是同一个问题反复出现：*前后配对还是相邻配对，
# 哪个才对？*（transformers [#25199](https://github.com/huggingface/transformers/issues/25199)、[#31859](https://github.com/huggingface/transformers/issues/31859)、[#33826](https://github.com/huggingface/transformers/issues/33826)）
# 两个都对。错的是混着用。本节最后会看到混用时怎样出错，以及通常的测试为什么发现不了。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, headline, no_frame, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
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
    """每个位置、每一对的弧度：positions [...] 到 [..., dim/2]，float64。"""
    theta = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    return positions[..., None] * theta


def adjacent_pairs(dim: int) -> list[tuple[int, int]]:
    """(0, 1), (2, 3), (4, 5), ……"""
    return [(2 * i, 2 * i + 1) for i in range(dim // 2)]


def half_split_pairs(dim: int) -> list[tuple[int, int]]:
    """(0, dim/2), (1, dim/2 + 1), ……"""
    return [(i, i + dim // 2) for i in range(dim // 2)]


def rotate_slowly(x: Tensor, angles: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """每个 token、每个头里，特征对 pairs[i] 旋转其位置的第 i 个角度。

    Args:
        x: [batch, seq, heads, dim]。
        angles: [seq, dim/2]。
        pairs: 排布方式。
    """
    y = torch.empty_like(x)
    for p in range(x.shape[1]):
        for i, (first, second) in enumerate(pairs):
            turn = complex(math.cos(angles[p, i]), math.sin(angles[p, i]))
            turned = torch.complex(x[:, p, :, first], x[:, p, :, second]) * turn
            y[:, p, :, first], y[:, p, :, second] = turned.real, turned.imag
    return y


def sample(seed: int, *shape: int) -> Tensor:
    """用来试验的随机数，float64。"""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# %% [markdown]
# ### 练习 3.1 · 相邻配对（2 分）
#
# 这是论文里的写法（RoFormer，3.4.2 节，[arXiv:2104.09864](https://arxiv.org/abs/2104.09864)）。对每一对 $i$，
# 设它的角度为 $\alpha_i$，
#
# $$
# y_{2i} = x_{2i} \cos \alpha_i - x_{2i+1} \sin \alpha_i, \qquad
# y_{2i+1} = x_{2i} \sin \alpha_i + x_{2i+1} \cos \alpha_i .
# $$
#
# 切片 `x[..., 0::2]` 和 `x[..., 1::2]` 分别取出所有对的前一成员和后一成员。角度还缺一个对应各头的维度：
# 要把 `[seq, d/2]` 变成 `[seq, 1, d/2]`。最后，两部分要重新*交错*排列。`torch.cat` 会让所有前一成员排在所有后一成员之
# 前，[真实的代码](https://github.com/vllm-project/vllm-metal/pull/44)里就出过这个错。
# 可以考虑 `torch.stack(..., dim=-1)` 和 `flatten(-2)`。


# %% nbgrader={"grade_id": "rotate_adjacent", "solution": true}
def rotate_adjacent(x: Tensor, angles: Tensor) -> Tensor:
    """把特征 (2i, 2i + 1) 旋转第 i 个角度，不用循环。

    Args:
        x: [batch, seq, heads, dim]。不得改动。
        angles: [seq, dim/2]。

    Returns:
        [batch, seq, heads, dim]。
    """
    ### BEGIN SOLUTION
    cos, sin = angles.cos().unsqueeze(-2), angles.sin().unsqueeze(-2)  # [seq, 1, dim/2]
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_adjacent_laws", "grade": true, "points": 2}
with quiet():
    x = torch.tensor([1.0, 2, 3, 4]).view(1, 1, 1, 4)
    assert torch.equal(rotate_adjacent(x, torch.zeros(1, 2)), x), "不转，就什么都不变，特征的次序也不变。"
    turned = rotate_adjacent(x, torch.tensor([[math.pi / 2, 0]])).flatten()
    torch.testing.assert_close(turned, torch.tensor([-2.0, 1, 3, 4]), msg="第 0 对转四分之一圈：(1, 2) 变成 (-2, 1)。")
    ### BEGIN HIDDEN TESTS
    for seed, (batch, seq, heads, dim) in enumerate([(2, 5, 3, 8), (1, 4, 4, 6), (3, 3, 1, 2)]):
        x, angles = sample(seed, batch, seq, heads, dim), rotary_angles(torch.arange(seq) + 7 * seed, dim)
        kept, turned = x.clone(), rotate_adjacent(x, angles)
        assert torch.equal(x, kept), "输入属于调用者，不要改动它。"
        assert turned.shape == x.shape, "形状不变。"
        expected = rotate_slowly(x, angles, adjacent_pairs(dim))
        torch.testing.assert_close(turned, expected, msg="角度对应第二维，不是 batch，也不是 heads。")
    ### END HIDDEN TESTS

# %% [markdown]
# ## 用复数
#
# 一对就是一个复数，旋转就是一次乘法：$x_{2i} + \mathrm{j}\, x_{2i+1}$ 乘以 $e^{\mathrm{j} \alpha_i}$。Meta 自己
# 的[Llama 代码](https://github.com/meta-llama/llama/blob/57b0eb62de0636e75af471e49e2f1862d908d9d8/llama/model.py)就是这
# 样写的，它把这些乘数叫作 `freqs_cis`，因为 $\mathrm{cis}\, \alpha$ 是 $\cos \alpha + \mathrm{j} \sin \alpha$ 的旧称。
# 配对仍是相邻的。
#
# `torch.view_as_complex` 把**恰好为 2** 的最后一维读作实部和虚部，`torch.view_as_real` 是它的逆。
# 下面是教程里流传的三个错误，以及 torch 对它们各说了什么：

# %%
x = sample(0, 1, 3, 2, 8)  # [batch, seq, heads, dim]
pairs = torch.zeros(1, 3, 2, 4, dtype=torch.complex128)  # [batch, seq, heads, dim/2]，相当于相乘之后

said = []
try:
    torch.cat(x, x)
except TypeError as error:
    said.append(f"写成 torch.cat(a, b)：{str(error).splitlines()[0]}")
try:
    torch.view_as_complex(x)
except RuntimeError as error:
    said.append(f"变形时丢了末尾的 2：{str(error).splitlines()[0]}")
shape = list(torch.view_as_real(pairs).shape)
said.append(f"最后没有 flatten：形状是 {shape}，而不是 {list(x.shape)}")
print("\n".join(said))

# %% [markdown]
# `torch.cat` 要的是一个元组：`torch.cat((a, b))`。2 必须在最后，是 `[..., d/2, 2]`，
# 不是 `[..., 2, d/2]`；$d = 4$ 时两者一样，所以只用 $d = 4$ 测试是看不出来的。回来的路上还要把最后两维合并。
# 如果输入是 bfloat16，要先转换：没有这种类型的复数。

# %% [markdown]
# ### 练习 3.2 · 复数形式的 `freqs_cis`（2 分）
#
# 先写出 `to_freqs_cis`，即乘数 $e^{\mathrm{j} \alpha}$ 的表。


# %% nbgrader={"grade_id": "to_freqs_cis", "solution": true}
def to_freqs_cis(angles: Tensor) -> Tensor:
    """每个角度的余弦加 j 乘正弦：[seq, dim/2]，复数，精度相同。"""
    ### BEGIN SOLUTION
    return torch.polar(torch.ones_like(angles), angles)
    ### END SOLUTION


# %% nbgrader={"grade_id": "to_freqs_cis_laws", "grade": true, "points": 1}
with quiet():
    freqs_cis = to_freqs_cis(torch.tensor([[math.pi / 2, 0]]))
    assert freqs_cis.is_complex(), "freqs_cis 里是复数。"
    torch.testing.assert_close(freqs_cis, torch.tensor([[1j, 1]]), msg="四分之一圈是 j，不转是 1。")
    ### BEGIN HIDDEN TESTS
    angles = rotary_angles(torch.arange(5), 8)
    freqs_cis = to_freqs_cis(angles)
    assert freqs_cis.dtype == torch.complex128, "float64 的角度对应 complex128：精度不变。"
    torch.testing.assert_close(freqs_cis.abs(), torch.ones_like(angles), msg="每个乘数的绝对值都是 1：旋转不改变长度。")
    torch.testing.assert_close(freqs_cis.real, angles.cos(), msg="实部是余弦。")
    torch.testing.assert_close(freqs_cis.imag, angles.sin(), msg="虚部是正弦。")
    ### END HIDDEN TESTS

# %% [markdown]
# 再写出使用这种表的 `rotate_complex`。


# %% nbgrader={"grade_id": "rotate_complex", "solution": true}
def rotate_complex(x: Tensor, freqs_cis: Tensor) -> Tensor:
    """把特征 (2i, 2i + 1) 当作复数，乘以 freqs_cis，从而旋转。

    Args:
        x: [batch, seq, heads, dim]，float32 或 float64。不得改动。
        freqs_cis: [seq, dim/2]，复数，精度相同。

    Returns:
        [batch, seq, heads, dim]，实数。
    """
    ### BEGIN SOLUTION
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # [batch, seq, heads, dim/2]
    return torch.view_as_real(pairs * freqs_cis.unsqueeze(-2)).flatten(-2)
    ### END SOLUTION


# %% nbgrader={"grade_id": "rotate_complex_laws", "grade": true, "points": 1}
with quiet():
    x = torch.tensor([1.0, 2, 3, 4]).view(1, 1, 1, 4)
    turned = rotate_complex(x, torch.tensor([[1j, 1]]))
    assert turned.shape == x.shape, "末尾的 2 要并回去。"
    torch.testing.assert_close(
        turned.flatten(), torch.tensor([-2.0, 1, 3, 4]), msg="第 0 对是 1 + 2j，乘以 j 得 -2 + j。"
    )
    ### BEGIN HIDDEN TESTS
    for seed, (batch, seq, heads, dim) in enumerate([(2, 5, 3, 8), (1, 4, 4, 6), (2, 3, 1, 4)]):
        x, angles = sample(seed, batch, seq, heads, dim), rotary_angles(torch.arange(seq) + 7 * seed, dim)
        kept, turned = x.clone(), rotate_complex(x, torch.complex(angles.cos(), angles.sin()))
        assert torch.equal(x, kept), "输入属于调用者，不要改动它。"
        assert turned.shape == x.shape, "末尾的 2 要并回去。"
        expected = rotate_slowly(x, angles, adjacent_pairs(dim))
        torch.testing.assert_close(turned, expected, msg="配对和角度都与相邻配对相同。")
    strided = sample(5, 2, 3, 5, 8).transpose(1, 2)  # 就像把 heads 与 seq 转置之后
    angles = rotary_angles(torch.arange(5), 8)
    turned = rotate_complex(strided, torch.complex(angles.cos(), angles.sin()))
    expected = rotate_slowly(strided, angles, adjacent_pairs(8))
    torch.testing.assert_close(turned, expected, msg="不连续的输入也要能用。")
    ### END HIDDEN TESTS

# %% [markdown]
# ## 前后配对
#
# GPT-NeoX，以及多数模型移植到 `transformers` 库之后的版本，都让特征 $i$ 与特征 $i + d/2$ 成对。这样就不必交错：
# 各对的前一成员和后一成员，就是向量的前一半和后一半。对 $i < d/2$，
#
# $$
# y_i = x_i \cos \alpha_i - x_{i+d/2} \sin \alpha_i, \qquad
# y_{i+d/2} = x_i \sin \alpha_i + x_{i+d/2} \cos \alpha_i .
# $$
#
# 常有人说这样更省。*其实运算一点没省*：三种实现里，每一对都是四次乘法、一次加法、一次减法。不同的是怎样读写内存：
# 是两段连续的数，还是每隔一个取一个。哪种更快，要看机器和编译器。

# %% [markdown]
# ### 练习 3.3 · 前后配对（2 分）
#
# 写出 `rotate_half_split`。（作业的任务 4 用的也是这种排布，不过那里的余弦表和正弦表是现成的，还要照顾 16 位的类型。）


# %% nbgrader={"grade_id": "rotate_half_split", "solution": true}
def rotate_half_split(x: Tensor, angles: Tensor) -> Tensor:
    """把特征 (i, i + dim/2) 旋转第 i 个角度，不用循环。

    Args:
        x: [batch, seq, heads, dim]。不得改动。
        angles: [seq, dim/2]。

    Returns:
        [batch, seq, heads, dim]。
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
    assert torch.equal(rotate_half_split(x, torch.zeros(1, 2)), x), "不转，就什么都不变。"
    turned = rotate_half_split(x, torch.tensor([[math.pi / 2, 0]])).flatten()
    expected = torch.tensor([-3.0, 2, 1, 4])
    torch.testing.assert_close(turned, expected, msg="第 0 对是 (x_0, x_2)：转四分之一圈，(1, 3) 变成 (-3, 1)。")
    ### BEGIN HIDDEN TESTS
    for seed, (batch, seq, heads, dim) in enumerate([(2, 5, 3, 8), (1, 4, 4, 6), (3, 3, 1, 2)]):
        x, angles = sample(seed, batch, seq, heads, dim), rotary_angles(torch.arange(seq) + 7 * seed, dim)
        kept, turned = x.clone(), rotate_half_split(x, angles)
        assert torch.equal(x, kept), "输入属于调用者，不要改动它。"
        assert turned.shape == x.shape, "形状不变。"
        expected = rotate_slowly(x, angles, half_split_pairs(dim))
        torch.testing.assert_close(turned, expected, msg="第 i 对是 (x_i, x_(i + d/2))，每个位置、每个头都如此。")
    ### END HIDDEN TESTS

# %% [markdown]
# ## 同样的对，换了座位
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

figure, axes = plt.subplots(figsize=(7.2, 2.9))
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
axes.set(xlim=(-2.2, 7.6), ylim=(-0.65, 1.4))
axes.text(-0.7, 1, "adjacent", ha="right", va="center")
axes.text(-0.7, 0, "half-split", ha="right", va="center")
no_frame(axes)
axes.set_title(f"Order {order}: the same pairs, seated for half-split")
plt.show()

# %% [markdown]
# ### 练习 3.4 · 置换（2 分）
#
# 对每个偶数 $d$ 写出 `half_split_order`：第 $i$ 个元素是坐到座位 $i$ 上的那个特征在相邻配对里的编号，
# 于是 `x[..., half_split_order(d)]` 就是 $\Pi x$。（反方向是 `half_split_order(d).argsort()`。）小心不要只用 $d = 4$ 测
# 试：那时这个置换恰好是自己的逆，正反分不出来。这样的事也[发生过](https://github.com/onnxruntime/mobius/pull/396)。


# %% nbgrader={"grade_id": "half_split_order", "solution": true}
def half_split_order(dim: int) -> Tensor:
    """前后配对的各个座位上，坐的是相邻配对的哪个特征：[dim]，dtype 为 long。"""
    ### BEGIN SOLUTION
    return torch.arange(dim).view(-1, 2).T.flatten()
    ### END SOLUTION


# %% nbgrader={"grade_id": "half_split_order_laws", "grade": true, "points": 2}
with quiet():
    assert half_split_order(4).tolist() == [0, 2, 1, 3], "两对 (0, 1) 和 (2, 3)：前一成员是 0, 2，后一成员是 1, 3。"
    assert half_split_order(8).tolist() == [0, 2, 4, 6, 1, 3, 5, 7], "d = 8 时，如图所示。"
    ### BEGIN HIDDEN TESTS
    for dim in (2, 6, 8, 64):
        order = half_split_order(dim)
        assert order.dtype == torch.long, "下标的 dtype 是 long。"
        assert order.sort().values.tolist() == list(range(dim)), "每个特征有且只有一个座位。"
        seats = list(zip(order[: dim // 2].tolist(), order[dim // 2 :].tolist(), strict=True))
        assert seats == adjacent_pairs(dim), "座位 i 和 i + d/2 上坐的是相邻配对的第 i 对。"
        x, angles = sample(dim, 1, 3, 2, dim), rotary_angles(torch.arange(3), dim)
        reordered_first = rotate_slowly(x[..., order], angles, half_split_pairs(dim))
        rotated_first = rotate_slowly(x, angles, adjacent_pairs(dim))[..., order]
        torch.testing.assert_close(
            reordered_first, rotated_first, msg="先重排再按前后配对旋转，等于先按相邻配对旋转再重排。"
        )
    ### END HIDDEN TESTS

# %% [markdown]
# 现在用随机的查询和键把三种实现放在一起。复数形式的每个特征都与相邻配对一致。前后配对作用于重排后的特征，特征并不一致，
# 也不必一致：一致的是每个得分。

# %%
positions, dim = torch.arange(16), 64
query, key = sample(1, 1, 16, 1, dim), sample(2, 1, 16, 1, dim)
angles, order = rotary_angles(positions, dim), half_split_order(dim)


def scores_of(query: Tensor, key: Tensor) -> Tensor:
    """所有查询与所有键的点积：[seq, seq]，只有一个头。"""
    return query[0, :, 0] @ key[0, :, 0].T


by_adjacent = rotate_adjacent(query, angles), rotate_adjacent(key, angles)
by_complex = rotate_complex(query, to_freqs_cis(angles)), rotate_complex(key, to_freqs_cis(angles))
by_half_split = rotate_half_split(query[..., order], angles), rotate_half_split(key[..., order], angles)
said = []
for name, (turned_query, turned_key) in {"complex": by_complex, "half-split of reordered": by_half_split}.items():
    features = (turned_query - by_adjacent[0]).abs().max()
    scores = (scores_of(turned_query, turned_key) - scores_of(*by_adjacent)).abs().max()
    said.append(f"{name} 与 adjacent 相比：特征相差 {features:.1e}，得分相差 {scores:.1e}")
print("\n".join(said))

# %% [markdown]
# ## 转换检查点
#
# 运行时再去重排查询和键，是要花代价的。不过它们来自权重，而权重只需重排一次。查询是 $q = W_Q\, x + b_Q$，
# 每个特征对应 $W_Q$ 的一行和 $b_Q$ 的一个元素（`torch.nn.Linear` 的权重按 `[out, in]` 存放），
# 所以 $\Pi q = (\Pi W_Q)\, x + \Pi\, b_Q$：**重排行**即可。
#
# 常读到“Llama 是前后配对”。其实 Meta 的代码和权重是相邻配对。
# 为 `transformers` 转换权重的脚本（`convert_llama_weights_to_hf.py`）重排了 $W_Q$ 和 $W_K$ 的行，
# 移植后的代码再按前后配对旋转。得分相同，排布不同；维护者在上面的 #25199 和 #31859 里就是这样回答的。转换时要注意：
#
# - **每个头各自重排**。行数是 `heads * head_dim`，置换只在每个头内部进行。
# - **分组查询**（[Ainslie 等，2023](https://arxiv.org/abs/2305.13245)）：键的头数比查询少。
#   在转换工具懂得这一点之前，Llama 2 70B [满口胡话](https://github.com/ggml-org/llama.cpp/issues/2376)。
# - 查询和键的**偏置**，与行一样重排。
# - **查询和键的归一化**（如 [Qwen3](https://arxiv.org/abs/2505.09388)）在投影与旋转之间。整个头的均方根与次序无关，
#   但归一化的权重每个特征一个、各头共用，形状是 `[head_dim]`，要当作一个头来重排。
# - **值和输出投影不动**。没有谁旋转它们。
# - 有些模型只旋转每个头的前一部分，
#   例如 GPT-J 只旋转 [256 个特征中的 64 个](https://huggingface.co/EleutherAI/gpt-j-6b)。那就只重排这一部分。

# %% [markdown]
# ### 练习 3.5 · 转换（3 分）
#
# 为整个注意力层写出 `convert`，从相邻配对转换到前后配对。`torch.Tensor.unflatten(0, (heads, -1))` 能让各头显出来。
# 不一定要用你写的 `half_split_order`：一次变形加一次转置，效果相同。


# %% nbgrader={"grade_id": "convert", "solution": true}
def convert(layer: dict[str, Tensor], query_heads: int, key_heads: int) -> dict[str, Tensor]:
    """同一个注意力层，改用前后配对的旋转。每个头的全部特征都旋转。

    Args:
        layer: 相邻配对的排布。`q.weight` [query_heads * head_dim, hidden]，`q.bias` [query_heads * head_dim]，
            `k.weight` 和 `k.bias` 与之类似，头数为 key_heads，`q_norm` 和 `k_norm` [head_dim]，以及 `v.weight`、
            `v.bias` 和 `o.weight`。不得改动。
        query_heads: 查询的头数。
        key_heads: 键和值的头数，能整除 query_heads。

    Returns:
        一个新的字典，键名和形状都不变。
    """
    ### BEGIN SOLUTION
    heads = {"q.weight": query_heads, "q.bias": query_heads, "k.weight": key_heads, "k.bias": key_heads}
    heads |= {"q_norm": 1, "k_norm": 1}
    converted = dict(layer)
    for name, number in heads.items():
        pairs = layer[name].unflatten(0, (number, -1, 2))  # [heads, head_dim/2, 2, ...]
        converted[name] = pairs.transpose(1, 2).flatten(0, 2)  # 各对的前一成员排在后一成员之前
    return converted
    ### END SOLUTION


# %% nbgrader={"grade_id": "convert_laws", "grade": true, "points": 3}
with quiet():

    def make_layer(seed: int, query_heads: int, key_heads: int, head_dim: int) -> dict[str, Tensor]:
        """一个随机的注意力层，隐藏特征 12 个。"""
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
        """5 个随机 token 的得分 [query_heads, seq, seq]：投影、归一化、旋转、相乘。"""
        tokens, turned = sample(99, 1, 5, 12), {}
        for name, heads in {"q": query_heads, "k": key_heads}.items():
            x = (tokens @ layer[f"{name}.weight"].T + layer[f"{name}.bias"]).unflatten(-1, (heads, -1))
            x = x / x.pow(2).mean(-1, keepdim=True).sqrt() * layer[f"{name}_norm"]
            turned[name] = rotate_slowly(x, rotary_angles(torch.arange(5), x.shape[-1]), pairs)
        keys = turned["k"].repeat_interleave(query_heads // key_heads, dim=2)
        return torch.einsum("bmhd,bnhd->hmn", turned["q"], keys)

    layer = make_layer(0, 1, 1, 8)
    converted = convert(layer, 1, 1)
    rows = layer["q.weight"][[0, 2, 4, 6, 1, 3, 5, 7]]
    assert torch.equal(converted["q.weight"], rows), "只有一个头、8 个特征时：行的次序是 0, 2, 4, 6, 1, 3, 5, 7。"
    assert torch.equal(converted["v.weight"], layer["v.weight"]), "值不旋转，所以它的权重不动。"
    before, after = layer_scores(layer, 1, 1, adjacent_pairs(8)), layer_scores(converted, 1, 1, half_split_pairs(8))
    torch.testing.assert_close(after, before, msg="得分应当不变：看看偏置和归一化。")
    ### BEGIN HIDDEN TESTS
    for query_heads, key_heads, head_dim in [(4, 4, 8), (6, 2, 8), (4, 1, 6), (8, 2, 4)]:
        layer = make_layer(query_heads, query_heads, key_heads, head_dim)
        kept = {name: value.clone() for name, value in layer.items()}
        converted = convert(layer, query_heads, key_heads)
        assert converted.keys() == layer.keys(), "转换后的层与原来的层有同样的条目。"
        assert all(converted[name].shape == layer[name].shape for name in layer), "形状不变。"
        assert all(torch.equal(layer[name], kept[name]) for name in layer), "传入的层属于调用者，不要改动它。"
        before = layer_scores(layer, query_heads, key_heads, adjacent_pairs(head_dim))
        after = layer_scores(converted, query_heads, key_heads, half_split_pairs(head_dim))
        torch.testing.assert_close(after, before, msg="每个头各自重排；键的头数比查询少。")
        for name in ("v.weight", "v.bias", "o.weight"):
            assert torch.equal(converted[name], layer[name]), "值不旋转：值和输出投影都不动。"
    ### END HIDDEN TESTS

# %% [markdown]
# ## 混用排布会怎样出错
#
# 设模型里有一个往回看 5 个 token 的头。我们来造一个：$d = 32$，相邻配对。查询中最快的八对 $q_i = 1$，其余为 0；
# 键是同一个向量，但已按位置 5 的角度旋转过。
# 于是距离为 $m - n$ 时的得分是 $\sum_{i=0}^{7} \cos((m - n - 5)\, \theta_i)$，在所有余弦都为 1 的地方最大，
# 也就是距离 5 处。现在犯四个人们常犯的错误：
#
# - **A. 没有转换**：权重是一种排布，代码按另一种旋转，查询和键都一样。
#   这里权重是相邻配对；[TinyLlama #24](https://github.com/jzhang38/TinyLlama/issues/24) 的情形正好反过来。
# - **B. 只转换了一半**：查询重排了，键没有。
# - **C. 表用一种排布，旋转用另一种**：使用现成的表时，每个角度要出现两次。
#   前后配对是整段重复，$(\alpha_0, \alpha_1, \dots, \alpha_0, \alpha_1, \dots)$；
#   相邻配对是逐个重复，$(\alpha_0, \alpha_0, \alpha_1, \alpha_1, \dots)$。
#   有人问前一种是不是写错了（[transformers #40462](https://github.com/huggingface/transformers/issues/40462)）。
#   没有写错，但把两种混在一起[就错了](https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6)。
# - **D. 转反了方向**：查询和键的正弦都弄错了符号。这个头看的于是成了 5 个 token *之后*。

# %%
dim, back, far = 32, 5, 24
order = half_split_order(dim)
query = torch.zeros(1, 1, 1, dim, dtype=torch.float64)
query[..., 0:16:2] = 1  # 第 0 至 7 对的实部
key = rotate_adjacent(query, rotary_angles(torch.tensor([back]), dim))


def cross_tables(x: Tensor, angles: Tensor) -> Tensor:
    """错误 C：角度逐个重复，配对却是 (i, i + dim/2)；一对的两个成员各拿到各的角度。"""
    y = torch.empty_like(x)
    for first, second in half_split_pairs(dim):
        one, other = angles[0, first // 2], angles[0, second // 2]  # 这样的表在这两个座位上的内容
        y[..., first] = x[..., first] * one.cos() - x[..., second] * one.sin()
        y[..., second] = x[..., first] * other.sin() + x[..., second] * other.cos()
    return y


def score_at(rotate, query: Tensor, key: Tensor, m: int, n: int) -> float:
    """查询在位置 m、键在位置 n 时的得分，两者都是 [1, 1, 1, dim]。"""
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
peaks, said = {}, []
for (name, case), colour, dashes in zip(cases.items(), colours, marks, strict=True):
    by_distance = torch.tensor([score_at(*case, 40, 40 - distance) for distance in range(far)], dtype=torch.float64)
    by_position = torch.tensor([score_at(*case, m + back, m) for m in range(60)], dtype=torch.float64)
    left.plot(by_distance, color=colour, linestyle=dashes, label=name)
    right.plot(by_position, color=colour, linestyle=dashes)
    peaks[name], gap = int(by_distance.argmax()), by_position.max() - by_position.min()
    said.append(f"{name:18} 往回看 {peaks[name]:2} 个；距离 5 处的得分 {by_distance[back]:5.2f}，平移差 {gap:.0e}")
left.axvline(back, color=GREY, linewidth=0.8, linestyle="-", zorder=0)
left.set(xlabel="distance m - n, query at 40", ylabel="score")
right.set(xlabel="position n of the key, at distance 5")
figure.legend(loc="outside lower center", ncols=5, columnspacing=1.2, handlelength=2.6, fontsize=8.5)
looked, *mixed = peaks.values()
headline(figure, f"The head looked {looked} back; mixed up, it looks {', '.join(map(str, mixed))} back")
plt.show()
print("\n".join(said))

# %% [markdown]
# 左图：四种错误里，没有一种还在看 5 个 token 之前。右图：两个 token 一起移动，A、B、D 都是*平的*。不管怎样配对、
# 朝哪个方向，都是旋转，所以得分仍然只取决于距离，**第 2 节的平移测试照样通过**。长度不变，位置 0 仍然什么都不改变；
# 在距离 0 处，A 和 D 的得分甚至是对的。只有 C 根本不是旋转，平移测试才查得出来。
#
# 可见混用排布并不违反 RoPE 的任何规律，破坏的是与权重所学内容之间的约定。程序照常运行，
# 模型流利地胡说：[有一个移植版本](https://github.com/NeuraLegion/shainet/pull/111)先写出一两个像样的 token，
# 因为那时角度都还小，然后就散了架。能查出来的测试是：**在几个不同的距离上，与原来的实现比较得分**，并且 $d > 4$、
# 不止一个头。

# %% [markdown]
# ## 位置不从 0 开始
#
# 有了键缓存，模型写作时每次只看到一个新的 token。过去各个键旋转之后已经存好；新 token 独自到来，是一个长度为 1 的序列。
# 它的位置却不是 0，而是它之前 token 的个数。如果代码按*输入*的长度造表，每个新查询都等于没有旋转。
#
# 成批处理时还有一个麻烦。长短不一的文本要在左侧填充，好让末尾对齐。一段文本里所有 token 一起平移，是没有害处的，
# 这你已经知道。有害的是前一步把填充数进去、后一步又不数：这样距离就错了。
# 在[unsloth #3699](https://github.com/unslothai/unsloth/issues/3699) 里，一批文本中被填充的输出成了乱码，
# 最长的那段却没事。办法是逐行数真实的 token，而且每一步都这样数。

# %% [markdown]
# ### 练习 3.6 · 数真实的 token（1 分）
#
# 写出 `position_ids`：每一行第一个真实 token 的位置是 0，下一个是 1，依此类推。填充的位置填 0，反正它会被掩掉。


# %% nbgrader={"grade_id": "position_ids", "solution": true}
def position_ids(is_real: Tensor) -> Tensor:
    """左侧填充的一批文本里各 token 的位置：[batch, seq] bool 到 [batch, seq] long。"""
    ### BEGIN SOLUTION
    return (is_real.cumsum(dim=-1) - 1).clamp(min=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "position_ids_laws", "grade": true, "points": 1}
with quiet():
    is_real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]).bool()
    by_hand = [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert position_ids(is_real).tolist() == by_hand, "每一行从第一个真实 token 数起。"
    ### BEGIN HIDDEN TESTS
    padding = torch.tensor([0, 6, 3, 1])
    is_real = torch.arange(7) >= padding[:, None]
    positions = position_ids(is_real)
    assert positions.dtype == torch.long, "位置的 dtype 是 long。"
    assert positions[:, -1].tolist() == [6, 0, 3, 5], "最后一个 token 排在它之前所有真实 token 之后。"
    assert (positions[~is_real] == 0).all(), "填充的位置是 0。"
    longer = position_ids(torch.cat((is_real, torch.ones(4, 1).bool()), dim=1))
    assert torch.equal(longer[:, :-1], positions), "后面多一个 token，前面的位置不变。"
    assert torch.equal(longer[:, -1], positions[:, -1] + 1), "新来的 token 紧接在最后一个之后。"
    ### END HIDDEN TESTS

# %% [markdown]
# 来看它的作用。一个往回看 5 个 token 的头，在读一段 20 个 token 的文本，左侧填充了 9 个；已经读过 19 个，键都缓存好了。
# 最后一个查询在哪里，有三种说法：按它在这一行里的次序，是 28，把填充也数了进去；按真实 token 数，是 19，
# 缓存里的键也是这样数的；或者是 0，因为它独自到来。只有数对了，这个头才会看向 5 个 token 之前。

# %%
is_real = torch.arange(29) >= 9
key_positions = position_ids(is_real[None])[0][is_real]  # [20], 0 .. 19
keys = rotate_half_split(key[..., order].expand(1, 20, 1, dim), rotary_angles(key_positions, dim))
ideas = {"real tokens: 19": (19, BLACK, "o-"), "with padding: 28": (28, VERMILION, "s--"), "alone: 0": (0, BLUE, "^:")}

figure, axes = plt.subplots(figsize=(7.2, 3.0))
looked_at = {}
for name, (position, colour, style) in ideas.items():
    turned = rotate_half_split(query[..., order], rotary_angles(torch.tensor([position]), dim))
    weights = torch.softmax((turned * keys).sum(-1).flatten(), dim=-1)
    looked_at[name] = int(19 - weights.argmax())
    axes.plot(19 - key_positions, weights, style, color=colour, label=name, markersize=4)
axes.axvline(back, color=GREY, linewidth=0.8, linestyle="-", zorder=0)
axes.set(xlabel="tokens back from the query", ylabel="attention weight", xticks=range(0, 20, 5))
axes.legend(title="position of the query")
one, two, three = looked_at.values()
axes.set_title(f"A head that looks {one} back looks {two} or {three} back when positions slip")
plt.show()

# %% [markdown]
# ## 面对一份代码，该问什么
#
# | 问题 | 相邻配对 | 前后配对 |
# |---|---|---|
# | 谁在用 | 论文、GPT-J、Meta 的 Llama 代码 | GPT-NeoX、`transformers` 里的 Llama、作业的任务 4 |
# | 代码里怎么认 | `0::2` 和 `1::2`、`view_as_complex`、`freqs_cis` | 前后两半、`rotate_half` |
# | 每个角度出现两次的表 | 逐个重复，`repeat_interleave` | 整段重复，`cat` |
# | 每一对的运算 | 4 次乘法，2 次加减 | 相同 |
#
# 面对一份检查点，则要问：它是按哪一种训练的？后来有没有人重排过？
#
# **下一节**：[第 4 节](4_decay_and_precision.ipynb)要问的是，得分随距离怎样下降、究竟是不是在下降，
# 以及角度存成 16 位之后会怎样。

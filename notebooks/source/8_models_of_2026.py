# %% [markdown] lang="en"
# # 8 · Positions in the models of 2026
#
# Since 2024 models rotate only a part of a head, or only some
# layers, or by several positions at once; they scale queries, cut windows, add sinks. Each idea is derived here
# and run. At the end you read real configurations with your own code, and open a trained model.

# %% [markdown] lang="zh"
# # 8 · 2026 年的模型里的位置
#
# 2024 年以来，模型只旋转一个头的一部分，或者只在一部分层里旋转；同时按几个位置旋转；缩放查询，限定窗口，加上汇点。
# 这一节把每个想法都推导一遍，跑一跑。最后用你自己的代码去读真实的配置，再打开一个训练好的模型。

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import close, quiet
from figures import (
    BLUE,
    GREY,
    VERMILION,
    headline,
    look,
    name_lines,
    point,
    shade_beyond,
    show_table,
    use_style,
)
from given import frequencies, share_kept
from torch import Tensor
from trained import head, measured

torch.set_num_threads(1)
use_style()


# %%
def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn the adjacent pairs of [..., d] by angles [..., d/2]."""
    even, odd = x.view(*angles.shape, 2).unbind(-1)
    return torch.stack(
        [even * angles.cos() - odd * angles.sin(), odd * angles.cos() + even * angles.sin()], -1
    ).flatten(-2)


# %% [markdown] lang="en"
# ## Rotate only a part
#
# The score of RoPE is a sum over pairs. Let $\Delta = m - n$, and let some pairs stand still, $\theta_i = 0$:
#
# $$
# S_{mn} = \mathrm{Re} \sum_{\text{turning}} q_i\, k_i^*\, e^{\mathrm{j} \Delta \theta_i}
# + \mathrm{Re} \sum_{\text{still}} q_i\, k_i^* .
# $$
#
# The second sum does not know the distance, and can carry
# meaning as far as the text goes. But which pairs should stand still? Two answers are in use, and both are called **partial**:
#
# - **A narrower RoPE.** Rotate the first features of a head as if they were the whole head: their number takes the place
#   of $d$ in $\theta_i = b^{-2i/d}$. GPT-J, GPT-NeoX and GLM do it
#   ([GLM in transformers](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/glm/modeling_glm.py)).
# - **p-RoPE.** Keep the frequencies of the whole head, and stop the *slow* pairs. [Barbero et al.,
#   2024](https://arxiv.org/abs/2410.06205) propose it after finding that a trained Gemma 7B uses its slow pairs for
#   meaning, whose message a long text garbles. Gemma 4 has it in the
#   layers that see everything ([its configuration in
#   transformers](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gemma4/configuration_gemma4.py):
#   `proportional`, a share of 0.25, base 1,000,000, heads of 512 features).

# %% [markdown] lang="zh"
# ## 只旋转一部分
#
# RoPE 的得分是对各对求和。记 $\Delta = m - n$，让其中一些特征对静止不动，即 $\theta_i = 0$：
#
# $$
# S_{mn} = \mathrm{Re} \sum_{\text{转动}} q_i\, k_i^*\, e^{\mathrm{j} \Delta \theta_i}
# + \mathrm{Re} \sum_{\text{静止}} q_i\, k_i^* .
# $$
#
# 第二个和不知道距离，文本有多长，含义就能传多远。但是该让哪些特征对静止？现有两种回答，都叫**部分旋转**：
#
# - **窄一些的 RoPE**：把一个头的前面若干个特征当作一整个头来旋转：$\theta_i = b^{-2i/d}$ 里的 $d$ 换成它们的个数。GPT-J、GPT-NeoX 和 GLM 都是这样
#   （[transformers 里的 GLM](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/glm/modeling_glm.py)）。
# - **p-RoPE**：频率还是整个头的频率，让*慢*的特征对停下来。[Barbero 等，2024](https://arxiv.org/abs/2410.06205) 发现，训练好的 Gemma 7B
#   用低频对承载含义，文本一长就把话说乱了，于是提出这个办法。Gemma 4 在能看到全文的层里用它
#   （[transformers 里的配置](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gemma4/configuration_gemma4.py)：
#   `proportional`，比例 0.25，底数 1,000,000，每个头 512 个特征）。

# %%
slowest = float(2 * math.pi / frequencies(512, 1e6)[63])  # of the fastest quarter of the pairs
millions = float(2 * math.pi / frequencies(128, 1e6)[-1]) / 1e6  # of 128 features of 512, as a RoPE of their own
print(f"p-RoPE turns its slowest pair once in {slowest:.0f} positions, a narrower RoPE in {millions:.0f} million.")
assert 187 < slowest < 189 < 200  # what the text says

# %% [markdown] lang="en"
# In p-RoPE every pair that turns at all completes a circle within 200 positions: no length brings a new angle. But its still
# pairs cannot tell distances apart, so what is far must be found by meaning alone, among ever more keys.

# %% [markdown] lang="zh"
# 用 p-RoPE，凡是会转的特征对，200 个位置之内都转满了一圈：文本再长也不会出现新角度。但静止的特征对分不出远近，
# 所以远处的东西只能凭含义去找，而候选的键越来越多。

# %% [markdown] lang="en"
# ## Layers without positions, and a temperature
#
# In Llama 4 three layers of four rotate, looking at most 8,192 tokens back; the fourth does not, and sees everything:
# `no_rope_layers`, or iRoPE ([its
# configuration](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama4/configuration_llama4.py)).
# [Yang et al., 2025](https://arxiv.org/abs/2501.18795v2) found such a hybrid better on long tasks, and competitive on short ones.
#
# A layer without positions meets no new angle, but more keys. Let one key, the needle, have a logit that is
# higher by a **gap** $g$ than those of $n - 1$ others. Its weight is
#
# $$
# a = \frac{e^{g}}{e^{g} + n - 1} ,
# $$
#
# one half when $g = \ln(n - 1)$: to keep its weight, the gap must grow like the logarithm of the
# length. Multiply the query by a factor $f$, and all gaps are multiplied by it. [Nakanishi,
# 2025](https://arxiv.org/abs/2501.19399v1) takes $f$
# proportional to $\ln n$, with a learned constant for each head. Llama 4 takes
#
# $$
# f(p) = 1 + 0.1\, \ln \Big( 1 + \Big\lfloor \frac{p + 1}{F} \Big\rfloor \Big), \qquad F = 8192
# $$
#
# ([`floor_scale` and
# `attn_scale`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama4/modeling_llama4.py)).
# It is YaRN's $0.1 \ln s + 1$ again, on the logits once and not squared, and for each query by itself: no cache
# goes stale.

# %% [markdown] lang="zh"
# ## 没有位置的层，以及温度
#
# Llama 4 每四层里，前三层旋转，最多往回看 8,192 个 token，第四层不转，能看到全文：配置里叫 `no_rope_layers`，又称 iRoPE
# （[它的配置](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama4/configuration_llama4.py)）。
# [Yang 等，2025](https://arxiv.org/abs/2501.18795v2) 发现，这样的混合模型在长任务上更好，在短任务上不相上下。
#
# 没有位置的层不会碰到新角度，但会碰到更多的键。设有一个键，也就是要找的针，它的 logit 比其他 $n - 1$ 个键高出 $g$，称为**差距**。
# 它的权重是
#
# $$
# a = \frac{e^{g}}{e^{g} + n - 1} ,
# $$
#
# 当 $g = \ln(n - 1)$ 时恰好是一半：要让针保住权重，差距就得像长度的对数那样增长。给查询乘上一个因子 $f$，差距就都乘上它。
# [Nakanishi，2025](https://arxiv.org/abs/2501.19399v1) 取 $f$ 与 $\ln n$ 成正比，每个头有一个学出来的系数。Llama 4 取
#
# $$
# f(p) = 1 + 0.1\, \ln \Big( 1 + \Big\lfloor \frac{p + 1}{F} \Big\rfloor \Big), \qquad F = 8192
# $$
#
# （[`floor_scale` 和 `attn_scale`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/llama4/modeling_llama4.py)）。
# 这又是 YaRN 的 $0.1 \ln s + 1$，不过 logit 只乘一次，不是平方；而且每个查询各有一个，缓存不会过期。

# %%
GAP, SPREAD = 12.0, 2.0  # of the needle; of the logits of all other keys
COUNTS = (8192, 131_072, 10_000_000)
factor_of = {
    "no factor": lambda _: 1.0,
    "Llama 4": lambda keys: 1 + 0.1 * math.log(1 + keys // 8192),
    "proportional to ln n": lambda keys: math.log(keys) / math.log(8192),
}


def needle(factor: float, keys: int, spread: float = 0.0) -> float:
    """The weight of the needle; if the other logits are normal, the mean of e^(f x) is e^(f² σ² / 2)."""
    return 1 / (1 + math.exp(math.log(keys - 1) + (factor * spread) ** 2 / 2 - factor * GAP))


show_table(
    "The weight of a needle among so many keys, equal, or spread with a standard deviation of 2",
    [*(f"{keys:,}" for keys in COUNTS), f"{COUNTS[-1]:,}, spread"],
    {
        name: [f"{needle(f(n), n, spread):.3f}" for n, spread in [*((n, 0.0) for n in COUNTS), (COUNTS[-1], SPREAD)]]
        for name, f in factor_of.items()
    },
)
most = COUNTS[-1]
told = [
    needle(1, 8192),
    needle(1, 8192, SPREAD),
    needle(1, most, SPREAD),
    needle(factor_of["Llama 4"](most), most, SPREAD),
]
assert [round(weight, 3) for weight in told] == [0.952, 0.729, 0.002, 0.191]  # what the text says
best = GAP / SPREAD**2  # where f g - f² σ² / 2 is largest
assert max(range(1, 60), key=lambda tenths: needle(tenths / 10, most, SPREAD)) == 10 * best

# %% [markdown] lang="en"
# At the trained length, 8,192 keys, the needle has 0.952 of the weight. Without a factor it drowns; a logarithm of the
# length holds it up. But the factor widens *all* gaps. Where the other keys
# spread, with a standard deviation $\sigma = 2$, it raises the highest of them too: 0.729 at 8,192 keys, and at ten
# million 0.002 without a factor, 0.191 with Llama 4's. The needle weighs most where
# $f g - f^2 \sigma^2 / 2$ is largest, at $f = g / \sigma^2$: a factor that depends on the head.

# %% [markdown] lang="zh"
# 在训练长度，即 8,192 个键的时候，针占 0.952 的权重。没有因子，它就淹没了；乘上长度的对数，就能托住它。可是因子把*所有*差距都拉大。
# 如果其余的键散开，标准差 $\sigma = 2$，因子把其中最高的也一并抬高：8,192 个键时是 0.729；
# 一千万个键时，不用因子是 0.002，用 Llama 4 的因子是 0.191。针的权重在 $f g - f^2 \sigma^2 / 2$ 最大处最大，
# 也就是 $f = g / \sigma^2$：这个因子因头而异。

# %% [markdown] lang="en"
# ## A rotation that lets the cache be small: MLA
#
# A cache holds the keys and values of all heads for every token. **Multi-head latent attention** stores one short vector
# $c$ in their place, from which a matrix $U$ for each head makes the key, $k = U c$, and another matrix the value
# ([DeepSeek-V2, sections 2.1.2 and 2.1.3](https://arxiv.org/abs/2405.04434v5)). The keys need never be made:
# $q \cdot (U c) = (U^\top q) \cdot c$. Now rotate. With $R_n$ on the
# key and $R_m$ on the query, and $R_m^\top R_n = R_{n-m}$ from notebook 2,
#
# $$
# (R_m q) \cdot (R_n U c) = q^\top R_{n-m} U c = \big( U^\top R_{n-m}^\top q \big) \cdot c .
# $$
#
# The bracket depends on $n$: another matrix for every distance. The way out is to separate the two. Content goes
# through $c$ and is not rotated; positions have a few features of their own, rotated, with *one* key for all heads:
#
# $$
# S_{mn} = \frac{(U^\top q) \cdot c_n + (R_m q') \cdot (R_n k'_n)}{\sqrt{d + d'}} .
# $$
#
# Here $q$ has $d$ features, and $q'$ and $k'$ have $d'$. The cache holds $c_n$ and the rotated $k'_n$: 576 numbers for
# each token in place of 32,768.
#
# Su reads the layer in two ways ([2024](https://kexue.fm/archives/10091), [2025](https://kexue.fm/archives/11111)).
# *While a model writes*, each new token reads the whole cache, so its size sets the pace: for 128 heads of 128
# features, 32,768 numbers for each token if every head has keys and values of its own, 2,048 if 16 heads share them,
# 256 if all do. Which attention is best at a given size? Write the keys and values of all groups as one vector $c$; the
# matrices that make them from $c$ go to the queries and to the output, as $U$ did above. What is left is the cache of
# one head, key and value at once, as large as allowed. All sharing is a special case of it, and MLA, while it writes,
# is just that.
#
# *In training*, multiplications set the pace, and they go with the features of each head: there one wants many narrow heads with keys of their own.
# The same brackets, set the other way, make $128 + 64$ features for each head of the same $c$. A layer can be both only where nothing stands between $U$
# and $c$; a rotation does, and that is why so little of it is rotated, and beside. In his trials three things made MLA good, not the
# compression: larger heads, partial rotation, and a key that is the value, too ([2025](https://kexue.fm/archives/10907)).

# %% [markdown] lang="zh"
# ## 让缓存变小的旋转：MLA
#
# 缓存里存着每个 token 在所有头上的键和值。**多头潜在注意力**（MLA）只存一个短向量 $c$，每个头用一个矩阵 $U$ 由它造出键，$k = U c$，用另一个矩阵造出值
# （[DeepSeek-V2，2.1.2 和 2.1.3 节](https://arxiv.org/abs/2405.04434v5)）。键其实根本不必造出来：$q \cdot (U c) = (U^\top q) \cdot c$。
# 现在加上旋转。键乘 $R_n$，查询乘 $R_m$，由第 2 节的 $R_m^\top R_n = R_{n-m}$ 得
#
# $$
# (R_m q) \cdot (R_n U c) = q^\top R_{n-m} U c = \big( U^\top R_{n-m}^\top q \big) \cdot c .
# $$
#
# 括号里的东西取决于 $n$：每个距离都是另一个矩阵。出路是把两者分开：
# 内容走 $c$，不旋转；位置另有几个特征，要旋转，而且所有的头共用*一个*键：
#
# $$
# S_{mn} = \frac{(U^\top q) \cdot c_n + (R_m q') \cdot (R_n k'_n)}{\sqrt{d + d'}} .
# $$
#
# 这里 $q$ 有 $d$ 个特征，$q'$ 和 $k'$ 有 $d'$ 个。缓存里存的是 $c_n$ 和旋转过的 $k'_n$：每个 token 576 个数，而不是 32,768 个。
#
# 苏剑林从两头来读这一层（[2024](https://kexue.fm/archives/10091)，[2025](https://kexue.fm/archives/11111)）。*生成的时候*，每个新 token 都要把整个缓存读一遍，
# 快慢取决于缓存的大小。128 个头，每个头 128 个特征：各头都有自己的键和值，每个 token 要存 32,768 个数；16 个头共用一组，2,048 个；全部共用，256 个。
# 给定大小，哪种注意力最好？把各组的键和值拼成一个向量 $c$；由 $c$ 造出它们的矩阵，就像上面的 $U$ 那样，并到查询和输出里去。
# 剩下的就是一个头的缓存，既当键又当值，允许多大就多大。各种共用都是它的特例，而生成时的 MLA 正是它。
#
# *训练的时候*，快慢取决于乘法的多少，也就是每个头的特征数：这时想要的是许多窄的头，各有各的键。同样的式子，括号加在另一边，就由同一个 $c$ 给每个头造出 $128 + 64$ 个特征。
# 只有 $U$ 和 $c$ 之间什么也不隔，同一层才能既是这个又是那个；旋转正好隔在中间，所以只旋转那么一点，还要放在旁边。他的消融实验里，MLA 的好处不来自压缩，
# 而来自三件事：头更大，部分旋转，键同时也是值（[2025](https://kexue.fm/archives/10907)）。

# %%
LATENT, TURNED, CONTENT, HEADS = 512, 64, 128, 128  # DeepSeek-V2 and V3
assert (LATENT + TURNED, HEADS * 2 * CONTENT) == (576, 32_768)  # what the text says
assert [2 * CONTENT * HEADS // sharing for sharing in (16, HEADS)] == [2048, 256]  # what the text says

# %% [markdown] lang="en"
# ### Exercise 8.1 · Scores from the short vectors (2 points)
#
# Write `latent_scores` for one query. The rotations are already done. Do not make the keys: with many tokens that would be
# the expensive part. (The checks see the scores alone.)
#
# Hint: What can be done with the query and $U$ once, before any token comes in?
#
# Hint: The query in the short space is `[heads, short]`: for each head, its $U$ transposed times its query, say by
# `torch.einsum`. Then it meets the latents of all tokens in one product.

# %% [markdown] lang="zh"
# ### 练习 8.1 · 直接由短向量算得分（2 分）
#
# 对一个查询写出 `latent_scores`。旋转已经做好了。不要造出键：token 一多，那才是费钱的地方。（检查只看得到得分。）
#
# 提示：在任何 token 进来之前，查询和 $U$ 能先算出什么？
#
# 提示：换到短空间里的查询是 `[heads, short]`：每个头用自己的 $U$ 的转置乘自己的查询，比如用 `torch.einsum`。
# 之后它与所有 token 的短向量只要一次乘法。


# %% nbgrader={"grade_id": "latent_scores", "solution": true}
def latent_scores(content: Tensor, rotated: Tensor, latents: Tensor, rotated_keys: Tensor, up: Tensor) -> Tensor:
    """The scores of one query in every head: [heads, n].

    Args:
        content: [heads, d], the part of the query that is not rotated.
        rotated: [heads, d'], the rotated part.
        latents: [n, short], the short vectors of the tokens.
        rotated_keys: [n, d'], one for each token, shared by all heads.
        up: [heads, d, short], U for each head.
    """
    ### BEGIN SOLUTION
    taken = torch.einsum("hd,hdc->hc", content, up)  # U^T q
    scale = (content.shape[-1] + rotated.shape[-1]) ** 0.5
    return (taken @ latents.T + rotated @ rotated_keys.T) / scale
    ### END SOLUTION


# %% nbgrader={"grade_id": "latent_scores_laws", "grade": true, "points": 2}
with quiet():
    by_hand = latent_scores(
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[3.0, 0.0]]),
        torch.tensor([[1.0], [0.0]]),
        torch.tensor([[0.0, 5.0], [1.0, 0.0]]),
        torch.tensor([[[4.0], [1.0]]]),
    )
    assert by_hand.shape == (1, 2), "One score for each head and token."
    assert abs(by_hand[0, 0] - 3) < 1e-6, (
        "Token 0: U^T q = 1 * 4 + 2 * 1 = 6, the rotated part gives 0, and 6 / sqrt(4) = 3."
    )
    assert abs(by_hand[0, 1] - 1.5) < 1e-6, (
        "Token 1: nothing from the short vector, 3 * 1 from the rotated part, 3 / 2."
    )
    ### BEGIN HIDDEN TESTS
    random = torch.Generator().manual_seed(0)
    heads, n, d, turned, short = 3, 11, 6, 4, 5
    content, rotated = torch.randn(heads, d, generator=random), torch.randn(heads, turned, generator=random)
    latents, rotated_keys = torch.randn(n, short, generator=random), torch.randn(n, turned, generator=random)
    up = torch.randn(heads, d, short, generator=random)
    keys = torch.cat([torch.einsum("hdc,nc->hnd", up, latents), rotated_keys.expand(heads, -1, -1)], -1)
    whole = torch.einsum("hd,hnd->hn", torch.cat([content, rotated], -1), keys) / (d + turned) ** 0.5
    found = latent_scores(content, rotated, latents, rotated_keys, up)
    torch.testing.assert_close(found, whole, rtol=0, atol=1e-5, msg="The same as with keys of full size.")
    assert (found[0] - found[1]).abs().max() > 0.1, "Every head has its own U and its own query."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## Several positions at once: images
#
# Give every token three positions, time
# $t$, row $x$ and column $y$, and let every pair follow one of them. With $\delta$ for the step from the key to the
# query on the axis of pair $i$, the score is, as ever,
#
# $$
# S = \mathrm{Re} \sum_i q_i\, k_i^*\, e^{\mathrm{j} \delta_i \theta_i} .
# $$
#
# This is **M-RoPE** ([Qwen2-VL, section 2.1](https://arxiv.org/abs/2409.12191v2)). A
# text token has the same number on all axes, so text is rotated as by plain RoPE. After an image, text goes on at the
# largest number so far plus 1: an image of 16 by 16 patches costs 256 tokens, but moves what follows by 16 positions only.
#
# Which pair follows which axis? Qwen2-VL has **blocks**, the fastest pairs for time and the slowest for columns ([its
# code](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/qwen2_vl/modeling_qwen2_vl.py)).
# In Qwen3-VL the axes **take turns**, pair after pair
# ([`recomposition_frequencies`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/qwen3_vl/modeling_qwen3_vl.py)).

# %% [markdown] lang="zh"
# ## 同时有几个位置：图像
#
# 给每个 token 三个位置：时间 $t$、行 $x$、列 $y$，让每一对跟随其中一个。设 $\delta$ 是在第 $i$ 对所跟随的轴上从键到查询的步数，得分照旧是
#
# $$
# S = \mathrm{Re} \sum_i q_i\, k_i^*\, e^{\mathrm{j} \delta_i \theta_i} .
# $$
#
# 这就是 **M-RoPE**（[Qwen2-VL，2.1 节](https://arxiv.org/abs/2409.12191v2)）。文字 token 在各轴上的数相同，所以
# 文字的旋转与普通 RoPE 一样。图像之后，文字从目前最大的数加 1 接着排：16 乘 16 块的图像要花 256 个 token，却只让后文移动 16 个位置。
#
# 哪一对跟随哪个轴？Qwen2-VL 用**分块**，最快的归时间，最慢的归列
# （[它的代码](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/qwen2_vl/modeling_qwen2_vl.py)）。Qwen3-VL 里各轴**轮流**，一对接一对
# （[`recomposition_frequencies`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/qwen3_vl/modeling_qwen3_vl.py)）。

# %%
BLOCKS, TURNS = (16, 24, 24), (24, 20, 20)  # pairs for time, rows, columns: Qwen2-VL, Qwen3-VL


def blocks(sections: tuple[int, ...]) -> Tensor:
    """The axis of each pair, one axis after the other: [d/2]."""
    return torch.repeat_interleave(torch.arange(len(sections)), torch.tensor(sections))


def turns_taken(sections: tuple[int, ...]) -> Tensor:
    """The axis of each pair if the axes take turns, and axis 0 has what is left over: [d/2]."""
    pairs = torch.arange(sum(sections))
    axis = pairs % len(sections)
    return torch.where(pairs < torch.tensor(sections)[axis] * len(sections), axis, 0)


def places(before: int, rows: int, columns: int, after: int) -> Tensor:
    """The positions [3, n] of a text, an image and a text: time, row and column."""
    image = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).T
    image = torch.cat([torch.zeros(1, rows * columns, dtype=torch.long), image]) + before
    tail = torch.arange(after) + before + max(rows, columns)
    return torch.cat([torch.arange(before).expand(3, -1), image, tail.expand(3, -1)], dim=1)


print("Time, row and column of three tokens of text, two by three patches, and three tokens of text:")
print(*places(3, 2, 3, 3).tolist(), sep="\n")
print("The axis of each pair, the fastest first; t for time, r for the row, c for the column:")
for name, axes_of in {"Qwen2-VL": blocks(BLOCKS), "Qwen3-VL": turns_taken(TURNS)}.items():
    print(f"{name}:", "".join("trc"[axis] for axis in axes_of.tolist()))

# %% [markdown] lang="en"
# ### Exercise 8.2 · Angles on three axes (2 points)
#
# Write `axis_angles`: the angle of each token and pair.
#
# Hint: For one token and one pair: find the axis of the pair, the token's position on that axis, and multiply by the
# frequency of the pair. With two loops this is one line.
#
# Hint: Without loops: a tensor of numbers can pick rows of another, the same row more than once. Mind the shape.

# %% [markdown] lang="zh"
# ### 练习 8.2 · 三个轴上的角度（2 分）
#
# 写出 `axis_angles`：每个 token、每一对的角度。
#
# 提示：对一个 token、一对来说：找到这一对跟随的轴，取 token 在这个轴上的位置，再乘这一对的频率。用两层循环，就是一行。
#
# 提示：不用循环：一个整数张量可以从另一个张量里挑出若干行，同一行可以挑不止一次。注意形状。


# %% nbgrader={"grade_id": "axis_angles", "solution": true}
def axis_angles(positions: Tensor, theta: Tensor, axes: Tensor) -> Tensor:
    """The angle of every token and pair: [n, d/2].

    Args:
        positions: [3, n], one row for each axis.
        theta: [d/2].
        axes: [d/2], which axis each pair follows.
    """
    ### BEGIN SOLUTION
    return positions[axes].T * theta
    ### END SOLUTION


# %% nbgrader={"grade_id": "axis_angles_laws", "grade": true, "points": 2}
with quiet():
    theta = torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64)
    one_patch = axis_angles(torch.tensor([[8], [4], [2]]), theta, torch.tensor([0, 1, 2]))
    assert close(one_patch, [[8, 2, 0.5]]), "Pair 0 turns by 8 * 1, pair 1 by 4 * 1/2, pair 2 by 2 * 1/4."
    same = torch.arange(5).expand(3, -1)
    as_ever = torch.outer(torch.arange(5.0, dtype=torch.float64), theta)
    assert close(axis_angles(same, theta, torch.tensor([2, 0, 2])), as_ever), "Text is rotated as ever."
    ### BEGIN HIDDEN TESTS
    random = torch.Generator().manual_seed(3)
    theta, axes = frequencies(24), turns_taken((4, 4, 4))
    where = torch.randint(0, 30, (3, 2), generator=random)
    query, key = torch.randn(2, 24, dtype=torch.float64, generator=random)
    scores = []
    for moved in (where, where + torch.tensor([[100], [7], [31]])):
        angles = axis_angles(moved, theta, axes)
        assert angles.shape == (2, 12), "One angle for each token and pair."
        scores.append(float(rotate(query, angles[0]) @ rotate(key, angles[1])))
    assert abs(scores[0] - scores[1]) < 1e-9, "Only the steps count, on every axis."
    moved = where + torch.tensor([[0, 0], [0, 1], [0, 0]])
    angles = axis_angles(moved, theta, axes) - axis_angles(where, theta, axes)
    assert ((angles[1] > 1e-9) == (axes == 1)).all(), "A step to the next row turns the pairs of rows only."
    ### END HIDDEN TESTS

# %%
walk = places(5, 16, 16, 5)
assert walk.shape[1] - 10 == 256  # what the text says
assert int(walk[0, -5]) - 5 == 16
assert int((turns_taken(TURNS) > 0).nonzero()[-1]) + 1 == 60 - 60 % 3
slow, quick = (
    float(2 * math.pi / frequencies(128, 1e6)[axes_of == 2][0]) for axes_of in (blocks(BLOCKS), turns_taken(TURNS))
)
print(f"The fastest pair of the columns comes round in {slow:,.0f} positions if the axes have blocks,")
print(f"in {quick:.0f} if they take turns.")
assert slow > 35_000  # what the text says
assert 360 * 16 / slow < 1 / 5

# %% [markdown] lang="en"
# In blocks no pair of the columns turns by even a fifth of a degree within 16 patches: for a whole
# turn the fastest needs more than 35,000. In turns every axis has pairs that tell neighbours apart.

# %% [markdown] lang="zh"
# 分块时，列的任何一对在 16 块之内连五分之一度都转不到：
# 最快的一对要 35,000 多块才转一圈。轮流时，每个轴都有分得清相邻两块的特征对。

# %% [markdown] lang="en"
# ## Windows, sinks, and norms
#
# **A sliding window.** A query sees the last $w$ tokens only, itself included, so *no pair ever meets a new angle*, if training
# had texts of $w$ tokens. After $\ell$ such layers a token can have heard of $\ell\,(w - 1)$ tokens back.
# gpt-oss has such a layer, with $w = 128$, before each layer that sees everything
# ([configuration](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gpt_oss/configuration_gpt_oss.py)),
# Gemma 4 has five of them, or four in E2B, with $w = 512$ (E2B, E4B) or $1024$ (26B, 31B) and a base of their own ([its makers'
# code](https://github.com/google-deepmind/gemma/blob/7691fd4e7f26c9ec5db38110dddb3addfab4d767/gemma/gm/nn/gemma4/_gemma4.py)).
#
# **A sink.** Softmax must give away all of its weight, also where a head finds nothing. Trained models put the surplus
# on the first tokens, and a window that drops these breaks the model ([Xiao et al.,
# 2023](https://arxiv.org/abs/2309.17453)). gpt-oss has a learned logit $z$ for each head, which takes weight and gives
# no value
# ([`eager_attention_forward`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gpt_oss/modeling_gpt_oss.py)):
#
# $$
# a_{mn} = \frac{e^{S_{mn}}}{e^{z} + \sum_{n'} e^{S_{mn'}}} .
# $$
#
# **A norm on queries and keys.** RMSNorm makes each of them $\sqrt d$ long, so that a score $q \cdot k / \sqrt d$ stays
# between $-\sqrt d$ and $\sqrt d$ and cannot run away in training.
#
# **On keys alone.** A score is $|q|\, |k|$ times the cosine of their angle, and a rotation acts on the angle only. A longer key
# has larger scores, up or down, with *every* query and at *every* distance, so a model can make a token loud without learning where it should be heard.
# With $|k| = 1$ that way is closed. The angle has to carry the meaning, at all distances in training, and $|q|$ is left as a temperature of its
# own for each query. [Su, 2023](https://kexue.fm/archives/9859) found that such a model reads further than
# it was trained. It cannot be given to a model that exists, as YaRN can.

# %% [markdown] lang="zh"
# ## 窗口、汇点与归一化
#
# **滑动窗口**：一个查询只看最后 $w$ 个 token，包括它自己；只要训练时有 $w$ 个 token 长的文本，*任何一对都不会碰到新角度*。
# 叠 $\ell$ 层这样的层，一个 token 最多能听说 $\ell\,(w - 1)$ 个 token 之前的事。gpt-oss 在每个能看全文的层之前有一层
# $w = 128$ 的窗口
# （[配置](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gpt_oss/configuration_gpt_oss.py)），
# Gemma 4 有五层，E2B 是四层；E2B 和 E4B 的 $w = 512$，26B 和 31B 的 $w = 1024$，另有自己的底数（[官方代码](https://github.com/google-deepmind/gemma/blob/7691fd4e7f26c9ec5db38110dddb3addfab4d767/gemma/gm/nn/gemma4/_gemma4.py)）。
#
# **汇点**（attention sink，也译“注意力汇聚”“注意力沉没”）：softmax 必须把权重全部分出去，哪怕一个头什么也没找到。训练好的模型会把多余的权重放在最前面的几个 token 上。窗口把它们丢掉，
# 模型就坏了（[Xiao 等，2023](https://arxiv.org/abs/2309.17453)）。gpt-oss 的每个头有一个
# 学出来的 logit $z$，它占权重，却不给值
# （[`eager_attention_forward`](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models/gpt_oss/modeling_gpt_oss.py)）：
#
# $$
# a_{mn} = \frac{e^{S_{mn}}}{e^{z} + \sum_{n'} e^{S_{mn'}}} .
# $$
#
# **查询和键的归一化**：RMSNorm 让它们各自长 $\sqrt d$，于是得分 $q \cdot k / \sqrt d$ 总在 $-\sqrt d$ 与 $\sqrt d$ 之间，
# 训练中不会失控。
#
# **只归一化键**：得分是 $|q|\, |k|$ 乘以夹角的余弦，而旋转只作用于夹角。键一长，它与*每个*查询、在*每个*距离上的得分，绝对值都跟着变大，于是模型可以让一个 token 很响，
# 却不必学会它该在哪里被听见。取 $|k| = 1$，这条路就堵上了：含义只能由夹角来承担，训练中的每个距离都要用到它；剩下的 $|q|$，是每个查询自己的温度。
# [苏剑林，2023](https://kexue.fm/archives/9859) 发现这样的模型读得比训练时更远。它不能像 YaRN 那样加给现成的模型。

# %% [markdown] lang="en"
# ### Exercise 8.3 · A window with a sink (2 points)
#
# Write `windowed_weights`: the weights of a head that looks at the last $w$ tokens and has a sink $z$.
#
# Hint: Make the table of distances, query minus key. All scores that the query does not see become $-\infty$.
#
# Hint: A sink is one more key, with the same logit $z$ in every row: a column more before the softmax, which
# afterwards is not part of the result.

# %% [markdown] lang="zh"
# ### 练习 8.3 · 带汇点的窗口（2 分）
#
# 写出 `windowed_weights`：一个头只看最后 $w$ 个 token，并且有汇点 $z$，给出它的权重。
#
# 提示：先造一张距离的表，查询减键。查询看不到的，得分都变成 $-\infty$。
#
# 提示：汇点就是多出来的一个键，在每一行里 logit 都是 $z$：softmax 之前多一列，之后这一列不算在结果里。


# %% nbgrader={"grade_id": "windowed_weights", "solution": true}
def windowed_weights(scores: Tensor, window: int, sink: float) -> Tensor:
    """The weights on the keys, [n, n]; rows add up to less than 1, since the sink takes its part.

    Args:
        scores: [n, n].
        window: w, how many tokens a query sees, itself included.
        sink: z, the logit of the sink; minus infinity for none.
    """
    ### BEGIN SOLUTION
    position = torch.arange(len(scores))
    distance = position[:, None] - position
    seen = scores.masked_fill((distance < 0) | (distance >= window), -torch.inf)
    with_sink = torch.cat([seen, torch.full_like(scores[:, :1], sink)], dim=-1)
    return torch.softmax(with_sink, dim=-1)[:, :-1]
    ### END SOLUTION


# %% nbgrader={"grade_id": "windowed_weights_laws", "grade": true, "points": 2}
with quiet():
    even = windowed_weights(torch.zeros(4, 4), 2, 0.0)
    assert even.shape == (4, 4), "A column for each key, and none for the sink."
    assert abs(even[0, 0] - 1 / 2) < 1e-6, "Token 0 sees itself and a sink of the same logit: half and half."
    assert (even[3, 2:] - 1 / 3).abs().max() < 1e-6, "Token 3 sees two tokens and the sink."
    assert even[3, 1] == even[0, 1] == 0, "Nothing beyond the window, nothing ahead."
    none = windowed_weights(torch.zeros(4, 4), 4, -math.inf)
    assert abs(none[3].sum() - 1) < 1e-6, "Without a sink the weights of a row add up to 1."
    ### BEGIN HIDDEN TESTS
    scores = torch.randn(9, 9, generator=torch.Generator().manual_seed(4))
    kept = scores.clone()
    whole = torch.softmax(scores.masked_fill(torch.ones(9, 9).triu(1).bool(), -torch.inf), -1)
    torch.testing.assert_close(
        windowed_weights(scores, 9, -math.inf), whole, msg="A window of everything is plain causal attention."
    )
    for window in (1, 3):
        weights = windowed_weights(scores, window, 1.5)
        inside = scores[8, 9 - window :].exp()
        right = inside / (inside.sum() + math.exp(1.5))
        torch.testing.assert_close(
            weights[8, 9 - window :], right, msg="The sink stands in the sum, and has no column."
        )
        assert (weights > 0).sum(-1).max() == window, "At most w keys have weight."
    assert windowed_weights(scores, 3, 50.0).sum() < 1e-6, "A sink that is high takes all."
    assert torch.equal(scores, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# ## How large a base, how long a text?
#
# Notebook 4 found the first distance at which a key that resembles the query scores *lower* than a random one on average:
# where $\sum_i \cos \Delta \theta_i$ falls below zero. [Men et al., 2024](https://arxiv.org/abs/2405.14591v1) ask
# which bases have no such distance within a length. The first distance of loss does *not* grow steadily with the
# base: between the smallest base without loss and the largest with loss lies a **band** in which both occur.

# %% [markdown] lang="zh"
# ## 底数多大，文本多长？
#
# 第 4 节找到了第一个这样的距离：在那里，与查询相似的键平均得分反而*低于*随机的键，也就是 $\sum_i \cos \Delta \theta_i$ 第一次跌到零以下的地方。
# [Men 等，2024](https://arxiv.org/abs/2405.14591v1) 反过来问：给定一个长度，哪些底数不出现这种距离？第一个吃亏的距离*并不*随底数一路增大：
# 从最小的不吃亏的底数，到最大的吃亏的底数，中间有一条**带**，两种情形都有。

# %%
bases = torch.logspace(3, 8.2, 800, dtype=torch.float64)
LONGEST = 65_536
distances = torch.arange(1, LONGEST + 1, dtype=torch.float32)


def first_loss(base: float) -> int:
    """The first distance at which the sum of cosines of 64 pairs is negative; LONGEST if there is none up to there."""
    for part in distances.split(4096):
        below = (torch.cos(torch.outer(part, frequencies(128, base).float())).sum(-1) < 0).nonzero()
        if len(below):
            return int(part[below[0, 0]])
    return LONGEST


firsts = torch.tensor([first_loss(float(base)) for base in bases])
lengths = 2 ** torch.arange(10, 17)
passes = firsts >= lengths[:, None]  # [lengths, bases]
lowest = torch.stack([bases[row][0] for row in passes])  # the smallest base without loss
safe = torch.stack([bases[1:][~row[:-1]][-1] for row in passes])  # from here on, no base of the grid has a loss
changes = (passes[:, 1:] != passes[:, :-1]).sum(1)  # how often loss and no loss change places

# %%
figure, axes = plt.subplots(figsize=(5.0, 3.1))
law = 0.0424 * lengths.double() ** 1.628
axes.fill_between(lengths, lowest, safe, color=BLUE, alpha=0.2, linewidth=0)
axes.loglog(lengths, safe, "o-", color=BLUE)
axes.loglog(lengths, lowest, "o--", color=BLUE)
axes.loglog(lengths, law, color=GREY, linestyle=":")
point(axes, "no loss from\nhere on up", (lengths[3], safe[3]), (-30, 22), BLUE)
point(axes, "smallest base\nwithout loss", (lengths[5], lowest[5]), (10, -18), BLUE)
point(axes, "Men et al., figure 1: $0.0424\\, L^{1.628}$", (lengths[1], law[1]), (10, -16), GREY)
for name, length, base, marker, offset in (
    ("Llama 2", 4096, 1e4, "v", (8, -3)),
    ("Llama 3", 8192, 5e5, "^", (0, 6)),
    ("Qwen3", 32768, 1e6, "s", (8, -8)),
):
    axes.loglog(length, base, marker, color=VERMILION, markersize=7)
    point(axes, name, (length, base), offset, VERMILION, line=False)
axes.set(xlabel="length L", ylabel="base b", ylim=(1e3, 4e7))
eight = lengths.tolist().index(8192)
finding = f"Within the band a larger base may lose again: at 8,192\nthe verdict changes {changes[eight]} times;"
headline(figure, f"{finding} Llama 2 was below the band")
plt.show()
assert lowest[2] > 1e4  # what the title says
assert safe[eight] > 2 * lowest[eight]  # the band is wide
assert (changes > 1).all()

# %% [markdown] lang="en"
# The curve of the paper (version 1, figure 1) follows the lower edge. But that
# edge is no bound: a base just above it may have a loss again, so choose one above the upper edge. (Both edges are those of
# 800 bases; on a finer grid the band is wider.) It is one measure: Llama 2 reads its 4,096 tokens all the same.

# %% [markdown] lang="zh"
# 论文的曲线（第 1 版，图 1）沿着下缘走。但下缘不是界：比它略大的底数，可能又吃亏。要选就选在上缘之上。
# （两条边都是 800 个底数的结果；网格更细，带就更宽。）这只是一种度量：Llama 2 照样读它的 4,096 个 token。

# %% [markdown] lang="en" short=true
# ## Read the configurations
#
# Below are the settings of seven models, by their names in transformers.

# %% [markdown] lang="zh" short=true
# ## 读配置
#
# 下面是七个模型的设置，名称按 transformers。

# %% [markdown] lang="en"
# ### Exercise 8.4 · Frequencies from a configuration (3 points)
#
# Write `read_frequencies`. The dictionary has `rope_theta`, the base, and a `rope_type`:
#
# - `default` or none at all: plain RoPE.
# - `linear`: PI; `factor` is $s$.
# - `proportional`: p-RoPE, and `partial_rotary_factor` is the share of the pairs that turns, rounded down to whole pairs.
# - `llama3` and `yarn`: the ramps of notebook 5, by turns and by pairs. Which share of its own frequency each pair keeps
#   is given as `kept`; the rest of the frequency is divided by `factor`.
# - The factor for the tables, in `yarn` alone, is `attention_factor`, and if that is not there, $0.1 \ln s + 1$. All other types
#   have the factor 1.
#
# Hint: For each type, ask which share of its own frequency a pair keeps: all of it, none of it, or `kept`. Only in
# p-RoPE is the rest dropped.
#
# Hint: Much may be missing in the dictionary: `rope.get(name, default)` reads what need not be there.

# %% [markdown] lang="zh"
# ### 练习 8.4 · 由配置求频率（3 分）
#
# 写出 `read_frequencies`。字典里有底数 `rope_theta` 和类型 `rope_type`：
#
# - `default` 或者没有写：普通 RoPE。
# - `linear`：PI；`factor` 就是 $s$。
# - `proportional`：p-RoPE，`partial_rotary_factor` 是会转的特征对所占的比例，向下取整到整数对。
# - `llama3` 和 `yarn`：第 5 节的两种斜坡，按圈数和按编号。每一对保留自己频率的多少，由 `kept` 给出；其余部分除以 `factor`。
# - 乘在表上的因子只有 `yarn` 有：`attention_factor`，没有写就是 $0.1 \ln s + 1$。其他类型的因子都是 1。
#
# 提示：对每种类型，先问一对保留自己频率的多少：全部、零，还是 `kept`。只有 p-RoPE，其余部分就没有了。
#
# 提示：字典里可能缺很多项：可有可无的，用 `rope.get(名字, 默认值)` 来读。


# %% nbgrader={"grade_id": "read_frequencies", "solution": true}
def read_frequencies(rope: dict, dim: int, kept: Tensor | None = None) -> tuple[Tensor, float]:
    """The frequencies [dim/2] and the factor for cosines and sines that a configuration asks for.

    Args:
        rope: The dictionary `rope_parameters` of a model.
        dim: The features that a head rotates.
        kept: [dim/2], the shares on the ramp; only `llama3` and `yarn` have one.
    """
    ### BEGIN SOLUTION
    kind, stretch = rope.get("rope_type", "default"), rope.get("factor", 1.0)
    theta, factor = frequencies(dim, rope["rope_theta"]), 1.0
    if kind == "proportional":
        turning = torch.arange(dim // 2) < math.floor(rope["partial_rotary_factor"] * dim / 2)
        return turning * theta, factor
    share = torch.ones_like(theta)
    if kind == "linear":
        share = torch.zeros_like(theta)
    elif kind in ("llama3", "yarn"):
        share = kept
    if kind == "yarn":
        factor = rope.get("attention_factor", 0.1 * math.log(stretch) + 1)
    return share * theta + (1 - share) * theta / stretch, factor
    ### END SOLUTION


# %% nbgrader={"grade_id": "read_frequencies_laws", "grade": true, "points": 3}
with quiet():
    theta, factor = read_frequencies({"rope_theta": 16.0}, 8)
    by_hand = torch.tensor([1, 0.5, 0.25, 0.125])
    assert (theta - by_hand).abs().max() < 1e-9, "Base 16, nothing else: 1, 1/2, 1/4, 1/8."
    assert close(factor, 1), "Nothing is said of a factor, so there is none."
    theta, factor = read_frequencies({"rope_theta": 16.0, "rope_type": "linear", "factor": 4.0}, 8)
    assert abs(theta[0] - 0.25) < 1e-9, "linear: every pair is slowed by the factor, pair 0 too."
    assert close(factor, 1), "Only yarn has a factor for the tables."
    ramp = torch.tensor([1, 0.5, 0.5, 0], dtype=torch.float64)
    yarn = {"rope_theta": 16.0, "rope_type": "yarn", "factor": 16.0}
    theta, factor = read_frequencies(yarn, 8, ramp)
    assert abs(factor - 1.27726) < 1e-4, "yarn without a word about attention: 0.1 ln 16 + 1."
    assert close(theta[0], 1), "A pair that keeps all of its frequency keeps it: pair 0 has 1."
    assert close(theta[3], 0.125 / 16), "A pair that keeps nothing is slowed by the factor: 1/8 over 16."
    assert close(theta[1], 0.5 * 0.5 + 0.5 * 0.5 / 16), "Half of 1/2 is kept, the other half is slowed by 16."
    theta, factor = read_frequencies({"rope_theta": 16.0, "rope_type": "llama3", "factor": 2.0}, 8, ramp)
    assert close(theta[2], 0.5 * 0.25 + 0.5 * 0.25 / 2), (
        "llama3 blends in the same way: half of 1/4, and half of it over 2."
    )
    assert close(factor, 1), "llama3 has no temperature."
    theta, _ = read_frequencies({"rope_theta": 16.0, "rope_type": "proportional", "partial_rotary_factor": 0.5}, 8)
    assert close(theta, [1, 0.5, 0, 0]), (
        "proportional: the share counts pairs, rounded down; the slow ones stand still."
    )
    ### BEGIN HIDDEN TESTS
    assert close(read_frequencies(yarn | {"attention_factor": 1.0}, 8, ramp)[1], 1), (
        "attention_factor 1.0 switches the temperature off."
    )
    for name, rope in (("Qwen3", yarn | {"rope_theta": 1e6, "factor": 4.0}), ("Llama 3.1", {"rope_type": "llama3"})):
        rope = {"rope_theta": 5e5, "factor": 8.0} | rope
        share, own = share_kept(name), frequencies(128, rope["rope_theta"])
        theta, _ = read_frequencies(rope, 128, share)
        assert close(theta[share == 1], own[share == 1]), "Pairs that keep all of it are left alone."
        slowed = own[share == 0] / rope["factor"]
        assert close(theta[share == 0], slowed), "Those that keep nothing are slowed by the factor."
        right = own / rope["factor"] + share * (own - own / rope["factor"])
        assert close(theta / right, torch.ones(64)), "Between them it blends by the share."
    for dim, share, turning in ((512, 0.25, 64), (10, 0.5, 2), (14, 0.5, 3)):
        gemma = {"rope_theta": 1e6, "rope_type": "proportional", "partial_rotary_factor": share}
        theta, _ = read_frequencies(gemma, dim)
        assert close(theta[:turning], frequencies(dim, 1e6)[:turning]), "Frequencies are those of the whole head."
        assert (theta[turning:] == 0).all(), (
            "proportional: the share counts pairs, rounded down; the slow ones stand still."
        )
    plain = read_frequencies({"rope_theta": 1e6, "rope_type": "default", "factor": 9.0}, 64)[0]
    assert close(plain, frequencies(64, 1e6)), "default: whatever else is there, nothing is scaled."
    ### END HIDDEN TESTS

# %%
LLAMA = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "original_max_position_embeddings": 8192,
    "low_freq_factor": 1.0,
}
RAMP = {"beta_fast": 32.0, "beta_slow": 1.0}  # where they are written down


def yarn(base: float, factor: float, length: int, **more: float | bool) -> dict:
    """What a configuration with YaRN says, in the words of transformers."""
    return {
        "rope_type": "yarn",
        "rope_theta": base,
        "factor": factor,
        "original_max_position_embeddings": length,
        **more,
    }


MODELS = {  # name: features that rotate, longest distance in training, advertised length, and what the configuration says
    "Llama 3.1": (128, 8192, 131_072, LLAMA | {"factor": 8.0, "high_freq_factor": 4.0}),
    "Llama 4 Scout": (128, 8192, 10_000_000, LLAMA | {"factor": 16.0, "high_freq_factor": 1.0}),
    "Qwen3": (128, 32_768, 131_072, yarn(1e6, 4.0, 32_768)),
    "DeepSeek-V3": (64, 4096, 131_072, yarn(10_000.0, 40.0, 4096, attention_factor=1.0, **RAMP)),
    "DeepSeek-V4": (64, 65_536, 1_048_576, yarn(160_000.0, 16.0, 65_536, attention_factor=1.0, **RAMP)),
    "gpt-oss": (64, 4096, 131_072, yarn(150_000.0, 32.0, 4096, truncate=False, **RAMP)),
    "Gemma 4 31B": (
        512,
        None,
        262_144,
        {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
    ),
}
IN_CHUNKS = {"Llama 4 Scout"}  # its rotating layers see no distance beyond training, however long the text

# %% [markdown] lang="en"
# In the handbook, the figure below names the source of each. Qwen3 has YaRN for those who ask for it. DeepSeek-V3's
# factor goes into the logits, not into the tables: hence the 1.0. Ten million is what the
# [card](https://github.com/meta-llama/llama-models/blob/a9c89c471f793423afd4cc3ca8671d6e56fe64cb/models/llama4/MODEL_CARD.md)
# of Llama 4 Scout says, and 256K [Gemma's page](https://ai.google.dev/gemma/docs/core), which does not say how long its
# training texts were; E2B and E4B have 128K.
#
# **Predict before you run on.** Which of these keep every pair on angles that training showed, up to the advertised
# length? (The reach is that of notebook 5, as long as the frequencies were *those of training*, before any fine-tuning with the
# new ones.)

# %% [markdown] lang="zh"
# 每个模型的出处，在手册里的下图中。Qwen3 的 YaRN 由需要的人自己加上。DeepSeek-V3 的因子放进 logit，不放进表里，所以写的是 1.0。一千万出自 Llama 4 Scout 的
# [模型卡](https://github.com/meta-llama/llama-models/blob/a9c89c471f793423afd4cc3ca8671d6e56fe64cb/models/llama4/MODEL_CARD.md)，
# 256K 出自 [Gemma 的页面](https://ai.google.dev/gemma/docs/core)，那里没有说训练文本有多长；E2B 和 E4B 是 128K。
#
# **先预测，再往下跑**：直到宣传的长度，哪些模型能让每一对都停留在训练见过的角度上？（“够到”的意思与第 5 节相同，按*训练时的频率*算，不计用新频率做过的微调。）

# %%
reached, rows = {}, {}
for name, (dim, trained, advertised, rope) in MODELS.items():
    ramp = share_kept(name) if rope["rope_type"] in ("llama3", "yarn") else None
    new, factor = read_frequencies(rope, dim, ramp)
    moving = new > 0
    slowest = float(2 * math.pi / new[moving].min())
    own = frequencies(dim, rope["rope_theta"])
    idle = moving & (own * (trained or slowest) < 2 * math.pi - 1e-6)  # less than a turn in training
    arc = (trained or slowest) * own / new.where(moving, torch.ones_like(new))
    reached[name] = float(arc[idle].min()) if idle.any() else math.inf
    limit = f"{reached[name]:,.0f}" if idle.any() else "any"
    said = f"{advertised:,}, in chunks" if name in IN_CHUNKS else f"{advertised:,}"
    rows[name] = [f"{moving.sum()}", f"{(~moving).sum()}", f"{slowest:,.0f}", f"{idle.sum()}", limit, said]
show_table(
    "The pairs of each model, what it reaches, and what its makers promise",
    ["turning", "still", "slowest, as read", "idle in training", "reach", "advertised"],
    rows,
)
assert round(reached["Llama 3.1"]) == 65_536
assert round(reached["Llama 4 Scout"]) == 131_072
assert round(reached["Qwen3"]) == round(reached["gpt-oss"]) == 131_072
assert round(reached["DeepSeek-V3"]) == 163_840
assert round(reached["DeepSeek-V4"]) == 1_048_576
assert reached["Gemma 4 31B"] == math.inf
still = read_frequencies(MODELS["Gemma 4 31B"][3], 512)[0] == 0
assert len(still) == 256
assert int(still.sum()) == 192
assert round(slowest) == 188

# %% [markdown] lang="en"
# Qwen3, gpt-oss and DeepSeek-V4 advertise *exactly* the reach: the trained length times the factor of
# YaRN. DeepSeek-V3 reaches 163,840 and [advertises
# 128K](https://github.com/deepseek-ai/DeepSeek-V3). [Llama 3.1](#configs?model=Llama+3.1+8B&read=131072) advertises twice its reach of 65,536: its slow pairs do meet new
# angles, and it was trained on long texts to learn them ([section
# 3.4.2](https://arxiv.org/abs/2407.21783v3)). In Llama 4 the rotating layers never look further than in training.
# [Gemma 4](#configs?model=Gemma+4+31B&read=131072) has no limit of this kind: of 256 pairs 192 stand still, and the slowest of the others turns once in 188 positions.
#
# <!-- touch: configs -->

# %% [markdown] lang="zh"
# Qwen3、gpt-oss 和 DeepSeek-V4 宣传的*恰好*就是够得到的长度：训练长度乘以 YaRN 的因子。
# DeepSeek-V3 够得到 163,840，[宣传的是 128K](https://github.com/deepseek-ai/DeepSeek-V3)。
# [Llama 3.1](#configs?model=Llama+3.1+8B&read=131072) 宣传的是够得到的 65,536 的两倍：它的低频对确实会碰到新角度，而它为此用长文本训练过
# （[3.4.2 节](https://arxiv.org/abs/2407.21783v3)）。Llama 4 里旋转的层从不看得比训练时更远。[Gemma 4](#configs?model=Gemma+4+31B&read=131072) 则没有这种限制：
# 256 对里有 192 对静止，其余的里最慢的一对，188 个位置转一圈。
#
# <!-- touch: configs -->

# %% [markdown] lang="en"
# ## Inside a trained model
#
# [SmolLM2-135M](https://arxiv.org/abs/2502.02737) has 30 layers of 9 heads, 32 pairs in each, base 100,000, a window of
# 8,192 tokens. The figures were measured once, with its weights in 4 bits, on Python's manual, by the command in
# `smollm2.json`. One of its 270 heads you compute here: `trained.head()` gives 64 rows each of its `W_Q` and `W_K`, and
# the vectors that they multiply in a text of 53 tokens.
#
# Almost three quarters of this head's weight is on *the token before*. **Predict:** which of the 32 pairs does it need for
# that?

# %% [markdown] lang="zh"
# ## 打开一个训练好的模型
#
# [SmolLM2-135M](https://arxiv.org/abs/2502.02737) 有 30 层，每层 9 个头，每个头 32 对，
# 底数 100,000，窗口 8,192 个 token。图里的数是用它 4 位的权重、在 Python 手册上测一次得来的，命令写在 `smollm2.json` 里。
# 270 个头里，有一个在这里算：`trained.head()` 给出它的 `W_Q` 和 `W_K` 各 64 行，以及在一段 53 个 token 的文本里与它们相乘的向量。
#
# 这个头把将近四分之三的权重放在*前一个 token* 上。**先预测**：为此它需要 32 对里的哪些？

# %% [markdown] lang="en"
# ### Exercise 8.5 · Stop some pairs (2 points)
#
# Write `turned_weights`: the causal weights of attention of a head whose pairs turn at given speeds. A pair with the
# speed 0 stands still.
#
# Hint: `rotate`, at the top of this notebook, takes a table of the angles $p\, \theta_i$, for queries and keys alike.
#
# Hint: After that it is causal attention as ever: divide by the root of the number of features, mask what lies ahead,
# softmax over the keys.

# %% [markdown] lang="zh"
# ### 练习 8.5 · 停住一些特征对（2 分）
#
# 写出 `turned_weights`：一个头的各对按给定的速度转动，给出它的因果注意力权重。速度为 0 的特征对静止不动。
#
# 提示：这一节开头的 `rotate` 要的是一张角度 $p\, \theta_i$ 的表，查询和键都一样。
#
# 提示：此后就是普通的因果注意力：除以特征数的平方根，遮住后面的，对键做 softmax。


# %% nbgrader={"grade_id": "turned_weights", "solution": true}
def turned_weights(queries: Tensor, keys: Tensor, theta: Tensor) -> Tensor:
    """The causal weights on the keys, [n, n], of a head whose pairs turn at these speeds.

    Args:
        queries: [n, d], adjacent features are pairs.
        keys: [n, d].
        theta: [d/2], in radians from one position to the next.
    """
    ### BEGIN SOLUTION
    angles = torch.outer(torch.arange(len(keys)).to(theta), theta)
    scores = rotate(queries, angles) @ rotate(keys, angles).T / keys.shape[-1] ** 0.5
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "turned_weights_laws", "grade": true, "points": 2}
with quiet():
    zeros, quarter = torch.zeros(3, 2, dtype=torch.float64), torch.tensor([math.pi / 2], dtype=torch.float64)
    shared = turned_weights(zeros, zeros, quarter)
    assert shared.shape == (3, 3), "A row for each query, a column for each key."
    assert close(shared, [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]), (
        "Equal scores share the weight evenly, among the tokens up to the query."
    )
    ones = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64) * math.sqrt(math.sqrt(2) * math.log(3))
    assert close(turned_weights(ones, ones, quarter)[1], [1 / 4, 3 / 4]), (
        "A quarter turn apart the score is 0, together it is ln 3 (after the root of d = 2): weights 1/4 and 3/4."
    )
    assert close(turned_weights(ones, ones, 0 * quarter)[1], [1 / 2, 1 / 2]), (
        "A pair that stands still knows no distance."
    )
    ### BEGIN HIDDEN TESTS
    random = torch.Generator().manual_seed(5)
    queries, keys = torch.randn(2, 7, 6, dtype=torch.float64, generator=random)
    kept, speeds = torch.stack([queries, keys]), torch.tensor([1.0, 0.3, 0.0], dtype=torch.float64)
    weights = turned_weights(queries, keys, speeds)
    q, k = (torch.view_as_complex(x.view(7, 3, 2)) for x in (queries, keys))
    for m in range(7):
        own = torch.stack([(q[m] * k[n].conj() * torch.exp(1j * (m - n) * speeds)).real.sum() for n in range(m + 1)])
        right = (own / math.sqrt(6)).softmax(-1)
        torch.testing.assert_close(
            weights[m, : m + 1], right, msg="Pair i of the score turns by the distance times theta_i."
        )
    assert (weights.triu(1) == 0).all(), "Nothing ahead has weight."
    assert (turned_weights(queries[:4], keys[:4], speeds) - weights[:4, :4]).abs().max() < 1e-9, (
        "What comes later changes nothing."
    )
    assert torch.equal(torch.stack([queries, keys]), kept), "The inputs belong to the caller: leave them as they are."
    ### END HIDDEN TESTS

# %%
WINDOW = 8192
tokens, read, W_Q, W_K = head()
own = frequencies(64, 1e5)
fast = WINDOW * own >= 2 * math.pi  # at least one turn within the window
ways = {
    "as trained": own,
    "slow pairs stopped": own * fast,
    "fast pairs stopped": own * ~fast,
    "all but four stopped": own * (torch.arange(32) < 4),
    "PI, factor 2": own / 2,
}
weights = {name: turned_weights(read @ W_Q.T, read @ W_K.T, speeds) for name, speeds in ways.items()}
one, two = ({name: float(each.diagonal(-back).mean()) for name, each in weights.items()} for back in (1, 2))
show_table(
    "Where one head of SmolLM2 looks: the mean weight",
    ["one back", "two back", "on itself"],
    {
        name: [f"{one[name]:.0%}", f"{two[name]:.0%}", f"{float(each.diagonal().mean()):.0%}"]
        for name, each in weights.items()
    },
)
assert (len(tokens), int(fast.sum()), int((~fast).sum()), 30 * 9) == (53, 20, 12, 270)  # what the text says
assert abs(one["slow pairs stopped"] - one["as trained"]) < 0.01
assert one["as trained"] > 0.7 > one["all but four stopped"] > 0.55 > 0.05 > one["fast pairs stopped"]
assert two["PI, factor 2"] > 0.4 > 3 * one["PI, factor 2"]

# %% [markdown] lang="en"
# Stop the 12 slow pairs, and it looks as before; stop the 20 fast ones, and it is lost. The four fastest alone do most of the
# work. And *PI makes it look two back*: at half the speed, two steps look like one. That is why PI needs training.

# %% [markdown] lang="zh"
# 停住 12 个低频对，它照看不误；停住 20 个高频对，它就找不到了。最快的四对几乎做完了全部的事。
# 而 *PI 让它看往前两个*：速度减半，两步看上去就像一步。所以 PI 要训练。


# %%
def looks_of(what: str) -> dict[str, Tensor]:
    """How the heads of a model look: each part, [blocks, heads, ...]."""
    blocks = measured(what)
    return {part: torch.tensor([block[part] for block in blocks], dtype=torch.float64) for part in blocks[0]}


def share_used(looks: dict[str, Tensor]) -> Tensor:
    """Mean length of each pair of queries times that of keys, over the mean of all pairs: [blocks, heads, d/2]."""
    keys = looks["keys"].repeat_interleave(looks["queries"].shape[1] // looks["keys"].shape[1], dim=1)
    product = looks["queries"] * keys
    return product / product.mean(-1, keepdim=True)


large, small = looks_of("heads"), looks_of("small heads")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9))
for looks, turns, (colour, dashes, marker) in (
    (large, WINDOW * own / (2 * math.pi), (BLUE, "-", "o")),
    (small, 64 * frequencies(32, 100.0) / (2 * math.pi), (VERMILION, "--", "^")),
):
    left.semilogx(turns, share_used(looks).mean((0, 1)), color=colour, linestyle=dashes, marker=marker, markersize=3.5)
    shares = looks["weights"].mean((0, 1))
    right.plot(shares, color=colour, linestyle=dashes, marker=marker, markersize=3.5)
used = share_used(large).mean((0, 1))
point(left, "SmolLM2", (0.33, 5.5), (8, -2), BLUE, line=False)
point(left, "small model", (10.2, 2.1), (4, 8), VERMILION, line=False)
left.set(xlabel="turns within the window", ylabel="length of a pair, of the mean")
right.set_xticks(range(11), ["0", "1", "2", "4", "8", "16", "", "64", "", "256", ""])
right.set(xlabel="distance, from here to the next", ylabel="share of the weight", ylim=(0, 0.36))
point(right, "SmolLM2", (8, 0.052), (0, 10), BLUE, line=False)
point(right, "small model", (2, 0.33), (8, 0), VERMILION, line=False)
longest = float(WINDOW * own[used.argmax()] / (2 * math.pi))
headline(
    figure,
    f"The longest pairs turn by a third of a circle in the window ({longest:.2f});\nheads look far, or at token 0",
)
plt.show()
assert (abs(longest - 1 / 3) < 0.01, round(float(used.max()), 1)) == (True, 5.5)  # what the text says
assert round(float(share_used(large)[..., ~fast].sum(-1).mean() / 32), 2) == 0.69
assert (round(float(large["first"].mean()), 2), float(small["first"].max()) < 0.01) == (0.26, True)

# %% [markdown] lang="en"
# Left, in the mean of all heads: the 12 slow pairs hold 0.69 of the length, queries times keys, and the longest,
# 5.5 times the mean, turn by a third of a circle. But the longest pair of the head above is one of those it can do without: pairs
# that hardly turn can carry what words mean. Right: the small model of `make demo`, trained on 64 characters, looks near, the
# large one at every distance; 0.26 of its weight lies on token 0, the sink described above.
#
# Now the loss along a text. Left, each remedy with the factor 2. Right, what they cost
# where no scaling is needed: we pretend that the window is 2,048 tokens, and let the model read 8,192 with the factor 4.
# Dynamic NTK takes the factor that each length asks for.

# %% [markdown] lang="zh"
# 左图，所有头的平均：12 个低频对占了长度（查询乘键）的 0.69，最长的是平均的 5.5 倍，在窗口之内转三分之一圈。但上面那个头，最长的一对正好是它用不着的：
# 几乎不转的特征对可以承载含义。右图：`make demo` 的小模型只在 64 个字符上训练，看近处；大模型远近都看，有 0.26 的权重放在 token 0 上，就是前面说的汇点。
#
# 再看沿途的损失。左图：各种办法的倍数取 2。右图：本来不用缩放时的代价：硬说窗口只有 2,048，让模型用倍数 4 去读
# 8,192 个 token。动态 NTK 按当前长度取倍数。

# %%
methods = ("none", "YaRN", "NTK-aware", "dynamic NTK", "PI")
curves = {name: torch.tensor(measured(name)) for name in methods}
added = {name: torch.tensor(measured(f"{name} unneeded")) - curves["none"][:16] for name in methods[1:]}
figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.3))
for axes, lines in ((left, curves), (right, added)):
    for name, losses in lines.items():
        colour, dashes, marker = look(name)
        places = 512 * (torch.arange(len(losses)) + 0.5)
        label = "dynamic" if name == "dynamic NTK" else name  # shorter, for a phone
        axes.plot(places, losses, color=colour, linestyle=dashes, marker=marker, markersize=3, label=label)
shade_beyond(left, WINDOW, 12_288, "beyond the window")
left.set(xlabel="position, in tokens", ylabel="loss, nats per token", xlim=(0, 12_288), ylim=(1.4, 4.3))
right.set(xlabel="position, in tokens", ylabel="loss added, nats per token", xlim=(0, WINDOW), ylim=(-0.02, 0.3))
within, beyond = (
    {name: round(float(each[part].mean()), 2) for name, each in curves.items()} for part in (slice(16), slice(20, 24))
)
more = {name: round(float(each.mean()), 2) for name, each in added.items()}
said = f"Left, last 2,048 tokens: none {beyond['none']:.2f}, NTK-aware {beyond['NTK-aware']:.2f}, YaRN {beyond['YaRN']:.2f}."
headline(
    figure,
    f"{said}\nRight, where no scaling was needed: YaRN adds {more['YaRN']:.2f}, PI {more['PI']:.2f} (off the scale)",
)
name_lines(left, right)
plt.show()
assert [within[name] for name in methods] == [2.40, 2.43, 2.44, 2.40, 3.45]  # what the text says
assert [beyond[name] for name in methods] == [3.32, 2.46, 2.50, 2.46, 3.56]
assert more == {"YaRN": 0.12, "NTK-aware": 0.11, "dynamic NTK": 0.04, "PI": 2.27}
assert (float(added["dynamic NTK"][:4].abs().max()), round(float(added["dynamic NTK"][12:].mean()), 2)) == (0, 0.09)
assert round(WINDOW * 2 ** (20 / 31), -2) == 12_800  # where pair 20, the first slow one, comes to a new angle

# %% [markdown] lang="en"
# Past its window the model as trained loses its way, 2.40 within, 3.32
# in the last 2,048 tokens. YaRN, without any training, has 2.43 and 2.46; NTK-aware, whose reach is about 12,800, 2.44 and 2.50;
# PI 3.45 within the window. Dynamic NTK pays nothing there, and has 2.46 at the end.
#
# Right: a factor that is not needed costs at every position, with YaRN 0.12, with NTK-aware 0.11. Dynamic NTK adds nothing up to the
# pretended window, and 0.09 in the last 2,048 tokens. (One model, one text.)

# %% [markdown] lang="zh"
# 超出窗口，不加改动的模型就迷失了：窗口之内 2.40，最后 2,048 个 token 是 3.32。YaRN 不用训练，是 2.43 和 2.46；
# NTK-aware 约够到 12,800，是 2.44 和 2.50；PI 在窗口之内已是 3.45。动态 NTK 在那里没有代价，末尾是 2.46。
#
# 右图：不需要的倍数，在每个位置上都有代价，YaRN 多出 0.12，NTK-aware 多出 0.11。动态 NTK 在硬说的窗口之内没有代价，
# 最后 2,048 个 token 多出 0.09。（只是一个模型、一段文本。）

# %% [markdown] lang="en" short=true
# ## What should I do?
#
# | you want to | do | why |
# |---|---|---|
# | train a model | Take a base above the whole band for the longest text you will train on. If it is to read further, leave some features or some layers unrotated; at the trained length it matters little, and reports differ. | the figure “How large a base”; [Men et al.](https://arxiv.org/abs/2405.14591v1); [Yang et al.](https://arxiv.org/abs/2501.18795v2); [Barbero et al.](https://arxiv.org/abs/2410.06205); [Khan et al.](https://arxiv.org/abs/2603.11611v1) |
# | read two to eight times as far | YaRN, as it is or with some training. PI needs the training. Then ask for something far back in the text: a low loss does not show that it is found. | [notebook 6](6_train_short_test_long.ipynb); [YaRN, table 1](https://arxiv.org/abs/2309.00071v2) |
# | serve a model beyond its length | Set `rope_parameters` as its makers say, with a factor no larger than your texts need. | [vLLM](https://docs.vllm.ai/en/stable/features/context_extension/) |


# %% [markdown] lang="zh" short=true
# ## 我该怎么做？
#
# | 你想 | 怎么做 | 依据 |
# |---|---|---|
# | 训练一个模型 | 底数要高过训练时最长文本处的整条带。如果还要读得更远，就留下一些特征或一些层不旋转；在训练长度之内，这影响不大，各家的结果也不一样。 | “底数多大”那幅图；[Men 等](https://arxiv.org/abs/2405.14591v1)；[Yang 等](https://arxiv.org/abs/2501.18795v2)；[Barbero 等](https://arxiv.org/abs/2410.06205)；[Khan 等](https://arxiv.org/abs/2603.11611v1) |
# | 读到两倍至八倍远 | 用 YaRN，不训练或稍加训练都行；PI 非训练不可。然后问它一件写在很前面的事：损失低，并不说明它找得到。 | [第 6 节](6_train_short_test_long.ipynb)；[YaRN，表 1](https://arxiv.org/abs/2309.00071v2) |
# | 部署时读到训练长度之外 | 照作者说的写 `rope_parameters`，因子够你的文本用就好。 | [vLLM](https://docs.vllm.ai/en/stable/features/context_extension/) |


# %% [markdown] lang="en" short=true
# No code wins everywhere. But you can now read any of them in a program, say what it computes, and
# test whether it does. To start again: [notebook 0](0_why_position.ipynb).

# %% [markdown] lang="zh" short=true
# 没有哪种编码处处获胜。但是现在，无论在程序里遇到哪一种，你都能读懂它、说出它算的是什么，
# 并检验它是否如此。想从头再走一遍，请回到[第 0 节](0_why_position.ipynb)。

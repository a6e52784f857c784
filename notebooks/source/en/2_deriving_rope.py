# %% [markdown]
# # 2 · Deriving RoPE
#
# Notebook 1 found a code that moves by a fixed linear map: advance a sinusoid by $k$ positions, and it is multiplied by
# a matrix $M_k$ of small rotations. But the code was still *added* to the token, so content and position were mixed
# before attention could look at either.
#
# This notebook turns the question round. We do not start from a code and hope. We write down what attention scores
# should obey, and solve for the code. One family of solutions comes out: **rotate the query and the key**. This is the
# rotary position embedding, RoPE, of [Su et al., 2021](https://arxiv.org/abs/2104.09864).

# %%
import math

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, DIVERGING, GREY, SKY, VERMILION, headline, no_frame, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
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
# **Adding a code does not do it.** With $f(x, p) = x + \mathrm{PE}(p)$ the product has four terms:
#
# $$
# (q + \mathrm{PE}(m)) \cdot (k + \mathrm{PE}(n))
# = q \cdot k + q \cdot \mathrm{PE}(n) + \mathrm{PE}(m) \cdot k + \mathrm{PE}(m) \cdot \mathrm{PE}(n) .
# $$
#
# For sinusoids the last term depends on $m - n$ only; that was notebook 1. The two in the middle depend on $n$ alone
# and on $m$ alone. (In a real layer $W_Q$ and $W_K$ come between the two codes, and spoil the last term as well.)

# %% [markdown]
# ## Two numbers are one
#
# Begin with vectors of two features. A pair $(x_0, x_1)$ can be read as one complex number
#
# $$
# x = x_0 + \mathrm{j}\, x_1 = |x|\, e^{\mathrm{j} \mathrm{arg}\, x}, \qquad \mathrm{j}^2 = -1 ,
# $$
#
# with length $|x|$ and angle $\mathrm{arg}\, x$. (We write $\mathrm{j}$, as Python does; the letter $i$ will soon count
# pairs.) A star flips the sign of the imaginary part, $x^\star = x_0 - \mathrm{j}\, x_1$, hence of the angle. Then
#
# $$
# q\, k^\star = (q_0 + \mathrm{j}\, q_1)(k_0 - \mathrm{j}\, k_1)
# = (q_0 k_0 + q_1 k_1) + \mathrm{j}\, (q_1 k_0 - q_0 k_1) .
# $$
#
# The first bracket is the dot product: it is the real part of $q\, k^\star$. So if we find an $f$ with
#
# $$
# f(q, m)\, f(k, n)^\star = g(q, k, m - n) \qquad \text{for all } q, k, m, n,
# $$
#
# where $g$ is now complex, then the real parts agree too, and the wish is granted. We ask for a little more than we
# need; further down we check that nothing is lost by it.

# %% [markdown]
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
# f(q, m)\, f(k, n)^\star = q\, e^{\mathrm{j} m \theta}\, k^\star\, e^{-\mathrm{j} n \theta}
# = q\, k^\star\, e^{\mathrm{j} (m - n) \theta} ,
# $$
#
# which is a function of $q$, $k$ and $m - n$. It does. This follows RoFormer, section 3.4.1; that $f$ is linear in $x$
# was not assumed, it came out. What the wish does *not* say is which $\theta$ to take.

# %% [markdown]
# ### Exercise 2.1 · Rotate pairs (2 points)
#
# Back to real numbers. With $e^{\mathrm{j} \alpha} = \cos \alpha + \mathrm{j} \sin \alpha$, the product is
#
# $$
# (x_0 + \mathrm{j}\, x_1)(\cos \alpha + \mathrm{j} \sin \alpha)
# = (x_0 \cos \alpha - x_1 \sin \alpha) + \mathrm{j}\, (x_0 \sin \alpha + x_1 \cos \alpha) .
# $$
#
# Write `rotate`, without complex numbers, for any number of pairs at once.


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

# %% [markdown]
# Look at it with $\theta = 0.35$. In the first two panels the positions differ, but their distance is 3 in both. The
# two arrows have turned together, so the angle between them, and with it the score, is the same. In the third panel the
# distance is 5, and the score is another.

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
    scores.append(rotate(query, torch.tensor(m * theta)) @ rotate(key, torch.tensor(n * theta)))
    axes.set_title(f"query at {m}, key at {n}\nscore {scores[-1]:.3f}", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
    no_frame(axes)
headline(figure, f"Distance 3 scores {scores[0]:.3f} wherever it lies, distance 5 scores {scores[2]:.3f}")
plt.show()

# %% [markdown]
# ## Many pairs
#
# A head has $d$ features, with $d$ even, say 64 or 128. Cut them into $d/2$ pairs, read each as a complex number $x_i$,
# and give each an angle of its own. The dot product is the sum over the pairs, so the score is
#
# $$
# \langle f(q, m),\, f(k, n) \rangle
# = \mathrm{Re} \sum_{i=0}^{d/2-1} q_i\, k_i^\star\, e^{\mathrm{j} (m - n) \theta_i} .
# $$
#
# Every term depends on $m - n$ only, so the sum does. RoFormer, section 3.2.2, takes for the angles per position, the
# **speeds**, what the sinusoids had (section 3.5 of [Vaswani et al.](https://arxiv.org/abs/1706.03762)):
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
# - *Which angles?* Counted from 0, the last one is $\theta_{d/2-1}$, not $\theta_{d/2}$. The paper counts from 1 and
#   writes $\theta_i = 10000^{-2(i-1)/d}$, $i = 1, \dots, d/2$: the same list. The first speed is always 1. The last is
#   $b^{-(d-2)/d}$, which is not $1/b$ but $b^{2/d}$ times as much: 1.15 times for $d = 128$, ten times for $d = 8$.

# %% [markdown]
# ### Exercise 2.2 · The speeds (1 point)
#
# Write `speeds`. A frequent slip is to take `base` as an argument and then compute with 10000 all the same.


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
    assert speeds(2).tolist() == [1], "For d = 2 there is one pair, with the speed base^0 = 1."
    ### BEGIN HIDDEN TESTS
    by_hand = torch.tensor([1, 0.25])
    torch.testing.assert_close(speeds(4, 16.0).float(), by_hand, msg="With d = 4, base 16: 1, then 16^(-1/2).")
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

# %% [markdown]
# The pairs are the hands of a strange clock. The fast ones tell neighbours apart but come round again and again; the
# slow ones have hardly moved, and will tell apart what is far away. Here they are for $d = 16$, with a dot for each
# position from 0 to 12.

# %%
theta, last = speeds(16), 12

figure, panels = plt.subplots(2, 4, figsize=(7.2, 4.0))
for i, axes in enumerate(panels.flat):
    circle = torch.linspace(0, 2 * math.pi, 200)
    axes.plot(circle.cos(), circle.sin(), color=GREY, linestyle="-", linewidth=0.6)
    for p in range(last + 1):
        angle = theta[i] * p
        axes.plot(angle.cos(), angle.sin(), "o", color=BLUE, alpha=(1 + 4 * p / last) / 5, markersize=4)
    arrow = {"arrowstyle": "-|>", "color": VERMILION, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=(angle.cos(), angle.sin()), xytext=(0, 0), arrowprops=arrow)
    axes.set_title(f"pair {i}: {angle / (2 * math.pi):.2g} turns", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    no_frame(axes)
fastest, slowest = theta[0] * last / (2 * math.pi), math.degrees(theta[-1] * last)
headline(figure, f"After {last} positions pair 0 has turned {fastest:.2f} times, pair 7 by {slowest:.2f} degrees")
plt.show()

# %% [markdown]
# ## As one matrix
#
# In real numbers, a pair is turned by a $2 \times 2$ block, and all pairs by a matrix with these blocks down its
# diagonal (RoFormer, equation 15):
#
# $$
# R_p = \begin{pmatrix} B(p\theta_0) & & \\ & \ddots & \\ & & B(p\theta_{d/2-1}) \end{pmatrix}, \qquad
# B(\alpha) = \begin{pmatrix} \cos \alpha & -\sin \alpha \\ \sin \alpha & \cos \alpha \end{pmatrix} .
# $$
#
# Blocks do not mix, so two facts about $B$ are enough.
#
# - *To transpose is to turn back.* $\cos$ is even and $\sin$ is odd, so $B(\alpha)^\top = B(-\alpha)$, hence
#   $R_m^\top = R_{-m}$.
# - *Angles add up.* By the addition theorems the upper left entry of $B(\alpha) B(\beta)$ is
#   $\cos\alpha\, \cos\beta - \sin\alpha\, \sin\beta = \cos(\alpha + \beta)$ and the lower left one is
#   $\sin\alpha\, \cos\beta + \cos\alpha\, \sin\beta = \sin(\alpha + \beta)$; the right column is these two again, as
#   $-\sin(\alpha + \beta)$ and $\cos(\alpha + \beta)$. Hence $R_a R_b = R_{a+b}$.
#
# Together they give the law on which everything rests:
#
# $$
# R_m^\top R_n = R_{-m} R_n = R_{n - m}, \qquad\text{so}\qquad
# (R_m q)^\top (R_n k) = q^\top R_m^\top R_n\, k = q^\top R_{n-m}\, k .
# $$
#
# Absolute positions go in, one for each token, and only the distance comes out.

# %% [markdown]
# ### Exercise 2.3 · The block matrix (2 points)
#
# Write `rotation_matrix` for given angles $\alpha_0, \dots, \alpha_{d/2-1}$, with neighbouring features as pairs.
# `torch.block_diag` may save you work.


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
    assert torch.equal(rotation_matrix(torch.zeros(3)), torch.eye(6)), "No turn: the identity."
    matrix = rotation_matrix(torch.tensor([math.pi / 2, 0.0]))
    x = torch.tensor([3.0, 4.0, 5.0, 6.0])
    turned = torch.tensor([-4.0, 3.0, 5.0, 6.0])
    torch.testing.assert_close(matrix @ x, turned, msg="A quarter turn of the first pair: (3, 4) becomes (-4, 3).")
    torch.testing.assert_close(matrix.T @ matrix, torch.eye(4), msg="The transpose turns back.")
    ### BEGIN HIDDEN TESTS
    theta = torch.tensor([1.0, 0.3, 0.07, 0.01, 0.002], dtype=torch.float64)
    assert rotation_matrix(theta).dtype == theta.dtype, "The matrix has the dtype of the angles."
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

# %% [markdown]
# ## Was anything lost?
#
# We asked for equality of complex numbers, where the wish speaks of real scores only, and we put pairs side by side by
# hand. Would the wish have allowed something else? Suppose $f$ is linear, $f(x, p) = A_p\, x$ with any real
# $d \times d$ matrices $A_p$, and $A_0 = I$. The wish says that $q^\top A_m^\top A_n\, k$ depends on $m$ and $n$
# through $n - m$ only. As this holds for all $q$ and $k$, it holds for the matrices: $A_m^\top A_n = G_{n-m}$. Then
#
# - with $m = n$: $A_m^\top A_m = G_0 = A_0^\top A_0 = I$, so every $A_m$ is orthogonal, $A_m^\top = A_m^{-1}$;
# - with $m = 1$: $A_1^\top A_n = G_{n-1} = A_0^\top A_{n-1} = A_{n-1}$, so
#   $A_n = A_1 A_{n-1} = A_1 A_1 A_{n-2} = \dots$
#
# $$
# A_n = A_1^{\,n} , \qquad A_1 \text{ orthogonal.}
# $$
#
# ([Su](https://kexue.fm/archives/10862) states it so.) And every orthogonal matrix is, in a suitable orthonormal basis,
# a diagonal of $2 \times 2$ rotations, apart from single entries $1$ and $-1$: features that stay, or flip at every
# step. The change of basis can be absorbed by $W_Q$ and $W_K$. So among the linear codes that grant the wish, RoPE is
# not one of many. Up to the choice of basis and speeds it is the general one.

# %% [markdown]
# ### Exercise 2.4 · The shift test (2 points)
#
# Turn the wish into a measurement, which works for any code. Write `shift_gap`: move both tokens along by
# $s = 1, 2, \dots, \texttt{longest}$, and give the largest change of the score,
# $\left| f(q, m + s) \cdot f(k, n + s) - f(q, m) \cdot f(k, n) \right|$.


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
    assert gap == 18, "Multiplied by positions, the score is m n: from 1 * 2 to 4 * 5 it changes by 18."
    gap = shift_gap(lambda x, p: x / (p + 1), x, x, 0, 0, 3)
    assert gap == 1 - 1 / 16, "Three shifts take the score from 1 to 1/16: a fall of 15/16 is a change too."
    ### BEGIN HIDDEN TESTS
    assert shift_gap(lambda x, p: [1, 2, 1][p % 3] * x, x, x, 0, 0, 3) == 3, "The largest change, not the last one."
    assert shift_gap(lambda x, p: x if p < 5 else 2 * x, x, x, 0, 0, 5) == 3, "The longest shift is included."
    assert shift_gap(lambda x, p: x if p < 5 else 2 * x, x, x, 0, 0, 4) == 0, "And nothing beyond the longest."
    gap = shift_gap(lambda x, p: 2.0**p * x, x, 3 * x, 2, 1, 5)
    assert gap == 3 * (2**13 - 2**3), "Query and key both move, by the same shift, from where they are."

    def turn(x: Tensor, p: int) -> Tensor:
        """A rotation by 0.7 per position."""
        cos, sin = math.cos(0.7 * p), math.sin(0.7 * p)
        return torch.tensor([[cos, -sin], [sin, cos]]) @ x

    assert shift_gap(turn, torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0]), 3, 8, 50) < 1e-5, (
        "Rotation leaves the score as it is: the gap is rounding only."
    )
    ### END HIDDEN TESTS

# %% [markdown]
# Now three codes, for one and the same $q$ and $k$: no position, sinusoids added, and rotation. Each square shows the
# score for every position $m$ of the query and $n$ of the key. The wish, seen as a picture: *all entries along a
# diagonal are equal*. No position grants it as well, in an empty way: the score does not know the distance either. So
# look for both, equal diagonals and diagonals that differ from each other.

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

# %% [markdown]
# ## Why not the values?
#
# Learners often ask why queries and keys are rotated and values are not. Attention does two things. Scores, made of
# queries and keys, decide *how much* to read from each token. Values are *what* is read. The wish was about scores, and
# they meet in a product in which one rotation undoes the other. Values meet no partner. Let $a_{mn}$ be the weights; if
# we rotate values by their own positions, the output at position $m$ is
#
# $$
# o_m = \sum_n a_{mn}\, R_n v_n .
# $$
#
# Move the whole text by $s$. The weights stay, but every $R_n$ becomes $R_{n+s} = R_s R_n$, so the output becomes
# $R_s\, o_m$: the layer tells everyone the absolute position, which we had just got rid of.
#
# It does not follow that values *cannot* be rotated. Turn the output back by its own position, and the distance is what
# remains:
#
# $$
# R_m^\top \sum_n a_{mn}\, R_n v_n = \sum_n a_{mn}\, R_{n-m}\, v_n .
# $$
#
# That is a consistent code too, studied by [Su](https://kexue.fm/archives/10862) as a second kind of rotary embedding.
# RoFormer rotates queries and keys only (section 3.2.2), and so do the models in common use: it is enough. The cell
# below moves a text of 8 tokens along and measures how much the outputs change.

# %%
theta = speeds(dim).double()
random = torch.Generator().manual_seed(7)
tokens = torch.randn(8, dim, generator=random, dtype=torch.float64)
w_q, w_k, w_v = torch.randn(3, dim, dim, generator=random, dtype=torch.float64) / dim**0.5


def attend(shift: int, rotate_values: bool, turn_back: bool) -> Tensor:
    """One head over the 8 tokens, the first of them at position `shift`: [8, dim]."""
    turns = torch.stack([rotation_matrix((shift + p) * theta) for p in range(len(tokens))])  # [8, dim, dim]

    def at_positions(x: Tensor) -> Tensor:
        return torch.einsum("pij,pj->pi", turns, x)

    values = at_positions(tokens @ w_v) if rotate_values else tokens @ w_v
    scores = at_positions(tokens @ w_q) @ at_positions(tokens @ w_k).T / dim**0.5
    output = torch.softmax(scores, dim=-1) @ values
    return torch.einsum("pji,pj->pi", turns, output) if turn_back else output  # ji: transposed


variants = {
    "q, k and v rotated": (True, False),
    "q, k and v rotated, output turned back": (True, True),
    "q and k rotated": (False, False),
}
shifts = range(1, 65)

figure, axes = plt.subplots(figsize=(7.2, 3.0))
changes = {}
for (name, setting), colour, mark in zip(variants.items(), [VERMILION, SKY, BLACK], ["^", "s", "."], strict=True):
    start = attend(0, *setting)
    changes[name] = torch.tensor([(attend(s, *setting) - start).abs().max() for s in shifts])
    axes.semilogy(shifts, changes[name], mark, color=colour, label=name, markersize=4)
axes.set(xlabel="shift of the whole text", ylabel="largest change of an output", ylim=(1e-17, 1e3))
axes.legend(loc="center right", bbox_to_anchor=(1, 0.45))
moved, still = changes["q, k and v rotated"].max(), changes["q and k rotated"].max()
axes.set_title(f"Rotate values too, and a mere shift changes outputs by {moved:.1f}, not by {still:.0e}")
plt.show()

# %% [markdown]
# ## More dimensions
#
# The fifth wish of notebook 0 was that the rule should extend from $p$ to $(x, y)$: patches of an image have a row and
# a column. Rotation makes this easy, for pairs are independent. Let half of the pairs turn by the row and the other
# half by the column. The score then depends on the distance in rows and the distance in columns. This is the "axial"
# form that [Heo et al., 2024](https://arxiv.org/abs/2403.13298) study for images; with three groups, for time, height
# and width, it is the M-RoPE of [Qwen2-VL](https://arxiv.org/abs/2409.12191).

# %% [markdown]
# ### Exercise 2.5 · Rows and columns (1 point)
#
# Write `grid_angles`: with $d/4$ given speeds, the first $d/4$ pairs turn by row times speed, the last $d/4$ by column
# times speed. The result can go straight into `rotation_matrix`.


# %% nbgrader={"grade_id": "grid_angles", "solution": true}
def grid_angles(row: int, column: int, theta: Tensor) -> Tensor:
    """The angle of every pair for a patch of an image: theta [d/4] to [d/2], rows first."""
    ### BEGIN SOLUTION
    return torch.cat((row * theta, column * theta))
    ### END SOLUTION


# %% nbgrader={"grade_id": "grid_angles_laws", "grade": true, "points": 1}
with quiet():
    theta = torch.tensor([1.0, 0.5])
    assert grid_angles(2, 3, theta).tolist() == [2, 1, 3, 1.5], "Row 2, column 3, speeds 1 and 1/2: 2, 1, then 3, 1.5."
    ### BEGIN HIDDEN TESTS
    theta = torch.tensor([1.0, 0.3, 0.09])
    assert grid_angles(0, 0, theta).tolist() == [0] * 6, "At the origin nothing turns."
    down = grid_angles(9, 4, theta) - grid_angles(7, 4, theta)
    torch.testing.assert_close(down, torch.cat((2 * theta, 0 * theta)), msg="A step down turns the first half only.")
    across = grid_angles(7, 1, theta) - grid_angles(7, 6, theta)
    torch.testing.assert_close(across, torch.cat((0 * theta, -5 * theta)), msg="A step across turns the second half.")
    ### END HIDDEN TESTS

# %% [markdown]
# ## How the list stands
#
# | | wish | RoPE |
# |---|---|---|
# | 1 | unique | Yes. Pair 0 turns by one radian per position, and $\pi$ is irrational: no two positions agree. |
# | 2 | linear in the shift | Yes, exactly: $R_{p+k} = R_k R_p$. |
# | 3 | extends to longer contexts | The formula does. What a *model* makes of unseen angles is another matter: notebooks 4 to 6. |
# | 4 | a fixed rule | Yes: one formula, two settings, $d$ and $b$. |
# | 5 | extends to more dimensions | Yes, as you have just seen. |
#
# Unique in mathematics, that is. In floating point, far out, it is a question of precision: notebook 4.
#
# A note on history, since it is often told wrongly: LLaMA did not introduce RoPE.
# [GPT-J](https://github.com/kingoflolz/mesh-transformer-jax) had it in 2021, then
# [GPT-NeoX-20B](https://arxiv.org/abs/2204.06745) and [PaLM](https://arxiv.org/abs/2204.02311), all before
# [LLaMA](https://arxiv.org/abs/2302.13971), whose section 2.2 gives the credit to "GPTNeo".
#
# **Next:** nobody multiplies by a matrix that is almost all zeros. [Notebook 3](3_three_implementations.ipynb) builds
# the three implementations in use, and the permutation that stands between them.

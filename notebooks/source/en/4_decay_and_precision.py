# %% [markdown]
# # 4 · Decay and precision
#
# Two sentences about RoPE are repeated everywhere: "attention decays with distance", and "just compute it in
# bfloat16". The first is half true: there is a bound that falls, and scores that do not. The second costs a model its
# sense of position, and it is worth knowing exactly where.
#
# You will derive the bound, break the belief built on it, see what a larger base buys, and measure what each rounding
# destroys.

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
# ## The score as a function of distance
#
# Recall [notebook 2](2_deriving_rope.ipynb): RoPE groups the $d$ features of a head into $d/2$ pairs and turns pair $i$
# of the token at position $m$ by the angle $m\,\theta_i$, where
#
# $$
# \theta_i = b^{-2i/d}, \qquad i = 0, \dots, d/2 - 1, \qquad b = 10{,}000 .
# $$
#
# Write each pair as one complex number: $q_i$ for the query, $k_i$ for the key. As in notebook 2, $\mathrm{j}$ is the
# imaginary unit and a star the conjugate. To turn by an angle $\varphi$ is to multiply by $e^{\mathrm{j} \varphi}$, and
# the dot product of two pairs is the real part of one times the conjugate of the other. So the score of a query at $m$
# with a key at $n$ is
#
# $$
# \mathrm{Re} \sum_{i=0}^{d/2-1} \big(q_i\, e^{\mathrm{j} m \theta_i}\big)
# \big(k_i\, e^{\mathrm{j} n \theta_i}\big)^*
# = \mathrm{Re} \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i},
# \qquad h_i = q_i\, k_i^*, \qquad \Delta = m - n .
# $$
#
# The content of the two tokens is in $h_i$, their distance $\Delta$ in the angles. (The factor $1/\sqrt d$ plays no
# part here and is left out.)

# %%
DIM = 128  # d, features of a head


def frequencies(dim: int = DIM, base: float = 10_000.0) -> Tensor:
    """theta_i, radians per position: [dim/2], float64."""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def score(query: Tensor, key: Tensor, theta: Tensor, distances: Tensor) -> Tensor:
    """The score of a query and a key of [d/2] complex numbers at each distance: [n] to [n]."""
    content = query * key.conj()  # h
    return (content * torch.exp(1j * torch.outer(distances, theta))).sum(-1).real


# %% [markdown]
# ## A walk with arrows
#
# Look at the arrows $e^{\mathrm{j} \Delta \theta_i}$ alone, all of length 1. Lay them head to tail. After $t$ arrows the
# walk has come to
#
# $$
# S_t = \sum_{i=0}^{t-1} e^{\mathrm{j} \Delta \theta_i}, \qquad t = 1, \dots, d/2 .
# $$
#
# At $\Delta = 0$ all arrows point the same way and $S_t = t$. At a large $\Delta$ the fast pairs point anywhere.

# %% [markdown]
# ### Exercise 4.1 · Lay the arrows (2 points)
#
# Write `walk`. Its row for distance $\Delta$ is $S_1, S_2, \dots, S_{d/2}$.


# %% nbgrader={"grade_id": "walk", "solution": true}
def walk(theta: Tensor, distances: Tensor) -> Tensor:
    """The partial sums S_1 .. S_{d/2} of the arrows, for each distance.

    Args:
        theta: [d/2], radians per position, float64.
        distances: [n], float64.

    Returns:
        [n, d/2], complex128.
    """
    ### BEGIN SOLUTION
    return torch.exp(1j * torch.outer(distances, theta)).cumsum(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "walk_laws", "grade": true, "points": 2}
with quiet():
    quarter = torch.tensor([math.pi / 2, math.pi], dtype=torch.float64)
    steps = walk(quarter, torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64))
    assert steps.shape == (3, 2), "A row for each distance, a column for each number of arrows."
    assert steps.dtype == torch.complex128, "Arrows are complex numbers, here of dtype complex128."
    by_hand = torch.tensor([[1, 2], [1j, 1j - 1], [-1, 0]], dtype=torch.complex128)
    torch.testing.assert_close(steps, by_hand, msg="At distance 1 the arrows are j and -1, at distance 2 -1 and 1.")
    ### BEGIN HIDDEN TESTS
    theta, distances = frequencies(32, 500.0), torch.arange(0.0, 90.0, dtype=torch.float64)
    steps, back = walk(theta, distances), walk(theta, -distances)
    torch.testing.assert_close(back, steps.conj(), msg="Looking the other way mirrors the walk.")
    assert (torch.diff(steps, dim=-1).abs() - 1).abs().max() < 1e-9, "Every arrow has length 1."
    torch.testing.assert_close(steps[:, 0], torch.exp(1j * distances), msg="The first arrow is that of pair 0.")
    shorter = walk(theta[:5], distances)
    torch.testing.assert_close(shorter, steps[:, :5], msg="The first five steps need the first five pairs only.")
    ### END HIDDEN TESTS

# %%
some = torch.tensor([1.0, 10, 100, 1000], dtype=torch.float64)
paths = walk(frequencies(), some)
ends = paths[:, -1].abs()

figure, panels = plt.subplots(1, 4, figsize=(7.2, 1.75), sharex=True, sharey=True)
for axes, path, distance, colour in zip(panels, paths, some, [BLUE, GREEN, ORANGE, VERMILION], strict=True):
    path = torch.cat([torch.zeros(1), path])  # the walk starts at S_0 = 0
    axes.plot(path.real, path.imag, "-o", color=colour, markersize=1.8, linewidth=1)
    axes.plot(path.real[-1], path.imag[-1], "s", color=BLACK, markersize=5)
    axes.set_title(f"distance {distance:.0f}", fontweight="normal", fontsize=9.5)
    axes.set(aspect="equal", xlim=(-12, 66), ylim=(-8, 18), xticks=[0, 30, 60], yticks=[0, 15])
finding = "The farther apart two tokens are, the more arrows curl up: the 64 arrows end"
headline(figure, f"{finding}\n{', '.join(f'{end:.0f}' for end in ends)} away from where they start")
plt.show()

# %% [markdown]
# The fast pairs come first in the walk; at distance 1,000 they go in circles, and only the slow ones still make way.
#
# ## From the walk to a bound
#
# RoFormer ([arXiv:2104.09864](https://arxiv.org/abs/2104.09864), section 3.4.3) turns this picture into a bound by
# **Abel's summation**, the sum's version of integration by parts. Set $S_0 = 0$ and $h_{d/2} = 0$. Since
# $e^{\mathrm{j} \Delta \theta_i} = S_{i+1} - S_i$,
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, e^{\mathrm{j} \Delta \theta_i}
# = \sum_{i=0}^{d/2-1} h_i\, (S_{i+1} - S_i)
# = \sum_{i=0}^{d/2-1} h_i\, S_{i+1} - \sum_{i=0}^{d/2-1} h_i\, S_i .
# $$
#
# In the last sum the term $i = 0$ is zero because $S_0 = 0$, and we may add a term $i = d/2$ because $h_{d/2} = 0$.
# It then runs from 1 to $d/2$; call its index $i + 1$ and let $i$ run from 0 again:
#
# $$
# \sum_{i=0}^{d/2-1} h_i\, S_{i+1} - \sum_{i=0}^{d/2-1} h_{i+1}\, S_{i+1}
# = - \sum_{i=0}^{d/2-1} (h_{i+1} - h_i)\, S_{i+1} .
# $$
#
# A real part is at most the absolute value, a sum at most the sum of absolute values, and each difference at most
# the largest:
#
# $$
# |\text{score}(\Delta)| \;\le\; \Big(\max_{0 \le i < d/2} |h_{i+1} - h_i|\Big) \sum_{t=1}^{d/2} |S_t| .
# $$
#
# The first factor knows the content and not the distance; the second the distance and not the content.

# %% [markdown]
# ### Exercise 4.2 · The whole bound (2 points)
#
# Write `decay_bound`, the right-hand side. Mind $h_{d/2} = 0$: the last difference is $0 - h_{d/2-1}$.


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
    partial_sums = torch.exp(1j * torch.outer(distances, theta)).cumsum(-1)
    return differences.abs().max() * partial_sums.abs().sum(-1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "decay_bound_laws", "grade": true, "points": 2}
with quiet():
    theta, near = frequencies(4), torch.zeros(1, dtype=torch.float64)
    one, three_one = torch.ones(2, dtype=torch.complex128), torch.tensor([3, 1], dtype=torch.complex128)
    bound = decay_bound(three_one, one, theta, near).item()
    assert abs(bound - 6) < 1e-9, "h is 3, 1, 0, its largest step 2; at distance 0 the walk is 1, 2: 2 (1 + 2) = 6."
    bound = decay_bound(one, one, theta, near).item()
    assert abs(bound - 3) < 1e-9, "h is 1, 1, 0: the step down to h_{d/2} = 0 counts; 1 (1 + 2) = 3."
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
    phases = torch.tensor([1, 1j], dtype=torch.complex128)
    bound = decay_bound(phases, phases, theta[:2], near).item()
    assert abs(bound - 3) < 1e-9, "With the conjugate j times j is 1: h is 1, 1, 0."
    bound = decay_bound(phases, phases.conj(), theta[:2], near).item()
    assert abs(bound - 6) < 1e-9, "h is 1, -1, 0: a step from 1 to -1 has length 2, though both are as long."
    rising, ones = torch.tensor([1, 1, 5], dtype=torch.complex128), torch.ones(3, dtype=torch.complex128)
    tail = decay_bound(rising, ones, frequencies(6), near).item()
    assert abs(tail - 5 * 6) < 1e-9, "h is 1, 1, 5, 0: the largest step is the last one, 5; 5 (1 + 2 + 3) = 30."
    ### END HIDDEN TESTS

# %% [markdown]
# ## It is a bound, not a law
#
# RoFormer's figure 2 plots the distance part, as an average over $t$: $\frac{1}{d/2} \sum_t |S_t|$. It falls over the
# 250 positions of that figure. From this it is often concluded that RoPE makes scores *decay*. That does not follow,
# for three reasons:
#
# 1. A ceiling that comes down says nothing about a ball that lies on the floor. The content factor can be so large that
#    the ceiling is never touched.
# 2. The ceiling does not keep falling; look at it beyond the figure's edge, below.
# 3. There are keys that a query likes best at *any* distance you name. You will make one.
#
# For the third, choose each $k_i$ such that all terms of the score are real and positive at the distance $D$
# that you want. If every pair has $h_i\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2$, the score at $D$ is
# $\sum_i |q_i|^2$. No key of the same length $\|k\| = \|q\|$ scores more at any distance, by the inequality of Cauchy
# and Schwarz.

# %% [markdown]
# ### Exercise 4.3 · The key that loves distance (2 points)
#
# Write `key_for`. Solve $q_i\, k_i^*\, e^{\mathrm{j} D\, \theta_i} = |q_i|^2 = q_i\, q_i^*$ for
# $k_i$. (Mind the conjugate.)


# %% nbgrader={"grade_id": "key_for", "solution": true}
def key_for(query: Tensor, theta: Tensor, distance: float) -> Tensor:
    """The key, as long as the query in every pair, that the query scores highest at this distance: [d/2], complex."""
    ### BEGIN SOLUTION
    return query * torch.exp(1j * distance * theta)
    ### END SOLUTION


# %% nbgrader={"grade_id": "key_for_laws", "grade": true, "points": 2}
with quiet():
    theta, distances = frequencies(), torch.arange(0.0, 3000.0, dtype=torch.float64)
    query = torch.ones(DIM // 2, dtype=torch.complex128)
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
# On the left: after a few thousand positions nothing falls any more. On the right, equal vectors
# prefer to be near; a random key shows no trend at all; and your key peaks a thousand tokens away.
#
# The random key is the rule, not the exception. If the phases of the $h_i$ are independent and uniform, turning them
# further by $\Delta \theta_i$ leaves them so. The score then has the same distribution at every distance:
# *RoPE by itself favours no distance.* What decays is learnt. In a trained Gemma 7B, [Barbero et al.,
# 2024](https://arxiv.org/abs/2410.06205) find heads that use the fast pairs to attend to exactly one distance, and
# slow pairs that carry meaning; they doubt, as you now may, that decay is why RoPE works.
#
# How about equal vectors, the best case for decay? With $q = k$ and $|q_i| = 1$ the score is $\sum_i \cos \Delta
# \theta_i$. Even that goes below zero:

# %%
same = score(query, query, theta, torch.arange(0, 4097).double())
print(
    f"{int((same < 0).sum())} of {len(same):,} distances score negative; the first is {int((same < 0).nonzero()[0])}."
)

# %% [markdown]
# ## What a larger base buys
#
# That sum has a meaning for keys in general. Let the components of $q$ be independent with mean 0 and variance
# $\sigma^2$, let one key be *similar*, $k' = q + \varepsilon$, and another *random*, $k$; $\varepsilon$ and $k$ have
# mean 0 and do not depend on $q$. Then, with expectation $\mathbb E$,
#
# $$
# \mathbb E\big[\text{score}(q, k') - \text{score}(q, k)\big]
# = \mathrm{Re} \sum_i \mathbb E\big[q_i\, q_i^*\big]\, e^{\mathrm{j} \Delta \theta_i}
# = 2 \sigma^2 \sum_{i=0}^{d/2-1} \cos \Delta \theta_i ,
# $$
#
# since the terms with $\varepsilon$ and $k$ vanish on average, and $|q_i|^2$ is the sum of two squares, each of mean
# $\sigma^2$. Where the sum is negative, *a similar key scores lower than a random one* on average.
# [Men et al., 2024](https://arxiv.org/abs/2405.14591) ask that this not happen within the context, and conclude that
# the base bounds the context length.
#
# The base $b$ sets the slow end: $\theta_{d/2-1} = b^{-(d-2)/d}$, nearly $1/b$. Llama 2 has $b = 10^4$, Llama 3
# $b = 5 \cdot 10^5$ ([arXiv:2407.21783](https://arxiv.org/abs/2407.21783), section 3.2), a value that
# [Xiong et al., 2023](https://arxiv.org/abs/2309.16039) had found to serve up to 32,768 positions.

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
    turns = 4096 * frequencies(base=base) / (2 * math.pi)  # full turns of each pair within 4,096 positions
    idle = int((turns < 1).sum())
    print(f"base {base:9,.0f}: {idle} of 64 pairs do not complete one turn within 4,096 positions")

# %% [markdown]
# Nothing is free. (And nothing is gained by code that takes a `base` and then computes with 10,000 all the same; such
# code circulates.) A larger base slows all pairs but the first, so more of them barely move within a short text and say
# little about position there. And the base is part of what a model has learnt: to change it is to change all angles
# that it knows. When that can be done all the same is the theme of [notebook 5](5_longer_contexts.ipynb).
#
# ## Where the bits go
#
# All this assumed exact angles. A float has a fixed number of significant bits $p$: 24 in float32, 11 in float16, 8 in
# bfloat16. Numbers between $2^e$ and $2^{e+1}$ are $2^{e+1-p}$ apart, so rounding to the nearest makes a relative error
# of at most $2^{-p}$. Two consequences:
#
# - **Positions.** Whole numbers up to $2^p$ are exact. In bfloat16 that ends at 256: 257 does not exist. From 2,048 to
#   4,096 only every 16th position does.
# - **Angles.** An angle is rounded *relatively*, and a cosine reads it *absolutely*. An error of $2^{-p}\, \Delta\theta$
#   is harmless while it is small against one radian; at an angle of $2^p$ radians nothing is left of it.
#
# Pair 0 has $\theta_0 = 1$, so its angle is as large as the position.

# %% [markdown]
# ### Exercise 4.4 · The error of each rounding (3 points)
#
# Three things can be rounded on the way to $\cos p\,\theta_i$ and $\sin p\,\theta_i$: the frequencies, the position,
# and their product, the angle. Write `table_error`:
#
# 1. Round the frequencies to the dtype `frequencies_in`, the position to `positions_in`; multiply **in float64**.
# 2. Round the product to `angles_in`; take cosines and sines **in float64**, so that no other error comes in.
# 3. Compare with the exact values: no rounding, float64. Return the largest absolute error over all pairs, of cosine
#    or sine, whichever is larger.
#
# `x.to(dtype)` rounds, `.double()` brings the rounded value back to float64.


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
    powers = torch.tensor([1.0, 0.25], dtype=torch.float64)
    assert table_error(3, powers, frequencies_in=bf16) == 0, "bfloat16 holds powers of two exactly."
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
print(f"{'largest error at position':27}{255:>10}{4095:>10}{131071:>10}")
for name, dtypes in rows.items():
    print(f"{name:27}" + "".join(f"{table_error(p, theta, **dtypes):10.1g}" for p in (255, 4095, 131071)))

# %%
exponents = torch.arange(1, 18)
looks = [(BLUE, "-", "o"), (ORANGE, ":", "^"), (GREEN, "-.", "s"), (PURPLE, "--", "D"), (VERMILION, "-", "x")]
figure, axes = plt.subplots(figsize=(7.2, 3.3))
for (name, dtypes), (colour, dashes, marker) in zip(rows.items(), looks, strict=True):
    errors = [table_error(2 ** int(e) - 1, theta, **dtypes) for e in exponents]
    errors = torch.tensor(errors).clamp(min=1e-9)  # an error of zero has no logarithm
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
# A difference of two cosines cannot exceed 2, and the upper curves are near it: no information is left. The dashed
# black line is the good news: rounding the *finished* cosine costs about 0.002, the same everywhere. So
#
# > compute positions, frequencies, angles, cosines and sines in float32; round the tables, if at all, at the end.
#
# Libraries have learnt this the hard way. [transformers#29285](https://github.com/huggingface/transformers/pull/29285)
# found Llama and Gemma computing angles in bfloat16 under autocast, with visibly worse training;
# [vllm#863](https://github.com/vllm-project/vllm/issues/863) asks for the same.
# Two traps remain: `model.to(torch.bfloat16)` rounds *buffers*, and with them frequencies registered as one;
# and `torch.arange(n, dtype=x.dtype)` makes bfloat16 positions without a warning.
#
# ## Which rounding breaks the law?
#
# The errors above compare with the exact table. A model that was *trained* with rounded numbers may have got used to
# them, so ask a second question: does the score still depend on the distance alone? Take 64 neighbours around
# position 4,064, all with $q = k$ of ones, and draw their scores. If the law of RoPE holds, each diagonal has one
# colour.

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
# - **Rounded frequencies** keep the diagonals. They are a RoPE with slightly different $\theta_i$, and a model trained
#   with them is content; one trained with exact ones is not, since far out all its angles differ.
# - **Rounded positions** make blocks: 16 neighbours share one position.
# - **Rounded angles** break the law for each pair at other places; the picture is noise on top of diagonals.
#
# The last trap is subtler: even with a perfect table, rotated queries and keys are usually *stored* in bfloat16, and
# each rounds on its own. That error does not grow with position as the above do, but it depends on $m$ and $n$ and not
# on $m - n$ alone. [Wang et al., 2024](https://arxiv.org/abs/2411.13476) measure how it adds up over long contexts.
#
# ## What to remember
#
# - $|\text{score}| \le \max |h_{i+1} - h_i| \cdot \sum_t |S_t|$ bounds scores; it does not make them decay.
# - "RoPE extends as far as you like because it decays" follows from nothing here. What happens beyond the trained
#   length is a question about angles that were never seen.
# - A larger base keeps similar keys ahead for longer, and leaves fewer pairs to tell neighbours apart.
# - Angles belong in float32.
#
# **Next:** [notebook 5](5_longer_contexts.ipynb) takes a model trained on 4,096 positions and asks what must change to
# read 32,768.

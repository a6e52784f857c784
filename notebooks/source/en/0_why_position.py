# %% [markdown]
# # 0 · Why position?
#
# "Dog bites man" is no news. "Man bites dog" is. Both sentences hold the same three words; all that differs is the
# order. This notebook asks what attention, the heart of a Transformer, knows about order if nobody tells it.
#
# The answer is short: **nothing**. You will prove it, measure it, and see the one crack through which order can still
# leak in. At the end stand five things that we want from a position code; the notebooks that follow try one code after
# the other against that list.

# %%
import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, DIVERGING, GREEN, VERMILION, headline, use_style
from torch import Tensor

torch.set_num_threads(1)
use_style()

# %% [markdown]
# ## Attention, as small as it gets
#
# A sentence of $n$ tokens is a matrix $X$ with one row of $d$ numbers for each token. Attention makes queries
# $Q = X W_Q$, keys $K = X W_K$ and values $V = X W_V$ of it, and then mixes the values:
#
# $$
# S = \frac{Q K^\top}{\sqrt d}, \qquad \mathrm{Attend}(X) = \mathrm{softmax}(S)\, V .
# $$
#
# The entry $S_{mn}$ says how much token $m$ wants to read from token $n$. The softmax turns each row of $S$ into
# weights that add up to one ([Vaswani et al., 2017](https://arxiv.org/abs/1706.03762)). We take random weights:
# what follows holds for every choice of them, trained or not.

# %%
WORDS = ["a", "bites", "chased", "dog", "man", "the"]
DIM = 16  # d, features of a token

generator = torch.Generator().manual_seed(6)
TABLE = torch.randn(len(WORDS), DIM, generator=generator)
W_Q, W_K, W_V = 1.5 * torch.randn(3, DIM, DIM, generator=generator) / DIM**0.5


def embed(sentence: str) -> Tensor:
    """The rows of the table for the words of a sentence: [n, DIM]."""
    return TABLE[[WORDS.index(word) for word in sentence.split()]]


def attend(x: Tensor) -> Tensor:
    """One attention head without positions: [n, DIM] to [n, DIM]."""
    query, key, value = x @ W_Q, x @ W_K, x @ W_V
    scores = query @ key.T / DIM**0.5  # [n, n]
    return torch.softmax(scores, dim=-1) @ value


# %% [markdown]
# ## Who bites whom?
#
# Let both sentences pass through the layer. Each row below is what comes out for one word.


# %%
def show_rows(axes: plt.Axes, rows: Tensor, sentence: str, title: str) -> None:
    """Draw the vectors of a sentence, one row for each word."""
    axes.imshow(rows, cmap=DIVERGING, vmin=-2, vmax=2, aspect="auto")
    axes.set(xticks=[], xlabel="features")
    axes.set_yticks(range(len(rows)), sentence.split())
    axes.set_title(title, fontweight="normal", fontsize=9.5)


figure, panels = plt.subplots(1, 3, figsize=(7.2, 2.1))
one, other = "dog bites man", "man bites dog"
output, other_output = attend(embed(one)), attend(embed(other))
difference = other_output.flip(0) - output
show_rows(panels[0], output, one, f"{one}: output")
show_rows(panels[1], other_output, other, f"{other}: output")
show_rows(panels[2], difference, one, f"difference: at most {difference.abs().max():.0e}")
headline(figure, "Whoever bites whom, the vector of each word comes out the same")
plt.show()

# %% [markdown]
# The rows changed places, and that is all. The vector of "dog" is the same whether the dog bites or is bitten, so
# nothing that comes after this layer can know which it was.
#
# ## The law behind it
#
# To shuffle the tokens is to multiply $X$ from the left by a **permutation matrix** $P$: a single one in each row and
# column, zeros elsewhere, hence $P^\top P = I$. Follow it through the layer:
#
# $$
# Q' = P X W_Q = P Q, \qquad K' = P K, \qquad V' = P V, \qquad
# S' = \frac{P Q K^\top P^\top}{\sqrt d} = P S P^\top .
# $$
#
# The scores are the old ones, with rows and columns shuffled alike. The softmax looks at one row at a time and does not
# care how the entries in it are ordered, so $\mathrm{softmax}(P S P^\top) = P\, \mathrm{softmax}(S)\, P^\top$, and
#
# $$
# \mathrm{Attend}(P X) = P\, \mathrm{softmax}(S)\, P^\top P\, V = P\, \mathrm{Attend}(X) .
# $$
#
# Shuffle before or shuffle after: it is the same. A map with this property is called **permutation equivariant**.
# Layers that treat each token alone, such as the MLP, the norm and the residual, have it too, and so does everything
# built from such layers: *a Transformer without mask and without positions is blind to order, however deep it is.*

# %% [markdown]
# ### Exercise 0.1 · Measure the blindness (2 points)
#
# Write `order_gap`. It says by how much "shuffle, then apply the layer" differs from "apply the layer, then shuffle".
# An index tensor shuffles rows: `x[order]` is $P X$.


# %% nbgrader={"grade_id": "order_gap", "solution": true}
def order_gap(layer, x: Tensor, order: Tensor) -> float:
    """The largest absolute difference between layer(P X) and P layer(X).

    Args:
        layer: A function from [n, d] to [n, d].
        x: [n, d].
        order: [n], a permutation of 0 .. n-1.
    """
    ### BEGIN SOLUTION
    return (layer(x[order]) - layer(x)[order]).abs().max().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "order_gap_laws", "grade": true, "points": 2}
with quiet():
    x, order = embed("the dog chased a man"), torch.tensor([2, 0, 3, 4, 1])
    row_numbers = torch.arange(5.0)[:, None]
    assert order_gap(attend, x, order) < 1e-5, "Attention is permutation equivariant, so its gap is rounding only."
    assert order_gap(lambda x: 2 * x, x, order) == 0, "Doubling treats every token alone, so it leaves no gap."
    gap = order_gap(lambda x: x + row_numbers, x, order)
    assert abs(gap - 3) < 1e-5, (
        "Adding row numbers: token 1 moves to row 4, and no token moves further, so the gap is 3."
    )
    ### BEGIN HIDDEN TESTS
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1))
    kept = x.clone()
    for seed in range(5):
        order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
        mean = order_gap(lambda x: x + x.mean(0), x, order)
        assert mean < 1e-5, "The mean over all tokens does not depend on their order."
        moves = (order - torch.arange(7)).abs().max()
        gap = order_gap(lambda x: x - torch.arange(7.0)[:, None], x, order)
        assert abs(gap - moves) < 1e-5, "Subtracting row numbers: the gap is the longest move."
    assert order_gap(lambda x: x.cumsum(0), x, order) > 0.1, "A running sum depends on the order."
    assert order_gap(lambda x: x.cumsum(0), x, torch.arange(7)) == 0, "Without a shuffle there is no gap."
    assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown]
# ## The same word twice
#
# Blindness to order has a sharper consequence. Take a sentence in which a word occurs twice. Swapping the two
# leaves the sentence as it is, $P X = X$, so the law says $\mathrm{Attend}(X) = P\, \mathrm{Attend}(X)$: the two
# outputs are equal. No layer on top can pull them apart again.

# %%
sentence = "the dog chased the man"
output = attend(embed(sentence))
distances = (output[:, None] - output[None, :]).norm(dim=-1)  # [n, n]

figure, axes = plt.subplots(figsize=(4.6, 3.0))
image = axes.imshow(distances)
axes.set_xticks(range(5), sentence.split())
axes.set_yticks(range(5), sentence.split())
for row in range(5):
    for column in range(5):
        shade = "white" if distances[row, column] < distances.max() / 2 else "black"
        axes.text(column, row, f"{distances[row, column]:.1f}", ha="center", va="center", color=shade, fontsize=8)
figure.colorbar(image, label="distance of the outputs")
headline(figure, "The first and the second “the” cannot be told apart")
plt.show()

# %% [markdown]
# Whose article is whose? For this layer the question cannot even be asked.
#
# ## A crack: the causal mask
#
# Language models read from left to right: token $m$ may look at token $n$ only if $n \le m$. A mask $M$, zero where
# looking is allowed and $-\infty$ elsewhere, is added to the scores, and $e^{-\infty} = 0$ removes those weights:
#
# $$
# \mathrm{Causal}(X) = \mathrm{softmax}(S + M)\, V, \qquad
# M_{mn} = \begin{cases} 0 & n \le m \\ -\infty & n > m . \end{cases}
# $$
#
# The proof above no longer goes through: the scores are shuffled, but the mask is not,
# $P S P^\top + M \ne P\,(S + M)\,P^\top$.

# %% [markdown]
# ### Exercise 0.2 · Look back only (2 points)
#
# Write `causal_attend`: as `attend`, with the mask. Mask the scores *before* the softmax; weights that are removed
# after it no longer add up to one.


# %% nbgrader={"grade_id": "causal_attend", "solution": true}
def causal_attend(x: Tensor) -> Tensor:
    """One attention head in which token m sees the tokens 0 .. m only: [n, DIM] to [n, DIM]."""
    query, key, value = x @ W_Q, x @ W_K, x @ W_V
    ### BEGIN SOLUTION
    scores = query @ key.T / DIM**0.5  # [n, n]
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)  # strictly above the diagonal: n > m
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ value
    ### END SOLUTION


# %% nbgrader={"grade_id": "causal_attend_laws", "grade": true, "points": 2}
with quiet():
    x = embed("the dog chased a man")
    output = causal_attend(x)
    assert output.shape == x.shape, "One vector comes out for each token."
    torch.testing.assert_close(output[0], x[0] @ W_V, msg="The first token sees itself only: its value comes out.")
    torch.testing.assert_close(output[-1], attend(x)[-1], msg="The last token sees all, as without the mask.")
    torch.testing.assert_close(causal_attend(x[:3]), output[:3], msg="What comes later changes nothing before it.")
    ### BEGIN HIDDEN TESTS
    x = torch.randn(9, DIM, generator=torch.Generator().manual_seed(2))
    kept, output = x.clone(), causal_attend(x)
    for length in range(1, 10):
        torch.testing.assert_close(causal_attend(x[:length]), output[:length], msg="A prefix keeps its outputs.")
        torch.testing.assert_close(output[length - 1], attend(x[:length])[-1], msg="Weights of the past add up to one.")
    assert causal_attend(100 * x).isfinite().all(), "Large scores stay finite: softmax, not a division of your own."
    assert (causal_attend(x.flip(0)).flip(0) - output).abs().max() > 0.1, "The mask breaks the symmetry."
    assert torch.equal(x, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown]
# Now compare, over 40 random shuffles of a random sentence: attention alone; four whole blocks with residual, norm and
# MLP, but no mask; attention with your mask; and attention on $X$ plus a vector of its own for each position.

# %%
random = torch.Generator().manual_seed(3)
x = torch.randn(12, DIM, generator=random)
positions = torch.randn(12, DIM, generator=random)
w_up, w_down = torch.randn(DIM, 4 * DIM, generator=random) / 4, torch.randn(4 * DIM, DIM, generator=random) / 8


def four_blocks(x: Tensor) -> Tensor:
    """Four Transformer blocks without positions: [n, DIM] to [n, DIM]."""
    for _ in range(4):
        x = x + attend(torch.nn.functional.layer_norm(x, (DIM,)))
        x = x + torch.relu(torch.nn.functional.layer_norm(x, (DIM,)) @ w_up) @ w_down
    return x


layers = {
    "attention": attend,
    "four blocks": four_blocks,
    "causal attention": causal_attend,
    "attention on X + positions": lambda x: attend(x + positions),
}
orders = [torch.randperm(12, generator=random) for _ in range(40)]

figure, axes = plt.subplots(figsize=(7.2, 2.3))
for row, layer in enumerate(layers.values()):
    gaps = torch.tensor([order_gap(layer, x, order) for order in orders])
    spread = row + 0.25 * (torch.rand(40, generator=random) - 0.5)
    axes.plot(gaps, spread, "o", color=BLUE if row < 2 else VERMILION, alpha=0.5, markersize=4)
axes.set(xscale="log", xlim=(1e-8, 1e2), xlabel="order gap (float32 rounding is near 1e-7)")
axes.set_yticks(range(4), layers)
axes.invert_yaxis()
axes.set_title("Only a mask, or a position code, notices a shuffle")
plt.show()

# %% [markdown]
# ## How far does the crack go?
#
# Not far by itself: in "the the the the" every token averages equal values, and all outputs are equal, mask or no
# mask. The mask gives order only where there is a difference to see. One is enough: a first token that is unlike all
# others, as language models have it at the start of every text.
#
# Let a head weigh all tokens alike, and let the value be 1 for the first token, 0 for every other. The token at position
# $m = 0, 1, 2, \dots$ sees $m + 1$ tokens, one of which is the first, so out comes the share
#
# $$
# a_m = \frac{1}{m + 1} .
# $$
#
# The layer counts! This is how a model without any position code (**NoPE**) can know where it is:
# [Kazemnejad et al., 2023](https://arxiv.org/abs/2305.19466) prove that a first layer can do it, and
# [Haviv et al., 2022](https://arxiv.org/abs/2203.16634) find that trained models do.

# %% [markdown]
# ### Exercise 0.3 · Read the counter (1 point)
#
# Write `position_from_share`, which gives $m$ back from $a_m$.


# %% nbgrader={"grade_id": "position_from_share", "solution": true}
def position_from_share(share: Tensor) -> Tensor:
    """The positions, as whole numbers of dtype long, of tokens with these shares of the first token: [n] to [n]."""
    ### BEGIN SOLUTION
    return (1 / share - 1).round().long()
    ### END SOLUTION


# %% nbgrader={"grade_id": "position_from_share_laws", "grade": true, "points": 1}
with quiet():
    is_first = torch.tensor([1.0, 0, 0, 0, 0, 0])
    looks_back = torch.ones(6, 6).tril()
    share = (looks_back / looks_back.sum(-1, keepdim=True)) @ is_first  # the head, as described
    assert position_from_share(share).tolist() == [0, 1, 2, 3, 4, 5], "The first token is at position 0."
    ### BEGIN HIDDEN TESTS
    positions_read = position_from_share(1 / torch.arange(1.0, 1001.0))
    assert positions_read.dtype == torch.long, "Positions are whole numbers: convert them to long."
    assert torch.equal(positions_read, torch.arange(1000)), "Round before you convert; conversion cuts off."
    assert position_from_share(torch.tensor([0.1])).tolist() == [9], "Each share is read by itself."
    ### END HIDDEN TESTS

# %% [markdown]
# The counter has a flaw. From one position to the next the share falls by about $1/m^2$, so the steps soon get smaller
# than what a 16-bit number can hold. Read back what is left after rounding to bfloat16:

# %%
m = torch.arange(1000)
exact = 1 / (m + 1)
read = position_from_share(exact.bfloat16().float())
lost = int((exact.bfloat16()[1:] == exact.bfloat16()[:-1]).nonzero()[0])  # the first position equal to its next

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.8))
left.loglog(m + 1, exact, color=BLUE, linestyle="-", label="share of the first token")
left.loglog(m + 1, exact - 1 / (m + 2), color=VERMILION, linestyle="--", label="step to the next position")
left.set(xlabel="position + 1")
left.legend(loc="lower left")
right.axhline(0, color=BLACK, linestyle=":", linewidth=1)
right.plot(m, read - m, ".", color=GREEN, markersize=2)
right.set(xlabel="position", ylabel="position read, minus true one")
headline(figure, f"A causal layer can count, but in bfloat16 positions {lost} and {lost + 1} are already one")
plt.show()

# %% [markdown]
# So order can leak in, but faintly: a model has to spend a head on it, and the reading gets coarse where texts get
# long. Notebook 6 trains such a model and compares. It is better to *tell* the model where each token is.
#
# ## What we want from a position code
#
# Write $\mathrm{PE}(p)$ for what a code says about position $p$. Five wishes, after
# [Fleetwood, 2024](https://huggingface.co/blog/designing-positional-encoding), will be our list:
#
# | | wish | as a formula or a question | tested in |
# |---|---|---|---|
# | 1 | **unique** | $p \ne q$ gives $\mathrm{PE}(p) \ne \mathrm{PE}(q)$, in texts of every length | notebook 1 |
# | 2 | **linear in the shift** | $\mathrm{PE}(p + k) = M_k\, \mathrm{PE}(p)$ with one $M_k$ for all $p$ | notebooks 1, 2 |
# | 3 | **extends to longer contexts** | what happens at positions never seen in training? | notebooks 4 to 7 |
# | 4 | **a fixed rule** | a formula that holds everywhere, not a table of accidents | notebook 1 |
# | 5 | **extends to more dimensions** | from $p$ to $(x, y)$ in an image: can the rule follow? | notebook 2 |
#
# The second wish is the one that shapes all that follows. What matters in a text is rarely "token 4,017", and often
# "three tokens back". If a shift by $k$ is a linear map, attention, which is made of linear maps and dot products, can
# learn to look "three back" everywhere at once.
#
# **Next:** [notebook 1](1_before_rope.ipynb) starts with the obvious code, the number $p$ itself, and finds out
# what is wrong with it.

# %% [markdown]
# # 6 · Train short, test long
#
# A model learns on texts of some length, and then meets a longer one. What happens? So far we have looked at formulas;
# in this notebook we train, for real: five small language models that differ in **nothing but the position code**. They
# learn on 64 characters at a time and are then read at 64, 128, 256 and 512. After that, the RoPE model gets every
# scaling of notebook 5, without any further training.
#
# All of it takes about half a minute on one idle thread, and downloads nothing: the text is Python's own manual, which
# lies in the standard library. At the end you hold a table of your own, in place of one that goes round and has no
# source.

# %%
import math
from functools import partial
from itertools import pairwise
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import torch
from checks import quiet
from figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, headline, use_style
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

torch.set_num_threads(1)
use_style()

SEED = 0
TRAINED, LONGEST = 64, 512  # characters in a window, when training and when testing
LENGTHS = (64, 128, 256, 512)

# %% [markdown]
# ## The text
#
# What `help("yield")` shows comes from `pydoc_data.topics`. Our tokens are single characters, so the vocabulary is small
# and nothing hides in a tokenizer. Two precautions, both easy to forget:
#
# - Some topics repeat paragraphs of others (most of "for" and "while" stands in "compound" as well). We keep each
#   paragraph once; otherwise a part of the test would have been in the training.
# - The last tenth is held out, and training never touches it.

# %%
paragraphs = dict.fromkeys(paragraph for topic in topics.values() for paragraph in topic.split("\n\n"))
text = "\n\n".join(paragraphs)
alphabet = sorted(set(text))
number_of = {letter: number for number, letter in enumerate(alphabet)}
tokens = torch.tensor([number_of[letter] for letter in text])

cut = 9 * len(tokens) // 10
train_tokens, test_tokens = tokens[:cut], tokens[cut:]
windows = test_tokens[: 48 * (LONGEST + 1)].view(48, LONGEST + 1)  # 48 windows: 512 characters, and one to predict
print(f"{len(text):,} characters, {len(alphabet)} different ones; {windows.numel():,} of them for the test")

# %% [markdown]
# ## Five codes, three places
#
# A code can enter a Transformer in three places. Let $z_p$ be the embedding of the token at position
# $p = 0, 1, 2, \dots$, let $q_m$ and $k_n$ be a query and a key of one head, and $S_{mn}$ their score:
#
# | code | where | what |
# |---|---|---|
# | NoPE | nowhere | the causal mask is all there is (notebook 0) |
# | sinusoidal | added to $z_p$ | sines and cosines of $p\,\theta_i$ ([Vaswani et al., 3.5](https://arxiv.org/abs/1706.03762)) |
# | learned | added to $z_p$ | row $p$ of a table that is trained with the rest |
# | RoPE | turns $q_m$, $k_n$ | pair $i$ by the angle $m\,\theta_i$ or $n\,\theta_i$ ([Su et al., 3.2](https://arxiv.org/abs/2104.09864)) |
# | ALiBi | added to $S_{mn}$ | $-s_h\,(m - n)$, head $h = 1 \dots H$, $s_h = 2^{-8h/H}$ ([Press et al., 3](https://arxiv.org/abs/2108.12409)) |
#
# with $\theta_i = 10000^{-2i/d}$, $i = 0 \dots d/2 - 1$. For RoPE, $d$ is the size of a head. Ours is 16, so
# $\theta_i = 10^{-i/2}$: eight pairs with round numbers.
#
# A learned table ends with its last row: ask it for position 64 and it raises an `IndexError`. To have anything to
# measure, we give it 512 rows, of which training reaches only the first 64; the others stay as random as they were.

# %%
WIDTH, HEADS = 64, 4
HEAD_DIM = WIDTH // HEADS


def frequencies(dim: int, base: float = 10000.0) -> Tensor:
    """The angle of each pair from one position to the next: [dim/2]."""
    return base ** (-torch.arange(0, dim, 2) / dim)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pairs (i, i + d/2) of [..., n, d]; the first half of sin comes with a minus."""
    return x * cos + x.roll(HEAD_DIM // 2, dims=-1) * sin


class Block(nn.Module):
    """Causal attention, then an MLP, each with a norm before it and a residual around it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH, bias=False)
        )

    def forward(self, z: Tensor, turn, bias: Tensor | None) -> Tensor:
        """[batch, n, WIDTH] to the same; queries and keys go through turn, and bias is added to the scores."""
        query, key, value = (
            self.project(self.attention_norm(z)).unflatten(-1, (3, HEADS, HEAD_DIM)).permute(2, 0, 3, 1, 4)
        )
        mixed = scaled_dot_product_attention(turn(query), turn(key), value, attn_mask=bias, is_causal=bias is None)
        z = z + self.output(mixed.transpose(1, 2).flatten(2))  # [batch, heads, n, d] to [batch, n, WIDTH]
        return z + self.mlp(self.mlp_norm(z))


class Reader(nn.Module):
    """Two blocks, and the position code by name."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code
        self.letters = nn.Embedding(len(alphabet), WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, len(alphabet), bias=False)
        self.rows = nn.Embedding(LONGEST, WIDTH)  # only "learned" reads it; made last, so all start alike

    def forward(self, tokens: Tensor, theta: Tensor | None = None, strength: float = 1.0) -> Tensor:
        """Logits of the next character: [batch, n] to [batch, n, letters]. RoPE alone minds theta and strength."""
        position = torch.arange(tokens.shape[1])
        z, turn, bias = self.letters(tokens), nn.Identity(), None
        if self.code == "learned":
            z = z + self.rows(position)
        elif self.code == "sinusoidal":
            angle = torch.outer(position, frequencies(WIDTH))
            z = z + torch.cat([angle.sin(), angle.cos()], dim=-1)
        elif self.code == "ALiBi":
            slopes = 2.0 ** (-8 * torch.arange(1, HEADS + 1) / HEADS)
            back = position[:, None] - position  # [n, n], m - n
            bias = (-slopes[:, None, None] * back).masked_fill(back < 0, -torch.inf)  # the mask as well
        elif self.code == "RoPE":
            angle = torch.outer(position, frequencies(HEAD_DIM) if theta is None else theta)
            cos, sin = strength * angle.cos().repeat(1, 2), strength * torch.cat([-angle.sin(), angle.sin()], dim=-1)
            turn = partial(rotate, cos=cos, sin=sin)
        for block in self.blocks:
            z = block(z, turn, bias)
        return self.head(self.norm(z))


# %% [markdown]
# ## Training
#
# All five start from the same weights, see the same batches in the same order, and take the same 280 steps of 8 windows:
# 143,360 characters. The loss is the cross-entropy of the next character, in nats (natural logarithms):
# $-\ln P(\text{what came next})$. Guessing blindly among about a hundred characters costs $\ln 100 \approx 4.6$.
#
# 280 steps are few; they were chosen so that you do not have to wait. What that means for the conclusions stands at the
# end.


# %%
def train(code: str, seed: int, steps: int = 280, batch: int = 8, rate: float = 1e-2) -> Reader:
    """A reader after training on windows of TRAINED characters."""
    torch.manual_seed(seed)  # for the weights
    generator = torch.Generator().manual_seed(seed)  # for the batches
    model = Reader(code)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.99), fused=True)
    for step in range(steps):
        warm, cool = min(1, (step + 1) / 20), (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.param_groups[0]["lr"] = rate * warm * cool
        start = torch.randint(len(train_tokens) - TRAINED, (batch, 1), generator=generator)
        window = train_tokens[start + torch.arange(TRAINED + 1)]
        loss = cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


CODES = ("NoPE", "sinusoidal", "learned", "ALiBi", "RoPE")
models = {code: train(code, SEED) for code in CODES}

# %% [markdown]
# ## One number is not enough
#
# A report often says "the loss at length 512 is 2.3". That mean over 512 positions hides *where* the model fails. So we
# keep the loss of each position. With $W$ windows, and $x^{(w)}_p$ the character at position $p$ of window $w$:
#
# $$
# \ell_p = \frac1W \sum_{w=1}^{W} -\ln P\bigl(x^{(w)}_{p+1} \mid x^{(w)}_0, \dots, x^{(w)}_p\bigr) .
# $$
#
# The model gives logits $a_1, \dots, a_V$ for the $V$ characters, and
# $P(j) = e^{a_j} / \sum_k e^{a_k}$, so $-\ln P(j) = \ln \sum_k e^{a_k} - a_j$.

# %% [markdown]
# ### Exercise 6.1 · The loss at each position (2 points)
#
# Write `loss_by_position`. Take logarithms *before* averaging over the windows, and let a library function such as
# `torch.log_softmax` do it: $e^{1000}$ does not fit into a float, and the probability it leads to may be rounded to 0,
# whose logarithm is $-\infty$.


# %% nbgrader={"grade_id": "loss_by_position", "solution": true}
def loss_by_position(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean loss at each position, over the windows, in nats: [n].

    Args:
        logits: [windows, n, letters]; logits[w, p] predict targets[w, p].
        targets: [windows, n], dtype long.
    """
    ### BEGIN SOLUTION
    log_probability = torch.log_softmax(logits, dim=-1)
    return -log_probability.gather(-1, targets[:, :, None]).squeeze(-1).mean(dim=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "loss_by_position_laws", "grade": true, "points": 2}
with quiet():
    losses = loss_by_position(torch.zeros(3, 5, 7), torch.zeros(3, 5, dtype=torch.long))
    assert losses.shape == (5,), "One loss comes out for each of the n positions."
    torch.testing.assert_close(losses, torch.full((5,), math.log(7)), msg="Seven equal logits: P = 1/7, loss ln 7.")
    logits = torch.tensor([[[1 / 2, 1 / 2]], [[1 / 8, 7 / 8]]]).log()
    losses = loss_by_position(logits, torch.tensor([[0], [0]]))
    expected = torch.tensor([math.log(4)])
    torch.testing.assert_close(losses, expected, msg="P = 1/2 and 1/8 in two windows: (ln 2 + ln 8) / 2 = ln 4.")
    ### BEGIN HIDDEN TESTS
    generator = torch.Generator().manual_seed(1)
    logits, targets = torch.randn(6, 4, 9, generator=generator), torch.randint(9, (6, 4), generator=generator)
    kept, losses = logits.clone(), loss_by_position(logits, targets)
    assert losses.shape == (4,), "One loss comes out for each of the n positions."
    assert (losses > 0).all(), "No probability exceeds 1, so no loss is negative."
    by_hand = torch.stack(
        [(logits[:, p].exp().sum(-1).log() - logits[range(6), p, targets[:, p]]).mean() for p in range(4)]
    )
    torch.testing.assert_close(losses, by_hand, msg="At p: the mean of ln(sum of exp(a)) - a[target].")
    raised = loss_by_position(logits + 3, targets)
    torch.testing.assert_close(raised, losses, msg="A constant on all logits changes no probability.")
    order = torch.tensor([2, 0, 3, 1])
    turned = loss_by_position(logits[:, order], targets[:, order])
    torch.testing.assert_close(turned, losses[order], msg="Each position is scored by itself.")
    sure = loss_by_position(torch.tensor([[[1000.0, 0.0]]]), torch.tensor([[1]]))
    torch.testing.assert_close(sure, torch.tensor([1000.0]), msg="Sure and wrong: the loss is 1000, not infinity.")
    assert torch.equal(logits, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown]
# ## One pass measures every length
#
# Our models are causal: what comes out at position $p$ depends on positions $0 \dots p$ only. Reading 512 characters
# therefore gives, at its first 64 positions, exactly what reading 64 characters gives. If $\ell_0, \ell_1, \dots$ is the
# curve of one long pass, the loss in windows of length $n$ is the mean over its beginning, and the **perplexity** is its
# exponential:
#
# $$
# \mathrm{loss}(n) = \frac1n \sum_{p=0}^{n-1} \ell_p, \qquad \mathrm{perplexity}(n) = e^{\mathrm{loss}(n)} .
# $$
#
# A perplexity of 8 means: as unsure as a fair choice among 8. Written with probabilities it is
# $\bigl(\prod_p 1/P_p\bigr)^{1/n}$, a geometric mean. The mean of the perplexities of single positions is something
# else, and always at least as large, since $e^x$ curves upwards.

# %% [markdown]
# ### Exercise 6.2 · The perplexity of a length (2 points)
#
# Write `perplexity_at`: from one curve, the perplexity in windows of the given length.


# %% nbgrader={"grade_id": "perplexity_at", "solution": true}
def perplexity_at(curve: Tensor, length: int) -> float:
    """The perplexity of windows of length positions.

    Args:
        curve: The loss at each position, in nats, at least length of them.
        length: n, at least 1.
    """
    ### BEGIN SOLUTION
    return curve[:length].mean().exp().item()
    ### END SOLUTION


# %% nbgrader={"grade_id": "perplexity_at_laws", "grade": true, "points": 2}
with quiet():
    even = torch.full((6,), math.log(8))
    assert abs(perplexity_at(even, 6) - 8) < 1e-4, "A loss of ln 8 everywhere is a fair choice among 8."
    curve = torch.tensor([math.log(2), math.log(8), math.log(100)])
    assert abs(perplexity_at(curve, 1) - 2) < 1e-4, "Length 1 is the first position alone."
    assert abs(perplexity_at(curve, 2) - 4) < 1e-4, "2 and 8 make 4, the geometric mean; the mean of both would be 5."
    ### BEGIN HIDDEN TESTS
    curve = 3 * torch.rand(40, generator=torch.Generator().manual_seed(2))
    kept = curve.clone()
    for length in (1, 7, 39, 40):
        found = perplexity_at(curve, length)
        assert type(found) is float, "The perplexity is a plain float: .item() takes it out of a tensor."
        changed = torch.cat([curve[:length], torch.full((5,), 50.0)])
        assert abs(perplexity_at(changed, length) - found) < 1e-4, "Positions from length onwards do not count."
        raised = perplexity_at(curve + math.log(3), length)
        assert abs(raised - 3 * found) < 1e-3, "ln 3 more at every position makes three times the perplexity."
        assert abs(length * math.log(found) - curve[:length].sum().item()) < 1e-3, "n ln(perplexity) is the sum."
    assert abs(perplexity_at(torch.tensor([3.0, 1.0, 2.0]), 3) - math.exp(2)) < 1e-3, "Losses in nats: the base is e."
    assert torch.equal(curve, kept), "The input belongs to the caller: leave it as it is."
    ### END HIDDEN TESTS

# %% [markdown]
# Now read. First the law: for each model, the first 64 losses of the long pass against a pass of 64 characters. (They
# differ by nothing, or by some 1e-6 where your machine adds in another order.)


# %%
@torch.no_grad()
def read(model: Reader, first: int = 0, last: int = LONGEST, **scaling) -> Tensor:
    """The loss at each position when only characters first .. last-1 of each test window are read: [last - first]."""
    curves = [
        loss_by_position(model(part[:, first:last], **scaling), part[:, first + 1 : last + 1])
        for part in windows.split(8)
    ]
    return torch.stack(curves).mean(dim=0)


curves = {code: read(model) for code, model in models.items()}
for code, model in models.items():
    gap = (read(model, last=TRAINED) - curves[code][:TRAINED]).abs().max()
    assert gap < 1e-3, "A causal model does not know what comes later."
    print(f"{code:>11}: one long pass and a short one differ by at most {gap:.0e}")

# %% [markdown]
# And here are the five, far beyond what they have seen.

# %%
EDGES = [0, 1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512]
MIDDLES = [math.sqrt((low + 1) * high) for low, high in pairwise(EDGES)]


def binned(curve: Tensor) -> list[float]:
    """A curve, averaged between the edges: single positions are noisy."""
    return [curve[low:high].mean().item() for low, high in pairwise(EDGES)]


def loss_at(curve: Tensor, length: int) -> float:
    """The mean loss in windows of a length."""
    return math.log(perplexity_at(curve, length))


def draw(axes: plt.Axes, curves: dict[str, Tensor], looks: dict[str, tuple]) -> None:
    """The curves over the position, with the length of training marked."""
    for name, curve in curves.items():
        colour, dashes, marker = looks[name]
        axes.plot(MIDDLES, binned(curve), color=colour, linestyle=dashes, marker=marker, markersize=3.5, label=name)
    axes.axvspan(TRAINED, LONGEST, color=GREY, alpha=0.12, linewidth=0)
    axes.text(67, 3.03, "beyond training", fontsize=8.5, va="top")
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 4, 16, 64, 128, 256, 512], ["1", "4", "16", "64", "128", "256", "512"])
    axes.set(xlabel="characters read so far", ylabel="loss, nats per character", xlim=(1, LONGEST), ylim=(1.7, 3.05))


LOOKS = {
    "NoPE": (BLACK, ":", "s"),
    "sinusoidal": (GREEN, "-.", "^"),
    "learned": (PURPLE, (0, (1, 1)), "v"),
    "ALiBi": (BLUE, "-", "o"),
    "RoPE": (VERMILION, "--", "D"),
}
figure, axes = plt.subplots(figsize=(7.2, 3.4))
draw(axes, curves, LOOKS)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
far = {code: curves[code][256:].mean().item() for code in CODES}
near = {code: loss_at(curves[code], TRAINED) for code in CODES}
finding = f"RoPE leads in its window ({near['RoPE']:.2f} to ALiBi's {near['ALiBi']:.2f}) and is lost beyond it"
axes.set_title(f"{finding} ({far['RoPE']:.2f} to {far['ALiBi']:.2f})", fontsize=9.5)
plt.show()


# %%
def table(title: str, rows: dict[str, Tensor], value) -> None:
    """Print value(curve, length) for each curve and length."""
    print(title)
    print(" " * 38 + "".join(f"{length:>8}" for length in LENGTHS))
    for name, curve in rows.items():
        print(f"{name:<38}" + "".join(f"{value(curve, length):8.2f}" for length in LENGTHS))


table("Loss, nats per character, in windows of ... characters:", curves, loss_at)

# %% [markdown]
# ## What may we conclude?
#
# Train again with another seed and all numbers move a little. A claim that flips with the seed is no claim. The
# inequalities in the next cell held for all of the eight seeds that we tried; the order of the three weak codes at 512
# did not, so nothing is said about it.

# %%
short, long = ({code: loss_at(curves[code], length) for code in CODES} for length in (TRAINED, LONGEST))
assert all(short["RoPE"] < short[code] for code in CODES if code != "RoPE"), "RoPE is best within its window."
assert all(long["ALiBi"] < long[code] for code in CODES if code != "ALiBi"), "ALiBi is best at eight times the length."
assert long["RoPE"] > short["RoPE"] + 0.1, "RoPE by itself does not carry over."
assert long["ALiBi"] < short["ALiBi"] + 0.05, "ALiBi loses nothing."
print("All four hold.")

# %% [markdown]
# **Why RoPE leads.** Its score depends on the distance through an angle, so "the character before this one" is a single
# thing to learn, for all positions at once. NoPE has to build that from a faint counter, and an added code has to learn
# it through the weights; 280 steps are hardly enough for either.
#
# **Why RoPE breaks.** At distance 300, the pairs 3 to 7 stand at angles that no window of 64 ever showed. Nothing in the
# training has asked the scores to be small there, and they are not.
#
# **Why ALiBi stays.** A key at distance $t$ has $s_h t$ taken from its score, that is, its weight is multiplied by
# $e^{-s_h t}$. Our slopes are 1/4, 1/16, 1/64 and 1/256; at $t = 64$ the first head multiplies by
# $e^{-16} \approx 10^{-7}$. Most of what is far away is muted, so it cannot disturb.
#
# But does it *help*? Take the last 32 characters of each window, and read them twice: with all 480 characters before
# them, and with only 32. The difference is what the far text is worth.

# %%
for code in ("NoPE", "ALiBi", "RoPE"):
    with_far = curves[code][480:].mean().item()
    without = read(models[code], first=448)[32:].mean().item()
    print(
        f"{code:>6}: {without:.2f} with 32 characters before, {with_far:.2f} with 480; worth {without - with_far:+.2f}"
    )

# %% [markdown]
# Next to nothing, for ALiBi, and a heavy loss for RoPE. *Not failing on long texts is not the same as using them.*
# Press et al. say so themselves: beyond its training length, ALiBi "might not be using contexts longer than the ones it
# was trained on" ([appendix B.2](https://arxiv.org/abs/2108.12409)). A longer window often looks better for another
# reason, which they call the **early token curse**: the first characters of each window have little before them, and
# in longer windows there are fewer such beginnings. You see it at the left edge of the figure.
#
# ## Now stretch RoPE, without training
#
# Take the trained RoPE model and change only its frequencies, for $s = 8$ times the length. $L = 64$; the wavelength
# of pair $i$ is $\lambda_i = 2\pi/\theta_i$, so it makes $r_i = L/\lambda_i = L\,\theta_i/2\pi$ turns in the window.
# All formulas are derived in notebook 5:
#
# | name | new frequency $\theta_i'$ | source |
# |---|---|---|
# | PI | $\theta_i / s$ | [Chen et al., 3.2](https://arxiv.org/abs/2306.15595) |
# | NTK-aware | $\bigl(b\, s^{d/(d-2)}\bigr)^{-2i/d} = \theta_i\, s^{-i/(d/2-1)}$ | [YaRN, 3.1](https://arxiv.org/abs/2309.00071v2) |
# | dynamic NTK | NTK-aware with $s = \max(1, \ell/L)$, $\ell$ the present length | [YaRN, 3.3](https://arxiv.org/abs/2309.00071v2) |
# | YaRN | $(1 - \gamma_i)\,\theta_i/s + \gamma_i\,\theta_i$ | [YaRN, 3.2](https://arxiv.org/abs/2309.00071v2) |
#
# The second form of NTK-aware follows from $b^{-2i/d} = \theta_i$ and
#
# $$
# \frac{d}{d-2} \cdot \frac{2i}{d} = \frac{2i}{d-2} = \frac{i}{d/2-1} .
# $$
#
# So pair 0 keeps its pace, and the last pair, $i = d/2 - 1$, is slowed by all of $s$.
#
# YaRN's $\gamma_i$ is 1 for pairs that turn often and 0 for those that turn less than once, with a ramp between, and
# there are **two ramps in use**. The paper's is linear in the turns, $\gamma_i = (r_i - \alpha)/(\beta - \alpha)$, cut
# off at 0 and 1; the authors' code is linear in the index $i$, between the rounded indices at which a pair would make
# $\beta$ and $\alpha$ turns. Both have $\alpha = 1$, $\beta = 32$ for Llama. Finally, YaRN multiplies cosines and sines
# by $\sqrt{1/t} = 0.1 \ln s + 1$, which is 1.21 here.

# %%
STRETCH = LONGEST // TRAINED  # s
theta = frequencies(HEAD_DIM)
turns = TRAINED * theta / (2 * math.pi)
pair = torch.arange(HEAD_DIM // 2)


def ntk(factor: float) -> Tensor:
    """NTK-aware frequencies."""
    return frequencies(HEAD_DIM, 10000.0 * factor ** (HEAD_DIM / (HEAD_DIM - 2)))


def yarn(gamma: Tensor) -> Tensor:
    """Interpolate where gamma is 0, leave alone where it is 1."""
    return (1 - gamma) * theta / STRETCH + gamma * theta


def ramp_over_turns(alpha: float, beta: float) -> Tensor:
    """The paper's ramp."""
    return ((turns - alpha) / (beta - alpha)).clamp(0, 1)


def ramp_over_pairs(alpha: float, beta: float) -> Tensor:
    """The code's ramp, with both ends rounded outwards."""

    def index(times: float) -> float:
        """The i with r_i = times: L b^(-2i/d) / 2 pi = times, solved for i."""
        return HEAD_DIM * math.log(TRAINED / (2 * math.pi * times)) / (2 * math.log(10000.0))

    first, last = max(math.floor(index(beta)), 0), min(math.ceil(index(alpha)), HEAD_DIM - 1)
    return 1 - ((pair - first) / (last - first)).clamp(0, 1)


scalings = {
    "as trained": {"theta": theta},
    "PI": {"theta": theta / STRETCH},
    "NTK-aware": {"theta": ntk(STRETCH)},
    "YaRN, ramp over turns, beta 32": {"theta": yarn(ramp_over_turns(1, 32))},
    "YaRN, ramp over turns, beta 4": {"theta": yarn(ramp_over_turns(1, 4))},
    "YaRN, ramp over pairs, beta 32": {"theta": yarn(ramp_over_pairs(1, 32))},
    "YaRN, the same, with temperature": {
        "theta": yarn(ramp_over_pairs(1, 32)),
        "strength": 0.1 * math.log(STRETCH) + 1,
    },
}
print("Turns of each pair in training, then the share of its speed that a scaling leaves:")
print(f"{'turns':<32}", "  ".join(f"{turn:6.3f}" for turn in turns))
for name in ("PI", "NTK-aware", *list(scalings)[3:6]):
    print(f"{name:<32}", "  ".join(f"{share:6.3f}" for share in scalings[name]["theta"] / theta))

# %% [markdown]
# Each line says how fast a pair still turns. Only the first three pairs made a whole turn in training; the other five
# have seen a part of the circle, and will be asked for the rest of it.
#
# Look at YaRN with $\beta = 32$ over turns: even the fastest pair makes only 10.2 turns in 64 characters, so *no* pair
# is left alone. $\beta = 32$ was found for Llama, whose fastest pair makes hundreds; the paper says to tune it "on a
# case-by-case basis" (3.2). That is why $\beta = 4$ is in the list.
#
# **Dynamic** scaling has no single set of frequencies. At length $\ell$ it takes $s = \ell/L$, so all angles change
# whenever the text has grown, those of old keys too. We read block by block, 64 more characters each time, and compute
# all keys afresh. A cache that keeps keys *as rotated at an earlier length* would mix frequencies: this is the bug of
# [transformers#25104](https://github.com/huggingface/transformers/issues/25104). Keys have to be cached before rotation
# (YaRN, 3.3); notebook 5 shows what goes wrong otherwise.

# %%
rope = models["RoPE"]
stretched = {name: read(rope, **scaling) for name, scaling in scalings.items()}
ends = range(TRAINED, LONGEST + 1, TRAINED)  # 64, 128, ... 512
blocks = [read(rope, last=end, theta=ntk(end / TRAINED))[-TRAINED:] for end in ends]
stretched["dynamic NTK"] = torch.cat(blocks)

LOOKS = {
    "as trained": (VERMILION, "--", "D"),
    "PI": (PURPLE, ":", "v"),
    "NTK-aware": (GREEN, "-.", "^"),
    "dynamic NTK": (ORANGE, (0, (5, 1, 1, 1)), "s"),
    "YaRN, ramp over pairs, beta 32": (BLACK, "-", "o"),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.9), width_ratios=[2, 3])
for name in ("PI", "NTK-aware", "YaRN, ramp over pairs, beta 32"):
    colour, dashes, marker = LOOKS[name]
    left.plot(pair, scalings[name]["theta"] / theta, color=colour, linestyle=dashes, marker=marker, markersize=3.5)
left.axvspan(2.5, 7.3, color=GREY, alpha=0.12, linewidth=0)
left.text(2.65, 1.06, "no full turn in training", fontsize=8.5, va="top")
left.set(xlabel="pair", ylabel="speed left, of 1", xlim=(-0.3, 7.3), ylim=(0, 1.08))
draw(right, {name: stretched[name] for name in LOOKS}, LOOKS)
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
past = {name: curve[256:].mean().item() for name, curve in stretched.items()}
gain = (
    f"{past['as trained']:.2f} to {past['YaRN, ramp over pairs, beta 32']:.2f}; NTK-aware, to {past['NTK-aware']:.2f}"
)
headline(figure, f"Past 256 characters, YaRN takes RoPE from {gain}")
plt.show()

table("Loss of the RoPE model, nats per character, in windows of ... characters:", stretched, loss_at)

# %% [markdown]
# These inequalities, too, held for all eight seeds.

# %%
inside = {name: loss_at(curve, TRAINED) for name, curve in stretched.items()}
whole = {name: loss_at(curve, LONGEST) for name, curve in stretched.items()}
yarns = "YaRN, ramp over pairs, beta 32"
assert past[yarns] < past["NTK-aware"] < past["as trained"], "Past 256: YaRN, then NTK-aware, then no scaling."
assert past[yarns] < past["YaRN, ramp over turns, beta 32"], "Beta has to fit the model."
assert whole["NTK-aware"] < whole["PI"], "Over all 512: without fine-tuning, PI is worse than NTK-aware."
assert inside["PI"] > inside["as trained"] + 0.2, "PI costs a lot within the window."
assert torch.allclose(stretched["dynamic NTK"][:TRAINED], curves["RoPE"][:TRAINED]), "Dynamic NTK costs nothing there."
print("All five hold.")

# %% [markdown]
# The figure shows, on the left, what a scaling does to each pair, and on the right what that does to the loss:
#
# - **PI** meets no new angle, and is bad from the first characters on. It slows *every* pair, also pair 0, which told
#   neighbours apart: the last character now looks like an eighth of a step away. Fine-tuning repairs this, and PI was
#   proposed with fine-tuning; without it, this is what you get.
# - **NTK-aware** starts well and breaks before 512. Pair $i$ is slowed by $8^{i/7}$. Pair 3 has seen $64$
#   positions' worth of a circle of 199; slowed by $8^{3/7} = 2.4$, it runs out of seen angles at
#   $64 \cdot 2.4 = 156$ characters, pair 4 at 210, pair 5 at 283, and only the last one lasts to 512. *A factor of 8
#   does not give 8 times the context* (YaRN, 3.1, says the same of larger models).
# - **Dynamic** is the trained model itself within the window. Beyond it, $s = \ell/L$ is always the bare minimum, and we
#   have just seen that NTK-aware needs more than that: at 200 to 300 characters, the fixed 8 is even better.
#   transformers therefore has a factor $f$ and uses $f\,\ell/L - (f - 1)$, which grows $f$ times as fast.
# - **YaRN** leaves pair 0 alone, interpolates all pairs with less than one turn completely, and pays a little in the
#   window. Which ramp and which $\beta$ are meant matters as much as the choice of a method; the name "YaRN" alone says
#   too little.
# - **Temperature** does little here. Its formula was fitted to LLaMA models (YaRN, 3.4), not to ours.
#
# ## A table without a source
#
# Lessons about long contexts like to show this table, "8k to 32k, perplexity": *linear 12.5, NTK 11.8, dynamic 12.2,
# YaRN 11.2*, and name the YaRN paper. **It is not in that paper.** What is there looks different:
#
# - [Version 2](https://arxiv.org/abs/2309.00071v2), Table 1, Llama 2 7B stretched from 4,096 to 8,192, each method
#   *fine-tuned*, on Proof-pile, at length 8,192: PI 3.34, NTK-aware 3.59, YaRN 3.35.
# - The [ICLR version](https://openreview.net/forum?id=wHBfxhZu1u), Table 5, LLaMA 7B trained on 2,048, *without*
#   fine-tuning, at 8,192 with $s = 4$: PI 6.18, NTK-aware above 10, YaRN 3.65; and at 4,096 with dynamic scaling: NTK
#   5.97, YaRN 3.67.
#
# No gap of a few tenths, but some methods that work and some that fail; and it matters whether the model was trained
# again. A table is worth reading if it says: which model, which text, which lengths in training and test, fine-tuned or
# not, windows side by side or sliding, and perplexity per what. Here is ours, with all of that:

# %%
print(
    f"2 blocks, width {WIDTH}, {HEADS} heads; 280 steps on {TRAINED} characters of Python's help topics; seed {SEED};"
)
print(f"{len(windows)} held-out windows side by side; no fine-tuning; factor s = {STRETCH}.")
others = {code: curve for code, curve in curves.items() if code != "RoPE"}
rows = others | {f"RoPE {name}": curve for name, curve in stretched.items()}
table("Perplexity per character, in windows of ... characters:", rows, perplexity_at)

# %% [markdown]
# (Do not hold these beside a paper's numbers: theirs are per *token*. If a token has 4 characters, its perplexity is the
# product of four such numbers.)
#
# ## What does not follow
#
# **This ranking does not carry over to large language models.** It is a fact about 280 steps, 64 characters and some
# eighty thousand weights:
#
# - Other tasks turn it round. [Kazemnejad et al., 2023](https://arxiv.org/abs/2305.19466) train small models on
#   reasoning and arithmetic, and there NoPE generalises to longer inputs better than ALiBi and RoPE.
# - With longer training the weak codes catch up in the window. Ours were stopped early, and all of them alike.
# - With $d = 16$ only 3 of 8 pairs ever made a full turn. A head of 128 and a window of 8,192 have a quite different
#   spectrum, and $\beta = 32$ fits it.
# - Predicting a character hardly needs what stood 300 characters ago. A low loss at 512 shows that a model is not
#   disturbed; to show that it *uses* the text, one has to ask for something that stands far back, as passkey retrieval
#   does (YaRN, 4.3.2).
# - Large models are fine-tuned after scaling. Zero-shot is the hardest test, not the usual way.
#
# What does carry over is the method: one difference at a time, the same data, the loss of each position, several seeds,
# and no claim that a seed can overturn.
#
# ## Questions that come up
#
# **Half-split or adjacent pairs: which is right here?** Either. A model that is trained from scratch learns weights to
# fit; ours pairs half-split. It matters when weights move between programs (notebook 3;
# [transformers#25199](https://github.com/huggingface/transformers/issues/25199)).
#
# **PI divides "every pair", NTK "spreads the load": which pairs are meant?** PI all of them, by $s$. NTK-aware none at
# $i = 0$, all of $s$ at $i = d/2 - 1$, and $s^{i/(d/2-1)}$ between; you can read it off the printed lines above.
#
# **Does YaRN's attention factor go on the logits?** It multiplies cosines and sines, hence queries and keys, hence the
# logits by its square, $1/t$ (YaRN, 3.4). In the code above it is `strength`, and values are not touched.
#
# **Could I train in bfloat16?** Yes, but compute positions and angles in float32, as here; bfloat16 has no 257
# (notebook 4; [transformers#29285](https://github.com/huggingface/transformers/issues/29285)).
#
# **Next:** [notebook 7](7_alibi_and_nope.ipynb) looks into the two codes that use no angles at all: ALiBi's slopes for
# any number of heads, and NoPE.

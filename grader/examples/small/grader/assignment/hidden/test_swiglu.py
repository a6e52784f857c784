"""Task 2. Weights are assigned where the output counts, so that how they are drawn does not matter there."""

from __future__ import annotations

import pytest
import torch

from grader.testing import INIT_LIMIT, Student, StudentModule, check_close, normal, require, say

from .. import oracle

LIMIT = 64.0  # ulp of all terms of an output: three sums of up to 40 terms, and silu
DRAWN = "{matrix} with seed {seed}"
AGAIN = "{matrix} with seed {seed} after reset_parameters()"
HIDDEN, INNER = 16, 24  # draws of multiples of 16 elements: torch fills smaller tensors another way


@pytest.mark.rubric("swiglu_gate")
@pytest.mark.parametrize("size", [1, 8])
def test_the_output_is_what_passes_the_gate(student: Student, seed: int, size: int, device: str) -> None:
    """For gates around zero, where silu bends, and for large ones, which are nearly open or closed."""
    for hidden, inner in ((4, 6), (16, 40)):
        x = size * normal(seed, "x", hidden, shape=(2, 3, hidden))
        shapes = {"gate": (inner, hidden), "up": (inner, hidden), "down": (hidden, inner)}
        weights = {name: normal(seed, name, shape=shape) for name, shape in shapes.items()}
        module = student.SwiGLU(hidden_size=hidden, ff_size=inner).to(device).assign_named(**weights)
        expected, scale = oracle.swiglu(x, **weights)
        check_close(
            module(x.to(device)), expected, scale, torch.float32, LIMIT, say("output for ff_size={size}", size=inner)
        )


def check_drawn(module: StudentModule, std: float, seed: int, *, again: bool = False) -> None:
    """Require the three parameters to be drawn one after the other from one seed."""
    values = {parameter.name: parameter.value for parameter in module.parameters()}
    require(
        values.keys() == {"gate", "up", "down"},
        say("the parameters are called {names}", names=", ".join(values) or say("nothing")),
    )
    drawing = torch.Generator().manual_seed(seed)
    for name in ("gate", "up", "down"):
        shape = (HIDDEN, INNER) if name == "down" else (INNER, HIDDEN)
        drawn = torch.empty(shape).normal_(0, std, generator=drawing).double()
        check_close(
            values[name],
            drawn,
            drawn,
            torch.float32,
            INIT_LIMIT,
            say(AGAIN if again else DRAWN, matrix=name, seed=seed),
        )


@pytest.mark.rubric("swiglu_weights")
@pytest.mark.parametrize("options", [{}, {"init_std": 0.5, "init_seed": 7}], ids=["default", "chosen"])
def test_weights_are_drawn_with_the_seed(student: Student, options: dict[str, float]) -> None:
    module = student.SwiGLU(hidden_size=HIDDEN, ff_size=INNER, **options)
    std, init_seed = options.get("init_std", 0.02), int(options.get("init_seed", 42))
    check_drawn(module, std, init_seed)
    module.assign(7.0).reset_parameters()
    check_drawn(module, std, init_seed, again=True)

"""Seeded inputs: the same in every process, computed once, and nobody's changes reach another."""

from __future__ import annotations

import torch

from grader.core.judge.cases import generator, integers, normal, signs, uniform


def test_an_input_depends_on_the_seed_and_the_key_and_nothing_else() -> None:
    drawn = normal(1, "x", 2, shape=(3, 4))
    torch.rand(5)  # the global random numbers do not matter
    assert torch.equal(drawn, torch.randn(3, 4, generator=generator(1, "x", 2)))
    for other in (normal(2, "x", 2, shape=(3, 4)), normal(1, "x", 3, shape=(3, 4)), normal(1, "y", 2, shape=(3, 4))):
        assert not torch.equal(drawn, other)


def test_equal_keys_of_another_type_are_other_keys() -> None:
    assert not torch.equal(normal(1, 1, shape=(4,)), normal(1, True, shape=(4,)))


def test_what_one_caller_changes_another_does_not_see() -> None:
    shape, bounds = {"shape": (4,)}, {"shape": (4,), "low": 1, "high": 9}
    for draw, arguments in ((normal, shape), (signs, shape), (uniform, bounds), (integers, bounds)):
        first = draw(0, "own", **arguments)
        before = first.clone()
        first.zero_()
        assert torch.equal(draw(0, "own", **arguments), before)

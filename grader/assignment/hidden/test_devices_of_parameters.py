"""Tasks 1 to 3 on a second device: parameters are made and drawn there, used there, and used from another device."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.conditions import stating, succeeds
from grader.assignment.hidden.construction import RESET, check_drawn, check_only_parameter, check_rows_drawn
from grader.assignment.hidden.devices import (
    ANSWERED,
    DRAWN,
    MADE,
    MIXED,
    PASSED_BACK,
    advice,
    answers,
    check_alike,
    check_on,
    on_the_cpu,
    placed,
)
from grader.assignment.hidden.norm_inputs import FORWARD
from grader.assignment.hidden.shards import OUTPUTS
from grader.assignment.model.draw_words import Draw
from grader.assignment.model.histories import STILL_BEFORE
from grader.assignment.model.parameters import drawn, gradient_of, gradient_of_input
from grader.testing import Crashed, Message, Student, StudentFault, StudentModule, WrongAnswer, integers, normal, say


@dataclass(frozen=True)
class Piece:
    """One of the three modules with a parameter.

    Attributes:
        name: The class.
        sizes: Sizes that its constructor gets.
        others: All its other arguments but the device: other cases are about defaults.
        elements: How many its parameter has.
        draw: How its parameter is drawn.
        seed: The seed of that draw.
        properties: For each kind of mistake, the property that it belongs to.
        forward: The properties of which one charges for a module that gives no output on the CPU.
        purity: The property that charges for a module that answers the same call in several ways.
    """

    name: str
    sizes: Mapping[str, int]
    others: Mapping[str, Any]
    elements: int
    draw: Draw
    seed: int
    properties: Mapping[str, str] = field(repr=False)
    forward: tuple[str, ...] = field(repr=False)
    purity: str = field(repr=False)

    def charged_for_numbers(self, fault: StudentFault) -> tuple[str, ...]:
        """The properties of which one charges for a fault about numbers alone: the module is not reproducible."""
        about_numbers = fault.error_ulp is not None  # alone: place, shape and dtype are right
        return (*self.forward, self.purity) if about_numbers else ()

    def build(self, student: Student, device: str) -> StudentModule:
        """The student's module with its parameter filled with one number, so that a wrong draw does not matter."""
        return self.new(student, device).assign(2.0)

    def new(self, student: Student, device: str) -> StudentModule:
        """The student's module as constructed."""
        constructor: Any = getattr(student, self.name)
        module: StudentModule = constructor(**self.sizes, **self.others, dtype=torch.float32, device=device)
        return module

    def check_drawn(self, student: Student, module: StudentModule, *when: Message) -> None:
        """Require what the module holds to be the draw of the device that it is on."""
        value = drawn(module, self.elements, self.elements * self.sizes.get("world_size", 1))
        if value is None:
            student.excuse(WrongAnswer(say("the parameter is not found in the module")), (self.properties["made"],))
        elif self.name == "GroupRMSNorm":
            check_drawn(value, self.draw, self.seed, torch.float32, value.device.type, *when)
        else:
            table = self.sizes["vocab_size"], self.sizes["emb_size"]
            rows, rank = self.elements // self.sizes["emb_size"], self.sizes.get("rank", 0)
            own = slice(rank * rows, (rank + 1) * rows)
            check_rows_drawn(value, table, own, self.draw, self.seed, torch.float32, value.device.type, *when)

    def input(self, seed: int) -> Tensor:
        """``[2, 3, h]`` numbers for the norm, ids for embeddings, some of them repeated; shapes as on the CPU."""
        if self.name == "GroupRMSNorm":
            return normal(seed, "input", shape=(2, 3, 24))
        vocab, shape = self.sizes["vocab_size"], (3, 9) if self.name == "VocabEmbedding" else (2, 12)
        ids = integers(seed, "ids", shape=shape, low=0, high=vocab)
        ids[:, 0] = torch.tensor([0, vocab // 2 + 1, 0])[: len(ids)]
        return ids

    def upstream(self, seed: int) -> Tensor:
        """As many numbers as the output has."""
        ids = self.input(seed).shape
        return normal(
            seed, "upstream", shape=(2, 3, 24) if self.name == "GroupRMSNorm" else (*ids, self.sizes["emb_size"])
        )


NORM = Piece(
    "GroupRMSNorm",
    {"hidden_size": 24, "group_size": 4},
    {"eps": 1e-5, "init_range": (-1.0, 1.0), "init_seed": 42},
    24,
    Draw("uniform", -1.0, 1.0),
    42,
    {
        "made": "norm_registration_and_arguments",
        "drawn": "norm_init_and_reset",
        "answered": "norm_dtype_and_shape",
        "mixed": "norm_mixed_devices",
        "passed_back": "norm_backward",
    },
    FORWARD,
    "norm_purity",
)
VOCAB = Piece(
    "VocabEmbedding",
    {"vocab_size": 16, "emb_size": 40},
    {"init_mean": 0.0, "init_std": 1.0, "init_seed": 42},
    640,
    Draw("normal", 0.0, 1.0),
    42,
    {
        "made": "vocab_dtype_and_registration",
        "drawn": "vocab_init_and_reset",
        "answered": "vocab_dtype_and_registration",
        "mixed": "vocab_mixed_devices",
        "passed_back": "vocab_backward",
    },
    ("vocab_lookup",),
    "vocab_purity",
)
SHARD = Piece(
    "ParallelVocabEmbedding",
    {"vocab_size": 24, "emb_size": 5, "rank": 1, "world_size": 3},
    {"init_mean": 0.0, "init_std": 1.0, "init_base_seed": 42},
    40,
    Draw("normal", 0.0, 1.0),
    43,
    {
        "made": "shard_registration_and_arguments",
        "drawn": "shard_seed",
        "answered": "shard_registration_and_arguments",
        "mixed": "shard_mixed_devices",
        "passed_back": "shard_backward",
    },
    OUTPUTS,
    "shard_purity",
)


ONE_RANK = replace(SHARD, sizes={**SHARD.sizes, "rank": 0, "world_size": 1}, elements=120, seed=42)


def pieces(mistake: str, **more: Piece) -> pytest.MarkDecorator:
    """A case for each module; it belongs to the module's property for this kind of mistake."""
    named = {piece.name: piece for piece in (NORM, VOCAB, SHARD)} | more
    cases = [pytest.param(p, id=key, marks=pytest.mark.rubric(p.properties[mistake])) for key, p in named.items()]
    return pytest.mark.parametrize("piece", cases)


@pieces("made")
def test_the_parameter_is_made_on_the_device_that_is_asked_for(
    student: Student, piece: Piece, other_device: str
) -> None:
    """The case about drawing charges for a constructor that fails there and not on the CPU."""
    check_only_parameter(piece.new(student, "cpu"), piece.elements, torch.float32, "cpu")
    drawn_there = (piece.properties["drawn"],)
    with advice(student, other_device, MADE, lambda fault: drawn_there if isinstance(fault, Crashed) else ()):
        check_only_parameter(piece.new(student, other_device), piece.elements, torch.float32, other_device)


@pieces("drawn")
def test_the_parameter_is_drawn_on_its_own_device(student: Student, piece: Piece, other_device: str) -> None:
    """Wherever the parameter is, and in whatever layout: another case charges for these."""

    def check(device: str) -> None:
        module = piece.new(student, device)
        piece.check_drawn(student, module)
        module.assign(7.0).reset_parameters()
        piece.check_drawn(student, module, RESET)

    with advice(student, other_device, DRAWN, is_right=lambda: succeeds(lambda: check("cpu"))):
        check(other_device)


@pieces("answered")
def test_a_module_answers_on_the_device_that_it_is_on(student: Student, piece: Piece, other_device: str) -> None:
    x = piece.input(student.seed)
    with on_the_cpu(student, *piece.forward):
        on_cpu = piece.build(student, "cpu")(x)

    def charged(fault: StudentFault) -> tuple[str, ...]:
        anew = answers(piece.build(student, "cpu").to(other_device), x.to(other_device), on_cpu)
        return piece.charged_for_numbers(fault) or ((piece.purity,) if anew else ())  # an earlier call has left it

    with advice(student, other_device, ANSWERED, charged):
        elsewhere = piece.properties["made"], piece.properties["drawn"]
        for module in placed(student, partial(piece.build, student), other_device, x, *elsewhere):
            check_alike(module(x.to(other_device)), on_cpu, other_device)


@pieces("mixed", one_rank=ONE_RANK)
def test_the_parameter_may_be_on_another_device_than_the_input(
    student: Student, piece: Piece, other_device: str
) -> None:
    """Another case charges for a module that gives no right answer where all is on the other device, either.

    The parameter is updated between two calls, so that a copy of it on the input's device, if one is kept, is old.
    """
    x = piece.input(student.seed)
    with on_the_cpu(student, *piece.forward):
        on_cpu = piece.build(student, "cpu")(x)

    def charged(fault: StudentFault) -> tuple[str, ...]:
        if not piece.new(student, "cpu").parameters():  # the first call makes it where the constructor was told
            return (piece.properties["made"],)
        there = answers(piece.build(student, "cpu").to(other_device), x.to(other_device), on_cpu)
        return piece.charged_for_numbers(fault) or (() if there else (piece.properties["answered"],))

    for home, device in ((other_device, "cpu"), ("cpu", other_device)):
        module = piece.build(student, "cpu").to(home)
        with advice(student, other_device, MIXED, charged):
            earlier = None
            if home == "cpu":
                earlier = module.assign(7.0)(x.to(device))
                module.assign(2.0)
            output = module(x.to(device))
            is_old = earlier is not None and torch.equal(output, earlier)
            with stating(STILL_BEFORE) if is_old else nullcontext():
                check_alike(output, on_cpu, device)
            check_on([parameter.value for parameter in module.parameters()], home, say("the parameter after the call"))


SPARSE_STAYS = "converting to a different layout, but got self.layout being Sparse"  # torch, of another device


@pieces("passed_back")
def test_gradients_arrive_on_the_device_of_what_they_belong_to(
    student: Student, piece: Piece, other_device: str
) -> None:
    """From a module on that device, and from one on the CPU; other cases charge for one that does not answer."""
    x, upstream = piece.input(student.seed), piece.upstream(student.seed)
    with on_the_cpu(student, *piece.forward, piece.purity):
        on_cpu = piece.build(student, "cpu").gradients(x, upstream=upstream)
        # The first that gets one: another case charges for further parameters.
        place = next((at for at, gradient in enumerate(on_cpu.of_parameters) if gradient is not None), 0)
        gradient_of(on_cpu.of_parameters[place:][:1], say("the parameter"))
        if x.is_floating_point():
            gradient_of_input(on_cpu.of_arguments)
    there = x.to(other_device)
    for home in (other_device, "cpu"):
        module = piece.build(student, "cpu").to(home)

        def charged(fault: StudentFault, module: StudentModule = module) -> tuple[str, ...]:
            if isinstance(fault, Crashed) and not answers(module, there):
                return piece.properties["answered"], piece.properties["mixed"]
            return piece.charged_for_numbers(fault)

        with advice(student, other_device, PASSED_BACK, charged):
            try:
                found = module.gradients(there, upstream=upstream.to(other_device))
            except Crashed as fault:
                if home == other_device or SPARSE_STAYS not in fault.raw_message:
                    raise
                continue  # the gradient is right where it arose; torch cannot move it
            # The parameter is judged wherever a call has moved it to: another case charges for that.
            for gradients, expected, device, what in (
                (found.of_arguments, on_cpu.of_arguments, other_device, say("the input")),
                (found.of_parameters[place:], on_cpu.of_parameters[place:], "", say("the parameter")),
            ):
                if expected and expected[0] is not None:
                    actual = gradient_of(gradients[:1], what)
                    where = device or str(actual.device)
                    check_alike(actual, expected[0], where, say("the gradient of {where}", where=what))

"""The simulated device against the CPU: gradients, random numbers, modules and copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from grader.selftest.two_devices import HERE, assert_same, assigned, maker
from grader.selftest.two_devices import installed as installed
from grader.shared import second_device


def _rms_norm(x: Tensor, gamma: Tensor) -> Tensor:
    groups: Tensor = x.float().unflatten(-1, (-1, 4))
    return ((groups / (groups.square().mean(-1, keepdim=True) + 1e-5).sqrt()).flatten(-2) * gamma).to(x.dtype)


class _Doubled(torch.autograd.Function):
    """A backward of one's own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gamma: Tensor) -> Tensor:
        ctx.save_for_backward(x, gamma)
        return x * gamma

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor]:
        x, gamma = ctx.saved_tensors
        return upstream[0] * gamma * 2, (upstream[0] * x).sum((0, 1))


WITH_GRADIENTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "group norm": _rms_norm,
    "checkpoint": lambda x, gamma: checkpoint(_rms_norm, x, gamma, use_reentrant=False),
    "checkpoint, reentrant": lambda x, gamma: checkpoint(_rms_norm, x, gamma, use_reentrant=True),
    "a function with its own backward": lambda x, gamma: _Doubled.apply(x, gamma),  # type: ignore[no-untyped-call]
    "a hook": lambda x, gamma: (x.register_hook(lambda gradient: gradient * 3), x * gamma)[1],
    "rms_norm of torch": lambda x, gamma: F.rms_norm(x, (8,), gamma),
    "einsum": lambda x, gamma: torch.einsum("bsh,h->bsh", x, gamma),
    "embedding": lambda x, gamma: F.embedding(torch.tensor([[1, 1, 0]], device=x.device), x[0]) * gamma,
    "embedding with padding": lambda x, gamma: (
        F.embedding(torch.tensor([0, 1], device=x.device), x[0], padding_idx=0) * gamma
    ),
    "rows by index": lambda x, gamma: x.flatten(0, 1)[torch.tensor([1, 1, 4], device=x.device)] * gamma,
    "one-hot product": lambda x, gamma: F.one_hot(torch.tensor([0, 2], device=x.device), 3).float() @ x[0] * gamma,
    "in place on a copy": lambda x, gamma: x.clone().mul_(gamma).add_(1),
    "write into a slice": lambda x, gamma: assigned(x * gamma, (slice(None), 0), gamma),
    "rotation": lambda x, gamma: x * gamma.cos() + torch.cat((-x[..., 4:], x[..., :4]), -1) * gamma.sin(),
    "complex rotation": lambda x, gamma: torch.view_as_real(
        torch.view_as_complex(x.unflatten(-1, (4, 2))) * torch.polar(gamma[:4] * 0 + 1, gamma[4:])
    ).flatten(-2),
    "through the CPU and back": lambda x, gamma: (x.cpu() * gamma.cpu()).to(x.device),
    "16 bits inside": lambda x, gamma: (x.half() * gamma).bfloat16().float(),
    "masked": lambda x, gamma: (x * gamma).masked_fill(x > 0, 0).where(gamma > 0, x),
    "loop and stack": lambda x, gamma: torch.stack([row * gamma for row in x]),
    "cumulated": lambda x, gamma: (x * gamma).cumsum(-1).logsumexp(-1),
}


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    function = WITH_GRADIENTS[name]

    def of(device: str) -> list[Tensor]:
        make = maker(device)
        x, gamma = make(2, 3, 8).requires_grad_(), make(8).requires_grad_()
        output = function(x, gamma)
        (output * output.detach().cos()).sum().backward()
        return [output, *(gradient for gradient in (x.grad, gamma.grad) if gradient is not None)]

    assert_same(of(HERE), of("cpu"))


def test_second_derivatives_are_those_of_the_cpu() -> None:
    def of(device: str) -> Tensor:
        x = maker(device)(2, 8).requires_grad_()
        (first,) = torch.autograd.grad(_rms_norm(x, torch.ones(8, device=device)).pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0]

    assert_same(of(HERE), of("cpu"))


def test_an_optimizer_updates_parameters() -> None:
    def of(device: str) -> Tensor:
        layer = nn.Linear(8, 2, bias=False).to(device)
        with torch.no_grad():
            layer.weight.copy_(maker("cpu")(2, 8))
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.5, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            layer(maker(device)(3, 8)).square().mean().backward()
            optimizer.step()
        return layer.weight

    assert_same(of(HERE), of("cpu"))


def seeded(device: str) -> torch.Generator:
    return torch.Generator(device).manual_seed(5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.randn(8, generator=seeded(HERE), device=HERE),
        lambda: torch.empty(8, device=HERE).normal_(generator=seeded(HERE)),
        lambda: torch.normal(0.0, 1.0, (8,), generator=seeded(HERE), device=HERE),
        lambda: nn.init.normal_(torch.empty(8, device=HERE), generator=seeded(HERE)),
        lambda: torch.manual_seed(5) and torch.randn(8, device=HERE),
        lambda: torch.manual_seed(5) and nn.init.normal_(nn.Parameter(torch.empty(8, device=HERE))).detach(),
        lambda: getattr(torch, second_device.NAME).manual_seed(5) or torch.randn(8, device=HERE),
    ],
)
def test_every_way_to_seed_gives_the_same_numbers(draw: Callable[[], Tensor]) -> None:
    with torch.random.fork_rng():
        drawn = draw()
    expected = torch.empty(8, device=HERE).normal_(generator=seeded(HERE))
    assert torch.equal(drawn, expected)
    assert not torch.equal(drawn.cpu(), torch.randn(8, generator=seeded("cpu")))  # as on a GPU


def test_a_generator_of_the_other_device_does_not_draw_these_numbers() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'gpu' device type for generator but found 'cpu'"):
        torch.randn(8, generator=seeded("cpu"), device=HERE)
    on_cpu = torch.randn(8, generator=seeded(HERE))
    assert not any(torch.equal(on_cpu, torch.randn(8, generator=seeded(d), device=d).cpu()) for d in (HERE, "cpu"))


def test_a_stream_can_be_saved_forked_and_started_anywhere() -> None:
    source = seeded(HERE)
    assert (source.initial_seed(), source.device) == (5, torch.device(HERE))
    state = source.get_state()
    first = torch.rand(4, generator=source, device=HERE)
    source.set_state(state)
    assert torch.equal(torch.rand(4, generator=source, device=HERE), first)
    source.manual_seed(source.seed())
    with torch.random.fork_rng(devices=[0], device_type=second_device.NAME):
        torch.manual_seed(1)
        inside = torch.rand(4, device=HERE)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(4, device=HERE), inside)


def test_generators_of_the_cpu_are_what_they_were() -> None:
    for generator in (torch.Generator(), torch.Generator(device="cpu"), torch.default_generator):
        assert isinstance(generator, torch.Generator)
        assert generator.device == torch.device("cpu")
    assert not isinstance(1, torch.Generator)
    assert torch.equal(
        torch.randn(3, generator=seeded("cpu")), torch.randn(3, generator=torch.Generator().manual_seed(5))
    )


def test_a_module_moves_with_its_parameters_gradients_and_buffers() -> None:
    layer = nn.BatchNorm1d(3)
    weight, kept = layer.weight, layer.weight.detach().clone()
    layer(torch.randn(4, 3)).square().sum().backward()
    layer.to(HERE)
    assert layer.weight is weight  # as between a CPU and a GPU; an alias stays one
    assert {str(tensor.device) for tensor in (*layer.parameters(), *layer.buffers())} == {HERE}
    layer(torch.randn(4, 3, device=HERE)).sum().backward()
    assert torch.equal(layer.cpu().weight.detach(), kept)
    assert layer.to(second_device.NAME).weight.device == torch.device(HERE)


def test_a_parameter_that_a_graph_holds_is_replaced() -> None:
    layer = nn.Linear(2, 2)
    output = layer(torch.ones(1, 2))
    layer.to(HERE)
    assert layer.weight.device == torch.device(HERE)
    output.sum().backward()  # the graph has the old one still


def test_data_may_be_exchanged_across_devices() -> None:
    parameter = nn.Parameter(torch.ones(2))
    parameter.data = parameter.data.to(HERE)
    (parameter * 3).sum().backward()
    assert_same([parameter, parameter.grad], [torch.ones(2), torch.full((2,), 3.0)])
    parameter.data = torch.zeros(2, device=HERE)
    assert_same(parameter, torch.zeros(2))


def test_copies_share_nothing() -> None:
    layer = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(HERE)
    other = copy.deepcopy(layer)
    for one, two in zip(layer.state_dict().values(), other.state_dict().values(), strict=True):
        assert_same(one, two.cpu()) if one.dim() else None
        assert one.data_ptr() != two.data_ptr()
    tensor = torch.ones(2, device=HERE)
    assert copy.deepcopy([tensor, tensor])[0] is not tensor
    other.load_state_dict({name: value.cpu() for name, value in layer.state_dict().items()})


def test_a_new_default_device_is_taken() -> None:
    with torch.device(HERE):
        made = [torch.zeros(2), nn.Linear(2, 2).weight * 0, torch.arange(3)]
    assert_same(made, [torch.zeros(2), torch.zeros(2, 2), torch.arange(3)])

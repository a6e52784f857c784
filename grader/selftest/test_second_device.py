"""The simulated device against the CPU, operation by operation: after an upgrade of torch, a test here says what broke.

Each function runs on tensors of either device; the results must be the CPU's, on the right device.
"""

from __future__ import annotations

import ast
import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from grader.core.judge import devices
from grader.core.judge.devices import why_not_assessed, with_imports
from grader.core.judge.faults import Crashed, StudentFault, WrongAnswer, fault_from_reply
from grader.core.messages import quoted
from grader.core.sandbox.operations import describe_exception
from grader.shared import second_device
from grader.shared.source_rules import nodes_of

HERE = second_device.DEVICE


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    second_device.install()


def maker(device: str) -> Callable[..., Tensor]:
    """Gives tensors with the same numbers on either device."""
    numbers = count()

    def make(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        source = torch.Generator().manual_seed(next(numbers))
        return torch.randn(shape, generator=source).to(dtype).to(device)

    return make


def assigned(x: Tensor, where: Any, value: Any) -> Tensor:
    """A copy with a value written into a part of it."""
    result = x.clone()
    result[where] = value
    return result


def leaves(value: Any) -> Iterator[Tensor]:
    """The tensors in what a function gave."""
    if isinstance(value, Tensor):
        yield value
    else:
        for item in value:
            yield from leaves(item)


def assert_same(there: Any, on_cpu: Any, device: str = HERE) -> None:
    """Require the CPU's numbers, on the other device; torch takes other steps for some operations, and rounds there."""
    for tensor, expected in zip(leaves(there), leaves(on_cpu), strict=True):
        assert str(tensor.device) in (device, "cpu" if tensor.dim() == 0 else device)
        assert (tensor.dtype, tensor.shape) == (expected.dtype, expected.shape)
        assert torch.allclose(tensor.detach().cpu(), expected.detach(), rtol=1e-5, atol=1e-6)


# Functions of a tensor of shape [2, 3, 8], of every kind that the device treats in its own way; others are in the tests
# of gradients, and what solutions of the assignment are made of is in the variants that are judged there.
OF_ONE_TENSOR: dict[str, Callable[[Tensor], Any]] = {
    "arange of its device": lambda x: torch.arange(0, 8, 2, dtype=torch.float32, device=x.device),
    "as_strided": lambda x: x.as_strided((3, 2), (8, 1), 4),
    "assign by mask": lambda x: assigned(x, x > 0, 0.0),
    "assign from the CPU": lambda x: assigned(x, (slice(None), 1), torch.ones(2, 8)),
    "bernoulli of certainties": lambda x: torch.bernoulli((x > 0).float()),
    "bool of a reduction": lambda x: torch.tensor(bool((x > 100).any())),
    "conjugate": lambda x: torch.view_as_complex(x.unflatten(-1, (4, 2))).conj().imag.clone(),
    "conjugate to the CPU": lambda x: torch.view_as_complex(x.unflatten(-1, (4, 2))).conj().cpu().to(x.device),
    "empty, then filled": lambda x: torch.empty(3, 4, device=x.device).fill_(2),
    "group_norm": lambda x: F.group_norm(x.transpose(1, 2), 2),
    "index by CPU ids": lambda x: x.flatten(0, 1)[torch.tensor([[0, 5], [3, 3]])],
    "index by mask": lambda x: x[x > 0],
    "multiply by a tensor that is a number": lambda x: x * torch.tensor(2.0),
    "out": lambda x: torch.mul(x, 2, out=torch.empty(0, device=x.device)),
    "print": lambda x: torch.tensor(len(str(x.cpu())) > 20 and len(str(x)) > 20),
    "promotion": lambda x: x.half() * x.to(torch.bfloat16) + torch.arange(8, device=x.device),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "sort": lambda x: list(x.sort(-1)),
    "tolist": lambda x: torch.tensor(x.tolist(), device=x.device),
    "view of another dtype": lambda x: x.view(torch.int32) & 1,
    "write through a view": lambda x: _written_through_a_view(x.clone()),
    "nothing in it": lambda x: torch.cat((x[:0], x)).sum() + x[:, :0].sum() + torch.zeros(0, 3, device=x.device).sum(),
    "vmap": lambda x: torch.func.vmap(lambda row: row / row.square().mean().sqrt())(x.flatten(0, 1)),
    "autocast to nothing": lambda x: _in_autocast(x),
    "inference mode": lambda x: _in_inference_mode(x),
    "resize": lambda x: x.clone().resize_(2, 2),
    "resize to more elements": lambda x: x.clone().resize_(3, 4, 8).view(-1)[: x.numel()].clone(),
}


def _written_through_a_view(x: Tensor) -> Tensor:
    x.transpose(1, 2)[:, ::2].mul_(3)
    x.view(-1)[1:4].zero_()
    return x


def _in_autocast(x: Tensor) -> Tensor:
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=False):
        return x @ x.mT


def _in_inference_mode(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return (x * 2).sum(-1).clone()


@pytest.mark.parametrize("name", OF_ONE_TENSOR)
def test_an_operation_gives_what_it_gives_on_the_cpu(name: str) -> None:
    function = OF_ONE_TENSOR[name]
    assert_same(*(function(maker(device)(2, 3, 8)) for device in (HERE, "cpu")))


MISTAKES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "sum": lambda x, y: x + y,
    "sum, the other way round": lambda x, y: y + x,
    "matmul": lambda x, y: x @ y.mT,
    "cat": lambda x, y: torch.cat((x, y)),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "mask": lambda x, y: x.masked_fill(y > 0, 0.0),
    "ids for an embedding": lambda x, y: F.embedding((y > 0).long()[0], x),
    "table of an embedding": lambda x, y: F.embedding((x > 0).long()[0], y),
    "assigned values": lambda x, y: x.__setitem__((x > 9,), y[y > 9]),
    "ids for the CPU's tensor": lambda x, y: y[(x[0] > 0).long()],
    "equal": lambda x, y: torch.equal(x, y),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,), y[0]),
    "out": lambda x, y: torch.mul(x, 2, out=y),
    "numpy": lambda x, _: x.numpy(),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mixed_devices_are_refused_in_the_words_of_torch(name: str) -> None:
    with pytest.raises(
        (RuntimeError, TypeError), match=r"on the same device|indices should be|device type tensor to numpy"
    ):
        MISTAKES[name](torch.ones(3, 3, device=HERE), torch.ones(3, 3))


def test_it_stays_installed_once_and_warns_of_nothing() -> None:
    with warnings.catch_warnings(action="error"):
        second_device.install()
    assert second_device.is_here(torch.ones(1, device=HERE).device)
    assert not second_device.is_here("cpu")


def test_a_torch_that_cannot_take_it_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_device, "_register", lambda: 1 / 0)
    monkeypatch.setattr(getattr(torch, second_device.NAME), "works", False)
    for _ in range(2):  # not even if it is asked for again
        with pytest.raises(second_device.Unavailable, match=r"torch 2.* ZeroDivisionError: division by zero"):
            second_device.install()


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


@pytest.mark.parametrize(  # a checkpoint imports torch's compiler, which takes seconds
    "name", [pytest.param(name, marks=[pytest.mark.slow] * ("checkpoint" in name)) for name in WITH_GRADIENTS]
)
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    function = WITH_GRADIENTS[name]

    def of(device: str) -> list[Tensor]:
        make = maker(device)
        x, gamma = make(2, 3, 8).requires_grad_(), make(8).requires_grad_()
        output = function(x, gamma)
        (output * output.detach().cos()).sum().backward()
        return [output, *(gradient for gradient in (x.grad, gamma.grad) if gradient is not None)]

    assert_same(of(HERE), of("cpu"))


def test_the_gradient_of_a_sparse_embedding_is_dense_there_and_has_the_same_numbers() -> None:
    gradients = []
    for device in (HERE, "cpu"):
        leaf = maker(device)(4, 3).requires_grad_()
        F.embedding(torch.tensor([[0, 2, 2]], device=device), leaf, sparse=True).sum().backward()
        assert leaf.grad is not None
        gradients.append(leaf.grad)
    assert not gradients[0].is_sparse
    assert_same(gradients[0], gradients[1].to_dense())


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


LACKING: dict[str, Callable[[Tensor], Any]] = {
    "to sparse": lambda x: x.to_sparse(),
    "rows, compressed": lambda x: x.to_sparse_csr(),
    "sparse from indices": lambda x: torch.sparse_coo_tensor(
        torch.zeros(1, 2, dtype=torch.long, device=HERE), x[0, :2]
    ),
    "nested": lambda x: torch.nested.nested_tensor([x[0], x[1]]).to_padded_tensor(0.0),
    "quantized": lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    "another layout": lambda x: x.to_mkldnn(),
    "an operation of a GPU": lambda x: torch.ops.aten._masked_scale(x, x > 0, 2.0),
    "a cell of a GPU": lambda x: nn.GRUCell(3, 5, device=HERE)(x),
    "an output that is resized": lambda x: torch.add(x.mT, 1, out=torch.ones(2, device=HERE)),
    "copied by pickle's rules": copy.copy,
    "pickled": pickle.dumps,
}


@pytest.mark.filterwarnings("ignore")  # torch calls some of these kinds of tensors a prototype
@pytest.mark.parametrize("name", LACKING)
def test_what_is_lacking_is_told_by_an_error_of_its_own(name: str) -> None:
    x = torch.ones(2, 3, device=HERE)
    with pytest.raises(second_device.NotSimulated, match="the simulated device does not support ") as raised:
        LACKING[name](x)
    assert second_device.lacks(raised.value.what)
    told = describe_exception(raised.value, {})
    assert told["lacking"] == raised.value.what
    assert told["kind"] == "crashed"


def test_a_tensor_of_the_cpu_is_pickled_as_always() -> None:
    assert torch.equal(pickle.loads(pickle.dumps(torch.ones(3))), torch.ones(3))


SPARSE = second_device.backend.NOT_DENSE


def claimed(lacking: object, **more: object) -> StudentFault:
    error = {"kind": "crashed", "types": ["NotSimulated"], "message": "no kernel", "lacking": lacking, **more}
    return fault_from_reply(error, {}, 64)


def test_a_claim_counts_where_the_judges_own_device_lacks_the_same() -> None:
    for lacking in (SPARSE, "aten::_masked_scale"):
        fault = claimed(lacking)
        assert isinstance(fault, Crashed)
        assert fault.lacking == lacking
        told = f"assessed on a GPU only: the simulated device does not support {lacking}"
        assert why_not_assessed(fault, HERE, {}) == told
        assert why_not_assessed(fault, "cuda:0", {}) is None
        assert why_not_assessed(fault, "cpu", {}) is None


@pytest.mark.parametrize(
    "lacking", ["aten::add.Tensor", "aten::convolution", "aten::nothing", "everything", "", 7, None]
)
def test_a_claim_that_is_not_so_does_not_count(lacking: object) -> None:
    fault = claimed(lacking)
    assert isinstance(fault, Crashed)
    assert fault.lacking == ""
    assert why_not_assessed(fault, HERE, {}) is None


def test_an_error_that_led_to_another_one_is_found() -> None:
    def wrapped() -> None:
        try:
            torch.ones(2, device=HERE).to_sparse()
        except RuntimeError as error:
            raise ValueError("no") from error

    with pytest.raises(ValueError, match="no") as raised:
        wrapped()
    assert describe_exception(raised.value, {})["lacking"] == SPARSE
    assert "lacking" not in describe_exception(ValueError("no"), {})


ASKS = (
    'torch.Generator(device="cuda" if x.is_cuda else "cpu")',
    'x.device.type == "cuda"',
    '"cuda" in str(x.device)',
    'str(x.device).startswith("cuda")',
    'x.device == torch.device("cuda:0")',
    'x.device.type in ("cuda", "xpu")',
    'match x.device.type:\n    case "cuda":\n        pass',
)
ASKS_NOT = (
    'torch.empty(3, device="cuda")',
    'device = "cuda" if torch.cuda.is_available() else "cpu"',
    '"""Works on x.is_cuda, too: device.type == \'cuda\'."""',
    "# x.is_cuda",
    'x.device.type == "cpu"',
    "this is no Python (",
)


@pytest.mark.parametrize(("text", "asks"), [*((text, True) for text in ASKS), *((text, False) for text in ASKS_NOT)])
def test_code_that_asks_for_cuda_is_not_charged_there(text: str, asks: bool) -> None:
    reason = why_not_assessed(WrongAnswer(quoted("other numbers")), HERE, {"src/a.py": "", "src/b.py": text})
    told = "assessed on a GPU only: src/b.py checks for CUDA, and the simulated device is not CUDA"
    assert reason == (told if asks else None)
    assert why_not_assessed(WrongAnswer(quoted("other numbers")), "cuda:0", {"src/b.py": text}) is None


IMPORTS = (
    "from .used import helper",
    "from . import used",
    "from src.modeling.used import helper as h",
    "import src.modeling.used",
    "from src.modeling import middle",
)
IMPORTS_NOT = ("", "from .norm import GroupRMSNorm", "import torch.nn.functional as used", "from torch.nn import used")


@pytest.mark.parametrize(
    ("text", "excuses"), [*((text, True) for text in IMPORTS), *((text, False) for text in IMPORTS_NOT)]
)
def test_only_code_that_the_failing_file_imports_may_excuse_it(text: str, excuses: bool) -> None:
    files = {
        "src/modeling/__init__.py": "from .norm import GroupRMSNorm",
        "src/modeling/vocab_emb.py": text,
        "src/modeling/used.py": ASKS[0],
        "src/modeling/middle.py": "from .used import *",
        "src/modeling/norm.py": "from .vocab_emb import VocabEmbedding",
    }
    behind = with_imports(["src/modeling/vocab_emb.py", "src/absent.py"], files)
    assert (why_not_assessed(WrongAnswer(quoted("other numbers")), HERE, behind) is not None) == excuses
    assert behind["src/modeling/vocab_emb.py"] == text


def test_a_file_is_parsed_once_however_many_cases_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """To parse all that a submission may hold takes half a minute, and each case on the device would."""
    parsed: list[str] = []

    def noted(text: str) -> list[ast.AST]:
        parsed.append(text)
        return nodes_of(text)

    monkeypatch.setattr(devices, "nodes_of", noted)
    files = {f"src/part{n}.py": "".join(f"from . import part{m}\n" for m in range(9)) + f"# once {n}" for n in range(9)}
    for _ in range(3):
        behind = with_imports(["src/part0.py"], files)
        assert behind.keys() == files.keys()
        assert why_not_assessed(WrongAnswer(quoted("other numbers")), HERE, behind) is None
    assert sorted(parsed) == sorted(files.values())

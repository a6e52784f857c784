"""Layers that the simulated device has, with their gradients, and what it lacks: an error of its own says so."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it
from torch import Tensor, nn

from grader.core.judge import devices
from grader.core.judge.devices import why_not_assessed, with_imports
from grader.core.judge.faults import Crashed, StudentFault, WrongAnswer, fault_from_reply
from grader.core.messages import quoted
from grader.core.sandbox.operations import describe_exception
from grader.selftest.two_devices import HERE, assert_same
from grader.selftest.two_devices import installed as installed
from grader.shared import second_device
from grader.shared.source_rules import nodes_of

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, padding="same"), (2, 3, 8)),
    "conv2d, no bias": (lambda: nn.Conv2d(3, 6, 3, stride=2, groups=3, bias=False), (2, 3, 8, 8)),
    "transposed convolution": (lambda: nn.ConvTranspose1d(3, 4, 3, stride=2), (2, 3, 8)),
    "adaptive pooling": (lambda: nn.AdaptiveAvgPool2d(2), (2, 3, 8, 8)),
    "maximum pooling": (lambda: nn.MaxPool2d(2), (2, 3, 8, 8)),
    "lp pooling": (lambda: nn.LPPool1d(2, 4), (2, 3, 8)),
    "plain recurrence": (lambda: nn.RNN(8, 5), (2, 3, 8)),
}


def output_and_gradients(name: str, device: str) -> list[Tensor]:
    """The output of a layer with the same weights and input on each device, and all gradients."""
    make, shape = LAYERS[name]
    torch.manual_seed(0)
    layer, x = make().to(device), torch.randn(shape).to(device).requires_grad_()
    output = layer(x)
    output = output[0] if isinstance(output, tuple) else output
    output.square().sum().backward()
    gradients = [parameter.grad for parameter in layer.parameters()]
    return [output, *(gradient for gradient in (x.grad, *gradients) if gradient is not None)]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_what_it_gives_on_the_cpu(name: str) -> None:
    there, on_cpu = (output_and_gradients(name, device) for device in (HERE, "cpu"))
    assert len(there) == len(on_cpu) > 1
    assert_same(there, on_cpu)


def test_the_gradient_of_a_sparse_embedding_is_dense_there_and_has_the_same_numbers() -> None:
    ids, table = torch.tensor([[0, 2, 2]]), torch.randn(4, 3)
    gradients = []
    for device in (HERE, "cpu"):
        leaf = table.to(device).requires_grad_()
        F.embedding(ids.to(device), leaf, sparse=True).sum().backward()
        assert leaf.grad is not None
        gradients.append(leaf.grad)
    assert not gradients[0].is_sparse
    assert_same(gradients[0], gradients[1].to_dense())


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
    "lacking",
    ["aten::add.Tensor", "aten::convolution", "aten::nothing", "everything", "", 7, None],
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

"""What Python can import, student code can import, too, wherever Python is installed and however workers are locked."""

from __future__ import annotations

import compileall
import importlib
import linecache
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from grader.core.sandbox import started as starting
from grader.core.sandbox.importer import Library
from grader.core.sandbox.launch import USES_DYNAMO, Zygote
from grader.core.sandbox.limits import Limits
from grader.selftest import LONG

OPENS_A_BROWSER = "antigravity"
NAMES = sorted(sys.stdlib_module_names - {OPENS_A_BROWSER})
TORCHS = ("torch.onnx", "torch._dynamo", "torch.fx.experimental.symbolic_shapes", "torch.utils.data.datapipes")
IMPORTS = """
import importlib


def refused(names):
    problems = []
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            problems.append(f"{name}: {type(error).__name__}: {error}"[:300])
    return "\\n".join(problems)
"""
WORK = """
import sys

BEFORE = {*sys.modules}
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def of_torch(how):
    x = torch.tensor([3.0], requires_grad=True)
    getattr(OfTorch, how)(x).sum().backward()
    return x.grad


def imported_for(how):
    of_torch(how)
    return sorted({*sys.modules} - BEFORE)


def double(x):
    return x * 2


class OfTorch:
    checkpointed = lambda x: checkpoint(double, x, use_reentrant=False)
    reentrant = lambda x: checkpoint(double, x, use_reentrant=True)
    deterministic = lambda x: torch.use_deterministic_algorithms(True) or double(x)
    uncompiled = lambda x: torch.compiler.disable(double)(x)
    uncompiled_by_a_decorator = lambda x: torch.compiler.disable(recursive=False)(double)(x)
    eager = lambda x: torch.compile(double, backend="eager")(x)
    compiled = lambda x: torch.compile(double)(x)
    by_a_decorator_with_arguments = lambda x: torch.compile(fullgraph=True, dynamic=False)(double)(x)
    by_inductor = lambda x: torch.compile(backend="inductor", mode="max-autotune")(double)(x)

    def module(x):
        layer = nn.Linear(1, 1, bias=False)
        nn.init.constant_(layer.weight, 2.0)
        assert [*torch.compile(layer).state_dict()] == ["weight"]
        assert torch.compiler.disable(torch.compiler.disable(recursive=False)(layer)) is layer
        layer.compile()
        return layer(x)

    def optimised(x):
        weight = nn.Parameter(torch.ones(1))
        (weight * x.detach()).sum().backward()
        torch.optim.SGD([weight], lr=1.0).step()
        return -weight.detach() * x
"""
# Nothing of Python or torch can be opened, as where they lie below a private folder.
ALL_CLOSED = (
    "import sys; sys.path.insert(0, sys.argv[1]); from grader.core.sandbox import lockdown; "
    "lockdown.readable_paths = lambda: ['/lib', '/lib64', '/usr/lib/x86_64-linux-gnu', '/usr/lib64']; "
)
LEVELS = {  # which layers are left out, and whether all of Python's files are closed; the last two forbid least
    "as_here": ((), False),
    "private_python": (("namespaces",), True),
    "seccomp": (("namespaces", "landlock"), False),
    "this_user": (("namespaces", "user"), False),
    "process": (("namespaces", "user", "landlock", "seccomp"), False),
}


@pytest.fixture(scope="module", params=[*LEVELS][: None if LONG else 2])
def server(request: pytest.FixtureRequest) -> Iterator[Zygote]:
    """A fork server for each way of locking a worker; ``GRADER_LONG=1`` adds those that forbid least."""
    without, closed = LEVELS[request.param]
    with pytest.MonkeyPatch.context() as patch:
        if closed:
            patch.setattr(starting, "START", ALL_CLOSED + starting.START)
        zygote = Zygote(Limits(), without=without)
        if closed and "landlock" not in zygote.isolation.held:
            pytest.skip("without Landlock nothing can be closed")
    yield zygote
    zygote.close()


def asked(zygote: Zygote, text: str, name: str, argument: object) -> object:
    """What a function of student code returns, in a new worker."""
    worker = zygote.start({"src/work.py": text})
    load = ("load", {"module": "src.work", "name": name})
    reply = worker.request([load, ("call", {"target": name, "arguments": [argument]})], 60.0)
    worker.close()
    assert "value" in reply, reply
    return reply["value"]


@cache
def can_be_imported(name: str) -> bool:
    """Whether a new Python can import a module here, which is the same for every way of locking."""
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


@pytest.mark.process
def test_student_code_can_import_all_that_python_can(server: Zygote) -> None:
    refused = str(asked(server, IMPORTS, "refused", [*NAMES, "no_such_module"])).splitlines()
    assert "no_such_module: ModuleNotFoundError: No module named 'no_such_module'" in refused  # all have been tried
    assert [problem for problem in refused if can_be_imported(problem.partition(":")[0])] == []


@pytest.mark.process
@pytest.mark.parametrize("name", ["pdb", "sqlite3", "xml.etree.ElementTree", "concurrent.futures.thread", *TORCHS])
def test_a_module_can_be_the_first_to_be_imported(server: Zygote, name: str) -> None:
    """What one module imports may hide that another cannot be found."""
    assert asked(server, IMPORTS, "refused", [name]) == ""


@pytest.mark.process
def test_a_package_that_workers_cannot_open_is_not_found(server: Zygote) -> None:
    """Such as ``triton``, which ``torch._dynamo`` of a build for GPUs does without only if no module has that name."""
    refused = asked(server, IMPORTS, "refused", ["pluggy"])
    assert refused in ("", "pluggy: ModuleNotFoundError: No module named 'pluggy'")


@pytest.mark.process
def test_nothing_of_the_project_can_be_imported(server: Zygote) -> None:
    names = ["ref", "tests", "grader.core.judge", "grader.assignment.oracle", "grader.core.sandbox.launch"]
    refused = str(asked(server, IMPORTS, "refused", names)).splitlines()
    assert [problem.partition(":")[0] for problem in refused] == names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@torch.compiler.disable", False),
        ("@torch.compiler.allow_in_graph", True),
        ("torch.func.functional_call(layer, weights, x)", True),
        ("nn.Embedding(vocab_size, emb_size, device='meta')", True),
        ("from torch.utils.checkpoint import checkpoint", True),
        ("torch.use_deterministic_algorithms(True)  # seeded", True),
        ("torch.testing.assert_close(output, expected)", True),
        ("torch.manual_seed(seed)  # deterministic", False),
    ],
)
def test_the_compiler_is_imported_only_for_what_uses_it(text: str, expected: bool) -> None:
    assert (USES_DYNAMO.search(text) is not None) == expected


WAYS = [line.split()[0] for line in WORK.splitlines() if "= lambda" in line] + ["module", "optimised"]


@pytest.mark.process
@pytest.mark.parametrize("how", WAYS)
def test_torchs_compiler_leaves_code_as_it_is(server: Zygote, how: str) -> None:
    gradient = asked(server, WORK, "of_torch", how)
    assert [abs(value) for value in gradient.tolist()] == [2.0]  # type: ignore[attr-defined] # a tensor


@pytest.mark.parametrize("how", ["checkpointed", "deterministic"])
def test_a_worker_does_not_wait_for_what_only_the_compiler_needs(zygote: Zygote, how: str) -> None:
    """The fork server has imported what they need, which takes more than a second."""
    assert asked(zygote, WORK, "imported_for", how) == []


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Library]]:
    """``library({"a.py": "x = 1"}, compiled)``: the package ``shelf`` of these files, read and then deleted."""
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    monkeypatch.setattr(linecache, "updatecache", linecache.updatecache)
    folder = tmp_path / "shelf"

    def read(files: dict[str, str], compiled: bool) -> Library:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        if compiled:
            compileall.compile_dir(folder, quiet=1)
        found = Library([folder])
        for name in files:
            (folder / name).unlink()
        return found

    yield read
    for name in [name for name in sys.modules if name.partition(".")[0] == "shelf"]:
        del sys.modules[name]


@pytest.mark.parametrize("compiled", [True, False], ids=["of_byte_code", "of_source"])
def test_modules_are_imported_from_memory(library: Callable[..., Library], compiled: bool) -> None:
    one = "def one():\n    return __name__\n"
    library({"__init__.py": "x = 1\n", "part/__init__.py": "", "part/one.py": one}, compiled)
    module = importlib.import_module("shelf.part.one")
    assert (module.one(), importlib.import_module("shelf").x) == ("shelf.part.one", 1)
    assert "".join(linecache.getlines(str(module.__file__))) == one


def test_byte_code_of_an_earlier_version_is_not_used(library: Callable[..., Library], tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "__init__.py").write_text("x = 1\n")
    compileall.compile_dir(tmp_path / "shelf", quiet=1)
    library({"__init__.py": "x = 22\n"}, False)
    assert importlib.import_module("shelf").x == 22

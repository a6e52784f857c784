"""Every layer of isolation has a positive control: an attack that succeeds without the layer and fails with it.

No text of the grader's lies beside a submission either: no docstring, and no line of source that Python has kept.
"""

from __future__ import annotations

import os
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import pytest
import torch

from grader import PACKAGE
from grader.core.judge.faults import Crashed
from grader.core.judge.student import Student
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import LAYERS, REMEDIES, Isolation, Level, Limits
from grader.core.sandbox.lockdown import readable_paths
from grader.selftest.submissions import WORK

pytestmark = pytest.mark.process

SECRET = PACKAGE / "assignment" / "rubric.toml"
ONES = torch.ones(1, 1, 1, 4)

ATTACKS = {
    "seccomp": {
        "fork": "if os.fork() == 0: os._exit(0)",
        "thread": "import threading; threading.Thread(target=print).start()",
        "program": "import subprocess; subprocess.run(['/bin/true'], check=True)",
        "socket": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "socketpair": "import socket; socket.socketpair()",
        "signal_to_the_fork_server": "os.kill(os.getppid(), 0)",
        "memfd": "os.memfd_create('x')",
        "raise_a_limit": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
        "trace": "assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
        "open_to_write": "os.close(os.open('/dev/null', os.O_WRONLY))",
    },
    "landlock": {
        "read_the_rubric": f"open({str(SECRET)!r}).close()",
        "read_what_everyone_may": "open('/proc/uptime').close()",
        "list_the_root": "os.listdir('/')",
        "list_the_project": f"os.listdir({str(SECRET.parent)!r})",
    },
    "namespaces": {
        "read_the_rubric": f"open({str(SECRET)!r}).close()",
        "see_the_first_process": "assert len([name for name in os.listdir('/proc') if name.isdigit()]) > 4",
        "see_a_network": "assert len(open('/proc/net/dev').read().splitlines()) > 3",
    },
    "user": {"become_root": "os.setresuid(0, 0, 0)"},
}
# The limit on processes stops these too, for everyone but root: there the control would fail.
STOPPED_BY_LIMITS = ("fork", "thread", "program")
CASES = [(layer, name) for layer, attacks in ATTACKS.items() for name in attacks]


@pytest.fixture(scope="module")
def alone() -> Iterator[Callable[[str], Zygote]]:
    """``alone("seccomp")``: a fork server with that layer alone; ``alone("none")``: with none."""
    with ExitStack() as to_close:
        without = {layer: [other for other in LAYERS if other != layer] for layer in (*LAYERS, "none")}
        yield cache(lambda layer: to_close.enter_context(closing(Zygote(Limits(), without=without[layer]))))


def succeeds(attack: str, zygote: Zygote) -> bool:
    """Whether student code manages the attack; it tells by the value that it returns."""
    text = f"""
    import ctypes, os

    def work(input):
        try:
            {attack}
        except (OSError, RuntimeError, AssertionError, ValueError):
            return torch.zeros_like(input)
        return torch.ones_like(input)
    """
    student = Student(
        {"src/work.py": "import torch\n" + textwrap.dedent(text)}, zygote.start, WORK, Limits(request_s=5)
    )
    try:
        return bool(student.work(ONES).all())
    finally:
        student.start_afresh()


@pytest.mark.parametrize(("layer", "name"), CASES, ids=[f"{layer}-{name}" for layer, name in CASES])
def test_an_attack_succeeds_without_the_layer_and_fails_with_it(
    layer: str, name: str, zygote: Zygote, alone: Callable[[str], Zygote]
) -> None:
    if layer in zygote.isolation.missing:
        pytest.skip(f"{layer} does not hold here: {zygote.isolation.missing[layer]}")
    if layer == "user" and os.geteuid() != 0:
        pytest.skip("only root has a user to drop")
    attack = ATTACKS[layer][name]
    if os.geteuid() == 0 or name not in STOPPED_BY_LIMITS:
        assert succeeds(attack, alone("none")), "the control: without the layer it works"
    assert not succeeds(attack, alone(layer))


def test_the_strongest_isolation_stops_every_attack(zygote: Zygote) -> None:
    if zygote.isolation.level < Level.LANDLOCK:
        pytest.skip(f"isolation here is only {zygote.isolation}")
    layers = {"seccomp", "landlock"} & zygote.isolation.held  # a container hides what Landlock would forbid to look for
    guarded = [attack for layer in layers for attack in ATTACKS[layer].values()]
    assert [attack for attack in guarded if succeeds(attack, zygote)] == []


def test_without_landlock_and_namespaces_no_file_can_be_opened() -> None:
    with closing(Zygote(Limits(), without=("namespaces", "landlock"))) as server:
        if "seccomp" not in server.isolation.held:
            pytest.skip("seccomp does not hold here")
        assert server.isolation.level is Level.SECCOMP
        assert not succeeds("open(os.__file__).close()", server)


def test_in_a_virtual_environment_packages_are_excluded_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, the place of the standard library for one platform holds the packages."""
    library = tmp_path / "lib" / "python3"
    packages = library / "site-packages"
    for name in ("torch", "grader", "__editable__.course.pth", "course.dist-info"):
        (packages / name).mkdir(parents=True)
    (packages / "course.dist-info" / "top_level.txt").write_text("grader\nref\n")
    (library / "os.py").touch()
    places = {"stdlib": library, "platstdlib": library, "purelib": packages, "platlib": packages}
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(places[name]))
    readable = [Path(path) for path in readable_paths()]
    assert {packages / "torch", library / "os.py"} <= {*readable}
    for hidden in ("grader", "__editable__.course.pth", "course.dist-info"):
        assert not any((packages / hidden).is_relative_to(path) for path in readable)


def test_here_no_readable_folder_holds_what_is_excluded() -> None:
    readable = [Path(path) for path in readable_paths()]
    packages = Path(sysconfig.get_path("purelib"))
    assert not any(packages.is_relative_to(path) for path in readable)
    assert any(path.name == "torch" for path in readable)


@pytest.mark.parametrize(
    ("held", "level", "text"),
    [
        ((), Level.PROCESS, "process"),
        (("user",), Level.PROCESS, "user"),
        (("seccomp",), Level.SECCOMP, "seccomp"),
        (("landlock", "seccomp"), Level.LANDLOCK, "landlock+seccomp"),
        (("namespaces", "seccomp"), Level.LANDLOCK, "namespaces+seccomp"),
        (("seccomp", "namespaces", "landlock"), Level.NAMESPACES, "namespaces+landlock+seccomp"),
        (("namespaces", "landlock"), Level.PROCESS, "namespaces+landlock"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_level_is_what_its_layers_hold_together(held: tuple[str, ...], level: Level, text: str) -> None:
    isolation = Isolation(frozenset(held), {})
    assert isolation.level is level
    assert str(isolation) == text


def test_every_layer_has_a_remedy() -> None:
    assert set(REMEDIES) == set(LAYERS)


LOOKS_FOR_TEXT = """
import gc, linecache, sys
from types import CodeType, FunctionType, MethodType
import torch

def ours(thing):
    return str(getattr(thing, "__module__", "")).startswith("grader")

def texts(code):
    first = code.co_consts[:1] if not code.co_name.startswith("<") else ()
    yield from (const for const in first if isinstance(const, str) and const.endswith("."))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from texts(const)

def work(input):
    found = [f"{name}" for name, module in sys.modules.items() if name.startswith("grader") and module.__doc__]
    found += [name for name in linecache.cache if "grader" in name]
    for thing in gc.get_objects() + [value for name, module in list(sys.modules.items()) if name.startswith("grader")
                                     for value in vars(module).values()]:
        if isinstance(thing, FunctionType) and ours(thing):
            found += [thing.__qualname__ for _ in texts(thing.__code__)] + [thing.__qualname__] * bool(thing.__doc__)
        elif isinstance(thing, type) and ours(thing) and thing.__doc__:
            found.append(thing.__qualname__)
    raise RuntimeError("found " + ", ".join(sorted({*found})[:9]) if found else "nothing")
"""


def test_a_worker_holds_no_text_of_ours(zygote: Zygote) -> None:
    student = Student({"src/work.py": LOOKS_FOR_TEXT}, zygote.start, WORK, Limits())
    with pytest.raises(Crashed, match=r"^RuntimeError: nothing"):
        student.work(torch.ones(1))
    student.start_afresh()

"""``torch.gpu``: the functions that torch expects of a device's module, as ``torch.cuda`` has them, and random numbers.

These come from streams other than the CPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor
from torch.utils.backend_registration import _DummyBackendModule

NAME = "gpu"
DEVICE = f"{NAME}:0"  # what torch's messages call it
LABEL = "a second device (simulated)"  # what reports call it
_STREAM, _DECOY = 0x5EED, 0xDECA  # the same seed gives other numbers here than on the CPU, as it does on a GPU


class _KindOfGenerator(type(torch._C.Generator)):  # type: ignore[misc] # a metaclass without a name
    """Makes ``isinstance`` accept every generator of torch's as an instance of the class below."""

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), torch._C.Generator)


class Generator(torch._C.Generator, metaclass=_KindOfGenerator):
    """``torch.Generator``, which can be on this device too.

    An operation of this device draws from ``stream``. An operation of the CPU knows nothing of ``stream`` and draws
    other numbers.
    """

    stream: torch._C.Generator

    def __new__(cls, device: torch.device | str | None = None) -> Any:
        """Make a generator of torch's own, unless ``device`` is this one."""
        if not is_here("cpu" if device is None else device):
            return torch._C.Generator("cpu" if device is None else device)
        self = super().__new__(cls)
        self.stream = torch._C.Generator()
        _generators[_address(self)] = self
        return self.manual_seed(torch._C.Generator().initial_seed())

    def __init__(self, device: torch.device | str | None = None) -> None:
        """Do nothing: ``__new__`` has done everything."""

    @property
    def device(self) -> torch.device:  # type: ignore[override] # read-only, as torch's own is in fact
        """The second device."""
        return torch.device(DEVICE)

    def manual_seed(self, seed: int) -> Generator:
        """Seed the stream."""
        self.stream.manual_seed(seed ^ _STREAM)
        super().manual_seed(seed ^ _DECOY)
        return self

    def seed(self) -> int:
        """Seed the stream with a random number; returns that number."""
        chosen = torch._C.Generator().seed()
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed that ``manual_seed`` was given."""
        return self.stream.initial_seed() ^ _STREAM

    def get_state(self) -> Tensor:
        """The stream's state, a tensor on the CPU."""
        return self.stream.get_state()

    def set_state(self, new_state: Tensor) -> Any:
        """Restore that state."""
        self.stream.set_state(new_state)
        return self


_generators: WeakValueDictionary[int, Generator] = WeakValueDictionary()  # by address, see _address


def stream_of(generator: torch._C.Generator | None) -> torch._C.Generator:
    """The stream that an operation of this device draws from.

    Raises:
        RuntimeError: As for a GPU, if the generator belongs to another device.
    """
    if generator is None:
        generator = getattr(torch, NAME).default_generator
    ours = _generators.get(_address(generator))
    if ours is None:
        raise RuntimeError(f"Expected a '{NAME}' device type for generator but found '{generator.device}'")
    return ours.stream


def _address(generator: Any) -> int:
    """The address of the C++ object, which stays the same when torch wraps a generator anew."""
    return int(generator._cdata)


def is_here(device: object) -> bool:
    """Whether a device, or the name of one, is this one."""
    return str(device).partition(":")[0] == NAME


class Backend(_DummyBackendModule):
    """One device, which is always there, as torch's own class says.

    Attributes:
        works: Whether a first trial of the device has succeeded.
        libraries: The torch libraries that register the operations; kept, since they unregister when deleted.
    """

    works = False
    libraries: tuple[torch.library.Library, ...] = ()

    def __init__(self) -> None:
        self.default_generator = Generator(DEVICE)

    def synchronize(self, device: object = None) -> None:
        """Do nothing, since every operation is done when its call returns."""
        del device

    @contextmanager
    def device(self, device: object) -> Iterator[None]:
        """Choose a device for a while: always the only one."""
        del device
        yield

    def manual_seed(self, seed: int) -> None:
        """Seed the random numbers that are drawn without a generator."""
        self.default_generator.manual_seed(int(seed))

    manual_seed_all = manual_seed

    def get_rng_state(self, device: object = None) -> Tensor:
        """The state of the random numbers that are drawn without a generator."""
        del device
        return self.default_generator.get_state()

    def set_rng_state(self, state: Tensor, device: object = None) -> None:
        """Restore that state."""
        del device
        self.default_generator.set_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """The dtypes that autocast accepts; it casts nothing on this device."""
        return [torch.float16, torch.bfloat16]


# ── What a GPU has and this device lacks: a case that depends on it is not assessed there ──

NOT_DENSE = "tensors that are sparse, nested, quantized or of another layout"
PICKLED = "tensors that are pickled"
RESIZED = "an out= that has elements and is resized"


class NotSimulated(RuntimeError):
    """An operation, or a kind of tensor, that a GPU has and this device lacks.

    Attributes:
        what: The operation's full name, such as ``aten::sparse_mask``, or one of the kinds above.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"the simulated device does not support {what}")
        self.what = what


def lacks(what: str) -> bool:
    """Whether this device lacks it; each process that has installed the device finds the same."""
    if what in (NOT_DENSE, PICKLED, RESIZED):
        return True
    if what not in _operations():
        return False
    by_itself = torch._C._dispatch_has_kernel_for_dispatch_key(what, "PrivateUse1")
    return not by_itself and not torch._C._dispatch_has_computed_kernel_for_dispatch_key(what, "CPU")


@cache
def _operations() -> frozenset[str]:
    return frozenset(torch._C._dispatch_get_all_op_names())


def unless_dense(*_: object, **__: object) -> None:
    """Stands in for every operation on tensors that are not dense."""
    raise NotSimulated(NOT_DENSE)

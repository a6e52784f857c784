"""Random numbers on the second device, from streams of its own."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from .names import DEVICE, NAME, is_here

_STREAM, _DECOY = 0x5EED, 0xDECA  # the same seed gives other numbers here than on the CPU, as it does on a GPU


class _KindOfGenerator(type(torch._C.Generator)):  # type: ignore[misc] # a metaclass without a name
    """Lets every generator of torch's be an instance of the class below."""

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), torch._C.Generator)


class Generator(torch._C.Generator, metaclass=_KindOfGenerator):
    """``torch.Generator``, which can be on this device too.

    Given to an operation of this device, it draws from a stream of its own. An operation of the CPU does not know that,
    and finds another stream.
    """

    stream: torch._C.Generator

    def __new__(cls, device: torch.device | str | None = None) -> Any:
        """A generator of torch's own, unless it is to be here."""
        if not is_here("cpu" if device is None else device):
            return torch._C.Generator("cpu" if device is None else device)
        self = super().__new__(cls)
        self.stream = torch._C.Generator()
        _generators[_address(self)] = self
        return self.manual_seed(torch._C.Generator().initial_seed())

    def __init__(self, device: torch.device | str | None = None) -> None:
        """All is done by then."""

    @property
    def device(self) -> torch.device:  # type: ignore[override] # nobody could write torch's own, either
        """Here."""
        return torch.device(DEVICE)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream with that number."""
        self.stream.manual_seed(seed ^ _STREAM)
        super().manual_seed(seed ^ _DECOY)
        return self

    def seed(self) -> int:
        """Start the stream anywhere."""
        chosen = torch._C.Generator().seed()
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """What ``manual_seed`` was given."""
        return self.stream.initial_seed() ^ _STREAM

    def get_state(self) -> Tensor:
        """Where the stream is, on the CPU."""
        return self.stream.get_state()

    def set_state(self, new_state: Tensor) -> Any:
        """Go back there."""
        self.stream.set_state(new_state)
        return self


_generators: WeakValueDictionary[int, Generator] = WeakValueDictionary()  # by the address that operations get


def stream_of(generator: torch._C.Generator | None) -> torch._C.Generator:
    """The stream that an operation of this device draws from.

    Raises:
        RuntimeError: As torch does for a GPU, if the generator is of another device.
    """
    if generator is None:
        generator = getattr(torch, NAME).default_generator
    ours = _generators.get(_address(generator))
    if ours is None:
        raise RuntimeError(f"Expected a '{NAME}' device type for generator but found '{generator.device}'")
    return ours.stream


def _address(generator: Any) -> int:
    """What stays the same of a generator on its way through C++."""
    return int(generator._cdata)

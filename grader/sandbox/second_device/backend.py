"""``torch.gpu``: what torch asks of a device's module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from .names import DEVICE
from .random import Generator


class Backend:
    """One device, which is always there.

    Attributes:
        works: Whether a first trial of all that it rests on has succeeded.
        libraries: What has registered the operations; they stay registered as long as it is there.
    """

    works = False
    libraries: tuple[torch.library.Library, ...] = ()

    def __init__(self) -> None:
        self.default_generator = Generator(DEVICE)

    def is_available(self) -> bool:
        """It is."""
        return True

    def is_initialized(self) -> bool:
        """It is."""
        return True

    def device_count(self) -> int:
        """One."""
        return 1

    def current_device(self) -> int:
        """The only one."""
        return 0

    def _is_in_bad_fork(self) -> bool:
        return False

    def synchronize(self, device: object = None) -> None:
        """Nothing runs behind anybody's back."""
        del device

    @contextmanager
    def device(self, device: object) -> Iterator[None]:
        """The only one, whichever is chosen."""
        del device
        yield

    def manual_seed(self, seed: int) -> None:
        """Start the stream of draws without a generator."""
        self.default_generator.manual_seed(int(seed))

    manual_seed_all = manual_seed

    def get_rng_state(self, device: object = None) -> Tensor:
        """Where that stream is."""
        del device
        return self.default_generator.get_state()

    def set_rng_state(self, state: Tensor, device: object = None) -> None:
        """Go back there."""
        del device
        self.default_generator.set_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """What autocast may be asked for; it casts nothing here."""
        return [torch.float16, torch.bfloat16]

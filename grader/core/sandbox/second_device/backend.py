"""``torch.gpu``: the functions that torch expects of a device's module, as ``torch.cuda`` has them."""

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
        works: Whether a first trial of the device has succeeded.
        libraries: The torch libraries that register the operations; kept, since they unregister when deleted.
    """

    works = False
    libraries: tuple[torch.library.Library, ...] = ()

    def __init__(self) -> None:
        self.default_generator = Generator(DEVICE)

    def is_available(self) -> bool:
        """Whether there is a device: always."""
        return True

    def is_initialized(self) -> bool:
        """Whether the device is ready: always."""
        return True

    def device_count(self) -> int:
        """The number of devices: one."""
        return 1

    def current_device(self) -> int:
        """The index of the only device."""
        return 0

    def _is_in_bad_fork(self) -> bool:
        return False

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

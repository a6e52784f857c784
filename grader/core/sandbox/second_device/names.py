"""What the second device is called."""

from __future__ import annotations

NAME = "gpu"
DEVICE = f"{NAME}:0"  # what torch's messages call it
LABEL = "a second device (simulated)"  # what reports call it


def is_here(device: object) -> bool:
    """Whether a device, or the name of one, is this one."""
    return str(device).partition(":")[0] == NAME

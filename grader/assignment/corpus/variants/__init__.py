"""Wrong and valid submissions, each a few lines over ``ref/``, that show what the grader sees and what it lets pass."""

from functools import cache

from grader.assignment import ASSIGNMENT
from grader.specimens.variants import Variant, variants_of

from .devices import device_variants
from .slips import FAMILIES, Slip, from_slips, submission

__all__ = ["all_variants", "from_slips", "slip_families", "submission"]


@cache
def all_variants() -> tuple[Variant, ...]:
    """Every variant, in the order of the files; then those that handle devices in another way than the reference."""
    return (*variants_of(ASSIGNMENT), *device_variants())


def slip_families() -> tuple[tuple[Slip, ...], ...]:
    """For each task the mistakes that can be combined."""
    return FAMILIES

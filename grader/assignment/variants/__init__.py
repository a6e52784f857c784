"""Wrong and valid submissions, each a few lines over ``ref/``, that show what the grader sees and what it lets pass."""

from ...specimens.variants import Variant, variants_of
from .. import ASSIGNMENT
from .devices import device_variants


def all_variants() -> tuple[Variant, ...]:
    """Every variant, in the order of the files; then those that handle devices in another way than the reference."""
    return (*variants_of(ASSIGNMENT), *device_variants())

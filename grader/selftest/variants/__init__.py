"""Wrong and valid submissions, each a few lines over ``ref/``, that show what the grader sees and what it lets pass."""

from .catalog import Variant, all_variants

__all__ = ["Variant", "all_variants"]

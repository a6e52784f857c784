"""Mutants of the reference, judged by the hidden tests, to find what no hidden test looks at."""

from .mutants import Mutant, all_mutants

__all__ = ["Mutant", "all_mutants"]

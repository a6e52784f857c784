"""Runs the hidden tests on mutants of the reference; a mutant that passes shows what no hidden test checks."""

from .mutants import Mutant, all_mutants

__all__ = ["Mutant", "all_mutants"]

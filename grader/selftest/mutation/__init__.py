"""Mutants of the reference, judged by the hidden tests: does anything that the reference does go unseen?"""

from .mutants import Mutant, all_mutants

__all__ = ["Mutant", "all_mutants"]

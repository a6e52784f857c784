"""Hostile submissions, each a few lines over ``ref/``, with the points that their honest part deserves and no more."""

from grader.assignment import ASSIGNMENT
from grader.specimens.attacks import Attack, attacks_of


def all_attacks() -> tuple[Attack, ...]:
    """Every attack, in the order of the files."""
    return attacks_of(ASSIGNMENT)

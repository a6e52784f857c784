"""Hostile submissions, each a few lines over ``ref/``, with the points that their honest part deserves and no more."""

from .catalog import Attack, all_attacks

__all__ = ["Attack", "all_attacks"]

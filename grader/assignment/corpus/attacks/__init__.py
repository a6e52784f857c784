"""Hostile submissions, each a few lines over ``ref/``, with the points that their honest part deserves and no more."""

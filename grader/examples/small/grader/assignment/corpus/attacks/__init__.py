"""Hostile submissions, with the points that their honest part deserves."""

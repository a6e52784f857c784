"""Differences between two gradings, in the terminal."""

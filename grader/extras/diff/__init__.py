"""Differences between two gradings, in the terminal and as a page."""

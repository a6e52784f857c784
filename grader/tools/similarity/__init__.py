"""Finds submissions that share more than everybody was given, for a person to judge; scores never change.

Submissions are read as text, and none of their code is run.
"""

"""Finds submissions that share code not given to all students, for manual review; scores never change.

Submissions are read as text, and none of their code is run.
"""

"""Finds submissions that share code that was not given to all students. A person judges them; scores never change.

Submissions are read as text, and none of their code is run.
"""

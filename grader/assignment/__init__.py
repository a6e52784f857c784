"""Everything that is this assignment, A2; nothing else in ``grader`` knows it.

Another assignment takes this folder's place, beside ``src``, ``ref``, ``tests/test_*``, ``handout`` and ``notebooks``.
"""

from pathlib import Path

from ..definition import Assignment

HERE = Path(__file__).parent
# The family of position encodings in ref/position stands behind the notebooks; no task asks for it.
ASSIGNMENT = Assignment(__name__, folder=HERE, root=HERE.parents[1], not_asked_for=("position",))

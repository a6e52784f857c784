"""Everything in ``grader`` that belongs to this assignment, A2.

Another assignment replaces this folder, and ``src``, ``ref``, ``tests/test_*``, ``tests/demo.py``, ``tests/chat.py``,
``tests/practice``, ``handout`` and ``notebooks``.
"""

from pathlib import Path

from grader.core.assignment import Assignment

HERE = Path(__file__).parent
# The notebooks use the position encodings in ref/position; no task asks for them.
ASSIGNMENT = Assignment(__name__, folder=HERE, root=HERE.parents[1], not_asked_for=("position",))

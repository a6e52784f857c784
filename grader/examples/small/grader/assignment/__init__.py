"""Everything that is this assignment: causal attention, and SwiGLU as a bonus."""

from pathlib import Path

from grader.core.assignment import Assignment

HERE = Path(__file__).parent
ASSIGNMENT = Assignment(__name__, folder=HERE, root=HERE.parents[1])

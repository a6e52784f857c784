"""Proves the grader: right work keeps its points, wrong work loses exactly the expected ones, attacks gain none."""

from .attacks import Attempt
from .both_ways import Comparison
from .page import Result, page, summary
from .rounds import JudgeDied, Round, judged, rounds
from .variants import Verdict

__all__ = ["Attempt", "Comparison", "JudgeDied", "Result", "Round", "Verdict", "judged", "page", "rounds", "summary"]

"""The grader proves itself: right work keeps its points, wrong work loses what it breaks, attacks gain nothing."""

from .attacks import Attempt
from .page import page, summary
from .rounds import JudgeDied, Round, judged, rounds
from .variants import Verdict

__all__ = ["Attempt", "JudgeDied", "Round", "Verdict", "judged", "page", "rounds", "summary"]

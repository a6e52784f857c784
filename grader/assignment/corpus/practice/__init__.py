"""The practice of this assignment, "break this implementation": what students' tests are judged with, and never see.

The function is that of ``tests/practice``, for which no task asks: what it says about masks answers nothing.
"""

from __future__ import annotations

from pathlib import Path

from grader.specimens.practice import Practice

RIGHT = Path(__file__).parent / "right"

PRACTICE = Practice(
    function="visible",
    file="test_mine.py",
    points=5,
    right={path.stem: path.read_text(encoding="utf-8") for path in sorted(RIGHT.glob("[a-z]*.py"))},
    mistakes={
        "window_wider_by_one": ("rows", "row - column < window", "row - column <= window"),
        "window_narrower_by_one": ("blocks", ".lt(window)", ".lt(max(1, window - 1))"),
        "window_within_the_document": (
            "blocks",
            "own.unsqueeze(1).sub(own)",
            "torch.arange(len(own)).unsqueeze(1).sub(torch.arange(len(own)))",
        ),
        "one_sink_more": (
            "rows",
            "ids[:column].count(ids[column]) < sinks",
            "ids[:column].count(ids[column]) <= sinks",
        ),
        "one_sink_at_most": ("blocks", "near[:, :sinks]", "near[:, : min(sinks, 1)]"),
        "sinks_in_the_first_document_only": ("ranks", "(number <= sinks)", "(number <= sinks) & (owner == owner[:1])"),
        "future_in_the_window": ("blocks", "near.tril()", "near"),
        "transposed": ("ranks", "seen_by.T", "seen_by"),
        "documents_ignored_near_by": (
            "rows",
            "column > row or ids[row]",
            "column > row or row - column > 1 and ids[row]",
        ),
        "negative_ids_are_padding": ("rows", "if column > row", "if ids[row] < 0 or column > row"),
        "ids_in_32_bits": (
            "blocks",
            "in documents.unique().tolist():",
            "in (documents := documents.int()).unique().tolist():",
        ),
        "changes_its_input": (
            "ranks",
            "return seen_by.T",
            "documents.sub_(documents.amin() if len(ids) else 0)\n    return seen_by.T",
        ),
        "as_numbers": ("blocks", "return allowed", "return allowed.to(documents.dtype)"),
        "empty_sequence_fails": ("rows", "raise ValueError", "raise ValueError\n    documents.amax()"),
        "negative_sinks_accepted": ("ranks", "if sinks < 0:", "if sinks < -1:"),
    },
)

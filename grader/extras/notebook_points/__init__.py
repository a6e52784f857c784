"""Points for graded notebooks, beside the score and never part of it."""

"""Points for graded notebooks, beside the score and never in it."""

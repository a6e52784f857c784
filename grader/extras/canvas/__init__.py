"""Canvas: submissions from there, and grades to there."""

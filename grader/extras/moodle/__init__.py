"""Moodle: submissions from there, and grades to there."""

"""The hidden tests: one file for each task."""

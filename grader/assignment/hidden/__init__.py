"""The hidden tests: one file for each piece of the assignment. Only they use the reference."""

"""The hidden tests: one file for each piece of the assignment. They alone know the reference."""

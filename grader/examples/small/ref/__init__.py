"""The reference solution: the same tree as ``src/``, solved. Never shipped to students."""

"""The reference solution: the same files as in ``src/``, solved. Students never get it."""

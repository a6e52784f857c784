"""The hidden tests, and what several of them share; only they use the reference."""

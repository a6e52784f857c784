"""Benchmarks, not timed tests: every figure is a ratio against a baseline of the same run, since machines are noisy."""

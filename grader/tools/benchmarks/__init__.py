"""Benchmarks. Machines are noisy, so every figure is a ratio to a baseline of the same run, and none is a test."""

"""Benchmarks. Times vary between machines and runs, so each is compared with a baseline of the same run."""

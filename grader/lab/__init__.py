"""Maintainers' tools: proofs of the grader, benchmarks, releases, and the site."""

"""What only maintainers run: proofs of the grader, benchmarks, releases, and the site."""

"""The trusted side: runs the hidden tests against a submission's worker and records what became of each case."""

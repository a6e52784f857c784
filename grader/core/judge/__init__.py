"""The trusted side: runs the hidden tests against a submission's worker and records the result of each case."""

"""Questions about each student's own code, with answers found by running it."""

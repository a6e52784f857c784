"""Where student code runs: in processes of its own that answer requests with values, never with verdicts."""

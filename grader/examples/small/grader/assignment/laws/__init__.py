"""Laws as tests that a student copies from a report."""

"""The grader tested: hostile, wrong and valid submissions, which `grader verify` judges too, and tests."""

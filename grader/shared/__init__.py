"""What the grader and the students' tests both run: handed out as ``tests/harness/shared``, a link to this folder."""

"""Makes ``signatures.json``, which recognises known mistakes on a student's machine without any answer.

Every wrong variant of the assignment, and every pair of its slips, is run through the public tests, and what their
failures look like is hashed. The students' copy of the tests hashes its own failures and finds the mistake by that.
"""

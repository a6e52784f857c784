"""Makes ``signatures.json``: how known mistakes are recognised on a student's machine, where no answer is.

Every wrong variant of the assignment, and every pair of its slips, is run through the public tests, and what their
failures look like is hashed. The students' copy of the tests hashes its own failures and finds the mistake by that.
"""

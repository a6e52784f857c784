"""A second assignment, small and whole, laid out as the repository is: the engine's tests run on it.

It is also the example that CONTRIBUTING's "A new assignment in an hour" points to. Laid over a copy of the repository,
replacing the parts with the same names, it makes that copy the repository of this assignment.
"""

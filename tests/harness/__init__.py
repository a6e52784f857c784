"""Runs the tests and explains their results. You need not read this package to solve the assignment."""

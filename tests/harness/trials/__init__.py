"""Runs a student's tests of `make practice` on right and wrong implementations, and tells what they catch."""

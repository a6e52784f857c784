"""Runs the hidden tests on small edits of right submissions; a mutant that passes shows what no hidden test checks."""

"""The autograder for Gradescope: one module packs it, the other runs in Gradescope's container."""

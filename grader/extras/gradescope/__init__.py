"""The autograder for Gradescope: the command packs it, and ``run`` grades in Gradescope's container."""

"""The autograder for Gradescope: how it is packed, and the program that runs in its container."""

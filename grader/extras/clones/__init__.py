"""A class as git clones in one folder: whose each is, and when its last commit was made."""

"""``grader watch``: looks after a folder, and grades what arrives or changes."""

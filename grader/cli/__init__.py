"""The command line, nothing else: a file for each command."""

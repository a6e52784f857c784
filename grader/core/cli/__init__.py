"""The command line: a file for each of the core's commands, and what they share."""

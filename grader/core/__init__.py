"""The grader itself, from intake to export and the command line; it imports neither extras nor assignment."""

"""From reports to grades: a class as graded, the people in it, and the place where decisions come in."""

"""Pages for a class and for each of its students: static HTML that loads no other file."""

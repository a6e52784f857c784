"""The walk-through: built from percent scripts, run, released and graded with nbgrader, and read as HTML."""

"""The walk-through, a series of notebooks: built from percent scripts, run, released, graded, and shown as HTML."""

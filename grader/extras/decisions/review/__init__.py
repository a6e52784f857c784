"""The local page for what only a person can decide: a queue, the work beside what failed, and the decision."""

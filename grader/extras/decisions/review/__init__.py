"""The local page for manual review: the queue, the code beside the failures, and the decision."""

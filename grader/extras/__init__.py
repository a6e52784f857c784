"""Features beside the core, a folder each, with its commands and tests; to delete a folder removes the feature."""

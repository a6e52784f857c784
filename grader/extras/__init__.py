"""Optional features, one folder each, with its commands and tests; deleting a folder removes the feature."""

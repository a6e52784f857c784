"""Formats of grades beside those of the platforms that take a file: for gradebooks, other tools and CI."""

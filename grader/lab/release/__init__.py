"""Builds the students' bundle, and refuses a bundle with secret content."""

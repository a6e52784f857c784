"""A class and each of its students as static HTML that needs nothing beside itself."""

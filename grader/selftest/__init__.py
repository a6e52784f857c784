"""The engine's own tests, and what they share."""

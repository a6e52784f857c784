"""The pages that students read: handout and handbook."""

"""Pages for a blind review: everyone in the class under a pseudonym."""

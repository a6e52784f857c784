"""Submissions whose truth is known: wrong and right variants, styles, attacks, a sample class, and practice."""

"""Submissions whose right result is known, as an assignment declares them: variants, attacks and a sample class."""

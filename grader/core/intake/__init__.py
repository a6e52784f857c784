"""Turns submitted files, or a platform's export, into submissions: text in memory, never imported or extracted."""

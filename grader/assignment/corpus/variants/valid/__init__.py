"""Submissions that meet the contract by other means than the reference."""

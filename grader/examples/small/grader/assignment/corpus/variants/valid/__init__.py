"""Submissions that meet the contract in another way than the reference."""

"""Decisions of staff about submissions: the file, its history, the review page, and appeals."""

"""What students read about each known mistake, on one page, for us to read through: kind, specific, true, no answer."""

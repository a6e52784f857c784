"""What students read about each known mistake, on one page for its authors: is it kind, specific, true, no answer?"""

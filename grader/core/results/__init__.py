"""Turns the outcomes of cases into points and reports. Most functions are pure; few read or write a file."""

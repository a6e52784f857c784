"""From the outcome of each case to points and reports. Pure functions; files are written at the very edge."""

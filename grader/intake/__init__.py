"""From what a learning platform hands out to submissions: text in memory, never imported, never extracted to disk."""

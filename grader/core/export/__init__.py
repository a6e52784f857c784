"""From grades to rows, to CSV, and to what an export leaves out; extras add the formats of platforms."""

"""Wrong and valid submissions: they prove that the hidden tests see what they should, and are fair."""

"""What students receive: a bundle of the public parts, refused if anything else is in it."""

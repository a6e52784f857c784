"""Whether this machine can grade, in the terminal."""

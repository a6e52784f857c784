"""How two gradings of a class differ: for `diff`, `appeal` and `grade --dry-run`."""

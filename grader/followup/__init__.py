"""What extras share that return to graded submissions: the files, the settings of then, and how two gradings differ."""

"""Makes the bundle that students receive: the public parts, and refused if it contains anything else."""

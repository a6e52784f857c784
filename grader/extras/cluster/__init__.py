"""Judges on other machines: the workers of a dask scheduler, or Slurm jobs."""

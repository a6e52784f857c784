"""Executors: threads of this process, or the workers of a dask scheduler. The schedule uses all of them alike."""

"""Where tasks run: threads of this process, or the workers of a dask scheduler. To the schedule all are alike."""

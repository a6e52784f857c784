"""Many submissions at once: the schedule, the executors, and judges in processes of their own."""

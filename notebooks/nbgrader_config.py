"""nbgrader's settings; the build copies this file into every course folder, so plain `nbgrader` there works too."""

c = get_config()  # noqa: F821  (nbgrader provides it)

c.CourseDirectory.course_id = "a2-rmsnorm-embedding"
c.CourseDirectory.ignore = [".ipynb_checkpoints", "__pycache__", "*.pyc"]

# The line that a student replaces. An untouched exercise then fails by its own name.
c.ClearSolutions.code_stub = {"python": '# TODO\nraise NotImplementedError("TODO")'}

# Seconds for one cell. Training takes under 90 on an idle machine; a busy one may need three times as long.
# Execute.error_on_timeout stays as it is: with a value of ours nbgrader loses the output of the cell.
c.Execute.timeout = 300

# No history file; and no word about the connection, which stays on this machine and whose messages are signed.
c.Execute.extra_arguments = ["--HistoryManager.hist_file=:memory:", "--IPKernelApp.log_level=ERROR"]

# A student's print in an endless loop must not become a file of gigabytes.
c.LimitOutput.max_lines = 500
c.LimitOutput.max_traceback = 60

"""``grader reproduce``: runs one failing case again, for an assistant."""

DEBUGGING = f"{__name__}.debugging"  # the module for workers, which no judge imports
DEBUG = "debug"  # a request that begins with this is done under the debugger

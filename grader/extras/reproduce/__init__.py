"""``grader reproduce``: runs one failing case again, for an assistant."""

DEBUGGING = f"{__name__}.debugging"  # the module for workers, which no judge imports
# The operations that run student code: the debugger stops in the first of these that a request has.
ENTERED = ("call", "observe", "backward", "construct", "method", "load")
DEBUG = "debug"  # a request that begins with this is done under the debugger

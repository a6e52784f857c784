"""What ends a command with one line in place of a traceback; ``cli/program.py`` prints it."""


class UserError(Exception):
    """Ends a command: the message is one line that says what is wrong, with which value, and what to do.

    Attributes:
        code: The command's exit code: 2 for what it was given, 3 for what went wrong in the grader or on this machine.
    """

    code = 2

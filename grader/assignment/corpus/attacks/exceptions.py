"""Exceptions that hang, flood, recurse, or carry something out."""

from grader.specimens.attacks import replaces, text

from .points import NO_ANSWER, NORM_LOST


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def message_that_never_ends(self, input):
    """Loops in __str__."""

    class Loop(Exception):
        def __str__(self):
            while True:
                pass

    raise Loop


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def message_that_raises(self, input):
    """Raises in __str__ and __repr__, and is not an Exception."""

    class Nested(BaseException):
        def __str__(self):
            raise self

        __repr__ = __str__

    raise Nested


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def message_of_ten_megabytes(self, input):
    """Floods the report."""
    raise ValueError("flood " * 2_000_000)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def message_that_is_no_text(self, input):
    """A subclass of str whose slices are not text."""

    class Text(str):
        def __getitem__(self, _):
            return 42

    class Strange(Exception):
        def __str__(self):
            return Text("strange")

    raise Strange


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def message_that_echoes_the_input(self, input):
    """Carries the hidden input out in its message."""
    raise ValueError(str(input.flatten()[:20].tolist()))


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def stub_that_echoes_the_input(self, input):
    """Carries it out in the message of an unfinished task."""
    raise NotImplementedError(str(input.flatten()[:20].tolist()))


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def class_that_echoes_the_input(self, input):
    """Carries it out in the name of an exception's class."""
    raise type(str(input.flatten()[:20].tolist()), (Exception,), {})


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def type_that_echoes_the_input(self, input):
    """Carries it out in the type of a value that is no tensor."""
    return type(str(input.flatten()[:20].tolist()), (), {})()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def missing_module_that_echoes_the_input(self, input):
    """Carries it out in the name of a file that it pretends to miss."""
    raise ModuleNotFoundError(name=f"src.{input.flatten()[:20].tolist()}")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def unfit_that_echoes_the_input(self, input):
    """Carries it out in an exception that is the worker's own."""
    import sys

    message = sys.modules["grader.core.messages"].say("{numbers}", numbers=str(input.flatten()[:20].tolist()))
    raise sys.modules["grader.core.sandbox.operations"]._Told(message)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def frame_that_echoes_the_input(self, input):
    """Carries it out in the name of a function in the traceback."""

    def fails():
        raise ValueError

    fails.__code__ = fails.__code__.replace(co_name=str(input.flatten()[:20].tolist()))
    fails()


@replaces("NTKAwareRoPE.state_dict", bonus=46.0)
def state_that_echoes_an_angle(self, *_, **__):
    """Carries numbers out in the names of its state."""
    return [str(self.cos.flatten()[8:16].tolist())]


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def message_of_escape_sequences_and_markup(self, input):
    """Repaints the assistant's terminal, and runs a script in the browser."""
    raise ValueError("\x1b[2J\x1b]0;owned\x07\r\x00\x9b31m\u202e<script>alert(1)</script><img src=x onerror=alert(1)>")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def recursion_without_end(self, input):
    """Recurses, with a limit that it has raised."""
    import sys

    sys.setrecursionlimit(10_000)
    return self.forward(input)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def chain_without_end(self, input):
    """An exception that is its own cause."""
    error = ValueError("chained")
    error.__cause__ = error.__context__ = error
    raise error


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def group_of_many(self, input):
    """Ten thousand exceptions at once."""
    raise BaseExceptionGroup("many", [KeyboardInterrupt(str(n)) for n in range(10_000)])


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def class_with_a_huge_name(self, input):
    """A class whose name has ten million characters, control characters among them."""
    raise type("\x1b[31m" + "x" * 10_000_000, (Exception,), {})


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def metaclass_without_a_name(self, input):
    """A class that raises when it is asked for its name."""

    class Nameless(type):
        @property
        def __name__(cls):
            raise SystemExit(0)

    raise Nameless("Nameless", (Exception,), {})


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def traceback_of_files_that_do_not_exist(self, input):
    """Runs code under the path of another file, at a line that nobody has written."""
    exec(compile("\n" * 60_000 + "raise ValueError", "src/functional.py", "exec"))


@text(score=NORM_LOST)
def syntax_error_in_a_line_of_a_million():
    """A syntax error at the end of a very long line."""
    return {"src/modeling/norm.py": "x = [" + "1, " * 100_000 + "\x1b[31m !\n"}


@text(score=NORM_LOST)
def source_that_breaks_the_parser():
    """Brackets and operators nested deeper than any parser's stack."""
    return {"src/modeling/norm.py": "x = " + "(" * 5_000 + "-" * 50_000 + "1" + ")" * 5_000 + "\n"}


@text(score=NORM_LOST)
def source_that_breaks_the_compiler():
    """An attribute chain that the compiler recurses along."""
    return {"src/modeling/norm.py": "x = 1" + ".real" * 60_000 + "\n"}

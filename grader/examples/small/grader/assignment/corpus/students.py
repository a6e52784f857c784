"""The sample class. An edit replaces a piece of the reference's text."""

from __future__ import annotations

from grader.specimens.students import SampleStudent

ATTENTION, SWIGLU = "src/attention.py", "src/swiglu.py"

STUDENTS = (
    SampleStudent("ada", "everything right"),
    SampleStudent("bo", "nothing done yet", stubs=(ATTENTION, SWIGLU)),
    SampleStudent(
        "cleo",
        "sees later tokens; the bonus not begun",
        edits=((ATTENTION, "scores.masked_fill(later, -torch.inf)", "scores"),),
        stubs=(SWIGLU,),
        packed="zip",
    ),
)

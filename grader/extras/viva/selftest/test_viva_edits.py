"""Edits change one line each, and read as if a person had written them."""

from __future__ import annotations

import ast

import pytest

from grader.assignment import ASSIGNMENT
from grader.extras.viva.source import Edit, edits_of, lines_of

FILES = ASSIGNMENT.solution()
TEXT = '''class A:
    """Ada's."""

    def f(self, é):
        """Ada's."""
        x = "é"  # Ada's [b, s]
        if é > x:  # Ada's
            x = (1,
                 2)
        return x; y
'''


def edits(text: str) -> list[Edit]:
    return edits_of(("a.py", 1), text)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("y = torch.sqrt(m + eps)", "y = (torch.sqrt(m) + eps)"),
        ("y = (m + eps).sqrt()", "y = (m.sqrt() + eps)"),
        ("y = x.to(torch.float32)", "y = x"),
        ("y = rows.clamp(0, 3)", "y = rows"),
        ("y = first >= last", "y = first > last"),
        ("y = (a < 0) | (a > n)", "y = (a < 0) & (a > n)"),
        ("y = seed + rank", "y = seed - rank"),
        ("y = x.mean(-1, keepdim=True)", "y = x.mean(-1, keepdim=False)"),
        ("y = -x", "y = +x"),
        ("y = 2 * -(-x // n)", "y = 2 * -(-x % n)"),
        ("nn.init.normal_(table)", "nn.init.uniform_(table)"),
        ("while n > 0:", "while n >= 0:"),
        ("y = y.float()", "y = y"),
        ("fill(table)", "pass"),
        ("count += 1", "pass"),
    ],
)
def test_the_slip_is_among_the_edits(line: str, new: str) -> None:
    assert new in [edit.new for edit in edits(line)]


@pytest.mark.parametrize(
    "line",
    ["y = f(x)", "super().__init__()", "g.manual_seed(self.seed)"],
    ids=["assignment", "super", "seed: what is still reproducible can be disputed"],
)
def test_what_is_needed_is_not_deleted(line: str) -> None:
    assert "pass" not in [edit.new for edit in edits(line)]


@pytest.mark.parametrize("line", ["y = torch.zeros(n)", "y = super().f(n)", "y = torch.Generator(d).manual_seed(n)"])
def test_a_call_without_which_nothing_is_left_stays(line: str) -> None:
    assert edits(line) == []


def test_what_a_line_has_twice_is_not_edited_since_nobody_could_tell_which() -> None:
    assert edits("y = a + b + c") == []
    assert [edit.shown for edit in edits("y = a + b - c")] == ["1:  … + …  →  … - …", "1:  … - …  →  … + …"]


def test_an_edit_shows_little_and_what_shows_least_comes_first() -> None:
    found = edits("y = x.to(torch.float32) * 2")
    assert found[0].shown == "1:  … * …  →  … / …"
    assert found[-1].shown == "1:  … .to(torch.float32) …  →  …"


def test_every_edit_of_the_reference_changes_its_line_alone_and_is_valid() -> None:
    count = 0
    for (path, number), old in lines_of(FILES).items():
        for edit in edits_of((path, number), old):
            changed = edit.applied(FILES)
            pairs = zip(FILES[path].split("\n"), changed[path].split("\n"), strict=True)
            assert [n for n, (before, after) in enumerate(pairs, 1) if before != after] == [number]
            ast.parse(changed[path])
            assert "#" not in edit.new
            count += 1
    assert count > 100


def test_lines_are_whole_statements_without_comments() -> None:
    found = lines_of({"a.py": TEXT})
    doc = '"""Ada\'s."""'
    assert {number: line for (_, number), line in found.items()} == {2: doc, 5: doc, 6: 'x = "é"', 7: "if é > x:"}


@pytest.mark.parametrize(
    "text",
    ["f(" * 9000, "y = " + "(" * 99 + "x" + ")" * 99, "x" * 9000 + " + 1", "y = x" + ".a()" * 400],
    ids=["unfinished", "nested", "long", "deep"],
)
def test_a_line_that_is_hard_to_read_takes_no_time(text: str) -> None:
    assert len(edits(text)) < 9


def test_text_in_quotation_marks_stays() -> None:
    assert {edit.new for edit in edits('raise ValueError("a + 1")')} == {"pass"}
    assert {edit.new for edit in edits('raise ValueError(f"{a + 1}")')} <= {
        "pass",
        'raise ValueError(f"{a - 1}")',
        'raise ValueError(f"{a + 2}")',
    }


def test_a_file_that_is_no_python_is_left_out() -> None:
    assert not lines_of({"a.py": "def f(:", "b.py": "x = '\0'"})

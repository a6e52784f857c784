"""Edits change one line each, and read as if a person had written them."""

from __future__ import annotations

import ast

import pytest

from grader.assignment import ASSIGNMENT
from grader.extras.viva.source import Edit, Source, edits_of, sources

FILES = ASSIGNMENT.solution()
TEXT = '''class A:
    """Ada's."""

    def f(self):
        """Ada's."""
        x = 1  # [b, s]
        return x
'''


def edits(text: str) -> list[Edit]:
    return [*edits_of(("a.py", 1), text)]


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("y = torch.sqrt(m + eps)", "y = (torch.sqrt(m) + eps)"),
        ("y = (m + eps).sqrt()", "y = (m.sqrt() + eps)"),
        ("y = x.to(torch.float32)", "y = x"),
        ("y = rows.clamp(0, 3)", "y = rows"),
        ("y = first >= last", "y = first > last"),
        ("y = (a < 0) | (a > n)", "y = (a < 0) & (a > n)"),
        ("y = seed + rank", "y = seed"),
        ("y = x.mean(-1, keepdim=True)", "y = x.mean(-1, keepdim=False)"),
        ("y = -x", "y = x"),
        ("y = 2 * -(-x // n)", "y = 2 * (-x // n)"),
        ("nn.init.normal_(table)", "nn.init.uniform_(table)"),
        ("y = y.float()", ""),
        ("fill(table)", ""),
        ("self.eps = eps", ""),
    ],
)
def test_the_slip_is_among_the_edits(line: str, new: str) -> None:
    assert new in [edit.new for edit in edits(line)]


@pytest.mark.parametrize("line", ["y = torch.zeros(n)", "y = super().size"], ids=["function of a module", "super"])
def test_what_cannot_be_left_out_stays(line: str) -> None:
    assert not [new for edit in edits(line) if "torch" not in (new := edit.new or "") and "super" not in new]


def test_a_name_that_is_assigned_for_the_first_time_is_not_deleted() -> None:
    assert "" not in [edit.new for edit in edits("y = f(x)")]


def test_every_edit_of_the_reference_changes_its_line_alone_and_is_valid() -> None:
    count = 0
    for path, source in sources(FILES).items():
        for line, (_, code) in source.functions.items():
            for edit in edits_of((path, line), code[line]):
                changed = edit.applied(FILES)
                pairs = zip(FILES[path].splitlines(), changed[path].splitlines(), strict=True)
                assert [n for n, (before, after) in enumerate(pairs, 1) if before != after] == [line]
                ast.parse(changed[path])
                assert "#" not in (edit.new or "")
                count += 1
    assert count > 150


def test_a_listing_has_numbers_and_neither_comments_nor_docstrings() -> None:
    source = Source(TEXT)
    assert source.altered(6, "        x = 2").splitlines() == [
        "   4   def f(self):",
        "   5       ...",
        "   6       x = 2",
        "   7       return x",
    ]
    head = "   4   def f(…):"
    assert source.alone(6).splitlines() == [head, "   6       x = 1"]
    assert source.alone(6, "        x = 2").splitlines() == [head, "   6 -     x = 1", "   6 +     x = 2"]
    assert source.alone(6, "").splitlines() == [head, "   6 -     x = 1"]


@pytest.mark.parametrize("text", ["f(" * 9000, "y = " + "(" * 99 + "x" + ")" * 99, "x" * 9000 + " + 1"])
def test_a_line_that_is_hard_to_read_has_no_edits_and_takes_no_time(text: str) -> None:
    assert len(edits(text)) < 9


def test_text_in_quotation_marks_stays() -> None:
    assert {edit.new for edit in edits('raise ValueError("a + 1")')} == {""}


def test_a_file_that_is_no_python_is_left_out() -> None:
    assert not sources({"a.py": "def f(:", "b.py": "x = '\0'"})

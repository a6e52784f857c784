"""Edits change one line each, and read as if a person had written them."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path
from tokenize import generate_tokens

import pytest

import grader
from grader.assignment import ASSIGNMENT
from grader.extras.viva.quiz import say
from grader.extras.viva.source import CALL, NEXT, PARTNERS, PASS, Edit, edits_of, lines_of

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
    "line",
    [
        "y = f(x)",
        "super().__init__()",
        "g.manual_seed(self.seed)",
        "self.reset_parameters()",
        'self.register_buffer("x", x)',
        "x.normal_()",
    ],
    ids=["assignment", "super", "seed: what is still reproducible can be disputed", "values", "buffer", "draw"],
)
def test_what_is_needed_is_not_deleted(line: str) -> None:
    assert not {"pass", "x"} & {edit.new for edit in edits(line)}


@pytest.mark.parametrize(
    ("line", "slip", "new"),
    [
        ("y = a + b - c", "+ ↔ -", "y = a - b - c"),
        ("y = x[2, 3, 1.5] + 1", NEXT, "y = x[3, 3, 1.5] + 1"),
        ("y = x[n] - -1", "+ ↔ -", "y = x[n] + -1"),
        ("y = sum(x) + 1", "mean ↔ sum", "y = mean(x) + 1"),
        ("y = mean(x) + 1", "mean ↔ sum", "y = sum(x) + 1"),
        ("y = a < b < c", "< ↔ <=", "y = a <= b < c"),
        ("y = x.a().b()", CALL, "y = x.a()"),
        ("y = é.a(é)", CALL, "y = é"),
        ("f(x.a())", CALL, "f(x)"),
        ("f(x)", PASS, "pass"),
    ],
)
def test_of_several_parts_of_a_line_it_is_clear_which_is_meant(line: str, slip: str, new: str) -> None:
    """A question says what was done, such as to the first of some signs and words, and does not show it."""
    assert [edit.new for edit in edits(line) if edit.slip == slip] == [new]


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("y = -x + 1", "y = -x - 1"),  # a sign of a name
        ("y = f(-1) * 2", "y = f(-1) / 2"),  # a sign of a number, and this number
        ("return -n + 1", "return -n - 1"),  # a sign after a keyword
        ("y = x**2 * n", "y = x**2 / n"),  # a power beside a product
        ("y = x**-n * n", "y = x**-n / n"),  # a sign of an exponent
        ("y = f(*x, 1)", "y = f(*x, 2)"),  # a star before arguments
        ("y //= x * 2", "y //= x / 2"),  # a quotient that is assigned
        ("y = 1.0 / x", "y = 1.0 * x"),  # a number with a point
        ("y = 1e-5 + x", "y = 1e-5 - x"),  # a number with an exponent
        ("y = -mean(x)", "y = -sum(x)"),  # a name after a sign does count
    ],
)
def test_what_a_question_says_does_not_count_is_passed_over(line: str, new: str) -> None:
    assert [edit.new for edit in edits(line) if edit.slip not in (CALL, PASS)] == [new]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["f(-1)", "f(*x)", "x**2", "1.0", "+="])
def test_a_question_says_what_does_not_count(part: str, language: str) -> None:
    assert part in say(language, "slip_words", words="")
    line = "y += x" if part == "+=" else f"y = {part}"
    assert [edit for edit in edits(line) if edit.slip != PASS] == []


@pytest.mark.parametrize(
    "line",
    [
        "y = torch.zeros(n)",  # a function of the module: nothing would be left
        "y = super().f(n)",  # a method of the parent
        "y = torch.Generator(d).manual_seed(n)",  # a seed: nothing would be seen
        "i = i.long()",  # whole numbers
        "i = i.to(torch.int64)",  # whole numbers, by their dtype
        'self.register_buffer("sin", table, persistent=False)',  # a buffer: the property about buffers would name it
        "y = x.a(z.b())",  # the call that begins last is not the one that ends last
        "y = x.to(z)",  # a call that also moves to a device
    ],
)
def test_a_line_stays_that_is_needed_or_where_one_could_argue_what_an_edit_does(line: str) -> None:
    assert [edit for edit in edits(line) if edit.slip != PASS] == []


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
    assert count > 35


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


def test_of_the_words_that_a_question_names_the_first_in_a_line_is_exchanged() -> None:
    """It names those of several lines; in a line, the first of all words is among them."""
    found = [edit for at, old in lines_of(FILES).items() for edit in edits_of(at, old) if edit.slip not in (CALL, PASS)]
    slips = {word: edit.slip for edit in found for word in edit.slip.split(" ↔ ")}
    for edit in found:
        counted = re.sub(r"\*\*-?\w+|[-*](?=[a-z])|-\d+", "", edit.old)  # here, signs of two have blanks
        tokens = [token.string for token in generate_tokens(io.StringIO(counted).readline)]
        assert next(slips.get(one, NEXT) for one in tokens if one in slips or one.isdecimal()) == edit.slip
    assert len({edit.slip for edit in found}) > 5


def test_the_manual_lists_every_word_that_may_be_exchanged() -> None:
    manual = (Path(grader.__file__).parent / "docs" / "viva.md").read_text(encoding="utf-8")
    assert [word for word in PARTNERS if f"`{word}`" not in manual] == []

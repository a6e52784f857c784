"""What counts as source, where it may lie, and how contents are told apart."""

from __future__ import annotations

import pytest

from grader.core.intake.submission import Submission, is_source_path
from grader.shared.source_rules import MAX_FILE_BYTES, Refused, decoded, newer_syntax

NORM, FUNCTIONAL = "src/modeling/norm.py", "src/functional.py"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"x = 1\r\ny = 2\r", "x = 1\ny = 2\n"),
    ],
    ids=["byte_order_mark", "line_ends"],
)
def test_source_is_read_as_python_reads_it(data: bytes, text: str) -> None:
    assert decoded(data) == text


def test_a_warning_of_the_parser_is_no_newer_syntax() -> None:
    """Here warnings are errors; from Python 3.12 on this one is printed, unless it is silenced."""
    assert newer_syntax("x = '\\d'\n") is None


def test_a_file_as_large_as_allowed_is_taken() -> None:
    assert len(decoded(b"#" * MAX_FILE_BYTES)) == MAX_FILE_BYTES
    with pytest.raises(Refused, match="too_large"):
        decoded(b"#" * (MAX_FILE_BYTES + 1))


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("src/a.py", True),
        ("src/deep/er/a.py", True),
        ("src/a.pyc", False),
        ("tests/a.py", False),
        ("src/../a.py", False),
        ("/src/a.py", False),
        ("src/.hidden/a.py", False),
        ("src/__pycache__/a.py", False),
        ("src/a\n.py", False),
        (f"src/{'a' * 200}.py", False),
    ],
    ids=["plain", "deep", "compiled", "tests", "upwards", "absolute", "hidden", "cache", "line_break", "long"],
)
def test_a_source_path_is_plain_python_below_src(path: str, taken: bool) -> None:
    assert is_source_path(path) is taken


def test_the_digest_tells_contents_and_places_apart() -> None:
    digests = {
        Submission("a", {NORM: "ab", FUNCTIONAL: "c"}).sha256,
        Submission("a", {NORM: "a", FUNCTIONAL: "bc"}).sha256,
        Submission("a", {FUNCTIONAL: "ab", NORM: "c"}).sha256,
    }
    assert len(digests) == 3
    assert Submission("b", {FUNCTIONAL: "c", NORM: "ab"}).sha256 in digests

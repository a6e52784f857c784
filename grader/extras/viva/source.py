"""Lines of a submission, and small edits of them, such as slips. Running the code shows the effect of an edit."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword

from grader.shared.source_rules import nodes_of

Place = tuple[str, int]  # path and line
PAIRS = "+ - * / // % < <= > >= == != and or & | True False mean sum sqrt square float32 float64"
PARTNERS = {word: PAIRS.split()[n ^ 1] for n, word in enumerate(PAIRS.split())}  # each may take the other's place
CALL, PASS, NEXT = "call", "pass", "0 → 1, 1 → 2, …"  # the last call goes, or the line; a number grows by one
MODULES = {"torch", "nn", "F", "math", "init", "functional", "self", "super()"}  # all else has methods
# Else calls show too little; a tensor as the argument of `to` names a device, too.
NEEDED = r"super\(\)|seed\(|device|type_as|\.to\((?!\w*type)\w+\)$|long|int64|normal_|uniform_|\.reset_|\.register_"


@dataclass(frozen=True)
class Edit:
    """A line written in another way.

    Attributes:
        old: Its text, without indentation and comment.
        new: Another text; ``pass``, where the line is deleted, so that its block is not empty; empty if it stays.
        slip: What was done: :data:`CALL`, :data:`PASS`, :data:`NEXT`, or two words, of which the line has one.
    """

    place: Place
    old: str
    new: str = ""
    slip: str = ""

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """The submission with the edit."""
        path, number = self.place
        rows = files[path].split("\n")
        rows[number - 1] = re.sub(r"\S.*", lambda _: self.new, rows[number - 1])
        return {**files, path: "\n".join(rows)}


def lines_of(files: Mapping[str, str]) -> dict[Place, str]:
    """Statements of one line, and heads of ``if`` and loops, without their comments, which may hold names."""
    found = {}
    for path, text in files.items():
        rows = text.split("\n")
        for one in (node for node in nodes_of(text) if isinstance(node, ast.stmt)):
            head = {ast.If: "test", ast.While: "test", ast.For: "iter"}.get(type(one))
            last = getattr(one, head) if head else one
            row, start, end = rows[one.lineno - 1].encode(), one.col_offset, last.end_col_offset
            is_whole = last.end_lineno == one.lineno and not row[:start].strip()
            if is_whole and row[end:].lstrip()[:1] in ((b":",) if head else (b"", b"#")):
                found[path, one.lineno] = row[start:end].decode() + ":" * bool(head)
    return found


def edits_of(place: Place, old: str) -> list[Edit]:
    """One edit of a line for each sort, where it can be done."""
    if len(old) > 200 or (statement := _parsed(old)) is None:  # a longer one may be deep, and take long
        return []
    written = _swapped(old), _shortened(statement, old)
    return [Edit(place, old, new, slip) for new, slip in written if new not in ("", old) and _parsed(new)]


def _parsed(text: str) -> ast.stmt | None:
    nodes = nodes_of(text + " pass" * text.endswith(":"))
    return next((node for node in nodes if isinstance(node, ast.stmt)), None)


def _swapped(text: str) -> tuple[str, str]:
    """The line with its first word of a pair, or its first whole number, whichever comes first, replaced."""
    before = "="
    for kind, word, start, end, _ in tokenize.generate_tokens(iter([text]).__next__):
        if kind == getattr(tokenize, "FSTRING_START", None) or word == "register_buffer":  # a property names buffers
            break  # from Python 3.12, what is in a text is tokens, too
        is_value = re.search(r"[\w)\]}'\"]$", before) and not iskeyword(before)
        is_sign = word == "**" or (word in ("+", "-", "*") and not is_value)
        by = str(int(word) + 1) if before and word.isdecimal() else PARTNERS.get(word)
        if by and not is_sign:
            return text[: start[1]] + by + text[end[1] :], NEXT if word.isdecimal() else " ↔ ".join(sorted((word, by)))
        before = "" if is_sign else word  # neither a sign of one value counts nor its number, as a question says
    return "", ""


def _shortened(statement: ast.stmt, text: str) -> tuple[str, str]:
    """The line without its last call of a method, such as a cast, a clamp or a clone; ``pass`` where it calls none."""
    row, ends = text.encode(), dict[int, int]()  # from the dot of a call to its end
    for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
        match call.func:
            case ast.Attribute(value=owner, attr=name) if ast.unparse(owner).rpartition(".")[2] not in MODULES:
                ends[int(call.func.end_col_offset or 0) - len(name) - 1] = int(call.end_col_offset or 0)
    if ends:
        dot, end = max(ends.items())
        stays = end < max(ends.values()) or re.search(NEEDED, row[dot:end].decode())  # another one ends further right
        return "" if stays else (row[:dot] + row[end:]).decode(), CALL
    can_go = isinstance(statement, ast.Raise | ast.AugAssign | ast.Expr) and not re.search(NEEDED, text)
    return PASS * can_go, PASS

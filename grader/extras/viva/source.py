"""Lines of a submission, and small edits of them, such as slips of a hand. Running says what an edit means."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Place = tuple[str, int]  # path and line
SLIPS = """< <= >; <= < >=; > >= <; >= > <=; == !=; != ==; + -; - +; * /; / *; // %; % //; | &; & |; and or; or and;
True False; False True; mean sum; sum mean; sqrt square; rsqrt sqrt; square abs; cos sin; sin cos; float32 float64;
uniform_ normal_; normal_ uniform_; 0 1; 1 2; 2 3; 3 4; 4 5; 5 6; 6 7; 7 8; 8 9; 9 10"""  # a token, and others for it
TOKENS = {token: others for token, *others in map(str.split, SLIPS.split(";"))}
OWNERS = {"torch", "nn", "F", "math", "init", "functional", "self", "super()"}  # other calls can be left out
NEEDED = r"super\(\)|manual_seed|device"  # without a seed or a move, a CPU shows less than what can be argued
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Edit:
    """A line written in another way.

    Attributes:
        old: Its text, without indentation and comment.
        new: Another text; ``pass``, where the line is deleted, so that its block is not empty; empty if it stays.
        shown: The edited part, before and after; the author knows the rest of the line, and others have to look for it.
    """

    place: Place
    old: str
    new: str = ""
    shown: str = ""

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
        with contextlib.suppress(*UNREADABLE):
            rows = text.split("\n")
            for one in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)):
                head = {ast.If: "test", ast.While: "test", ast.For: "iter"}.get(type(one))
                last = getattr(one, head) if head else one
                row, start, end = rows[one.lineno - 1].encode(), one.col_offset, last.end_col_offset
                is_whole = last.end_lineno == one.lineno and not row[:start].strip()
                if is_whole and row[end:].lstrip()[:1] in ((b":",) if head else (b"", b"#")):
                    found[path, one.lineno] = row[start:end].decode() + ":" * bool(head)
    return found


def edits_of(place: Place, old: str) -> list[Edit]:
    """Edits of a line; those that show least of it come first, and its deletion last."""
    if len(old) > 200 or (statement := _parsed(old)) is None:  # a longer one may be deep, and take long
        return []
    found = dict[str, Edit]()
    for part, by in _rewrites(statement, old):
        new, shown = old.replace(part, by), f"{place[1]}:  … {part} …  →  … {by} …".replace("…  …", "…")
        if old.count(part) == 1 and _parsed(new):  # of two, a reader could not tell which is meant
            found.setdefault(new, Edit(place, old, new, shown))
    ordered = sorted(found.values(), key=lambda edit: sum(map(str.isalpha, edit.shown)))
    can_go = isinstance(statement, ast.Raise | ast.AugAssign | ast.Expr) and not re.search(NEEDED, old)
    return [*ordered, *[Edit(place, old, "pass")] * can_go]


def _parsed(text: str) -> ast.stmt | None:
    with contextlib.suppress(*UNREADABLE):
        return ast.parse(text + " pass" * text.endswith(":")).body[0]
    return None


def _rewrites(statement: ast.stmt, text: str) -> Iterator[tuple[str, str]]:
    """Parts of a line, and what may be there instead."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        yield from ((token.string, by) for by in TOKENS.get(token.string, ()))
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name) as function, args=arguments):
                whole, called = ast.unparse(node), ast.unparse(function)
                match arguments or [owner]:
                    case [ast.BinOp(left, ast.Add(), right)] if "sqrt" in name:  # eps outside the root
                        root = f"{called}({ast.unparse(left)})" if arguments else f"{ast.unparse(left)}.{name}()"
                        yield whole, f"({root} + {ast.unparse(right)})"
                left_out = whole[len(called) - len(name) - 1 :]  # such as a cast, a clamp, a mask or a clone
                if ast.unparse(owner).rpartition(".")[2] not in OWNERS and not re.search(NEEDED, left_out):
                    yield left_out, ""

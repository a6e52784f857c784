"""Aligns text in a terminal, also Chinese text, and colours it."""

import os
import re
import sys
import unicodedata

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


_PAINT = re.compile(r"\033\[\d*m")


def width(text: str) -> int:
    """Count the columns of ``text``: wide characters take two, colours none."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in _PAINT.sub("", text))


def pad(text: str, columns: int) -> str:
    """Fill ``text`` with spaces up to that many columns."""
    return text + " " * (columns - width(text))


def wrap(text: str, columns: int) -> list[str]:
    """Break ``text`` into lines of at most that many columns: at spaces, and between wide characters.

    A line that starts with a space is a table row, and stays whole.
    """
    lines = []
    for paragraph in text.splitlines():
        lines.append("")
        pieces = (
            [paragraph]
            if paragraph.startswith(" ")
            else re.findall(r"[\u2e80-\uffef]|[^\s\u2e80-\uffef]+|\s+", paragraph)
        )
        for piece in pieces:
            closing = piece in "，。；：？！）、"
            if lines[-1] and not closing and width(lines[-1]) + width(piece.rstrip()) > columns:
                lines[-1] = lines[-1].rstrip()
                lines.append("")
            lines[-1] += piece.lstrip() if not lines[-1] and len(pieces) > 1 else piece
    return lines


def fold(line: str, columns: int) -> list[str]:
    """Break a line that is wider, at spaces; what follows is indented by two more."""
    if width(line) <= columns:
        return [line]
    start = line[: len(line) - len(line.lstrip())]
    first, *others = wrap(line.lstrip(), max(columns - len(start) - 2, 1))
    return [start + first, *(f"{start}  {other}" for other in others)]


def block(label: str, text: str, *, indent: int, columns: int) -> list[str]:
    """Format ``label`` in the first ``indent`` columns, and ``text`` beside it, wrapped to ``columns`` in all."""
    lines = wrap(text, columns - indent)
    return [pad(label if number == 0 else "", indent) + line for number, line in enumerate(lines)]


class Painter:
    """Colours text, or returns it without colours."""

    def __init__(self, enabled: bool) -> None:
        """Use colours only if ``enabled``."""
        self.enabled = enabled

    def __call__(self, text: str, colour: str) -> str:
        """Return ``text`` with the escape sequences of ``colour``, if colours are enabled."""
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if self.enabled else text


def painter() -> Painter:
    """A painter with colours if the output is a terminal and NO_COLOR is not set (see no-color.org)."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    enabled = sys.stdout.isatty() and not plain
    if enabled and sys.platform == "win32":
        os.system("")  # an empty command enables escape sequences in older Windows consoles
    return Painter(enabled)

"""Text that lines up in a terminal, Chinese included, and colours where they are wanted."""

import os
import re
import sys
import unicodedata

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def width(text: str) -> int:
    """Count the columns of ``text``: wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


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


def block(label: str, text: str, *, indent: int, columns: int) -> list[str]:
    """Lay ``text`` out beside its ``label``, wrapped, with ``indent`` columns for the labels."""
    lines = wrap(text, columns - indent)
    return [pad(label if number == 0 else "", indent) + line for number, line in enumerate(lines)]


class Painter:
    """Colours text, or leaves it alone."""

    def __init__(self, enabled: bool) -> None:
        """Paint only if ``enabled``."""
        self.enabled = enabled

    def __call__(self, text: str, colour: str) -> str:
        """Return ``text`` in ``colour``."""
        return f"\033[{_COLOURS[colour]}m{text}\033[0m" if self.enabled else text


def painter() -> Painter:
    """Paint on a terminal, unless NO_COLOR is set (see no-color.org)."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    enabled = sys.stdout.isatty() and not plain
    if enabled and sys.platform == "win32":
        os.system("")  # an empty command switches the escape sequences of older Windows consoles on
    return Painter(enabled)

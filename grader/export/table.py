"""CSV in and out: quoted properly, in UTF-8, and with no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .rows import ExportError

BOM = "\ufeff"
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Template:
    """A table that was downloaded from a platform, to be given back filled in.

    Attributes:
        delimiter: As found: a comma, or a semicolon where the comma is the decimal sign.
        bom: What stood before the first cell, to be put there again.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    delimiter: str
    bom: str

    def column(self, names: Iterable[str], of: str) -> int:
        """The column that is called by one of these names.

        Raises:
            ExportError: If there is none.
        """
        folded = [cell.strip().casefold() for cell in self.header]
        wanted = [name.casefold() for name in names]
        for name in wanted:
            if name in folded:
                return folded.index(name)
        raise ExportError(f"--template: no column {wanted[0]!r} in it. Give {of}, as it was downloaded.")

    def text(self, rows: Iterable[Sequence[str]]) -> str:
        """The same table with other rows."""
        return self.bom + written([self.header, *rows], self.delimiter)


def read_template(data: bytes | None, of: str) -> Template:
    """Parse a downloaded table.

    Args:
        data: The file, or None where none was given.
        of: What to call it in an error.

    Raises:
        ExportError: If there is none, or it is no table.
    """
    if data is None:
        raise ExportError(f"--template is missing. Give {of}, as it was downloaded.")
    try:
        text = data.decode("utf-8")
        bom = BOM if text.startswith(BOM) else ""
        text = text.removeprefix(BOM)
        first = text.partition("\n")[0]
        delimiter = ";" if first.count(";") > first.count(",") else ","
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except (ValueError, csv.Error) as error:
        raise ExportError(f"--template: no CSV in UTF-8 ({error}). Give {of}, as it was downloaded.") from None
    padded = [tuple(row + [""] * (len(header) - len(row)))[: len(header)] for row in rows]
    return Template(tuple(header), tuple(padded), delimiter, bom)


def written(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """A table as text, with line ends as RFC 4180 has them."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    return buffer.getvalue()


def inert(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def number(value: float | None) -> str:
    """A number without needless zeros; blank for none."""
    return "" if value is None else f"{round(value, 2):g}"

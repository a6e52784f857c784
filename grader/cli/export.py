"""``grader export``: grades as platforms take them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..export.drops import remember
from ..export.formats import FORMATS
from ..export.rows import ExportError
from ..results.database import LedgerError, opened
from ..results.report import write_text
from .preflight import AcceptDrops, AcceptStale, AssignmentId, Template, prepared
from .terminal import fail, say


def export(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    file: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: in DIR.")] = None,
    template: Template = None,
    assignment_id: AssignmentId = "",
    accept_drops: AcceptDrops = False,
    accept_stale: AcceptStale = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Although some grades have no place in the file.")
    ] = False,
) -> None:
    """Write grades as a platform takes them, by the rubric's policy. Who gets none, or less than before, is named."""
    if to not in FORMATS:
        fail(f"--to {to}: not a format. Choose one of {', '.join(FORMATS)}.")
    try:
        content = template.read_bytes() if template else None
        with opened(out) as ledger:
            ready = prepared(out, to, ASSIGNMENT.rubric, ledger, content, assignment_id)
            ready.say()
            if problems := ready.problems(accept_drops, accept_blanks, accept_stale):
                texts, codes = zip(*problems, strict=True)
                fail(f"{'; '.join(texts)}. Nothing was written.", max(codes))
            ((name, text),) = ready.made.files.items()
            path = file or out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            remember(ledger, ready.made.rows, to)
    except (ExportError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}.")
    say(f"{len(ready.reports)} reports for {to}: {path}")

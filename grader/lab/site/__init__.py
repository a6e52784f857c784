"""The pages that students read: handout and handbook."""

import shutil
from pathlib import Path

from grader.core.messages import UserError


def clear(folder: Path, mark: str) -> None:
    """Delete a folder that an earlier run wrote, with ``mark`` in it; :class:`UserError` if it holds anything else."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).exists():
        raise UserError(f"{folder}: not empty, and not written by this command. Choose another folder, or delete it.")
    shutil.rmtree(folder, ignore_errors=True)

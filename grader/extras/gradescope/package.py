"""Packs the autograder: the grader and the reference, with a script to set them up and one to run them."""

from __future__ import annotations

from pathlib import Path

from grader import REPOSITORY

SCRIPTS = ("run_autograder", "setup.sh")
FILES = ("pyproject.toml", "requirements.lock", "README.md", "LICENSE")  # what pip needs to install the grader
NOT_NEEDED = ("corpus", "docs", "examples", "lab", "selftest")


def autograder(root: Path = REPOSITORY) -> dict[str, bytes]:
    """Every file of the autograder, by its path; the same repository gives the same bytes."""
    files = {script: Path(__file__).with_name(script).read_bytes() for script in SCRIPTS}
    files |= {name: (root / name).read_bytes() for name in FILES}
    for folder in ("grader", "ref"):
        for path in (root / folder).rglob("*"):
            parts = path.relative_to(root / folder).parts
            if path.is_file() and path.suffix in (".py", ".toml") and not _left_out(parts):
                files[path.relative_to(root).as_posix()] = path.read_bytes()
    return dict(sorted(files.items()))


def _left_out(parts: tuple[str, ...]) -> bool:
    return any(part in NOT_NEEDED or part.startswith(".") for part in parts)

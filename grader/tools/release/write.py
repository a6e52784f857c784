"""Writes a bundle as a zip and as a git repository; the same files give the same zip and the same commit id."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ...results.files import write_bytes

MOMENT = (1980, 1, 1, 0, 0, 0)
AUTHOR = {"NAME": "Course staff", "EMAIL": "staff@example.org", "DATE": "2000-01-01T00:00:00Z"}


def write_zip(files: Mapping[str, bytes], path: Path, top: str = "") -> None:
    """Write a zip whole or not at all; see :func:`zip_bytes`."""
    write_bytes(path, zip_bytes(files, top))


def zip_bytes(files: Mapping[str, bytes], top: str = "") -> bytes:
    """A zip with all files in the folder ``top``, or at the top if it is empty; scripts are executable."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{top}/{name}" if top else name, MOMENT)
            entry.external_attr = (0o755 if data.startswith(b"#!") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def write_repository(files: Mapping[str, bytes], folder: Path) -> str:
    """Replace ``folder`` by a git repository with one commit; return the id of the commit.

    Raises:
        OSError: If git is not installed.
        subprocess.CalledProcessError: If git fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in AUTHOR.items()}
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str) -> str:
        command = ["git", "-c", "core.autocrlf=false", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment | identity, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "The assignment as handed out")
    return git("rev-parse", "HEAD")

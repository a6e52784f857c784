"""The conditions under which the same submission gets the same report, found without starting a judge.

A ledger's result may stand for a new one only if nothing that could show in its report has changed. Judges alone know
which devices and layers of isolation they get, and asking one takes seconds; so this takes what those follow from.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .assignment import reference_paths
from .settings import Settings

HERE = Path(__file__).parent
DECIDING = ("diagnose", "hidden", "intake", "judge", "results", "sandbox")  # packages that leave a trace in reports
DECIDING_FILES = ("assignment.py", "grading.py", "rubric.toml", "settings.py")
DISTRIBUTIONS = ("torch", "pytest", "pydantic", "pyseccomp", "landlockpy")
SECURITY_MODULES = Path("/sys/kernel/security/lsm")
USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
GPUS = Path("/proc/driver/nvidia")

Conditions = Mapping[str, str]


def conditions(settings: Settings) -> Conditions:
    """Everything that decides a report, beside the submission: settings, code and rubric, versions, machine.

    The command line is none of it: it stands in a report as the times do, and says how that one came about.
    """
    chosen = {name: json.dumps(value) for name, value in asdict(settings).items() if name != "command"}
    return chosen | {"code and rubric": _code_sha256()} | dict(_machine())


def differing(one: Conditions, other: Conditions) -> list[str]:
    """The names of conditions that are not the same."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _code_sha256() -> str:
    """Of every file that takes part in grading: versions stand still while somebody works on the hidden tests."""
    files = [path for folder in DECIDING for path in (HERE / folder).rglob("*.py")]
    files += [HERE / name for name in DECIDING_FILES] + reference_paths()
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(HERE.parent)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _machine() -> Iterator[tuple[str, str]]:
    """Versions, processor (its vector units decide the last bits of errors), devices, and what isolation rests on."""
    yield "python", platform.python_version()
    for name in DISTRIBUTIONS:
        with contextlib.suppress(PackageNotFoundError):
            yield name, version(name)
    yield "processor", _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
    gpus = [_line(str(path), "Model") for path in sorted(GPUS.glob("gpus/*/information"))]
    known = (*gpus, _text(GPUS / "version"), os.environ.get("CUDA_VISIBLE_DEVICES"))
    yield "gpus", " ".join(filter(None, known))
    yield "user", str(os.geteuid())
    yield "bubblewrap", shutil.which("bwrap") or ""
    yield "security modules", _text(SECURITY_MODULES)
    yield "user namespaces", "none" if _text(USER_NAMESPACES) == "0" else ""  # how many depends on the memory


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # not on this system, or not for this user
        return ""


def _line(path: str, start: str) -> str:
    """What stands behind the colon of the first line that begins so."""
    return next(
        (line.partition(":")[2].strip() for line in _text(Path(path)).splitlines() if line.startswith(start)), ""
    )

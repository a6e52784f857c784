"""Feedback files under the names by which Canvas and Moodle find their students.

Canvas ("Upload Submissions", in the gradebook or on the assignment's page) looks at a file's name alone: it takes the
first two parts between underscores that are numbers for the user and the attachment, wants the attachment to belong to
that submission, and shows the file under the attachment's own name. So a page goes back in a file of the kind that was
handed in: a zip in place of a zip. Source: ``infer_comment_context_from_filename`` in
``app/models/abstract_assignment.rb`` of https://github.com/instructure/canvas-lms.

Moodle ("Upload multiple feedback files in a zip") looks for a folder or a file called
``{name}_{participant}_{type}_{plugin}…``, cut at the first four underscores, and keeps what stands behind as the file's
name. Source: ``is_valid_filename_for_import`` in ``mod/assign/feedback/file/importziplib.php`` of
https://github.com/moodle/moodle.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from grader.core.intake.candidate import Candidate
from grader.core.intake.layout import copy_number
from grader.core.results.files import zip_bytes

PAGE = "feedback.html"
_ATTACHED = re.compile(r"(?:.*_)?(?:anon_[^_\W]+|[0-9]+)_[0-9]+_[^/]+", re.DOTALL)
_ENTRY = re.compile(r"(?P<name>.*)_(?P<id>[0-9]+)_assignsubmission_(?P<plugin>file|onlinetext)", re.DOTALL)
_KINDS = (".zip", ".html", ".htm", ".py", ".txt")  # what a page, or its text, can be put into; the first is the best


def for_canvas(candidate: Candidate, page: bytes, comment: str) -> dict[str, bytes]:
    """The file that Canvas attaches to a submission of its download; empty where nothing of it can be attached to.

    A file that can hold no page gets the comment, the same in a few sentences.
    """
    names = [PurePosixPath(name).name for name in candidate.part.files.values()]
    fitting = [name for name in names if _ATTACHED.fullmatch(name) and name.lower().endswith(_KINDS)]
    if not fitting:
        return {}
    name = min(fitting, key=lambda own: (_kind(own), -copy_number(own), own))
    return {name: _content(_KINDS[_kind(name)], page, comment)}


def _kind(name: str) -> int:
    return next(number for number, suffix in enumerate(_KINDS) if name.lower().endswith(suffix))


def _content(kind: str, page: bytes, comment: str) -> bytes:
    """The page, or its text, as a file of that kind."""
    if kind == ".zip":
        return zip_bytes({PAGE: page})
    if kind == ".py":
        return f"# {comment}\n".encode()
    return page if kind.startswith(".htm") else f"{comment}\n".encode()


def for_moodle(candidate: Candidate, page: bytes) -> dict[str, bytes]:
    """The page in the folder that Moodle gave the participant; empty where Moodle's download has none."""
    inside = candidate.part.below or next(iter(candidate.part.files.values()), "")
    found = next(filter(None, map(_ENTRY.match, inside.rstrip("/").split("/"))), None)
    if found is None:
        return {}
    name = found["name"].replace("_", " ")  # another underscore, and Moodle would not find the number
    return {f"{name}_{found['id']}_assignsubmission_{found['plugin']}/{PAGE}": page}

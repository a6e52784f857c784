"""Canvas, "Download submissions": one flat folder or zip; a file's name says whose it is.

``{name}[_LATE]_{user id}_{attachment id}_{file}``, the name sortable and in lower case; texts and links that were
entered online end in ``{user id}_text.html`` and ``_link.html``. Where grading is anonymous,
``[LATE_]anon_{id}_{attachment id}_{file}``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from .layout import copy_number, handed_in_again, without_copy_suffix
from .listing import Listing
from .origin import Found, Origin, Part, Student, clean

_WHAT = r"(?:(?P<attachment>[0-9]{1,20})_(?P<file>[^/]+)|(?P<page>text|link)\.html)"
_NAMED = re.compile(rf"(?P<name>.*?)(?P<late>_LATE)?_(?P<user>[0-9]+)_{_WHAT}", re.DOTALL)
_ANONYMOUS = re.compile(rf"(?P<late>LATE_)?(?P<name>anon)_(?P<user>[^_\W]+)_{_WHAT}", re.DOTALL)


def split(listing: Listing) -> list[Found]:
    """The submissions of an export, one for each user; none if this is not such an export."""
    by_user: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ANONYMOUS.fullmatch(name) or _NAMED.fullmatch(name):
            by_user.setdefault(match["user"], []).append(match)
    return [_found(user, matches) for user, matches in by_user.items()]


def _found(user: str, matches: Sequence[re.Match[str]]) -> Found:
    """One user's submission; of a file that was handed in several times, the latest attachment."""
    latest: dict[tuple[str, str], re.Match[str]] = {}
    replaced = []
    for match in sorted(matches, key=lambda match: (int(match["attachment"] or 0), copy_number(_shown(match)))):
        key = without_copy_suffix(_shown(match))
        if key in latest:
            replaced.append(_shown(latest[key]))
        latest[key] = match
    name = "" if matches[0]["name"] == "anon" else clean(matches[0]["name"])
    late = any(match["late"] for match in matches)
    return Found(
        f"{name or 'anon'} {user}",
        Part(files={_shown(match): match.string for match in latest.values()}),
        tuple(match.string for match in matches),
        Origin(source="canvas", students=(Student(id=user, name=name),), late=late),
        tuple(handed_in_again(file) for file in replaced),
    )


def _shown(match: re.Match[str]) -> str:
    return PurePosixPath(match["file"] or f"{match['page']}.html").name

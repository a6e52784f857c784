"""Moodle, "Download all submissions": a folder for each participant, or, in an older variant, flat files.

``{full name}_{participant id}_assignsubmission_file/…``, before Moodle 4.1 with another ``_`` at the end. Flat files:
``…_assignsubmission_file_{file}``. With blind marking the name is ``Participant`` in the site's language. A text typed
in online comes as ``…_assignsubmission_onlinetext``. Only the grading worksheet says whether a submission is late.
"""

from __future__ import annotations

import re

from .listing import Listing
from .origin import Found, Origin, Part, Student, clean
from .roster import PARTICIPANT

_ENTRY = re.compile(
    r"(?P<name>.*)_(?P<id>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?P<rest>/|[^/]+)", re.DOTALL
)


def split(listing: Listing) -> list[Found]:
    """The submissions of an export, one for each participant; none if this is not such an export."""
    by_id: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ENTRY.fullmatch(name):
            by_id.setdefault(match["id"], []).append(match)
    return [_found(participant, matches) for participant, matches in by_id.items()]


def _found(participant: str, matches: list[re.Match[str]]) -> Found:
    """One participant's submission: the files, or the text typed in online if there is no file."""
    matches.sort(key=lambda match: match["plugin"])
    first = matches[0]
    if first["rest"] == "/":
        part = Part(below=first.string)
    else:
        flat = [match for match in matches if match["plugin"] == first["plugin"] and match["rest"] != "/"]
        part = Part(files={match["rest"]: match.string for match in flat})
    name = clean(first["name"])
    student = Student(id=participant, name="" if name in PARTICIPANT else name)
    claimed = tuple(match.string for match in matches)
    return Found(f"{name} {participant}", part, claimed, Origin(source="moodle", students=(student,)))

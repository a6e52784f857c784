"""A folder of git clones, as classroom tools make it: ``{slug}-submissions/{repository}/``.

git itself is never run on them: a clone brings its own configuration, which may name programs to run.
"""

from __future__ import annotations

from .commits import committed_at
from .listing import Listing
from .origin import Found, Origin, Part, Student, clean

SUFFIX = "-submissions"


def split(listing: Listing) -> list[Found]:
    """One submission for each clone; none if most folders are not clones."""
    folders = [name for name in listing.visible if name.endswith("/")]
    clones = [name for name in folders if listing.has(f"{name}.git")]
    if len(clones) <= len(folders) // 2:  # some students hand in their repository as a folder
        return []
    slug = listing.folder.removesuffix(SUFFIX) if listing.folder.endswith(SUFFIX) else ""
    return [_found(name, slug, committed_at(listing.inside(name))) for name in clones]


def _found(folder: str, slug: str, when: str | None) -> Found:
    """The clone of one student or team; the id is the repository's name without the slug."""
    repository = folder.rstrip("/")
    own = repository.removeprefix(f"{slug}-") if slug else repository
    origin = Origin(source="clones", students=(Student(id=clean(own)),), submitted_at=when)
    return Found(repository, Part(below=folder), (folder,), origin)

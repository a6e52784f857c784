"""Folders and zips that escape, link, bomb, or carry hostile names. Read through intake, then graded."""

import io
import os
import zipfile

from grader.assignment import ASSIGNMENT
from grader.specimens.attacks import packed, text

from .points import NORM_LOST

NORM = "src/modeling/norm.py"


def folder_of(folder, files):
    """The reference with other files over it, as a folder."""
    for name, content in {**ASSIGNMENT.solution(), **files}.items():
        path = folder / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "work"


def zip_of(folder, entries, honest=True):
    """A zip of the reference and of further entries: names or ZipInfo, with their bytes."""
    path = folder / "work.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*(ASSIGNMENT.solution().items() if honest else ()), *entries]:
            archive.writestr(name, content)
    return path


@packed()
def zip_with_names_that_escape(folder):
    """Entries above the archive, at the root, and on another drive."""
    names = ("../../evil.py", "/etc/evil.py", "src/../../evil.py", "C:\\evil.py", "src/modeling/../../../x.py")
    return zip_of(folder, [(name, "raise SystemExit") for name in names])


@packed()
def zip_with_a_link(folder):
    """A link to the password file, under a name that would be read."""
    link = zipfile.ZipInfo("src/helper.py")
    link.external_attr = 0o120777 << 16
    return zip_of(folder, [(link, "/etc/passwd")])


@packed()
def zip_bomb(folder):
    """A source file of 256 MB that packs into 256 KB."""
    return zip_of(folder, [("src/bomb.py", b"#" * (256 << 20))])


@packed(score=None, bonus=None)
def zip_of_ten_thousand_files(folder):
    """More files than anyone would hand in."""
    return zip_of(folder, [(f"src/x{number}.py", "") for number in range(10_000)])


@packed()
def zip_with_a_path_that_repeats_src(folder):
    """A name of 64 kB in which every folder could be the top."""
    return zip_of(folder, [("src/" * 16_000 + "deep.py", "")])


@packed()
def zip_with_hostile_names(folder):
    """Names with control characters, markup, and a right-to-left override."""
    names = ("src/\x1b[31mred.py", "src/<script>.py", "src/\u202egpj.py", "src/a\nb.py", "src/" + "n" * 300 + ".py")
    return zip_of(folder, [(name, "raise SystemExit") for name in names])


@packed(score=NORM_LOST)
def zip_with_names_for_terminals(folder):
    """What cannot be read, by names that a terminal or a page would obey: each is named to a person."""
    names = (
        "src/\x1b[2J.7z",
        "a\nb\u202e.zip",
        "\x1b]0;x\x07.tar.gz",
        "norm\x9b2J.ipynb",
        "norm\x1b[2J.py.txt",
        "[red]norm.rar",
    )
    others = [(path, text) for path, text in ASSIGNMENT.solution().items() if path != NORM]
    return zip_of(folder, [*others, *((name, "class GroupRMSNorm: ...") for name in names)], honest=False)


@packed(score=NORM_LOST)
def stub_beside_somebody_elses_zip(folder):
    """A stub, and a zip in which the solution lies: two versions, of which none counts."""
    stub = "class GroupRMSNorm:\n    def __init__(self, **_): raise NotImplementedError\n"
    inner = zip_of(folder, []).read_bytes()
    return zip_of(
        folder,
        [*(pair for pair in ASSIGNMENT.solution().items() if pair[0] != NORM), (NORM, stub), ("more.zip", inner)],
        honest=False,
    )


@packed(score=None, bonus=None)
def zip_in_a_zip_in_a_zip(folder):
    """A submission hidden three archives deep."""
    data = b""
    for _ in range(3):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("inner.zip", data)
        data = buffer.getvalue()
    path = folder / "work.zip"
    path.write_bytes(data)
    return path


@packed(score=NORM_LOST, bonus=0.0)
def zip_whose_first_half_is_gone(folder):
    """An archive that lists all files, where those of task 1 and of the rotation have been overwritten."""
    path = zip_of(folder, [])
    data = path.read_bytes()
    path.write_bytes(bytes(len(data) // 2) + data[len(data) // 2 :])
    return path


@packed(score=NORM_LOST)
def folder_with_a_link(folder):
    """A link to the reference's own solution."""
    work = folder_of(folder, {})
    (work / NORM).unlink()
    (work / NORM).symlink_to((ASSIGNMENT.root / "ref") / "modeling" / "norm.py")
    return work


@packed(score=NORM_LOST)
def folder_with_a_pipe(folder):
    """A pipe that nobody ever writes to."""
    work = folder_of(folder, {})
    (work / NORM).unlink()
    os.mkfifo(work / NORM)
    return work


@packed(score=None, bonus=None)
def folder_whose_src_is_a_link(folder):
    """The whole tree is a link to the reference."""
    work = folder / "work"
    work.mkdir()
    (work / "src").symlink_to(ASSIGNMENT.root / "ref")
    return work


@packed(score=NORM_LOST)
def file_with_nul_bytes(folder):
    """Source that ends early for some readers."""
    return folder_of(folder, {NORM: ASSIGNMENT.solution()[NORM].encode() + b"\0raise SystemExit"})


@packed(score=NORM_LOST)
def file_of_two_megabytes(folder):
    """Source larger than what is taken."""
    return folder_of(folder, {NORM: ASSIGNMENT.solution()[NORM] + "#" * (2 << 20)})


@packed()
def file_of_almost_a_megabyte(folder):
    """An honest solution with 900 kB of comment, which intake takes."""
    return folder_of(folder, {NORM: ASSIGNMENT.solution()[NORM] + "#" * 900_000})


@packed(score=None, bonus=None)
def many_large_files(folder):
    """More source in all than is taken: an honest solution among twenty files of 900 kB, each within the limit."""
    return folder_of(folder, {f"src/large{number}.py": "#" * 900_000 for number in range(20)})


@packed()
def files_that_grow_when_they_are_quoted(folder):
    """An honest solution with 100 kB of characters that take six bytes each in JSON."""
    return folder_of(folder, {NORM: ASSIGNMENT.solution()[NORM] + "# " + "\x01" * 200_000 + "\n"})


@text()
def package_and_module_of_the_same_name():
    """A package beside a module of the same name, and packages that hold themselves."""
    return {"src/helpers.py": "from . import helpers\n", "src/helpers/__init__.py": "from .. import helpers\n"}


@text(score=NORM_LOST)
def lone_surrogate_in_a_string():
    """Source whose message cannot be written as UTF-8."""
    return {"src/modeling/norm.py": "raise ValueError('\\ud800 \\udfff')\n"}

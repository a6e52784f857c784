"""Aimed at whoever reads: little that unpacks to much, lists without end, nesting, codecs, names."""

import bz2
import io
import lzma
import os
import struct
import tarfile
import zipfile
import zlib

from grader.assignment import ASSIGNMENT
from grader.specimens.attacks import packed

from .archives import NORM, folder_of
from .points import NORM_LOST

MANY = 128 << 20  # bytes that each bomb unpacks to: enough to be seen in the memory of whoever unpacks it
BLOCK = bytes(1 << 20)


def squeezed(packer):
    """``MANY`` zeros, packed without ever being there."""
    return b"".join(packer.compress(BLOCK) for _ in range(MANY >> 20)) + packer.flush()


def entry(name, method, data):
    """A local header with its data, and the same entry for the table of contents."""
    fields = (method, 0, 0, 0, len(data), 1, len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 63, 0, *fields) + name.encode() + data
    return local, struct.pack("<4sHHHHHHIIIHHHHHI", b"PK\1\2", 63, 63, 0, *fields, 0, 0, 0, 0), name.encode()


def honest_and(folder, *entries):
    """A zip of the reference, and of entries made by hand."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ASSIGNMENT.solution().items():
            archive.writestr(name, text)
        start = archive.start_dir
    data = buffer.getvalue()
    body, directory = data[:start], data[start:-22]
    for local, central, name in entries:
        directory += central + struct.pack("<I", len(body)) + name
        body += local
    number = len(ASSIGNMENT.solution()) + len(entries)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, number, number, len(directory), len(body), 0)
    (folder / "work.zip").write_bytes(body + directory + end)
    return folder / "work.zip"


def tar_of(folder, *members, mode="w:gz"):
    """A tar of the reference and of further members, with their bytes."""
    path = folder / "work.tar.gz"
    with tarfile.open(path, mode) as archive:
        for name, text in ASSIGNMENT.solution().items():
            header = tarfile.TarInfo(name)
            header.size = len(text.encode())
            archive.addfile(header, io.BytesIO(text.encode()))
        for header, data in members:
            archive.addfile(header, io.BytesIO(data))
    return path


def member(name, kind=tarfile.REGTYPE, size=0, link=""):
    """A header of a tar."""
    header = tarfile.TarInfo(name)
    header.type, header.size, header.linkname = kind, size, link
    return header


@packed()
def bzip2_bomb(folder):
    """A source of 128 MiB in some hundred bytes of bzip2."""
    return honest_and(folder, entry("src/bomb.py", zipfile.ZIP_BZIP2, squeezed(bz2.BZ2Compressor())))


@packed()
def lzma_bomb(folder):
    """The same by LZMA."""
    properties = {"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16, "lc": 3, "lp": 0, "pb": 2, "mode": lzma.MODE_FAST}
    fast = properties | {"nice_len": 273, "mf": lzma.MF_HC3, "depth": 1}
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[fast])
    data = struct.pack("<HHBI", 9, 5, 93, 1 << 16) + squeezed(packer)
    return honest_and(folder, entry("src/bomb.py", zipfile.ZIP_LZMA, data))


@packed()
def lzma_dictionary_bomb(folder):
    """Announces a dictionary of 4 GiB, which a decoder would set aside before it reads on."""
    data = struct.pack("<HHBI", 9, 5, 93, 2**32 - 1) + bytes(99)
    return honest_and(folder, entry("src/bomb.py", zipfile.ZIP_LZMA, data))


@packed()
def lzma_properties_that_do_not_exist(folder):
    """A header that no encoder writes."""
    data = struct.pack("<HHBI", 9, 5, 255, 1 << 16) + bytes(99)
    return honest_and(folder, entry("src/bomb.py", zipfile.ZIP_LZMA, data))


@packed()
def unknown_method(folder):
    """An entry packed by a method with a number that nobody has given away."""
    return honest_and(folder, entry("src/bomb.py", 77, bytes(99)))


@packed()
def a_thousand_bombs(folder):
    """A thousand entries, below src/ but no Python, each a bomb."""
    data = squeezed(bz2.BZ2Compressor())
    return honest_and(folder, *(entry(f"src/bomb{number}.dat", zipfile.ZIP_BZIP2, data) for number in range(1000)))


@packed()
def bombs_all_over_src(folder):
    """A hundred sources, each a bomb: to unpack one is nothing yet."""
    data = squeezed(bz2.BZ2Compressor())
    return honest_and(folder, *(entry(f"src/bomb{number}.py", zipfile.ZIP_BZIP2, data) for number in range(100)))


@packed()
def bomb_that_is_a_zip(folder):
    """A zip in the zip that unpacks to 128 MiB, beside an honest solution."""
    return honest_and(folder, entry("more.zip", zipfile.ZIP_BZIP2, squeezed(bz2.BZ2Compressor())))


@packed(score=None, bonus=None)
def only_a_bomb_that_is_a_zip(folder):
    """The same without a solution."""
    local, central, name = entry("more.zip", zipfile.ZIP_BZIP2, squeezed(bz2.BZ2Compressor()))
    directory = central + struct.pack("<I", 0) + name
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(local), 0)
    (folder / "work.zip").write_bytes(local + directory + end)
    return folder / "work.zip"


@packed()
def overlapping_entries(folder):
    """Two thousand names for the same packed bytes, of which each would be unpacked."""
    local, central, _ = entry("x", zipfile.ZIP_BZIP2, squeezed(bz2.BZ2Compressor()))
    path = honest_and(folder, (local, central, b"x"))
    data = path.read_bytes()
    start = int.from_bytes(data[-6:-2], "little")
    body, directory = data[:start], data[start:-22]
    place = len(body) - len(local)
    for number in range(150):
        name = f"src/x{number}.py".encode()
        header = central[:28] + struct.pack("<H", len(name)) + central[30:]
        directory += header + struct.pack("<I", place) + name
    number = len(ASSIGNMENT.solution()) + 151
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, number, number, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


@packed(score=None, bonus=None)
def list_of_three_hundred_thousand(folder):
    """A table of contents that takes longer to list than all of a class to grade."""
    directory = b"".join(
        struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 63, 63, *[0] * 7, 8, *[0] * 6) + b"%07d." % number
        for number in range(300_000)
    )
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65535, 65535, len(directory), 0, 0)
    (folder / "work.zip").write_bytes(directory + end)
    return folder / "work.zip"


@packed(score=None, bonus=None)
def list_that_claims_to_be_endless(folder):
    """An end record that announces a table of contents of 4 GiB."""
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 9, 9, 2**32 - 2, 0, 0)
    (folder / "work.zip").write_bytes(b"PK\3\4" + bytes(1000) + end)
    return folder / "work.zip"


@packed(score=None, bonus=None)
def fifty_zips_deep(folder):
    """A solution below fifty zips."""
    data = b""
    for depth in range(50):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("inner.zip" if depth else NORM, data)
        data = buffer.getvalue()
    (folder / "work.zip").write_bytes(data)
    return folder / "work.zip"


@packed(score=None, bonus=None)
def five_hundred_zips(folder):
    """More zips than are opened, each with something else."""
    with zipfile.ZipFile(folder / "work.zip", "w") as outer:
        for number in range(500):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                archive.writestr(f"notes{number}.txt", "x")
            outer.writestr(f"part{number}.zip", buffer.getvalue())
    return folder / "work.zip"


@packed()
def tarball_bomb(folder):
    """A tar whose first member unpacks to 128 MiB, behind an honest solution."""
    return tar_of(folder, (member("data.bin", size=MANY), bytes(MANY)))


@packed()
def tarball_bomb_by_xz(folder):
    """The same by LZMA."""
    return tar_of(folder, (member("data.bin", size=MANY), bytes(MANY)), mode="w:xz")


@packed()
def tarball_source_bomb(folder):
    """A source of 128 MiB."""
    return tar_of(folder, (member("src/bomb.py", size=MANY), bytes(MANY)))


@packed()
def tarball_with_links(folder):
    """Links to the password file and to the reference's own files, by their names."""
    links = [member("src/a.py", tarfile.SYMTYPE, link="/etc/passwd"), member("src/b.py", tarfile.LNKTYPE, link=NORM)]
    return tar_of(folder, *((header, b"") for header in links))


@packed(score=NORM_LOST)
def tarball_whose_norm_becomes_a_link(folder):
    """The last member of a name counts, and here it is a link."""
    return tar_of(folder, (member(NORM, tarfile.SYMTYPE, link="/etc/passwd"), b""))


@packed()
def tarball_with_devices(folder):
    """A pipe, a device and a folder by the names of sources."""
    kinds = (tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE)
    return tar_of(folder, *((member(f"src/{kind.decode()}.py", kind), b"") for kind in kinds))


@packed()
def tarball_with_names_that_escape(folder):
    """Members above the archive and at the root."""
    return tar_of(folder, *((member(name), b"") for name in ("../../evil.py", "/etc/evil.py", "src/../../evil.py")))


@packed(score=None, bonus=None)
def tarball_with_an_endless_name(folder):
    """A header that announces a name of a gigabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    header = member("././@LongLink", tarfile.GNUTYPE_LONGNAME, 1 << 30).tobuf(tarfile.GNU_FORMAT)
    (folder / "work.tar.gz").write_bytes(packer.compress(header) + squeezed(packer))
    return folder / "work.tar.gz"


@packed(score=None, bonus=None)
def seven_zip_in_the_clothes_of_a_zip(folder):
    """A 7z archive by the name of a zip, beside others in a folder."""
    work = folder / "work"
    work.mkdir()
    (work / "src.zip").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(500))
    return work


@packed(score=None, bonus=None)
def codec_that_takes_forever(folder):
    """A coding line that names a codec whose work grows with the square of what it reads: here some minutes."""
    wide = ("-" * 100_000 + "\U0001f600").encode("punycode")  # from here on, each character takes four bytes
    return folder_of(folder, {NORM: b"# coding: punycode\n" + wide + b"a" * 900_000})


@packed(score=NORM_LOST)
def codec_that_is_none(folder):
    """A coding line that names a transformation of bytes."""
    return folder_of(folder, {NORM: b"# coding: zlib_codec\n" + zlib.compress(bytes(1 << 20))})


@packed(score=NORM_LOST)
def codec_that_spells_half_a_character(folder):
    """Half a surrogate pair, by an encoding that can spell it."""
    return folder_of(folder, {NORM: b"# coding: utf-7\nx = '+2AA-'\n"})


@packed()
def folder_of_pipes(folder):
    """Two hundred pipes that nobody ever writes to, beside an honest solution."""
    work = folder_of(folder, {})
    for number in range(200):
        os.mkfifo(work / f"data{number}.zip")
    return work


@packed()
def virtual_environment_beside_the_work(folder):
    """Five thousand Python files that belong to nobody's work."""
    extra = {f"my env/lib/x{number}.py": "" for number in range(5000)}
    return folder_of(folder, {"my env/pyvenv.cfg": "", **extra})

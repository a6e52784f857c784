"""What a source file must be so that the grader can run it: the rules of intake, and of what students run themselves.

This file stands twice, byte for byte: in the grader, and in the harness of the students' tests, who get no grader. It
uses nothing but Python's own library. Problems come as a code with fields, since students read them in two languages.
"""

from __future__ import annotations

import ast
import codecs
import io
import itertools
import re
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

MAX_FILE_BYTES = 1 << 20
OLDEST_PYTHON = (3, 11)  # whose syntax every submission keeps to: the grader may run on it, and on any later one
WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]", re.MULTILINE)


class Refused(Exception):
    """A file that the grader cannot take.

    Attributes:
        code: ``too_large``, ``wide``, ``nul``, ``encoding`` or ``undecodable``.
        fields: What the sentence about it names.
    """

    def __init__(self, code: str, **fields: object) -> None:
        """Remember both."""
        super().__init__(code)
        self.code = code
        self.fields = fields


@dataclass(frozen=True)
class Problem:
    """Something that works at home and not where it is graded.

    Attributes:
        code: ``own_import`` or ``newer_syntax``.
        line: Where.
        fields: What the sentence about it names.
    """

    code: str
    line: int
    fields: Mapping[str, str] = field(default_factory=dict)


def decoded(data: bytes) -> str:
    """The text of a source file, as Python itself would read it, each line ended by a newline.

    Raises:
        Refused: If it is no text that Python would take, or too long.
    """
    if len(data) > MAX_FILE_BYTES:
        raise Refused("too_large", most=MAX_FILE_BYTES >> 20)
    if data.startswith(WIDE_BOMS):
        raise Refused("wide")
    if b"\0" in data:
        raise Refused("wide" if 0 in data[:2] and any(data[:2]) else "nul")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if not codecs.lookup(encoding)._is_text_encoding:  # as bytes.decode asks before it decodes
            raise SyntaxError(f"unknown encoding: {encoding}")
    except SyntaxError as error:
        if not error.msg.startswith("unknown encoding"):  # it declares none, and is not what Python then expects
            encoding = "utf-8"
        else:
            raise Refused("encoding", why=_one_line(error.msg)) from None
    try:
        text = data.decode(encoding)
        text.encode()  # half a surrogate pair, which some encodings can spell
    except UnicodeError as error:
        place = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise Refused("undecodable", encoding=encoding.removesuffix("-sig").upper(), place=place) from None
    except Exception as error:  # a codec raises whatever it likes
        raise Refused("encoding", why=_one_line(error)) from None
    if "\0" in text:
        raise Refused("nul")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _one_line(text: object) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in str(text)[:200]).split())


def modules_of(paths: Collection[str]) -> frozenset[str]:
    """The names by which files of ``src/`` could be imported if their folder were on the path."""
    parts = {part.removesuffix(".py") for path in paths for part in path.split("/")[1:]}
    return frozenset(parts - {"__init__", "src", "torch"} - sys.stdlib_module_names)


def own_imports(text: str, modules: Collection[str]) -> Iterator[Problem]:
    """Imports of files of ``src/`` by their bare names, which only a change of ``sys.path`` makes work.

    An import that stands beside a relative one of the same file is a second choice for another place, and no problem.
    """
    names = [name for name in modules if name in text]
    if not names or not _IMPORT.search(text):
        return
    found, relative = _imported(text)
    for line, module in found:
        first = module.partition(".")[0]
        if first in names and module.rpartition(".")[2] not in relative and first not in relative:
            yield Problem("own_import", line, {"name": module})


def relative_name(module: str, file: str, files: Collection[str]) -> str:
    """How ``file`` may import a module that it calls by its bare name, such as ``..functional``."""
    below = f"/{module.replace('.', '/')}"
    found = [path.removesuffix(".py").removesuffix("/__init__") for path in sorted(files, key=len)]
    parts = next((path for path in found if path.endswith(below)), f"{file.rpartition('/')[0]}{below}").split("/")
    here = file.split("/")[:-1]
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(here, parts, strict=False))))
    return "." * (len(here) - shared + 1) + ".".join(parts[shared:])


def _imported(text: str) -> tuple[list[tuple[int, str]], set[str]]:
    """Modules imported by an absolute name, with their lines; and the last parts of all that is imported otherwise."""
    absolute: list[tuple[int, str]] = []
    relative: set[str] = set()
    for line, words in _statements(text):
        if words[0] == "import":
            for clause in " ".join(words[1:]).split(","):
                module = clause.split(" as ")[0].replace(" ", "")
                absolute.append((line, module))
        else:
            end = words.index("import") if "import" in words else len(words)
            module = "".join(words[1:end])
            if module.startswith((".", "src.")) or module == "src":
                relative |= {part for part in re.split(r"\W+", " ".join(words[1:])) if part}
            else:
                absolute.append((line, module))
    return absolute, relative


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """The import statements of a file as words, with their lines; as far as its words can be told apart."""
    words: list[str] = []
    line, begins = 0, True
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in skipped:
                continue
            if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) or token.string in (";", ":"):
                if words:
                    yield line, words
                words, begins = [], True
            elif begins and token.string in ("import", "from"):
                words, line, begins = [token.string], token.start[0], False
            else:
                begins = False
                if words:
                    words.append(token.string)
    except (tokenize.TokenError, SyntaxError):  # the file cannot be imported, which is said elsewhere
        return


def newer_syntax(text: str) -> Problem | None:
    """Syntax that the oldest Python of the assignment does not know; None if there is none, or no Python could read it.

    Where this runs on that very Python, its own parser says so, and this has nothing to add.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    try:
        ast.parse(text, feature_version=OLDEST_PYTHON)
    except SyntaxError as error:
        return Problem("newer_syntax", error.lineno or 1, {"what": _one_line(error.msg)})
    templates = (getattr(node, "lineno", 1) for node in ast.walk(tree) if type(node).__name__ == "TemplateStr")
    line = next(templates, 0) or _new_f_string(text)
    return Problem("newer_syntax", line, {"what": "a string of a kind that it does not know"}) if line else None


def _new_f_string(text: str) -> int:
    """The line of an f-string as Python 3.12 allows and 3.11 does not; 0 without any.

    Before, the quotes that a string stands in, a backslash, a comment and, within single quotes, a line break could not
    stand between its braces.
    """
    if sys.version_info < (3, 12):
        return 0  # the parser has refused it
    quotes: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind, bare = tokenize.tok_name[token.type], token.string.lstrip("bBfFrRtTuU")
        if kind in ("STRING", "FSTRING_START") and quotes:
            quote = bare[:3] if bare[:3] in ('"""', "'''") else bare[:1]
            if any(quote.startswith(outer) for outer in quotes) or "\\" in bare:
                return token.start[0]
        if kind == "FSTRING_START":
            quotes.append(bare)
        elif kind == "FSTRING_END":
            quotes.pop()
        elif quotes and (
            kind == "COMMENT"
            or (kind == "NL" and len(quotes[-1]) == 1)
            or (kind == "FSTRING_MIDDLE" and len(quotes) > 1 and "\\" in token.string)
        ):
            return token.start[0]
    return 0

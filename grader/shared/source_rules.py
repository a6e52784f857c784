"""The rules that a source file must follow so that the grader can run it, for intake and for the students' tests.

It imports only Python's own library. Each side makes its own messages of what is found, in two languages.
"""

from __future__ import annotations

import ast
import codecs
import io
import itertools
import re
import sys
import tokenize
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping

MAX_FILE_BYTES = 1 << 20
LONGEST_PARSED = 1 << 18  # characters; a tree takes a hundred times the memory of its text
OLDEST_PYTHON = (3, 11)  # the oldest Python on which the grader may run; submissions must not use newer syntax
WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class Refused(Exception):
    """The grader cannot read a file.

    Attributes:
        code: ``too_large``, ``wide``, ``nul``, ``encoding`` or ``undecodable``.
        fields: Values for the message with that code.
    """

    def __init__(self, code: str, **fields: object) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


def decoded(data: bytes) -> str:
    """The text of a source file, as Python itself would read it, each line ended by a newline.

    Raises:
        Refused: If Python could not read the file, or it is larger than ``MAX_FILE_BYTES``.
    """
    if len(data) > MAX_FILE_BYTES:
        raise Refused("too_large", most=MAX_FILE_BYTES >> 20)
    if data.startswith(WIDE_BOMS):
        raise Refused("wide")
    if b"\0" in data:
        raise Refused("wide" if 0 in data[:2] and any(data[:2]) else "nul")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if not codecs.lookup(encoding)._is_text_encoding:  # the same check as in bytes.decode
            raise SyntaxError(f"unknown encoding: {encoding}")
    except SyntaxError as error:
        if not error.msg.startswith("unknown encoding"):  # no encoding is declared, and the text is not UTF-8
            encoding = "utf-8"
        else:
            raise Refused("encoding", why=_one_line(error.msg)) from None
    try:
        text = data.decode(encoding)
        text.encode()  # fails for half a surrogate pair, which some encodings can contain
    except UnicodeError as error:
        place = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise Refused("undecodable", encoding=encoding.removesuffix("-sig").upper(), place=place) from None
    except Exception as error:  # a codec may raise any exception
        raise Refused("encoding", why=_one_line(error)) from None
    if "\0" in text:
        raise Refused("nul")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _one_line(text: object) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in str(text)[:200]).split())


def own_imports(files: Mapping[str, str]) -> Iterator[tuple[str, int, str, str]]:
    """Imports of files of ``src/`` by their bare names, which work only if ``sys.path`` is changed.

    If the same file is also imported relatively, as in ``try`` and ``except``, the bare import is no problem.

    Yields:
        Path, line, the bare name, and the relative one to replace it with, such as ``..functional``.
    """
    parts = {part.removesuffix(".py") for path in files for part in path.split("/")[1:]}
    modules = parts - {"__init__", "src", "torch"} - sys.stdlib_module_names
    for path, text in files.items():
        for line, name in _bare_imports(text, modules):
            yield path, line, name, relative_name(name, path, files)


def _bare_imports(text: str, modules: Collection[str]) -> Iterator[tuple[int, str]]:
    names = sorted(name for name in modules if name in text)
    bare = "|".join(map(re.escape, names))
    # Parsing takes milliseconds, so only files are parsed in which a name follows `from` or `import`.
    if not names or not re.search(rf"\bfrom[ \t]+({bare})\b|\bimport\b[^\n]*?[ \t,]({bare})\b|\\\r?\n", text):
        return
    nodes = nodes_of(text)
    inside = imports_within(nodes)
    relative = {name for node in inside for name in (node.module or "").split(".")}
    relative |= {alias.name for node in inside for alias in node.names}
    for line, module in sorted(imported(nodes)):
        first = module.partition(".")[0]
        if first in names and module.rpartition(".")[2] not in relative and first not in relative:
            yield line, module


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and name of each module that is imported by its full name, not relatively."""
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                yield from ((node.lineno, alias.name) for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module


def imports_within(nodes: Iterable[ast.AST]) -> list[ast.ImportFrom]:
    """The imports from other files of ``src/``."""
    found = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return [node for node in found if node.level or str(node.module).partition(".")[0] == "src"]


def nodes_of(text: str) -> list[ast.AST]:
    """The nodes of a file; none where it is too long, or has a syntax error, which is reported when it is imported."""
    if len(text) > LONGEST_PARSED:
        return []
    try:
        with warnings.catch_warnings(action="ignore"):
            return [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def relative_name(module: str, file: str, files: Collection[str]) -> str:
    """How ``file`` may import a module that it calls by its bare name, such as ``..functional``."""
    below = f"/{module.replace('.', '/')}"
    found = [path.removesuffix(".py").removesuffix("/__init__") for path in sorted(files, key=len)]
    parts = next((path for path in found if path.endswith(below)), f"{file.rpartition('/')[0]}{below}").split("/")
    here = file.split("/")[:-1]
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(here, parts, strict=False))))
    return "." * (len(here) - shared + 1) + ".".join(parts[shared:])


def newer_syntax(text: str) -> tuple[int, str] | None:
    """Line and name of the first syntax that ``OLDEST_PYTHON`` does not know; None if there is none, or an error.

    On ``OLDEST_PYTHON`` itself newer syntax is a syntax error, so the result is None.
    """
    if not (nodes := nodes_of(text)):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(text, feature_version=OLDEST_PYTHON)
    except SyntaxError as error:
        return error.lineno or 1, _one_line(error.msg)
    templates = (getattr(node, "lineno", 1) for node in nodes if type(node).__name__ == "TemplateStr")
    line = next(templates, 0) or _new_f_string(text)
    return (line, "an unsupported kind of string") if line else None


def _new_f_string(text: str) -> int:
    """The line of the first f-string that Python 3.12 allows and 3.11 does not; 0 if there is none.

    In 3.11 the braces of an f-string must not contain the quotes of that string, a backslash or a comment; in a string
    with single quotes, they must not contain a line break either.
    """
    if sys.version_info < (3, 12):
        return 0  # the parser has refused such a string
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


def asks_for_cuda(nodes: Iterable[ast.AST]) -> bool:
    """Whether code reads ``is_cuda`` of something, or compares something with the name of a CUDA device."""
    return any(map(_is_question, nodes))


def _is_question(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="is_cuda"):
            return True
        case ast.Compare(left=left, comparators=others):
            return any(map(_names_cuda, [left, *others]))
        case ast.Call(func=ast.Attribute(attr="startswith"), args=[named]) | ast.MatchValue(value=named):
            return _names_cuda(named)
    return False


def _names_cuda(node: ast.AST) -> bool:
    """Whether a text begins with ``cuda``: alone, in a tuple, or in a call such as ``torch.device("cuda")``."""
    texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return any(isinstance(text, str) and text.startswith("cuda") for text in texts)

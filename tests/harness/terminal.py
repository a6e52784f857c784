"""What a student reads in a terminal: the sentences of ``words.toml``, commands, and aligned, coloured text."""

import argparse
import locale
import os
import re
import shutil
import sys
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, Language] = ("en", "zh")
Words = Mapping[Language, str]  # a field of a sentence that has a word for each language

_WORDS = {"input": "输入", "none": "无"}  # translations of words that tests use as fields


@cache
def table(name: str) -> Mapping[str, Any]:
    """A table of ``words.toml``."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))[name]


def say(language: Language, key: str, part: str = "sentences", /, **fields: object) -> str:
    """Return a sentence of a ``part`` of ``words.toml``, its ``fields`` filled in, which may be ``Words`` or tuples.

    Chinese is written without spaces, so those that meet no other script around a field are left out.
    """
    filled = {name: _word(language, field) for name, field in fields.items()}
    told = table(part)[key][LANGUAGES.index(language)].format(**filled)
    return re.sub(r"(?<=[\u3000-\uff60]) (?=[\u3000-\uff60])", "", told) if language == "zh" else told


def _word(language: Language, field: object) -> object:
    if isinstance(field, Mapping):
        return field[language]
    if isinstance(field, tuple):
        return ("、" if language == "zh" else ", ").join(map(str, field))
    return _WORDS.get(field, field) if language == "zh" and isinstance(field, str) else field


def language_of(environ: Mapping[str, str] = os.environ) -> Language:
    """Choose the language of the locale; where the environment is silent (Windows), ask the system."""
    chosen = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), None)
    chosen = chosen or locale.getlocale()[0] or ""
    return "zh" if chosen.lower().startswith(("zh", "chinese")) else "en"


# ── Layout ──

NARROWEST, WIDEST = 40, 110  # columns; longer lines are hard to read
Painter = Callable[[str, str], str]  # gives a text a colour
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_PAINT = re.compile(r"\033\[\d*m")
# A mark that closes belongs to what is before it, so that no line begins with one.
_PIECES = re.compile(r"(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]+)[，。；：？！）、]*|\s+")


def columns() -> int:
    """How many columns a text takes here, so that it can be read."""
    return min(max(shutil.get_terminal_size((WIDEST + 1, 0)).columns - 1, NARROWEST), WIDEST)


def width(text: str) -> int:
    """Count the columns of ``text``: wide characters take two, colours none."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in _PAINT.sub("", text))


def pad(text: str, columns: int) -> str:
    """Fill ``text`` with spaces up to that many columns."""
    return text + " " * (columns - width(text))


def wrap(text: str, columns: int) -> list[str]:
    """Break ``text`` into lines of at most that many columns: at spaces, and between wide characters.

    A line that starts with a space is a table row, and stays whole.
    """
    lines = []
    for paragraph in text.splitlines():
        lines.append("")
        pieces = [paragraph] if paragraph.startswith(" ") else _PIECES.findall(paragraph)
        for piece in pieces:
            if lines[-1] and width(lines[-1]) + width(piece.rstrip()) > columns:
                lines[-1] = lines[-1].rstrip()
                lines.append("")
            lines[-1] += piece.lstrip() if not lines[-1] and len(pieces) > 1 else piece
    return lines


def fold(line: str, columns: int) -> list[str]:
    """Break a line that is wider, at spaces; what follows is indented by two more."""
    if width(line) <= columns:
        return [line]
    start = line[: len(line) - len(line.lstrip())]
    first, *others = wrap(line.lstrip(), max(columns - len(start) - 2, 1))
    return [start + first, *(f"{start}  {other}" for other in others)]


def block(label: str, text: str, *, indent: int, columns: int) -> list[str]:
    """Format ``label`` in the first ``indent`` columns, and ``text`` beside it, wrapped to ``columns`` in all."""
    lines = wrap(text, columns - indent)
    return [pad(label if number == 0 else "", indent) + line for number, line in enumerate(lines)]


def painter() -> Painter:
    """Colours a text, if the output is a terminal and NO_COLOR is not set (see no-color.org)."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    enabled = sys.stdout.isatty() and not plain
    if enabled and sys.platform == "win32":
        os.system("")  # an empty command enables escape sequences in older Windows consoles
    return lambda text, colour: f"\033[{_COLOURS[colour]}m{text}\033[0m" if enabled else text


# ── Commands ──

MODULES = {"test": "tests"} | {name: f"tests.{name}" for name in ("submit", "demo", "chat", "practice")}


def parser(module: str, about: str | None = None) -> argparse.ArgumentParser:
    """The options of a command: those that all have."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=about, allow_abbrev=False)
    made.add_argument("--lang", choices=LANGUAGES, default=language_of(), help="language; default: the locale")
    return made


def command(target: str, option: str = "", value: int | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """For ``test`` and ``all``: ``make test ALL=1`` if ``make`` runs this, else ``python -m tests --all``.

    With the language, where it was chosen on the command line.
    """
    if environ.get("MAKELEVEL"):  # make sets it for its commands
        words = ["make", target, *([f"{option.upper()}={value or 1}"] if option else [])]
        return " ".join([*words, *re.findall(r"\bLANG=\w+", environ.get("MAKEFLAGS", ""))])
    words = [interpreter(), "-m", MODULES[target], *([f"--{option}"] if option else [])]
    words += [] if value is None else [str(value)]
    return " ".join([*words, *re.findall(r"--lang[ =]\w+", " ".join(sys.argv))])


def interpreter() -> str:
    """The command that runs Python: a relative path if its environment is in this folder, else ``python``."""
    path, here = Path(sys.executable), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else "python"


class Refused(Exception):
    """Ends a command with this line and status 2."""


def end_with(main: Callable[[], int]) -> NoReturn:
    """End with the exit status of ``main``, whose output is UTF-8, also in older Windows consoles.

    Without a traceback: 1 if nobody reads the output any more, as after ``| head``, and 130 after Ctrl-C. At once:
    Python would first take all of torch apart, which takes as long as the tests.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - closed, as by `>&-`
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - the same
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        try:
            if sys.flags.optimize:
                raise Refused(say(language_of(), "without_assert"))
            status = main()
        except Refused as error:
            print(error, file=sys.stderr)
            status = 2
        except KeyboardInterrupt:
            status = 130
        sys.stdout.flush()
    except BrokenPipeError:
        status = 1
    os._exit(status)

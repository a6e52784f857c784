"""Messages for people, as data: a template, which is also the key of its translation, and the fields that fill it.

A message is its English text, and remembers what it was made of. So it can be told in another language, and programs
read fields instead of sentences. Beside messages there are sentences in English and Chinese, from the file
``words.toml`` beside the code of a feature; and what ends a command with one line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Union

from typing_extensions import TypedDict  # pydantic takes that of `typing` only from Python 3.12 on

Field = Union[str, int, float, "Message"]
Words = Mapping[str, str]  # from English templates to those of another language

_PLACE = re.compile(r"\{(\w+)\}")
_WIDE = re.compile("(?<=[\u3000-\uffff]) ?\0 ?(?=[\u3000-\uffff])")  # where a field begins or ends among Chinese
_LIST = re.compile(r"[\w.–]+(, [\w.–]+)+( …)?")  # such as ``0, 2, 5 …``, which Chinese writes with other commas
_LATIN = re.compile("(?<=[\u4e00-\u9fff])\0(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])\0(?=[\u4e00-\u9fff])")
QUOTED = ("text", "message")  # fields with somebody's words, such as those of an exception, which stay as they are
ENDS = (".", "!", "?", "。", "！", "？")


class Part(NamedTuple):
    r"""One statement.

    Attributes:
        key: The English template, such as ``"not finite: {n}"``; ``"\\n"`` at its beginning starts a new line.
        fields: What fills it. Fields that the template does not name are for programs.
    """

    key: str
    fields: Mapping[str, Field]


class MessagePart(TypedDict):
    """One statement of a message: an English template and its fields; a nested message is a list of parts.

    Fields that the template does not name are for programs.
    """

    key: str
    fields: dict[str, str | int | float | list[MessagePart]]


class Message(str):
    """An English text with the statements that it consists of."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Message:
        """Put statements together."""
        made = super().__new__(cls, _text(parts, {}))
        made.parts = parts
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, self.parts

    def fields(self, key: str) -> Mapping[str, Field] | None:
        """The fields of the first statement with that template, nested ones included; None if there is none."""
        return next((part.fields for part in self.all_parts() if part.key == key), None)

    def all_parts(self) -> Iterator[Part]:
        """Every statement, each before those within it."""
        for part in self.parts:
            yield part
            for field in part.fields.values():
                if isinstance(field, Message):
                    yield from field.all_parts()

    def filled(self, **fields: Field) -> Message:
        """The same with more fields filled."""
        return Message(*(Part(part.key, {**part.fields, **fields}) for part in self.parts))

    def then(self, *more: Message) -> Message:
        """This, and after it other messages."""
        return Message(*self.parts, *(part for message in more for part in message.parts))


def say(key: str, /, **fields: Field | Sequence[int]) -> Message:
    """A message of one statement; see :class:`Part`. Lists of numbers, such as shapes, become texts."""
    simple = {name: item if isinstance(item, str | int | float) else str(list(item)) for name, item in fields.items()}
    return Message(Part(key, simple))


def quoted(text: str) -> Message:
    """A text that has no translation, such as that of an exception."""
    return say("{text}", text=text)


def stated(**values: Field) -> Message:
    """Names with their values, as in ``b=2, s=3``, which read the same in every language, but for the comma."""
    return say(", ".join(f"{name}={{{name}}}" for name in values), **values)


def read_words(*paths: Path) -> Words:
    """Tables of translations as one: TOML files of ``"template" = "translation"``."""
    return {key: text for path in paths for key, text in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def translated(message: Message, words: Words) -> str:
    """The message in another language; a statement without a translation stays English."""
    return _text(message.parts, words)


def _text(parts: Sequence[Part], words: Words) -> str:
    text = ""
    for part in sorted(parts, key=lambda part: part.key.startswith("\n")):  # what has a line of its own comes last
        same = part.key.replace(", ", "，") if words else part.key  # such as names with their values
        told = _filled(words.get(part.key, same), part.fields, words)
        text += (_gap(text, told, bool(words)) if text else "") + told
    return text


def _filled(template: str, fields: Mapping[str, Field], words: Words) -> str:
    """The template with its fields; not by ``str.format``, since it may come from a file or a submission's worker."""

    def field(place: re.Match[str]) -> str:
        value = fields.get(place[1], place[0])
        if isinstance(value, Message):
            return _text(value.parts, words)
        is_list = words and place[1] not in QUOTED and _LIST.fullmatch(str(value))
        return str(value).replace(", ", "、") if is_list else str(value)

    if not words:
        return _PLACE.sub(field, template)
    marked = _PLACE.sub(lambda place: f"\0{field(place)}\0", template)
    return _LATIN.sub(" ", _WIDE.sub("", marked)).replace("\0", "")


def _gap(before: str, after: str, is_chinese: bool) -> str:
    """The separator between two statements."""
    if after.startswith("\n"):
        return ""
    if before.endswith(ENDS):
        return "" if before[-1] > "\x7f" else " "
    return "；" if is_chinese else "; "


def as_data(message: str) -> list[MessagePart]:
    """The parts of a message as plain data, as in reports; an empty list for a text without parts."""

    def data(field: Field) -> str | int | float | list[MessagePart]:
        if isinstance(field, Message):
            return as_data(field)
        return field if type(field) in (str, int, float) else str(field)  # reports take True for no number

    parts = message.parts if isinstance(message, Message) else ()
    return [{"key": part.key, "fields": {name: data(field) for name, field in part.fields.items()}} for part in parts]


def from_data(data: Any, clean: Callable[[str], str] = str) -> Message:
    """The message that :func:`as_data` gave, ``clean`` applied to every text in it, and to numbers as they are told.

    Raises:
        ValueError: If this is no such data, as a submission's worker may send it.
    """
    parts = []
    for part in data if isinstance(data, list) else [None]:
        match part:
            case {"key": str(key), "fields": dict(fields)}:
                parts.append(Part(clean(key), {str(name): _field(field, clean) for name, field in fields.items()}))
            case _:
                raise ValueError("no message")
    return Message(*parts)


def _field(value: Any, clean: Callable[[str], str]) -> Field:
    if isinstance(value, str):
        return clean(value)
    if type(value) not in (int, float):
        return from_data(value, clean)
    shown = clean(str(value))
    return value if shown == str(value) else shown


class Sentences:
    """Fills in sentences from TOML files, ``[key]`` with ``en`` and ``zh``; they are read when the first is needed."""

    def __init__(self, *paths: Path) -> None:
        """A later file overrides the sentences of an earlier one."""
        self.paths = paths

    def __call__(self, language: str, key: str, /, **fields: object) -> str:
        """The sentence ``key`` in a language, with its fields filled in."""
        return self.texts[key][language].format(**fields)

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """All sentences, by key and language."""
        return {key: texts for path in self.paths for key, texts in tomllib.loads(path.read_text("utf-8")).items()}


class UserError(Exception):
    """Ends a command without a traceback: one line says what is wrong, with which value, and what to do.

    ``cli/program.py`` prints it.

    Attributes:
        code: The command's exit code: 2 for what it was given, 3 for what went wrong in the grader or on this machine.
    """

    code = 2

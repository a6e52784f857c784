"""Answers several properties in one process, importing the submission anew for each. Runs on the untrusted side."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import CodeType
from typing import Any

from .importer import compiled
from .operations import OUT_OF_MEMORY, Operations
from .protocol import Message, ProtocolError
from .surroundings import Surroundings

# A submission that answers with one of these will not pass, so the rest of the property's requests can be left out.
HOPELESS = ("memory_exceeded", "missing", "not_implemented")


class Ahead:
    """One submission's code, compiled once, and a check that it leaves the process as it was."""

    def __init__(self, files: Mapping[str, str], surroundings: Surroundings, kept: list[Any]) -> None:
        """Compile every file that compiles; from then on, each new object counts as made by the submission.

        Args:
            files: The submission, path to text.
            surroundings: The process as it was before any student code.
            kept: Lists of requests; each is answered once.
        """
        self._kept = kept
        self._files = files
        self._surroundings = surroundings
        self._code: dict[str, CodeType] = {}
        for path, text in files.items():
            with contextlib.suppress(Exception):  # the import will raise it again
                self._code[path] = compiled(path, text)
        surroundings.enter()

    def answer(self, number: int, bare_packages: bool) -> bytes:
        """Import the submission anew and answer the requests of a property, up to the first hopeless reply.

        Args:
            number: The place of the requests among those that are kept.
            bare_packages: Whether to import without the packages' ``__init__.py``, whatever the requests say.

        Returns:
            The packed replies.
        """
        operations, replies = Operations(self._files, self._code), Message()
        requests, self._kept[number] = self._kept[number], None  # so that nothing in them outlives this call
        try:
            for request in requests:
                for name, arguments in request:
                    if name == "load":
                        arguments["bare_packages"] = bare_packages
                reply = operations.perform(request)
                _add(replies, reply)
                if reply.get("error", {}).get("kind") in HOPELESS:
                    break
        finally:
            operations.forget()
            self._surroundings.restore()
        return replies.packed()

    def nothing_is_left(self) -> bool:
        """Whether the process is as it was before the submission: only then do its replies count."""
        return self._surroundings.unchanged()


def _add(replies: Message, reply: dict[str, Any]) -> None:
    try:
        replies.add(reply)
    except ProtocolError as error:
        replies.add(invalid_reply(error))
    except MemoryError:
        replies.add(OUT_OF_MEMORY)


def invalid_reply(error: ProtocolError) -> dict[str, Any]:
    """The reply in place of a value that the protocol cannot express."""
    return {"error": {"kind": "invalid_reply", "message": f"returned {error}"}}

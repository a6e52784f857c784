"""Pages for a class and for each of its students: static HTML that loads no other file."""

from __future__ import annotations

from pathlib import Path

from grader.core.messages import Sentences

WORDS = Path(__file__).with_name("words.toml")
say = Sentences(WORDS)  # of the pages, and of what a terminal shows of the same


def devices_in(language: str, names: str) -> str:
    """The devices of an environment, separated by commas, in a language."""
    return names.replace(say("en", "simulated"), say(language, "simulated"))

"""The sentences of the review page, from ``words.toml``, and those of the other pages."""

from pathlib import Path

from grader.core.pages import render
from grader.core.sentences import Sentences

say = Sentences(render.WORDS, Path(__file__).with_name("words.toml"))

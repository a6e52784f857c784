"""A quiz made by hand, for tests that run no submission."""

from __future__ import annotations

from grader.extras.viva.quiz import Key, Question, Quiz
from grader.extras.viva.source import Edit

NAME = "anon-abcdefgh"
HOSTILE = "x = a < b & '~{c}=#:\\n'  # <script>"


def question(kind: str = "predict", right: int = 1, text: str = "0.6") -> Question:
    """A question of four options, of which one is hostile text."""
    texts = ["line 7: [[1, 2]]\nline 9: 2", text, HOSTILE, "line 7"]
    edit = Edit(("a.py", 7), HOSTILE, "pass")
    code = [f"def f():\n    {HOSTILE}"]
    return Question(kind, f"What about {HOSTILE}?", code, texts, texts[right], "ran", [edit], 5)


def quiz(*questions: Question, identifier: str = "ada", name: str = NAME) -> Quiz:
    """The quiz of one student; six different questions, if none are given."""
    asked = questions or tuple(question(kind, text=f"0.{number}") for number, kind in enumerate(("predict", "why") * 3))
    return Quiz(id=identifier, name=name, pool=6, questions=list(asked))


def key(*quizzes: Quiz) -> Key:
    """The key of a class."""
    return Key(quizzes=list(quizzes or (quiz(),)))

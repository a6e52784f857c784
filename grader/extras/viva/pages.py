"""The page on which a student answers, and the sheet from which an examiner asks."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grader.core.pages.render import prepared, templates
from grader.core.rubric import Rubric

from .quiz import Quiz
from .words import say

HERE = Path(__file__).parent
ITERATIONS = 200_000  # of a digest: a fifth of a second in a browser


class Pages:
    """Renders pages in one language."""

    def __init__(self, rubric: Rubric, language: str) -> None:
        """Read the templates."""
        environment = prepared(templates(HERE), rubric, language)
        environment.globals["ask"] = partial(say, language)
        self._page, self._sheet = (environment.get_template(f"{name}.html.j2") for name in ("page", "sheet"))

    def page(self, quiz: Quiz) -> str:
        """What the student gets; no answer can be read in it."""
        script = (HERE / "page.js").read_text(encoding="utf-8")
        return self._page.render(
            quiz=quiz,
            sealed=_sealed(quiz),
            script=Markup(script),  # ours, not a student's
            script_sha256=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )

    def sheet(self, quiz: Quiz) -> str:
        """What the examiner gets: questions, answers, and why."""
        return self._sheet.render(quiz=quiz)


def _sealed(quiz: Quiz) -> dict[str, Any]:
    """A slow digest of each right option. The salt follows from the quiz, so that the same quiz gives the same page."""
    text = "\n".join(question.prompt for question in quiz.questions)
    salt = hmac.new(quiz.name.encode(), text.encode(), hashlib.sha256).hexdigest()
    digests = [
        hashlib.pbkdf2_hmac(
            "sha256",
            question.options[question.right].text.strip().encode(),
            f"{quiz.code(number)}{salt}".encode(),
            ITERATIONS,
        ).hex()
        for number, question in enumerate(quiz.questions, 1)
    ]
    return {"salt": salt, "iterations": ITERATIONS, "digests": digests}

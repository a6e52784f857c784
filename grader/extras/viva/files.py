"""Writes quizzes from templates: Moodle XML, GIFT, QTI 2.1, the page of a student, and the sheet of an examiner.

Sources: https://docs.moodle.org/en/Moodle_XML_format, https://docs.moodle.org/en/GIFT_format, and the schemas of
https://www.imsglobal.org/question/qtiv2p1/imsqti_infov2p1.html.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grader.core.pages.render import prepared, templates
from grader.core.results.files import write_bytes, zip_bytes
from grader.core.rubric import Rubric

from .quiz import Quiz, say

HERE = Path(__file__).parent
ITERATIONS = 50_000  # of a digest


def write_quizzes(out: Path, quizzes: Sequence[Quiz], rubric: Rubric, language: str) -> None:
    """Write everything that can be given away, and the sheets; what an earlier run left in these folders is removed."""
    for old in (old for kind in ("pages", "oral", "qti") for old in (out / kind).glob("anon-*")):
        old.unlink()
    for name, data in written(quizzes, rubric, language):
        (out / name).parent.mkdir(exist_ok=True)
        write_bytes(out / name, data)


def written(quizzes: Sequence[Quiz], rubric: Rubric, language: str) -> Iterator[tuple[str, bytes]]:
    """Every file by its path; a quiz without questions has none."""
    environment = prepared(templates(HERE), rubric, language)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    environment.globals |= {
        "ask": partial(say, language),
        "script": Markup(script),  # ours, not a student's
        "script_sha256": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }

    def render(template: str, **values: object) -> bytes:
        return environment.get_template(f"{template}.j2").render(**values).encode()

    asked = [quiz for quiz in quizzes if quiz.questions]
    yield from ((name, render(name, quizzes=asked)) for name in ("moodle.xml", "questions.gift"))
    for quiz in asked:
        yield f"pages/{quiz.name}.html", render("page.html", quiz=quiz, sealed=_sealed(quiz))
        yield f"oral/{quiz.name}.html", render("sheet.html", quiz=quiz)
        items = {f"{code}.xml": render("item.xml", code=code, question=one) for code, one in quiz.numbered}
        package = {name: render(name, quiz=quiz) for name in ("imsmanifest.xml", "test.xml")}
        yield f"qti/{quiz.name}.zip", zip_bytes({**package, **items})


def _sealed(quiz: Quiz) -> dict[str, Any]:
    """A slow digest of each right option. The salt follows from the quiz, so that the same quiz gives the same page."""
    salt = hashlib.sha256(" ".join(code for code, _ in quiz.numbered).encode()).hexdigest()  # codes hold the name
    answers = [(one.answer.strip().encode(), f"{code}{salt}".encode()) for code, one in quiz.numbered]
    digests = [hashlib.pbkdf2_hmac("sha256", text, own_salt, ITERATIONS).hex() for text, own_salt in answers]
    return {"salt": salt, "iterations": ITERATIONS, "digests": digests}

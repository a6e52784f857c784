"""The pages of ``grader watch --public``: a table of the class, and for each student what the public tests print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...pages.render import templates
from ...rubric import Rubric
from .public import PublicResult

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "The public tests",
        "note": "Only what the public tests say: no grade, and hidden tests decide later.",
        "who": "Submission",
        "holds": "holds",
        "back": "The class",
        "nobody": "Nothing has been handed in yet.",
        "nothing": "cannot be run",
    },
    "zh": {
        "title": "公开测试",
        "note": "这里只有公开测试的结果：不是成绩，最终由隐藏测试决定。",
        "who": "提交",
        "holds": "通过",
        "back": "全班",
        "nobody": "还没有任何提交。",
        "nothing": "无法运行",
    },
}


def public_pages(results: Sequence[PublicResult], rubric: Rubric, language: str) -> dict[str, str]:
    """All pages, by their paths: ``index.html``, and ``students/<id>.html``; every text from submissions is escaped."""
    environment = templates(Path(__file__).parent)
    environment.globals |= {"rubric": rubric, "language": language, "w": WORDS[language]}
    template = environment.get_template("public.html.j2")
    made = {f"students/{own.id}.html": template.render(one=own, results=()) for own in results}
    return {"index.html": template.render(one=None, results=results), **made}

"""The page: the same as in the terminal, with pictures. It is one file, and needs no network and no script."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

from ..harness.messages import Language
from .findings import Findings, Section
from .words import say

KINDS = {True: "right", False: "wrong", None: "should"}
STYLE = Path(__file__).with_name("page.css")


def page(findings: Findings, language: Language) -> str:
    """The whole page."""
    title, style = html.escape(say(language, "title")), STYLE.read_text(encoding="utf-8")
    body = "\n".join(
        (*_layers(findings, language), *(part for one in findings.sections for part in _section(one, language)))
    )
    about, limits = html.escape(findings.about), html.escape(say(language, "not_shown"))
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{style}</style>\n</head>\n<body>\n<main>\n'
        f'<h1>{title}</h1>\n<p>{about}</p>\n{body}\n<p class="should">{limits}</p>\n</main>\n</body>\n</html>\n'
    )


def _layers(findings: Findings, language: Language) -> Iterator[str]:
    yield f"<h2>{html.escape(say(language, 'layers'))}</h2>\n<table>"
    for report in findings.reports:
        kind = {"yours": "own", "todo": "stand-in", "stopped": "wrong"}[report.state]
        told = html.escape(say(language, report.state, why=report.why))
        yield f'<tr><td><code>{report.name}</code></td><td class="{kind}">{told}</td></tr>'
    yield "</table>"


def _section(section: Section, language: Language) -> Iterator[str]:
    yield f"<h2>{html.escape(section.title)}</h2>"
    yield f'<p class="should">{html.escape(section.right)}</p>'
    side = "side" if len(section.speeches) > 1 and not any(speech.prompt for speech in section.speeches) else ""
    yield f'<div class="{side}">'
    for speech in section.speeches:
        about = f"<figcaption>{html.escape(speech.about)}</figcaption>" if speech.about else ""
        text = f"<b>{html.escape(speech.prompt)}</b>{html.escape(speech.text)}"
        yield f"<figure>{about}<blockquote>{text}</blockquote></figure>"
    yield "</div>"
    if section.plot:
        yield section.plot.as_svg()
        yield '<ul class="legend">'
        for curve in section.plot.curves:
            line = f'<polyline class="curve {curve.key}" points="0,6 40,6"/>'
            yield f'<li><svg viewBox="0 0 40 12" aria-hidden="true">{line}</svg>{html.escape(curve.name)}</li>'
        if section.plot.band:
            band = '<rect class="band" width="40" height="12"/>'
            name = html.escape(section.plot.words["band"])
            yield f'<li><svg viewBox="0 0 40 12" aria-hidden="true">{band}</svg>{name}</li>'
        yield "</ul>"
    if section.stopped:
        stop = section.stopped
        yield f'<p class="wrong">{html.escape(say(language, "stopped_in", name=stop.name, why=stop.why))}</p>'
    for right, sentence in section.verdicts:
        yield f'<p class="{KINDS[right]}">{html.escape(sentence)}</p>'
    if section.cells:
        yield _strip(section.cells, section.ranks, html.escape(say(language, "strip")))


def _strip(cells: list[bool], ranks: int, label: str) -> str:
    """A row of boxes, one for each part of the vocabulary, with the border between the ranks."""
    size = 640 / len(cells)
    boxes = "".join(
        f'<rect class="{"warm" if wrong else "calm"}" x="{place * size:g}" y="4" width="{size - 1:g}" height="22"/>'
        for place, wrong in enumerate(cells)
    )
    borders = "".join(
        f'<line class="border" x1="{640 * rank / ranks - 0.5:g}" x2="{640 * rank / ranks - 0.5:g}" y1="0" y2="30"/>'
        for rank in range(1, ranks)
    )
    return (
        f'<svg viewBox="0 0 640 30" role="img" aria-label="{label}">{boxes}{borders}</svg><p class="should">{label}</p>'
    )

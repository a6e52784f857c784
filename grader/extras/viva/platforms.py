"""Quizzes as files that learning platforms import: Moodle XML, GIFT, and QTI 2.1.

Sources: https://docs.moodle.org/en/Moodle_XML_format, https://docs.moodle.org/en/GIFT_format, and the schemas of
https://www.imsglobal.org/question/qtiv2p1/imsqti_infov2p1.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

from grader.core.results.files import zip_bytes

from .question import Option, Question
from .quiz import Quiz

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
CORRECT = "http://www.imsglobal.org/question/qti_v2p1/rptemplates/match_correct"


def moodle(quizzes: Sequence[Quiz]) -> str:
    """All quizzes as Moodle XML: a category for each student, questions with one answer, options as they are here."""
    root = Element("quiz")
    for quiz in quizzes:
        category = SubElement(SubElement(root, "question", type="category"), "category")
        SubElement(category, "text").text = f"$course$/top/viva/{quiz.name}"
        for number, question in enumerate(quiz.questions, 1):
            own = SubElement(root, "question", type="multichoice")
            _text(own, "name", quiz.code(number))
            _text(own, "questiontext", _asked(quiz, number), format="html")
            for name, value in (("defaultgrade", "1"), ("penalty", "0"), ("hidden", "0"), ("single", "true")):
                SubElement(own, name).text = value
            for name, value in (("shuffleanswers", "false"), ("answernumbering", "abc")):
                SubElement(own, name).text = value
            for place, option in enumerate(question.options):
                answer = SubElement(own, "answer", fraction="100" if place == question.right else "0", format="html")
                SubElement(answer, "text").text = _option(option)
                _text(answer, "feedback", "", format="html")
    return _document(root)


def gift(quizzes: Sequence[Quiz]) -> str:
    """All quizzes in GIFT, with a category for each student."""
    lines = []
    for quiz in quizzes:
        lines.append(f"$CATEGORY: $course$/top/viva/{quiz.name}\n")
        for number, question in enumerate(quiz.questions, 1):
            signs = ("=" if place == question.right else "~" for place in range(len(question.options)))
            options = [f"{sign}{_escaped(_option(one))}" for sign, one in zip(signs, question.options, strict=True)]
            lines.append(f"::{quiz.code(number)}::[html]{_escaped(_asked(quiz, number))}{{")
            lines.append("\n".join([*options, "}\n"]))
    return "\n".join(lines)


def qti(quiz: Quiz) -> bytes:
    """One student's quiz as a QTI 2.1 package, which Canvas imports as one quiz."""
    items = {f"{quiz.code(number)}.xml": _item(quiz, number) for number in range(1, len(quiz.questions) + 1)}
    documents = {"imsmanifest.xml": _manifest(quiz, list(items)), "test.xml": _test(quiz, list(items)), **items}
    return zip_bytes({name: _document(root).encode() for name, root in documents.items()})


def _item(quiz: Quiz, number: int) -> Element:
    question = quiz.questions[number - 1]
    code = quiz.code(number)
    root = Element("assessmentItem", xmlns=QTI, identifier=code, title=code, adaptive="false", timeDependent="false")
    declared = {"identifier": "RESPONSE", "cardinality": "single", "baseType": "identifier"}
    correct = SubElement(SubElement(root, "responseDeclaration", declared), "correctResponse")
    SubElement(correct, "value").text = f"option{question.right}"
    SubElement(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    body = SubElement(root, "itemBody")
    body.extend(_parsed(_asked(quiz, number)))
    choice = SubElement(body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="false", maxChoices="1")
    for place, option in enumerate(question.options):
        SubElement(choice, "simpleChoice", identifier=f"option{place}").extend(_parsed(_option(option)))
    SubElement(root, "responseProcessing", template=CORRECT)
    return root


def _test(quiz: Quiz, items: Sequence[str]) -> Element:
    root = Element("assessmentTest", xmlns=QTI, identifier=quiz.name, title=quiz.name)
    part = SubElement(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="simultaneous")
    section = SubElement(part, "assessmentSection", identifier="section", title=quiz.name, visible="true")
    for item in items:
        SubElement(section, "assessmentItemRef", identifier=item.removesuffix(".xml"), href=item)
    return root


def _manifest(quiz: Quiz, items: Sequence[str]) -> Element:
    root = Element("manifest", xmlns=PACKAGE, identifier=f"{quiz.name}-package")
    metadata = SubElement(root, "metadata")
    SubElement(metadata, "schema").text = "IMS Content"
    SubElement(metadata, "schemaversion").text = "1.1"
    SubElement(root, "organizations")
    resources = SubElement(root, "resources")
    for name, kind in (("test.xml", "imsqti_test_xmlv2p1"), *((item, "imsqti_item_xmlv2p1") for item in items)):
        identifier = f"{name.removesuffix('.xml')}-file"
        resource = SubElement(resources, "resource", identifier=identifier, type=kind, href=name)
        SubElement(resource, "file", href=name)
        if name == "test.xml":
            for item in items:
                SubElement(resource, "dependency", identifierref=f"{item.removesuffix('.xml')}-file")
    return root


# ── What they share ─────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(quiz: Quiz, number: int) -> str:
    """A question as HTML; its code begins it, so that the code stands in every export of answers."""
    question: Question = quiz.questions[number - 1]
    blocks = "".join(f"<pre>{_shown(block)}</pre>" for block in question.blocks)
    return f"<p>[{quiz.code(number)}] {_shown(question.prompt)}</p>{blocks}"


def _option(option: Option) -> str:
    """An option as HTML."""
    return f"<p><code>{_shown(option.text)}</code></p>" if option.is_code else f"<p>{_shown(option.text)}</p>"


def _shown(text: str) -> str:
    """Text of a submission for HTML and XML, with a mark in place of each character that neither may hold."""
    kept = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
    return escape(kept, quote=False)


def _text(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(SubElement(parent, name, attributes), "text").text = text


def _parsed(html: str) -> Iterator[Element]:
    """The HTML of this module, which is XML, as elements."""
    yield from fromstring(f"<div>{html}</div>")


def _escaped(text: str) -> str:
    """Text in which GIFT finds no sign of its own; its line ends are written as such."""
    return re.sub(r"[\\~=#{}:]", r"\\\g<0>", text).replace("\n", "\\n")


def _document(root: Element) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'

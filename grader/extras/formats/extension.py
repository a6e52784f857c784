"""The columns of nbgrader's own export, and JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from grader.core.export.rows import Export, Format, Request, Row
from grader.core.export.table import PLAIN, Columns, table
from grader.core.results.outcome import Outcome
from grader.core.results.report import PropertyReport, Report
from grader.followup.table import in_file as in_file

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
KINDS = {Outcome.GRADER_ERROR: "error", Outcome.NOT_ASSESSED: "skipped"}  # all others but "passed" are failures
NBGRADER: Columns = {
    "assignment": lambda _, request: request.rubric.id,
    "duedate": lambda _, request: due.isoformat() if (due := request.rubric.policy.due) else None,
    "timestamp": PLAIN["submitted_at"],
    "student_id": lambda row, _: row.student.id or row.report.submission.id,
    "last_name": lambda row, _: names(row.student.name)[0],
    "first_name": lambda row, _: names(row.student.name)[1],
    "email": PLAIN["email"],
    "raw_score": lambda row, _: getattr(row.grade, "raw", None),
    "late_submission_penalty": PLAIN["late_penalty"],
    "score": PLAIN["grade"],
    "max_score": PLAIN["max_score"],
}


def nbgrader(rows: Sequence[Row], request: Request) -> Export:
    """The columns of nbgrader's own export, for tools that read them."""
    return Export({"nbgrader.csv": table(NBGRADER, rows, request)}, rows)


def names(name: str) -> tuple[str, str]:
    """Last and first name, divided at the comma, or else before the last word; a single word is a last name."""
    last, comma, first = name.partition(",")
    if comma:
        return last.strip(), first.strip()
    *given, last = name.split() or [""]
    return last, " ".join(given)


def junit(rows: Sequence[Row], request: Request) -> Export:
    """JUnit XML for continuous integration: a test suite for each submission, a test case for each property."""
    root = Element("testsuites", name=request.rubric.id)
    root.extend(map(_suite, {row.report.submission.id: row for row in rows}.values()))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, "unicode")
    return Export({"junit.xml": f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'}, rows)


def _suite(row: Row) -> Element:
    report = row.report
    suite = Element("testsuite", name=report.submission.id, time=f"{report.provenance.duration_s:g}")
    facts: dict[str, str] = {"status": report.status}
    if row.grade:
        facts |= {"score": f"{report.score:g}", "bonus": f"{report.bonus:g}", "grade": f"{row.grade.points:g}"}
    facts |= {"remark": row.remark} if row.remark else {}
    properties = SubElement(suite, "properties")
    for name, value in facts.items():
        SubElement(properties, "property", name=name, value=_xml(value))
    if report.status == "graded":
        for task in report.tasks:
            suite.extend(_case(prop, report, task.id) for prop in task.properties)
    else:
        case = SubElement(suite, "testcase", classname=report.submission.id, name="submission")
        SubElement(case, "error", type=report.status, message=_xml(report.reason or ""))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    return suite


def _case(prop: PropertyReport, report: Report, task: str) -> Element:
    case = Element("testcase", classname=f"{report.submission.id}.{task}", name=prop.id)
    if prop.outcome is not Outcome.PASSED:
        simplest = prop.simplest_case
        result = SubElement(case, KINDS.get(prop.outcome, "failure"), type=prop.outcome, message=_xml(prop.hint))
        result.text = _xml(f"{simplest.id}: {simplest.message}") if simplest and simplest.message else None
    return case


def _xml(text: str) -> str:
    """The text without the characters that XML forbids."""
    return _NOT_IN_XML.sub("?", text)


FORMATS: Mapping[str, Format] = {"nbgrader": Format(nbgrader), "junit": Format(junit)}

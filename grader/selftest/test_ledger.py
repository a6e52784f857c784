"""The ledger: what it keeps, what its views answer, and which files it refuses to be."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.core.results.database import LEDGER, LedgerError, opened, transaction
from grader.core.results.files import json_text, stamp
from grader.core.results.ledger import Ledger
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.extras.decisions import extension
from grader.selftest.class_reports import graded
from grader.selftest.reports import FAILED, PASSED, USUAL, report, unreadable

HERE = {"seed": "0", "torch": "2.13.0"}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with opened(tmp_path) as ledger:
        yield ledger


def fill(connection: sqlite3.Connection, reports: Iterable[Report], here: dict[str, str] = HERE) -> Ledger:
    ledger, known = Ledger(connection, here), list(reports)
    ledger.expect([one.submission.id for one in known], fresh=False)
    for one in known:
        ledger.record(one, stamp(Path(__file__)))
    return ledger


def view(connection: sqlite3.Connection, name: str, columns: str = "*") -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT {columns} FROM {name}").fetchall()


def limited(connection: sqlite3.Connection, pages: int) -> sqlite3.Connection:
    """The same ledger on a disk on which it cannot grow."""
    connection.execute(f"PRAGMA max_page_count = {pages}")
    return connection


def test_a_report_comes_back_as_it_was_written(connection: sqlite3.Connection) -> None:
    one = report("ada", name="Ada Lovelace")
    ledger = fill(connection, [one])
    known = ledger.recorded()["ada"]
    assert json_text(ledger.report(known.result)) == json_text(one)
    assert (known.sha256, known.notices, known.reason, known.origin) == ("0" * 64, (), None, one.submission.origin)


def test_the_reports_of_the_class_come_back_by_their_ids(connection: sqlite3.Connection) -> None:
    """Those of earlier results, and of whoever has left the class, do not."""
    bo, ada = unreadable("bo"), graded("ada", {"swiglu_gate": Outcome.CRASHED})  # whose messages have parts
    fill(connection, [report("di"), report("bo")])
    fill(connection, [bo, ada])
    assert [*Ledger(connection, HERE).reports()] == [ada, bo]


@pytest.mark.parametrize("other", [HERE | {"seed": "1"}, {"seed": "0"}], ids=["changed", "unknown"])
def test_other_conditions_are_another_matter(connection: sqlite3.Connection, other: dict[str, str]) -> None:
    fill(connection, [report("ada")])
    ledger = Ledger(connection, other)
    assert ledger.recorded() == {}
    assert ledger.differing(["ada"]) == sorted({name for name, _ in other.items() ^ HERE.items()}) != []
    assert ledger.differing(["bo"]) == []
    assert Ledger(connection, HERE).recorded().keys() == {"ada"}
    assert Ledger(connection, HERE).differing(["ada"]) == []


def test_a_fault_of_ours_is_never_used_again(connection: sqlite3.Connection) -> None:
    ours = unreadable("ada", "the judge process died", status="grader_error")
    assert fill(connection, [ours, unreadable("bo")]).recorded().keys() == {"bo"}


def test_fresh_forgets_at_once_and_for_good(connection: sqlite3.Connection) -> None:
    """A fresh run that is killed goes on as a fresh one, and leaves others alone."""
    ledger = fill(connection, [report("ada"), report("bo")])
    ledger.expect(["ada"], fresh=True)
    assert ledger.recorded() == {}
    ledger.record(report("ada"), stamp(Path(__file__)))
    assert ledger.recorded().keys() == {"ada"}
    ledger.expect(["ada", "bo"], fresh=False)
    assert ledger.recorded().keys() == {"ada", "bo"}


def test_earlier_results_stay_without_their_copies(connection: sqlite3.Connection) -> None:
    fill(connection, [report("ada")])
    fill(connection, [report("ada", USUAL | {"eps": (FAILED, 6.0)})])
    assert view(connection, "results", "submission, current, score") == [("ada", 0, 6.0), ("ada", 1, 0.0)]
    assert len(view(connection, "copies")) == 1


def test_a_transaction_that_fails_leaves_nothing(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"), transaction(connection):
        connection.executemany("INSERT INTO class VALUES (?)", [("ada",), ("ada",)])
    assert view(connection, "class") == []


def test_views_answer_what_assistants_ask(connection: sqlite3.Connection) -> None:
    crashed = USUAL | {"eps": (Outcome.CRASHED, 6.0)}
    waiting = ["cy"]
    ledger = fill(connection, [report("ada", name="Ada"), report("bo", crashed, duration_s=9.0), unreadable("di")])
    ledger.expect(["ada", "bo", "di", *waiting], fresh=False)
    assert view(connection, "scores", "submission, students, status, score, bonus") == [
        ("ada", "Ada", "graded", 6.0, 5.0),
        ("bo", "", "graded", 0.0, 5.0),
        ("di", "", "unreadable", None, None),
    ]
    assert view(connection, "lost_points", "submission, property, lost, outcome, misconception, message") == [
        ("ada", "mean", 4.0, "failed", "eps_outside", "wrong at [0]"),
        ("bo", "eps", 6.0, "crashed", None, "wrong at [0]"),
        ("bo", "mean", 4.0, "failed", "eps_outside", "wrong at [0]"),
    ]
    assert view(connection, "pass_rates", "property, passed, graded, rate") == [
        ("eps", 1, 2, 0.5),
        ("mean", 0, 2, 0.0),
        ("bonus", 2, 2, 1.0),
    ]
    assert view(connection, "outcomes", "property, outcome, submissions")[:2] == [
        ("eps", "crashed", 1),
        ("eps", "passed", 1),
    ]
    assert view(connection, "misconceptions") == [("eps_outside", 2, "ada,bo", 8.0)]
    assert view(connection, "not_graded") == [
        ("cy", None, "waiting", None),
        ("di", "", "unreadable", "The zip cannot be read."),
    ]
    assert view(connection, "distribution") == [(0, 1), (60, 1)]
    assert view(connection, "slowest", "submission, duration_s")[0] == ("bo", 9.0)
    assert view(connection, "same_files", "count, submissions") == [(2, "ada,bo")]
    assert view(connection, "graded_how", "submissions, seed, isolation") == [(3, 0, "landlock+seccomp")]


def test_the_view_of_changes_puts_a_result_beside_the_one_before(connection: sqlite3.Connection) -> None:
    fill(connection, [report("ada"), report("bo"), report("cy")])
    fill(connection, [report("ada", USUAL | {"mean": (PASSED, 4.0)}), unreadable("bo", files="1"), report("cy")])
    assert view(connection, "changes", "submission, difference, old_score, score, new_files") == [
        ("bo", None, 6.0, None, 1),
        ("ada", 4.0, 6.0, 10.0, 0),
    ]


def test_closed_it_is_one_plain_file_that_anybody_can_read(tmp_path: Path) -> None:
    with opened(tmp_path) as connection:
        fill(connection, [report("ada")])
    assert [path.name for path in tmp_path.iterdir()] == [LEDGER]
    reader = sqlite3.connect(f"file:{tmp_path / LEDGER}?mode=ro&immutable=1", uri=True)
    assert view(reader, "scores", "submission") == [("ada",)]
    reader.close()


DAMAGED = r"is damaged\. Move it away and run again"


@pytest.mark.parametrize(
    ("place", "data", "problem"),
    [
        (slice(None), b"notes of mine " * 100, r"is not a grader ledger\. Move it away and run again"),
        (slice(68, 72), bytes(4), "is another program's database"),
        (slice(60, 64), bytes([0, 0, 0, 2]), "has version 2; this grader supports version 1"),
        (slice(200, 9000), b"\xa5" * 8800, DAMAGED),
        (slice(-4096, -4000), b"\xa5" * 96, DAMAGED),
    ],
    ids=["no_database", "another_program", "another_version", "damaged_schema", "damaged_last_page"],
)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(
    tmp_path: Path, place: slice, data: bytes, problem: str
) -> None:
    with opened(tmp_path) as connection:
        fill(connection, [report(f"s{number}") for number in range(40)])
    changed = bytearray((tmp_path / LEDGER).read_bytes())
    changed[place] = data
    (tmp_path / LEDGER).write_bytes(changed)
    with pytest.raises(LedgerError, match=problem), opened(tmp_path):
        pass
    assert (tmp_path / LEDGER).read_bytes() == changed


def test_a_place_without_a_ledger_that_cannot_have_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="Choose a writable folder"), opened(tmp_path / "gone"):
        pass


def test_a_full_disk_is_the_disks_fault(tmp_path: Path) -> None:
    reports = [report(f"s{number}") for number in range(40)]
    with opened(tmp_path) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    with pytest.raises(OSError, match="No space left on device") as caught, opened(tmp_path) as connection:
        fill(limited(connection, pages), reports)
    assert caught.value.filename == str(tmp_path / LEDGER)


def test_a_mistake_of_ours_is_not_dressed_up(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"), opened(tmp_path) as connection:
        connection.execute("SELECT * FROM mistakes")


def test_the_page_names_every_view_and_its_examples_run(connection: sqlite3.Connection) -> None:
    fill(connection, [report("ada")])
    text = (REPOSITORY / "grader" / "docs" / "ledger.md").read_text(encoding="utf-8")
    views = [str(name) for (name,) in view(connection, "sqlite_master WHERE type = 'view'", "name")]
    assert {*re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)} == {*views}
    for name in views:
        view(connection, name)
    examples = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 4
    assert extension.standing(connection) == {}  # which makes its table, as the first decision does
    for example in examples:
        connection.execute(example)

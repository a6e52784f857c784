"""Opens the ledger's file for one process at a time; refuses other programs' files, and reports errors in one line.

While the ledger is open, SQLite keeps a write-ahead log, so that no submission waits for the disk, and a power cut does
not damage the file. Such a log usually needs memory shared between processes, which network folders do not offer. This
process locks the file as long as it is open, and then needs no shared memory. When the ledger is closed, the log is
merged into it, so that programs can read the file even in a folder that they cannot write to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from grader.core.messages import UserError

LEDGER = "ledger.sqlite3"
SCHEMA = Path(__file__).with_name("ledger.sql")
APPLICATION_ID = 0x41324C47  # four bytes in the header of the file that mark a database as a ledger
VERSION = 1  # to be raised with every change of ledger.sql that an older grader cannot work with
WAIT_S = 3  # for another program, such as datasette, to finish its query

DISK = {"SQLITE_FULL": errno.ENOSPC, "SQLITE_IOERR": errno.EIO}  # errors of the disk, raised as OSError as for any file
REMEDIES = {
    "SQLITE_NOTADB": "is not a grader ledger. Move it away and run again; a new one is created",
    "SQLITE_CORRUPT": "is damaged. Move it away and run again; a new one is created",
    "SQLITE_BUSY": "is in use by another grader or program. Wait until it finishes, or choose another folder",
    "SQLITE_READONLY": "cannot be written to. Choose a writable folder",
    "SQLITE_CANTOPEN": "cannot be opened. Choose a writable folder",
    "SQLITE_PERM": "cannot be opened. Choose a writable folder",
}


class LedgerError(UserError):
    """The ledger cannot be used."""


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a folder for this process alone; make one if there is none.

    Raises:
        LedgerError: If another process has it open, or the file is not a ledger of this version.
        OSError: If the disk is full or fails.
    """
    path = folder / LEDGER
    with _in_one_line(path), contextlib.closing(sqlite3.connect(path, timeout=WAIT_S)) as connection:
        connection.isolation_level = None  # sqlite3 begins no transactions by itself; see `transaction`
        _check(connection, path)
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        with transaction(connection):  # the first transaction locks the file, until the connection is closed
            pass
        try:
            yield connection
        finally:
            # If the disk is full, the log stays, and is merged when the ledger is opened again.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA journal_mode = DELETE")


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger that is in a folder to read from it; first, what a killed run has left beside it is merged.

    Raises:
        LedgerError: If a run is under way, or the file is not a ledger of this version.
        OSError: If the file cannot be read.
    """
    path = folder / LEDGER
    if path.with_name(f"{LEDGER}-wal").exists():  # left by a run that was killed
        with opened(folder):
            pass
    address = f"{path.resolve().as_uri()}?mode=ro"
    with _in_one_line(path), contextlib.closing(sqlite3.connect(address, uri=True, timeout=WAIT_S)) as connection:
        _check(connection, path)
        yield connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything that the block writes, or nothing of it, even if the process is killed."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file is an undamaged ledger of this version; an empty file becomes a new ledger."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (application or tables):
        marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA.read_text(encoding='utf-8')} {marks} COMMIT;")
        except sqlite3.OperationalError:
            connection.rollback()
            if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
                raise  # else another process was faster, and has made it
    elif application != APPLICATION_ID:
        raise LedgerError(f"{path}: is another program's database. Move it away, or choose another folder.")
    elif version != VERSION:
        raise LedgerError(
            f"{path}: has version {version}; this grader supports version {VERSION}. "
            "Use the grader that wrote it, or move it away and run again."
        )
    else:
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise LedgerError(f"{path}: {REMEDIES['SQLITE_CORRUPT']}.")


@contextlib.contextmanager
def _in_one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if number := next((number for start, number in DISK.items() if name.startswith(start)), 0):
            raise OSError(number, os.strerror(number), str(path)) from None
        text = next((text for start, text in REMEDIES.items() if name.startswith(start)), None)
        if text is None:  # a mistake in the grader, whose traceback is needed
            raise
        raise LedgerError(f"{path}: {text} ({error}).") from None

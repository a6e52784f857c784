"""Opens the ledger's file: for one process at a time, never over another program's file, with errors in one line.

While the ledger is open, SQLite keeps a write-ahead log: no submission waits for the disk, and nothing is lost in a
power cut. Such a log usually needs memory shared between processes, which folders on a network do not offer; a process
that locks the file for as long as it is open needs no shared memory. A closed ledger is one plain file, which programs
can read even where they may not write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

LEDGER = "ledger.sqlite3"
SCHEMA = Path(__file__).with_name("ledger.sql")
APPLICATION_ID = 0x41324C47  # four bytes of our choice in the file's header, by which `file` tells whose database it is
VERSION = 1  # to be raised with every change of ledger.sql that an older grader cannot work with
WAIT_S = 3  # for another program, such as datasette, to finish its query

DISK = {"SQLITE_FULL": errno.ENOSPC, "SQLITE_IOERR": errno.EIO}  # errors of the disk, raised as OSError as for any file
REMEDIES = {
    "SQLITE_NOTADB": "is no ledger. Move it away and run again: a new one takes its place",
    "SQLITE_CORRUPT": "is damaged. Move it away and run again: a new one takes its place",
    "SQLITE_BUSY": "another grader or program is at work with it. Wait for its end, or choose another folder",
    "SQLITE_READONLY": "cannot be written to. Choose a folder that you can write to",
    "SQLITE_CANTOPEN": "cannot be opened. Choose a folder that you can write to",
    "SQLITE_PERM": "cannot be opened. Choose a folder that you can write to",
}


class LedgerError(Exception):
    """The ledger cannot be used; the message is one line that says why, and what to do."""


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a folder for this process alone; make one if there is none.

    Raises:
        LedgerError: If another process has it open, or the file is something else.
        OSError: If the disk is full or fails.
    """
    path = folder / LEDGER
    with _in_one_line(path), contextlib.closing(sqlite3.connect(path, timeout=WAIT_S)) as connection:
        connection.isolation_level = None  # transactions begin and end where this code says so
        _check(connection, path)
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        with transaction(connection):  # the first transaction takes the lock, which is then kept
            pass
        try:
            yield connection
        finally:
            # On a full disk the log stays, and is merged when the ledger is opened again.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA journal_mode = DELETE")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Carry out the whole block or nothing of it, even if the process is killed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file is an undamaged ledger of this version; an empty file becomes a new ledger."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (application or tables):
        marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA.read_text(encoding='utf-8')} {marks} COMMIT;")
    elif application != APPLICATION_ID:
        raise LedgerError(f"{path}: is a database of another program. Move it away, or choose another folder.")
    elif version != VERSION:
        raise LedgerError(
            f"{path}: has version {version}, and this grader knows version {VERSION}. "
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
        if text is None:  # a mistake in this code: its traceback is wanted
            raise
        raise LedgerError(f"{path}: {text} ({error}).") from None

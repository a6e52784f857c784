"""The ledger's file: one process at a time, never written over when it is something else, errors in one line.

While it is open its journal is a write-ahead log, which costs no wait for the disk at each submission and survives a
power cut. The log's usual companion, memory shared between processes, is not for folders on a network; who locks the
file for as long as it is open needs none. Closed, it is one plain file that any program may read, even where it may not
write.
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
APPLICATION_ID = 0x41324C47  # "A2LG", where `file` and SQLite look for whose a database is
VERSION = 1  # raised with every change of ledger.sql that an older grader would trip over
WAIT_S = 3  # for a reader, such as datasette, in the middle of a query

DISK = {"SQLITE_FULL": errno.ENOSPC, "SQLITE_IOERR": errno.EIO}  # what the disk does, as any other file would say it
REMEDIES = {
    "SQLITE_NOTADB": "is no ledger. Move it away and run again: a new one takes its place",
    "SQLITE_CORRUPT": "is damaged. Move it away and run again: a new one takes its place",
    "SQLITE_BUSY": "another grader or program is at work with it. Wait for its end, or choose another folder",
    "SQLITE_READONLY": "cannot be written to. Choose a folder that you can write to",
    "SQLITE_CANTOPEN": "cannot be opened. Choose a folder that you can write to",
    "SQLITE_PERM": "cannot be opened. Choose a folder that you can write to",
}


class LedgerError(Exception):
    """The ledger cannot be used; one line that says why, and what to do."""


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The ledger of a folder, made if there is none, for this process alone.

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
        with transaction(connection):  # from here on the lock is held
            pass
        try:
            yield connection
        finally:
            # On a full disk the log stays, and the next to open it folds it in.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA journal_mode = DELETE")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, even if the process is killed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """See that this is a ledger and whole; an empty file becomes one."""
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
        if text is None:  # a mistake of ours
            raise
        raise LedgerError(f"{path}: {text} ({error}).") from None

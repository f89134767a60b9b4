"""The SQL store: conversations in three tables of any database that SQLAlchemy's engines reach.

Decides: what one operation reads and writes, in which order, in one transaction. Knows no database: what differs stands
in `_sql_engine`. Keeps R9 (what leaves stays in the history) and R11 (a change is there whole or not at all, and once).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from types import TracebackType
from typing import Self, TypeVar
from uuid import uuid4

from sqlalchemy import URL, Engine

from chatmemory.checks import check_count
from chatmemory.core.entries import Change, Entry, Snapshot, Stamp
from chatmemory.errors import (
    ConflictError,
    CorruptedConversationError,
    InvalidArgumentError,
    NotInHistoryError,
    StoreError,
)
from chatmemory.stores import _sql_statements as statements
from chatmemory.stores._sql_engine import engine_for
from chatmemory.stores._sql_schema import make_schema, schema_is_there
from chatmemory.stores._sql_statements import LARGEST, Row, Values
from chatmemory.stores._sql_transactions import Database, Transaction
from chatmemory.stores.base import ConversationInfo, check_clock, check_conversation_id, utc_now, utc_of

Result = TypeVar("Result")
_LONGEST_WAIT_SECONDS = 2_000_000
"""What SQLite's busy timeout holds, 31 bits of milliseconds: 23 days."""


class SqlChatMemoryStore:
    """Keeps conversations in a database. Nothing is opened before the first operation, and no table is made by reading.

    With a URL, the store makes its own engine. SQLite files are then opened with a write-ahead log, ``secure_delete``
    and ``synchronous=FULL`` (an operation that returned survives a power cut); ``sqlite://`` keeps one connection to a
    database in memory. With an engine, its settings stay the caller's, and `close` leaves it open; each thread of an
    engine for SQLite in memory has a database of its own unless it is made with ``poolclass=StaticPool``.

    When the process forks, the child gets connections of its own, also of a caller's engine; for SQLite, idle ones are
    closed before the fork. A database in memory is copied with the process.

    Args:
        url_or_engine: ``sqlite:///chat.db``, another SQLAlchemy URL, or a (synchronous) engine.
        clock: Gives the time that new entries carry; any time zone.
        conflict_timeout_seconds: How long an operation waits for other writers.

    Raises:
        InvalidArgumentError: An argument is wrong.
        StoreError: The database's driver is not installed.

    Example:
        >>> with SqlChatMemoryStore("sqlite://") as store:
        ...     store.load("user-42") is None
        True
    """

    def __init__(
        self,
        url_or_engine: str | URL | Engine,
        *,
        clock: Callable[[], datetime] = utc_now,
        conflict_timeout_seconds: float = 30,
    ) -> None:
        _check_wait(conflict_timeout_seconds)
        check_clock(clock)
        engine, is_owned = engine_for(url_or_engine, wait_seconds=conflict_timeout_seconds)
        self._database = Database(engine, is_owned=is_owned, wait_seconds=conflict_timeout_seconds)
        self._clock = clock
        self._schema_is_there = False
        self.conflict_timeout_seconds = conflict_timeout_seconds

    def now(self) -> datetime:
        """Return the clock's time, in UTC.

        Raises:
            InvalidArgumentError: The clock gives a time without a time zone.
        """
        return utc_of(self._clock)

    def load(self, conversation_id: str) -> Snapshot | None:
        """Read the window: a range of the primary key and a few keys, however long the history is.

        Raises:
            CorruptedConversationError: A stored row cannot be read.
        """
        check_conversation_id(conversation_id)
        found = self._read(lambda transaction: _read_window(transaction, conversation_id))
        return None if found is None else statements.snapshot_of(conversation_id, *found)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Write one change whole or not at all, and return the conversation's epoch.

        A change that is there already, under its own version with its own ``commit_id``, is not written again. So where
        a COMMIT failed and nobody knows whether it happened, the change is sent once more.

        Raises:
            ConflictError: The conversation's epoch and version are not `expected`.
            StoreError: With ``outcome_unknown=True`` where the second try could not find out either.
        """
        check_conversation_id(conversation_id)
        rows = [statements.entry_values(conversation_id, entry) for entry in change.written]

        def write(transaction: Transaction) -> str:
            return _commit(transaction, conversation_id, change, expected, rows)

        try:
            return self._write(write)
        except StoreError as error:
            if not error.outcome_unknown:
                raise
        return self._send_again(write)

    def history(self, conversation_id: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return up to `limit` entries with ``seq > after``, in the window or not, by seq.

        Raises:
            InvalidArgumentError: `after` is negative, `limit` is not positive, or one of them is no int.
        """
        check_conversation_id(conversation_id)
        check_count("after", after, least=0)
        check_count("limit", limit, least=1)
        values = {"p_id": conversation_id, "p_after": min(after, LARGEST), "p_limit": min(limit, LARGEST)}
        rows = self._read(lambda transaction: transaction.rows(statements.READ_HISTORY, values))
        return statements.entries_of(conversation_id, rows or [])

    def window_at(self, conversation_id: str, version: int) -> list[Entry]:
        """Return the entries that were in the window at `version`, by seq, as they stand in the history now.

        Raises:
            NotInHistoryError: The conversation has no such version. Version 0 is the empty window of any conversation.
        """
        check_conversation_id(conversation_id)
        check_count("version", version, least=None)
        rows = self._read(lambda transaction: _read_window_at(transaction, conversation_id, version))
        if rows is None and version != 0:
            raise NotInHistoryError(
                f"conversation {conversation_id!r} has no version {version}; ask for one that it has had"
            )
        return statements.entries_of(conversation_id, rows or [])

    def delete(self, conversation_id: str) -> bool:
        """Erase every row of the conversation; return whether there was one."""
        check_conversation_id(conversation_id)
        values = {"p_id": conversation_id}
        if not self._finds_schema():
            return False
        return self._write(lambda transaction: [transaction.run(each, values) for each in statements.ERASE][-1]) > 0

    def conversations(self, *, after: str = "", limit: int = 100) -> list[ConversationInfo]:
        """Return up to `limit` conversations whose id is greater than `after`, by id (by code points).

        Raises:
            InvalidArgumentError: `after` could not be an id, or `limit` is no positive int.
        """
        if after != "":
            check_conversation_id(after, field="after")
        check_count("limit", limit, least=1)
        values = {"p_after": after, "p_limit": min(limit, LARGEST)}
        rows = self._read(lambda transaction: transaction.rows(statements.LIST_CONVERSATIONS, values))
        return [statements.info_of(row) for row in rows or []]

    def close(self) -> None:
        """Close the engine if this store made it. Any later call but this one raises `StoreError`."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SqlChatMemoryStore {self._database.where}>"

    def _read(self, work: Callable[[Transaction], Result]) -> Result | None:
        """Return what `work` reads; None where there are no tables yet, which reading does not make."""
        return self._database.read(work) if self._finds_schema() else None

    def _write(self, work: Callable[[Transaction], Result]) -> Result:
        if not self._finds_schema():
            self._database.write(make_schema)
            self._schema_is_there = True
        return self._database.write(work)

    def _finds_schema(self) -> bool:
        self._schema_is_there = self._schema_is_there or self._database.read(schema_is_there)
        return self._schema_is_there

    def _send_again(self, write: Callable[[Transaction], str]) -> str:
        try:
            return self._write(write)
        except ConflictError:
            raise
        except StoreError as error:
            raise StoreError(f"{error}; whether the change is there is unknown", outcome_unknown=True) from error


def _check_wait(seconds: object) -> None:
    field = "conflict_timeout_seconds"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidArgumentError(field, f"is of type {type(seconds).__name__}; give a number of seconds")
    if math.isnan(seconds) or not 0 < seconds <= _LONGEST_WAIT_SECONDS:
        raise InvalidArgumentError(field, f"is {seconds}; give more than 0 and at most {_LONGEST_WAIT_SECONDS} seconds")


def _read_window(transaction: Transaction, conversation_id: str) -> tuple[Row, list[Row]] | None:
    for state in transaction.rows(statements.READ_CONVERSATION, {"p_id": conversation_id}):
        extent = statements.extent_of(conversation_id, *state[3:5])
        kept = [transaction.rows(*read) for read in statements.reading_keys(conversation_id, extent.kept_seqs)]
        tail = transaction.rows(statements.READ_TAIL, {"p_id": conversation_id, "p_first": extent.first_seq})
        return state, list(chain(*kept, tail))
    return None


def _read_window_at(transaction: Transaction, conversation_id: str, version: int) -> list[Row] | None:
    if version > LARGEST or version < 1:
        return None
    values: Values = {"p_id": conversation_id, "p_version": version}
    for first_seq, last_seq, kept_seqs in transaction.rows(statements.READ_CHANGE, values):
        extent = statements.extent_of(conversation_id, first_seq, kept_seqs, last_seq)
        reads = statements.reading_keys_at(conversation_id, extent.kept_seqs, version)
        kept = [transaction.rows(*read) for read in reads]
        tail = transaction.rows(statements.READ_TAIL_AT, values | {"p_first": first_seq, "p_last": last_seq})
        return list(chain(*kept, tail))
    return None


def _commit(transaction: Transaction, conversation_id: str, change: Change, expected: Stamp, rows: list[Values]) -> str:
    epoch = expected.epoch or uuid4().hex
    if not _advance(transaction, conversation_id, change, epoch, expected):
        return _settle(transaction, conversation_id, change, expected)
    for mark, values, left in statements.marking(conversation_id, change):
        if transaction.run(mark, values) != left:
            raise CorruptedConversationError(
                f"conversation {conversation_id!r}: entries that are to leave are not in the stored window; "
                f"nothing changed; restore its rows from a backup"
            )
    transaction.run_for_each(statements.ADD_ENTRY, rows)
    transaction.run(statements.ADD_CHANGE, statements.change_values(conversation_id, change))
    return epoch


def _advance(transaction: Transaction, conversation_id: str, change: Change, epoch: str, expected: Stamp) -> bool:
    """Compare and swap: True where the conversation was as expected, and is now the change's."""
    if expected.epoch is not None:
        values = statements.advance_values(conversation_id, change, epoch, expected.version)
        return transaction.run(statements.ADVANCE, values) == 1
    if transaction.rows(statements.READ_STATE, {"p_id": conversation_id}):
        return False
    transaction.run(statements.ADD_CONVERSATION, statements.conversation_values(conversation_id, change, epoch))
    return True


def _settle(transaction: Transaction, conversation_id: str, change: Change, expected: Stamp) -> str:
    """Return the epoch where this very change is there already; otherwise another writer was faster."""
    values: Values = {"p_id": conversation_id, "p_version": change.version}
    for epoch, version in transaction.rows(statements.READ_STATE, {"p_id": conversation_id}):
        if transaction.rows(statements.READ_COMMIT_ID, values) == [(change.commit_id,)]:
            return str(epoch)
        raise ConflictError(
            f"conversation {conversation_id!r} is at version {version}, and the change was planned on version "
            f"{expected.version} of it or of one that is deleted; load it and plan again"
        )
    raise ConflictError(f"conversation {conversation_id!r} was deleted meanwhile; load it and plan again")

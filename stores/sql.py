"""The SQL store: conversations in three tables of any database that SQLAlchemy's engines reach.

Decides: which operation is one transaction, and what is checked before it begins. Each is tried once: who called tries
again what is `transient`. Knows no database: what differs stands in `_sql_engine`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import URL, Engine

from chatmemory.checks import check_count
from chatmemory.core.entries import Change, Entry, Snapshot, Stamp
from chatmemory.errors import ConflictError, InvalidArgumentError, NotInHistoryError
from chatmemory.stores import _sql_operations as operations
from chatmemory.stores import _sql_rows as rows
from chatmemory.stores import _sql_statements as statements
from chatmemory.stores._sql_engine import engine_for
from chatmemory.stores._sql_resealing import Resealing
from chatmemory.stores._sql_schema import NEWEST, make_schema, read_revision, settled_revision
from chatmemory.stores._sql_sealing import PayloadCodec, Seal
from chatmemory.stores._sql_statements import LARGEST, Row, Values
from chatmemory.stores._sql_transactions import Database, Transaction
from chatmemory.stores._sql_upgrade import check_can_upgrade, check_revision, is_older, upgrade
from chatmemory.stores.base import (
    ConversationInfo,
    Page,
    Retain,
    check_clock,
    check_conversation_id,
    check_owner,
    check_retain,
    check_wait,
    utc_now,
    utc_of,
)

Result = TypeVar("Result")


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
        conflict_timeout_seconds: How long an operation waits for other writers, and for a database that is away.
        retain: ``"window"`` erases what leaves the window, in the same commit; `history` and `window_at` then know the
            newest window only. What left before, under ``"history"``, stays, until the conversation is deleted.
        expire_after: The age at which `purge` erases a conversation, counted from its newest change by `clock`.
        codec: Seals messages, titles and meta before they are stored (encryption at rest). Ids, owners, roles, times,
            token counts and reasons are not sealed.
        auto_upgrade: Migrates an older schema at the first operation, under a lock. Without it, that operation raises
            `UnsupportedSchemaError`, which says what to run.

    Raises:
        InvalidArgumentError: An argument is wrong.
        StoreError: The database's driver, or what `auto_upgrade` needs, is not installed.

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
        retain: Retain = "history",
        expire_after: timedelta | None = None,
        codec: PayloadCodec | None = None,
        auto_upgrade: bool = False,
    ) -> None:
        check_wait(conflict_timeout_seconds)
        check_clock(clock)
        check_retain(retain)
        _check_age(expire_after)
        if auto_upgrade:
            check_can_upgrade()
        self._auto_upgrade = auto_upgrade
        self._seal = Seal(codec)
        self._resealing = Resealing(self._seal)
        self._retain: Retain = retain
        self._expire_after = expire_after
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

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Read the window: a range of the primary key and a few keys, however long the history is.

        Raises:
            CorruptedConversationError: A stored row cannot be read.
        """
        _check_names(conversation_id, owner)

        def read(transaction: Transaction) -> tuple[Row, list[Row]] | None:
            if not operations.is_of(transaction, conversation_id, owner):
                return None
            return operations.read_window(transaction, conversation_id)

        found = self._read(read)
        return None if found is None else rows.snapshot_of(conversation_id, *found, self._seal)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Write one change whole or not at all, and return the conversation's epoch.

        A change that is there already, under its own version with its own ``commit_id``, is not written again. So where
        a COMMIT failed and nobody knows whether it happened, the change can be sent once more.

        Raises:
            ConflictError: The conversation's epoch and version are not `expected`.
            StoreError: With ``outcome_unknown=True`` where the database went away in the COMMIT.
        """
        check_conversation_id(conversation_id)
        commit = operations.Commit.of(conversation_id, change, expected, self._seal, self._retain)
        try:
            return self._write(commit.write)
        except ConflictError:
            if expected.epoch is not None:
                raise
            # The row that was in the way may be this change's own, out of a COMMIT that was still on its way.
            return self._write(commit.write)

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Return up to `limit` entries with ``seq > after``, in the window or not, by seq.

        Raises:
            InvalidArgumentError: `after` is negative, `limit` is not positive, or one of them is no int.
        """
        _check_names(conversation_id, owner)
        check_count("after", after, least=0)
        check_count("limit", limit, least=1)
        values = {"p_id": conversation_id, "p_after": min(after, LARGEST), "p_limit": min(limit, LARGEST)}

        def read(transaction: Transaction) -> list[Row]:
            if not operations.is_of(transaction, conversation_id, owner):
                return []
            return transaction.rows(statements.READ_HISTORY, values)

        return rows.entries_of(conversation_id, self._read(read) or [], self._seal)

    def window_at(self, conversation_id: str, version: int, *, owner: str | None = None) -> list[Entry]:
        """Return the entries that were in the window at `version`, by seq, as they stand in the history now.

        Raises:
            NotInHistoryError: The conversation has no such version. Version 0 is the empty window of any conversation.
        """
        _check_names(conversation_id, owner)
        check_count("version", version, least=None)

        def read(transaction: Transaction) -> list[Row] | None:
            if not operations.is_of(transaction, conversation_id, owner):
                return None
            return operations.read_window_at(transaction, conversation_id, version)

        found = self._read(read)
        if found is None and version != 0:
            raise NotInHistoryError(
                f"conversation {conversation_id!r} has no version {version}; ask for one that it has had and keeps"
            )
        return rows.entries_of(conversation_id, found or [], self._seal)

    def delete(self, conversation_id: str, *, owner: str | None = None) -> bool:
        """Erase every row of the conversation; return whether there was one.

        SQLite overwrites the rows (``secure_delete``). README, "Erasing, forgetting, encrypting", says where a database
        keeps old rows for a while, and what makes it let go of them.
        """
        _check_names(conversation_id, owner)
        if not self._finds_schema():
            return False
        return self._write(lambda transaction: operations.erase(transaction, conversation_id, owner))

    def purge(self, *, limit: int = 1000) -> int:
        """Erase up to `limit` conversations that are older than `expire_after`; return how many.

        Each goes in a transaction of its own, so nobody waits for more than one; one that is changed meanwhile stays.
        Call it until it returns 0. Until then an old conversation can be read, and goes on if something is added to it.
        To find the old ones the rows of all conversations are read, without a lock.

        Raises:
            InvalidArgumentError: The store has no `expire_after`, or `limit` is no positive int.
            StoreError: The database failed; what was erased before stays erased.
        """
        check_count("limit", limit)
        if self._expire_after is None:
            raise InvalidArgumentError("expire_after", "is None; make the store with a timedelta")
        before = max(rows.microseconds(self.now()) - self._expire_after // rows.MICROSECOND, -LARGEST)
        values: Values = {"p_before": before, "p_limit": min(limit, LARGEST)}
        idle = self._read(lambda transaction: transaction.rows(statements.READ_IDLE, values)) or []
        erased = [
            self._write(partial(operations.erase_idle, conversation_id=conversation_id, before=before))
            for (conversation_id,) in idle
        ]
        return sum(erased)

    def reseal(self, *, limit: int = 1000) -> int:
        """Seal up to `limit` stored texts with the codec's present key; return how many.

        For a new key, and for rows that were written before the store had a codec. First give every process that
        writes the new codec, then call this until it returns 0: nothing needs another key, or none, any more. What is
        said does not change, so there is no new version. Others wait for a hundred rows at most, and may go on using
        the conversations. The walk is this object's: another one begins at the beginning, and skips what is done.

        Raises:
            InvalidArgumentError: The store has no codec, or `limit` is no positive int.
            CorruptedConversationError: A text cannot be opened, for want of its key. It is left as it is; give the
                codec that key, or delete the conversation, since the walk does not pass it by.
            StoreError: The codec or the database failed; the next call goes on from there.
        """
        check_count("limit", limit)
        if self._seal.key_id is None:
            raise InvalidArgumentError("codec", "is None; make the store with the codec that is to seal its rows")
        return self._resealing.run(self._read, self._write, limit)

    def conversations(
        self,
        *,
        after: str = "",
        limit: int = 100,
        prefix: str = "",
        owner: str | None = None,
        updated_since: datetime | None = None,
    ) -> list[ConversationInfo]:
        """Return up to `limit` conversations whose id is greater than `after`, by id (by code points).

        Raises:
            InvalidArgumentError: `after` or `prefix` could not be (the beginning of) an id, `owner` could not be one,
                `limit` is no positive int, or `updated_since` has no time zone.
        """
        page = Page(after, limit, prefix, owner, updated_since)
        since = None if page.updated_since is None else rows.microseconds(page.updated_since)
        found = self._read(lambda transaction: transaction.rows(*statements.listing(page, since)))
        return [rows.info_of(row, self._seal) for row in found or []]

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
            self._schema_is_there = self._is_newest(self._make_schema())
        return self._database.write(work)

    def _make_schema(self) -> str | None:
        try:
            return self._database.write(make_schema)
        except ConflictError:  # the lock is one server's, and another one of the cluster was faster
            return self._database.look(read_revision)

    def _finds_schema(self) -> bool:
        self._schema_is_there = self._schema_is_there or self._is_newest(self._database.look(settled_revision))
        return self._schema_is_there

    def _is_newest(self, revision: str | None) -> bool:
        if self._auto_upgrade and is_older(revision):
            revision = upgrade(self._database)
        check_revision(revision, self._database.engine.url)
        return revision == NEWEST


def _check_age(age: object) -> None:
    if age is not None and not (isinstance(age, timedelta) and age > timedelta(0)):
        raise InvalidArgumentError("expire_after", "is no positive timedelta; give one such as timedelta(days=90)")


def _check_names(conversation_id: object, owner: object) -> None:
    check_conversation_id(conversation_id)
    check_owner(owner)

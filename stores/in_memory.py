"""The store that lives as long as its object. Decides nothing: it keeps what it is given, and answers as any store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from datetime import datetime
from heapq import nsmallest
from threading import Lock
from types import TracebackType
from typing import Self

from attrs import define, field, frozen

from chatmemory.checks import check_count
from chatmemory.core.entries import Change, Entry, Extent, Snapshot, Stamp
from chatmemory.errors import ConflictError, NotInHistoryError, StoreError
from chatmemory.stores.base import ConversationInfo, check_clock, check_conversation_id, utc_now, utc_of


@frozen
class _Recorded:
    """What is kept of a change, beside its entries: its key, and enough to show the window as it was."""

    commit_id: str
    next_seq: int
    extent: Extent


@define
class _Conversation:
    epoch: str
    created_at: datetime
    updated_at: datetime
    entries: list[Entry] = field(factory=list)
    changes: list[_Recorded] = field(factory=lambda: [_Recorded("", 1, Extent())])

    @property
    def version(self) -> int:
        return len(self.changes) - 1

    def has(self, change: Change) -> bool:
        return change.version <= self.version and self.changes[change.version].commit_id == change.commit_id

    def range(self, recorded: _Recorded) -> Iterable[Entry]:
        for seq in recorded.extent.kept_seqs:
            yield self.entries[seq - 1]
        yield from self.entries[recorded.extent.first_seq - 1 : recorded.next_seq - 1]

    def take(self, change: Change) -> None:
        for removal in change.removed:
            if removal.entered < change.version:
                entry = self.entries[removal.seq - 1]
                self.entries[removal.seq - 1] = entry.leaving(removal.left, removal.reason)
        self.entries.extend(change.written)
        self.changes.append(_Recorded(change.commit_id, change.next_seq, change.extent))
        self.updated_at = change.at


class InMemoryChatMemoryStore:
    """Keeps conversations in this process, each with its whole history, about 300 bytes an entry beside its text.

    Args:
        clock: Gives the time that new entries carry; any time zone.
    """

    conflict_timeout_seconds: float = 30

    def __init__(self, *, clock: Callable[[], datetime] = utc_now) -> None:
        check_clock(clock)
        self._clock = clock
        self._conversations: dict[str, _Conversation] | None = {}
        self._lock = Lock()

    def now(self) -> datetime:
        """Return the clock's time, in UTC.

        Raises:
            InvalidArgumentError: The clock gives a time without a time zone.
        """
        return utc_of(self._clock)

    def load(self, conversation_id: str) -> Snapshot | None:
        """Return the window, or None where there is no such conversation."""
        with self._lock:
            found = self._find(conversation_id)
            if found is None:
                return None
            newest = found.changes[-1]
            window = tuple(entry for entry in found.range(newest) if entry.left is None)
            return Snapshot(found.epoch, found.version, newest.next_seq, newest.extent, window)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Keep `change`, and return the conversation's epoch.

        Raises:
            ConflictError: The conversation is not as `expected`.
        """
        with self._lock:
            found = self._find(conversation_id)
            if found is not None and found.has(change):
                return found.epoch
            if expected != (Stamp(found.epoch, found.version) if found is not None else Stamp(None, 0)):
                raise ConflictError(f"conversation {conversation_id!r} was changed by another writer; load it again")
            if found is None:
                found = _Conversation(secrets.token_hex(8), change.at, change.at)
                self._open()[conversation_id] = found
            found.take(change)
            return found.epoch

    def history(self, conversation_id: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return up to `limit` entries with ``seq > after``, by seq."""
        check_count("after", after, least=0)
        check_count("limit", limit, least=1)
        with self._lock:
            found = self._find(conversation_id)
            return found.entries[after : after + limit] if found is not None else []

    def window_at(self, conversation_id: str, version: int) -> list[Entry]:
        """Return the entries that were in the window at `version`, by seq.

        Raises:
            NotInHistoryError: There is no such version.
        """
        check_count("version", version, least=None)
        with self._lock:
            found = self._find(conversation_id)
            if version < 0 or version > (found.version if found is not None else 0):
                raise NotInHistoryError(f"conversation {conversation_id!r} has no version {version}")
            return [] if found is None else [e for e in found.range(found.changes[version]) if _is_in(e, version)]

    def delete(self, conversation_id: str) -> bool:
        """Forget the conversation, and return whether there was one."""
        with self._lock:
            check_conversation_id(conversation_id)
            return self._open().pop(conversation_id, None) is not None

    def conversations(self, *, after: str = "", limit: int = 100) -> list[ConversationInfo]:
        """Return up to `limit` conversations whose id is greater than `after`, by id."""
        if after != "":
            check_conversation_id(after, field="after")
        check_count("limit", limit, least=1)
        with self._lock:
            kept = self._open()
            ids = nsmallest(limit, (key for key in kept if key > after))
            return [ConversationInfo(i, kept[i].version, kept[i].created_at, kept[i].updated_at) for i in ids]

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._conversations = None

    def _open(self) -> dict[str, _Conversation]:
        if self._conversations is None:
            raise StoreError("the store is closed; make a new one")
        return self._conversations

    def _find(self, conversation_id: str) -> _Conversation | None:
        check_conversation_id(conversation_id)
        return self._open().get(conversation_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_in(entry: Entry, version: int) -> bool:
    return entry.entered <= version and (entry.left is None or entry.left > version)

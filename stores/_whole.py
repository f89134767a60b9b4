"""What stores answer alike that hold each conversation in one piece.

Decides: what is checked before a conversation is looked at, and what is said where there is none. A store decides where
conversations lie and who may look at the same time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType
from typing import Self

from chatmemory.checks import check_count
from chatmemory.core.entries import Entry, Snapshot
from chatmemory.errors import NotInHistoryError
from chatmemory.stores._conversation import Conversation
from chatmemory.stores.base import Retain, check_clock, check_retain, utc_of


class WholeConversationStore(ABC):
    """The part of a `ChatMemoryStore` that reads one conversation."""

    def __init__(self, *, clock: Callable[[], datetime], retain: Retain) -> None:
        check_clock(clock)
        check_retain(retain)
        self._clock = clock
        self._retain: Retain = retain

    @abstractmethod
    def _reading(self, conversation_id: str, owner: str | None) -> AbstractContextManager[Conversation | None]:
        """Return the conversation where it is there and `owner`'s, as it is while the context is open."""

    @abstractmethod
    def close(self) -> None:
        """End the use of the store. Any later call but this one raises `StoreError`."""

    def now(self) -> datetime:
        """Return the clock's time, in UTC.

        Raises:
            InvalidArgumentError: The clock gives a time without a time zone.
        """
        return utc_of(self._clock)

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Return the window, or None where there is no such conversation."""
        with self._reading(conversation_id, owner) as found:
            return None if found is None else found.snapshot()

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Return up to `limit` entries with ``seq > after``, by seq."""
        check_count("after", after, least=0)
        check_count("limit", limit, least=1)
        with self._reading(conversation_id, owner) as found:
            return found.history(after, limit) if found is not None else []

    def window_at(self, conversation_id: str, version: int, *, owner: str | None = None) -> list[Entry]:
        """Return the entries that were in the window at `version`, by seq.

        Raises:
            NotInHistoryError: There is no such version.
        """
        check_count("version", version, least=None)
        with self._reading(conversation_id, owner) as found:
            if found is not None:
                return found.window_at(version)
            if version:
                raise NotInHistoryError(f"conversation {conversation_id!r} has no version {version}")
            return []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

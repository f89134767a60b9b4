"""A store that passes everything on to another one: what watched and faulty stores have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self

from attrs import Factory, define, field

from chatmemory.core.entries import Change, Entry, Snapshot, Stamp
from chatmemory.stores import ChatMemoryStore, ConversationInfo, InMemoryChatMemoryStore


@define
class PassingStore:
    """Passes every operation on. A subclass may say what happens around each, or change one."""

    inner: ChatMemoryStore = field(factory=InMemoryChatMemoryStore)
    conflict_timeout_seconds: float = field(
        default=Factory(lambda self: self.inner.conflict_timeout_seconds, takes_self=True), kw_only=True
    )

    @contextmanager
    def _asked(self, _name: str) -> Iterator[None]:
        yield

    def now(self) -> datetime:
        """Pass it on."""
        return self.inner.now()

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Pass it on."""
        with self._asked("load"):
            return self.inner.load(conversation_id, owner=owner)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Pass it on."""
        with self._asked("commit"):
            return self.inner.commit(conversation_id, change, expected)

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Pass it on."""
        with self._asked("history"):
            return self.inner.history(conversation_id, after=after, limit=limit, owner=owner)

    def window_at(self, conversation_id: str, version: int, *, owner: str | None = None) -> list[Entry]:
        """Pass it on."""
        with self._asked("window_at"):
            return self.inner.window_at(conversation_id, version, owner=owner)

    def delete(self, conversation_id: str, *, owner: str | None = None) -> bool:
        """Pass it on."""
        with self._asked("delete"):
            return self.inner.delete(conversation_id, owner=owner)

    def conversations(
        self,
        *,
        after: str = "",
        limit: int = 100,
        prefix: str = "",
        owner: str | None = None,
        updated_since: datetime | None = None,
    ) -> list[ConversationInfo]:
        """Pass it on."""
        with self._asked("conversations"):
            return self.inner.conversations(
                after=after, limit=limit, prefix=prefix, owner=owner, updated_since=updated_since
            )

    def close(self) -> None:
        """Pass it on."""
        with self._asked("close"):
            self.inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

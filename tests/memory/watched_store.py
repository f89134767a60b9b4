"""Stores that tell what they were asked, and stores that fail when they are told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self

from attrs import define, field

from chatmemory import Change, Entry
from chatmemory.core.entries import Snapshot, Stamp
from chatmemory.stores import ChatMemoryStore, ConversationInfo, InMemoryChatMemoryStore


@define
class WatchedStore:
    """Passes everything on to a real store, and notes each call. The operations in `failing` raise the error instead.

    Attributes:
        calls: The names of the operations that were asked for, but for `now`, which reads and writes nothing.
        failing: What each operation raises before it reaches the store, by name.
        failing_after: What each operation raises once the store has done it, by name.
    """

    inner: ChatMemoryStore = field(factory=InMemoryChatMemoryStore)
    conflict_timeout_seconds: float = 30
    calls: list[str] = field(factory=list, init=False)
    failing: dict[str, Exception] = field(factory=dict, init=False)
    failing_after: dict[str, BaseException] = field(factory=dict, init=False)

    @contextmanager
    def _asked(self, name: str) -> Iterator[None]:
        self.calls.append(name)
        if name in self.failing:
            raise self.failing[name]
        yield
        if name in self.failing_after:
            raise self.failing_after[name]

    def now(self) -> datetime:
        """Return the real store's time."""
        return self.inner.now()

    def load(self, conversation_id: str) -> Snapshot | None:
        """Pass it on."""
        with self._asked("load"):
            return self.inner.load(conversation_id)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Pass it on."""
        with self._asked("commit"):
            return self.inner.commit(conversation_id, change, expected)

    def history(self, conversation_id: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Pass it on."""
        with self._asked("history"):
            return self.inner.history(conversation_id, after=after, limit=limit)

    def window_at(self, conversation_id: str, version: int) -> list[Entry]:
        """Pass it on."""
        with self._asked("window_at"):
            return self.inner.window_at(conversation_id, version)

    def delete(self, conversation_id: str) -> bool:
        """Pass it on."""
        with self._asked("delete"):
            return self.inner.delete(conversation_id)

    def conversations(self, *, after: str = "", limit: int = 100) -> list[ConversationInfo]:
        """Pass it on."""
        with self._asked("conversations"):
            return self.inner.conversations(after=after, limit=limit)

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

"""What must be true of a conversation, whoever wrote to it and whatever happened to them.

Decides: how much is looked at. The whole history is compared with a memory that got the same messages one after another
and never met trouble; so is the window at the versions that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from attrs import evolve

from chatmemory import ChatMemory, Entry
from chatmemory.stores import ChatMemoryStore
from tests.endurance.writing import Writer
from tests.oracle import check_window
from tests.stores.programs import memory_of

_THEN: Final = datetime(2031, 1, 1, tzinfo=UTC)


def whole_history(store: ChatMemoryStore, conversation_id: str) -> list[Entry]:
    """Return every entry, page by page."""
    found: list[Entry] = []
    while page := store.history(conversation_id, after=len(found)):
        found += page
    return found


def check_conversation(store: ChatMemoryStore, conversation_id: str, *, every: int = 1) -> list[Entry]:
    """Check that writers of one message a change were as good as one after another; return the history.

    Args:
        store: Where it is.
        conversation_id: The conversation.
        every: Which versions are looked at: all, or every so many.
    """
    history = whole_history(store, conversation_id)
    assert list(range(1, len(history) + 1)) == [entry.seq for entry in history] == [entry.entered for entry in history]
    alone = memory_of(conversation_id)
    for entry in history:
        alone.add(entry.message)
    assert timeless(alone.history(limit=len(history))) == timeless(history)
    for version in range(len(history), 0, -every):
        _check_version(alone, store, conversation_id, version)
    snapshot = store.load(conversation_id)
    assert snapshot is not None
    assert (len(history), len(history) + 1) == (snapshot.version, snapshot.next_seq)
    assert timeless(_by_seq(alone.window())) == timeless(snapshot.entries)
    assert timeless(alone.window()) == timeless(memory_of(conversation_id, store).window())
    return history


def _check_version(alone: ChatMemory, store: ChatMemoryStore, conversation_id: str, version: int) -> None:
    expected = alone.window_at(version)
    assert timeless(_by_seq(expected)) == timeless(store.window_at(conversation_id, version))
    assert [] == check_window(expected.messages())


def _by_seq(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.seq)


def check_acknowledged(history: list[Entry], writers: Iterable[Writer], *, unanswered: int) -> int:
    """Check that all that was acknowledged is there, once and in order; return how many others each writer's last is.

    Args:
        history: The conversation.
        writers: All who wrote to it.
        unanswered: How many messages of each writer may be there although its `add()` did not return.
    """
    left_over = len(history)
    for writer in writers:
        own = [(entry.seq, entry.message.text) for entry in history if entry.message.text.split()[0] == writer.name]
        assert [f"{writer.name} {number}" for number in range(len(own))] == [text for _, text in own]
        assert writer.acknowledged == own[: len(writer.acknowledged)]
        assert len(own) - len(writer.acknowledged) <= unanswered
        left_over -= len(writer.acknowledged)
    return left_over


def timeless(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries with one time for all."""
    return [evolve(entry, added_at=_THEN) for entry in entries]

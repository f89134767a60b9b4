"""`retain="window"`: what leaves the window is erased, and everything else is as it was with the history kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from chatmemory import MessageWindowChatMemory, NotInHistoryError, UserMessage
from chatmemory.errors import ConflictError, StoreError
from chatmemory.messages import SystemMessage
from chatmemory.stores import ChatMemoryStore, DocumentChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore
from chatmemory.stores.base import COMMIT_IDS_KEPT, Retain
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import numbered
from tests.memory.watched_store import WatchedStore
from tests.stores.documents import PlainTexts
from tests.stores.files import sql

Opened = Callable[..., ChatMemoryStore]
BACK_ENDS: dict[str, Callable[[Path], Opened]] = {
    "in memory": lambda _: InMemoryChatMemoryStore,
    "documents": lambda _: partial(DocumentChatMemoryStore, PlainTexts()),
    "sqlite": lambda path: partial(SqlChatMemoryStore, f"sqlite:///{path}"),
}


@pytest.fixture(params=BACK_ENDS)
def back_end(request: pytest.FixtureRequest, path: Path) -> Opened:
    """Every back end: opens a store with the arguments given."""
    return BACK_ENDS[request.param](path)


@pytest.fixture
def store(back_end: Opened) -> ChatMemoryStore:
    """A store that keeps windows only."""
    return back_end(retain="window")


def seqs(store: ChatMemoryStore) -> list[int]:
    """The seqs that are kept."""
    return [entry.seq for entry in store.history("c")]


def opened(store: ChatMemoryStore, max_messages: int = 3) -> MessageWindowChatMemory:
    """A memory of the conversation."""
    return MessageWindowChatMemory("c", max_messages=max_messages, store=store)


def test_the_history_is_the_window(store: ChatMemoryStore) -> None:
    """Only what is in the window is kept, seqs go on, and another object finds the same window."""
    memory = opened(store)
    memory.extend([SystemMessage("s"), *numbered(10)])
    memory.extend(numbered(3))
    assert [1, 13, 14] == [entry.seq for entry in memory.window()] == seqs(store)
    assert tuple(memory.window()) == tuple(opened(store).window())
    assert [(14, 3)] == [(info.history_size, info.window_size) for info in store.conversations()]
    assert 15 == memory.add(UserMessage("next")).seq


def test_what_never_got_in_is_not_kept(store: ChatMemoryStore) -> None:
    """A result without its call is reported, uses up its seq, and leaves nothing behind."""
    memory = opened(store)
    change = memory.add({"role": "tool", "tool_call_id": "c1", "content": "late"})
    assert [(1, "orphan")] == [(removal.seq, removal.reason) for removal in change.removed]
    assert [] == seqs(store)
    assert 2 == memory.add(UserMessage("u")).seq


def test_only_the_newest_window_can_be_shown(store: ChatMemoryStore) -> None:
    """A version whose entries are erased is one that the conversation no longer has."""
    memory = opened(store)
    for message in numbered(5):
        memory.add(message)
    assert seqs(store) == [entry.seq for entry in memory.window_at(5)]
    assert [] == store.window_at("c", 0)
    for version in (1, 4, 6):
        with pytest.raises(NotInHistoryError):
            memory.window_at(version)


def test_a_window_may_become_empty(store: ChatMemoryStore) -> None:
    """After a clear nothing is kept but the conversation, which goes on."""
    memory = opened(store)
    memory.extend(numbered(3))
    memory.clear()
    assert ([], []) == (seqs(store), opened(store).messages())
    assert (4, 3) == (memory.add(UserMessage("next")).seq, memory.version)


def test_a_conversation_that_had_a_history(back_end: Opened, request: pytest.FixtureRequest) -> None:
    """Opened with "window" later, nothing more is kept, and old windows, which are no longer whole, are not shown."""
    if "in memory" in request.node.callspec.id:
        pytest.skip("a store in memory ends with its object")
    with back_end() as store:
        memory = opened(store)
        for message in numbered(6):
            memory.add(message)
    with back_end(retain="window") as store:
        memory = opened(store)
        assert [1, 2, 3, 4, 5, 6] == seqs(store)
        assert [1, 2, 3] == [entry.seq for entry in memory.window_at(3)]
        memory.add(UserMessage("next"))
        left_before = [] if "documents" in request.node.callspec.id else [1, 2, 3]
        assert [*left_before, 5, 6, 7] == seqs(store)
    with back_end() as store:
        memory = opened(store)
        for version in range(1, 7):
            with pytest.raises(NotInHistoryError):
                memory.window_at(version)
        memory.add(UserMessage("kept"))
        assert [*left_before, 5, 6, 7, 8] == seqs(store)
        assert [6, 7, 8] == [entry.seq for entry in memory.window_at(8)]


def test_compare_and_swap(store: ChatMemoryStore) -> None:
    """A change that was planned on an older version is a conflict, and writes nothing."""
    first, late = ConversationModel(), ConversationModel()
    late.adopt(change := first.adding(UserMessage("a")), epoch := store.commit("c", change, first.stamp))
    first.adopt(change, epoch)
    first.write(store, "c", UserMessage("b"), leaving={1: "budget"})
    with pytest.raises(ConflictError):
        late.write(store, "c", UserMessage("late"))
    assert [2] == seqs(store)


def test_a_change_is_taken_once(store: ChatMemoryStore) -> None:
    """A change that is sent again is known by its key, though others came later and its entry has left."""
    model = ConversationModel()
    change, stamp = model.adding(UserMessage("once")), model.stamp
    model.adopt(change, store.commit("c", change, stamp))
    for step in range(COMMIT_IDS_KEPT - 1):
        store.commit("c", change, stamp)
        model.write(store, "c", UserMessage("more"), leaving={step + 1: "budget"})
    store.commit("c", change, stamp)
    assert [COMMIT_IDS_KEPT] == seqs(store)
    model.write(store, "c", UserMessage("more"))
    with pytest.raises(ConflictError):
        store.commit("c", change, stamp)


def test_an_unknown_outcome_is_not_doubled(store: ChatMemoryStore) -> None:
    """Where a commit's answer was lost and another writer came between, the add is there once."""
    watched = WatchedStore(store, conflict_timeout_seconds=0.05)
    memory = opened(watched, max_messages=9)
    watched.failing_after["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError):
        memory.add(UserMessage("mine"))
    opened(store, max_messages=9).add(UserMessage("theirs"))
    watched.failing_after.clear()
    memory.add(UserMessage("mine"))
    assert ["mine", "theirs"] == [message.text for message in memory.messages()]


def test_redacting(store: ChatMemoryStore) -> None:
    """What is in the window can be redacted; what has left is not there any more."""
    memory = opened(store)
    memory.extend(numbered(4))
    assert memory.redact(2)
    assert "[redacted]" == opened(store).messages()[0].text
    with pytest.raises(NotInHistoryError):
        memory.redact(1)


def test_rows_are_gone(path: Path) -> None:
    """In SQL tables too: as many rows as the window has, and of changes the newest keys without a window."""
    with SqlChatMemoryStore(f"sqlite:///{path}", retain="window") as store:
        memory = opened(store)
        for number in range(COMMIT_IDS_KEPT + 20):
            memory.add(UserMessage(f"message {number}"))
    assert [(118,), (119,), (120,)] == sql(path, "SELECT seq FROM messages ORDER BY seq")
    assert [(21, 120, 100)] == sql(path, "SELECT min(version), max(version), count(*) FROM changes")
    assert [(120,)] == sql(path, "SELECT version FROM changes WHERE first_seq > 0")


@pytest.mark.parametrize("retain", ["all", "", None, True, ["window"]])
def test_other_values(back_end: Opened, retain: Retain) -> None:
    """Only the two values are taken."""
    with pytest.raises(ValueError, match="retain"):
        back_end(retain=retain)

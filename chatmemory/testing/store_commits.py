"""Part of the suite: a change is there whole or not at all, once, and only on the state that it was planned on.

Decides: R11 as a store keeps it: compare and swap on epoch and version, the idempotency key, many writers at once.
"""
# ruff: noqa: S101, SIM300 - tests assert, and have the expected value on the left

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from attrs import evolve

from chatmemory.core.entries import Stamp
from chatmemory.errors import ConflictError, NotInHistoryError
from chatmemory.messages import UserMessage
from chatmemory.stores.base import ChatMemoryStore
from chatmemory.testing.changes import ConversationModel, add_until_taken
from chatmemory.testing.store_entries import agree, numbered

Reopen = Callable[[], ChatMemoryStore]


class CommitsWhole:
    """One change after another."""

    def test_a_stale_version_conflicts(self, store: ChatMemoryStore) -> None:
        """A change that was planned on an older or a later version is refused, and nothing of it is there."""
        model = ConversationModel()
        model.write(store, "c", *numbered(3))
        stale, ahead = model.stamp, Stamp(model.epoch, 2)
        late = model.adding(UserMessage("late"), leaving={1: "budget"})
        with pytest.raises(ConflictError):
            store.commit("c", evolve(late, version=3), ahead)
        model.write(store, "c", UserMessage("first"))
        with pytest.raises(ConflictError):
            store.commit("c", late, stale)
        agree(store, "c", model)

    def test_a_conversation_is_made_once(self, store: ChatMemoryStore) -> None:
        """A second change that would make the conversation is refused."""
        model = ConversationModel()
        model.write(store, "c", UserMessage("first"))
        with pytest.raises(ConflictError):
            ConversationModel().write(store, "c", UserMessage("second"))
        agree(store, "c", model)

    def test_an_epoch_belongs_to_one_life(self, store: ChatMemoryStore) -> None:
        """A deleted and re-made conversation is another: the same version of its former life is stale."""
        old, new = ConversationModel(), ConversationModel()
        old.write(store, "c", UserMessage("old"))
        store.delete("c")
        with pytest.raises(ConflictError):
            store.commit("c", old.adding(UserMessage("late")), old.stamp)
        assert None is store.load("c")
        new.write(store, "c", UserMessage("new"))
        assert old.epoch != new.epoch
        with pytest.raises(ConflictError):
            store.commit("c", old.adding(UserMessage("late")), old.stamp)
        agree(store, "c", new)

    def test_each_conversation_has_its_own_epoch(self, store: ChatMemoryStore) -> None:
        """Two conversations never share an epoch."""
        one, other = ConversationModel(), ConversationModel()
        one.write(store, "a", UserMessage("u"))
        other.write(store, "b", UserMessage("u"))
        assert one.epoch != other.epoch

    def test_a_change_is_taken_once(self, store: ChatMemoryStore) -> None:
        """A change that is sent again is not written again: its epoch comes back, also after later changes."""
        model = ConversationModel()
        made = model.write(store, "c", *numbered(2))
        before = model.stamp
        second = model.write(store, "c", UserMessage("second"), leaving={1: "budget"})

        assert model.epoch == store.commit("c", second, before)
        assert model.epoch == store.commit("c", made, Stamp(None, 0))
        model.write(store, "c", UserMessage("third"))
        assert model.epoch == store.commit("c", second, before)
        agree(store, "c", model)

    def test_a_key_belongs_to_its_conversation(self, store: ChatMemoryStore) -> None:
        """The same idempotency key in another conversation is another change."""
        one, other = ConversationModel(), ConversationModel()
        one.write(store, "a", UserMessage("one"), commit_id="key")
        other.write(store, "b", UserMessage("other"), commit_id="key")
        agree(store, "a", one)
        agree(store, "b", other)

    def test_a_key_dies_with_its_conversation(self, store: ChatMemoryStore) -> None:
        """Deleting a conversation forgets its keys: the same change makes it anew."""
        model = ConversationModel()
        made = model.write(store, "c", UserMessage("u"))
        store.delete("c")

        model.epoch = store.commit("c", made, Stamp(None, 0))

        agree(store, "c", model)

    def test_the_store_is_read_as_it_is_now(self, store: ChatMemoryStore, reopen: Reopen) -> None:
        """What another store committed to the same data is there in the next read, and the other way round."""
        other, model = reopen(), ConversationModel()
        for text in ("one", "two", "three"):
            model.write(store, "c", UserMessage(text))
            agree(store, "c", model)
            agree(other, "c", model)
            model.write(other, "c", UserMessage(text), leaving={model.version: "budget"})
            agree(other, "c", model)
            agree(store, "c", model)

    def test_two_stores_compare_and_swap(self, store: ChatMemoryStore, reopen: Reopen) -> None:
        """Of two stores on the same data, the one that planned on a stale version is refused."""
        other, model = reopen(), ConversationModel()
        model.write(store, "c", UserMessage("u"))
        stale, late = model.stamp, model.adding(UserMessage("late"))
        model.write(other, "c", UserMessage("first"))
        with pytest.raises(ConflictError):
            store.commit("c", late, stale)
        agree(store, "c", model)


class TakesManyWriters:
    """Many threads."""

    def test_threads_lose_nothing(self, store: ChatMemoryStore) -> None:
        """Threads that add to one conversation: every message is there once, each thread's own in its order."""
        writers, each = 6, 12
        start = Barrier(writers)

        def write(writer: int) -> None:
            start.wait()
            for number in range(each):
                add_until_taken(store, "c", f"{writer} {number}")

        with ThreadPoolExecutor(writers) as pool:
            list(pool.map(write, range(writers)))
        history = store.history("c")

        assert list(range(1, writers * each + 1)) == [entry.seq for entry in history]
        assert list(range(1, writers * each + 1)) == [entry.entered for entry in history]
        texts = [entry.message.text for entry in history]
        for writer in range(writers):
            own = [text for text in texts if text.startswith(f"{writer} ")]
            assert [f"{writer} {number}" for number in range(each)] == own

    def test_threads_make_one_conversation(self, store: ChatMemoryStore) -> None:
        """Of threads that make the same conversation at once, one succeeds, and the others get a conflict."""
        writers = 6
        start = Barrier(writers)

        def make(writer: int) -> bool:
            start.wait()
            try:
                ConversationModel().write(store, "c", UserMessage(str(writer)))
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(writers) as pool:
            assert 1 == sum(pool.map(make, range(writers)))
        assert 1 == len(store.history("c"))

    def test_a_reader_sees_whole_changes(self, store: ChatMemoryStore) -> None:
        """Whoever reads while another writes sees one version: its entries, no more and no fewer."""
        model, done = ConversationModel(), Event()
        model.write(store, "c", *numbered(2))

        def read() -> None:
            while not done.is_set():
                snapshot = store.load("c")
                assert snapshot is not None
                newest = 2 * snapshot.version
                assert newest + 1 == snapshot.next_seq
                assert [newest - 1, newest] == [entry.seq for entry in snapshot.entries]
                then = store.window_at("c", snapshot.version)
                assert [newest - 1, newest] == [entry.seq for entry in then]

        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            try:
                for _ in range(60):
                    last = model.windows[-1]
                    model.write(store, "c", *numbered(2), leaving=dict.fromkeys(last, "budget"))
            finally:
                done.set()
            for reader in readers:
                reader.result()
        agree(store, "c", model)

    def test_a_reader_sees_one_life(self, store: ChatMemoryStore) -> None:
        """Whoever reads while others delete and make anew sees one life of the conversation, or none."""
        done = Event()

        def read() -> None:
            while not done.is_set():
                snapshot = store.load("c")
                assert snapshot is None or [1] == [entry.seq for entry in snapshot.entries]
                try:
                    assert [1] == [entry.seq for entry in store.window_at("c", 1)]
                except NotInHistoryError:
                    continue

        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(read)
            try:
                for number in range(40):
                    ConversationModel().write(store, "c", UserMessage(str(number)))
                    assert store.delete("c")
            finally:
                done.set()
            reader.result()

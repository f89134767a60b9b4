"""Part of the suite: ids, listing, deleting, opening and closing, and arguments that are refused.

Decides: which arguments a store refuses with which error, and that a refusal changes nothing.
"""
# ruff: noqa: S101, PLR2004, SIM300 - tests assert, expect numbers, and have the expected value on the left

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from chatmemory.core.entries import About
from chatmemory.errors import InvalidArgumentError, NotInHistoryError, StoreError
from chatmemory.messages import UserMessage
from chatmemory.stores.base import ChatMemoryStore, ConversationInfo
from chatmemory.testing.changes import START, ConversationModel
from chatmemory.testing.store_entries import agree, numbered

Reopen = Callable[[], ChatMemoryStore]

LOOKALIKES = (
    "a",
    "A",
    "a ",
    " a",
    "a  ",
    "a\t",
    "á",
    "a\u0301",
    "\uff41",
    "ß",
    "ss",
    "1",
    "01",
    "%",
    "_",
    "a%",
    "../a",
    "a/b",
    "a\\b",
    "'; DROP TABLE messages; --",
    "\u200b",
    "😀",
    "👍🏽",
    "\uffff",
    "x" * 255,
    "😀" * 255,
)
"""Ids that some database, file system or collation takes for one another, or for something else."""

REFUSED_IDS: tuple[Any, ...] = ("", "x" * 256, "a\0b", "\ud83d", "\ud83d\ude00", None, 7, True, b"a", ["a"])


def _calls(store: ChatMemoryStore, conversation_id: Any) -> dict[str, Callable[[], object]]:
    model = ConversationModel()
    return {
        "load": lambda: store.load(conversation_id),
        "commit": lambda: store.commit(conversation_id, model.adding(UserMessage("u")), model.stamp),
        "history": lambda: store.history(conversation_id),
        "window_at": lambda: store.window_at(conversation_id, 0),
        "delete": lambda: store.delete(conversation_id),
    }


class KeepsConversationsApart:
    """Ids, listing, deleting."""

    def test_ids_are_exact(self, store: ChatMemoryStore) -> None:
        """Ids that differ in case, accents, spaces or anything else are different conversations."""
        models = {}
        for conversation_id in LOOKALIKES:
            models[conversation_id] = ConversationModel()
            models[conversation_id].write(store, conversation_id, UserMessage(f"of {conversation_id}"))
        for conversation_id, model in models.items():
            agree(store, conversation_id, model)
        assert sorted(LOOKALIKES) == [info.id for info in store.conversations()]

    @pytest.mark.parametrize("conversation_id", REFUSED_IDS)
    @pytest.mark.parametrize("method", ["load", "commit", "history", "window_at", "delete"])
    def test_other_ids_are_refused(self, store: ChatMemoryStore, conversation_id: Any, method: str) -> None:
        """What is no str of 1 to 255 characters without NUL and lone surrogates is refused, and nothing is written."""
        with pytest.raises(InvalidArgumentError):
            _calls(store, conversation_id)[method]()
        assert [] == store.conversations()

    @pytest.mark.parametrize("number", [0, -1, True, 1.0, "1", None])
    def test_other_limits_are_refused(self, store: ChatMemoryStore, number: Any) -> None:
        """A limit that is no positive int is refused by every method that takes one."""
        with pytest.raises(InvalidArgumentError):
            store.history("c", limit=number)
        with pytest.raises(InvalidArgumentError):
            store.conversations(limit=number)

    @pytest.mark.parametrize("number", [-1, True, 1.0, "1", None])
    def test_other_seqs_are_refused(self, store: ChatMemoryStore, number: Any) -> None:
        """A history after what is no int of 0 or more is refused."""
        with pytest.raises(InvalidArgumentError):
            store.history("c", after=number)

    @pytest.mark.parametrize("version", [True, 1.0, "1", None])
    def test_other_versions_are_refused(self, store: ChatMemoryStore, version: Any) -> None:
        """A version that is no int is refused."""
        with pytest.raises(InvalidArgumentError):
            store.window_at("c", version)

    def test_the_listing_is_paged_by_code_points(self, store: ChatMemoryStore) -> None:
        """The listing goes by the code points of ids, page by page."""
        ids = ["B", "a", "a ", "a!", "b", "á", "\uffff", "😀"]
        for conversation_id in reversed(ids):
            ConversationModel().write(store, conversation_id, UserMessage("u"))
        pages, after = [], ""
        while page := store.conversations(after=after, limit=3):
            assert len(page) <= 3
            pages += [info.id for info in page]
            after = pages[-1]

        assert ids == pages
        assert ["á", "\uffff", "😀"] == [info.id for info in store.conversations(after="bb", limit=10**30)]

    def test_the_listing_tells_version_counts_and_times(self, store: ChatMemoryStore) -> None:
        """The listing gives the newest version, the counts, and the times of the first and the newest change."""
        model, later = ConversationModel(), START + timedelta(days=1)
        model.write(store, "c", UserMessage("u"), at=START)
        model.write(store, "c", UserMessage("v"), UserMessage("w"), leaving={1: "budget"}, at=later)
        assert [ConversationInfo("c", 2, About(), 2, 3, START, later)] == store.conversations()

    def test_delete_leaves_nothing(self, store: ChatMemoryStore) -> None:
        """A deleted conversation is as one that never was, and the others are as before."""
        gone, other = ConversationModel(), ConversationModel()
        gone.write(store, "gone", *numbered(5), kept_out={1: "orphan"})
        gone.write(store, "gone", UserMessage("u"), leaving={1: "budget"})
        other.write(store, "other", *numbered(2))

        assert store.delete("gone")

        assert None is store.load("gone")
        assert [] == store.history("gone")
        with pytest.raises(NotInHistoryError):
            store.window_at("gone", 1)
        assert not store.delete("gone")
        assert ["other"] == [info.id for info in store.conversations()]
        agree(store, "other", other)
        anew = ConversationModel()
        anew.write(store, "gone", UserMessage("u"))
        agree(store, "gone", anew)


class OpensAndCloses:
    """A store's own life."""

    def test_another_store_reads_what_a_closed_one_wrote(self, store: ChatMemoryStore, reopen: Reopen) -> None:
        """What was committed is there when the data is opened again."""
        model = ConversationModel()
        model.write(store, "c", *numbered(9))
        model.write(store, "c", UserMessage("u"), leaving={1: "budget", 2: "budget", 5: "removed"})
        store.close()
        agree(reopen(), "c", model)

    def test_closing_one_store_leaves_another_open(self, store: ChatMemoryStore, reopen: Reopen) -> None:
        """Closing a store does not close another one on the same data."""
        model = ConversationModel()
        model.write(store, "c", UserMessage("u"))
        reopen().close()
        agree(store, "c", model)

    def test_a_store_is_a_context_manager(self, store: ChatMemoryStore) -> None:
        """Leaving a store's `with` block closes it."""
        with store as entered:
            assert store is entered
        with pytest.raises(StoreError):
            store.load("c")

    @pytest.mark.parametrize("method", ["load", "commit", "history", "window_at", "delete"])
    def test_use_after_close_is_an_error(self, store: ChatMemoryStore, method: str) -> None:
        """Every method of a closed store raises `StoreError`; closing again is nothing."""
        store.close()
        store.close()
        with pytest.raises(StoreError):
            _calls(store, "c")[method]()

    def test_listing_after_close_is_an_error(self, store: ChatMemoryStore) -> None:
        """The listing of a closed store raises `StoreError`, also after it was used."""
        ConversationModel().write(store, "c", UserMessage("u"))
        store.close()
        with pytest.raises(StoreError):
            store.conversations()

    def test_a_store_says_how_long_to_go_on(self, store: ChatMemoryStore) -> None:
        """A store says for how many seconds an operation goes on after conflicts."""
        assert 0 < store.conflict_timeout_seconds

    def test_a_store_fits_the_protocol(self, store: ChatMemoryStore) -> None:
        """A store has every method of `ChatMemoryStore`."""
        assert isinstance(store, ChatMemoryStore)

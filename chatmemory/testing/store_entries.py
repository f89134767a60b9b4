"""Part of the suite: what was written is read, entry by entry, in the window, in the history and at every version.

Decides: R9 and R12 as a store keeps them. Compares a store with `ConversationModel`.
"""
# ruff: noqa: S101, SIM300 - tests assert, and have the expected value on the left

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatmemory.core.entries import About, Refusal
from chatmemory.errors import NotInHistoryError
from chatmemory.messages import (
    AssistantMessage,
    ContextMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.stores.base import ChatMemoryStore, ConversationInfo
from chatmemory.testing import generators
from chatmemory.testing.changes import START, ConversationModel

EXPECTED: Final = (HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow)
"""One store serves all examples, several subclasses run the same test, and a store may be slow."""


def agree(store: ChatMemoryStore, conversation_id: str, model: ConversationModel) -> None:
    """Check that the store holds what the model holds: window, history, and the window at every version."""
    assert model.snapshot == store.load(conversation_id)
    assert model.history == store.history(conversation_id, limit=1_000_000)
    assert model.windows == [
        tuple(entry.seq for entry in store.window_at(conversation_id, version)) for version in range(model.version + 1)
    ]


def numbered(count: int, text: str = "message") -> list[Message]:
    """Return `count` different messages."""
    return [UserMessage(f"{text} {number}") for number in range(1, count + 1)]


class KeepsEntries:
    """What is written comes back."""

    def test_an_unknown_conversation_is_absent(self, store: ChatMemoryStore) -> None:
        """A conversation that nobody wrote has no window, no history, no version but 0, and is in no listing."""
        assert None is store.load("nobody")
        assert [] == store.history("nobody")
        assert [] == store.window_at("nobody", 0)
        with pytest.raises(NotInHistoryError):
            store.window_at("nobody", 1)
        assert not store.delete("nobody")
        assert [] == store.conversations()

    def test_entries_come_back_in_order(self, store: ChatMemoryStore) -> None:
        """Entries come back by seq, each with all that it was written with."""
        model = ConversationModel()
        model.write(store, "c", SystemMessage("s"), UserMessage("u"), tokens=3)
        model.write(store, "c", AssistantMessage(tool_calls=[ToolCall("1", "f")]), tokens=0, counter="other")
        model.write(store, "c", ToolMessage("r", tool_call_id="1"), call_seq=3, tokens=None, counter=None)
        model.write(store, "c", ContextMessage("so far"), kind="summary", origin_seq=2)
        agree(store, "c", model)

    def test_order_is_not_that_of_a_clock(self, store: ChatMemoryStore) -> None:
        """A clock that goes back, or stands still, changes no order."""
        model = ConversationModel()
        for days in (0, -1, -1, -400):
            model.write(store, "c", *numbered(2), at=START + timedelta(days=days))
        agree(store, "c", model)

    @pytest.mark.parametrize(
        "at",
        [
            datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
    )
    def test_times_are_exact(self, store: ChatMemoryStore, at: datetime) -> None:
        """Times come back in UTC, to the microsecond."""
        ConversationModel().write(store, "c", UserMessage("u"), at=at)

        (entry,) = store.history("c")

        assert at == entry.added_at
        assert timedelta(0) == entry.added_at.utcoffset()
        assert [ConversationInfo("c", 1, About(), 1, 1, at, at)] == store.conversations()

    def test_the_clock_gives_utc(self, store: ChatMemoryStore) -> None:
        """The store's own time is in UTC."""
        assert timedelta(0) == store.now().utcoffset()

    @settings(max_examples=30, deadline=None, suppress_health_check=EXPECTED)
    @given(batch=st.lists(generators.messages, min_size=1, max_size=4))
    def test_any_message_survives(self, store: ChatMemoryStore, batch: list[Message]) -> None:
        """Any message survives, whatever is in its strings and in what a provider sent besides."""
        store.delete("c")
        model = ConversationModel()
        model.write(store, "c", *batch)
        agree(store, "c", model)

    @pytest.mark.parametrize("text", generators.ODD_TEXTS)
    def test_every_string_survives(self, store: ChatMemoryStore, text: str) -> None:
        """Every string of Python survives code point by code point, also those that are no Unicode text."""
        model = ConversationModel()
        call = ToolCall(text, text, text, extra={text: text})
        model.write(store, "c", UserMessage(text, name=text), AssistantMessage(text, tool_calls=[call]))
        agree(store, "c", model)

    @pytest.mark.parametrize("text", ["a" * 1_100_000, "é" * 600_000, "😀" * 300_000])
    def test_large_messages_survive(self, store: ChatMemoryStore, text: str) -> None:
        """A message of more than a megabyte comes back whole."""
        model = ConversationModel()
        model.write(store, "c", UserMessage(text))
        agree(store, "c", model)

    def test_a_hundred_calls_survive(self, store: ChatMemoryStore) -> None:
        """A message with 100 tool calls, and their results, come back in order."""
        model = ConversationModel()
        calls = [ToolCall(f"call {at}", "f", f'{{"at": {at}}}') for at in range(100)]
        model.write(store, "c", AssistantMessage(tool_calls=calls))
        model.write(store, "c", *(ToolMessage(str(at), tool_call_id=f"call {at}") for at in range(100)), call_seq=1)
        agree(store, "c", model)


class KeepsHistory:
    """What leaves the window stays in the history."""

    def test_what_left_keeps_version_and_reason(self, store: ChatMemoryStore) -> None:
        """A removed entry stays in the history with the version and the reason of its leaving."""
        model = ConversationModel()
        model.write(store, "c", SystemMessage("s"), *numbered(6))
        model.write(store, "c", UserMessage("next"), leaving={2: "budget", 3: "budget", 5: "set", 1: "replaced"})
        model.write(store, "c", leaving={4: "cleared"})
        agree(store, "c", model)

    def test_what_never_got_in_is_in_the_history_only(self, store: ChatMemoryStore) -> None:
        """An entry that never got in has the version that added it as the version that removed it."""
        model = ConversationModel()
        model.write(store, "c", *numbered(3), kept_out={0: "orphan", 2: "oversize"})
        model.write(store, "c", UserMessage("too long"), kept_out={0: "oversize"}, refused=(Refusal(2, ("turn",)),))
        agree(store, "c", model)

    def test_a_window_can_be_empty(self, store: ChatMemoryStore) -> None:
        """A conversation whose window was emptied is still there, and goes on with the next seq."""
        model = ConversationModel()
        model.write(store, "c", *numbered(3))
        model.write(store, "c", leaving={1: "cleared", 2: "cleared", 3: "cleared"})
        agree(store, "c", model)
        model.write(store, "c", UserMessage("again"))
        agree(store, "c", model)

    def test_the_window_at_every_version(self, store: ChatMemoryStore) -> None:
        """`window_at` shows each version as it was, with what is kept far behind the others."""
        model = ConversationModel()
        model.write(store, "c", SystemMessage("s"), *numbered(8))
        for seq in (2, 4, 3, 7, 6, 8):
            model.write(store, "c", *numbered(2), leaving={seq: "budget"}, kept_out={1: "oversize"})
        model.write(store, "c", SystemMessage("t"), leaving={1: "replaced", 5: "budget"})
        agree(store, "c", model)
        for version in (-1, model.version + 1, 10**30):
            with pytest.raises(NotInHistoryError):
                store.window_at("c", version)

    def test_a_long_conversation_with_kept_entries(self, store: ChatMemoryStore) -> None:
        """Entries that stay while hundreds leave are in the window, and nothing else of that time is."""
        model = ConversationModel()
        model.write(store, "c", *numbered(700))
        model.write(store, "c", leaving={seq: "budget" for seq in range(1, 700) if seq % 100})
        agree(store, "c", model)
        model.write(store, "c", *numbered(2), leaving=dict.fromkeys(range(100, 600, 100), "set"))
        agree(store, "c", model)

    @pytest.mark.parametrize("size", [1, 2, 5, 6, 1000])
    def test_the_history_is_paged(self, store: ChatMemoryStore, size: int) -> None:
        """Pages of any size, one after the other, are the whole history."""
        model = ConversationModel()
        model.write(store, "c", *numbered(5), kept_out={1: "orphan"})
        model.write(store, "c", leaving={1: "budget"})
        pages, after = [], 0
        while page := store.history("c", after=after, limit=size):
            assert len(page) <= size
            pages += page
            after = page[-1].seq

        assert model.history == pages
        assert [] == store.history("c", after=10**30, limit=10**30)

    def test_what_is_given_out_is_a_copy(self, store: ChatMemoryStore) -> None:
        """Changing a list that the store gave changes nothing in the store."""
        model = ConversationModel()
        model.write(store, "c", *numbered(2))
        store.history("c").clear()
        store.window_at("c", 1).clear()
        store.conversations().clear()
        agree(store, "c", model)
        assert 1 == len(store.conversations())

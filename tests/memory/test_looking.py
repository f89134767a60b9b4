"""What a memory shows: messages, the window, the history, and every window that there was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from chatmemory import (
    AssistantMessage,
    InvalidArgumentError,
    Limit,
    NotInHistoryError,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    Window,
)
from chatmemory.stores import ChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api

EXCHANGE = [
    UserMessage("u:5"),
    AssistantMessage("c:5", tool_calls=[ToolCall("c1", "f")]),
    UserMessage("v:5"),
    ToolMessage("r:5", tool_call_id="c1"),
]


def test_messages_are_a_new_list(api: Api) -> None:
    """R12: whoever changes the list that `messages` gave changes nothing; the next one is another."""
    memory = api.message_window(max_messages=9)
    memory.extend(EXCHANGE)
    shown = memory.messages()
    shown.reverse()
    shown.pop()
    assert [EXCHANGE[0], EXCHANGE[1], EXCHANGE[3], EXCHANGE[2]] == memory.messages()
    assert memory.messages() is not memory.messages()


def test_messages_cannot_be_changed(api: Api) -> None:
    """R12: no field of a message, and no dict or list that it gives out, leads back into the memory."""
    memory = api.message_window(max_messages=9)
    memory.add({"role": "user", "content": [{"type": "text", "text": "u"}], "z": {"k": [1]}})
    (message,) = memory.messages()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        message.content = "other"  # type: ignore[misc]
    message.extra["z"]["k"].append(2)
    assert {"z": {"k": [1]}} == memory.messages()[0].extra


def test_the_window_is_a_sequence(api: Api) -> None:
    """A window has length, indexes, slices, iteration, membership, and cannot be changed."""
    memory = api.message_window(max_messages=9)
    memory.extend(EXCHANGE)
    window = memory.window()
    assert isinstance(window, Sequence)
    assert isinstance(window, Window)
    assert 4 == len(window)
    assert [1, 2, 4, 3] == [entry.seq for entry in window]
    assert (1, 3) == (window[0].seq, window[-1].seq)
    assert (2, 4) == tuple(entry.seq for entry in window[1:3])
    assert [3, 4, 2, 1] == [entry.seq for entry in reversed(window)]
    assert window[2] in window
    assert 2 == window.index(window[2])
    with pytest.raises(IndexError):
        window[4]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        window.version = 5  # type: ignore[misc]


def test_a_window_stays_as_it_was(api: Api) -> None:
    """A window that was taken does not follow what happens later."""
    memory = api.message_window(max_messages=2)
    memory.add(UserMessage("1"))
    before = memory.window()
    memory.extend([AssistantMessage("2"), UserMessage("3")])
    assert ([UserMessage("1")], 1) == (before.messages(), before.version)


def test_what_a_window_says(api: Api, store: ChatMemoryStore) -> None:
    """Version, tokens, limit, system message and whether it is over budget; the shortcuts say the same."""
    memory = api.token_window("c", max_tokens=40, reserve_tokens=10, counter=SizeCounter(), store=store)
    memory.add(SystemMessage("s:5"))
    memory.extend([UserMessage("u:5"), AssistantMessage("a:5")])
    window = memory.window()
    assert (2, 18, Limit(tokens=30), False) == (window.version, window.tokens, window.limit, window.over_budget)
    assert SystemMessage("s:5") == window.system
    assert (window.version, window.tokens, window.system, window.over_budget) == (
        memory.version,
        memory.tokens,
        memory.system,
        memory.over_budget,
    )


def test_an_empty_window(api: Api, store: ChatMemoryStore) -> None:
    """R1: a conversation that nobody wrote to has version 0 and costs nothing, not even a request's overhead."""
    counted = api.token_window("c", max_tokens=40, counter=SizeCounter(), store=store)
    assert (0, 0, None, False) == (counted.version, counted.tokens, counted.system, counted.over_budget)
    uncounted = api.message_window("c", max_messages=4, store=store)
    assert (None, [], []) == (uncounted.tokens, uncounted.messages(), uncounted.history())
    assert store.load("c") is None


def test_over_budget(api: Api) -> None:
    """R1: with "keep" a window may hold more than its limit, and says so."""
    memory = api.token_window(max_tokens=10, counter=SizeCounter(), overflow="keep")
    memory.add(UserMessage("u:50"))
    assert (53, True) == (memory.tokens, memory.over_budget)
    memory.clear()
    assert not memory.over_budget


def test_the_history_in_pages(api: Api, store: ChatMemoryStore) -> None:
    """Pages follow each other by seq, whether the entries are in the window or not, each with its life."""
    memory = api.message_window("c", max_messages=2, store=store)
    memory.extend(UserMessage(str(number)) for number in range(7))
    pages: list[list[int]] = []
    while page := memory.history(after=pages[-1][-1] if pages else 0, limit=3):
        pages.append([entry.seq for entry in page])
    assert [[1, 2, 3], [4, 5, 6], [7]] == pages
    assert ["budget"] * 5 + [None] * 2 == [entry.reason for entry in memory.history()]
    assert [] == memory.history(after=7)
    assert [] == memory.history(after=10**9)


@pytest.mark.parametrize(
    ("asked", "field"),
    [({"after": -1}, "after"), ({"after": True}, "after"), ({"limit": 0}, "limit"), ({"limit": -1}, "limit")],
)
def test_a_wrong_page(api: Api, store: ChatMemoryStore, asked: dict[str, Any], field: str) -> None:
    """A negative limit never means everything: what is no page is refused by name."""
    memory = api.message_window("c", max_messages=2, store=store)
    memory.add(UserMessage("1"))
    with pytest.raises(InvalidArgumentError) as caught:
        memory.history(**asked)
    assert field == caught.value.field


def test_the_history_remembers_the_life_of_an_entry(api: Api, store: ChatMemoryStore) -> None:
    """R9: each entry has the versions of its coming and leaving, and the reason."""
    memory = api.message_window("c", max_messages=3, store=store)
    memory.add(SystemMessage("s"))
    memory.add(UserMessage("1"))
    memory.add(SystemMessage("t"))
    memory.add(ToolMessage("stray", tool_call_id="nobody"))
    memory.clear()
    memory.add(UserMessage("2"))
    expected = [
        (1, 1, 3, "replaced"),
        (2, 2, 5, "cleared"),
        (3, 3, 5, "cleared"),
        (4, 4, 4, "orphan"),
        (5, 6, None, None),
    ]
    assert expected == [(entry.seq, entry.entered, entry.left, entry.reason) for entry in memory.history()]


def test_every_window_there_was(api: Api, store: ChatMemoryStore) -> None:
    """`window_at` gives, for each version, the messages, tokens and version that the memory showed then."""
    memory = api.token_window("c", max_tokens=33, counter=SizeCounter(), store=store)
    shown: dict[int, tuple[object, ...]] = {}

    def note() -> None:
        window = memory.window()
        shown[window.version] = ([entry.seq for entry in window], window.messages(), window.tokens)

    note()
    for message in [SystemMessage("s:5"), *EXCHANGE, AssistantMessage("a:5"), SystemMessage("t:8"), UserMessage("w:9")]:
        memory.add(message)
        note()
    memory.set(memory.messages()[:2])
    note()
    memory.clear()
    note()
    assert list(range(11)) == list(shown)
    for version, then in shown.items():
        window = memory.window_at(version)
        assert then == ([entry.seq for entry in window], window.messages(), window.tokens)
        assert version == window.version


@pytest.mark.parametrize("version", [-1, 3, 10**9])
def test_a_version_that_is_not_there(api: Api, store: ChatMemoryStore, version: int) -> None:
    """A version that the conversation does not have is not in its history."""
    memory = api.message_window("c", max_messages=3, store=store)
    memory.add(UserMessage("1"))
    memory.add(UserMessage("2"))
    with pytest.raises(NotInHistoryError):
        memory.window_at(version)


def test_the_window_of_nothing(api: Api, store: ChatMemoryStore) -> None:
    """Version 0 is the empty window of any conversation, also of one that is not there."""
    assert [] == api.message_window("c", max_messages=3, store=store).window_at(0).messages()


def test_refresh_shows_what_others_added(api: Api, store: ChatMemoryStore) -> None:
    """Two objects of one id: `messages` is as of the object's own last operation, or its `refresh`."""
    mine, other = (api.message_window("c", max_messages=3, store=store) for _ in range(2))
    assert [] == mine.messages()
    other.add(UserMessage("1"))
    assert [] == mine.messages()
    assert [UserMessage("1")] == mine.refresh().messages()
    assert [UserMessage("1")] == mine.messages()


def test_two_objects_see_each_others_messages(api: Api, store: ChatMemoryStore) -> None:
    """An add of one is planned on what the other added meanwhile; seqs and versions are of the conversation."""
    mine, other = (api.message_window("c", max_messages=3, store=store) for _ in range(2))
    for number in range(4):
        (mine, other)[number % 2].add(UserMessage(str(number)))
    assert ["1", "2", "3"] == [message.text for message in other.messages()]
    assert ["0", "1", "2"] == [message.text for message in mine.messages()]
    assert [1, 2, 3, 4] == [entry.entered for entry in mine.history()]


def test_an_id_of_its_own(api: Api, store: ChatMemoryStore) -> None:
    """Memories that were given no id share nothing, though they share a store."""
    mine, other = (api.message_window(max_messages=3, store=store) for _ in range(2))
    mine.add(UserMessage("1"))
    assert mine.id != other.id
    assert [] == other.refresh().messages()
    assert [UserMessage("1")] == api.message_window(mine.id, max_messages=3, store=store).messages()


def test_reprs_show_no_conversation(api: Api) -> None:
    """Reprs give ids and counts, never conversation text."""
    memory = api.token_window("c", max_tokens=99, counter=SizeCounter())
    change = memory.add(UserMessage("secret:9"))
    shown = [memory, change, memory.window(), memory.window()[0], memory.messages()]
    assert "secret" not in repr(shown)
    assert "'c'" in repr(memory)

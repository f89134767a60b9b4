"""A conversation that is opened again, under the same settings or others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import frozen

from chatmemory import (
    AssistantMessage,
    ChatMemory,
    Limit,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    WindowOverflowError,
)
from tests.conversations import SizeCounter
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore
from tests.oracle import check_window

TALK: list[Message] = [
    SystemMessage("s:10"),
    UserMessage("u:10"),
    AssistantMessage("c:10", tool_calls=[ToolCall("c1", "f", "{'not': json"), ToolCall(None, "g")]),
    UserMessage("wait:10", name="Ann"),
    ToolMessage("r:10", tool_call_id="c1"),
    ToolMessage("r:10", tool_call_id=None, is_error=True),
    AssistantMessage(None, tool_calls=[ToolCall("open", "f")], refusal="n:0", extra={"x": [1, None]}),
    SystemMessage("t:12"),
    UserMessage("v:10"),
    ToolMessage("late:10", tool_call_id="open"),
    AssistantMessage("a:10"),
]


class TextCounter(SizeCounter):
    """Counts nothing for a message without text."""

    def count(self, message: Message) -> int:
        """Return the message's size."""
        return super().count(message) if message.text else 0


def facts(memory: ChatMemory) -> tuple[object, ...]:
    """What a memory shows of itself."""
    window = memory.window()
    entries = [(entry.seq, entry.message, entry.tokens, entry.kind, entry.entered) for entry in window]
    return entries, window.version, window.tokens, window.limit, window.over_budget


@pytest.mark.parametrize("max_tokens", [13, 40, 60, 80, 200])
def test_a_memory_that_was_closed_is_the_same(api: Api, place: Place, max_tokens: int) -> None:
    """Closed and opened after each message, a memory is as one that never closed, without one call to the counter."""
    living = api.token_window("living", max_tokens=max_tokens, counter=TextCounter())
    for message in TALK[1:]:
        counter = TextCounter()
        again = api.token_window("c", max_tokens=max_tokens, counter=counter, store=place.open())
        assert _outcome(living, message) == _outcome(again, message)
        place.close()
        locked = TextCounter()
        locked.locked = True
        opened = api.token_window("c", max_tokens=max_tokens, counter=locked, store=place.open())
        assert facts(living) == facts(opened)
        assert [] == check_window(opened.messages())
        assert len(living.history()) == len(opened.history())


def _outcome(memory: ChatMemory, message: Message) -> tuple[object, ...]:
    try:
        change = memory.add(message)
    except WindowOverflowError as error:
        return (str(error),)
    removed = [(gone.seq, gone.reason, gone.entered, gone.left, gone.tokens) for gone in change.removed]
    added = [entry.seq for entry in change.added]
    return change.version, change.seq, added, removed, change.refused, change.tokens, change.oversize


def test_guards_and_calls_live_on(api: Api, place: Place) -> None:
    """What waits, what is unseen, and the request are known after a restart: the result finds its call."""
    first = api.message_window("c", max_messages=3, store=place.open())
    first.extend([UserMessage("u"), AssistantMessage(None, tool_calls=[ToolCall("c1", "f")])])
    place.close()
    second = api.message_window("c", max_messages=3, store=place.open())
    change = second.add(ToolMessage("r", tool_call_id="c1"))
    assert [3] == [entry.seq for entry in change.added]
    place.close()
    third = api.message_window("c", max_messages=3, store=place.open())
    assert [(2, "budget"), (3, "budget")] == [
        (gone.seq, gone.reason) for gone in third.add(AssistantMessage("a")).removed
    ]
    assert ["u", "a"] == [message.text for message in third.messages()]


def test_opening_alone_writes_nothing(api: Api, place: Place) -> None:
    """Opening and looking is one load and no write: the history is not written again, the version stays."""
    api.message_window("c", max_messages=9, store=place.open()).extend([UserMessage("u"), AssistantMessage("a")])
    for _ in range(3):
        watched = WatchedStore(place.open())
        memory = api.message_window("c", max_messages=9, store=watched)
        assert 2 == len(memory.messages())
        assert (1, ["load"]) == (memory.version, watched.calls)
        assert 2 == len(memory.history())


@frozen
class Opening:
    """What opening under a smaller limit gives. Stored: S10, U10, C10 with its R20 (unseen), 53 tokens."""

    overflow: str
    max_tokens: int
    window: tuple[int, ...] | None
    reasons: tuple[str, ...] = ()
    version: int = 2


OPENINGS = [
    Opening("evict", 53, (1, 2, 3, 4), version=1),
    Opening("evict", 35, (1, 2), ("oversize", "oversize")),
    Opening("evict", 22, (1,), ("oversize", "oversize", "oversize")),
    Opening("evict", 12, None),
    Opening("raise", 35, (1, 2), ("oversize", "oversize")),
    Opening("raise", 12, None),
    Opening("keep", 35, (1, 2, 3, 4), version=1),
    Opening("keep", 12, (1, 2, 3, 4), version=1),
]
EXCHANGE: list[Message] = [
    SystemMessage("s:10"),
    UserMessage("u:10"),
    AssistantMessage("c:10", tool_calls=[ToolCall("c1", "f")]),
    ToolMessage("r:20", tool_call_id="c1"),
]


@pytest.mark.parametrize("opening", OPENINGS, ids=lambda one: f"{one.overflow} {one.max_tokens}")
def test_opening_under_a_smaller_limit(api: Api, place: Place, opening: Opening) -> None:
    """R6: "evict" and "raise" cut in a change of its own, "keep" cuts nothing; too large a system message raises."""
    settings: dict[str, Any] = {"counter": SizeCounter(), "overflow": opening.overflow}
    api.token_window("c", max_tokens=90, counter=SizeCounter(), store=place.open()).extend(EXCHANGE)
    place.close()
    memory = api.token_window("c", max_tokens=opening.max_tokens, store=place.open(), **settings)
    if opening.window is None:
        with pytest.raises(WindowOverflowError) as caught:
            memory.window()
        assert (13, opening.max_tokens) == (caught.value.needed, caught.value.allowed)
        assert [None] * 4 == [entry.reason for entry in memory.history()]
        return
    assert opening.window == tuple(entry.seq for entry in memory.window())
    assert (opening.version, Limit(tokens=opening.max_tokens)) == (memory.version, memory.window().limit)
    assert opening.reasons == tuple(entry.reason for entry in memory.history() if entry.reason)
    assert (memory.window().tokens > opening.max_tokens) is memory.over_budget  # type: ignore[operator]
    assert 4 == len(memory.window_at(1))


@pytest.mark.parametrize(
    "use",
    [
        lambda memory: memory.messages(),
        lambda memory: memory.add(SystemMessage("s:10")),
        lambda memory: memory.refresh(),
        lambda memory: memory.tokens,
    ],
)
def test_the_first_operation_cuts(api: Api, place: Place, use: Callable[[ChatMemory], Any]) -> None:
    """Whatever the first operation is, it cuts to the limit first, and commits that: every other reader sees it."""
    store = place.open()
    api.token_window("c", max_tokens=90, counter=SizeCounter(), store=store).extend(EXCHANGE)
    use(api.token_window("c", max_tokens=35, counter=SizeCounter(), store=store))
    assert [1, 2] == [entry.seq for entry in store.window_at("c", 2)]


def test_a_cut_goes_down_to_the_mark(api: Api, place: Place) -> None:
    """R7: opening under a smaller limit evicts down to `evict_to`, oldest first."""
    store = place.open()
    talk = [UserMessage("u:10"), AssistantMessage("a:10"), UserMessage("v:10"), AssistantMessage("b:10")]
    api.token_window("c", max_tokens=90, counter=SizeCounter(), store=store).extend(talk)
    memory = api.token_window("c", max_tokens=40, evict_to=25, counter=SizeCounter(), store=store)
    assert [3, 4] == [entry.seq for entry in memory.window()]
    assert ["budget", "budget"] == [entry.reason for entry in memory.history(limit=2)]


def test_the_add_that_opens_is_a_change_of_its_own(api: Api, place: Place) -> None:
    """The cut is one version and the add another; the add's Change names what the add did only."""
    store = place.open()
    talk = [UserMessage("1"), AssistantMessage("2"), UserMessage("3")]
    api.message_window("c", max_messages=3, store=store).extend(talk)
    memory = api.message_window("c", max_messages=2, store=store)
    change = memory.add(AssistantMessage("4"))
    assert (3, [2]) == (change.version, [gone.seq for gone in change.removed])
    assert [2, 3, None, None] == [entry.left for entry in memory.history()]


def test_a_resize_that_opens_cuts_to_the_new_limit(api: Api, place: Place) -> None:
    """A memory that is opened by `resize` gives up the limit that it was made with, without cutting to it."""
    store = place.open()
    talk = [UserMessage("1"), AssistantMessage("2"), UserMessage("3")]
    api.message_window("c", max_messages=3, store=store).extend(talk)
    memory = api.message_window("c", max_messages=1, store=store)
    assert not memory.resize(max_messages=3)
    assert talk == memory.messages()


def test_a_larger_limit_after_a_restart(api: Api, place: Place) -> None:
    """Settings belong to the object, not to what is stored: a larger limit brings nothing back."""
    store = place.open()
    api.message_window("c", max_messages=2, store=store).extend(TALK[1:4])
    memory = api.message_window("c", max_messages=9, store=store)
    assert 2 == len(memory.messages())
    assert Limit(messages=9) == memory.window().limit

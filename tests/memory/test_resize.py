"""Other limits for a memory that lives."""

from __future__ import annotations

from typing import Any

import pytest

from chatmemory import (
    AssistantMessage,
    InvalidArgumentError,
    Limit,
    SlidingWindow,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    WindowOverflowError,
)
from chatmemory.stores import ChatMemoryStore
from tests.conversations import SizeCounter
from tests.memory.conftest import Api

TALK = [UserMessage("u:10"), AssistantMessage("a:10"), UserMessage("v:10"), AssistantMessage("b:10")]
EXCHANGE = [
    SystemMessage("s:10"),
    UserMessage("u:10"),
    AssistantMessage("c:10", tool_calls=[ToolCall("c1", "f")]),
    ToolMessage("r:20", tool_call_id="c1"),
]


def test_fewer_messages(api: Api, store: ChatMemoryStore) -> None:
    """W11: a smaller message limit cuts at once, in a committed change of its own."""
    memory = api.message_window("c", max_messages=4, store=store)
    memory.extend(TALK)
    change = memory.resize(max_messages=2)
    assert [(1, "budget"), (2, "budget")] == [(gone.seq, gone.reason) for gone in change.removed]
    assert (2, None, Limit(messages=2)) == (change.version, change.seq, change.limit)
    assert [3, 4] == [entry.seq for entry in memory.refresh()]


def test_more_messages(api: Api) -> None:
    """A larger limit changes nothing now, brings nothing back, and counts from the next add on."""
    memory = api.message_window(max_messages=2)
    memory.extend(TALK)
    assert not memory.resize(max_messages=3)
    assert Limit(messages=3) == memory.window().limit
    memory.add(UserMessage("w:10"))
    assert [3, 4, 5] == [entry.seq for entry in memory.window()]


def test_tokens_and_reserve(api: Api) -> None:
    """Both `max_tokens` and `reserve_tokens` move the limit; what is not named stays."""
    memory = api.token_window(max_tokens=100, reserve_tokens=20, counter=SizeCounter())
    memory.extend(TALK)
    memory.resize(max_tokens=60)
    assert Limit(tokens=40) == memory.window().limit
    assert (33, [2, 3, 4]) == (memory.tokens, [entry.seq for entry in memory.window()])
    memory.resize(reserve_tokens=35)
    assert Limit(tokens=25) == memory.window().limit
    assert [3, 4] == [entry.seq for entry in memory.window()]
    memory.resize(reserve_tokens=0)
    assert Limit(tokens=60) == memory.window().limit


def test_all_at_once(api: Api) -> None:
    """Every limit of a window that has them all is set in one call."""
    memory = api.message_window(max_messages=9, max_tokens=100, reserve_tokens=1, counter=SizeCounter())
    memory.resize(max_messages=3, max_tokens=50, reserve_tokens=5)
    assert Limit(tokens=45, messages=3) == memory.window().limit


def test_none_of_them(api: Api) -> None:
    """Without arguments nothing changes."""
    memory = api.message_window(max_messages=9)
    assert not memory.resize()
    assert Limit(messages=9) == memory.window().limit


def test_the_mark_stays_a_share(api: Api) -> None:
    """R7: `evict_to` is kept by a resize, and a number above the new limit counts as the limit."""
    shared = api.memory(strategy=SlidingWindow(10, evict_to=0.7))
    shared.extend(TALK)
    shared.resize(max_messages=3)
    assert [3, 4] == [entry.seq for entry in shared.window()]
    numbered = api.memory(strategy=SlidingWindow(10, evict_to=8))
    numbered.extend(TALK)
    numbered.resize(max_messages=3)
    assert [2, 3, 4] == [entry.seq for entry in numbered.window()]


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"max_messages": 5}, "max_messages"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 10.0}, "max_tokens"),
        ({"max_tokens": float("nan")}, "max_tokens"),
        ({"max_tokens": "10"}, "max_tokens"),
        ({"reserve_tokens": -1}, "reserve_tokens"),
        ({"reserve_tokens": 90}, "reserve_tokens"),
        ({"max_tokens": 10, "reserve_tokens": 10}, "reserve_tokens"),
    ],
)
def test_a_wrong_limit_for_tokens(api: Api, limits: dict[str, Any], field: str) -> None:
    """A limit that the strategy does not have, or a wrong value, is refused by name, and the limit stays."""
    memory = api.token_window(max_tokens=90, counter=SizeCounter())
    memory.extend(TALK)
    with pytest.raises(InvalidArgumentError) as caught:
        memory.resize(**limits)
    assert field == caught.value.field
    assert (Limit(tokens=90), 1) == (memory.window().limit, memory.version)


@pytest.mark.parametrize("limits", [{"max_tokens": 50}, {"reserve_tokens": 1}, {"max_messages": 0}])
def test_a_wrong_limit_for_messages(api: Api, limits: dict[str, Any]) -> None:
    """A message window without a token limit has none to be resized, and nothing to reserve from."""
    memory = api.message_window(max_messages=9)
    with pytest.raises(InvalidArgumentError) as caught:
        memory.resize(**limits)
    assert list(limits) == [caught.value.field]


def test_guarded_units_leave_as_oversize(api: Api, store: ChatMemoryStore) -> None:
    """T12, R6: what is guarded and no longer fits leaves, exchanges first; the Change is true, no message was given."""
    memory = api.token_window("c", max_tokens=100, counter=SizeCounter(), store=store)
    memory.extend(EXCHANGE)
    change = memory.resize(max_tokens=35)
    assert [(3, "oversize"), (4, "oversize")] == [(gone.seq, gone.reason) for gone in change.removed]
    assert (23, 2, None, False) == (change.tokens, change.version, change.seq, change.oversize)
    assert EXCHANGE[:2] == memory.messages()


def test_raise(api: Api, store: ChatMemoryStore) -> None:
    """T12, R6: with "raise" the error says what is needed, and window, version and limit are as before."""
    memory = api.token_window("c", max_tokens=100, counter=SizeCounter(), overflow="raise", store=store)
    memory.extend(EXCHANGE)
    with pytest.raises(WindowOverflowError) as caught:
        memory.resize(max_tokens=35)
    assert (53, 35, "tokens") == (caught.value.needed, caught.value.allowed, caught.value.measure)
    assert (EXCHANGE, 1, Limit(tokens=100)) == (memory.messages(), memory.version, memory.window().limit)
    memory.resize(max_tokens=53)
    assert EXCHANGE == memory.messages()


def test_raise_evicts_what_may_leave(api: Api) -> None:
    """With "raise" too, a smaller limit that leaves room for what must stay evicts the rest."""
    memory = api.token_window(max_tokens=100, counter=SizeCounter(), overflow="raise")
    memory.extend(TALK)
    memory.resize(max_tokens=25)
    assert [3, 4] == [entry.seq for entry in memory.window()]


def test_keep(api: Api) -> None:
    """With "keep" all that may leave leaves, and the rest stays over budget."""
    memory = api.token_window(max_tokens=100, counter=SizeCounter(), overflow="keep")
    memory.extend([SystemMessage("s:10"), *TALK])
    memory.resize(max_tokens=20)
    assert [1, 4] == [entry.seq for entry in memory.window()]
    assert memory.over_budget


@pytest.mark.parametrize("overflow", ["evict", "raise"])
def test_a_system_message_over_the_limit(api: Api, overflow: Any) -> None:
    """R6: a limit below the system message alone raises, and nothing changes."""
    memory = api.token_window(max_tokens=100, counter=SizeCounter(), overflow=overflow)
    memory.extend(EXCHANGE)
    with pytest.raises(WindowOverflowError):
        memory.resize(max_tokens=12)
    assert (EXCHANGE, Limit(tokens=100)) == (memory.messages(), memory.window().limit)

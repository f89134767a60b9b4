"""What an add costs: the same Python work in a window of 100 messages and of 10,000, and after any history.

Counted are calls and executed lines of Python, the library's and its dependencies'. What C does with a tuple (copying)
is not counted: that much an add may do.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest
from attrs import frozen

from chatmemory import ChatMemory, MessageWindowChatMemory, TokenWindowChatMemory
from chatmemory.core.extent import DEAD_ALLOWED
from chatmemory.messages import Message
from chatmemory.stores import InMemoryChatMemoryStore
from tests.conversations import SizeCounter
from tests.core.building import message, messages

SMALL: Final = 100
LARGE: Final = 10_000


@frozen(order=True)
class Work:
    """Python calls and executed lines."""

    calls: int
    lines: int


def work_of(operation: Callable[[], object]) -> Work:
    """Run `operation`, and return what Python did for it."""
    seen = {"call": 0, "line": 0, "return": 0, "exception": 0}

    def trace(_: FrameType, event: str, __: Any) -> Any:
        seen[event] += 1
        return trace

    before = sys.gettrace()
    gc.disable()  # its callbacks are Python too
    sys.settrace(trace)
    try:
        operation()
    finally:
        sys.settrace(before)
        gc.enable()
    return Work(seen["call"], seen["line"])


def chat(length: int) -> list[Message]:
    """So many messages, with an exchange here and there, that end with a call."""
    line = messages("U1 C(x,y) R=x R=y A1 U2 A2 U3 A3 A4") * (length // 10)
    return [message("S"), *line[: length - 2], message("C(a,b)")]


def by_messages(length: int) -> ChatMemory:
    """A memory of messages, with a window of that length and room for more."""
    memory = MessageWindowChatMemory(max_messages=2 * LARGE)
    memory.extend(chat(length))
    return memory


def by_tokens(length: int) -> ChatMemory:
    """A memory of tokens, with a window of that length and room for more."""
    memory = TokenWindowChatMemory(max_tokens=10 * LARGE, counter=SizeCounter())
    memory.extend(chat(length))
    return memory


ADDS: Final = {
    "user": "U9",
    "answer": "A9",
    "context": "X9",
    "call": "C9(c,d)",
    "result of the newest call": "R9=d",
    "orphan": "R9=n",
    "repeated system": "S",
    "another system": "S9",
}


def work_of_adding(label: str, memory: ChatMemory) -> Work:
    """What it costs to add one message."""
    given = message(label)
    return work_of(lambda: memory.add(given))


def by_kind(made: Callable[[int], ChatMemory], length: int) -> dict[str, Work]:
    """What each kind of message costs in a window of that length, one after another."""
    memory = made(length)
    return {kind: work_of_adding(label, memory) for kind, label in ADDS.items()}


@pytest.mark.parametrize("made", [by_messages, by_tokens])
def test_an_add_that_evicts_nothing_costs_the_same_in_a_long_window(made: Callable[[int], ChatMemory]) -> None:
    """No Python loop goes over the window: calls and lines of an add are as many at 10,000 as at 100."""
    by_kind(made, 10)  # what Python does once in a process
    small, large = by_kind(made, SMALL), by_kind(made, LARGE)
    assert small == large
    assert all(work.lines > SMALL // 2 for work in small.values())  # they were counted at all


def test_a_late_result_is_found_by_bisection() -> None:
    """A result of a call in the middle of the window costs a few steps more in a window that is 100 times as long."""
    works = list[Work]()
    for length in (10, SMALL, LARGE):
        memory = by_messages(length)
        memory.add(message("C(late)"))
        memory.extend(chat(length)[1:-1])
        works.append(work_of_adding("R=l", memory))
    assert works[2].lines - works[1].lines < 200


def worn(length: int) -> tuple[ChatMemory, InMemoryChatMemoryStore]:
    """A memory with a window of ten messages behind a history of that length, and its store."""
    store = InMemoryChatMemoryStore()
    memory = MessageWindowChatMemory("worn", max_messages=10, store=store)
    memory.add(message("S"))
    for _ in range(length // 2):
        memory.extend(messages("U A"))
    return memory, store


def test_an_add_that_evicts_costs_the_same_after_a_long_history() -> None:
    """The dearest and the cheapest of 200 adds cost what they cost after 100 messages, when 10,000 went before."""
    series = list[list[Work]]()
    for length in (10, SMALL, LARGE):
        memory, _ = worn(length)
        series.append([work_of_adding("UA"[at % 2], memory) for at in range(200)])
    assert (min(series[1]), max(series[1])) == (min(series[2]), max(series[2]))


def test_the_store_does_not_work_on_the_history() -> None:
    """The dearest load and the dearest look at a version cost the same after 10,000 messages as after 100."""
    dearest = list[tuple[Work, Work]]()
    for length in (10, SMALL, LARGE):
        memory, store = worn(length)
        loads, looks = list[Work](), list[Work]()
        for at in range(200):
            memory.add(message("UA"[at % 2]))
            loads.append(work_of(lambda store=store: store.load("worn")))  # type: ignore[misc] # its default is the type
            looks.append(work_of(lambda store=store, memory=memory: store.window_at("worn", memory.version)))  # type: ignore[misc]
        dearest.append((max(loads), max(looks)))
    assert dearest[1] == dearest[2]


def test_opening_does_not_work_on_the_history() -> None:
    """A memory that opens a conversation reads its window, however much went before."""
    works = list[Work]()
    for length in (10, SMALL, LARGE):
        memory, store = worn(length)
        memory.extend(messages("U A") * 50)
        opened = MessageWindowChatMemory("worn", max_messages=10, store=store)
        works.append(work_of(opened.window))
    assert works[2].lines <= works[1].lines + 10 * DEAD_ALLOWED  # a few lines for each row that is read for nothing

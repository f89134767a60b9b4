"""Errors that mean something else to Python, out of counters and stores: they come out as errors all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from chatmemory import Change, ChatMemory, Message, TokenBudget, TokenWindowChatMemory, UserMessage, select_messages
from tests.conversations import SizeCounter
from tests.memory.watched_store import WatchedStore


class Exhausted:
    """A counter that asks an empty iterator for its next."""

    name = "exhausted"
    overhead = 0

    def count(self, message: Message) -> int:  # noqa: ARG002 - the protocol's name
        """Raise `StopIteration`."""
        nothing: Iterator[int] = iter(())
        return next(nothing)


WRITES: dict[str, Callable[[ChatMemory], Change]] = {
    "add": lambda memory: memory.add(UserMessage("v:5")),
    "extend": lambda memory: memory.extend([UserMessage("v:5")]),
    "set": lambda memory: memory.set([UserMessage("v:5")]),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_counter_that_raises_stop_iteration(name: str) -> None:
    """The end of somebody's iterator is not the end of an operation: an error says where, and nothing changed."""
    memory = TokenWindowChatMemory("c", max_tokens=50, counter=Exhausted())
    with pytest.raises(RuntimeError, match="counter 'exhausted' raised StopIteration"):
        WRITES[name](memory)
    assert ([], []) == (memory.messages(), memory.history())


@pytest.mark.parametrize("operation", ["load", "commit", "history", "window_at", "delete"])
def test_a_store_that_raises_stop_iteration(operation: str) -> None:
    """The same out of a store."""
    store = WatchedStore()
    memory = TokenWindowChatMemory("c", max_tokens=50, counter=SizeCounter(), store=store)
    memory.add(UserMessage("u:5"))
    asking: dict[str, Callable[[], object]] = {
        "load": memory.refresh,
        "commit": lambda: memory.add(UserMessage("v:5")),
        "history": memory.history,
        "window_at": lambda: memory.window_at(1),
        "delete": memory.delete,
    }
    store.failing[operation] = StopIteration()
    with pytest.raises(RuntimeError, match="StopIteration"):
        asking[operation]()
    store.failing.clear()
    assert ["u:5"] == [message.text for message in memory.messages()]


def test_a_selection_that_meets_stop_iteration() -> None:
    """The same without a memory."""
    with pytest.raises(RuntimeError, match="counter 'exhausted' raised StopIteration"):
        select_messages([UserMessage("u:5")], TokenBudget(50), counter=Exhausted())

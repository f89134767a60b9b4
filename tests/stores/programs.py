"""What other processes do in tests: functions that a new interpreter can import."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

from attrs import define, field

from chatmemory import (
    ApproximateCounter,
    AssistantMessage,
    Change,
    ChatMemory,
    Message,
    StoreError,
    TokenWindowChatMemory,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.core.entries import Stamp
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel, add_until_taken
from tests.stores.passing import PassingStore


def add_many(url: str, conversation_id: str, name: str, count: int, start: Barrier) -> None:
    """Add `count` messages to a conversation that others write to as well."""
    with SqlChatMemoryStore(url) as store:
        start.wait()
        for number in range(count):
            add_until_taken(store, conversation_id, f"{name} {number}")


def replace_many(url: str, conversation_id: str, count: int) -> None:
    """Commit `count` changes, each of which removes the two entries there are and adds two."""
    with SqlChatMemoryStore(url) as store:
        for _ in range(count):
            model = ConversationModel.of(store.load(conversation_id))
            gone = dict.fromkeys(model.windows[-1], "budget")
            model.write(store, conversation_id, UserMessage("a"), UserMessage("b"), leaving=gone)


def memory_of(conversation_id: str, store: ChatMemoryStore | None = None) -> ChatMemory:
    """Return the memory that all these writers use: about ten messages fit."""
    return TokenWindowChatMemory(conversation_id, max_tokens=120, counter=ApproximateCounter(), store=store)


def messages_of(name: str) -> Iterator[Message]:
    """Yield what a writer adds, without end: a request, two calls, their results, the answer, each with its number."""
    numbers = count()
    while True:
        request, calling, first, second, answer = (f"{name} {number}" for number in islice(numbers, 5))
        calls = [ToolCall(text, "look_up") for text in (first, second)]
        yield UserMessage(request)
        yield AssistantMessage(calling, tool_calls=calls)
        yield ToolMessage(first, tool_call_id=first)
        yield ToolMessage(second, tool_call_id=second)
        yield AssistantMessage(answer)


def add_through_memory(url: str, conversation_id: str, name: str, count: int, start: Barrier) -> None:
    """Add `count` messages through a memory's own `add`, once all others are ready too."""
    with SqlChatMemoryStore(url) as store:
        memory = memory_of(conversation_id, store)
        start.wait()
        for message in islice(messages_of(name), count):
            memory.add(message)


@define
class Doubting(PassingStore):
    """Passes everything on, and counts the commits of which nobody knew at first whether they happened."""

    doubts: int = field(default=0, init=False)

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Pass it on."""
        try:
            return super().commit(conversation_id, change, expected)
        except StoreError as error:
            self.doubts += error.outcome_unknown
            raise


def acknowledge(url: str, conversation_id: str, name: str, pipe: Connection) -> None:
    """Add until something comes through `pipe`; tell each message's seq and text, and the doubts, once it is added."""
    with pipe, SqlChatMemoryStore(url) as inner:
        store = Doubting(inner)
        memory = memory_of(conversation_id, store)
        for message in messages_of(name):
            pipe.send((memory.add(message).seq, message.text, store.doubts))
            if pipe.poll():
                return

"""What other processes do in tests: functions that a new interpreter can import."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

from chatmemory.messages import UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel, add_until_taken


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

"""What other processes do in tests: functions that a new interpreter can import."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.stores import SqlChatMemoryStore


def add_many(url: str, conversation_id: str, name: str, count: int, start: Barrier) -> None:
    """Add `count` messages, each through the memory's own `add`, to a conversation that others write to as well."""
    with SqlChatMemoryStore(url) as store:
        memory = MessageWindowChatMemory(conversation_id, max_messages=5, store=store)
        start.wait()
        for number in range(count):
            memory.add(UserMessage(f"{name} {number}"))

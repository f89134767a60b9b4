"""Stores: where conversations are kept. Importing this package loads no database library."""

from __future__ import annotations

if __name__ != "chatmemory.stores":
    raise ImportError("import this package as chatmemory.stores")

from typing import TYPE_CHECKING

from chatmemory.stores.base import ChatMemoryStore, ConversationInfo
from chatmemory.stores.in_memory import InMemoryChatMemoryStore

if TYPE_CHECKING:
    from chatmemory.stores.sql import SqlChatMemoryStore

__all__ = ["ChatMemoryStore", "ConversationInfo", "InMemoryChatMemoryStore", "SqlChatMemoryStore"]


def __getattr__(name: str) -> type[SqlChatMemoryStore]:
    if name == "SqlChatMemoryStore":
        from chatmemory.stores.sql import SqlChatMemoryStore  # noqa: PLC0415 - SQLAlchemy takes half a second to import

        return SqlChatMemoryStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

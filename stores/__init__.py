"""Stores: where conversations are kept. Importing this package loads no database library."""

from __future__ import annotations

if __name__ != "chatmemory.stores":
    raise ImportError("import this package as chatmemory.stores")

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from chatmemory.stores._document_back_ends import Document, Documents, VersionedDocuments
from chatmemory.stores._sql_sealing import PayloadCodec
from chatmemory.stores.base import ChatMemoryStore, ConversationInfo
from chatmemory.stores.document import DocumentChatMemoryStore
from chatmemory.stores.in_memory import InMemoryChatMemoryStore

if TYPE_CHECKING:
    from chatmemory.stores._sql_schema import ExactString, schema_metadata
    from chatmemory.stores._sql_upgrade import check_schema, schema_revision, upgrade_schema
    from chatmemory.stores.sql import SqlChatMemoryStore

__all__ = [
    "ChatMemoryStore",
    "ConversationInfo",
    "Document",
    "DocumentChatMemoryStore",
    "Documents",
    "ExactString",
    "InMemoryChatMemoryStore",
    "PayloadCodec",
    "SqlChatMemoryStore",
    "VersionedDocuments",
    "check_schema",
    "schema_metadata",
    "schema_revision",
    "upgrade_schema",
]


_LOADED_WHEN_ASKED_FOR: Final = {  # SQLAlchemy takes half a second to import
    "ExactString": "_sql_schema",
    "SqlChatMemoryStore": "sql",
    "check_schema": "_sql_upgrade",
    "schema_metadata": "_sql_schema",
    "schema_revision": "_sql_upgrade",
    "upgrade_schema": "_sql_upgrade",
}


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_ASKED_FOR:
        return getattr(import_module(f"{__name__}.{_LOADED_WHEN_ASKED_FOR[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

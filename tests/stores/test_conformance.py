"""Every back end of ours passes the suite that is shipped for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from sqlalchemy import Engine, StaticPool, create_engine

from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore
from chatmemory.testing.store_conformance import StoreConformance


class TestInMemoryStore(StoreConformance):
    """The store that lives as long as its object."""

    data_outlives_store: ClassVar[bool] = False

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a new store; there is no place."""
        assert place.is_dir()
        return InMemoryChatMemoryStore()


class TestSqliteFile(StoreConformance):
    """SQLite in a file, with an engine of the store's own."""

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a store on one file."""
        return SqlChatMemoryStore(f"sqlite:///{place}/chat.db")


class TestSqliteInMemory(StoreConformance):
    """SQLite in memory, with an engine of the store's own."""

    data_outlives_store: ClassVar[bool] = False

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a store with a database of its own."""
        assert place.is_dir()
        return SqlChatMemoryStore("sqlite://")


class TestEngineOfCaller(StoreConformance):
    """SQLite in a file, with an engine that the caller made with default settings and that several stores share."""

    engines: ClassVar[dict[Path, Engine]] = {}

    @pytest.fixture(autouse=True)
    def _close_engines(self) -> Iterator[None]:
        yield
        for engine in self.engines.values():
            assert engine.pool.status().endswith("Current Checked out connections: 0")
            engine.dispose()
        self.engines.clear()

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store on the place's engine."""
        if place not in self.engines:
            self.engines[place] = create_engine(f"sqlite:///{place}/chat.db")
        return SqlChatMemoryStore(self.engines[place])


class TestSharedConnection(StoreConformance):
    """SQLite in memory, with an engine that the caller made and whose one connection all stores and threads share."""

    engines: ClassVar[dict[Path, Engine]] = {}

    @pytest.fixture(autouse=True)
    def _close_engines(self) -> Iterator[None]:
        yield
        for engine in self.engines.values():
            engine.dispose()
        self.engines.clear()

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store on the place's engine."""
        if place not in self.engines:
            self.engines[place] = create_engine(
                "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
            )
        return SqlChatMemoryStore(self.engines[place])

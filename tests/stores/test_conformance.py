"""Every back end of ours passes the suite that is shipped for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy import URL, Engine, StaticPool, create_engine, make_url

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


class OnServer(StoreConformance):
    """A store on a server's database: one place is one database."""

    urls: ClassVar[dict[Path, str]] = {}

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store on the place's database."""
        return SqlChatMemoryStore(self.urls[place])


@pytest.mark.server
class TestPostgreSql(OnServer):
    """PostgreSQL, with an engine of the store's own."""

    @pytest.fixture(autouse=True)
    def _database(self, postgresql_url: str, tmp_path: Path) -> Iterator[None]:
        self.urls[tmp_path] = postgresql_url
        yield
        del self.urls[tmp_path]


@pytest.mark.server
class TestMariaDb(OnServer):
    """MariaDB, with an engine of the store's own."""

    @pytest.fixture(autouse=True)
    def _database(self, mariadb_url: str, tmp_path: Path) -> Iterator[None]:
        self.urls[tmp_path] = mariadb_url
        yield
        del self.urls[tmp_path]


class OnEngineOfCaller(StoreConformance):
    """A store on a caller's engine, whose own settings would get in the way of a store that relied on them."""

    engines: ClassVar[dict[Path, Engine]] = {}

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store on the place's engine."""
        return SqlChatMemoryStore(self.engines[place])

    def lend(self, place: Path, url: URL, **settings: Any) -> Iterator[None]:
        """Make an engine, and see that every connection comes back to it."""
        engine = self.engines[place] = create_engine(url, **settings)
        yield
        assert engine.pool.status().endswith("Current Checked out connections: 0")
        engine.dispose()
        del self.engines[place]


@pytest.mark.server
class TestPostgreSqlEngineOfCaller(OnEngineOfCaller):
    """PostgreSQL, serialisable, as the caller's own transactions want it."""

    @pytest.fixture(autouse=True)
    def _engine(self, postgresql_url: str, tmp_path: Path) -> Iterator[None]:
        url = make_url(postgresql_url).set(drivername="postgresql+psycopg")
        yield from self.lend(tmp_path, url, isolation_level="SERIALIZABLE")


@pytest.mark.server
class TestMariaDbEngineOfCaller(OnEngineOfCaller):
    """MariaDB, with default settings."""

    @pytest.fixture(autouse=True)
    def _engine(self, mariadb_url: str, tmp_path: Path) -> Iterator[None]:
        yield from self.lend(tmp_path, make_url(mariadb_url).set(drivername="mariadb+pymysql"))

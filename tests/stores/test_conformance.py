"""Every back end of ours passes the suite that is shipped for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from attrs import frozen
from sqlalchemy import Engine, StaticPool, create_engine, make_url

from chatmemory.stores import ChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore, upgrade_schema
from chatmemory.stores._sql_schema import changes, conversations, messages
from chatmemory.testing.store_conformance import StoreConformance
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql


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


@frozen
class Kept:
    """A database of a server with its tables, for all tests of this file.

    Attributes:
        engine: An engine of a caller for it.
    """

    engine: Engine

    @classmethod
    @contextmanager
    def on(cls, server: PostgreSql | MariaDb, driver: str, **settings: Any) -> Iterator[Self]:
        """Make one, and see at the end that every connection has come back to the engine."""
        url = server.new_database()
        upgrade_schema(url)
        engine = create_engine(make_url(url).set(drivername=driver), **settings)
        yield cls(engine)
        assert engine.pool.status().endswith("Current Checked out connections: 0")
        engine.dispose()
        server.drop_database(url)

    def empty(self) -> None:
        """Let the next test find no row."""
        with self.engine.begin() as connection:
            for table in (conversations, messages, changes):
                connection.execute(table.delete())


@pytest.fixture(scope="module")
def kept_postgresql(postgresql_server: PostgreSql) -> Iterator[Kept]:
    """A database of PostgreSQL; the caller's own transactions are serialisable."""
    with Kept.on(postgresql_server, "postgresql+psycopg", isolation_level="SERIALIZABLE") as kept:
        yield kept


@pytest.fixture(scope="module")
def kept_mariadb(mariadb_server: MariaDb) -> Iterator[Kept]:
    """A database of MariaDB; the caller's engine has default settings."""
    with Kept.on(mariadb_server, "mariadb+pymysql") as kept:
        yield kept


class OnServer(StoreConformance):
    """A store on a server's database, which each test finds empty. One of 60 ms for each test would take a minute."""

    kept: ClassVar[Kept]

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store with an engine of its own."""
        assert place.is_dir()
        return SqlChatMemoryStore(self.kept.engine.url)

    def lend(self, kept: Kept) -> Iterator[None]:
        """Let one test have the database."""
        type(self).kept = kept
        yield
        kept.empty()


@pytest.mark.server
class TestPostgreSql(OnServer):
    """PostgreSQL, with an engine of the store's own."""

    @pytest.fixture(autouse=True)
    def _database(self, kept_postgresql: Kept) -> Iterator[None]:
        yield from self.lend(kept_postgresql)


@pytest.mark.server
class TestMariaDb(OnServer):
    """MariaDB, with an engine of the store's own."""

    @pytest.fixture(autouse=True)
    def _database(self, kept_mariadb: Kept) -> Iterator[None]:
        yield from self.lend(kept_mariadb)


class OnEngineOfCaller(OnServer):
    """A store on a caller's engine, whose own settings would get in the way of a store that relied on them."""

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store on the engine."""
        assert place.is_dir()
        return SqlChatMemoryStore(self.kept.engine)


@pytest.mark.server
class TestPostgreSqlEngineOfCaller(OnEngineOfCaller):
    """PostgreSQL, serialisable, as the caller's own transactions want it."""

    @pytest.fixture(autouse=True)
    def _database(self, kept_postgresql: Kept) -> Iterator[None]:
        yield from self.lend(kept_postgresql)


@pytest.mark.server
class TestMariaDbEngineOfCaller(OnEngineOfCaller):
    """MariaDB, with default settings."""

    @pytest.fixture(autouse=True)
    def _database(self, kept_mariadb: Kept) -> Iterator[None]:
        yield from self.lend(kept_mariadb)

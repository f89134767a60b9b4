"""Connections to servers: what an add costs on them, and how they come back to a caller, also from a fork or dead."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, make_url

from chatmemory import MessageWindowChatMemory, StoreError, UserMessage
from chatmemory.errors import ConflictError
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.stores._sql_engine import engine_for
from chatmemory.testing.changes import ConversationModel, add_until_taken
from chatmemory.testing.store_entries import agree, numbered
from tests.endurance.writing import open_connections
from tests.servers.mariadb import MariaDb
from tests.stores.test_passing_errors import DRIVERS, another, until

pytestmark = pytest.mark.server


@contextmanager
def lent(url: str, **settings: Any) -> Iterator[Engine]:
    """A caller's engine."""
    address = make_url(url)
    engine = create_engine(address.set(drivername=DRIVERS[address.drivername]), **settings)
    try:
        yield engine
    finally:
        engine.dispose()


def questions(server: MariaDb) -> int:
    """How many statements the server has been sent, this one included."""
    connection = server.connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Questions'")
            return int(cursor.fetchone()[1])
    finally:
        connection.close()


@pytest.mark.parametrize("leaving", [1, 50])
def test_round_trips_of_an_add(mariadb_server: MariaDb, mariadb_url: str, leaving: int) -> None:
    """An add to MariaDB is five round trips, of which COMMIT is one, however many messages leave for it."""
    with SqlChatMemoryStore(mariadb_url) as store:
        memory = MessageWindowChatMemory("c", max_messages=60, evict_to=61 - leaving, store=store)
        memory.extend([UserMessage(f"u {number}") for number in range(60)])
        before = questions(mariadb_server)
        silence = questions(mariadb_server) - before  # what asking costs
        before = questions(mariadb_server)
        change = memory.add(UserMessage("v"))
        assert 5 == questions(mariadb_server) - before - silence
    assert leaving == len(change.removed)


SETTINGS = [
    ("postgresql", {}),
    ("postgresql", {"isolation_level": "AUTOCOMMIT"}),
    ("postgresql", {"isolation_level": "REPEATABLE READ"}),
    ("postgresql", {"isolation_level": "SERIALIZABLE"}),
    ("mariadb", {}),
    ("mariadb", {"isolation_level": "AUTOCOMMIT"}),
    ("mariadb", {"isolation_level": "SERIALIZABLE"}),
]


LEVEL = {
    "postgresql": "SHOW transaction_isolation",
    "mariadb": "SELECT CONCAT(@@session.tx_isolation, ' ', @@session.autocommit)",
}


def state_of(engine: Engine) -> list[Any]:
    """What a transaction on the engine's only connection is like, and whether a statement begins one."""
    connection = engine.raw_connection()
    try:
        with closing(connection.cursor()) as cursor:
            cursor.execute(LEVEL[engine.dialect.name])
            return [cursor.fetchone(), getattr(connection.driver_connection, "autocommit", None)]
    finally:
        connection.close()


@pytest.mark.parametrize(("server", "settings"), SETTINGS)
def test_a_callers_connection_comes_back_as_it_was(
    request: pytest.FixtureRequest, server: str, settings: dict[str, Any]
) -> None:
    """Whatever an engine's isolation level is, the store works on it, and its connection is as it was before."""
    url: str = request.getfixturevalue(f"{server}_url")
    with (
        lent(url, pool_size=1, max_overflow=0, **settings) as engine,
        SqlChatMemoryStore(engine) as store,
    ):
        before, model = state_of(engine), ConversationModel()
        model.write(store, "c", *numbered(3))
        assert before == state_of(engine)
        agree(store, "c", model)
        assert before == state_of(engine)
        with pytest.raises(ConflictError):
            store.commit("c", model.adding(UserMessage("u")), ConversationModel().stamp)
        assert before == state_of(engine)


def test_a_lock_is_waited_for_as_long_as_the_store_waits(mariadb_url: str) -> None:
    """MariaDB gives up a lock when the store does, also where the URL has an `init_command` of its own."""
    url = make_url(mariadb_url).update_query_dict({"init_command": "SET SESSION max_statement_time = 70"})
    engine, _ = engine_for(url, wait_seconds=8.5)
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT @@innodb_lock_wait_timeout, @@max_statement_time").one()
    engine.dispose()
    assert (9, 70.0) == tuple(found)


CONNECTIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = '{}' AND id <> connection_id()",
}
END = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL CONNECTION {}"}


def end_all_others(url: str) -> None:
    """Let the server end every connection to the database, and wait until it has."""
    address = make_url(url)
    server = address.get_backend_name()
    with another(url) as connection:

        def others() -> list[int]:
            found = connection.exec_driver_sql(CONNECTIONS[server].format(address.database)).scalars().all()
            connection.rollback()  # PostgreSQL shows a transaction one state of its activities
            return list(found)

        for number in others():
            connection.exec_driver_sql(END[server].format(number)).close()
        until(lambda: not others())


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_one_dead_connection_tells_of_all(request: pytest.FixtureRequest, server: str) -> None:
    """Of connections that died together in the pool one is met; the call gets a new one, and so does the next."""
    url: str = request.getfixturevalue(f"{server}_url")
    met: list[object] = []
    with lent(url) as engine, SqlChatMemoryStore(engine) as store:
        event.listen(engine, "invalidate", lambda *_: met.append(1))
        model = ConversationModel()
        model.write(store, "c", *numbered(3))
        open_connections(store, 4)
        end_all_others(url)
        model.write(store, "c", UserMessage("u"))
        agree(store, "c", model)
    assert [1] == met


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_forked_child_has_connections_of_its_own(request: pytest.FixtureRequest, server: str) -> None:
    """A store that was used before a fork works in parent and child at once, and after the child's end."""
    fork = multiprocessing.get_context("fork")
    with SqlChatMemoryStore(request.getfixturevalue(f"{server}_url")) as store:
        add_until_taken(store, "c", "first")

        def add(name: str) -> None:
            for number in range(20):
                add_until_taken(store, "c", f"{name} {number}")

        child = fork.Process(target=add, args=("child",))
        child.start()
        add("parent")
        child.join()
        assert 0 == child.exitcode
        add_until_taken(store, "c", "last")
        assert 42 == len(store.history("c"))


def test_a_way_to_log_in_that_the_driver_cannot_go(
    mariadb_server: MariaDb, mariadb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where logging in needs a package that is not installed, that is a `StoreError` whose cause names it."""
    monkeypatch.setitem(sys.modules, "nacl", None)
    mariadb_server.execute(
        "INSTALL SONAME 'auth_ed25519'",
        "CREATE USER modern@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('swordfish')",
    )
    url = make_url(mariadb_url).set(username="modern", password="swordfish")  # noqa: S106 - the line above makes it
    try:
        with SqlChatMemoryStore(url) as store, pytest.raises(StoreError, match="the cause names the package") as caught:
            store.load("c")
    finally:
        mariadb_server.execute("DROP USER modern@'127.0.0.1'", "UNINSTALL SONAME 'auth_ed25519'")
    assert "pynacl" in str(caught.value.__cause__)
    assert "swordfish" not in str(caught.value)

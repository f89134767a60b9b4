"""Errors that pass: the database really makes them, and a memory's add goes on through them, or says what they were."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, make_url, text

from chatmemory import ChatMemory, MessageWindowChatMemory, StoreError, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from tests.memory.watched_store import WatchedStore
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql
from tests.servers.proxy import Proxy

DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql", "sqlite": "sqlite"}
BOUND_SECONDS = 30


@contextmanager
def another(url: str) -> Iterator[Connection]:
    """Another program's connection, with a transaction of its own, which is rolled back."""
    address = make_url(url)
    engine = create_engine(address.set(drivername=DRIVERS[address.drivername]))
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def run(url: str, *statements: str) -> None:
    """Run statements as another program would, and commit them."""
    with another(url) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement).close()
        connection.commit()


def until(condition: Callable[[], bool]) -> None:
    """Ask until it is so."""
    bound = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < bound, "it did not come about"


def texts(memory: ChatMemory) -> list[str]:
    """What the history says."""
    return [entry.message.text for entry in memory.history()]


def filled(store: Any) -> ChatMemory:
    """A full memory: the next add lets message 1 leave."""
    memory = MessageWindowChatMemory("c", max_messages=3, store=store)
    memory.extend([UserMessage(f"u {number}") for number in range(1, 4)])
    return memory


LOCKS = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "UPDATE conversations SET size = size",
    "mariadb": "UPDATE conversations SET size = size",
}


def test_a_lock_that_stays(database_url: str) -> None:
    """A conversation that stays locked: an error that says so within the time set, nothing changed; then it goes on."""
    with (
        SqlChatMemoryStore(database_url, conflict_timeout_seconds=1) as store,
        another(database_url) as other,
    ):
        memory = filled(store)
        other.exec_driver_sql(LOCKS[make_url(database_url).get_backend_name()])
        with pytest.raises(StoreError, match="lock") as caught:
            memory.add(UserMessage("v"))
        assert (True, False) == (caught.value.transient, caught.value.outcome_unknown)
        assert 3 == len(memory.history())
        other.rollback()
        assert 4 == memory.add(UserMessage("v")).seq
        assert 4 == len(memory.history())


def test_a_lock_that_goes(database_url: str) -> None:
    """A conversation that is locked for a while: the add waits, and succeeds."""
    with (
        SqlChatMemoryStore(database_url) as store,
        another(database_url) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        memory = filled(store)
        other.exec_driver_sql(LOCKS[make_url(database_url).get_backend_name()])
        adding = pool.submit(memory.add, UserMessage("v"))
        assert not adding.done()
        other.rollback()
        assert 4 == adding.result().seq


TRIGGERS = {
    "postgresql": """
        CREATE SEQUENCE raised;
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('raised') <= {times} THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = '{code}'; END IF;
            RETURN NEW;
        END $$;
        CREATE CONSTRAINT TRIGGER failing AFTER INSERT ON {table} DEFERRABLE INITIALLY {moment}
        FOR EACH ROW EXECUTE FUNCTION fail();
    """,
    "mariadb": """
        CREATE SEQUENCE raised;
        CREATE TRIGGER failing BEFORE INSERT ON {table} FOR EACH ROW
        IF nextval(raised) <= {times} THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}; END IF;
    """,
}
RAISED = [
    *(("postgresql", code, moment) for code in ("40001", "40P01", "55P03") for moment in ("IMMEDIATE", "DEFERRED")),
    *(("mariadb", code, "IMMEDIATE") for code in ("1213", "1020", "1205")),
]


def let_fail(url: str, times: int, code: str, moment: str) -> None:
    """Let the server refuse the next changes with `code`, when they are written or at their COMMIT."""
    kind = make_url(url).get_backend_name()
    script = TRIGGERS[kind].format(times=times, code=code, moment=moment, table="changes")
    if kind == "postgresql":
        run(url, script)
    else:
        run(url, *(f"{part}" for part in script.split(";\n", 1)))


@pytest.mark.server
@pytest.mark.parametrize(("server", "code", "moment"), RAISED)
def test_a_transaction_that_the_server_gives_up(
    request: pytest.FixtureRequest, server: str, code: str, moment: str
) -> None:
    """Serialisation failures, deadlocks and lock time-outs, at COMMIT too: the same change is sent again, once each."""
    url: str = request.getfixturevalue(f"{server}_url")
    with SqlChatMemoryStore(url) as store:
        watched = WatchedStore(store)
        memory = filled(watched)
        let_fail(url, 3, code, moment)
        watched.calls.clear()
        assert 4 == memory.add(UserMessage("v")).seq
        assert ["commit"] * 4 == watched.calls
        assert ["u 1", "u 2", "u 3", "v"] == texts(memory)


@pytest.mark.server
@pytest.mark.parametrize(("server", "code", "moment"), RAISED)
def test_a_transaction_that_the_server_gives_up_for_good(
    request: pytest.FixtureRequest, server: str, code: str, moment: str
) -> None:
    """Where that goes on for too long, the error says what it was, that it may pass, and that nothing changed."""
    url: str = request.getfixturevalue(f"{server}_url")
    with SqlChatMemoryStore(url, conflict_timeout_seconds=0.3) as store:
        memory = filled(store)
        let_fail(url, 1_000_000, code, moment)
        with pytest.raises(StoreError, match="try again; nothing changed") as caught:
            memory.add(UserMessage("v"))
        assert (True, False) == (caught.value.transient, caught.value.outcome_unknown)
        assert ["u 1", "u 2", "u 3"] == texts(memory)


WAITING = {
    "postgresql": "SELECT count(*) FROM pg_locks WHERE NOT granted",
    "mariadb": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_deadlock(request: pytest.FixtureRequest, server: str) -> None:
    """The add and another program wait for each other; the server ends the add's transaction, and it is sent again."""
    url: str = request.getfixturevalue(f"{server}_url")
    port = make_url(url).port
    assert port is not None
    with SqlChatMemoryStore(url) as direct:
        filled(direct)
    with (
        Proxy(port) as proxy,
        SqlChatMemoryStore(proxy.url(url)) as store,
        another(url) as other,
        another(url) as looking,
        ThreadPoolExecutor(2) as pool,
    ):
        watched = WatchedStore(store)
        memory = MessageWindowChatMemory("c", max_messages=3, store=watched)
        memory.window()
        watched.calls.clear()
        hold = proxy.hold(b"UPDATE messages")
        if server == "postgresql":  # whoever looks first is the one that ends
            other.exec_driver_sql("SET deadlock_timeout = '60s'")
        other.exec_driver_sql("UPDATE messages SET tokens = 1")
        adding = pool.submit(memory.add, UserMessage("v"))
        hold.reached()
        waiting = pool.submit(other.exec_driver_sql, "UPDATE conversations SET owner = NULL")
        until(lambda: bool(looking.execute(text(WAITING[server])).scalar()))
        hold.go_on.set()
        waiting.result(BOUND_SECONDS)
        other.rollback()
        assert 4 == adding.result().seq
        assert ["commit", "commit"] == watched.calls
        assert ["u 1", "u 2", "u 3", "v"] == texts(memory)


def limited(server: PostgreSql | MariaDb, url: str) -> str:
    """A user of the database who may have one connection."""
    address = make_url(url)
    if isinstance(server, PostgreSql):
        server.execute(
            "DROP ROLE IF EXISTS narrow",
            "CREATE ROLE narrow LOGIN CONNECTION LIMIT 1",
        )
        server.execute("GRANT ALL ON SCHEMA public TO narrow", database=str(address.database))
        address = address.set(username="narrow")
    else:
        server.execute(
            "CREATE OR REPLACE USER narrow@'127.0.0.1' IDENTIFIED BY 'narrow' WITH MAX_USER_CONNECTIONS 1",
            "GRANT ALL ON *.* TO narrow@'127.0.0.1'",
            "REVOKE SUPER, CONNECTION ADMIN ON *.* FROM narrow@'127.0.0.1'",
        )
        address = address.set(username="narrow", password="narrow")  # noqa: S106 - the line above makes it
    return address.render_as_string(hide_password=False)


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_too_many_connections(request: pytest.FixtureRequest, server: str) -> None:
    """A server without room for one more connection: another store waits for it, and an impatient one tells."""
    url: str = request.getfixturevalue(f"{server}_url")
    narrow = limited(request.getfixturevalue(f"{server}_server"), url)
    first = SqlChatMemoryStore(narrow)
    with (
        SqlChatMemoryStore(narrow) as second,
        SqlChatMemoryStore(narrow, conflict_timeout_seconds=0.1) as third,
        ThreadPoolExecutor(1) as pool,
    ):
        filled(first)
        with pytest.raises(StoreError, match="more connections") as caught:
            MessageWindowChatMemory("c", max_messages=3, store=third).add(UserMessage("x"))
        assert (True, False) == (caught.value.transient, caught.value.outcome_unknown)
        watched = WatchedStore(second)
        memory = MessageWindowChatMemory("c", max_messages=3, store=watched)
        adding = pool.submit(memory.add, UserMessage("v"))
        until(lambda: watched.calls.count("load") > 1)
        first.close()
        assert 4 == adding.result().seq


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_pool_of_the_caller_that_is_too_small(request: pytest.FixtureRequest, server: str) -> None:
    """Threads that wait for the only connection of a caller's engine get it one after another."""
    address = make_url(request.getfixturevalue(f"{server}_url"))
    engine: Engine = create_engine(address.set(drivername=DRIVERS[server]), pool_size=1, max_overflow=0)
    together = Barrier(4)

    def add(number: int) -> None:
        memory = MessageWindowChatMemory(f"c{number}", max_messages=3, store=store)
        together.wait()
        for _ in range(5):
            memory.add(UserMessage("u"))

    with SqlChatMemoryStore(engine) as store, ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
        assert [5] * 4 == [info.history_size for info in store.conversations()]
    engine.dispose()

"""Writers and servers that are killed with -9: what was acknowledged is there, nothing is half there or twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import make_url

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree, numbered
from tests.endurance.drills import kill_server, kill_writers
from tests.endurance.writing import open_connections
from tests.servers.fixtures import need
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql
from tests.servers.proxy import COMMIT, Proxy

Mortal = PostgreSql | MariaDb


@pytest.fixture(scope="module", params=["PostgreSQL", "MariaDB"])
def mortal(request: pytest.FixtureRequest) -> Iterator[Mortal]:
    """A server that a test may kill."""
    need(request.param)
    with {"PostgreSQL": PostgreSql, "MariaDB": MariaDb}[request.param]() as server:
        yield server


def test_killed_writers_lose_nothing(database_url: str) -> None:
    """Writers killed at any moment: each add that returned is there, none is half there, and others go on."""
    assert 10 == kill_writers(database_url, times=10)["kills"]


@pytest.mark.server
def test_a_killed_server_loses_nothing(mortal: Mortal) -> None:
    """A server killed under load and started again: writers meet no error, nothing acknowledged is lost or doubled."""
    assert 2 == kill_server(mortal, mortal.new_database(), times=2)["kills"]


@pytest.mark.server
def test_connections_that_died_idle_are_replaced(mortal: Mortal) -> None:
    """After a restart every call of the store works at once, however many dead connections its pool holds."""
    with SqlChatMemoryStore(mortal.new_database()) as store:
        model = ConversationModel()
        model.write(store, "c", *numbered(3))
        open_connections(store, 4)
        mortal.kill()
        mortal.start()
        agree(store, "c", model)
        mortal.kill()
        mortal.start()
        model.write(store, "c", UserMessage("u"), leaving={1: "budget"})
        agree(store, "c", model)
        open_connections(store, 4)
        mortal.kill()
        mortal.start()
        assert store.delete("c")
        assert store.load("c") is None


@pytest.mark.server
def test_a_call_while_the_server_is_away_says_so(mortal: Mortal) -> None:
    """A store that cannot reach its server says it may pass; a memory's add waits until the server is back."""
    with SqlChatMemoryStore(mortal.new_database()) as store, ThreadPoolExecutor(1) as pool:
        memory = MessageWindowChatMemory("c", max_messages=3, store=store)
        memory.add(UserMessage("u"))
        mortal.kill()
        adding = pool.submit(memory.add, UserMessage("v"))
        mortal.start()
        assert 2 == adding.result().seq


@pytest.mark.server
@pytest.mark.parametrize("exists", [True, False], ids=["stored", "new"])
def test_an_answer_that_is_lost_is_asked_for_again(mortal: Mortal, *, exists: bool) -> None:
    """The connection is lost in the COMMIT, which then happens while the add tries again: the message is there once."""
    url = mortal.new_database()
    kind = make_url(url).get_backend_name()
    again = b"UPDATE conversations" if exists else b"INSERT INTO conversations"
    with SqlChatMemoryStore(url) as store:
        MessageWindowChatMemory("c" if exists else "other", max_messages=3, store=store).add(UserMessage("u"))
    with Proxy(mortal.port) as proxy, SqlChatMemoryStore(proxy.url(url)) as store, ThreadPoolExecutor(1) as pool:
        memory = MessageWindowChatMemory("c", max_messages=3, store=store)
        before = len(memory.window())
        first = proxy.hold(COMMIT[kind])
        adding = pool.submit(memory.add, UserMessage("v"))
        first.reached()
        second = proxy.hold(again)
        first.cut()
        second.reached()
        first.go_on.set()
        second.go_on.set()
        assert before + 1 == adding.result().seq
        assert before + 1 == len(memory.history())

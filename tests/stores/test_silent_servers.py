"""A server that is stopped in its tracks: connections stay open, the network acknowledges, and nobody answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import make_url

from chatmemory import ChatMemory, MessageWindowChatMemory, StoreError, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from tests.endurance.writing import open_connections
from tests.servers.fixtures import need
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql
from tests.servers.proxy import COMMIT, Proxy

Silent = PostgreSql | MariaDb
WAIT_SECONDS = 1
ENDS_WITHIN_SECONDS = 2 * WAIT_SECONDS + 4
"""Two transactions of an operation, what a new connection may take, and slack for a busy machine."""


@pytest.fixture(scope="module", params=["PostgreSQL", "MariaDB"])
def silent(request: pytest.FixtureRequest) -> Iterator[Silent]:
    """A server that a test may stop in its tracks."""
    need(request.param)
    with {"PostgreSQL": PostgreSql, "MariaDB": MariaDb}[request.param]() as server:
        yield server


@contextmanager
def frozen(server: Silent) -> Iterator[None]:
    """Nobody answers in the block."""
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def memory_in(store: SqlChatMemoryStore) -> ChatMemory:
    """A memory that has added a message."""
    memory = MessageWindowChatMemory("c", max_messages=3, store=store)
    memory.add(UserMessage("first"))
    return memory


def seconds_to_fail(operation: Callable[[], object]) -> tuple[float, StoreError]:
    """Return how long it takes until `operation` gives up, and how it does."""
    began = time.monotonic()
    with pytest.raises(StoreError) as caught:
        operation()
    return time.monotonic() - began, caught.value


@pytest.mark.server
def test_an_operation_ends_in_time(silent: Silent) -> None:
    """Add, load and delete give up within their deadline, however many connections are open, and go on after it."""
    with SqlChatMemoryStore(silent.new_database(), conflict_timeout_seconds=WAIT_SECONDS) as store:
        memory = memory_in(store)
        open_connections(store, 4)
        with frozen(silent):
            for operation in (lambda: memory.add(UserMessage("lost")), memory.refresh, lambda: store.delete("c")):
                seconds, error = seconds_to_fail(operation)
                assert seconds < ENDS_WITHIN_SECONDS
                assert (True, False) == (error.transient, error.outcome_unknown)
        assert 2 == memory.add(UserMessage("second")).seq
        assert ["first", "second"] == [entry.message.text for entry in memory.history()]


@pytest.mark.server
def test_a_new_store_ends_in_time(silent: Silent) -> None:
    """A store that has never connected gives up as well."""
    with SqlChatMemoryStore(silent.new_database(), conflict_timeout_seconds=WAIT_SECONDS) as store:
        with frozen(silent):
            seconds, error = seconds_to_fail(lambda: store.load("c"))
        assert seconds < ENDS_WITHIN_SECONDS
        assert "cannot be reached" in str(error)
        assert store.load("c") is None


@pytest.mark.server
def test_silence_in_a_commit_leaves_the_outcome_unknown(silent: Silent) -> None:
    """A server that falls silent in the COMMIT: the error says that nobody knows, and the same add is not doubled."""
    url = silent.new_database()
    with (
        Proxy(silent.port) as proxy,
        SqlChatMemoryStore(proxy.url(url), conflict_timeout_seconds=WAIT_SECONDS) as store,
        ThreadPoolExecutor(1) as pool,
    ):
        memory = memory_in(store)
        hold = proxy.hold(COMMIT[make_url(url).get_backend_name()])
        failing = pool.submit(seconds_to_fail, lambda: memory.add(UserMessage("second")))
        hold.reached()
        with frozen(silent):
            hold.go_on.set()
            seconds, error = failing.result()
        assert seconds < ENDS_WITHIN_SECONDS
        assert error.outcome_unknown
        assert 2 == memory.add(UserMessage("second")).seq
        assert ["first", "second"] == [entry.message.text for entry in memory.history()]

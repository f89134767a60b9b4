"""Two PostgreSQL servers in synchronous replication: the primary dies, and memories go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from tests.servers.fixtures import need
from tests.servers.ledger import Account, CountingStore, account, writing
from tests.servers.replication import Pair

pytestmark = pytest.mark.server
CONVERSATIONS = ("c1", "c2", "c3")
WAITING = "SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid <> {past}"


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A primary and its standby, which tests kill."""
    need("PostgreSQL")
    with Pair() as pair:
        yield pair


def waiting(pair: Pair, *, past: int = 0) -> int:
    """Return the process whose commit waits for the standby, once there is one that is not `past`."""
    deadline = time.monotonic() + 20
    while not (found := pair.primary.one(WAITING.format(past=past))):
        assert time.monotonic() < deadline, "no commit waits for the standby"
        time.sleep(0.01)
    return int(found)


def test_failover(pair: Pair) -> None:
    """The primary is killed and the standby promoted, twice: nobody hears of it, nothing is lost or doubled."""
    with writing([pair.url], CONVERSATIONS, each=6) as crowd:
        crowd.go_on(5)
        pair.fail_over()
        crowd.go_on(5)
        pair.rejoin()
        pair.fail_over()
        crowd.go_on(5)

    with SqlChatMemoryStore(pair.url) as store:
        found = account(store, crowd)
    assert [] == crowd.errors
    assert Account() == found


def test_what_the_standby_does_not_have_is_not_acknowledged(pair: Pair) -> None:
    """A commit that is stored on the primary alone, since its wait was broken off, is waited for when it is found."""
    with CountingStore(pair.url) as store, ThreadPoolExecutor() as threads:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        memory.add(UserMessage("first"))
        pair.standby.freeze()
        adding = threads.submit(memory.add, UserMessage("second"))
        process = waiting(pair)
        pair.primary.execute(f"SELECT pg_terminate_backend({process})")
        waiting(pair, past=process)
        assert not adding.done()
        pair.standby.thaw()
        assert 2 == adding.result().seq
        assert 1 == len(store.unknown)
        pair.fail_over()
        assert ["first", "second"] == [entry.message.text for entry in store.history("c")]

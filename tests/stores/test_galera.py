"""MariaDB Galera, three nodes that all write: one order, nothing lost, and a clear error where there is no quorum."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import pytest

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from tests.servers.fixtures import need
from tests.servers.galera import Galera, lost_races
from tests.servers.ledger import Account, account, history_of, writing

pytestmark = pytest.mark.server
CONVERSATIONS = ("c1", "c2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Galera]:
    """Three nodes; a test brings back those that it kills."""
    need("MariaDB")
    need("Galera")
    with Galera() as cluster:
        yield cluster


def test_first_use_on_all_nodes_at_once(cluster: Galera) -> None:
    """Six stores, two on each node, whose first message meets a database without tables: all succeed."""
    urls = cluster.new_database() * 2
    start = Barrier(len(urls))

    def begin(number: int) -> int | None:
        with SqlChatMemoryStore(urls[number]) as store:
            memory = MessageWindowChatMemory(f"c{number}", max_messages=9, store=store)
            start.wait()
            return memory.add(UserMessage("first")).seq

    with ThreadPoolExecutor(len(urls)) as threads:
        assert [1] * len(urls) == list(threads.map(begin, range(len(urls))))
    with SqlChatMemoryStore(urls[1]) as store:
        assert [f"c{number}" for number in range(len(urls))] == [info.id for info in store.conversations()]


def test_a_node_is_killed_and_comes_back(cluster: Galera) -> None:
    """Writers on every node on the same conversations hear of no race and of no dead node, and all nodes agree."""
    urls = cluster.new_database()
    *survivors, victim = cluster.nodes
    before = lost_races(survivors)
    with writing(urls, CONVERSATIONS, each=2) as crowd:
        crowd.go_on(5)
        victim.kill()
        victim.start()
        crowd.go_on(5)

    assert before < lost_races(survivors)
    assert [] == crowd.errors
    with ExitStack() as stack:
        stores = [stack.enter_context(SqlChatMemoryStore(url)) for url in urls]
        assert [Account()] * 3 == [account(store, crowd) for store in stores]
        for conversation_id in CONVERSATIONS:
            first, second, third = (history_of(store, conversation_id) for store in stores)
            assert first == second == third

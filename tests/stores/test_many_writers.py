"""Many writers on each database: one conversation by all at once, and conversations that do not wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import make_url

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from tests.endurance.drills import many_writers
from tests.memory.watched_store import WatchedStore
from tests.servers.proxy import COMMIT, Proxy

NEIGHBOURS = ["a", "c4", "c5 ", "c6", "z"]
NEW = ["A", "c", "c5a", "c55", "zz"]


def test_eight_processes_on_one_conversation(database_url: str) -> None:
    """Eight processes add through memories, with evictions: the same as one after another, and no error in any."""
    assert 200 == many_writers(database_url, writers=8, each=25)["adds"]


def test_a_conflict_costs_one_reload(database_url: str) -> None:
    """An add that planned on a stale version loads once, and commits once more."""
    with SqlChatMemoryStore(database_url) as store:
        watched = WatchedStore(store)
        slow = MessageWindowChatMemory("c", max_messages=3, store=watched)
        quick = MessageWindowChatMemory("c", max_messages=3, store=store)
        slow.add(UserMessage("first"))
        quick.add(UserMessage("second"))
        watched.calls.clear()
        slow.add(UserMessage("third"))
        assert ["commit", "load", "commit"] == watched.calls
        assert ["first", "second", "third"] == [entry.message.text for entry in quick.history()]


@contextmanager
def in_mid_commit(url: str, conversation_id: str) -> Iterator[None]:
    """While the block runs, a commit on the conversation has written everything, and waits before its COMMIT."""
    address = make_url(url)
    assert address.port is not None
    with (
        Proxy(address.port) as proxy,
        SqlChatMemoryStore(proxy.url(url)) as store,
        ThreadPoolExecutor(1) as pool,
    ):
        memory = MessageWindowChatMemory(conversation_id, max_messages=3, store=store)
        memory.window()
        hold = proxy.hold(COMMIT[address.get_backend_name()])
        done = pool.submit(memory.extend, [UserMessage(f"slow {number}") for number in range(5)])
        try:
            hold.reached()
            yield
            assert not done.done()
        finally:
            hold.go_on.set()
        assert done.result()


@pytest.mark.server
@pytest.mark.parametrize("exists", [True, False], ids=["stored", "new"])
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_no_lock_between_conversations(request: pytest.FixtureRequest, server: str, *, exists: bool) -> None:
    """While a transaction holds one conversation, others beside it are added to, made, read and deleted."""
    url: str = request.getfixturevalue(f"{server}_url")
    with SqlChatMemoryStore(url, conflict_timeout_seconds=5) as store:
        for name in [*NEIGHBOURS, "c5"] if exists else NEIGHBOURS:
            MessageWindowChatMemory(name, max_messages=3, store=store).extend([UserMessage("u")] * 3)
        with in_mid_commit(url, "c5"):
            for name in [*NEIGHBOURS, *NEW]:
                memory = MessageWindowChatMemory(name, max_messages=3, store=store)
                memory.extend([UserMessage("v"), UserMessage("w")])
                assert (5 if name in NEIGHBOURS else 2) == len(memory.history())
            assert (3 if exists else 0) == len(store.history("c5"))
            assert store.delete(NEIGHBOURS[1])
            assert store.delete(NEIGHBOURS[3])
        assert (8 if exists else 5) == len(store.history("c5"))


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_writer_waits_for_its_own_conversation(request: pytest.FixtureRequest, server: str) -> None:
    """While a transaction holds the conversation, another writer of it waits, and then adds behind it."""
    url: str = request.getfixturevalue(f"{server}_url")
    with SqlChatMemoryStore(url) as store, ThreadPoolExecutor(1) as pool:
        memory = MessageWindowChatMemory("c5", max_messages=3, store=store)
        memory.add(UserMessage("first"))
        with in_mid_commit(url, "c5"):
            waiting = pool.submit(memory.add, UserMessage("last"))
            assert not waiting.done()
        assert 7 == waiting.result().seq

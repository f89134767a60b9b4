"""Several processes on one SQLite file: nothing is lost, nothing is torn, and nobody hears of a locked database."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path
from threading import Timer

import pytest

from chatmemory.messages import UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel, add_until_taken
from tests.endurance.writing import processes, run_all
from tests.stores.programs import add_many, replace_many

SPAWN = multiprocessing.get_context("spawn")


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    """Two processes that add to one conversation: every message is there once, in each one's order."""
    url, each = f"sqlite:///{tmp_path}/chat.db", 40
    start = processes().Barrier(2)

    run_all([(add_many, (url, "c", name, each, start)) for name in ("a", "b")])

    with SqlChatMemoryStore(url) as store:
        history = store.history("c")
    assert list(range(1, 2 * each + 1)) == [entry.seq for entry in history]
    for name in ("a", "b"):
        own = [entry.message.text for entry in history if entry.message.text.startswith(name)]
        assert [f"{name} {number}" for number in range(each)] == own


def test_a_reader_beside_another_process_sees_whole_changes(tmp_path: Path) -> None:
    """While another process writes, each load is one version: its entries and no others."""
    url = f"sqlite:///{tmp_path}/chat.db"
    with SqlChatMemoryStore(url) as store:
        ConversationModel().write(store, "c", UserMessage("a"), UserMessage("b"))
        writer = SPAWN.Process(target=replace_many, args=(url, "c", 60))
        writer.start()
        while writer.is_alive():
            snapshot = store.load("c")
            assert snapshot is not None
            newest = 2 * snapshot.version
            assert [newest - 1, newest] == [entry.seq for entry in snapshot.entries]
        writer.join()
        assert 0 == writer.exitcode
        assert 61 == store.conversations()[0].version


def test_a_locked_file_is_waited_for(tmp_path: Path) -> None:
    """A commit waits while another program holds the lock, and then goes on."""
    path = tmp_path / "chat.db"
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        model = ConversationModel()
        model.write(store, "c", UserMessage("u"))
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        release = Timer(0.2, other.execute, ("COMMIT",))
        release.start()
        model.write(store, "c", UserMessage("v"))
        release.join()
        other.close()
        assert 2 == store.conversations()[0].version


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_a_forked_child_opens_connections_of_its_own(tmp_path: Path) -> None:
    """A store that was used before a fork works in parent and child at once."""
    fork = multiprocessing.get_context("fork")
    with SqlChatMemoryStore(f"sqlite:///{tmp_path}/chat.db") as store:
        add_until_taken(store, "c", "first")

        def add(name: str) -> None:
            for number in range(20):
                add_until_taken(store, "c", f"{name} {number}")

        child = fork.Process(target=add, args=("child",))
        child.start()
        add("parent")
        child.join()
        assert 0 == child.exitcode
        assert 41 == len(store.history("c"))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_what_a_forked_child_writes_outlives_its_parents_store(tmp_path: Path) -> None:
    """The parent's store closes while the child's writes on: the child holds locks of its own, and loses nothing."""
    fork = multiprocessing.get_context("fork")
    url = f"sqlite:///{tmp_path}/chat.db"
    opened, closed = fork.Event(), fork.Event()
    store = SqlChatMemoryStore(url)
    add_until_taken(store, "c", "before")

    def write() -> None:
        add_until_taken(store, "c", "while open")
        opened.set()
        closed.wait()
        add_until_taken(store, "c", "after close")

    child = fork.Process(target=write)
    child.start()
    opened.wait()
    store.close()
    closed.set()
    child.join()

    assert 0 == child.exitcode
    with SqlChatMemoryStore(url) as again:
        assert ["before", "while open", "after close"] == [entry.message.text for entry in again.history("c")]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_a_database_in_memory_is_copied_by_a_fork() -> None:
    """A child has what its parent had in memory, and neither sees what the other adds."""
    fork = multiprocessing.get_context("fork")
    with SqlChatMemoryStore("sqlite://") as store:
        add_until_taken(store, "c", "before")

        def check() -> None:
            add_until_taken(store, "c", "in the child")
            assert ["before", "in the child"] == [entry.message.text for entry in store.history("c")]

        child = fork.Process(target=check)
        child.start()
        child.join()
        assert 0 == child.exitcode
        assert ["before"] == [entry.message.text for entry in store.history("c")]

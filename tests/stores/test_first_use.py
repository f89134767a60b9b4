"""Twenty processes meet a database that is empty: all succeed, whatever it is."""

from __future__ import annotations

from chatmemory.stores import SqlChatMemoryStore
from tests.endurance.writing import processes, run_all
from tests.stores.programs import add_many

PROCESSES = 20


def test_twenty_processes_start_at_once(database_url: str) -> None:
    """Twenty processes whose first message meets a fresh database at the same moment all add it."""
    start = processes().Barrier(PROCESSES)
    names = [f"c{number:02}" for number in range(PROCESSES)]
    run_all([(add_many, (database_url, name, "m", 1, start)) for name in names])
    with SqlChatMemoryStore(database_url) as store:
        assert names == [info.id for info in store.conversations()]


def test_twenty_processes_make_one_conversation(database_url: str) -> None:
    """Twenty processes whose first message makes the same conversation in a fresh database all get it in."""
    start = processes().Barrier(PROCESSES)
    run_all([(add_many, (database_url, "c", f"m{number}", 1, start)) for number in range(PROCESSES)])
    with SqlChatMemoryStore(database_url) as store:
        history = store.history("c")
    assert list(range(1, PROCESSES + 1)) == [entry.seq for entry in history]
    assert {f"m{number} 0" for number in range(PROCESSES)} == {entry.message.text for entry in history}

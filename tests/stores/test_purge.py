"""`purge`: conversations that nobody has changed for long are erased, in bounded steps, and no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.errors import InvalidArgumentError
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree
from tests.stores.files import sql

NOON = datetime(2031, 7, 8, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@define
class Clock:
    """A clock that stands still until it is set."""

    time: datetime = NOON

    def __call__(self) -> datetime:
        """Return the time."""
        return self.time


@pytest.fixture
def clock() -> Clock:
    """The clock of the store."""
    return Clock()


def expiring(path: Path, clock: Clock, **settings: Any) -> SqlChatMemoryStore:
    """A store whose conversations expire after a day."""
    return SqlChatMemoryStore(f"sqlite:///{path}", clock=clock, **{"expire_after": DAY, **settings})


def say(store: SqlChatMemoryStore, *ids: str) -> None:
    """Add a message to each conversation."""
    for conversation_id in ids:
        MessageWindowChatMemory(conversation_id, max_messages=9, store=store).add(UserMessage("u"))


def ids(store: SqlChatMemoryStore) -> list[str]:
    """The conversations that are there."""
    return [info.id for info in store.conversations()]


def test_old_ones_go_and_leave_nothing(path: Path, clock: Clock) -> None:
    """Age counts from the newest change; what has exactly the age stays, what is older leaves no row."""
    with expiring(path, clock) as store:
        say(store, "forgotten", "begun long ago")
        clock.time += DAY / 2
        model = ConversationModel()
        model.write(store, "young", UserMessage("u"), at=clock.time)
        say(store, "begun long ago")
        clock.time = NOON + DAY
        assert 0 == store.purge()
        clock.time += timedelta(microseconds=1)
        assert (1, 0) == (store.purge(), store.purge())
        assert ["begun long ago", "young"] == ids(store)
        agree(store, "young", model)
    left = [("begun long ago",), ("young",)]
    assert left == sql(path, "SELECT DISTINCT conversation_id FROM messages ORDER BY 1")
    assert left == sql(path, "SELECT DISTINCT conversation_id FROM changes ORDER BY 1")


def test_in_bounded_batches(path: Path, clock: Clock) -> None:
    """A call erases up to its limit; 0 says that all is done."""
    with expiring(path, clock) as store:
        say(store, *(f"c{number:02}" for number in range(10)))
        clock.time += DAY * 2
        say(store, "c04")
        assert [4, 4, 1, 0] == [store.purge(limit=4) for _ in range(4)]
        assert ["c04"] == ids(store)


class Interrupted(SqlChatMemoryStore):
    """A store in whose way something comes: after the old ones were listed, and before one is erased."""

    meanwhile: Callable[[], object]

    def _write(self, work: Callable[[Any], Any]) -> Any:
        self.meanwhile()
        return super()._write(work)


def test_what_is_changed_meanwhile_stays(path: Path, clock: Clock) -> None:
    """A conversation in which something was said after it was listed is not erased."""
    with expiring(path, clock) as store:
        say(store, "a", "b")
        clock.time += DAY * 2
        with Interrupted(f"sqlite:///{path}", clock=clock, expire_after=DAY) as other:
            other.meanwhile = lambda: say(store, "b")
            assert 1 == other.purge()
        assert ["b"] == ids(store)
        assert 3 == len(store.history("b"))


def test_what_is_deleted_meanwhile_is_not_counted(path: Path, clock: Clock) -> None:
    """Two that purge at once erase each conversation once."""
    with expiring(path, clock) as store:
        say(store, "a", "b")
        clock.time += DAY * 2
        with Interrupted(f"sqlite:///{path}", clock=clock, expire_after=DAY) as other:
            other.meanwhile = store.purge
            assert 0 == other.purge()
        assert [] == ids(store)


def test_a_memory_goes_on_in_a_new_conversation(path: Path, clock: Clock) -> None:
    """Who still holds an expired conversation begins a new one with the next message."""
    with expiring(path, clock) as store:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        memory.add(UserMessage("old"))
        clock.time += DAY * 2
        assert 1 == store.purge()
        assert (1, 1) == (memory.add(UserMessage("new")).seq, memory.version)
        assert ["new"] == [entry.message.text for entry in store.history("c")]


def test_without_an_age(path: Path) -> None:
    """A store that was given no age erases nothing, and says so."""
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        say(store, "c")
        with pytest.raises(InvalidArgumentError, match="expire_after"):
            store.purge()
        assert ["c"] == ids(store)


@pytest.mark.parametrize("age", [timedelta(0), -DAY, 86_400, 1.5, True, "1 day"], ids=str)
def test_other_ages(age: Any) -> None:
    """An age is a positive timedelta, checked at construction."""
    with pytest.raises(InvalidArgumentError, match="expire_after"):
        SqlChatMemoryStore("sqlite://", expire_after=age)


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None])
def test_other_limits(limit: Any) -> None:
    """A limit is a positive int."""
    with SqlChatMemoryStore("sqlite://", expire_after=DAY) as store, pytest.raises(InvalidArgumentError, match="limit"):
        store.purge(limit=limit)


def test_the_longest_age(path: Path, clock: Clock) -> None:
    """An age that reaches back before the first year erases nothing, and a limit may be any number."""
    with expiring(path, clock, expire_after=timedelta.max) as store:
        say(store, "c")
        assert 0 == store.purge(limit=10**30)
        assert ["c"] == ids(store)


def test_no_table_is_made(path: Path, clock: Clock) -> None:
    """Where nothing was ever stored, there is nothing to erase, and no table is made for it."""
    with expiring(path, clock) as store:
        assert 0 == store.purge()
    assert [] == sql(path, "SELECT name FROM sqlite_master")

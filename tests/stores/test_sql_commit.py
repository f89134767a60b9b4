"""A commit that fails at any statement: nothing of it is there, or all of it, and the store finds out which (R11).

Decides: where the driver is made to fail. The driver, the file and the store are real; one cursor raises by plan.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from sqlalchemy import Engine, create_engine

from chatmemory import MessageWindowChatMemory
from chatmemory.errors import StoreError
from chatmemory.messages import UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree, numbered

STATEMENTS = (
    "BEGIN",
    "UPDATE conversations",
    "UPDATE messages",
    "INSERT INTO messages",
    "INSERT INTO changes",
    "COMMIT",
)


@define
class Trouble:
    """What the driver does next: which statement fails, before or after it ran, how often, and whether it stays."""

    statement: str = "none"
    times: int = 0
    runs_first: bool = False
    stays: bool = False
    met: int = field(default=0, init=False)

    def strikes(self, text: str) -> bool:
        """Return whether this statement is to fail."""
        if self.stays and self.met and text != "ROLLBACK":
            return True
        if self.times == 0 or not text.startswith(self.statement):
            return False
        self.times -= 1
        self.met += 1
        return True


@pytest.fixture
def trouble() -> Trouble:
    """No trouble, until the test makes some."""
    return Trouble()


@pytest.fixture
def engine(trouble: Trouble, tmp_path: Path) -> Iterator[Engine]:
    """A caller's engine whose driver fails as `trouble` says."""

    class Cursor(sqlite3.Cursor):
        def execute(self, text: str, *values: Any) -> Any:
            fails = trouble.strikes(text)
            if not fails or trouble.runs_first:
                super().execute(text, *values)
            if fails:
                raise sqlite3.OperationalError("the disk is on fire")
            return self

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = None) -> Any:
            return super().cursor(factory or Cursor)

    url = f"sqlite:///{tmp_path}/chat.db"
    engine = create_engine(url, connect_args={"factory": Connection}, pool_reset_on_return=None)
    yield engine
    assert engine.pool.status().endswith("Current Checked out connections: 0")
    engine.dispose()


def test_a_failure_before_the_commit_changes_nothing(engine: Engine, trouble: Trouble) -> None:
    """Wherever a statement fails, the change is not there at all, and the same change can be committed afterwards."""
    model = ConversationModel()
    with SqlChatMemoryStore(engine) as store:
        model.write(store, "c", *numbered(3))
        for statement in STATEMENTS[:-1]:
            for runs_first in (False, True):
                change = model.adding(UserMessage(statement), leaving={model.windows[-1][0]: "budget"})
                trouble.statement, trouble.times, trouble.runs_first = statement, 1, runs_first
                with pytest.raises(StoreError) as caught:
                    store.commit("c", change, model.stamp)
                assert not caught.value.outcome_unknown
                assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
                agree(store, "c", model)
                model.adopt(change, store.commit("c", change, model.stamp))
                agree(store, "c", model)
    assert 10 == trouble.met


@pytest.mark.parametrize("runs_first", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "old"])
def test_an_unknown_outcome_is_said_and_found_out_by_the_same_commit(
    engine: Engine, trouble: Trouble, *, runs_first: bool, is_new: bool
) -> None:
    """Where a COMMIT fails the error says that nobody knows whether it happened; the same commit again is it."""
    model = ConversationModel()
    with SqlChatMemoryStore(engine) as store:
        ConversationModel().write(store, "another", *numbered(1))  # makes the tables
        if not is_new:
            model.write(store, "c", *numbered(3))
        change = model.adding(UserMessage("once"), leaving=dict.fromkeys(model.windows[-1][:1], "budget"))
        trouble.statement, trouble.times, trouble.runs_first = "COMMIT", 1, runs_first
        with pytest.raises(StoreError) as caught:
            store.commit("c", change, model.stamp)
        assert caught.value.outcome_unknown
        model.adopt(change, store.commit("c", change, model.stamp))
        agree(store, "c", model)


@pytest.mark.parametrize("runs_first", [True, False], ids=["committed", "not committed"])
def test_a_memory_finds_out_by_itself(engine: Engine, trouble: Trouble, *, runs_first: bool) -> None:
    """Where a COMMIT fails and the database is still there, an add is there once, and nobody hears of it."""
    with SqlChatMemoryStore(engine) as store:
        memory = MessageWindowChatMemory("c", max_messages=2, store=store)
        memory.add(UserMessage("one"))
        trouble.statement, trouble.times, trouble.runs_first = "COMMIT", 1, runs_first
        assert 2 == memory.add(UserMessage("two")).seq
        assert ["one", "two"] == [entry.message.text for entry in store.history("c")]
        assert 1 == trouble.met


def test_a_read_that_fails_leaves_the_store_usable(engine: Engine, trouble: Trouble) -> None:
    """A read that fails raises `StoreError`, and the next one is answered."""
    model = ConversationModel()
    with SqlChatMemoryStore(engine) as store:
        model.write(store, "c", *numbered(3))
        for statement in ("BEGIN", "SELECT", "COMMIT"):
            trouble.statement, trouble.times = statement, 1
            with pytest.raises(StoreError) as caught:
                store.load("c")
            assert not caught.value.outcome_unknown
            agree(store, "c", model)

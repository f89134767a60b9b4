"""What SQLite must do beside the suite: its settings, what an operation costs, callers' engines, arguments."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Pool, create_engine, event

from chatmemory.errors import (
    InvalidArgumentError,
    StoreError,
)
from chatmemory.messages import SystemMessage, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree, numbered
from tests.stores.files import filled, sql, watch


def test_a_constructor_opens_nothing(path: Path) -> None:
    """Making a store, and closing it unused, makes no file."""
    SqlChatMemoryStore(f"sqlite:///{path}").close()
    assert not path.exists()


def test_a_file_is_opened_to_last(path: Path) -> None:
    """The store's own connections have a write-ahead log, full synchronisation, secure deletion and a busy timeout."""
    found: list[list[Any]] = []

    def look(connection: sqlite3.Connection, *_: object) -> None:
        pragmas = ("journal_mode", "synchronous", "secure_delete", "busy_timeout")
        found.append([connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas])

    event.listen(Pool, "checkout", look)
    try:
        with SqlChatMemoryStore(f"sqlite:///{path}", conflict_timeout_seconds=7) as store:
            assert store.load("c") is None
    finally:
        event.remove(Pool, "checkout", look)
    assert ["wal", 2, 1, 7000] == found[0]


def test_tables_are_ordinary_and_have_no_second_index(path: Path) -> None:
    """Each table is a rowid table with its primary key and no other index; conversations have one by owner."""
    filled(path)
    tables = dict(sql(path, "SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    indexes = sql(path, "SELECT tbl_name FROM sqlite_master WHERE type = 'index'")

    assert {"conversations", "messages", "changes", "chatmemory_schema"} == set(tables)
    assert not [name for name, text in tables.items() if "WITHOUT ROWID" in text]
    assert sorted((name,) for name in [*tables, "conversations"]) == sorted(indexes)


def test_a_commit_takes_as_many_statements_for_fifty_as_for_one(engine: Engine) -> None:
    """However many entries leave, a commit is six statements: nothing is done row by row."""
    statements: list[str] = []
    watch(engine, lambda connection: connection.set_trace_callback(statements.append))
    model = ConversationModel()
    with SqlChatMemoryStore(engine) as store:
        model.write(store, "c", SystemMessage("s"), *numbered(200))
        counts = []
        for leaving in (range(2, 3), range(3, 53), range(53, 153, 2)):
            statements.clear()
            model.write(store, "c", UserMessage("next"), leaving=dict.fromkeys(leaving, "budget"))
            counts.append(len(statements))
            assert "BEGIN IMMEDIATE" == statements[0]
        agree(store, "c", model)

    assert [6, 6, 6] == counts


def test_a_load_does_not_read_the_history(engine: Engine) -> None:
    """Loading a window, and an old window, is as much work for SQLite with 31 entries of history as with 3,000."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    watch(engine, lambda connection: connection.set_progress_handler(count, 1))
    model, costs = ConversationModel(), []
    with SqlChatMemoryStore(engine) as store:
        model.write(store, "c", SystemMessage("s"), *numbered(20))
        for size in (31, 3_000):
            new = numbered(size - len(model.history))
            gone = dict.fromkeys(model.windows[-1][1:], "budget")
            model.write(store, "c", *new, leaving=gone, kept_out=dict.fromkeys(range(len(new) - 10), "oversize"))
            steps = 0
            store.load("c")
            store.window_at("c", model.version)
            costs.append(steps)
        agree(store, "c", model)

    assert 11 == len(model.windows[-2]) == len(model.windows[-1])
    assert costs[0] == pytest.approx(costs[1], rel=0.05)


def test_delete_leaves_no_row_and_no_byte(path: Path) -> None:
    """A deleted conversation is in no table, and its text is nowhere in the file once the log is written back."""
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        model = ConversationModel()
        model.write(store, "gone", UserMessage("the password is swordfish"))
        model.write(store, "gone", UserMessage("x"), leaving={1: "budget"})
        store.delete("gone")

    for table in ("conversations", "messages", "changes"):
        assert [] == sql(path, f"SELECT * FROM {table}")  # noqa: S608 - the names stand one line above
    assert b"swordfish" not in path.read_bytes()


def test_other_tables_do_not_matter(path: Path) -> None:
    """A database that holds other people's tables under other names can hold conversations as well."""
    sql(path, "CREATE TABLE users(name)")
    model = filled(path)
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        agree(store, "c", model)


def test_a_callers_engine_stays_open(engine: Engine) -> None:
    """Closing a store that was given an engine leaves the engine, with its connections, as it is."""
    with SqlChatMemoryStore(engine) as store:
        store.load("c")
    with engine.connect() as connection:
        assert 1 == connection.exec_driver_sql("SELECT 1").scalar()


def test_an_engine_that_begins_by_itself_works(engine: Engine) -> None:
    """A caller's engine may begin its own transactions at each connect, as SQLAlchemy's manual tells for SQLite."""

    @event.listens_for(engine, "connect")
    def _(connection: Any, _: object) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    model = ConversationModel()
    with SqlChatMemoryStore(engine) as store:
        model.write(store, "c", *numbered(3))
        agree(store, "c", model)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3 has this way of transactions from Python 3.12 on")
def test_a_driver_that_is_always_in_a_transaction_works(path: Path) -> None:
    """An engine with ``autocommit=False`` works, and its connections come back as they were."""
    engine = create_engine(f"sqlite:///{path}", connect_args={"autocommit": False})
    model = ConversationModel()
    with SqlChatMemoryStore(engine) as store:
        model.write(store, "c", *numbered(3))
        agree(store, "c", model)
    connection = engine.raw_connection()
    assert connection.driver_connection is not None
    assert connection.driver_connection.autocommit is False
    connection.close()
    engine.dispose()


@pytest.mark.parametrize(
    "given",
    [None, 7, b"sqlite://", Path("chat.db"), "", "chat.db", "oracle://h/db", "nonsense://h", "sqlite+aiosqlite:///x"],
)
def test_other_arguments_are_refused(given: Any) -> None:
    """What is no URL and no engine of a known database is refused at construction."""
    with pytest.raises(InvalidArgumentError):
        SqlChatMemoryStore(given)


@pytest.mark.parametrize("seconds", [0, -1, True, float("nan"), float("inf"), "30", None])
def test_other_timeouts_are_refused(seconds: Any) -> None:
    """A timeout that is no positive number of seconds is refused at construction."""
    with pytest.raises(InvalidArgumentError):
        SqlChatMemoryStore("sqlite://", conflict_timeout_seconds=seconds)


@pytest.mark.parametrize(
    ("url", "extra"),
    [
        ("postgres://u:secret@h/db", "postgresql"),
        ("postgresql://u:secret@h/db", "postgresql"),
        ("mysql://h/db", "mysql"),
        ("mariadb://h/db", "mysql"),
    ],
)
def test_a_missing_driver_names_the_command(url: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a database's driver is not installed, the error says how to install it, and shows no password."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(StoreError, match=rf"pip install 'pychatmemory\[{extra}\]'") as caught:
        SqlChatMemoryStore(url)
    assert "secret" not in str(caught.value)


def test_the_clock_may_have_any_time_zone() -> None:
    """A clock's time is turned into UTC; one without a time zone is refused when it is asked."""
    abroad = datetime(2024, 3, 31, 2, 30, 0, 654_321, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    with SqlChatMemoryStore("sqlite://", clock=lambda: abroad) as store:
        assert datetime(2024, 3, 30, 20, 45, 0, 654_321, tzinfo=UTC) == store.now()
        assert timedelta(0) == store.now().utcoffset()
    with (
        SqlChatMemoryStore("sqlite://", clock=lambda: abroad.replace(tzinfo=None)) as store,
        pytest.raises(InvalidArgumentError),
    ):
        store.now()


def test_reading_makes_no_table(tmp_path: Path) -> None:
    """A database without our tables answers every read as an empty one, and stays as it is."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs, theirs:
        theirs.execute("CREATE TABLE letters (text)")
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        assert store.load("c") is None
        assert ([], [], []) == (store.history("c"), store.window_at("c", 0), store.conversations())
    with closing(sqlite3.connect(path)) as theirs:
        assert [("letters",)] == theirs.execute("SELECT name FROM sqlite_master").fetchall()

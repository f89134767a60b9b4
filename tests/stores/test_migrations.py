"""Schemas of all revisions: the way up keeps everything, ends in what the first use makes, and nobody is in its way."""

from __future__ import annotations

import multiprocessing
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, make_url, text

from chatmemory.errors import InvalidArgumentError, StoreError, UnsupportedSchemaError
from chatmemory.messages import UserMessage
from chatmemory.stores import (
    SqlChatMemoryStore,
    check_schema,
    schema_metadata,
    schema_revision,
    upgrade_schema,
)
from chatmemory.stores._sql_alone import alone
from chatmemory.stores._sql_schema import BASE, NEWEST, REVISIONS
from chatmemory.stores._sql_transactions import Database
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree
from tests.stores.schemas import (
    all_revisions,
    described,
    drop_all,
    engine_of,
    fill_old,
    migrate,
    scripts,
    start_on_old,
    upgrade_until,
)

OLDER = REVISIONS[:-1]
FORK = "fork" in multiprocessing.get_all_start_methods()
needs_fork = pytest.mark.skipif(not FORK, reason="this system cannot fork")


def execute(url: str, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    engine = engine_of(url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def differences(url: str) -> list[Any]:
    """Return what Alembic finds between the tables that are there and those of the library."""
    engine = engine_of(url)
    options = {"version_table": "chatmemory_schema", "compare_type": True, "compare_server_default": True}
    with engine.connect() as connection:
        found: list[Any] = compare_metadata(MigrationContext.configure(connection, opts=options), schema_metadata())
    engine.dispose()
    return found


def test_the_store_knows_the_revisions() -> None:
    """The revisions that a store knows without Alembic are those of the scripts, in their order."""
    assert all_revisions() == list(REVISIONS)


def test_first_use_makes_what_migrations_build(database_url: str) -> None:
    """Tables made by a first message and tables built by all migrations are the same to Alembic and to the database."""
    with SqlChatMemoryStore(database_url) as store:
        ConversationModel().write(store, "c", UserMessage("u"))
    made, found = described(database_url), differences(database_url)
    drop_all(database_url)
    migrate(database_url, "head")
    assert ([], made) == (found, described(database_url))
    assert [] == differences(database_url)


@pytest.mark.parametrize("revision", OLDER)
def test_an_upgrade_keeps_everything(database_url: str, revision: str) -> None:
    """From each older revision: windows, histories and versions are the same afterwards, and conversations go on."""
    models = fill_old(database_url, revision, ["a", "b"])
    assert (revision, NEWEST, NEWEST) == (
        schema_revision(database_url),
        upgrade_schema(database_url),
        schema_revision(database_url),
    )
    assert [] == differences(database_url)
    with SqlChatMemoryStore(database_url) as store:
        for conversation_id, model in models.items():
            agree(store, conversation_id, model)
            model.write(store, conversation_id, UserMessage("five"), leaving={2: "budget"})
            agree(store, conversation_id, model)


def test_an_upgrade_of_the_newest_changes_nothing(database_url: str) -> None:
    """A second upgrade finds nothing to do, and one of an empty database makes the tables."""
    assert None is schema_revision(database_url)
    assert NEWEST == upgrade_schema(database_url)
    before = described(database_url)
    assert NEWEST == upgrade_schema(database_url)
    assert before == described(database_url)
    check_schema(database_url)


@pytest.mark.parametrize("revision", OLDER)
def test_an_older_schema_says_what_to_run(database_url: str, revision: str) -> None:
    """Every operation on older tables is refused with the command to run, without the password; nothing changes."""
    fill_old(database_url, revision, ["a"])
    before = described(database_url)
    with SqlChatMemoryStore(database_url) as store:
        for call in (store.load, store.delete, store.history):
            with pytest.raises(UnsupportedSchemaError, match="chatmemory db upgrade --db ") as caught:
                call("a")
            assert f"holds schema {revision}, and this version of pychatmemory needs {NEWEST}" in str(caught.value)
            assert ":chat@" not in str(caught.value)
    with pytest.raises(UnsupportedSchemaError, match="auto_upgrade=True"):
        check_schema(database_url)
    assert before == described(database_url)


def test_secrets_stay_out_of_errors(tmp_path: Path) -> None:
    """Neither the password nor a secret among the URL's options stands in an error."""
    url = make_url(f"sqlite:///file:{tmp_path}/chat.db?uri=true&password=hidden")
    engine = create_engine(f"sqlite:///{tmp_path}/chat.db")
    engine.url = url
    with pytest.raises(UnsupportedSchemaError, match=r"run: chatmemory db upgrade --db ") as caught:
        check_schema(engine)
    assert "hidden" not in str(caught.value)
    engine.dispose()


def test_a_newer_schema_wants_a_newer_library(database_url: str) -> None:
    """A revision that this release does not know is refused by store, upgrade and check; nothing changes."""
    upgrade_schema(database_url)
    execute(database_url, "UPDATE chatmemory_schema SET version_num = '9999'")
    before = described(database_url)
    with SqlChatMemoryStore(database_url, auto_upgrade=True) as store:
        for call in (lambda: store.load("a"), lambda: upgrade_schema(database_url), lambda: check_schema(database_url)):
            with pytest.raises(UnsupportedSchemaError, match=r"holds schema 9999, .* use a newer pychatmemory"):
                call()
    assert before == described(database_url)


def test_tables_without_a_revision_are_migrated(database_url: str) -> None:
    """Older tables whose row was never written, as after a broken-off first use, are refused, and can be upgraded."""
    models = fill_old(database_url, OLDER[0], ["a"])
    execute(database_url, "DELETE FROM chatmemory_schema")
    assert BASE == schema_revision(database_url)
    with (
        SqlChatMemoryStore(database_url) as store,
        pytest.raises(UnsupportedSchemaError, match="chatmemory db upgrade"),
    ):
        ConversationModel().write(store, "b", UserMessage("u"))
    upgrade_schema(database_url)
    with SqlChatMemoryStore(database_url) as store:
        agree(store, "a", models["a"])


def test_tables_of_others_are_not_migrated(database_url: str) -> None:
    """An upgrade leaves a database alone that has a table of ours by name and not our schema."""
    execute(database_url, "CREATE TABLE messages (body INTEGER)")
    before = described(database_url)
    with pytest.raises(UnsupportedSchemaError, match="'messages' that chatmemory did not make"):
        upgrade_schema(database_url)
    assert before == described(database_url)


@needs_fork
def test_twenty_processes_upgrade_at_once(database_url: str) -> None:
    """Twenty processes that open an old schema with `auto_upgrade=True` at one moment all succeed; nothing is lost."""
    models = fill_old(database_url, OLDER[0], [f"c{number:02}" for number in range(20)])
    fork = multiprocessing.get_context("fork")
    start = fork.Barrier(20)
    running = [fork.Process(target=start_on_old, args=(database_url, name, start)) for name in models]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [0] * 20 == [process.exitcode for process in running]
    assert ([], NEWEST) == (differences(database_url), schema_revision(database_url))
    with SqlChatMemoryStore(database_url) as store:
        for name, model in models.items():
            texts = [entry.message.text for entry in model.history]
            assert [*texts, "after the upgrade"] == [entry.message.text for entry in store.history(name)]


@needs_fork
def test_an_upgrade_that_is_killed_goes_on(database_url: str) -> None:
    """Killed before any of its statements, an upgrade is taken back or half done; the next one ends it, with all data.

    SQLite and PostgreSQL take it back. Elsewhere the tables are refused until it is ended.
    """
    fork = multiprocessing.get_context("fork")
    takes_back = make_url(database_url).get_backend_name() in ("sqlite", "postgresql")
    exit_codes: list[int | None] = []
    at = 0
    while exit_codes[-1:] != [0]:
        models = fill_old(database_url, OLDER[0], ["a"])
        before, at = described(database_url), at + 1
        process = fork.Process(target=upgrade_until, args=(database_url, at))
        process.start()
        process.join()
        exit_codes.append(process.exitcode)
        if exit_codes[-1] != 0:
            assert OLDER[0] == schema_revision(database_url)
            assert not takes_back or before == described(database_url)
        upgrade_schema(database_url)
        assert [] == differences(database_url)
        with SqlChatMemoryStore(database_url) as store:
            agree(store, "a", models["a"])
        drop_all(database_url)
    assert [-signal.SIGKILL] * (at - 1) + [0] == exit_codes
    assert at > len(schema_metadata().tables)


@pytest.fixture
def held(database_url: str) -> Iterator[Database]:
    """A database with an old schema that waits a moment for locks, while another connection changes the schema."""
    fill_old(database_url, OLDER[0], ["a"])
    other = Database(engine_of(database_url), is_owned=True, wait_seconds=60)
    with alone(other):
        yield other
    other.close()


def test_an_upgrade_that_never_ends_is_said(held: Database) -> None:
    """Where another process does not get done, an upgrade gives up after `conflict_timeout_seconds`."""
    url = held.engine.url
    with (
        SqlChatMemoryStore(url, auto_upgrade=True, conflict_timeout_seconds=0.2) as store,
        pytest.raises(StoreError) as caught,
    ):
        store.load("a")
    assert not isinstance(caught.value, UnsupportedSchemaError)
    assert OLDER[0] == schema_revision(url)


def test_two_threads_upgrade_two_databases(tmp_path: Path) -> None:
    """Upgrades of different databases in one process do not meet."""
    urls = [f"sqlite:///{tmp_path}/{number}.db" for number in range(4)]
    for url in urls:
        fill_old(url, OLDER[0], ["a"])
    threads = [threading.Thread(target=upgrade_schema, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [NEWEST] * 4 == [schema_revision(url) for url in urls]


def test_a_failed_upgrade_is_taken_back(tmp_path: Path) -> None:
    """Where the disk is full in the middle, the error says so, and the tables are as before."""
    path = tmp_path / "chat.db"
    fill_old(f"sqlite:///{path}", OLDER[0], ["a"])
    before = described(f"sqlite:///{path}")
    engine = engine_with_pages(path, 10)
    with pytest.raises(StoreError, match="has no room left"):
        upgrade_schema(engine)
    assert before == described(f"sqlite:///{path}")
    engine.dispose()


@pytest.mark.server
def test_an_upgrade_that_breaks_off_on_mariadb_says_so(mariadb_url: str) -> None:
    """Where steps are committed one by one, an error in the middle says that they stay; the next upgrade goes on."""
    models = fill_old(mariadb_url, OLDER[0], ["a"])
    execute(mariadb_url, "ALTER TABLE messages RENAME TO elsewhere")
    with pytest.raises(
        StoreError, match=r"broke off .*; what it had done stays, and it goes on when it is started again"
    ):
        upgrade_schema(mariadb_url)
    execute(mariadb_url, "ALTER TABLE elsewhere RENAME TO messages")
    upgrade_schema(mariadb_url)
    assert [] == differences(mariadb_url)
    with SqlChatMemoryStore(mariadb_url) as store:
        agree(store, "a", models["a"])


def engine_with_pages(path: Path, most: int) -> Engine:
    """Return a caller's engine for a file that cannot grow above `most` pages."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA max_page_count = {most}").close()
        return connection

    return create_engine(f"sqlite:///{path}", creator=connect)


def test_a_callers_engine_upgrades(database_url: str) -> None:
    """An engine of the caller, with its driver's own transactions, upgrades, and works as before afterwards."""
    models = fill_old(database_url, OLDER[0], ["a"])
    engine = create_engine(engine_of(database_url).url)
    with SqlChatMemoryStore(engine, auto_upgrade=True) as store:
        agree(store, "a", models["a"])
    with engine.connect() as connection:
        connection.execute(text("UPDATE conversations SET version = 7"))
        connection.rollback()
        assert 2 == connection.execute(text("SELECT version FROM conversations")).scalar()
    assert 0 == engine.pool.checkedout()  # type: ignore[attr-defined]
    engine.dispose()


@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_leads_back(tmp_path: Path, revision: str) -> None:
    """A downgrade is refused by each revision, and says what to do instead."""
    url = f"sqlite:///{tmp_path}/chat.db"
    fill_old(url, revision, ["a"])
    before = described(url)
    engine = engine_of(url)
    with engine.connect() as connection:
        config = scripts()
        config.attributes["connection"] = connection
        with pytest.raises(UnsupportedSchemaError, match=r"cannot be downgraded, .* restore a backup"):
            command.downgrade(config, "-1")
    engine.dispose()
    assert before == described(url)


def test_without_alembic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is to upgrade needs the extra at once, and says so; other stores do not."""
    url = f"sqlite:///{tmp_path}/chat.db"
    fill_old(url, OLDER[0], ["a"])
    monkeypatch.setitem(sys.modules, "alembic", None)
    for call in (lambda: SqlChatMemoryStore(url, auto_upgrade=True), lambda: upgrade_schema(url)):
        with pytest.raises(StoreError, match=r"needs Alembic; pip install 'pychatmemory\[migrations\]'"):
            call()
    with SqlChatMemoryStore(f"sqlite:///{tmp_path}/new.db") as store:
        ConversationModel().write(store, "c", UserMessage("u"))
    assert OLDER[0] == schema_revision(url)


@pytest.mark.parametrize(
    ("partitions", "problem"),
    [(4, "is for PostgreSQL, and this is sqlite"), (-1, "give an int of 0 or more"), (True, "of type bool")],
)
def test_partitions_are_for_postgresql(tmp_path: Path, partitions: int, problem: str) -> None:
    """Partitions on another database, or a number that is none, are refused; nothing is made."""
    with pytest.raises(InvalidArgumentError, match=problem):
        upgrade_schema(f"sqlite:///{tmp_path}/chat.db", partitions=partitions)
    assert [] == list(tmp_path.iterdir())

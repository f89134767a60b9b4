"""A server that is full, read-only, or does not let somebody in: the error names the remedy, and nothing changed."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from chatmemory import StoreError, UnsupportedSchemaError, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree, numbered
from tests.servers.fixtures import need
from tests.servers.mariadb import MariaDb
from tests.servers.postgresql import PostgreSql
from tests.stores.test_passing_errors import run

pytestmark = pytest.mark.server
SECRET = "swordfish"  # noqa: S105 - the password of these tests


def filled(url: str) -> ConversationModel:
    """Write one conversation into the database."""
    model = ConversationModel()
    with SqlChatMemoryStore(url) as store:
        model.write(store, "c", *numbered(3))
    return model


def as_user(url: str, user: str, password: str | None = SECRET) -> str:
    """Return the database's address for somebody else."""
    return make_url(url).set(username=user, password=password).render_as_string(hide_password=False)


def refuses_to_write(store: SqlChatMemoryStore, model: ConversationModel, words: str) -> None:
    """A commit fails with these words, nothing changed, and nobody's password is told."""
    change = model.adding(UserMessage("u"), leaving={1: "budget"})
    with pytest.raises(StoreError, match=words) as caught:
        store.commit("c", change, model.stamp)
    assert (False, False) == (caught.value.transient, caught.value.outcome_unknown)
    assert SECRET not in str(caught.value)
    agree(store, "c", model)


def refuses_to_open(url: str, words: str) -> None:
    """The first call fails with these words, and the password is not told."""
    with SqlChatMemoryStore(url) as store, pytest.raises(StoreError, match=words) as caught:
        store.load("c")
    assert SECRET not in str(caught.value)
    assert not caught.value.outcome_unknown


def fill_up(store: SqlChatMemoryStore, model: ConversationModel) -> None:
    """Write until there is no room; that is said, and nothing of the last change is there."""
    noise = random.Random(1)  # noqa: S311 - text that does not shrink

    def write() -> None:
        for _ in range(40):
            model.write(store, "c", UserMessage(noise.randbytes(500_000).hex()))

    with pytest.raises(StoreError) as caught:
        write()
    assert (False, False) == (caught.value.transient, caught.value.outcome_unknown)
    assert "has no room left; free some space" in str(caught.value)
    agree(store, "c", model)


@pytest.fixture
def small_disk(postgresql_server: PostgreSql) -> Iterator[Path]:
    """A disk of 24 MB that PostgreSQL may write to."""
    folder = Path(tempfile.mkdtemp(prefix="cm.", dir="/tmp"))
    mount, unmount = shutil.which("mount") or "", shutil.which("umount") or ""
    asked = [mount, "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if not mount or subprocess.run(asked, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("a small disk needs the right to mount one")
    try:
        shutil.chown(folder, postgresql_server.user, postgresql_server.user)
        yield folder
    finally:
        subprocess.run([unmount, "-l", str(folder)], check=True)
        folder.rmdir()


def test_a_full_disk_of_postgresql(postgresql_server: PostgreSql, small_disk: Path) -> None:
    """Where a tablespace is full, a commit says so, nothing of it is there, and once there is space it goes on."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4_000_000))
    postgresql_server.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    postgresql_server.execute("CREATE DATABASE small TABLESPACE small")
    url = postgresql_server.url("small")
    try:
        model = ConversationModel()
        with SqlChatMemoryStore(url) as store:
            fill_up(store, model)
            ballast.unlink()
            model.write(store, "c", UserMessage("there is some space"))
            agree(store, "c", model)
    finally:
        postgresql_server.drop_database(url)
        postgresql_server.execute("DROP TABLESPACE small")


@pytest.fixture
def small_mariadb() -> Iterator[MariaDb]:
    """A MariaDB whose one file holds 32 MB at most."""
    need("MariaDB")
    settings = ("--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M:autoextend:max:32M")
    with MariaDb(settings=settings) as server:
        yield server


def test_a_full_disk_of_mariadb(small_mariadb: MariaDb) -> None:
    """Where its file is full, a commit says so, and nothing of it is there."""
    model = ConversationModel()
    with SqlChatMemoryStore(small_mariadb.new_database()) as store:
        fill_up(store, model)


def test_a_read_only_postgresql(postgresql_server: PostgreSql, postgresql_url: str) -> None:
    """A database that is set to be read: reading works, and writing says what to do."""
    model, name = filled(postgresql_url), make_url(postgresql_url).database
    postgresql_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with SqlChatMemoryStore(postgresql_url) as store:
        refuses_to_write(store, model, "is read-only; use the primary, or make it writable")
        postgresql_server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        model.write(store, "c", UserMessage("u"))


def test_a_read_only_mariadb(mariadb_server: MariaDb, mariadb_url: str) -> None:
    """A server that is set to be read: reading works, and writing says what to do."""
    mariadb_server.execute(
        f"CREATE OR REPLACE USER plain@'127.0.0.1' IDENTIFIED BY '{SECRET}'",
        f"GRANT ALL ON {make_url(mariadb_url).database}.* TO plain@'127.0.0.1'",
    )
    model = filled(mariadb_url)
    with SqlChatMemoryStore(as_user(mariadb_url, "plain")) as store:
        mariadb_server.execute("SET GLOBAL read_only = 1")
        try:
            refuses_to_write(store, model, "is read-only; use the primary, or make it writable")
        finally:
            mariadb_server.execute("SET GLOBAL read_only = 0")
        model.write(store, "c", UserMessage("u"))


@pytest.mark.parametrize("megabytes", [2, 40])
def test_a_message_beyond_the_largest_packet(mariadb_server: MariaDb, mariadb_url: str, megabytes: int) -> None:
    """A message that is larger than what the server takes at once: the error says so, and does not say try again."""
    mariadb_server.execute("SET GLOBAL max_allowed_packet = 1048576")
    try:
        with SqlChatMemoryStore(mariadb_url) as store:
            model = ConversationModel()
            model.write(store, "c", *numbered(3))
            change = model.adding(UserMessage("x" * megabytes * 1_000_000))
            with pytest.raises(StoreError, match="value of this size; shorten the message") as caught:
                store.commit("c", change, model.stamp)
            assert (False, False) == (caught.value.transient, caught.value.outcome_unknown)
            agree(store, "c", model)
            model.write(store, "c", UserMessage("small"))
    finally:
        mariadb_server.execute("SET GLOBAL max_allowed_packet = DEFAULT")


@pytest.fixture
def guarded(postgresql_server: PostgreSql, postgresql_url: str) -> Iterator[str]:
    """A PostgreSQL that asks a user called guarded for a password, and lets it do nothing."""
    rules = postgresql_server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all guarded 127.0.0.1/32 scram-sha-256\n{before}")
    postgresql_server.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{SECRET}'", "SELECT pg_reload_conf()")
    yield postgresql_url
    rules.write_text(before)
    postgresql_server.execute("SELECT pg_reload_conf()", "DROP ROLE guarded")


def test_who_is_not_let_in_by_postgresql(guarded: str, postgresql_server: PostgreSql) -> None:
    """A wrong password, an unknown database, a port where nobody listens: the error names what to check."""
    words = "cannot be reached; check host, port, user, password and the database's name"
    refuses_to_open(as_user(guarded, "guarded", f"{SECRET}x"), words)
    refuses_to_open(postgresql_server.url("nowhere"), words)
    refuses_to_open(make_url(guarded).set(port=1).render_as_string(), words)


def test_who_may_not_write_to_postgresql(guarded: str) -> None:
    """A user without rights is told which are needed, before there are tables and when there are some."""
    change = ConversationModel().adding(UserMessage("u"))
    with SqlChatMemoryStore(as_user(guarded, "guarded")) as store:
        with pytest.raises(StoreError, match="grant the right to read, write and create tables") as caught:
            store.commit("c", change, ConversationModel().stamp)
        assert SECRET not in str(caught.value)
        filled(guarded)
        with pytest.raises(StoreError, match="grant the right to read, write and create tables"):
            store.load("c")


def test_who_is_not_let_in_by_mariadb(mariadb_server: MariaDb, mariadb_url: str) -> None:
    """A wrong password, an unknown database, a port where nobody listens: the error names what to check."""
    refuses_to_open(as_user(mariadb_url, "chat", f"{SECRET}x"), "does not let this user in; check name, password")
    refuses_to_open(mariadb_server.url("nowhere"), "no database of this name; create it first")
    refuses_to_open(make_url(mariadb_url).set(port=1).render_as_string(hide_password=False), "cannot be reached; check")


def test_who_may_not_write_to_mariadb(mariadb_server: MariaDb, mariadb_url: str) -> None:
    """A user who may read only reads, and is told what is needed to write."""
    mariadb_server.execute(
        f"CREATE OR REPLACE USER reader@'127.0.0.1' IDENTIFIED BY '{SECRET}'",
        f"GRANT SELECT ON {make_url(mariadb_url).database}.* TO reader@'127.0.0.1'",
    )
    with SqlChatMemoryStore(as_user(mariadb_url, "reader")) as store:
        words = "grant the right to read, write and create tables"
        with pytest.raises(StoreError, match=words):
            store.commit("c", ConversationModel().adding(UserMessage("u")), ConversationModel().stamp)
        refuses_to_write(store, filled(mariadb_url), words)
    refuses_to_open(as_user(mariadb_server.url("mysql"), "reader"), "does not let this user")


def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    """A database of a newer version of this library is refused by every operation, and stays as it is."""
    model = filled(database_url)
    run(database_url, "UPDATE chatmemory_schema SET version_num = '9999'")
    with SqlChatMemoryStore(database_url) as store:
        for call in (store.load, store.delete, store.history):
            with pytest.raises(UnsupportedSchemaError, match=r"schema 9999.*newer"):
                call("c")
    run(database_url, "UPDATE chatmemory_schema SET version_num = '0002'")
    with SqlChatMemoryStore(database_url) as store:
        agree(store, "c", model)

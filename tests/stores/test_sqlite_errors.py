"""A damaged, foreign, full, locked or newer file: the error says what, where and what to do, and the file stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from chatmemory.errors import (
    CorruptedConversationError,
    StoreError,
    UnsupportedSchemaError,
)
from chatmemory.messages import UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import agree
from tests.stores.files import filled, sql, watch


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        ("UPDATE messages SET payload = 'x' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET payload = x'00' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET payload = replace(payload, '\"v\":1', '\"v\":9') WHERE seq = 2", "entry 2.*upgrade"),
        ("UPDATE messages SET role = 'system' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET kind = 'x' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET tokens = 'x' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET counter = x'00' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET added_at = 'x' WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET added_at = 9000000000000000000 WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET added_version = 1.5 WHERE seq = 2", "entry 2"),
        ("UPDATE messages SET removed_reason = 'x' WHERE seq = 2", "entry 2"),
        ("UPDATE conversations SET kept_seqs = '[1'", "window"),
        ("UPDATE conversations SET kept_seqs = '[\"1\"]'", "window"),
        ("UPDATE conversations SET kept_seqs = '7'", "window"),
        ("UPDATE conversations SET first_seq = 'x'", "window"),
        ("UPDATE conversations SET version = 'x'", "version"),
        ("UPDATE conversations SET next_seq = x'00'", "version"),
        ("UPDATE conversations SET size = 4", "has 3 entries and should have 4"),
        ("UPDATE messages SET removed_version = 1 WHERE seq = 2", "has 2 entries and should have 3"),
        ("UPDATE messages SET conversation_id = 'd' WHERE seq = 2", "has 2 entries and should have 3"),
        ("DELETE FROM messages", "has 0 entries and should have 3"),
    ],
)
def test_a_damaged_row_is_an_error(path: Path, damage: str, where: str) -> None:
    """A row that cannot be read is neither left out nor read as something else, and the error says where it is."""
    model = filled(path)
    sql(path, damage)
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        with pytest.raises(CorruptedConversationError, match=where) as caught:
            store.load("c")
        assert "'c'" in str(caught.value)
        assert all(entry.message.text not in str(caught.value) for entry in model.history)


@pytest.mark.parametrize("column", ["first_seq", "last_seq", "kept_seqs"])
def test_a_damaged_change_is_an_error(path: Path, column: str) -> None:
    """An old window whose place cannot be read is an error."""
    filled(path)
    sql(path, f"UPDATE changes SET {column} = 'x'")  # noqa: S608 - the columns stand above
    with (
        SqlChatMemoryStore(f"sqlite:///{path}") as store,
        pytest.raises(CorruptedConversationError, match="'c'"),
    ):
        store.window_at("c", 1)


def test_a_damaged_listing_is_an_error(path: Path) -> None:
    """A conversation whose times cannot be read is an error of the listing, not left out of it."""
    filled(path)
    sql(path, "UPDATE conversations SET updated_at = 'x'")
    with (
        SqlChatMemoryStore(f"sqlite:///{path}") as store,
        pytest.raises(CorruptedConversationError, match="'c'"),
    ):
        store.conversations()


def test_rows_that_contradict_a_change_are_an_error(path: Path) -> None:
    """A change that finds rows where it adds some, or none where some should leave, is refused as a whole."""
    model = filled(path)
    sql(path, "UPDATE messages SET removed_version = 1, removed_reason = 'budget' WHERE seq = 2")
    left_over = "INSERT INTO messages (conversation_id, seq, kind, role, payload, added_at, added_version) VALUES"
    sql(path, left_over + " ('left', 1, 'message', 'user', '{}', 0, 1)")
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        for seq in (1, 2):
            with pytest.raises(CorruptedConversationError):
                model.write(store, "c", UserMessage("u"), leaving={2: "budget", seq: "budget"})
        with pytest.raises(CorruptedConversationError):
            ConversationModel().write(store, "left", UserMessage("u"))
        assert [1] == [info.version for info in store.conversations()]
        assert 3 == len(store.history("c"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "cannot be opened; give the path of a file"),
        (lambda path: path.write_text("It is a letter, not a database. " * 40), "is no SQLite database"),
        (lambda path: path.symlink_to(path.parent / "nowhere" / "chat.db"), "in a folder that exists"),
    ],
    ids=["folder", "letter", "nowhere"],
)
def test_what_is_no_database_is_said(path: Path, make: Callable[[Path], object], words: str) -> None:
    """A folder, another file, or a folder that is missing: the error says so, names the place, and has the cause."""
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        for call in (store.load, store.delete):
            with pytest.raises(StoreError, match=words) as caught:
                call("c")
            assert str(path) in str(caught.value)
            assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert before == (path.read_bytes() if path.is_file() else None)


def test_a_read_only_file_is_read(path: Path) -> None:
    """On a file that may only be read, reading works, and writing says why it does not."""
    model = filled(path)
    with SqlChatMemoryStore(f"sqlite:///file:{path}?mode=ro&uri=true") as store:
        agree(store, "c", model)
        with pytest.raises(StoreError, match="is read-only; make the file"):
            store.commit("c", model.adding(UserMessage("u")), model.stamp)
        agree(store, "c", model)


def test_a_full_disk_changes_nothing(path: Path, engine: Engine) -> None:
    """Where there is no room, a commit says so, nothing of it is there, and smaller ones go on."""
    model = filled(path)
    watch(engine, lambda connection: connection.execute("PRAGMA max_page_count = 30").close())
    with SqlChatMemoryStore(engine) as store:
        with pytest.raises(StoreError, match="has no room left") as caught:
            store.commit("c", model.adding(UserMessage("x" * 1_000_000), leaving={1: "budget"}), model.stamp)
        assert not caught.value.outcome_unknown
        agree(store, "c", model)
        model.write(store, "c", UserMessage("small"))
        agree(store, "c", model)


def test_a_lock_that_stays_is_said(path: Path) -> None:
    """Where another program never lets go, a commit gives up after `conflict_timeout_seconds` and says what to do."""
    model = filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with SqlChatMemoryStore(f"sqlite:///{path}", conflict_timeout_seconds=0.05) as store:
        with pytest.raises(StoreError, match="stayed locked by another program"):
            store.commit("c", model.adding(UserMessage("u")), model.stamp)
        agree(store, "c", model)
    other.close()


def test_a_newer_schema_is_left_alone(path: Path) -> None:
    """A file of a newer version of this library is refused by every operation, and not a byte of it changes."""
    filled(path)
    sql(path, "UPDATE chatmemory_schema SET version_num = '9999'")
    before = path.read_bytes()
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        for call in (store.load, store.delete, store.history):
            with pytest.raises(UnsupportedSchemaError, match=r"schema 9999.*newer"):
                call("c")
    assert before == path.read_bytes()


@pytest.mark.parametrize("name", ["messages", "Conversations", "changes"])
@pytest.mark.parametrize("kind", ["TABLE {}(body)", "VIEW {} AS SELECT 1 AS body"])
def test_tables_of_others_are_left_alone(path: Path, name: str, kind: str) -> None:
    """A database that has a table or a view of ours by name but not our schema is somebody else's."""
    sql(path, f"CREATE {kind.format(name)}")
    with (
        SqlChatMemoryStore(f"sqlite:///{path}") as store,
        pytest.raises(UnsupportedSchemaError, match=f"'{name}' that chatmemory did not make"),
    ):
        store.load("c")
    assert [(name,)] == sql(path, "SELECT name FROM sqlite_master")

"""What is erased, forgotten or redacted is gone: from every table, and from the bytes of the SQLite file."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from chatmemory import AssistantMessage, ChatMemory, MessageWindowChatMemory, ToolCall, ToolMessage, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.stores._sql_schema import conversations, metadata
from tests.stores.fernet import Files
from tests.stores.files import sql

PHRASE = "the treasure lies under the old oak"


@pytest.fixture
def files(path: Path) -> Files:
    """Where the database is; there is none yet."""
    return Files(path)


def rows_of(path: Path, conversation_id: str) -> dict[str, int]:
    """How many rows of each table belong to the conversation."""
    columns = {
        table.name: "id" if table is conversations else "conversation_id"
        for table in metadata.sorted_tables
        if "conversation_id" in table.c or table is conversations
    }
    return {
        table: sql(path, f"SELECT count(*) FROM {table} WHERE {column} = ?", conversation_id)[0][0]  # noqa: S608
        for table, column in columns.items()
    }


def fill(store: SqlChatMemoryStore, conversation_id: str, secret: str, **settings: Any) -> ChatMemory:
    """Write a conversation of messages of all sizes, from a few bytes to many pages; each of them holds the secret."""
    chance = random.Random(7)  # noqa: S311 - sizes, the same each time
    memory = MessageWindowChatMemory(conversation_id, max_messages=9, store=store, **settings)
    for number in range(60):
        around = "x" * chance.choice((0, 30, 900, 3_000, 9_000))
        arguments = f'{{"at":"{around}{secret}"}}'
        memory.add(UserMessage(f"{around} {secret} {number} {around}"))
        memory.add(AssistantMessage(secret, tool_calls=[ToolCall(f"c{number}", "look", arguments)]))
        memory.add(ToolMessage(f"{secret}{around}", tool_call_id=f"c{number}"))
    memory.describe(title=secret, meta={"where": secret})
    return memory


def test_the_tables_are_all_looked_at(path: Path) -> None:
    """Each table but those of the schema itself belongs to conversations, so that none is forgotten below."""
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        fill(store, "c", PHRASE)
    assert {"conversations": 1, "messages": 180, "changes": 181} == rows_of(path, "c")
    tables = {name for (name,) in sql(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"conversations", "messages", "changes"} == {name for name in tables if "schema" not in name}


def test_delete_leaves_no_row(path: Path) -> None:
    """After a delete no table has a row of the conversation, and others have all of theirs."""
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        memory = fill(store, "c", PHRASE)
        fill(store, "d", "nothing")
        before = rows_of(path, "d")
        assert memory.delete()
    assert {"conversations": 0, "messages": 0, "changes": 0} == rows_of(path, "c")
    assert before == rows_of(path, "d")


def redact_all(memory: ChatMemory) -> None:
    """Redact each message, and empty title and meta."""
    for entry in memory.history():
        memory.redact(entry.seq, "gone")
    memory.describe(title="", meta={})


ERASING: dict[str, Callable[[ChatMemory], object]] = {"delete": lambda memory: memory.delete(), "redact": redact_all}


@pytest.mark.parametrize("erase", ERASING.values(), ids=ERASING)
def test_nothing_is_left_in_the_file(files: Files, erase: Callable[[ChatMemory], object]) -> None:
    """Once the last connection is closed, the bytes of the file hold nothing of what was erased."""
    with files.open() as store:
        fill(store, "kept", "an old letter")
        memory = fill(store, "c", PHRASE)
        assert [PHRASE] == files.found(PHRASE)
        erase(memory)
        fill(store, "more", "an old letter")
    assert [] == files.found(PHRASE, PHRASE[:12], PHRASE[-12:])
    assert ["an old letter"] == files.found("an old letter")


def test_nothing_is_left_after_a_checkpoint(files: Files) -> None:
    """While others stay connected, a checkpoint that empties the write-ahead log does the same."""
    with files.open() as store:
        fill(store, "c", PHRASE).delete()
        assert [PHRASE] == files.found(PHRASE)
        assert [(0, 0, 0)] == sql(files.path, "PRAGMA wal_checkpoint(TRUNCATE)")
        assert [] == files.found(PHRASE)


def test_nothing_is_left_of_what_left_the_window(files: Files) -> None:
    """Where only windows are kept, what left is not in the file either."""
    with SqlChatMemoryStore(f"sqlite:///{files.path}", retain="window") as store:
        memory = fill(store, "c", PHRASE)
        memory.describe(title="", meta={})
        memory.extend([UserMessage(f"message {number}") for number in range(9)])
    assert [] == files.found(PHRASE, PHRASE[:12], PHRASE[-12:])


def test_an_engine_without_secure_delete(files: Files) -> None:
    """SQLite keeps what a caller's engine erases without that setting; VACUUM lets go of it."""
    engine: Engine = create_engine(f"sqlite:///{files.path}")
    with SqlChatMemoryStore(engine) as store:
        with closing(engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA secure_delete=OFF")
        fill(store, "c", PHRASE).delete()
    engine.dispose()
    assert [PHRASE] == files.found(PHRASE)
    sql(files.path, "VACUUM")
    assert [] == files.found(PHRASE)

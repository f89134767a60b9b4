"""`reseal`: after it no row needs another key, nothing that was said has changed, and nothing comes back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from chatmemory import MessageWindowChatMemory, NotInHistoryError
from chatmemory.errors import CorruptedConversationError, InvalidArgumentError, StoreError
from chatmemory.messages import UserMessage
from chatmemory.stores import SqlChatMemoryStore, _sql_statements
from chatmemory.testing.store_entries import numbered
from tests.stores.fernet import SECRETS, FernetCodec, Files, secret_messages
from tests.stores.files import sql

OLD, BOTH, NEW = ("2030",), ("2030", "2031"), ("2031",)
BEHIND = ("2031", "2030")
"""Seals with the old key still, and can open the new one: the first step of every rotation."""


@pytest.fixture
def files(path: Path) -> Files:
    """Where the database is; there is none yet."""
    return Files(path)


def write(store: SqlChatMemoryStore, conversation_id: str, count: int) -> None:
    """Write a conversation of `count` messages, three of them in the window."""
    MessageWindowChatMemory(conversation_id, max_messages=3, store=store).extend(numbered(count))


def keys(files: Files) -> dict[str | None, int]:
    """Return how many rows each key has sealed."""
    return dict(
        sql(
            files.path,
            "SELECT key_id, count(*) FROM ("
            "SELECT key_id FROM messages UNION ALL "
            "SELECT key_id FROM conversations WHERE coalesce(about, sealed) IS NOT NULL) GROUP BY key_id",
        )
    )


@pytest.mark.parametrize("first", [None, FernetCodec(*OLD)], ids=["plain", "an old key"])
def test_afterwards_no_other_key_is_needed(files: Files, first: FernetCodec | None) -> None:
    """Every message, in the window or not, every title and all meta are under the new key, and say what they said."""
    with files.open(first) as store:
        write(store, "long", 250)
        for number in range(205):
            write(store, f"short {number}", 1)
        memory = MessageWindowChatMemory("titled", max_messages=3, store=store)
        memory.describe(title="Oak")
        before = {info.id: store.history(info.id) for info in store.conversations(limit=1000)}
        listed = store.conversations(limit=1000)
    with files.open(FernetCodec(*BOTH)) as store:
        assert 250 + 205 + 1 == store.reseal()
        assert 0 == store.reseal()
    assert {"2031": 456} == keys(files)
    with files.open(FernetCodec(*NEW)) as store:
        assert listed == store.conversations(limit=1000)
        assert before == {info.id: store.history(info.id) for info in listed}
        assert 0 == store.reseal()


def test_in_parts(files: Files) -> None:
    """Each call does up to its limit and goes on where the last one ended; 0 says that all is done."""
    with files.open() as store:
        for conversation_id in ("a", "b", "c"):
            write(store, conversation_id, 5)
            MessageWindowChatMemory(conversation_id, max_messages=3, store=store).describe(title="t")
    with files.open(FernetCodec(*NEW)) as store:
        assert [4, 4, 4, 4, 2, 0, 0] == [store.reseal(limit=4) for _ in range(7)]
        write(store, "a", 1)
        assert 0 == store.reseal()
    assert {"2031": 19} == keys(files)


def test_a_new_walk_begins_at_the_beginning(files: Files) -> None:
    """What another process wrote under the old key behind the walk is found by the next one."""
    with files.open(FernetCodec(*BOTH)) as store, files.open(FernetCodec(*BEHIND)) as late:
        write(store, "b", 2)
        write(late, "c", 2)
        assert 1 == store.reseal(limit=1)
        write(late, "a", 2)
        assert [1, 2, 0] == [store.reseal() for _ in range(3)]
    assert {"2031": 6} == keys(files)


def test_plain_text_is_gone_from_the_disk(files: Files) -> None:
    """Once everything is sealed, nothing of what was plain is left in the file."""
    with files.open() as store:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        memory.extend([*secret_messages(), UserMessage("filler " * 3_000 + SECRETS[0])])
        memory.describe(title=SECRETS[2], meta={"where": SECRETS[3]})
    assert list(SECRETS) == files.found(*SECRETS)
    with files.open(FernetCodec(*NEW)) as store:
        assert 4 == store.reseal()
    assert [] == files.found(*SECRETS)


def test_no_version_is_made(files: Files) -> None:
    """A memory that was open meanwhile goes on without loading again."""
    with files.open(FernetCodec(*OLD)) as store:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        memory.extend(numbered(3))
        with files.open(FernetCodec(*BOTH)) as other:
            assert 3 == other.reseal()
        assert 2 == memory.add(UserMessage("next")).version


class Interrupted(SqlChatMemoryStore):
    """A store in whose way something comes: after a row was found, and before it is locked."""

    meanwhile: Callable[[], object]

    def _write(self, work: Callable[[Any], Any]) -> Any:
        self.meanwhile()
        return super()._write(work)


@pytest.fixture
def interrupted(files: Files) -> Interrupted:
    """A store in whose way something comes, on a conversation of three messages that are sealed with an old key."""
    with files.open(FernetCodec(*OLD)) as store:
        memory = MessageWindowChatMemory("c", max_messages=9, store=store)
        memory.extend([UserMessage(SECRETS[0]), *numbered(2)])
        memory.describe(title=SECRETS[2])
    return Interrupted(f"sqlite:///{files.path}", codec=FernetCodec(*BOTH))


def test_what_is_redacted_meanwhile_stays_redacted(files: Files, interrupted: Interrupted) -> None:
    """A message that is redacted, and a title that changes, between the look and the lock are not brought back."""
    with interrupted, files.open(FernetCodec(*BEHIND)) as other:
        memory = MessageWindowChatMemory("c", max_messages=9, store=other)
        interrupted.meanwhile = lambda: (memory.redact(1, "gone"), memory.describe(title="gone"))
        while interrupted.reseal():
            pass
        assert "gone" == interrupted.history("c")[0].message.text
        assert "gone" == interrupted.conversations()[0].about.title
        assert memory.version == memory.refresh().version
    assert {"2031": 4} == keys(files)


def test_what_is_deleted_meanwhile_stays_deleted(files: Files, interrupted: Interrupted) -> None:
    """A conversation that is deleted between the look and the lock leaves no row."""
    with interrupted, files.open(FernetCodec(*OLD)) as other:
        interrupted.meanwhile = lambda: other.delete("c")
        assert 0 == interrupted.reseal()
    assert {} == keys(files)


def test_what_is_sealed_meanwhile_is_done_once(files: Files, interrupted: Interrupted) -> None:
    """Two that do the same work do it once."""
    with interrupted, files.open(FernetCodec(*BOTH)) as other:
        interrupted.meanwhile = other.reseal
        assert 0 == interrupted.reseal()
    assert {"2031": 4} == keys(files)


def test_a_text_that_cannot_be_opened(files: Files) -> None:
    """A lost key is an error that names the entry; the row stays, and is asked for again."""
    with files.open(FernetCodec("2032")) as store:
        write(store, "b", 1)
        MessageWindowChatMemory("c", max_messages=3, store=store).describe(title="t")
    before = sql(files.path, "SELECT * FROM messages")
    with files.open(FernetCodec(*NEW)) as store:
        for _ in range(2):
            with pytest.raises(CorruptedConversationError, match=r"'b', entry 1: .*'2032'"):
                store.reseal()
        assert before == sql(files.path, "SELECT * FROM messages")
        store.delete("b")
        with pytest.raises(CorruptedConversationError, match=r"'c', its title and meta: .*'2032'"):
            store.reseal()
        store.delete("c")
        assert 0 == store.reseal()


def test_a_codec_that_fails(files: Files) -> None:
    """Where the codec fails half-way, its batch is as it was, and the next call goes on."""
    with files.open(FernetCodec(*OLD)) as store:
        write(store, "c", 5)

    class Failing(FernetCodec):
        sealed = 0

        def encode(self, data: bytes) -> bytes:
            self.sealed += 1
            if self.sealed == 3:
                raise OSError("the vault is away")
            return super().encode(data)

    with files.open(Failing(*BOTH)) as store:
        with pytest.raises(StoreError, match="codec could not encode"):
            store.reseal()
        assert {"2030": 5} == keys(files)
        assert 5 == store.reseal()


def test_beside_writers(files: Files) -> None:
    """While others add, redact and delete, nothing is lost, nothing comes back and nobody fails."""
    with files.open(FernetCodec(*OLD)) as store:
        for conversation_id in ("a", "b", "c"):
            MessageWindowChatMemory(conversation_id, max_messages=3, store=store).extend(numbered(40))
    done = Event()

    def walk() -> None:
        with files.open(FernetCodec(*BOTH)) as store:
            while not done.is_set():
                store.reseal(limit=3)
            while store.reseal():
                pass

    def talk(number: int) -> None:
        with files.open(FernetCodec(*BOTH)) as store:
            memory = MessageWindowChatMemory("a", max_messages=3, store=store)
            for step in range(30):
                memory.add(UserMessage(f"{number}.{step}"))
                memory.redact(number * 15 + step % 15 + 1, f"gone {number}.{step}")
            store.delete("b")

    with ThreadPoolExecutor(3) as threads:
        walking = threads.submit(walk)
        talking = [threads.submit(talk, number) for number in range(2)]
        try:
            for one in talking:
                one.result(timeout=60)
        finally:
            done.set()
        walking.result(timeout=60)
    with files.open(FernetCodec(*NEW)) as store:
        history = store.history("a")
        assert list(range(1, 101)) == [entry.seq for entry in history]
        for number in range(2):
            mine = [entry.message.text for entry in history[40:] if entry.message.text.startswith(f"{number}.")]
            assert [f"{number}.{step}" for step in range(30)] == mine
            redacted = [entry.message.text for entry in history[number * 15 : number * 15 + 15]]
            assert [f"gone {number}.{step}" for step in range(15, 30)] == redacted
        assert [] == store.history("b")
        assert [message.text for message in numbered(40)] == [entry.message.text for entry in store.history("c")]


def test_every_statement_names_a_range_of_the_key(files: Files) -> None:
    """What the walk reads of a conversation is found by the primary key, whatever else is in the table."""
    with files.open() as store:
        write(store, "c", 3)
    with closing(sqlite3.connect(files.path)) as connection:
        for statement in (_sql_statements.READ_DUE, _sql_statements.READ_TEXTS, _sql_statements.RESEAL):
            values = dict.fromkeys(statement.compile().params, 1)
            for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values):
                assert "SEARCH messages USING INDEX sqlite_autoindex_messages_1 (conversation_id=?" in step


def test_without_a_codec(files: Files) -> None:
    """A store that does not seal has nothing to seal with, and says so."""
    with files.open() as store, pytest.raises(InvalidArgumentError, match="codec"):
        store.reseal()


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, None])
def test_other_limits(files: Files, limit: Any) -> None:
    """A limit is a positive int."""
    with files.open(FernetCodec(*NEW)) as store, pytest.raises(InvalidArgumentError, match="limit"):
        store.reseal(limit=limit)


def test_no_table_is_made(files: Files) -> None:
    """Where nothing was ever stored, nothing is made."""
    with files.open(FernetCodec(*NEW)) as store:
        assert 0 == store.reseal()
    assert [] == sql(files.path, "SELECT name FROM sqlite_master")
    with pytest.raises(NotInHistoryError), files.open(FernetCodec(*NEW)) as store:
        store.window_at("c", 1)

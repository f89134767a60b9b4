"""The life of the data on every database: sealed anew, kept as a window only, redacted, purged and erased."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from chatmemory import MessageWindowChatMemory, NotInHistoryError, OwnershipError, UserMessage
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.stores.base import COMMIT_IDS_KEPT, utc_now
from chatmemory.testing.store_entries import numbered
from tests.stores.fernet import SECRETS, FernetCodec, secret_messages

Opened = Callable[..., SqlChatMemoryStore]


@pytest.fixture
def opened(database_url: str) -> Opened:
    """Opens a store on the database with the settings given."""
    return lambda **settings: SqlChatMemoryStore(database_url, **settings)


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    """What another program reads."""
    drivers = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
    address = make_url(url)
    engine = create_engine(address.set(drivername=drivers.get(address.drivername, address.drivername)))
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement))]
    finally:
        engine.dispose()


def keys(url: str) -> set[tuple[Any, ...]]:
    """Which keys have sealed rows, and whether any row is plain."""
    return set(
        rows(url, "SELECT key_id, payload FROM messages")
        + rows(url, "SELECT key_id, about FROM conversations WHERE about IS NOT NULL OR sealed IS NOT NULL")
    )


def test_sealed_anew(opened: Opened, database_url: str) -> None:
    """Plain rows, then an old key, then a new one: nothing is lost, and no other key is needed."""
    with opened() as store:
        memory = MessageWindowChatMemory("c", max_messages=3, store=store)
        memory.extend([*secret_messages(), *numbered(250)])
        memory.describe(title=SECRETS[2])
        before, listed = store.history("c"), store.conversations()
    for names, last in ((["2030"], "2030"), (["2030", "2031"], "2031")):
        with opened(codec=FernetCodec(*names)) as store:
            assert [200, 53, 0] == [store.reseal(limit=200) for _ in range(3)]
        assert {(last, None)} == keys(database_url)
    with opened(codec=FernetCodec("2031")) as store:
        assert (before, listed) == (store.history("c"), store.conversations())


def test_sealed_anew_beside_writers(opened: Opened, database_url: str) -> None:
    """While others redact and add, nothing that was redacted comes back and nobody fails."""
    with opened(codec=FernetCodec("2030")) as store:
        MessageWindowChatMemory("c", max_messages=3, store=store).extend(numbered(60))

    def walk() -> None:
        with opened(codec=FernetCodec("2030", "2031")) as store:
            while store.reseal(limit=1):
                pass

    def talk() -> None:
        with opened(codec=FernetCodec("2031", "2030")) as store:
            memory = MessageWindowChatMemory("c", max_messages=3, store=store)
            for seq in range(1, 31):
                memory.redact(2 * seq, "gone")
                memory.add(UserMessage(f"new {seq}"))

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(walk), threads.submit(talk)]:
            done.result(timeout=60)
    walk()
    assert {("2031", None)} == keys(database_url)
    with opened(codec=FernetCodec("2031")) as store:
        said = [entry.message.text for entry in store.history("c")]
    assert [text for seq in range(1, 31) for text in (f"message {2 * seq - 1}", "gone")] == said[:60]
    assert [f"new {seq}" for seq in range(1, 31)] == said[60:]


def test_the_window_only(opened: Opened, database_url: str) -> None:
    """As many rows as the window has, the newest version only, and the keys of the newest changes."""
    with opened(retain="window") as store:
        memory = MessageWindowChatMemory("c", max_messages=3, store=store)
        for message in numbered(COMMIT_IDS_KEPT + 5):
            memory.add(message)
        assert [103, 104, 105] == [entry.seq for entry in store.history("c")]
        assert [103, 104, 105] == [entry.seq for entry in store.window_at("c", 105)]
        with pytest.raises(NotInHistoryError):
            store.window_at("c", 104)
    assert [(6, 105, 100)] == rows(database_url, "SELECT min(version), max(version), count(*) FROM changes")


def test_redacted(opened: Opened, database_url: str) -> None:
    """What is redacted stands in no row."""
    with opened() as store:
        memory = MessageWindowChatMemory("c", max_messages=1, store=store)
        memory.extend(secret_messages())
        assert [memory.redact(seq).version for seq in (1, 2)] == [2, 3]
        assert ["[redacted]"] * 2 == [entry.message.text for entry in store.history("c")]
    payloads = [payload for (payload,) in rows(database_url, "SELECT payload FROM messages")]
    assert [] == [payload for payload in payloads for secret in SECRETS if secret in payload]


def test_purged_and_erased(opened: Opened, database_url: str) -> None:
    """What is too old is erased, what is another's is not, and nothing is left in any table."""
    now = utc_now()
    with opened(clock=lambda: now, expire_after=timedelta(days=1)) as store:
        for conversation_id in ("a", "b", "c"):
            MessageWindowChatMemory(conversation_id, max_messages=9, store=store, owner="ann").add(UserMessage("u"))
        now += timedelta(days=2)
        MessageWindowChatMemory("b", max_messages=9, store=store, owner="ann").add(UserMessage("v"))
        assert [1, 1, 0] == [store.purge(limit=1) for _ in range(3)]
        foreign = MessageWindowChatMemory("b", max_messages=9, store=store, owner="bob")
        with pytest.raises(OwnershipError):
            foreign.messages()
        assert not foreign.delete()
        assert store.delete("b", owner="ann")
    for table in ("conversations", "messages", "changes"):
        assert [(0,)] == rows(database_url, f"SELECT count(*) FROM {table}")  # noqa: S608 - our own names

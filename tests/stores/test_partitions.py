"""PostgreSQL with tables split by conversation: nothing changes for the store, and each call stays in one part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, text

from chatmemory.errors import InvalidArgumentError
from chatmemory.messages import UserMessage
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore, check_schema, schema_revision, upgrade_schema
from chatmemory.stores._sql_schema import NEWEST, REVISIONS
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_conformance import StoreConformance
from chatmemory.testing.store_entries import agree, numbered
from tests.servers.postgresql import PostgreSql
from tests.stores.schemas import TABLES, described, drop_all, engine_of, fill_old, migrate

pytestmark = pytest.mark.server
PARTS = 8
REPEATED = 12
"""More often than the five times after which psycopg prepares a statement, and PostgreSQL may plan it for good."""

_TOUCHED = text(
    """SELECT relname, seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del
       FROM pg_stat_user_tables WHERE relname ~ '_p[0-9]+$'"""
)


@pytest.fixture
def url(postgresql_url: str) -> str:
    """A database whose tables are split into eight parts."""
    upgrade_schema(postgresql_url, partitions=PARTS)
    return postgresql_url


@pytest.fixture(params=["auto", "force_generic_plan"])
def only_connection(request: pytest.FixtureRequest, url: str) -> Iterator[Engine]:
    """A caller's engine with one connection, whose counters can be had at once, under each way of planning."""
    settings = {"options": f"-c plan_cache_mode={request.param}"}
    engine = create_engine(engine_of(url).url, pool_size=1, max_overflow=0, connect_args=settings)
    yield engine
    engine.dispose()


@pytest.fixture(scope="class")
def class_url(postgresql_server: PostgreSql) -> Iterator[str]:
    """A database whose tables are split, for all tests of a class."""
    url = postgresql_server.new_database()
    upgrade_schema(url, partitions=PARTS)
    yield url
    postgresql_server.drop_database(url)


def counters(engine: Engine) -> dict[str, int]:
    """Return how often each part was scanned or written to, by what the engine's connection did so far."""
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
        connection.commit()
        connection.execute(text("SELECT pg_stat_clear_snapshot()"))
        return {str(part): int(count) for part, count in connection.execute(_TOUCHED)}


def touched(engine: Engine, work: Callable[[], object]) -> set[str]:
    """Return the parts that `work` reads or writes."""
    before = counters(engine)
    work()
    return {part for part, count in counters(engine).items() if count != before[part]}


def part_of(connection: Connection, conversation_id: str) -> str:
    """Return the number of the part that a conversation is in, as PostgreSQL computes it."""
    ask = text("SELECT tableoid::regclass::text FROM conversations WHERE id = :id")
    name = connection.execute(ask, {"id": conversation_id}).scalar_one()
    return str(name).rpartition("_p")[2]


class TestPartitioned(StoreConformance):
    """PostgreSQL with eight hash partitions of each table, and a store that does not know of them."""

    url: str = ""

    @pytest.fixture(autouse=True)
    def _empty_tables(self, class_url: str) -> Iterator[None]:
        self.url = class_url
        yield
        engine = engine_of(class_url)
        with engine.begin() as connection:
            connection.execute(text(f"TRUNCATE {', '.join(TABLES)}"))
        engine.dispose()

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return one more store on the database."""
        assert place.is_dir()
        return SqlChatMemoryStore(self.url)


def test_every_table_is_split(url: str) -> None:
    """Conversations, messages and changes are in eight parts each, by the conversation's id."""
    ask = text(
        """SELECT inhparent::regclass::text, count(*), pg_get_partkeydef(inhparent) FROM pg_inherits
           WHERE inhparent::regclass::text = ANY(:tables) GROUP BY inhparent ORDER BY 1"""
    )
    engine = engine_of(url)
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(ask, {"tables": list(TABLES)})]
    engine.dispose()
    assert [
        ("changes", PARTS, "HASH (conversation_id)"),
        ("conversations", PARTS, "HASH (id)"),
        ("messages", PARTS, "HASH (conversation_id)"),
    ] == found
    check_schema(url)


@pytest.mark.parametrize("conversation_id", ["c", "user-42", "\u00e9\U0001f600"])
def test_each_call_stays_in_one_part(only_connection: Engine, conversation_id: str) -> None:
    """Every statement of an add, an evicting add, a load, history, window_at and delete touches one part.

    Each is repeated until it is a prepared statement. A listing, beside them, touches all parts.
    """
    store = SqlChatMemoryStore(only_connection)
    model = ConversationModel()
    for other in range(4 * PARTS):
        ConversationModel().write(store, f"other {other}", *numbered(3))
    model.write(store, conversation_id, *numbered(3))
    with only_connection.connect() as connection:
        part = part_of(connection, conversation_id)

    def add() -> None:
        model.write(store, conversation_id, UserMessage("u"))

    def evict() -> None:
        oldest, *_, newest = [entry.seq for entry in model.window]
        model.write(store, conversation_id, UserMessage("u"), leaving={oldest: "budget", newest: "set"})

    def recreate() -> None:
        nonlocal model
        store.delete(conversation_id)
        model = ConversationModel()
        add()

    work: dict[str, tuple[Callable[[], object], set[str]]] = {
        "add": (add, set(TABLES)),
        "evict": (evict, set(TABLES)),
        "load": (lambda: store.load(conversation_id), {"conversations", "messages"}),
        "load of an owner": (lambda: store.load(conversation_id, owner="o"), {"conversations"}),
        "history": (lambda: store.history(conversation_id), {"messages"}),
        "window_at": (lambda: store.window_at(conversation_id, 9), {"messages", "changes"}),
        "delete": (recreate, set(TABLES)),
    }
    for name, (call, tables) in work.items():
        for time in range(REPEATED):
            assert {f"{table}_p{part}" for table in tables} == touched(only_connection, call), f"{name}, time {time}"
    everywhere = {f"conversations_p{number}" for number in range(PARTS)}
    assert everywhere == touched(only_connection, store.conversations)
    assert 0 == only_connection.pool.checkedout()  # type: ignore[attr-defined]


def test_conversations_spread_over_the_parts(url: str) -> None:
    """A hundred conversations lie in all parts, and are listed in order."""
    ids = [f"c{number:03}" for number in range(100)]
    with SqlChatMemoryStore(url) as store:
        for conversation_id in ids:
            ConversationModel().write(store, conversation_id, *numbered(1))
        assert ids == [info.id for info in store.conversations(limit=100)]
        engine = engine_of(url)
        with engine.connect() as connection:
            assert PARTS == len({part_of(connection, conversation_id) for conversation_id in ids})
        engine.dispose()


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_split_tables_are_migrated(postgresql_url: str, revision: str) -> None:
    """An upgrade of older tables that are split ends in what the first use makes of split tables; nothing is lost."""
    upgrade_schema(postgresql_url, partitions=PARTS)
    newest = described(postgresql_url)
    drop_all(postgresql_url)
    migrate(postgresql_url, revision)
    split(postgresql_url)
    models = fill_old(postgresql_url, revision, ["a", "b"])

    assert NEWEST == upgrade_schema(postgresql_url, partitions=PARTS)

    assert newest == described(postgresql_url)
    with SqlChatMemoryStore(postgresql_url) as store:
        for conversation_id, model in models.items():
            agree(store, conversation_id, model)


def split(url: str) -> None:
    """Replace the empty tables that are there by the same ones in parts."""
    engine = engine_of(url)
    with engine.begin() as connection:
        for name in TABLES:
            key = "id" if name == "conversations" else "conversation_id"
            for statement in (
                f"ALTER TABLE {name} RENAME TO whole",
                f"ALTER INDEX {name}_pkey RENAME TO whole_pkey",
                f"CREATE TABLE {name} (LIKE whole INCLUDING ALL) PARTITION BY HASH ({key})",
                "DROP TABLE whole",
                *(
                    f"CREATE TABLE {name}_p{part} PARTITION OF {name} "
                    f"FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {part})"
                    for part in range(PARTS)
                ),
            ):
                connection.execute(text(statement))
    engine.dispose()


@pytest.mark.parametrize(("before", "after", "there"), [(0, 8, "whole"), (8, 4, "in 8 parts")])
def test_another_split_is_refused(postgresql_url: str, before: int, after: int, there: str) -> None:
    """Tables that are there keep their number of parts: another one is an error, and the same one, or none, is not."""
    upgrade_schema(postgresql_url, partitions=before)
    tables = described(postgresql_url)
    with pytest.raises(InvalidArgumentError, match=f"is {after}, and the tables that are there are {there}"):
        upgrade_schema(postgresql_url, partitions=after)
    upgrade_schema(postgresql_url, partitions=before)
    upgrade_schema(postgresql_url)
    assert tables == described(postgresql_url)


def test_too_many_parts_are_refused(postgresql_url: str) -> None:
    """More parts than a planner can hold are refused, and nothing is made."""
    with pytest.raises(InvalidArgumentError, match="is 1025; give at most 1024"):
        upgrade_schema(postgresql_url, partitions=1025)
    assert None is schema_revision(postgresql_url)

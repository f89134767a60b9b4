"""Schemas as tests need them: made as an older release made them, filled, emptied, and described by the database."""

from __future__ import annotations

import os
import signal
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Engine, MetaData, Table, create_engine, event, insert, inspect, make_url, select, text

from chatmemory.messages import UserMessage
from chatmemory.stores import SqlChatMemoryStore, schema_metadata, upgrade_schema
from chatmemory.stores._sql_alone import alone
from chatmemory.stores._sql_engine import engine_for
from chatmemory.stores._sql_transactions import Database
from chatmemory.testing.changes import ConversationModel, add_until_taken

SCRIPTS = Path(__file__).parents[2] / "stores" / "migrations"
TABLES = ("conversations", "messages", "changes")

_POSTGRESQL = (
    """SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, collation_name,
              is_nullable, column_default
       FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2""",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1, 2",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
       WHERE connamespace = current_schema()::regnamespace ORDER BY 1, 2""",
)
_SQLITE = (
    """SELECT m.name, c.* FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'
       ORDER BY m.name, c.cid""",
    """SELECT m.name, i."unique", i.origin, i.partial, c.* FROM sqlite_master m, pragma_index_list(m.name) i,
       pragma_index_xinfo(i.name) c WHERE m.type = 'table' ORDER BY m.name, i.name, c.seqno""",
)


def engine_of(url: str) -> Engine:
    """Return an engine as the store makes it; the test disposes it."""
    return engine_for(url, wait_seconds=60)[0]


def scripts() -> Config:
    """Return a configuration for Alembic's commands."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config


def migrate(url: str, revision: str) -> None:
    """Migrate to a revision, from whatever is there."""
    database = Database(engine_of(url), is_owned=True, wait_seconds=60)
    with alone(database) as connection:
        config = scripts()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    database.close()


def all_revisions() -> list[str]:
    """Return the revisions that the scripts have, oldest first."""
    walk = ScriptDirectory.from_config(scripts()).walk_revisions()
    return [script.revision for script in walk][::-1]


def described(url: str) -> list[list[Any]]:
    """Return what the database says of its tables: columns, types, collations, keys, indexes."""
    engine = engine_of(url)
    kind = make_url(url).get_backend_name()
    with engine.connect() as connection:
        if kind in ("mysql", "mariadb"):
            names = sorted(inspect(connection).get_table_names())
            found = [connection.exec_driver_sql(f"SHOW CREATE TABLE {name}").all() for name in names]
        else:
            found = [connection.execute(text(ask)).all() for ask in (_SQLITE if kind == "sqlite" else _POSTGRESQL)]
    engine.dispose()
    return [[tuple(row) for row in rows] for rows in found]


def drop_all(url: str) -> None:
    """Remove the tables."""
    engine = engine_of(url)
    schema_metadata().drop_all(engine)
    engine.dispose()


def fill_old(url: str, revision: str, ids: list[str]) -> dict[str, ConversationModel]:
    """Make the schema of an older revision, and conversations as that release wrote them; return what they hold."""
    migrate(url, revision)
    template = create_engine("sqlite://")
    models = {}
    with SqlChatMemoryStore(template) as store:
        for conversation_id in ids:
            model = models[conversation_id] = ConversationModel()
            model.write(store, conversation_id, *map(UserMessage, ("one", "two \u00e9", "three \U0001f600")))
            model.write(store, conversation_id, UserMessage("four"), leaving={1: "budget"})
    _copy(template, url)
    template.dispose()
    return models


def _copy(source: Engine, url: str) -> None:
    engine = engine_of(url)
    with source.connect() as reading, engine.begin() as writing:
        for name in TABLES:
            table = Table(name, MetaData(), autoload_with=engine)
            columns: list[Column[Any]] = [Column(column.name, column.type) for column in table.columns]
            rows = reading.execute(select(*columns).select_from(Table(name, MetaData(), *columns))).mappings().all()
            writing.execute(insert(table), [dict(row) for row in rows])
    engine.dispose()


def start_on_old(url: str, name: str, start: Barrier) -> None:
    """Open a store that upgrades by itself, at the same moment as others, and add a message to its conversation."""
    with SqlChatMemoryStore(url, auto_upgrade=True) as store:
        start.wait()
        add_until_taken(store, name, "after the upgrade")


def upgrade_until(url: str, last: int) -> None:
    """Upgrade, and be killed before the statement with number `last` that would change something."""
    seen = 0

    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal seen
        seen += statement.split(maxsplit=1)[0].upper() in ("ALTER", "CREATE", "INSERT", "UPDATE", "DROP")
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    upgrade_schema(url)

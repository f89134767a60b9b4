"""SQLite files as other programs see them: filled, read, damaged, watched."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from chatmemory.stores import SqlChatMemoryStore
from chatmemory.testing.changes import ConversationModel
from chatmemory.testing.store_entries import numbered


def watch(engine: Engine, follow: Callable[[sqlite3.Connection], None]) -> None:
    """Show each new connection of `engine` to `follow`."""
    event.listen(engine, "connect", lambda connection, _: follow(connection))


def sql(path: Path, statement: str, *values: object) -> list[Any]:
    """Run one statement on the file, as another program would."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def filled(path: Path, count: int = 3) -> ConversationModel:
    """Write one conversation into a new file and close it."""
    model = ConversationModel()
    with SqlChatMemoryStore(f"sqlite:///{path}") as store:
        model.write(store, "c", *numbered(count))
    return model

"""Databases with long histories and many conversations, filled as a memory would leave them, only faster.

Decides: what a filled conversation looks like: one message a version, a window of the newest, everything else left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, TypeVar

from sqlalchemy import Engine, insert
from sqlalchemy.schema import Table

from chatmemory.core.entries import Change, Entry, Extent, Limit
from chatmemory.messages import UserMessage
from chatmemory.stores import _sql_rows as rows
from chatmemory.stores._sql_schema import changes, conversations, messages
from chatmemory.stores._sql_sealing import Seal

WINDOW: Final = 200
AT: Final = datetime(2031, 7, 8, tzinfo=UTC)
TEXT: Final = "Where is my parcel? I ordered it on Monday, and the page still says that it is being packed. " * 4

_Item = TypeVar("_Item")


def fill_history(engine: Engine, conversation_id: str, length: int) -> None:
    """Make a conversation with `length` entries of history, the newest of them in its window."""
    _insert(engine, messages, (_entry_row(conversation_id, seq, length) for seq in range(1, length + 1)))
    _insert(engine, changes, (_change_row(conversation_id, version) for version in range(1, length + 1)))
    size = min(length, WINDOW)
    _insert(engine, conversations, [_conversation_row(conversation_id, length, size)])


def fill_conversations(engine: Engine, count: int, *, first: int = 0) -> None:
    """Make `count` conversations of one message each, numbered from `first` on."""
    ids = [f"filler {number:09}" for number in range(first, first + count)]
    _insert(engine, conversations, (_conversation_row(each, 1, 1) for each in ids))
    _insert(engine, messages, (_entry_row(each, 1, 1) for each in ids))
    _insert(engine, changes, (_change_row(each, 1) for each in ids))


def _entry_row(conversation_id: str, seq: int, length: int) -> dict[str, Any]:
    entry = Entry(seq, UserMessage(TEXT), 80, "o200k_base", "message", None, None, AT, seq)
    left = entry.leaving(seq + WINDOW, "budget") if seq <= length - WINDOW else entry
    return rows.entry_values(conversation_id, left, Seal())


def _change(version: int) -> Change:
    extent = Extent(max(1, version - WINDOW + 1))
    return Change(
        version=version,
        added=(),
        removed=(),
        refused=(),
        tokens=None,
        limit=Limit(),
        seq=None,
        oversize=False,
        written=(),
        at=AT,
        commit_id=f"{version:032x}.{version - 1}",
        next_seq=version + 1,
        extent=extent,
    )


def _change_row(conversation_id: str, version: int) -> dict[str, Any]:
    return rows.change_values(conversation_id, _change(version))


def _conversation_row(conversation_id: str, version: int, size: int) -> dict[str, Any]:
    return rows.conversation_values(conversation_id, _change(version), f"{version:032x}", Seal()) | {"size": size}


def _insert(engine: Engine, table: Table, filling: Iterable[dict[str, Any]]) -> None:
    statement = insert(table)
    for batch in _batches(iter(filling), 5_000):
        with engine.begin() as connection:
            connection.execute(statement, batch)


def _batches(items: Iterator[_Item], size: int) -> Iterator[list[_Item]]:
    while batch := list(islice(items, size)):
        yield batch

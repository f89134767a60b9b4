"""What grows with the data and what does not: loading a window, beside long histories and many conversations.

Decides: the sizes, and what is compared with what. The floor is the least code that reads the window's rows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from attrs import frozen
from sqlalchemy import Engine, text

from benchmarks.databases import Opened, databases
from benchmarks.filling import TEXT, WINDOW, fill_conversations, fill_history
from benchmarks.measuring import Timing, in_turns, shown
from benchmarks.report import Table
from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.codec import encode_message
from chatmemory.stores import SqlChatMemoryStore
from chatmemory.stores import _sql_statements as statements
from chatmemory.stores._sql_engine import engine_for

_TURNS_BEFORE: Final = 300
"""Real adds, each of which lets one message leave, before anything is measured: they leave dead rows behind."""


@frozen
class Sizes:
    """How much is filled in, and how often it is measured."""

    histories: tuple[int, ...]
    conversations: tuple[int, ...]
    deleted: int
    rounds: int


FULL: Final = Sizes((100, 10_000, 1_000_000), (10, 1_000_000), 100_000, 60)
QUICK: Final = Sizes((100, 1_000, 20_000), (10, 20_000), 10_000, 20)


def growth(*, quick: bool) -> Iterator[Table]:
    """Yield the tables: loading beside histories, loading beside conversations, deleting, and bytes an entry."""
    sizes = QUICK if quick else FULL
    loading = Table(
        "load",
        f"Loading a window of {WINDOW} messages, as the history and the number of conversations grow",
        ("database", "conversations", "history", "load", "to the rows alone", "to the shortest history", "plan"),
    )
    deleting = Table(
        "delete",
        f"Deleting a conversation of {sizes.deleted:,} entries while another one is added to",
        ("database", "delete", "add beside it, longest", "add otherwise, longest"),
    )
    size = Table(
        "bytes",
        "Bytes of the database an entry (row, change, index), beside those of the message's own JSON",
        ("database", "bytes an entry", "JSON", "ratio"),
    )
    with TemporaryDirectory() as folder:
        for opened in databases(Path(folder)):
            print(f"{opened.name}: filling", flush=True)
            _measure_bytes(opened, sizes, size)
            _measure_loading(opened, sizes, loading)
            _measure_deleting(opened, sizes, deleting)
    yield from (loading, deleting, size)


def _measure_loading(opened: Opened, sizes: Sizes, table: Table) -> None:
    engine = engine_for(opened.url, wait_seconds=600)[0]
    with SqlChatMemoryStore(opened.url, conflict_timeout_seconds=600) as store:
        for length in sizes.histories:
            fill_history(engine, f"history {length}", length)
            _live_on(store, f"history {length}")
        there = 0
        for count in sizes.conversations:
            fill_conversations(engine, count - there, first=there)
            there = count
            table.rows.extend([(opened.name, f"{count:,}", *row) for row in _loaded(opened, store, engine, sizes)])
    engine.dispose()


def _live_on(store: SqlChatMemoryStore, conversation_id: str) -> None:
    memory = MessageWindowChatMemory(conversation_id, max_messages=WINDOW, store=store)
    for _ in range(_TURNS_BEFORE):
        memory.add(UserMessage(TEXT))


def _loaded(opened: Opened, store: SqlChatMemoryStore, engine: Engine, sizes: Sizes) -> Iterator[tuple[Any, ...]]:
    with engine.connect() as connection:
        floor = text("SELECT * FROM messages WHERE conversation_id = :id AND seq >= :first ORDER BY seq")
        values = _where(store, sizes.histories[0])
        things: dict[str, Any] = {"floor": lambda: connection.execute(floor, values).fetchall()}
        for length in sizes.histories:
            things[str(length)] = lambda length=length: store.load(f"history {length}")
        timings = in_turns(things, rounds=sizes.rounds)
        for length in sizes.histories:
            load = timings[str(length)]
            plan = opened.plan(connection, statements.READ_TAIL, _where(store, length))
            yield f"{length:,}", load, *_ratios(load, timings, sizes.histories[0]), plan


def _ratios(load: Timing, timings: dict[str, Timing], shortest: int) -> tuple[str, str]:
    return f"{load.median / timings['floor'].median:.2f}", f"{load.median / timings[str(shortest)].median:.2f}"


def _where(store: SqlChatMemoryStore, length: int) -> dict[str, Any]:
    snapshot = store.load(f"history {length}")
    assert snapshot is not None  # noqa: S101 - it was filled in
    conversation_id, first = f"history {length}", snapshot.extent.first_seq
    return {"id": conversation_id, "first": first, "p_id": conversation_id, "p_first": first}


def _measure_deleting(opened: Opened, sizes: Sizes, table: Table) -> None:
    engine = engine_for(opened.url, wait_seconds=600)[0]
    fill_history(engine, "long", sizes.deleted)
    engine.dispose()
    with SqlChatMemoryStore(opened.url, conflict_timeout_seconds=600) as store:
        quiet = _longest_add(store, threading.Thread(target=time.sleep, args=(1,)))
        took: list[float] = []
        busy = _longest_add(store, threading.Thread(target=_delete, args=(store, took)))
    table.rows.append((opened.name, shown(took[0]), shown(busy), shown(quiet)))


def _delete(store: SqlChatMemoryStore, took: list[float]) -> None:
    start = time.perf_counter()
    store.delete("long")
    took.append(time.perf_counter() - start)


def _longest_add(store: SqlChatMemoryStore, beside: threading.Thread) -> float:
    memory = MessageWindowChatMemory("history 100", max_messages=WINDOW, store=store)
    memory.add(UserMessage(TEXT))
    longest = 0.0
    beside.start()
    while beside.is_alive():
        start = time.perf_counter()
        memory.add(UserMessage(TEXT))
        longest = max(longest, time.perf_counter() - start)
    beside.join()
    return longest


def _measure_bytes(opened: Opened, sizes: Sizes, table: Table) -> None:
    engine = engine_for(opened.url, wait_seconds=600)[0]
    with SqlChatMemoryStore(opened.url, conflict_timeout_seconds=600) as store:
        MessageWindowChatMemory("first", max_messages=WINDOW, store=store).add(UserMessage("makes the tables"))
    before = opened.size(engine)
    fill_history(engine, "measured", sizes.deleted)
    each = (opened.size(engine) - before) / sizes.deleted
    engine.dispose()
    own = len(encode_message(UserMessage(TEXT)).encode())
    table.rows.append((opened.name, f"{each:.0f}", own, f"{each / own:.2f}"))

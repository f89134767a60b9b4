"""Faults that other projects reported, as far as they are about what is stored: none of them is possible here.

B106 and B107, threads and processes that add at once, stand in tests/memory/test_writers.py.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from chatmemory import (
    ChatMemory,
    InvalidMessageError,
    MessageWindowChatMemory,
    TokenWindowChatMemory,
    UserMessage,
    to_openai,
)
from chatmemory.formats import check
from chatmemory.stores import SqlChatMemoryStore
from tests.conversations import SizeCounter
from tests.oracle import check_window
from tests.public_cases import label_of, messages_of

Wire = list[dict[str, Any]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where conversations are kept; there are none yet."""
    return f"sqlite:///{tmp_path}/chat.db"


@pytest.fixture
def opened(url: str) -> Iterator[Callable[[], ChatMemory]]:
    """A function that opens the same conversation again, in a new store, as after a restart."""
    stores: list[SqlChatMemoryStore] = []

    def open_again() -> ChatMemory:
        while stores:
            stores.pop().close()
        stores.append(SqlChatMemoryStore(url))
        return MessageWindowChatMemory("c", max_messages=100, store=stores[0])

    yield open_again
    while stores:
        stores.pop().close()


Opened = Callable[[], ChatMemory]


def call(call_id: str | None, arguments: str = "{}", name: str = "look") -> dict[str, Any]:
    """A call as it goes over the wire."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def turn(reply: dict[str, Any], result: Any) -> Wire:
    """A question, a call, its result and the answer."""
    return [
        {"role": "user", "content": "where is it?"},
        {"role": "assistant"} | reply,
        {"role": "tool", "tool_call_id": "keep-me", "content": result},
        {"role": "assistant", "content": "in Bern"},
    ]


PARTS: Final = [{"type": "text", "text": "taken"}, {"type": "image_url", "image_url": {"url": "https://example.org/p"}}]
MIXED: Final = "e\u0301 \u202eabc\u202c 👩‍👩‍👧 𝐛𝐨𝐥𝐝 नमस्ते 안녕 \u2028 \ufeff \ufffd \r\n\t"
CALLING: Final = {"content": None, "tool_calls": [call("keep-me", '{"n": 1}')]}
IDENTICAL: Final[dict[str, tuple[str, Wire]]] = {
    "B077": ("parts of a result are flattened", turn(CALLING, PARTS)),
    "B080": (
        "an empty answer makes the next request fail",
        [
            {"role": "user", "content": "quietly"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "well?"},
        ],
    ),
    "B082": ("None beside calls comes back as an empty text without calls", turn(CALLING, "r")),
    "B085": ("an empty result counts as none", turn(CALLING, "")),
    "B086": ("a NUL breaks the write", [{"role": "user", "content": "a\0b"}, {"role": "assistant", "content": "\0"}]),
    "B089": ("characters are joined, parted or lost", [{"role": "user", "content": MIXED}]),
    "B095": ("ids are made anew", turn(CALLING, "r")),
    "B100": ("a column cuts long text", [{"role": "assistant", "content": "0123456789" * 7_000}]),
    "B103": (
        "arguments that are no JSON are parsed, and fail",
        turn({"content": None, "tool_calls": [call("keep-me", "{'it''s': None,")]}, "r"),
    ),
    "B109": ("only texts are stored, calls and results are not", turn(CALLING, "r") + turn(CALLING, "again")),
    "B122": (
        "the newest comes first",
        [{"role": "user", "content": str(number)} for number in range(3)],
    ),
}


@pytest.mark.parametrize(("_fault", "wire"), IDENTICAL.values(), ids=IDENTICAL)
def test_what_comes_back_is_what_went_in(opened: Opened, _fault: str, wire: Wire) -> None:
    """After a restart each message is what it was, character by character, in the order of adding."""
    opened().extend(wire)
    memory = opened()
    assert wire == to_openai(memory.window())
    assert list(range(1, len(wire) + 1)) == [entry.seq for entry in memory.window()]


def test_b083(opened: Opened) -> None:
    """An assistant message without the key `content` is taken, and is as one whose content is None."""
    opened().extend(turn({"tool_calls": [call("keep-me")]}, "r"))
    assert turn({"content": None, "tool_calls": [call("keep-me")]}, "r") == to_openai(opened().window())
    assert [] == check(to_openai(opened().window()))


@pytest.mark.parametrize("value", [datetime(2024, 5, 1, tzinfo=UTC), uuid.UUID(int=7), {1}, object(), float("nan")])
@pytest.mark.parametrize("place", ["arguments", "extra"])
def test_b098(opened: Opened, place: str, value: Any) -> None:
    """A Python value that is no JSON is refused by add, with its path, and memory and store are as before."""
    memory = opened()
    memory.add(UserMessage("when?"))
    reply: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call("u")]}
    if place == "arguments":
        reply["tool_calls"][0]["function"]["arguments"] = {"at": value}
    else:
        reply["tool_calls"][0]["note"] = {"at": value}
    with pytest.raises(InvalidMessageError) as caught:
        memory.add(reply)
    expected = "tool_calls[0].function.arguments" if place == "arguments" else "tool_calls[0].note"
    assert caught.value.path.startswith(expected)
    assert [UserMessage("when?")] == memory.messages() == opened().messages()


def test_b101(opened: Opened) -> None:
    """A result without id, where no call is without one, is an orphan: in the history only, and the rest is usable."""
    wire: Wire = [
        {"role": "user", "content": "q"},
        {"role": "tool", "content": "from an older version"},
        {"role": "assistant", "content": "a"},
    ]
    opened().extend(wire)
    assert [wire[0], wire[2]] == to_openai(opened().window())
    assert [None, "orphan", None] == [entry.reason for entry in opened().history()]


def test_b088() -> None:
    """Text is never cut: a result that is too long leaves whole with its call, and is whole in the history."""
    memory = TokenWindowChatMemory(max_tokens=30, counter=SizeCounter())
    result = "🔬🎯✅🚀" * 50 + ":90"
    memory.extend(messages_of("U:5 C(a):5"))
    change = memory.add({"role": "tool", "tool_call_id": "a", "content": result})
    assert change.oversize
    assert ["U"] == [label_of(message) for message in memory.messages()]
    assert result == memory.history()[-1].message.text


def test_b104() -> None:
    """Requests that share a memory and add whole exchanges do not mix, at any moment."""
    memory = MessageWindowChatMemory(max_messages=10)
    exchange = messages_of("U C(a,b) R1(a) R2(b) A")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: memory.extend(exchange), range(160)))
    assert 160 == memory.version
    assert ["U", "C", "R1", "R2", "A"] * 160 == [label_of(entry.message) for entry in memory.history()]
    for version in range(1, 161):
        assert [] == check_window(memory.window_at(version).messages())
    assert ["U", "C", "R1", "R2", "A"] * 2 == [label_of(message) for message in memory.messages()]


def test_b110(opened: Opened) -> None:
    """Opening is reading: however often, there are as many rows as messages."""
    for number in range(4):
        opened().add(UserMessage(str(number)))
        opened().messages()
    assert ["0", "1", "2", "3"] == [entry.message.text for entry in opened().history()]
    assert 4 == opened().version


def test_b119(opened: Opened) -> None:
    """What was cleared does not come back after a restart, the system message neither: `clear` takes it too."""
    opened().extend(messages_of("S U A"))
    opened().clear()
    assert [] == opened().messages()
    assert ["cleared"] * 3 == [entry.reason for entry in opened().history()]


CLOCKS: Final[dict[str, Callable[[int], int]]] = {
    "B121 standing still": lambda _: 0,
    "B124 within a second": lambda tick: tick // 1000,
    "B125 going backwards": lambda tick: -tick,
}


@pytest.mark.parametrize("seconds", CLOCKS.values(), ids=CLOCKS)
@pytest.mark.parametrize("at_once", [True, False], ids=["extend", "add"])
def test_no_clock_orders_anything(url: str, seconds: Callable[[int], int], *, at_once: bool) -> None:
    """R12: whatever the clock says, 200 messages are all there in the order of adding, results behind their calls."""
    ticks, begin = count(), datetime(2024, 5, 1, tzinfo=UTC)
    messages = messages_of(" ".join(f"U{n} C{n}(a) R{n}(a) A{n}" for n in range(50)))
    with SqlChatMemoryStore(url, clock=lambda: begin + timedelta(seconds=seconds(next(ticks)))) as store:
        memory = MessageWindowChatMemory("c", max_messages=500, store=store)
        for part in [messages] if at_once else [[message] for message in messages]:
            memory.extend(part)
    with SqlChatMemoryStore(url) as store:
        assert messages == MessageWindowChatMemory("c", max_messages=500, store=store).messages()


class Counted:
    """A database in memory that counts its statements, and the rows that they wrote."""

    def __init__(self) -> None:
        self.engine: Engine = create_engine("sqlite://", poolclass=StaticPool)
        self.statements: list[str] = []
        self._connections: list[sqlite3.Connection] = []
        event.listen(self.engine, "connect", lambda connection, _: self._connections.append(connection))
        event.listen(self.engine, "before_cursor_execute", lambda *seen: self.statements.append(seen[2].split()[0]))

    @property
    def written(self) -> int:
        """How many rows were inserted, updated and deleted so far."""
        return sum(connection.total_changes for connection in self._connections)

    def during(self, work: Callable[[], object]) -> tuple[list[str], int]:
        """Return the statements, and the number of written rows, of one piece of work."""
        self.statements.clear()
        before = self.written
        work()
        return list(self.statements), self.written - before


@pytest.fixture
def counted() -> Iterator[Counted]:
    """Such a database."""
    database = Counted()
    yield database
    database.engine.dispose()


def test_b128(counted: Counted) -> None:
    """An add writes its row, the change and the conversation, and marks what leaves; it never rewrites the window."""
    memory = MessageWindowChatMemory("c", max_messages=150, store=SqlChatMemoryStore(counted.engine))
    memory.add(UserMessage("first"))
    for number in range(200):
        _, written = counted.during(partial(memory.add, UserMessage(str(number))))
        assert (3 if number < 149 else 4) == written


@pytest.mark.parametrize("size", [100, 1_000])
def test_b127(counted: Counted, size: int) -> None:
    """What an extend and a load ask of the database is linear in their rows: ten times as many, as many statements."""
    store = SqlChatMemoryStore(counted.engine)
    memory = MessageWindowChatMemory("c", max_messages=10_000, store=store)
    memory.add(UserMessage("first"))
    statements, written = counted.during(lambda: memory.extend(UserMessage("x") for _ in range(size)))
    assert size + 2 == written
    assert 4 >= len([one for one in statements if one in ("INSERT", "UPDATE", "SELECT")])
    again = MessageWindowChatMemory("c", max_messages=10_000, store=store)
    statements, written = counted.during(again.messages)
    assert (0, size + 1) == (written, len(again.messages()))
    assert 3 >= statements.count("SELECT")


def test_b130() -> None:
    """Neither what was given nor what is handed out leads back into the memory, nested lists neither."""
    memory = MessageWindowChatMemory(max_messages=9)
    given: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": "noted"}], "meta": {"k": [1]}}
    memory.add(given)
    before = to_openai(memory.window())
    given["content"][0]["text"] = "other"
    given["meta"]["k"].append(2)
    shown = to_openai(memory.window())
    shown[0]["content"][0]["text"] = "other"
    shown[0]["meta"]["k"].append(2)
    memory.messages()[0].extra["meta"]["k"].append(3)
    assert before == to_openai(memory.window())

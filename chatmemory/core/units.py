"""Entries as units (R3): an assistant message with its results, or any other message alone.

Decides: where a unit begins and ends, and which calls still wait for a result. A result is linked to its call by id,
never by adjacency or tool name; once linked, it stands behind its call, so a unit is a run of a window's entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple, Self

from attrs import frozen

from chatmemory.core.entries import Entry
from chatmemory.messages import Message, ToolCall, ToolMessage


class Size(NamedTuple):
    """What entries take: tokens (0 where nothing is counted) and messages."""

    tokens: int
    messages: int

    def plus(self, other: Size) -> Size:
        """This and `other` together."""
        return Size(self.tokens + other.tokens, self.messages + other.messages)

    def minus(self, other: Size) -> Size:
        """This without `other`."""
        return Size(self.tokens - other.tokens, self.messages - other.messages)


def size_of(entries: Iterable[Entry]) -> Size:
    """Return what `entries` take together."""
    tokens = [entry.tokens or 0 for entry in entries]
    return Size(sum(tokens), len(tokens))


@frozen
class Unit:
    """The smallest set of entries that may leave together: one message, or a call message and all its results."""

    entries: tuple[Entry, ...]

    @property
    def seq(self) -> int:
        """The seq of its first entry, which names it."""
        return self.entries[0].seq

    @property
    def place(self) -> int:
        """Where it stands in the window (R3)."""
        return self.entries[0].place

    @property
    def message(self) -> Message:
        """Its first message."""
        return self.entries[0].message

    @property
    def size(self) -> Size:
        """What it takes."""
        return size_of(self.entries)

    @property
    def tokens(self) -> int:
        """What it costs; 0 where nothing is counted."""
        return self.size.tokens

    @property
    def newest_result(self) -> int:
        """The place of its newest result, 0 where there is none."""
        return max((entry.place for entry in self.entries[1:]), default=0)

    @property
    def waits(self) -> bool:
        """Whether a result of it is still missing."""
        return len(self.message.tool_calls) >= len(self.entries)


def unit_place(entry: Entry) -> int:
    """Return the place of the unit that `entry` belongs to: a window is ordered by it (R3)."""
    return entry.call_seq or entry.place


def units_of(entries: tuple[Entry, ...], start: int = 0, end: int | None = None) -> Iterator[Unit]:
    """The units in `entries` between the indexes `start` and `end`, oldest first."""
    end = len(entries) if end is None else end
    while start < end:
        behind = start + 1
        while behind < end and entries[behind].call_seq is not None:
            behind += 1
        yield Unit(entries[start:behind])
        start = behind


def cut_out(entries: tuple[Entry, ...], spans: Iterable[tuple[int, int]]) -> tuple[Entry, ...]:
    """Return `entries` without these spans, each an index and a length, in order."""
    pieces, start = list[tuple[Entry, ...]](), 0
    for index, length in spans:
        pieces.append(entries[start:index])
        start = index + length
    return tuple(chain(*pieces, entries[start:]))


def id_key(wire_id: str | None) -> str:
    """Return the key by which calls and results meet: a missing id and an empty one are the same (R3)."""
    return wire_id or ""


def result_key(message: Message) -> str:
    """Return the key of the call that a result names."""
    return id_key(message.tool_call_id) if isinstance(message, ToolMessage) else ""


@frozen
class Calls:
    """Which calls of a window wait for a result, and which ids have theirs.

    Attributes:
        waiting: Per id, the places of the units that wait, oldest first, once for each waiting call.
        answered: Per id, how many results the window holds.
    """

    waiting: Mapping[str, tuple[int, ...]]
    answered: Mapping[str, int]

    @classmethod
    def none(cls) -> Self:
        """No call at all."""
        return cls({}, {})

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Self:
        """The calls of a whole window."""
        waiting, answered = dict[str, tuple[int, ...]](), Counter[str]()
        for unit in units:
            results = Counter(result_key(entry.message) for entry in unit.entries[1:])
            answered.update(results)
            for key, count in Counter(id_key(call.id) for call in unit.message.tool_calls).items():
                if count > results[key]:
                    waiting[key] = (*waiting.get(key, ()), *(unit.place,) * (count - results[key]))
        return cls(waiting, dict(answered))

    def nearest(self, key: str) -> int | None:
        """Return the place of the nearest earlier unit with a waiting call of this id (R3)."""
        places = self.waiting.get(key)
        return places[-1] if places else None

    def made(self, place: int, calls: tuple[ToolCall, ...]) -> Calls:
        """The calls once the message at `place` has made its own."""
        waiting = dict(self.waiting)
        for key, count in Counter(id_key(call.id) for call in calls).items():
            waiting[key] = (*waiting.get(key, ()), *(place,) * count)
        return Calls(waiting, self.answered)

    def answer(self, key: str) -> Calls:
        """The calls once the nearest waiting one of this id has its result."""
        waiting = dict(self.waiting)
        rest = waiting[key][:-1]
        if rest:
            waiting[key] = rest
        else:
            del waiting[key]
        return Calls(waiting, {**self.answered, key: self.answered.get(key, 0) + 1})

    def without(self, units: Iterable[Unit]) -> Calls:
        """The calls once `units` have left."""
        calling = [unit for unit in units if unit.message.tool_calls]
        if not calling:
            return self
        waiting, answered = dict(self.waiting), dict(self.answered)
        for unit in calling:
            results = Counter(result_key(entry.message) for entry in unit.entries[1:])
            for key, count in results.items():
                _take(answered, key, count)
            for key, count in Counter(id_key(call.id) for call in unit.message.tool_calls).items():
                _stop_waiting(waiting, key, unit.place, count - results[key])
        return Calls(waiting, answered)


def _take(answered: dict[str, int], key: str, count: int) -> None:
    answered[key] -= count
    if not answered[key]:
        del answered[key]


def _stop_waiting(waiting: dict[str, tuple[int, ...]], key: str, place: int, count: int) -> None:
    if not count:
        return
    places = waiting[key]
    first = places.index(place)
    rest = places[:first] + places[first + count :]
    if rest:
        waiting[key] = rest
    else:
        del waiting[key]

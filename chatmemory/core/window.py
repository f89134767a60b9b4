"""The window: an immutable value that knows its units, its size, its limit and what must stay.

Decides: the order of entries (R3), what a window takes (R1), and which units guards hold in it (R5). Joining an entry
copies tuples and never loops over the window; leaving costs what leaves. Knows no strategy and no store.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, Self, overload

from attrs import evolve, frozen

from chatmemory.core.entries import Entry, Extent, Limit, Refusal, Snapshot
from chatmemory.core.guards import Landmarks
from chatmemory.core.policy import Policy
from chatmemory.core.units import Calls, Size, Unit, cut_out, result_key, size_of, unit_place, units_of
from chatmemory.messages import Message, SystemMessage, ToolMessage, UserMessage

_NEAR: Final = 64


@frozen(repr=False, eq=False)
class Window(Sequence[Entry]):
    """The entries that go to the model next, in order.

    Attributes:
        entries: The entries: the system message, then units by the place of their first.
        version: The version of the conversation that it belongs to.
        policy: What is demanded of it.
        next_seq: The seq that the next entry will have.
        extent: Where it lies in the history.
        size: What its entries take.
        marks: What its guards measure by.
        calls: Which calls wait for results.
        arriving: The place of the unit that the message being added belongs to, or 0.
        evicting: Whether it was above its limit with that message, or under a new limit: eviction then goes on down to
            the mark, also where what left on the way brought it below the limit (R7).
    """

    entries: tuple[Entry, ...]
    version: int
    policy: Policy
    next_seq: int
    extent: Extent
    size: Size
    marks: Landmarks
    calls: Calls
    arriving: int = 0
    evicting: bool = False
    _held: Mapping[int, tuple[str, ...]] | None = None

    @classmethod
    def empty(cls, policy: Policy) -> Self:
        """The window of a conversation that has no message yet."""
        return cls((), 0, policy, 1, Extent(), Size(0, 0), Landmarks(), Calls.none())

    @classmethod
    def of(cls, snapshot: Snapshot, policy: Policy) -> Self:
        """The window that a store loaded."""
        entries = in_window_order(snapshot.entries)
        return cls._built(entries, snapshot.version, policy, snapshot.next_seq, snapshot.extent)

    @classmethod
    def _built(cls, entries: tuple[Entry, ...], version: int, policy: Policy, next_seq: int, extent: Extent) -> Self:
        units = list(units_of(entries, _head(entries)))
        marks, calls = Landmarks.of(units), Calls.of(units)
        return cls(entries, version, policy, next_seq, extent, size_of(entries), marks, calls)

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        return self.entries[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"<Window of {len(self.entries)} entries, {self.tokens} tokens, version {self.version}>"

    def messages(self) -> list[Message]:
        """Return the messages, in order, in a new list."""
        return [entry.message for entry in self.entries]

    @property
    def tokens(self) -> int | None:
        """What a request with this window costs, overhead included; 0 where it is empty, None where nothing counts."""
        if not self.policy.counted:
            return None
        return self.size.tokens + self.policy.overhead if self.entries else 0

    @property
    def limit(self) -> Limit:
        """What it may hold."""
        return self.policy.limit

    @property
    def system_entry(self) -> Entry | None:
        """The system message's entry, or None."""
        return self.entries[0] if self.head else None

    @property
    def system(self) -> SystemMessage | None:
        """The system message, or None."""
        message = self.entries[0].message if self.entries else None
        return message if isinstance(message, SystemMessage) else None

    @property
    def over_budget(self) -> bool:
        """Whether it takes more than it may."""
        return not self.fits(self.size)

    @property
    def head(self) -> int:
        """How many entries stand first and belong to no unit: the system message."""
        return _head(self.entries)

    def units(self) -> Iterator[Unit]:
        """The units, oldest first; the system message is none."""
        return units_of(self.entries, self.head)

    def index_of(self, place: int) -> int:
        """Return the index at which the unit at `place` begins.

        Raises:
            LookupError: No unit begins there.
        """
        start = bisect_left(self.entries, place, lo=self._before(place), key=unit_place)
        if start == len(self.entries) or self.entries[start].place != place:
            raise LookupError(place)
        return start

    def end_of(self, place: int) -> int:
        """Return the index behind the unit at `place`."""
        return bisect_right(self.entries, place, lo=self._before(place), key=unit_place)

    def _before(self, place: int) -> int:
        # What is asked for is mostly among the newest: found at the same cost however long the window is.
        near = len(self.entries) - _NEAR
        return near if near > self.head and unit_place(self.entries[near]) < place else self.head

    def unit_at(self, place: int) -> Unit:
        """Return the unit at `place`."""
        return Unit(self.entries[self.index_of(place) : self.end_of(place)])

    def turn_span(self, index: int) -> tuple[int, int]:
        """Return where the turn begins and ends that holds the unit which begins at `index`."""
        start = index
        while start > self.head and not isinstance(self.entries[start].message, UserMessage):
            start -= 1
        end = index + 1
        while end < len(self.entries) and not isinstance(self.entries[end].message, UserMessage):
            end += 1
        return start, end

    @property
    def last_turn(self) -> int:
        """The index at which the last turn begins."""
        return self.index_of(self.marks.user) if self.marks.user else self.head

    @property
    def system_size(self) -> Size:
        """What the system message takes."""
        return size_of(self.entries[: self.head])

    def count(self, size: Size) -> int:
        """Return how many of the messages in `size`, system message included, count against the limit."""
        return size.messages - (0 if self.policy.count_system else self.head)

    def fits(self, size: Size, limit: Limit | None = None) -> bool:
        """Whether entries of this size, system message included, are within `limit` (default: the window's own)."""
        limit = limit or self.policy.limit
        cost = size.tokens + self.policy.overhead if size.messages else 0
        return (limit.tokens is None or cost <= limit.tokens) and (
            limit.messages is None or self.count(size) <= limit.messages
        )

    @property
    def held(self) -> Mapping[int, tuple[str, ...]]:
        """The places of the units that may not leave now, each with its guards' names (R5).

        The unit of the message being added is among them, with no name where no guard holds it. Guards look at the
        window once, as it is with that message in it; what leaves on its account changes nothing for the others.
        """
        if self._held is None:
            arriving: dict[int, tuple[str, ...]] = {self.arriving: ()} if self.arriving else {}
            object.__setattr__(self, "_held", arriving | self.policy.guards.holding(self.marks))
        return MappingProxyType(self._held or {})

    def staying(self) -> Size:
        """Return what must stay takes: the system message, the held units, and what their turns hold back (R8)."""
        spans = {self._span(self.index_of(place)) for place in self.held}
        if self.policy.unit == "turn" and self.marks.user:
            last = self.last_turn
            if any(start > last for start, _ in spans):
                spans.add((last, last + 1))
        return size_of(chain(self.entries[: self.head], *(self.entries[start:end] for start, end in spans)))

    def _span(self, start: int) -> tuple[int, int]:
        if self.policy.unit == "turn" and start < self.last_turn:
            return self.turn_span(start)
        return start, self.end_of(self.entries[start].place)

    def plan_removal(self, wanted: Iterable[Unit]) -> tuple[tuple[Unit, ...], tuple[Refusal, ...]]:
        """Divide what a strategy wants to remove into what may leave and what may not (R2, R5, R8)."""
        allowed, refused = list[Unit](), list[Refusal]()
        for unit in wanted:
            names = ("system",) if isinstance(unit.message, SystemMessage) else self.held.get(unit.place)
            if names:
                refused.append(Refusal(unit.seq, names))
            else:
                allowed.append(unit)
        if self.policy.unit == "turn":
            torn = self._torn({unit.place for unit in allowed})
            refused.extend(Refusal(unit.seq, ("turn",)) for unit in allowed if unit.place in torn)
            allowed = [unit for unit in allowed if unit.place not in torn]
        return tuple(allowed), tuple(refused)

    def _torn(self, leaving: set[int]) -> set[int]:
        # R8: an earlier turn leaves whole or not at all; the last turn's user message not before the rest.
        torn, last, end = set[int](), self.last_turn, 0
        for index in sorted(map(self.index_of, leaving)):
            if index < end:
                continue
            start, end = self.turn_span(index)
            turn = {unit.place for unit in units_of(self.entries, start, end)}
            if not turn <= leaving:
                torn |= turn & leaving if start < last else {self.marks.user} & leaving
        return torn

    def joined(self, entry: Entry) -> Window:
        """The window once `entry` has come in: behind its call, or as the system message, or last."""
        message = entry.message
        if isinstance(message, ToolMessage):
            return self._with_result(entry)
        if isinstance(message, SystemMessage):
            return self._with_system(entry)
        return Window(
            (*self.entries, entry),
            self.version,
            self.policy,
            entry.seq + 1,
            self.extent,
            Size(self.size.tokens + (entry.tokens or 0), self.size.messages + 1),
            self.marks.after(entry.place, message),
            self.calls.made(entry.place, message.tool_calls) if message.tool_calls else self.calls,
            entry.place,
        )

    def _with_result(self, entry: Entry) -> Window:
        call = entry.call_seq or 0
        start, end = self.index_of(call), self.end_of(call)
        waits = len(self.entries[start].message.tool_calls) > end - start
        return Window(
            (*self.entries[:end], entry, *self.entries[end:]),
            self.version,
            self.policy,
            entry.seq + 1,
            self.extent,
            Size(self.size.tokens + (entry.tokens or 0), self.size.messages + 1),
            self.marks.after_result(call, waits=waits),
            self.calls.answer(result_key(entry.message)),
            call,
        )

    def _with_system(self, entry: Entry) -> Window:
        size = self.size.minus(self.system_size).plus(size_of((entry,)))
        entries = (entry, *self.entries[self.head :])
        return evolve(self, entries=entries, size=size, next_seq=entry.seq + 1, arriving=0, evicting=False, held=None)

    def overflowing(self) -> Window:
        """The window, known to be above its limit in this step."""
        return evolve(self, evicting=True)

    def settled(self, version: int, extent: Extent) -> Window:
        """The window once `version` is made."""
        return Window(
            self.entries,
            version,
            self.policy,
            self.next_seq,
            extent,
            self.size,
            self.marks,
            self.calls,
        )

    def passing(self, seq: int) -> Window:
        """The window once the message that got `seq` did not come in."""
        return evolve(self, next_seq=seq + 1, arriving=0, evicting=False, held=None)

    def without(self, units: Sequence[Unit]) -> Window:
        """The window once `units` have left."""
        if not units:
            return self
        entries = cut_out(self.entries, sorted((self.index_of(unit.place), len(unit.entries)) for unit in units))
        gone = {unit.place for unit in units}
        return Window(
            entries,
            self.version,
            self.policy,
            self.next_seq,
            self.extent,
            self.size.minus(size_of(chain.from_iterable(unit.entries for unit in units))),
            self.marks.without(gone) or Landmarks.of(units_of(entries, _head(entries))),
            self.calls.without(units),
            0 if self.arriving in gone else self.arriving,
            self.evicting,
            None if self._held is None else {p: names for p, names in self._held.items() if p not in gone},
        )

    def with_other(self, entry: Entry) -> Window:
        """The window with `entry` in the place of the one that has its seq, where there is one."""
        entries = tuple(entry if each.seq == entry.seq else each for each in self.entries)
        return self._built(entries, self.version, self.policy, self.next_seq, self.extent)

    def cut_at(self, index: int) -> Window:
        """The window once the entries from `index` on have left; a call before them waits again for its results."""
        return self._built(self.entries[:index], self.version, self.policy, self.next_seq, self.extent)


def in_window_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return `entries` as a window shows them: system message, then units by place, results behind their call (R3)."""
    return tuple(sorted(entries, key=_standing))


def _standing(entry: Entry) -> tuple[int, int, int]:
    rank = 0 if isinstance(entry.message, SystemMessage) else 1
    return rank, unit_place(entry), entry.place if entry.call_seq else 0


def _head(entries: tuple[Entry, ...]) -> int:
    return 1 if entries and isinstance(entries[0].message, SystemMessage) else 0

"""A slow, obvious model of the rules R1 to R13 of a window: what DESIGN.md says, word for word, and nothing clever.

It keeps one list of records and works out units, turns, guards and tokens from it again at every question. It knows
messages only, and nothing of the library's core, so that both can be wrong only in different ways. Guards look once,
at the window with the new message in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_FLOOR, Decimal

from attrs import define, evolve, field, frozen

from chatmemory.messages import Message, SystemMessage, ToolMessage
from tests.records import Record, blank, guards_of, heads, in_order, is_plain_answer, open_ids, request_of, turns
from tests.window_settings import WindowSettings

Count = Callable[[Message], int]
Guarded = dict[int, tuple[str, ...]]
Heads = set[int]
Turns = list[list[int]]


@frozen
class Happened:
    """What one operation did. `removed` holds the records, `refused` pairs (seq, names); `counted` messages (R10)."""

    version: int
    changed: bool
    added: list[int]
    removed: list[Record]
    refused: list[tuple[int, tuple[str, ...]]]
    oversize: bool
    seq: int | None
    counted: int


class DoesNotFitError(Exception):
    """What must stay does not fit; nothing changed. `needed` and `allowed` by measure, only those that are broken."""

    def __init__(self, needed: dict[str, int], allowed: dict[str, int]) -> None:
        super().__init__(f"needed {needed}, allowed {allowed}")
        self.needed = needed
        self.allowed = allowed


@define
class Model:
    """One conversation. Every operation returns what happened, or raises `DoesNotFitError` with nothing changed."""

    settings: WindowSettings
    count: Count | None = None
    records: list[Record] = field(factory=list, init=False)
    version: int = field(default=0, init=False)
    windows: dict[int, list[int]] = field(factory=lambda: {0: []}, init=False)
    about: tuple[str, dict[str, int]] = field(default=("", {}), init=False)
    _refused: list[tuple[int, tuple[str, ...]]] = field(factory=list, init=False)
    _seq: int | None = field(default=None, init=False)

    @property
    def window(self) -> list[Record]:
        """The records that go to the model next, in their order."""
        return in_order(record for record in self.records if record.left is None)

    @property
    def history(self) -> list[Record]:
        """Every record ever added (R9)."""
        return self.records

    @property
    def tokens(self) -> int | None:
        """The window's tokens, or None where nothing is counted."""
        return self.size("tokens", self.window) if self.settings.counted else None

    def extend(self, messages: Iterable[Message]) -> Happened:
        """The adds one after another, as one change."""

        def adds() -> None:
            for message in messages:
                self._add(message)

        return self._change(adds)

    def set(self, messages: Sequence[Message]) -> Happened:
        """The longest common prefix stays, the rest leaves, the remaining are added."""

        def replace() -> None:
            same = 0
            window = self.window
            while same < min(len(window), len(messages)) and self._is_there(window[same], messages[same]):
                same += 1
            for record in window[same:]:
                self._leave(record, "set")
            for message in messages[same:]:
                self._add(message)

        return self._change(replace)

    def _is_there(self, record: Record, message: Message) -> bool:
        """R2: of system messages the text counts."""
        if record.role == "system" and isinstance(message, SystemMessage):
            return record.message.text == message.text
        return record.message == message

    def clear(self) -> Happened:
        """The window is empty afterwards, the history stays."""

        def empty() -> None:
            for record in self.window:
                self._leave(record, "cleared")

        return self._change(empty)

    def resize(
        self, *, max_tokens: int | None = None, max_messages: int | None = None, reserve_tokens: int | None = None
    ) -> Happened:
        """Other limits from now on; None leaves one as it is."""

        def shrink() -> None:
            now = self.settings
            self.settings = evolve(
                now,
                max_tokens=now.max_tokens if max_tokens is None else max_tokens,
                max_messages=now.max_messages if max_messages is None else max_messages,
                reserve_tokens=now.reserve_tokens if reserve_tokens is None else reserve_tokens,
            )
            self._cut()

        return self._change(shrink)

    def reopen(self, settings: WindowSettings | None = None) -> Happened:
        """Another memory object on the same store: what its first operation does before anything else."""

        def cut() -> None:
            self.settings = settings or self.settings
            if self.settings.overflow != "keep":
                self._cut(opening=True)

        return self._change(cut)

    def redact(self, seq: int, text: str) -> Happened:
        """Another text stands in the place of what the record says, in the window or not; the limit holds."""

        def destroy() -> None:
            record = self.records[seq - 1]
            message = blank(record.message, text)
            if message != record.message:
                record.message, record.redacted = message, self.version + 1
                record.tokens = self.count(message) if self.count else None
                self._cut()

        return self._change(destroy)

    def describe(self, title: str, meta: dict[str, int]) -> Happened:
        """Another title and meta; what is so already is no change."""
        said, self.about = self.about, (title, meta)
        return self._change(lambda: None, described=said != self.about)

    def _change(self, work: Callable[[], None], *, described: bool = False) -> Happened:
        records, settings = [evolve(record) for record in self.records], self.settings
        self._refused, self._seq = [], None
        try:
            work()
        except DoesNotFitError:
            self.records, self.settings = records, settings
            raise
        return self._close(described=described)

    def _close(self, *, described: bool) -> Happened:
        new = self.version + 1
        removed = [record for record in self.records if record.left == new]
        written = [record for record in self.records if record.entered == new]
        redacted = [record for record in self.records if record.redacted == new]
        changed = bool(removed or written or redacted or described)
        if changed:
            self.version = new
            self.windows[new] = [record.seq for record in self.window]
        oversize = any(record.reason == "oversize" for record in written)
        added = [record.seq for record in self.window if record.entered == new]
        refused = list(dict.fromkeys(self._refused)) if changed else []
        counted = len(written) + len(redacted) if self.count else 0
        return Happened(self.version, changed, added, removed, refused, oversize, self._seq, counted)

    def _leave(self, record: Record, reason: str) -> None:
        record.left, record.reason = self.version + 1, reason

    def _leave_unit(self, head: int, reason: str) -> None:
        for record in self.window:
            if record.head == head:
                self._leave(record, reason)

    def _add(self, message: Message) -> None:
        system = [record for record in self.window if record.role == "system"]
        if isinstance(message, SystemMessage) and system and system[0].message.text == message.text:
            return  # R2
        new = Record(len(self.records) + 1, message, self.count(message) if self.count else None, self.version + 1)
        self._seq = new.seq
        refused = self._link(new) if isinstance(message, ToolMessage) else None
        self.records.append(new)
        if refused:
            self._leave(new, refused)  # R3: it does not enter, so nothing leaves for it
        elif new.role == "system":
            for old in system:
                self._leave(old, "replaced")
            self._cut()
        else:
            self._admit(new)

    def _link(self, new: Record) -> str | None:
        """R3: tie a result to the nearest earlier call in the window, or return why it does not enter."""
        assert isinstance(new.message, ToolMessage)
        wanted = new.message.tool_call_id or None
        callers = [
            record for record in self.window if wanted in [call.id or None for call in record.message.tool_calls]
        ]
        waiting = [record.seq for record in callers if wanted in open_ids(self.window, record)]
        if waiting:
            new.call = max(waiting)
            return None
        return "duplicate" if callers else "orphan"

    def _admit(self, new: Record) -> None:
        """R5, R6: what one new message does to the others."""
        if self.fits(self.window):
            return
        guards, found = guards_of(self.window, self.settings.guards), turns(self.window)
        stay = self._staying({new.head, *guards}, found)
        request = request_of(self.window)
        if self.fits(self._of(stay)):
            self._evict(stay, guards, found, own=new.head)
        elif request is not None and self._gives_way(new, stay, request):
            self._leave_unit(request, "budget")
            self._evict(stay - {request}, guards, found, own=new.head)
        elif self.settings.overflow == "raise":
            raise self._overflow(self._of(stay))
        elif self.settings.overflow == "keep":
            self._evict(stay, guards, found, own=new.head)
        else:
            self._leave_unit(new.head, "oversize")

    def _gives_way(self, new: Record, stay: Heads, request: int) -> bool:
        """R5: only to the answer, only where that is enough, and never with whole turns (R8)."""
        return (
            is_plain_answer(new.message)
            and self.settings.unit == "message"
            and request in stay
            and self.fits(self._of(stay - {request}))
        )

    def _cut(self, *, opening: bool = False) -> None:
        """R6: the window after a system message came in, or under another limit."""
        if self.fits(self.window):
            return
        guards, found = guards_of(self.window, self.settings.guards), turns(self.window)
        stay = self._staying(set(guards), found)
        if self.settings.overflow != "keep":
            if not self.fits(self._of(set())):
                raise self._overflow(self._of(set()))
            if not self.fits(self._of(stay)) and self.settings.overflow == "raise" and not opening:
                raise self._overflow(self._of(stay))
            stay = self._shed(guards, found)
        # R8: a turn whose user message was oversize is part of the one before.
        self._evict(stay, guards, turns(self.window), own=None)

    def _shed(self, guards: Guarded, found: Turns) -> Heads:
        """R6: guarded units that no longer fit leave, exchanges from the oldest, the request last."""
        guarded, request = set(guards), request_of(self.window)
        for head in sorted(guards, key=lambda head: (head == request, head)):
            if self.fits(self._of(self._staying(guarded, found))):
                break
            guarded.remove(head)
            self._leave_unit(head, "oversize")
        return self._staying(guarded, found)

    def _staying(self, stay: Heads, found: Turns) -> Heads:
        """R8: with whole turns, what stays keeps more: an earlier turn whole, in the last one its user message."""
        if self.settings.unit == "message" or not found:
            return stay
        whole = {head for turn in found[:-1] if stay & set(turn) for head in turn}
        opening = {head for head in found[-1] if self._is_user(head)} if stay & set(found[-1]) else set()
        return stay | whole | opening

    def _is_user(self, head: int) -> bool:
        return self.records[head - 1].role == "user"

    def _evict(self, stay: Heads, guards: Guarded, found: Turns, *, own: int | None) -> None:
        """R4, R7: oldest first, around what stays, down to the mark or as far as possible."""
        must = self._of(stay)
        for group in self._walk(found):
            if self._at_mark(must):
                return
            for head in group:
                if head not in stay:
                    self._leave_unit(head, "budget")
                elif head in guards or head != own:
                    self._refused.append((head, guards.get(head, ("turn",))))

    def _walk(self, found: Turns) -> Turns:
        """R8: what is tried to leave together, in this order; the last turn's user message after the rest of it."""
        here = set(heads(self.window))
        if self.settings.unit == "message":
            return [[head] for turn in found for head in turn if head in here]
        last = sorted(found[-1], key=lambda head: (self._is_user(head), head)) if found else []
        return [[head for head in group if head in here] for group in [*found[:-1], *([head] for head in last)]]

    def _at_mark(self, must: list[Record]) -> bool:
        return all(self.size(measure, self.window) <= self._mark(measure, must) for measure in self.settings.limits)

    def _mark(self, measure: str, must: list[Record]) -> int:
        """R7: where eviction stops; the limit itself where what must stay is above the aim."""
        limit, aim = self.settings.limits[measure], self.settings.evict_to
        mark = limit
        if isinstance(aim, float):
            mark = self._share(measure, limit, aim)
        elif aim is not None and measure == self.settings.kind:
            mark = min(aim, limit)
        return limit if self.size(measure, must) > mark else min(mark, limit)

    def _share(self, measure: str, limit: int, share: float) -> int:
        system = [record for record in self.window if record.role == "system"]
        beside = self.size(measure, system) - (self.settings.overhead if measure == "tokens" and system else 0)
        room = int((Decimal(repr(share)) * (limit - beside)).to_integral_value(ROUND_FLOOR))
        return beside + max(1, room)

    def _of(self, stay: Heads) -> list[Record]:
        return [record for record in self.window if record.role == "system" or record.head in stay]

    def _overflow(self, must: list[Record]) -> DoesNotFitError:
        sizes = {measure: self.size(measure, must) for measure in self.settings.limits}
        broken = {measure: size for measure, size in sizes.items() if size > self.settings.limits[measure]}
        return DoesNotFitError(broken, {measure: self.settings.limits[measure] for measure in broken})

    def size(self, measure: str, records: list[Record]) -> int:
        """R1: what `records` would take as a window."""
        if measure == "messages":
            return sum(self.settings.count_system or record.role != "system" for record in records)
        return sum(record.tokens or 0 for record in records) + (self.settings.overhead if records else 0)

    def fits(self, records: list[Record]) -> bool:
        """R1: is a window of `records` within every limit?"""
        return all(self.size(measure, records) <= limit for measure, limit in self.settings.limits.items())

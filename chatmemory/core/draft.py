"""A change in the making: the window as it would be, and what has entered and left on the way.

Decides: how the steps of one operation become one `Change` (R9, R11). It is made, filled and finished within one
operation; nothing sees it before it is finished, so giving it up leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from attrs import define, evolve, field

from chatmemory.core.entries import About, Change, Entry, Reason, Refusal, Removal
from chatmemory.core.extent import follow
from chatmemory.core.window import Window
from chatmemory.messages import Message


@define
class Draft:
    """What one operation does to `window`, whose version is still the one that it began with."""

    window: Window
    at: datetime
    counter: str | None
    seq: int | None = None
    _written: dict[int, Entry] = field(factory=dict, init=False)
    _removed: list[Removal] = field(factory=list, init=False)
    _refused: list[Refusal] = field(factory=list, init=False)
    _redacted: list[Entry] = field(factory=list, init=False)
    _about: About | None = field(default=None, init=False)

    @property
    def version(self) -> int:
        """The version that the change will make."""
        return self.window.version + 1

    def enter(self, message: Message, tokens: int | None, call_seq: int | None = None) -> Entry:
        """Give `message` the next seq and a place in the history (R9)."""
        seq = self.seq = self.window.next_seq
        counter = self.counter if tokens is not None else None
        entry = Entry(seq, message, tokens, counter, "message", None, call_seq, self.at, self.version)
        self._written[seq] = entry
        return entry

    def leave(self, entries: Iterable[Entry], reason: Reason) -> None:
        """Note that `entries` leave, or that they never get in."""
        for entry in entries:
            if entry.seq in self._written:
                self._written[entry.seq] = entry.leaving(self.version, reason)
            self._removed.append(Removal(entry.seq, reason, entry.entered, self.version, entry.tokens))

    def redact(self, entry: Entry, message: Message, tokens: int | None) -> None:
        """Put `message` in the place of what `entry` says, in the window too where it is there."""
        counter = self.counter if tokens is not None else None
        marked = evolve(entry, message=message, tokens=tokens, counter=counter, redacted=self.version)
        self._redacted.append(marked)
        self.window = self.window.with_other(marked)

    def describe(self, about: About) -> None:
        """Note what is known of the conversation now."""
        self._about = about

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Note what a strategy wanted to remove and may not."""
        self._refused.extend(refusals)

    def finish(self, commit_id: str) -> tuple[Window, Change]:
        """Return the window afterwards and the change; both as they were where nothing entered or left."""
        changed = bool(self._written or self._removed or self._redacted or self._about)
        window = self._next_window() if changed else self.window.settled(self.window.version, self.window.extent)
        written = tuple(self._written.values())
        change = Change(
            version=window.version,
            added=tuple(entry for entry in written if entry.left is None),
            removed=tuple(self._removed),
            refused=tuple(dict.fromkeys(self._refused)) if changed else (),
            tokens=window.tokens,
            limit=window.limit,
            seq=self.seq,
            oversize=any(one.reason == "oversize" and one.entered == one.left for one in self._removed),
            written=written,
            at=self.at,
            commit_id=commit_id,
            next_seq=window.next_seq,
            extent=window.extent,
            redacted=tuple(self._redacted),
            about=self._about,
        )
        return window, change

    def _next_window(self) -> Window:
        window, gone = self.window, {removal.seq for removal in self._removed}
        extent = follow(window.extent, window.entries, gone, window.next_seq)
        return window.settled(self.version, extent)

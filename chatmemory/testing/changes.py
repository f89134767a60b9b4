"""A conversation as plainly as it can be kept, to plan changes from and to compare a store with.

Decides: what a store must answer after each change. Knows no limit, guard or counter: the test says what leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self
from uuid import uuid4

from attrs import Factory, define, evolve

from chatmemory.core.entries import About, Change, Entry, Extent, Kind, Limit, Reason, Refusal, Removal, Snapshot, Stamp
from chatmemory.errors import ConflictError
from chatmemory.messages import Message, UserMessage
from chatmemory.stores.base import ChatMemoryStore

START: Final = datetime(2031, 7, 8, 23, 59, 59, 999_990, tzinfo=UTC)
"""When the first change is made, unless the test says another time; each one comes 11 microseconds after the last."""

_NOTHING: Final[Mapping[int, Reason]] = {}
_NONE_REDACTED: Final[Mapping[int, Message]] = {}


@define
class ConversationModel:
    """One conversation, whole and in lists.

    Attributes:
        epoch: As the store gave it; None before the first commit.
        about: Owner, title and meta.
        history: Every entry ever written, by seq.
        windows: The seqs in the window at each version, from version 0 on.
    """

    epoch: str | None = None
    about: About = About()
    history: list[Entry] = Factory(list)
    windows: list[tuple[int, ...]] = Factory(lambda: [()])

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> Self:
        """Return a model to plan one change from; of the history it knows what the window shows."""
        if snapshot is None:
            return cls()
        seqs = tuple(entry.seq for entry in snapshot.entries)
        return cls(snapshot.epoch, snapshot.about, list(snapshot.entries), [()] * snapshot.version + [seqs])

    @property
    def version(self) -> int:
        """The newest version."""
        return len(self.windows) - 1

    @property
    def stamp(self) -> Stamp:
        """What the next change is planned on."""
        return Stamp(self.epoch, self.version)

    @property
    def window(self) -> tuple[Entry, ...]:
        """The entries in the window."""
        return tuple(entry for entry in self.history if entry.left is None)

    @property
    def snapshot(self) -> Snapshot | None:
        """What `load` must give."""
        if self.epoch is None:
            return None
        next_seq = self._next_seq
        extent = extent_of(self.windows[-1], next_seq)
        return Snapshot(self.epoch, self.version, next_seq, extent, self.window, self.about)

    @property
    def _next_seq(self) -> int:
        return self.history[-1].seq + 1 if self.history else 1

    def adding(
        self,
        *messages: Message,
        leaving: Mapping[int, Reason] = _NOTHING,
        kept_out: Mapping[int, Reason] = _NOTHING,
        refused: tuple[Refusal, ...] = (),
        redacting: Mapping[int, Message] = _NONE_REDACTED,
        about: About | None = None,
        at: datetime | None = None,
        commit_id: str | None = None,
        **entry: Any,
    ) -> Change:
        """Plan a change.

        Args:
            messages: What is added.
            leaving: Seqs that leave the window, with reasons.
            kept_out: Indexes into `messages` of those that never get in, with reasons.
            refused: What the change tells of guards.
            redacting: Seqs whose content is destroyed, with the message that is there instead.
            about: Owner, title and meta from now on.
            at: When it is made.
            commit_id: Its key; a random one if None.
            entry: Fields of the new entries that are not to have the usual values (`tokens`, `counter`, `kind`, …).
        """
        version, first = self.version + 1, self._next_seq
        now = at or START + timedelta(microseconds=11) * version
        written = tuple(
            _entry(first + index, message, now, version, kept_out.get(index), **entry)
            for index, message in enumerate(messages)
        )
        added = tuple(each for each in written if each.left is None)
        gone = [each for each in self.window if each.seq in leaving]
        removed = tuple(Removal(each.seq, leaving[each.seq], each.entered, version, each.tokens) for each in gone)
        never = tuple(
            Removal(each.seq, each.reason, version, version, each.tokens) for each in written if each.reason is not None
        )
        stay = tuple(each.seq for each in self.window if each.seq not in leaving)
        next_seq = first + len(written)
        extent = extent_of((*stay, *(each.seq for each in added)), next_seq)
        return Change(
            version=version,
            added=added,
            removed=removed + never,
            refused=refused,
            tokens=None,
            limit=Limit(),
            seq=written[-1].seq if written else None,
            oversize="oversize" in kept_out.values(),
            written=written,
            at=now,
            commit_id=commit_id or uuid4().hex,
            next_seq=next_seq,
            extent=extent,
            redacted=tuple(
                evolve(entry, message=redacting[entry.seq], tokens=1, redacted=version)
                for entry in self.history
                if entry.seq in redacting
            ),
            about=about,
        )

    def adopt(self, change: Change, epoch: str) -> None:
        """Follow a change that the store committed."""
        reasons: dict[int, Reason] = {
            removal.seq: removal.reason for removal in change.removed if removal.entered < change.version
        }
        redacted = {entry.seq: entry for entry in change.redacted}
        now = [redacted.get(entry.seq, entry) for entry in self.history]
        self.history = [
            entry.leaving(change.version, reasons[entry.seq]) if entry.seq in reasons else entry for entry in now
        ]
        self.about = change.about or self.about
        self.history.extend(change.written)
        self.epoch = epoch
        self.windows.append(tuple(entry.seq for entry in self.window))

    def write(self, store: ChatMemoryStore, conversation_id: str, *messages: Message, **plan: Any) -> Change:
        """Plan a change as `adding` does, let `store` commit it, and follow it."""
        change = self.adding(*messages, **plan)
        self.adopt(change, store.commit(conversation_id, change, self.stamp))
        return change


def add_until_taken(store: ChatMemoryStore, conversation_id: str, text: str) -> None:
    """Add one message as a memory does: load, plan, commit, and again after a conflict."""
    while True:
        model = ConversationModel.of(store.load(conversation_id))
        try:
            model.write(store, conversation_id, UserMessage(text))
        except ConflictError:
            continue
        return


def extent_of(seqs: tuple[int, ...], next_seq: int, *, largest_gap: int = 2) -> Extent:
    """Return where a window with these seqs lies: the tail without larger gaps is a range, the rest is kept by key."""
    first = next_seq
    for index in range(len(seqs) - 1, -1, -1):
        if first - seqs[index] - 1 > largest_gap:
            return Extent(first, seqs[: index + 1])
        first = seqs[index]
    return Extent(first)


def _entry(
    seq: int,
    message: Message,
    at: datetime,
    version: int,
    reason: Reason | None,
    *,
    tokens: int | None = 7,
    counter: str | None = "words",
    kind: Kind = "message",
    origin_seq: int | None = None,
    call_seq: int | None = None,
) -> Entry:
    left = None if reason is None else version
    return Entry(seq, message, tokens, counter, kind, origin_seq, call_seq, at, version, left, reason)

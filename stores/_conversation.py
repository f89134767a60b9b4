"""One conversation, whole, as stores keep it that hold it in one piece.

Decides: what a change does to it, and what it answers. A store that uses it decides where it lies, who may change it at
the same time, and nothing else.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Self

from attrs import define, evolve, field, frozen

from chatmemory.core.entries import About, Change, Entry, Extent, Snapshot, Stamp
from chatmemory.errors import ConflictError, NotInHistoryError
from chatmemory.stores.base import COMMIT_IDS_KEPT, ConversationInfo, Page, Retain


@frozen
class Recorded:
    """What is kept of a change, beside its entries: its key, and enough to show the window as it was.

    Where the window as it was is not kept, `next_seq` is 0.
    """

    commit_id: str = ""
    next_seq: int = 1
    extent: Extent = Extent()


@define
class Conversation:
    """A conversation: its entries by seq, and its changes by version.

    Attributes:
        epoch: As `Snapshot.epoch`.
        created_at: When its first change was made.
        updated_at: When its newest change was made.
        version: Its newest version.
        about: Owner, title and meta.
        entries: The entries that are kept, by seq.
        changes: The changes that are kept, by version; the newest is always there.
    """

    epoch: str
    created_at: datetime
    updated_at: datetime
    version: int = 0
    about: About = About()
    entries: list[Entry] = field(factory=list)
    changes: dict[int, Recorded] = field(factory=lambda: {0: Recorded()})

    @classmethod
    def begun(cls, at: datetime) -> Self:
        """Return one that has no version yet."""
        return cls(secrets.token_hex(8), at, at)

    def is_of(self, owner: str | None) -> bool:
        """Whether it may be shown to who asks for `owner`'s."""
        return owner in (None, self.about.owner)

    def snapshot(self) -> Snapshot:
        """Return what `load` gives."""
        newest = self.changes[self.version]
        window = tuple(entry for entry in self._range(newest) if entry.left is None)
        return Snapshot(self.epoch, self.version, newest.next_seq, newest.extent, window, self.about)

    def info(self, conversation_id: str) -> ConversationInfo:
        """Return what a listing shows."""
        newest = self.changes[self.version]
        size = sum(entry.left is None for entry in self._range(newest))
        return ConversationInfo(
            conversation_id, self.version, self.about, size, newest.next_seq - 1, self.created_at, self.updated_at
        )

    def history(self, after: int, limit: int) -> list[Entry]:
        """Return a page of the history."""
        start = self._index(after + 1)
        return self.entries[start : start + limit]

    def window_at(self, version: int) -> list[Entry]:
        """Return the entries that were in the window at `version`.

        Raises:
            NotInHistoryError: There is no such version, or it is not kept.
        """
        recorded = self.changes.get(version) if version else Recorded()
        if recorded is None or recorded.next_seq == 0:
            raise NotInHistoryError(f"the conversation has no version {version}; ask for one that it has had and keeps")
        return [entry for entry in self._range(recorded) if _was_in(entry, version)]

    @property
    def stamp(self) -> Stamp:
        """What the next change must be planned on."""
        return Stamp(self.epoch if self.version else None, self.version)

    def commit(self, change: Change, expected: Stamp, retain: Retain) -> bool:
        """Carry out `change`; return False where it is there already.

        Raises:
            ConflictError: It was planned on something else.
        """
        if self._has(change):
            return False
        if expected != self.stamp:
            raise ConflictError("the conversation was changed by another writer; load it again")
        self._take(change)
        if retain == "window":
            self._forget()
        return True

    def _has(self, change: Change) -> bool:
        recorded = self.changes.get(change.version)
        return recorded is not None and recorded.commit_id == change.commit_id

    def _take(self, change: Change) -> None:
        for removal in change.removed:
            if removal.entered < change.version:
                index = self._index(removal.seq)
                self.entries[index] = self.entries[index].leaving(removal.left, removal.reason)
        for entry in change.redacted:
            index = self._index(entry.seq)
            gone = self.entries[index]
            self.entries[index] = evolve(entry, left=gone.left, reason=gone.reason)
        self.entries.extend(change.written)
        self.version, self.updated_at, self.about = change.version, change.at, change.about or self.about
        self.changes[change.version] = Recorded(change.commit_id, change.next_seq, change.extent)

    def _forget(self) -> None:
        self.entries = [entry for entry in self.entries if entry.left is None]
        first = self.version - COMMIT_IDS_KEPT + 1
        keys = {at: Recorded(old.commit_id, 0) for at, old in self.changes.items() if first <= at < self.version}
        self.changes = keys | {self.version: self.changes[self.version]}

    def _range(self, recorded: Recorded) -> Iterator[Entry]:
        for seq in recorded.extent.kept_seqs:
            yield self.entries[self._index(seq)]
        start, end = self._index(recorded.extent.first_seq), self._index(recorded.next_seq)
        for index in range(start, end):
            yield self.entries[index]

    def _index(self, seq: int) -> int:
        # Where nothing was forgotten an entry stands at its seq.
        before = seq - 1
        if before <= len(self.entries) and (before == 0 or self.entries[before - 1].seq == before):
            return before
        return bisect_left(self.entries, seq, key=lambda entry: entry.seq)


def shows(page: Page, found: Conversation) -> bool:
    """Whether a listing shows `found`."""
    return found.is_of(page.owner) and (page.updated_since is None or found.updated_at >= page.updated_since)


def ids_on(page: Page, ids: Iterable[str]) -> Iterator[str]:
    """Yield those of `ids` that a listing may show."""
    return (each for each in ids if each > page.after and each.startswith(page.prefix))


def _was_in(entry: Entry, version: int) -> bool:
    return entry.entered <= version and (entry.left is None or entry.left > version)

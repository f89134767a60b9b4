"""The facts of a memory: entries, and what one commit added, removed and refused.

Decides: their names and fields, and the reasons for which an entry leaves. Knows messages, and no rule.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from attrs import field, frozen

from chatmemory.frozen_json import FrozenJson
from chatmemory.messages import Message

NO_META: Final = FrozenJson("{}")

Kind = Literal["message", "summary", "notice", "stub"]
Reason = Literal[
    "budget",
    "oversize",
    "orphan",
    "duplicate",
    "replaced",
    "cleared",
    "set",
    "removed",
    "rewound",
    "folded",
    "stubbed",
    "recalled",
]
OverflowPolicy = Literal["evict", "raise", "keep"]
EvictionUnit = Literal["message", "turn"]


@frozen(repr=False)
class Entry:
    """A message that a memory holds, or once held.

    Attributes:
        seq: 1, 2, 3 … in its conversation, never used twice.
        message: The message.
        tokens: What it costs, or None where it was not counted (R10).
        counter: Name of the counter that gave `tokens`.
        kind: ``message``, or what the memory itself wrote: ``summary``, ``notice``, ``stub``.
        origin_seq: The entry that it stands for, or None.
        call_seq: For a tool result: the `place` of the call that it answers. None for an orphan.
        added_at: When it was added (UTC). Nothing is ordered by it (R12).
        entered: The version that added it.
        left: The version that removed it, or None while it is in the window. Equal to `entered` where it never got in.
        reason: Why it left, or None.
        redacted: The version that destroyed its content and put another text there, or None.
    """

    seq: int
    message: Message
    tokens: int | None
    counter: str | None
    kind: Kind
    origin_seq: int | None
    call_seq: int | None
    added_at: datetime
    entered: int
    left: int | None = None
    reason: Reason | None = None
    redacted: int | None = None

    @property
    def place(self) -> int:
        """Where it stands among others: its own seq, or that of the entry that it stands for."""
        return self.origin_seq or self.seq

    def leaving(self, version: int, reason: Reason) -> Entry:
        """Return this entry as it is in the history once it has left."""
        return Entry(
            self.seq,
            self.message,
            self.tokens,
            self.counter,
            self.kind,
            self.origin_seq,
            self.call_seq,
            self.added_at,
            self.entered,
            version,
            reason,
            self.redacted,
        )

    def __repr__(self) -> str:
        gone = f", left at {self.left}: {self.reason}" if self.left is not None else ""
        return f"<Entry {self.seq} {self.message.role}, {self.tokens} tokens, version {self.entered}{gone}>"


@frozen
class Removal:
    """An entry that left the window, or never got in.

    Attributes:
        seq: The entry.
        reason: Why it left.
        entered: The version that added it.
        left: The version that removed it; ``left - entered`` is how many changes it lived.
        tokens: What it costs, or None where it was not counted.
    """

    seq: int
    reason: Reason
    entered: int
    left: int
    tokens: int | None


@frozen
class Refusal:
    """A unit that a strategy wanted to remove and may not.

    Attributes:
        seq: The unit's first entry.
        guards: Names of the guards that keep it (R5), or ``system`` (R2), or ``turn`` (R8).
    """

    seq: int
    guards: tuple[str, ...]


@frozen
class About:
    """What is known of a conversation beside its messages.

    Attributes:
        owner: Whose it is; written once, by the first change.
        title: What people call it.
    """

    owner: str | None = None
    title: str | None = None
    _meta: FrozenJson = field(default=NO_META, alias="meta")

    @property
    def meta(self) -> dict[str, Any]:
        """The application's own small JSON object, as a fresh copy."""
        return dict(self._meta.thaw())


@frozen
class Limit:
    """What the window may hold: `tokens` (``max_tokens - reserve_tokens``) and `messages`; None: no limit."""

    tokens: int | None = None
    messages: int | None = None


@frozen
class Extent:
    """Where a window lies in its history, so that a store reads it by range and a few keys.

    Every entry of the window has ``seq >= first_seq``, or its seq is in `kept_seqs`. Some entries of the range may
    have left: their number stays below a share of the window (`chatmemory.core.extent`).
    """

    first_seq: int = 1
    kept_seqs: tuple[int, ...] = ()


@frozen(repr=False)
class Change:
    """What one commit did to the window and to the history. False where nothing changed.

    Attributes:
        version: The version of the conversation afterwards.
        added: The entries of this change that are in the window afterwards.
        removed: What left, also what never got in.
        refused: What a strategy wanted to remove and may not.
        tokens: The window's tokens afterwards, the request's overhead included; None where nothing is counted.
        limit: What the window may hold.
        seq: The entry of the last message given; None if nothing was written.
        oversize: True if a message of this call did not get in because it does not fit beside what must stay.
        written: Every entry that this change writes, also those that never got in. For stores.
        at: When it was made (UTC). For stores.
        commit_id: The idempotency key: a store takes a change with this key once. For stores.
        next_seq: The seq that the next entry will have. For stores.
        extent: Where the window lies afterwards. For stores.
        redacted: Entries of earlier changes as they are now that their content is destroyed. For stores.
        about: What is known of the conversation, where this change says it anew. For stores.
    """

    version: int
    added: tuple[Entry, ...]
    removed: tuple[Removal, ...]
    refused: tuple[Refusal, ...]
    tokens: int | None
    limit: Limit
    seq: int | None
    oversize: bool
    written: tuple[Entry, ...]
    at: datetime
    commit_id: str
    next_seq: int
    extent: Extent
    redacted: tuple[Entry, ...] = ()
    about: About | None = None

    def __bool__(self) -> bool:
        return bool(self.written or self.removed or self.redacted or self.about)

    def __repr__(self) -> str:
        return (
            f"<Change to version {self.version}: {len(self.added)} added, {len(self.removed)} removed, "
            f"{len(self.refused)} refused, {self.tokens} tokens>"
        )


@frozen
class Stamp:
    """The state of a conversation that a change was planned on: its `epoch` (None: there is none yet) and `version`."""

    epoch: str | None
    version: int


@frozen(repr=False)
class Snapshot:
    """What a store loads: the window of one conversation, and what is needed to go on from it.

    Attributes:
        epoch: Random, made with the conversation: a deleted and re-made one is another.
        version: Its newest version.
        next_seq: The seq that the next entry will have.
        extent: Where the window lies.
        entries: The entries in the window, ordered by seq.
        about: What is known of the conversation beside its messages.
    """

    epoch: str
    version: int
    next_seq: int
    extent: Extent
    entries: tuple[Entry, ...]
    about: About = About()

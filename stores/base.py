"""The contract of a store: what every back end must do, and what it may rely on.

Decides: the protocol. `chatmemory.testing` holds the suite that a back end passes. Knows no database.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Literal, Protocol, Self, get_args, runtime_checkable

from attrs import frozen

from chatmemory.checks import check_count
from chatmemory.core.entries import About, Change, Entry, Snapshot, Stamp
from chatmemory.errors import InvalidArgumentError

Retain = Literal["history", "window"]
"""What a store keeps of entries that have left the window: everything, or nothing."""

COMMIT_IDS_KEPT: Final = 100
"""Where only the window is kept: how many of the newest changes are known by their key, so that none is doubled."""

_LONGEST_WAIT_SECONDS: Final = 2_000_000
"""What SQLite's busy timeout holds, 31 bits of milliseconds: 23 days."""
MAX_ID_LENGTH: Final = 255
"""Characters of a conversation's id."""


def utc_of(clock: Callable[[], datetime]) -> datetime:
    """Return what `clock` says, in UTC.

    Raises:
        InvalidArgumentError: It gives no datetime, or one without a time zone.
    """
    time: object = clock()
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise InvalidArgumentError("clock", "gave no time with a time zone; use one such as lambda: datetime.now(UTC)")
    return time.astimezone(UTC)


def utc_now() -> datetime:
    """The clock that stores use unless they are given one: the time in UTC."""
    return datetime.now(UTC)


@frozen
class ConversationInfo:
    """One conversation as a listing shows it.

    Attributes:
        id: The conversation's id.
        version: Its newest version.
        about: Owner, title and meta.
        window_size: How many messages are in its window.
        history_size: How many were ever added.
        created_at: When its first message was added (UTC).
        updated_at: When its newest change was made (UTC).
    """

    id: str
    version: int
    about: About
    window_size: int
    history_size: int
    created_at: datetime
    updated_at: datetime


@runtime_checkable
class ChatMemoryStore(Protocol):
    """Keeps conversations: their windows, their histories and their changes.

    Every method is safe to call from several threads, and several processes may use one database. Ids are compared
    exactly: case, accents, trailing spaces. Every method raises `StoreError` where the store is closed or unavailable,
    with ``transient=True`` where the same call may succeed in a moment; memories then try again, stores do not.

    Where `owner` is given, a conversation that is another's or nobody's is answered as one that does not exist.
    """

    @property
    def conflict_timeout_seconds(self) -> float:
        """How long an operation goes on trying when other writers commit first, or the store is away."""
        ...

    def now(self) -> datetime:
        """Return the time that goes into new entries, in UTC. Nothing is ordered by it."""
        ...

    def load(self, conversation_id: str, *, owner: str | None = None) -> Snapshot | None:
        """Read the window, never the history; None where there is no such conversation.

        Raises:
            CorruptedConversationError: A stored row cannot be read. It is never left out.
        """
        ...

    def commit(self, conversation_id: str, change: Change, expected: Stamp) -> str:
        """Write one change whole or not at all, and return the conversation's epoch.

        Writes ``change.written``, marks ``change.removed`` that were there before, puts ``change.redacted`` where their
        seqs are has their seqs, and records the change; it never rewrites the window. Where ``expected.epoch`` is None,
        the conversation is made, with a new random epoch. A change that is there already, under its own version with
        its own ``commit_id``, is not written again: the epoch is returned.

        Raises:
            ConflictError: The conversation's epoch and version are not `expected`.
            StoreError: With ``outcome_unknown=True`` where the store went away in the middle.
        """
        ...

    def history(
        self, conversation_id: str, *, after: int = 0, limit: int = 1000, owner: str | None = None
    ) -> list[Entry]:
        """Return up to `limit` entries with ``seq > after``, in the window or not, by seq. None: ``[]``."""
        ...

    def window_at(self, conversation_id: str, version: int, *, owner: str | None = None) -> list[Entry]:
        """Return the entries that were in the window at `version`, by seq; the cost does not depend on the history.

        What was redacted since then is redacted here too.

        Raises:
            NotInHistoryError: The conversation has no such version. Version 0 is the empty window of any conversation.
        """
        ...

    def delete(self, conversation_id: str, *, owner: str | None = None) -> bool:
        """Erase the conversation, window, history and changes; return whether there was one."""
        ...

    def conversations(
        self,
        *,
        after: str = "",
        limit: int = 100,
        prefix: str = "",
        owner: str | None = None,
        updated_since: datetime | None = None,
    ) -> list[ConversationInfo]:
        """Return up to `limit` conversations whose id is greater than `after`, by id (by code points).

        Args:
            after: The last id of the page before.
            limit: How many at most.
            prefix: Only ids that begin with it.
            owner: Only conversations of this owner.
            updated_since: Only those whose newest change was made then or later; any time zone.
        """
        ...

    def close(self) -> None:
        """Give back what the store holds. Any later call but this one raises `StoreError`."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def check_conversation_id(conversation_id: object, *, field: str = "conversation_id") -> None:
    """Refuse what cannot be an id on every database.

    Raises:
        InvalidArgumentError: It is no str, is empty or longer than 255 characters, or holds a NUL or a lone surrogate.
    """
    if not isinstance(conversation_id, str):
        kind = type(conversation_id).__name__
        raise InvalidArgumentError(field, f"is of type {kind}; ids are str, so give str(...) of it")
    if not 1 <= len(conversation_id) <= MAX_ID_LENGTH:
        raise InvalidArgumentError(field, f"has {len(conversation_id)} characters; give 1 to {MAX_ID_LENGTH}")
    if "\0" in conversation_id:
        raise InvalidArgumentError(field, "holds a NUL character, which not every database can keep; leave it out")
    if not conversation_id.isascii() and any("\ud800" <= character <= "\udfff" for character in conversation_id):
        raise InvalidArgumentError(field, "holds a lone surrogate, which is no character; decode the id properly")


@frozen
class Page:
    """What a listing is asked for, checked: the arguments of `ChatMemoryStore.conversations`.

    Raises:
        InvalidArgumentError: `after`, `prefix` or `owner` could not be (the beginning of) an id, `limit` is no positive
            int, or `updated_since` has no time zone.
    """

    after: str
    limit: int
    prefix: str
    owner: str | None
    updated_since: datetime | None

    def __attrs_post_init__(self) -> None:
        for field in ("after", "prefix"):
            if getattr(self, field) != "":
                check_conversation_id(getattr(self, field), field=field)
        check_owner(self.owner)
        check_count("limit", self.limit)
        if self.updated_since is not None:
            _check_time(self.updated_since)


def check_owner(owner: object) -> None:
    """Refuse what cannot be an owner; None is no question.

    Raises:
        InvalidArgumentError: It is neither None nor what an id may be.
    """
    if owner is not None:
        check_conversation_id(owner, field="owner")


def check_wait(seconds: object) -> None:
    """Refuse what is no `conflict_timeout_seconds`.

    Raises:
        InvalidArgumentError: It is no number above 0, or one of more than 23 days.
    """
    field = "conflict_timeout_seconds"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidArgumentError(field, f"is of type {type(seconds).__name__}; give a number of seconds")
    if not 0 < seconds <= _LONGEST_WAIT_SECONDS:  # False for NaN
        raise InvalidArgumentError(field, f"is {seconds}; give more than 0 and at most {_LONGEST_WAIT_SECONDS} seconds")


def check_retain(retain: object) -> None:
    """Refuse what is no `Retain`.

    Raises:
        InvalidArgumentError: It is another value.
    """
    if retain not in get_args(Retain):
        raise InvalidArgumentError("retain", f"is {retain!r}; use 'history' or 'window'")


def _check_time(time: object) -> None:
    if not isinstance(time, datetime) or time.tzinfo is None:
        raise InvalidArgumentError("updated_since", "has no time zone; give a datetime such as datetime.now(UTC)")


def check_clock(clock: object) -> None:
    """Refuse what cannot be called for the time.

    Raises:
        InvalidArgumentError: It is no function.
    """
    if not callable(clock):
        raise InvalidArgumentError("clock", f"is {_named(clock)}; give a function without arguments")


def check_store(store: object) -> None:
    """Refuse what is no store.

    Raises:
        InvalidArgumentError: It is of another type, or a class.
    """
    if isinstance(store, type) or not isinstance(store, ChatMemoryStore):
        raise InvalidArgumentError(
            "store", f"is {_named(store)}; give a ChatMemoryStore such as SqlChatMemoryStore(url)"
        )


def _named(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"

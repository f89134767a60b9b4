"""What a flow asks of its driver, and what a memory holds between its operations.

Decides: the requests, and nothing else. A driver answers them from a store, a counter and a clock; it may wait for that
in its own way. Knows no store and no counter.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from typing import Any, Final, TypeVar

from attrs import define, field, frozen

from chatmemory.core.entries import About, Change, Snapshot, Stamp
from chatmemory.core.settings import Meter, Settings
from chatmemory.core.window import Window
from chatmemory.errors import OwnershipError, StoreError
from chatmemory.messages import Message


@frozen
class Load:
    """Asks for the conversation's `Snapshot`, or None where there is none."""


@frozen
class Commit:
    """Asks the store to commit; answered with the epoch.

    Attributes:
        change: What is committed.
        expected: What it was planned on.
        before: The window before it.
        after: The window after it.
        adding: The messages that were given, where the operation is an add.
    """

    change: Change
    expected: Stamp
    before: Window
    after: Window
    adding: tuple[Message, ...] = ()


@frozen
class Measure:
    """Asks for the `Meter`, or None where nothing is counted."""

    needed: bool


@frozen
class Count:
    """Asks what a message costs: an int, or `AtLeast` where a bound above `ceiling` shows that it does not fit."""

    message: Message
    ceiling: int | None


@frozen
class Pause:
    """Asks to wait a little before try number `attempt` + 1, or to raise `error` where there is no time left."""

    error: StoreError
    attempt: int


@frozen
class Delete:
    """Asks the store to erase the conversation, where it is `owner`'s; answered with whether there was one."""

    owner: str | None


@frozen
class ReadHistory:
    """Asks for a page of the history, where the conversation is `owner`'s."""

    after: int
    limit: int
    owner: str | None


@frozen
class ReadWindow:
    """Asks for the entries of the window at a version, where the conversation is `owner`'s."""

    version: int
    owner: str | None


Request = Load | Commit | Measure | Count | Pause | Delete | ReadHistory | ReadWindow
Result = TypeVar("Result")
Flow = Generator[Request, Any, Result]


@frozen
class Moment:
    """What one operation may not make itself: the time (UTC), and a random key that no other operation has."""

    at: datetime
    key: str


_UNKNOWN: Final = object()


@define
class Session:
    """What a memory holds between its operations.

    Attributes:
        settings: How it keeps its window.
        owner: Whose conversation it is; None: the memory does not ask.
        window: The window as of the last operation; None before the first, and where it must be loaded again.
        about: What is known of the conversation beside its messages, as of the last load or commit.
        epoch: The conversation's epoch; None where it is not stored yet.
        doubt: An add whose commit may or may not be stored. It lasts until the store answers it, or until something
            else is added, set or cleared; looking and loading do not end it.
    """

    settings: Settings
    owner: str | None = None
    window: Window | None = None
    about: About = About()
    epoch: str | None = None
    doubt: Commit | None = None
    _meter: Any = field(default=_UNKNOWN, init=False)

    def forget(self) -> None:
        """Load again at the next operation."""
        self.window = None

    def opened(self, snapshot: Snapshot | None) -> None:
        """Take over what was loaded beside the window; None: there is no such conversation yet.

        Raises:
            OwnershipError: The conversation is not this memory's owner's.
        """
        found = snapshot.about if snapshot else About()
        if snapshot and self.owner not in (None, found.owner):
            raise OwnershipError("the conversation belongs to another owner; use an id of this owner's own")
        self.epoch, self.about = (snapshot.epoch if snapshot else None), found

    def broken_off(self, request: Request | None) -> None:
        """Take note that nobody waited for the answer to `request`: what it did is not known."""
        if isinstance(request, Commit | Delete):
            self.forget()
        if isinstance(request, Commit) and request.adding:
            self.doubt = request

    @property
    def counter(self) -> str | None:
        """The name of the counter, once it is known."""
        return self._meter.name if isinstance(self._meter, Meter) else None

    def meter(self) -> Flow[Meter | None]:
        """Return what is known of the counter, asking once."""
        if self._meter is _UNKNOWN:
            self._meter = yield Measure(self.settings.token_limit is not None)
        meter: Meter | None = self._meter
        return meter

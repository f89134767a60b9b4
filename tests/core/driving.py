"""A driver for flows without threads or clock: it answers requests from a store, and lets trouble happen on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any, Final, TypeVar

from attrs import define, field, frozen

from chatmemory.core import flow
from chatmemory.core.entries import Change, Entry
from chatmemory.core.session import (
    Commit,
    Count,
    Delete,
    Flow,
    Load,
    Measure,
    Moment,
    Pause,
    ReadHistory,
    ReadWindow,
    Request,
    Session,
)
from chatmemory.core.settings import Meter, Settings
from chatmemory.core.window import Window
from chatmemory.errors import StoreError
from chatmemory.messages import Message
from chatmemory.stores import InMemoryChatMemoryStore
from chatmemory.strategies import SlidingWindow, TokenBudget
from tests.conversations import SizeCounter
from tests.core.building import AT, messages, shown

Result = TypeVar("Result")
_numbers = count(1)


@frozen
class Lost:
    """The request is carried out, but the answer never arrives."""

    error: StoreError


Trouble = Exception | Lost | Callable[[], object] | None
"""What happens at a request: an error instead of an answer, an answer that is lost, something before it, or nothing."""


def away(*, unknown: bool = False) -> StoreError:
    """The error of a store that went away."""
    return StoreError("the store is away; try again later", outcome_unknown=unknown)


@define
class Writer:
    """One memory object without its shell: a session on a conversation of `store`.

    Attributes:
        asked: The names of all requests, in order.
        commits: The commits that were asked for, also those that failed.
        patience: How many pauses there is time for.
    """

    store: InMemoryChatMemoryStore
    settings: Settings
    counter: SizeCounter = field(factory=SizeCounter)
    patience: int = 5
    asked: list[str] = field(factory=list)
    commits: list[Commit] = field(factory=list)
    session: Session = field(init=False)
    _troubles: defaultdict[str, list[Trouble]] = field(factory=lambda: defaultdict(list), init=False)

    def __attrs_post_init__(self) -> None:
        self.session = Session(self.settings)

    def trouble(self, request: str, *events: Trouble) -> None:
        """Let these happen at the next requests of that name, one at each."""
        self._troubles[request] += events

    def add(self, labels: str) -> Change:
        """Add messages as one change."""
        return self.add_messages(tuple(messages(labels)))

    def add_messages(self, given: tuple[Message, ...]) -> Change:
        """Add messages as one change."""
        return self.run(flow.extend(self.session, given, self.moment()))

    def current(self) -> Window:
        """The window, loaded where it was not yet."""
        return self.run(flow.current(self.session, self.moment()))

    def moment(self) -> Moment:
        """A time that stands still, and a new key."""
        return Moment(AT, f"commit-{next(_numbers)}")

    def run(self, operation: Flow[Result]) -> Result:
        """Answer the requests of `operation` until it is done. Only errors of the store are thrown into it."""
        pauses = 0
        try:
            request = next(operation)
            while True:
                pauses += isinstance(request, Pause)
                try:
                    answer = self._answer(request, pauses)
                except StoreError as error:
                    request = operation.throw(error)
                else:
                    request = operation.send(answer)
        except StopIteration as done:
            result: Result = done.value
            return result

    def _answer(self, request: Request, pauses: int) -> Any:
        name = type(request).__name__
        self.asked.append(name)
        if isinstance(request, Commit):
            self.commits.append(request)
        if isinstance(request, Pause) and pauses > self.patience:
            raise request.error
        waiting = self._troubles[name]
        event = waiting.pop(0) if waiting else None
        if isinstance(event, Exception):
            raise event
        if callable(event):
            event()
        answer = self._do(request)
        if isinstance(event, Lost):
            raise event.error
        return answer

    def _do(self, request: Any) -> Any:
        return _ANSWERS[type(request)](self, request)

    @property
    def shown(self) -> str:
        """The names of what is in the window as this writer has it."""
        return shown(self.session.window or ())

    @property
    def stored(self) -> str:
        """The names of what is in the stored window."""
        snapshot = self.store.load("c")
        return shown(Window.of(snapshot, self.settings.policy(None))) if snapshot else ""

    @property
    def history(self) -> list[Entry]:
        """Every stored entry."""
        return self.store.history("c")


_ANSWERS: Final[dict[type, Callable[[Writer, Any], Any]]] = {
    Load: lambda one, _: one.store.load("c"),
    Commit: lambda one, asked: one.store.commit("c", asked.change, asked.expected),
    Measure: lambda one, asked: Meter(one.counter.name, one.counter.overhead) if asked.needed else None,
    Count: lambda one, asked: one.counter.count(asked.message),
    Pause: lambda _, __: None,
    Delete: lambda one, _: one.store.delete("c"),
    ReadHistory: lambda one, asked: one.store.history("c", after=asked.after, limit=asked.limit),
    ReadWindow: lambda one, asked: one.store.window_at("c", asked.version),
}


def budget(max_tokens: int, **others: Any) -> Settings:
    """Settings with a token budget."""
    return Settings(strategy=TokenBudget(max_tokens), **others)


def last(max_messages: int, **others: Any) -> Settings:
    """Settings with a window of the last messages, in which nothing is counted."""
    return Settings(strategy=SlidingWindow(max_messages), **others)


def writer(settings: Settings, *, on: Writer | None = None, counter: SizeCounter | None = None) -> Writer:
    """A writer of its own store, or another one `on` the store of the first."""
    store = on.store if on else InMemoryChatMemoryStore(clock=lambda: AT)
    return Writer(store, settings, counter or SizeCounter())


def resized(one: Writer, *, max_tokens: int | None = None, max_messages: int | None = None) -> Settings:
    """The settings of a writer with another limit."""
    return one.session.settings.resized(max_tokens=max_tokens, max_messages=max_messages, reserve_tokens=None)

"""Builders of the core's tests: messages, windows and whole lives from a line of labels.

A label is one message: ``S`` system, ``U`` user, ``A`` assistant text, ``C`` assistant with calls, ``R`` result, ``X``
context, each with what tells it apart. ``C1(a,b):57`` calls with the ids a and b and costs 57 tokens (1 where no number
is given); ``R1=a`` answers the id a. ``-`` is a missing id, ``~`` an empty one. Where entries are built without the
core, ``R1=a@2`` says which entry it answers. Seqs count up from 1 in the order of the labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

from attrs import define, evolve, frozen

from chatmemory.core.admission import Counted, admit, repeats_system, settle, shrink
from chatmemory.core.draft import Draft
from chatmemory.core.entries import Change, Entry, Extent, Limit, OverflowPolicy, Snapshot
from chatmemory.core.guards import Guards
from chatmemory.core.plan import WindowStrategy
from chatmemory.core.policy import Policy
from chatmemory.core.settings import Meter, Settings
from chatmemory.core.units import Unit
from chatmemory.core.window import Window, in_window_order
from chatmemory.messages import (
    AssistantMessage,
    ContextMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.conversations import OVERHEAD, size_of

AT: Final = datetime(2026, 1, 2, tzinfo=UTC)
FIFO: Final = Guards.none()
_LABEL: Final = re.compile(
    r"(?P<name>(?P<kind>[SUACRX])\w*)(?:\((?P<calls>[^)]*)\))?(?:=(?P<answers>[^@:]))?(?:@(?P<at>\d+))?(?::(?P<size>\d+))?"
)
_PLAIN: Final[dict[str, Callable[[str], Message]]] = {
    "S": SystemMessage,
    "U": UserMessage,
    "A": AssistantMessage,
    "X": ContextMessage,
}


def _call_id(written: str) -> str | None:
    return {"-": None, "~": ""}.get(written, written)


def _read(label: str) -> re.Match[str]:
    found = _LABEL.fullmatch(label)
    assert found, label
    return found


def message(label: str) -> Message:
    """The message of one label."""
    found = _read(label)
    text = f"{found['name']}:{found['size'] or 1}"
    if found["kind"] == "C":
        return AssistantMessage(text, tool_calls=[ToolCall(_call_id(one), "look") for one in found["calls"].split(",")])
    if found["kind"] == "R":
        return ToolMessage(text, tool_call_id=_call_id(found["answers"]))
    return _PLAIN[found["kind"]](text)


def messages(labels: str) -> list[Message]:
    """The messages of a line of labels."""
    return [message(label) for label in labels.split()]


def entry(seq: int, label: str) -> Entry:
    """The entry of one label, with the call that it names behind ``@``."""
    made, call = message(label), _read(label)["at"]
    return Entry(seq, made, size_of(made), "size", "message", None, int(call) if call else None, AT, 1)


def entries(labels: str) -> tuple[Entry, ...]:
    """The entries of a line of labels, in the order of a window, without the core's linking."""
    return in_window_order(entry(seq, label) for seq, label in enumerate(labels.split(), start=1))


def unlimited() -> Policy:
    """What demands nothing but the default guards."""
    return Policy(limit=Limit(), overhead=OVERHEAD)


def window_of(labels: str, policy: Policy | None = None) -> Window:
    """The window that a store would load, its entries as `entries` makes them."""
    snapshot = Snapshot("epoch", 1, len(labels.split()) + 1, Extent(), entries(labels))
    return Window.of(snapshot, policy or unlimited())


def name_of(one: Message) -> str:
    """The label's name that a message was made from."""
    return one.text.partition(":")[0]


def shown(items: Iterable[Entry]) -> str:
    """A line of the names of entries, as a table states it."""
    return " ".join(name_of(one.message) for one in items)


def shown_units(units: Iterable[Unit]) -> str:
    """Units with a bar between them."""
    return " | ".join(shown(unit.entries) for unit in units)


@frozen
class Facts:
    """What a window holds besides its entries; equal for the same entries, however the window was made."""

    tokens: int
    messages: int
    user: int
    answer: int
    assistant: int
    waiting: dict[str, tuple[int, ...]]
    answered: dict[str, int]
    pending: frozenset[int]
    unseen: frozenset[int]

    @classmethod
    def of(cls, window: Window) -> Facts:
        """The facts of `window`."""
        marks, calls = window.marks, window.calls
        return cls(
            *window.size,
            marks.user,
            marks.answer,
            marks.assistant,
            dict(calls.waiting),
            dict(calls.answered),
            frozenset(marks.pending),
            frozenset(marks.unseen),
        )


def rebuilt(window: Window) -> Window:
    """The same window, worked out from its entries alone."""
    snapshot = Snapshot("epoch", window.version, window.next_seq, window.extent, tuple(reversed(window.entries)))
    return Window.of(snapshot, window.policy)


@define
class Life:
    """A conversation without a store: each `add` is one draft, as an operation of a memory makes it."""

    settings: Settings
    window: Window
    count: Callable[[Message], Counted]

    @classmethod
    def under(
        cls,
        strategy: WindowStrategy,
        *,
        guards: Guards = Guards(),
        overflow: OverflowPolicy = "evict",
        reserve_tokens: int = 0,
        count: Callable[[Message], Counted] = size_of,
        overhead: int = OVERHEAD,
    ) -> Life:
        """An empty conversation under these settings; tokens are counted where there is a token limit."""
        settings = Settings(strategy=strategy, guards=guards, overflow=overflow, reserve_tokens=reserve_tokens)
        meter = None if settings.token_limit is None else Meter("size", overhead)
        return cls(settings, Window.empty(settings.policy(meter)), count if meter else _uncounted)

    def add(self, labels: str) -> Change:
        """Add these as one change."""
        return self.add_messages(messages(labels))

    def add_messages(self, given: Iterable[Message]) -> Change:
        """Add messages as one change."""
        draft = self.draft()
        for one in given:
            if not repeats_system(draft.window, one):
                admit(draft, self.settings.strategy, one, self.count(one))
        return self._keep(draft)

    def add_each(self, labels: str) -> list[Change]:
        """Add these, a change for each."""
        return [self.add(label) for label in labels.split()]

    def resize(self, *, max_tokens: int | None = None, max_messages: int | None = None) -> Change:
        """Go on under other limits, as a memory does."""
        settings = self.settings.resized(max_tokens=max_tokens, max_messages=max_messages, reserve_tokens=None)
        meter = Meter("size", self.window.policy.overhead) if self.window.policy.counted else None
        draft = self.draft()
        draft.window = evolve(draft.window, policy=settings.policy(meter))
        if draft.window.over_budget:
            shrink(draft, settings.overflow, "the window")
            settle(draft, settings.strategy)
        self.settings = settings
        return self._keep(draft)

    def draft(self) -> Draft:
        """A change in the making."""
        return Draft(self.window, AT, "size" if self.window.policy.counted else None)

    def _keep(self, draft: Draft) -> Change:
        self.window, change = draft.finish(f"commit-{self.window.version + 1}")
        return change

    @property
    def shown(self) -> str:
        """The names of what is in the window."""
        return shown(self.window)


def _uncounted(_: Message) -> None:
    return None


def left(change: Change) -> dict[int, str]:
    """Who left, or never got in, and why, by seq."""
    return {removal.seq: removal.reason for removal in change.removed}


def refused(change: Change) -> dict[int, tuple[str, ...]]:
    """Who was refused, and by what, by seq."""
    return {refusal.seq: refusal.guards for refusal in change.refused}

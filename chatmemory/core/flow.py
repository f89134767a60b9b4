"""Each operation of a memory, once, as a generator of requests that a driver answers (sync or async).

Decides: load → plan → commit → adopt, the retry after a conflict, and what a failed commit leaves behind (R11). An
error of the store is thrown into the flow at its request. A driver that is broken off in the middle of a request calls
`Session.forget`, and the next operation loads. Knows no store, no clock and no counter but through requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count as numbers
from itertools import takewhile
from typing import Any

from attrs import define, evolve, field

from chatmemory.core.about import described
from chatmemory.core.admission import Counted, admit, repeats_system, settle, shrink
from chatmemory.core.asking import ask, commit, find_out
from chatmemory.core.draft import Draft
from chatmemory.core.entries import About, Change, Entry, Extent, OverflowPolicy, Snapshot, Stamp
from chatmemory.core.redaction import redacted
from chatmemory.core.session import (
    Commit,
    Count,
    Delete,
    Flow,
    Load,
    Moment,
    Pause,
    ReadHistory,
    ReadWindow,
    Session,
)
from chatmemory.core.settings import Meter, Settings
from chatmemory.core.window import Window
from chatmemory.errors import ConflictError, NotInHistoryError, StoreError
from chatmemory.messages import Message

Planner = Callable[[Window], Flow[Draft]]
Source = Callable[[Session, Moment], Flow[Window]]


def current(session: Session, moment: Moment) -> Flow[Window]:
    """Return the window; load it, and cut it to the limit, where that was not done yet (R6)."""
    if session.window is not None:
        return session.window

    def cut(window: Window) -> Flow[Draft]:
        draft = _draft(session, window, moment)
        if session.settings.overflow != "keep":
            _fit(draft, session.settings, "evict")
        return _at_once(draft)

    window, _ = yield from _changed(session, moment, cut, _uncut)
    return window


def refresh(session: Session, moment: Moment) -> Flow[Window]:
    """Load the window again; where that fails, it stays as it was."""
    before = session.window
    session.forget()
    try:
        return (yield from current(session, moment))
    except StoreError:
        session.window = before
        raise


def extend(session: Session, messages: tuple[Message, ...], moment: Moment) -> Flow[Change]:
    """Add `messages` one after another, committed as one change."""
    found = yield from find_out(session, messages)
    if found is not None:
        return found
    admitted = _Admitted(session, messages)

    def plan(window: Window) -> Flow[Draft]:
        return admitted.onto(_draft(session, window, moment))

    _, change = yield from _changed(session, moment, plan, current, adding=messages)
    return change


def replace(session: Session, messages: tuple[Message, ...], moment: Moment) -> Flow[Change]:
    """Make the window hold `messages`: the longest common prefix stays, the rest leaves, the others are added."""
    admitted = _Admitted(session, messages)

    def plan(window: Window) -> Flow[Draft]:
        same = _common_prefix(window, messages)
        draft = _draft(session, window.cut_at(same), moment)
        draft.leave(window.entries[same:], "set")
        return admitted.onto(draft, skip=same)

    _, change = yield from _changed(session, moment, plan, current)
    session.doubt = None
    return change


def clear(session: Session, moment: Moment) -> Flow[Change]:
    """Let every entry leave, the system message too, also one that is alone over the limit."""

    def plan(window: Window) -> Flow[Draft]:
        draft = _draft(session, window.cut_at(0), moment)
        draft.leave(window.entries, "cleared")
        return _at_once(draft)

    _, change = yield from _changed(session, moment, plan, _uncut)
    session.doubt = None
    return change


def resize(session: Session, settings: Settings, moment: Moment) -> Flow[Change]:
    """Go on under other limits; what no longer fits leaves at once (R6)."""
    policy = settings.policy((yield from session.meter()))

    def plan(window: Window) -> Flow[Draft]:
        draft = _draft(session, evolve(window, policy=policy), moment)
        _fit(draft, settings, settings.overflow)
        return _at_once(draft)

    # A window that is not loaded yet is not cut to the old limit first: the caller gives that limit up.
    _, change = yield from _changed(session, moment, plan, _uncut)
    session.settings = settings
    return change


def delete(session: Session) -> Flow[bool]:
    """Erase the conversation; the session is that of an empty new one."""
    existed: bool = yield from ask(Delete(session.owner), on_unknown=session.forget)
    session.forget()
    session.doubt = None
    return existed


def redact(session: Session, seq: int, text: str, moment: Moment) -> Flow[Change]:
    """Let `text` take the place of everything that entry `seq` holds, in the window and in the history."""

    def plan(window: Window) -> Flow[Draft]:
        draft = _draft(session, window, moment)
        entry = yield from _entry(session, window, seq)
        message = redacted(entry.message, text)
        if message != entry.message:
            draft.redact(entry, message, (yield from _exact(window, message)))
            _fit(draft, session.settings, session.settings.overflow)
        return draft

    _, change = yield from _changed(session, moment, plan, current)
    return change


def describe(session: Session, title: str | None, meta: Mapping[str, Any] | None, moment: Moment) -> Flow[Change]:
    """Write down another title or meta of the conversation."""

    def plan(window: Window) -> Flow[Draft]:
        draft, now = _draft(session, window, moment), described(session.about, title, meta)
        if now != session.about:
            draft.describe(now)
        return _at_once(draft)

    _, change = yield from _changed(session, moment, plan, current)
    return change


def about(session: Session, moment: Moment) -> Flow[About]:
    """Return what is known of the conversation beside its messages."""
    yield from current(session, moment)
    return session.about


def history(session: Session, after: int, limit: int) -> Flow[list[Entry]]:
    """Return a page of the history."""
    entries: list[Entry] = yield from ask(ReadHistory(after, limit, session.owner))
    return entries


def window_at(session: Session, version: int) -> Flow[Window]:
    """Return the window as it was at `version`, under today's limit."""
    meter = yield from session.meter()
    stored: list[Entry] = yield from ask(ReadWindow(version, session.owner))
    entries = yield from _measured(tuple(stored), meter)
    snapshot = Snapshot(session.epoch or "", version, 0, Extent(), entries)
    return Window.of(snapshot, session.settings.policy(meter))


@define
class _Admitted:
    """The messages of one operation, each counted once however often the operation is planned (R10)."""

    session: Session
    messages: tuple[Message, ...]
    counted: dict[int, Counted] = field(factory=dict)

    def onto(self, draft: Draft, skip: int = 0) -> Flow[Draft]:
        for index in range(skip, len(self.messages)):
            message = self.messages[index]
            if repeats_system(draft.window, message):
                continue
            if index not in self.counted:
                self.counted[index] = yield from _count(draft.window, message)
            admit(draft, self.session.settings.strategy, message, self.counted[index])
        return draft


def _count(window: Window, message: Message) -> Flow[Counted]:
    policy = window.policy
    if not policy.counted:
        return None
    counted: Counted = yield Count(message, policy.ceiling)
    return counted


def _changed(
    session: Session, moment: Moment, plan: Planner, source: Source, *, adding: tuple[Message, ...] = ()
) -> Flow[tuple[Window, Change]]:
    for attempt in numbers():
        window = yield from source(session, moment)
        draft = yield from plan(window)
        # One operation commits at most once on each version, so this names the commit.
        after, change = draft.finish(f"{moment.key}.{window.version}")
        if change:
            change = _owned(session, change)
            request = Commit(change, Stamp(session.epoch, window.version), window, after, adding)
            try:
                session.epoch = yield from commit(session, request)
            except ConflictError as conflict:
                session.forget()
                yield Pause(conflict, attempt)
                continue
            session.doubt = None if adding else session.doubt
            session.about = change.about or session.about
        session.window = after
        return after, change
    raise AssertionError("unreachable: the tries have no end but the driver's")


def _uncut(session: Session, _: Moment) -> Flow[Window]:
    return (yield from _loaded(session)) if session.window is None else session.window


def _loaded(session: Session) -> Flow[Window]:
    meter = yield from session.meter()
    policy = session.settings.policy(meter)
    snapshot: Snapshot | None = yield from ask(Load())
    session.opened(snapshot)
    if snapshot is None:
        return Window.empty(policy)
    entries = yield from _measured(snapshot.entries, meter)
    return Window.of(evolve(snapshot, entries=entries), policy)


def _measured(entries: tuple[Entry, ...], meter: Meter | None) -> Flow[tuple[Entry, ...]]:
    # R10: another counter's counts are no counts of this one.
    if meter is None or all(entry.counter == meter.name for entry in entries):
        return entries
    counted = list[Entry]()
    for entry in entries:
        if entry.counter == meter.name:
            counted.append(entry)
        else:
            tokens: int = yield Count(entry.message, None)
            counted.append(evolve(entry, tokens=tokens, counter=meter.name))
    return tuple(counted)


def _fit(draft: Draft, settings: Settings, overflow: OverflowPolicy) -> None:
    if draft.window.over_budget:
        shrink(draft, overflow, "the window")
        settle(draft, settings.strategy)


def _owned(session: Session, change: Change) -> Change:
    # The owner is written once, by the change that makes the conversation.
    if session.epoch is not None or session.owner is None:
        return change
    return evolve(change, about=evolve(change.about or About(), owner=session.owner))


def _entry(session: Session, window: Window, seq: int) -> Flow[Entry]:
    for entry in window:
        if entry.seq == seq:
            return entry
    page: list[Entry] = yield from ask(ReadHistory(seq - 1, 1, session.owner))
    if not page or page[0].seq != seq:
        raise NotInHistoryError(f"the conversation has no entry {seq}; ask for one of its history")
    return page[0]


def _exact(window: Window, message: Message) -> Flow[int | None]:
    if not window.policy.counted:
        return None
    tokens: int = yield Count(message, None)
    return tokens


def _draft(session: Session, window: Window, moment: Moment) -> Draft:
    return Draft(window, moment.at, session.counter)


def _at_once(draft: Draft) -> Flow[Draft]:
    yield from ()
    return draft


def _common_prefix(window: Window, messages: tuple[Message, ...]) -> int:
    if not messages or not window.entries:
        return 0
    same = 1 if repeats_system(window, messages[0]) else 0  # R2: by its text
    pairs = zip(window.entries[same:], messages[same:], strict=False)
    return same + sum(1 for _ in takewhile(lambda pair: pair[0].message == pair[1], pairs))

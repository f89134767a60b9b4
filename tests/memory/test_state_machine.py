"""A real memory lives beside the slow model, whatever is done to it, and after each step both agree.

Compared are the window, what the Change said, the history, and the window of every version; the oracle looks at what
`messages()` gave. Reopening makes new memory and store objects, with a counter that nobody may ask.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from chatmemory import Change, ChatMemory, WindowOverflowError
from chatmemory.messages import Message
from chatmemory.stores import ChatMemoryStore, DocumentChatMemoryStore, InMemoryChatMemoryStore, SqlChatMemoryStore
from tests.conversations import (
    SizeCounter,
    calls,
    conversations,
    messages,
    new_limits,
    results,
    size_of,
    sizes,
    system_messages,
    window_settings,
)
from tests.model import DoesNotFitError, Happened, Model
from tests.oracle import check_window
from tests.real_memory import open_memory
from tests.records import Record, open_ids
from tests.stores.documents import PlainTexts
from tests.window_settings import WindowSettings

CONVERSATIONS = count(1)


class MemoryBesideModel(RuleBasedStateMachine):
    """One conversation, done twice: by the library and by the model."""

    model: Model
    memory: ChatMemory

    def __init__(self) -> None:
        super().__init__()
        self.store = self.open_store()
        self.id = f"conversation-{next(CONVERSATIONS)}"
        self.counter = SizeCounter()
        self.shown: dict[int, list[int]] = {0: []}

    def open_store(self) -> ChatMemoryStore:
        """Return a store with what was stored before."""
        raise NotImplementedError

    @initialize(chosen=window_settings())
    def begin(self, chosen: WindowSettings) -> None:
        """Open an empty conversation."""
        self.model = Model(chosen, size_of if chosen.counted else None)
        self.memory = self._open(chosen)

    @rule(message=messages())
    def add(self, message: Message) -> None:
        """Any message, whether it fits the conversation or not."""
        self._both(lambda: self.model.extend([message]), lambda: self.memory.add(message))

    @rule(message=system_messages())
    def add_system(self, message: Message) -> None:
        """A system message, new or there already."""
        self._both(lambda: self.model.extend([message]), lambda: self.memory.add(message))

    @rule(message=calls())
    def call(self, message: Message) -> None:
        """An assistant message with calls."""
        self._both(lambda: self.model.extend([message]), lambda: self.memory.add(message))

    @precondition(lambda self: self._waiting())
    @rule(data=st.data())
    def answer_a_call(self, data: st.DataObject) -> None:
        """A result for a call that waits, soon or late."""
        message = data.draw(results(st.sampled_from(self._waiting())))
        self._both(lambda: self.model.extend([message]), lambda: self.memory.add(message))

    @rule(several=conversations(max_parts=4))
    def extend(self, several: list[Message]) -> None:
        """Several messages as one change."""
        copy = list(several)
        self._both(lambda: self.model.extend(several), lambda: self.memory.extend(several))
        assert copy == several

    @rule(keep=st.integers(0, 8), several=conversations(max_parts=3))
    def set(self, keep: int, several: list[Message]) -> None:
        """Another list, which begins as the window does."""
        given = [*self.memory.messages()[:keep], *several]
        self._both(lambda: self.model.set(given), lambda: self.memory.set(given))

    @rule()
    def clear(self) -> None:
        """Everything leaves the window."""
        self._both(self.model.clear, self.memory.clear)

    @rule(data=st.data())
    def resize(self, data: st.DataObject) -> None:
        """Other limits, larger or smaller."""
        limits = data.draw(new_limits(self.model.settings))
        self._both(lambda: self.model.resize(**limits), lambda: self.memory.resize(**limits))

    @precondition(lambda self: self.model.window)
    @rule(less=st.integers(1, 20))
    def tighten(self, less: int) -> None:
        """A limit a little below what the window takes, so that something has to go, or cannot."""
        now = self.model.settings
        limit = max(1, self.model.size(now.kind, self.model.window) - less)
        if now.kind == "tokens":
            limit += now.reserve_tokens
        limits = {f"max_{now.kind}": limit}
        self._both(lambda: self.model.resize(**limits), lambda: self.memory.resize(**limits))

    @precondition(lambda self: self.model.history)
    @rule(data=st.data(), size=sizes)
    def redact(self, data: st.DataObject, size: int) -> None:
        """Another text in the place of a message, in the window or long gone, often a longer one, or the same again."""
        seq = data.draw(st.integers(1, len(self.model.history)))
        text = f"x:{size}"
        self._both(lambda: self.model.redact(seq, text), lambda: self.memory.redact(seq, text))

    @rule(title=st.sampled_from(("", "a", "b")), meta=st.sampled_from(({}, {"a": 1}, {"b": 2})))
    def describe(self, title: str, meta: dict[str, int]) -> None:
        """Another title and meta, or the same again; the window stays."""
        self._both(lambda: self.model.describe(title, meta), lambda: self.memory.describe(title=title, meta=meta))

    @rule()
    def reopen(self) -> None:
        """New objects on the same store have the same window, without counting anything again."""
        before = _facts(self.memory)
        self._reopen(self.model.settings)
        assert before == _facts(self.memory)
        self._check_every_version()

    @rule(data=st.data())
    def reopen_under_other_settings(self, data: st.DataObject) -> None:
        """Other limits, guards and policies cut what is stored, in a change of its own."""
        chosen = data.draw(window_settings(counted=self.model.settings.counted))
        try:
            self.model.reopen(chosen)
        except DoesNotFitError:
            too_small = self._open(chosen)
            with pytest.raises(WindowOverflowError):
                too_small.window()
            chosen = self.model.settings
        self._reopen(chosen)

    @invariant()
    def the_window_is_the_models(self) -> None:
        """The same entries in the same order, with the same tokens, valid, and within the limit."""
        window = self.memory.window()
        assert [_record_facts(r) for r in self.model.window] == [(e.seq, e.message, e.tokens) for e in window]
        assert [r.message for r in self.model.window] == self.memory.messages()
        assert [] == check_window(self.memory.messages())
        assert (self.model.version, self.model.tokens) == (window.version, window.tokens)
        assert self.model.settings.limits == _limits(window.limit)
        assert self.model.fits(self.model.window) is not self.memory.over_budget

    @invariant()
    def the_history_is_the_models(self) -> None:
        """Every accepted message is there, with the versions of its coming and leaving, and the reason."""
        expected = [(*_record_facts(r), r.entered, r.left, r.reason, r.redacted) for r in self.model.history]
        history = self.memory.history(limit=10_000)
        assert expected == [(e.seq, e.message, e.tokens, e.entered, e.left, e.reason, e.redacted) for e in history]

    @invariant()
    def the_description_is_the_models(self) -> None:
        """Title and meta are those that were said last."""
        about = self.memory.about()
        assert self.model.about == (about.title or "", about.meta)

    @invariant()
    def the_newest_version_is_stored(self) -> None:
        """What `messages()` gives now is what the store says of this version."""
        self.shown[self.model.version] = [entry.seq for entry in self.memory.window()]
        self._check_version(self.model.version)

    def teardown(self) -> None:
        """At the end, every version of the conversation can still be seen."""
        if hasattr(self, "memory"):
            self._check_every_version()
        if not isinstance(self.store, InMemoryChatMemoryStore):
            self.store.close()

    def _open(self, chosen: WindowSettings) -> ChatMemory:
        return open_memory(self.id, chosen, store=self.store, counter=self.counter)

    def _reopen(self, chosen: WindowSettings) -> None:
        if not isinstance(self.store, InMemoryChatMemoryStore):
            self.store.close()
            self.store = self.open_store()
        self.memory = self._open(chosen)
        self.counter.locked = True
        self.memory.window()
        self.counter.locked = False

    def _waiting(self) -> list[str | None]:
        window = self.model.window
        return [one for record in window if record.message.tool_calls for one in open_ids(window, record)]

    def _both(self, by_model: Callable[[], Happened], by_memory: Callable[[], Change]) -> None:
        asked = self.counter.questions
        try:
            happened = by_model()
        except DoesNotFitError as refused:
            _check_overflow(by_memory, refused)
            return
        _check_change(by_memory(), happened, self.model)
        assert happened.counted == self.counter.questions - asked  # R10: each once

    def _check_every_version(self) -> None:
        for version in self.model.windows:
            self._check_version(version)

    def _check_version(self, version: int) -> None:
        there = self.model.windows[version]
        assert self.shown.get(version, there) == there
        assert sorted(there) == [entry.seq for entry in self.store.window_at(self.id, version)]
        assert there == [entry.seq for entry in self.memory.window_at(version)]


def _check_change(change: Change, happened: Happened, model: Model) -> None:
    assert happened.changed is bool(change)
    assert happened.version == change.version
    assert sorted(happened.added) == sorted(entry.seq for entry in change.added)
    gone = sorted((r.seq, r.reason, r.entered, r.left, r.tokens) for r in happened.removed)
    assert gone == sorted((r.seq, r.reason, r.entered, r.left, r.tokens) for r in change.removed)
    assert happened.refused == [(refusal.seq, refusal.guards) for refusal in change.refused]
    assert (happened.oversize, happened.seq) == (change.oversize, change.seq)
    assert (model.tokens, model.settings.limits) == (change.tokens, _limits(change.limit))


def _check_overflow(by_memory: Callable[[], Change], expected: DoesNotFitError) -> None:
    with pytest.raises(WindowOverflowError) as caught:
        by_memory()
    measure = caught.value.measure
    assert (expected.needed[measure], expected.allowed[measure]) == (caught.value.needed, caught.value.allowed)


def _facts(memory: ChatMemory) -> tuple[object, ...]:
    window = memory.window()
    entries = [(e.seq, e.message, e.tokens, e.kind, e.entered, e.call_seq) for e in window]
    return window.version, window.tokens, window.limit, entries


def _record_facts(record: Record) -> tuple[int, Message, int | None]:
    return record.seq, record.message, record.tokens


def _limits(limit: Any) -> dict[str, int]:
    both = {"tokens": limit.tokens, "messages": limit.messages}
    return {measure: value for measure, value in both.items() if value is not None}


def test_in_memory() -> None:
    """Kept in memory, a conversation goes as the rules say, whatever is done to it."""
    shared = InMemoryChatMemoryStore()

    class InMemory(MemoryBesideModel):
        def open_store(self) -> ChatMemoryStore:
            return shared

    run_state_machine_as_test(InMemory, settings=settings(stateful_step_count=30))


def test_in_sqlite(tmp_path: Path) -> None:
    """Kept in an SQLite file, with a new engine at each reopening, it goes as the rules say too."""

    class InSqlite(MemoryBesideModel):
        def open_store(self) -> ChatMemoryStore:
            return SqlChatMemoryStore(f"sqlite:///{tmp_path / 'chat.db'}")

    run_state_machine_as_test(InSqlite, settings=settings(stateful_step_count=20))


def test_in_documents() -> None:
    """Kept as one text, read and written whole by a new store at each reopening, it goes as the rules say too."""
    texts: dict[str, str] = {}

    class InDocuments(MemoryBesideModel):
        def open_store(self) -> ChatMemoryStore:
            return DocumentChatMemoryStore(PlainTexts(texts))

    run_state_machine_as_test(InDocuments, settings=settings(stateful_step_count=20))

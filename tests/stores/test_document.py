"""The document store: the suite on each kind of back end, many writers, and a memory's life on it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import define

from chatmemory import (
    ApproximateCounter,
    AssistantMessage,
    ChatMemory,
    MessageWindowChatMemory,
    SystemMessage,
    TokenWindowChatMemory,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from chatmemory.errors import InvalidArgumentError, StoreError
from chatmemory.stores import (
    ChatMemoryStore,
    DocumentChatMemoryStore,
    InMemoryChatMemoryStore,
)
from chatmemory.stores.base import COMMIT_IDS_KEPT
from chatmemory.testing.changes import START, ConversationModel, add_until_taken
from chatmemory.testing.store_conformance import StoreConformance
from tests.endurance.writing import processes, run_all
from tests.stores.documents import (
    IgnoringVersions,
    MeetingTexts,
    MeetingVersions,
    PlainTexts,
    UnlockedTexts,
    VersionedTexts,
    add_to_files,
    hold_lock,
    json_files,
)

SPAWN = multiprocessing.get_context("spawn")


class TestReadmeFiles(StoreConformance):
    """A JSON file per conversation, as the README shows it."""

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a store on the folder."""
        return DocumentChatMemoryStore(json_files(place))


class TestPlainTexts(StoreConformance):
    """A back end that cannot compare, each store with one of its own on the same texts."""

    places: ClassVar[dict[Path, dict[str, str]]] = {}

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a store on the texts of the place."""
        return DocumentChatMemoryStore(PlainTexts(self.places.setdefault(place, {})))


class TestVersionedTexts(StoreConformance):
    """A back end that compares by itself."""

    places: ClassVar[dict[Path, VersionedTexts]] = {}

    def open_store(self, place: Path) -> ChatMemoryStore:
        """Return a store on the texts of the place."""
        return DocumentChatMemoryStore(self.places.setdefault(place, VersionedTexts()))


@pytest.mark.parametrize("documents", [MeetingVersions, MeetingTexts])
def test_who_compares_passes(documents: type[MeetingVersions | MeetingTexts]) -> None:
    """Where all writers meet after reading, one writes and the others get a conflict."""
    TestPlainTexts().test_threads_make_one_conversation(DocumentChatMemoryStore(documents()))


@pytest.mark.parametrize("documents", [IgnoringVersions, UnlockedTexts])
def test_who_does_not_is_caught(documents: type[IgnoringVersions | UnlockedTexts]) -> None:
    """The suite catches a `put` that ignores `expected`, and a `locked` that locks nothing."""
    with pytest.raises(AssertionError):
        TestPlainTexts().test_threads_make_one_conversation(DocumentChatMemoryStore(documents()))


def test_processes_share_the_readmes_files(tmp_path: Path) -> None:
    """Three processes that add to one file: every message is there once, in each one's order."""
    start, each = processes().Barrier(3), 20
    run_all([(add_to_files, (tmp_path, name, each, start)) for name in "abc"])
    history = DocumentChatMemoryStore(json_files(tmp_path)).history("c")
    assert list(range(1, 3 * each + 1)) == [entry.seq for entry in history]
    for name in "abc":
        own = [entry.message.text for entry in history if entry.message.text.startswith(name)]
        assert [f"{name} {number}" for number in range(each)] == own


def test_a_killed_process_holds_up_nobody(tmp_path: Path) -> None:
    """The lock of the README's files is free again when the process that held it is killed."""
    held = SPAWN.Event()
    process = SPAWN.Process(target=hold_lock, args=(tmp_path, held))
    process.start()
    assert held.wait(60)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    add_until_taken(DocumentChatMemoryStore(json_files(tmp_path)), "c", "on")
    assert {"c-c.json", ".lock"} == {path.name for path in tmp_path.iterdir()}


def test_a_lost_change_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """Who was overwritten by a process that holds no common lock is refused when it writes again, and it is logged."""
    texts = PlainTexts()
    one, other = (MessageWindowChatMemory("c", max_messages=9, store=DocumentChatMemoryStore(texts)) for _ in "ab")
    one.add(UserMessage("first"))
    other.refresh()
    both_read = dict(texts.texts)
    one.add(UserMessage("lost"))
    texts.texts.update(both_read)
    other.add(UserMessage("second"))
    assert [] == caplog.messages
    one.add(UserMessage("third"))
    assert ["first", "second", "third"] == [message.text for message in one.messages()]
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "'c': version 2 was overwritten" in line


def test_an_ordinary_conflict_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A writer that is merely late, or whose conversation was deleted, has lost nothing, and nothing is logged."""
    store = DocumentChatMemoryStore(PlainTexts())
    one, other = (MessageWindowChatMemory("c", max_messages=9, store=store) for _ in "ab")
    for memory in (one, other, one):
        memory.add(UserMessage("u"))
    other.delete()
    one.add(UserMessage("anew"))
    assert ["anew"] == [message.text for message in one.messages()]
    assert [] == caplog.messages


def test_a_tool_loop_goes_as_in_memory(tmp_path: Path) -> None:
    """Adding, evicting, reopening, redacting and clearing give the same windows and histories as in memory."""
    steps: list[Callable[[ChatMemory], object]] = [
        lambda memory: memory.add(SystemMessage("You are kind.")),
        lambda memory: memory.add(UserMessage("Where is my parcel?")),
        lambda memory: memory.add(AssistantMessage(tool_calls=[ToolCall("1", "track"), ToolCall("2", "track")])),
        lambda memory: memory.extend(ToolMessage("on its way", tool_call_id=each) for each in "21"),
        lambda memory: memory.add(AssistantMessage("It is on its way.")),
        lambda memory: memory.redact(2, "gone"),
        *(lambda memory, text=text: memory.add(UserMessage(text)) for text in ("Thanks.", "And the other one?")),
        lambda memory: memory.redact(4, "gone too"),
        lambda memory: memory.resize(max_tokens=40),
        lambda memory: memory.clear(),
        lambda memory: memory.add(ToolMessage("late", tool_call_id="1")),
    ]
    stores = (
        InMemoryChatMemoryStore(clock=lambda: START),
        DocumentChatMemoryStore(json_files(tmp_path), clock=lambda: START),
    )
    for step in steps:
        seen = []
        for store in stores:
            memory = TokenWindowChatMemory("c", max_tokens=60, store=store, counter=ApproximateCounter())
            step(memory)
            seen.append((list(memory.window()), memory.history()))
        assert seen[0] == seen[1]
    assert {"budget", "cleared", "orphan"} == {entry.reason for entry in stores[1].history("c")}
    assert "parcel" not in (tmp_path / "c-c.json").read_text("utf-8")


def test_retain_window_bounds_the_text() -> None:
    """Where only the window is kept, the text grows no more once the keys of changes have come to their number."""
    texts, model = PlainTexts(), ConversationModel()
    store = DocumentChatMemoryStore(texts, retain="window")
    sizes = []
    for _ in range(COMMIT_IDS_KEPT + 20):
        gone = dict.fromkeys(model.windows[-1][:-2], "budget")
        model.write(store, "c", UserMessage("m" * 100), leaving=gone)
        sizes.append(len(texts.texts["c-c"]))
    assert max(sizes[-10:]) - min(sizes[-10:]) < 50
    assert 3 == len(store.history("c"))
    assert model.snapshot == store.load("c")


@define
class InterruptedTexts(PlainTexts):
    """Before each of the first two deletions is compared, somebody adds to the conversation ``c``."""

    left: int = 2

    def locked(self, key: str) -> AbstractContextManager[object]:
        """Let somebody add first."""
        if self.left:
            self.left -= 1
            add_until_taken(DocumentChatMemoryStore(PlainTexts(self.texts)), "c", "between")
        return super().locked(key)


@define
class InterruptedVersions(VersionedTexts):
    """The same, where the back end compares."""

    left: int = 2

    def delete(self, key: str, *, expected: Any) -> bool:
        """Let somebody add first."""
        if self.left:
            self.left -= 1
            add_until_taken(DocumentChatMemoryStore(self), "c", "between")
        return super().delete(key, expected=expected)


@pytest.mark.parametrize("interrupted", [InterruptedTexts, InterruptedVersions])
def test_a_memory_deletes_what_others_write_to(interrupted: type[InterruptedTexts | InterruptedVersions]) -> None:
    """Where another writer comes between, deleting is a `StoreError` that may pass, and the memory tries again."""
    documents = interrupted(left=0)
    store = DocumentChatMemoryStore(documents)
    add_until_taken(store, "c", "u")
    documents.left = 2
    with pytest.raises(StoreError) as caught:
        store.delete("c")
    assert (True, False) == (caught.value.transient, caught.value.outcome_unknown)
    assert ["u", "between"] == [entry.message.text for entry in store.history("c")]
    assert MessageWindowChatMemory("c", max_messages=9, store=store).delete()
    assert None is store.load("c")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    """A child that is forked while a thread of its parent writes has locks of its own."""
    texts, fork = PlainTexts(), multiprocessing.get_context("fork")
    written, done = threading.Event(), threading.Event()

    def hold() -> None:
        with texts.locked("c-c"):
            written.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert written.wait(60)
    child = fork.Process(target=add_until_taken, args=(DocumentChatMemoryStore(texts), "c", "u"))
    child.start()
    child.join(20)
    was_waiting = child.is_alive()
    child.kill()
    done.set()
    holder.join()
    assert not was_waiting
    assert 0 == child.exitcode


def test_a_closed_store_leaves_the_back_end_open() -> None:
    """Closing ends the use of one store; another one on the same back end goes on."""
    texts = PlainTexts()
    with DocumentChatMemoryStore(texts) as store:
        add_until_taken(store, "c", "u")
    add_until_taken(DocumentChatMemoryStore(texts), "c", "v")
    with pytest.raises(StoreError, match="closed"):
        store.load("c")


@pytest.mark.parametrize("documents", [None, "chats", PlainTexts, dict[str, str]()])
def test_other_back_ends_are_refused(documents: Any) -> None:
    """What is no object of a subclass of `Documents` or `VersionedDocuments` is refused by name."""
    with pytest.raises(InvalidArgumentError, match="documents"):
        DocumentChatMemoryStore(documents)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "30", None])
def test_other_waits_are_refused(seconds: Any) -> None:
    """A time to go on that is no positive number of seconds is refused by name."""
    with pytest.raises(InvalidArgumentError, match="conflict_timeout_seconds"):
        DocumentChatMemoryStore(PlainTexts(), conflict_timeout_seconds=seconds)

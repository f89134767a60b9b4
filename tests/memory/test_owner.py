"""`owner=`: written once, with the first change; another owner's conversation is not opened, read or deleted."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from chatmemory import ChatMemory, InvalidArgumentError, NotInHistoryError, OwnershipError, StoreError, UserMessage
from chatmemory.stores import ChatMemoryStore, SqlChatMemoryStore
from tests.memory.conftest import Api, Place
from tests.memory.watched_store import WatchedStore

OPENING: dict[str, Callable[[ChatMemory], object]] = {
    "add": lambda memory: memory.add(UserMessage("v")),
    "extend": lambda memory: memory.extend([UserMessage("v")]),
    "set": lambda memory: memory.set([UserMessage("v")]),
    "clear": lambda memory: memory.clear(),
    "resize": lambda memory: memory.resize(max_messages=1),
    "redact": lambda memory: memory.redact(1),
    "describe": lambda memory: memory.describe(title="mine"),
    "about": lambda memory: memory.about(),
    "messages": lambda memory: memory.messages(),
    "window": lambda memory: memory.window(),
    "refresh": lambda memory: memory.refresh(),
    "tokens": lambda memory: memory.tokens,
    "system": lambda memory: memory.system,
    "version": lambda memory: memory.version,
    "over_budget": lambda memory: memory.over_budget,
}


def opened(api: Api, store: ChatMemoryStore, owner: str | None) -> ChatMemory:
    """A memory of the conversation for that owner."""
    return api.message_window("c", max_messages=9, store=store, owner=owner)


@pytest.mark.parametrize("theirs", ["ann", None], ids=["another owner's", "nobody's"])
@pytest.mark.parametrize("operation", OPENING.values(), ids=OPENING)
def test_a_foreign_conversation_is_not_opened(
    api: Api, store: ChatMemoryStore, operation: Callable[[ChatMemory], object], theirs: str | None
) -> None:
    """Every operation that opens it raises, again and again, and nothing is written."""
    opened(api, store, theirs).add(UserMessage("u"))
    before = store.load("c"), store.history("c")
    memory = opened(api, store, "bob")
    for _ in range(2):
        with pytest.raises(OwnershipError, match="owner"):
            operation(memory)
    assert before == (store.load("c"), store.history("c"))


@pytest.mark.parametrize("theirs", ["ann", None], ids=["another owner's", "nobody's"])
def test_a_foreign_conversation_is_as_one_that_is_not_there(
    api: Api, store: ChatMemoryStore, theirs: str | None
) -> None:
    """What reads or deletes without opening answers as for a conversation that nobody has begun."""
    opened(api, store, theirs).add(UserMessage("u"))
    memory = opened(api, store, "bob")
    assert ([], False) == (memory.history(), memory.delete())
    assert 0 == len(memory.window_at(0))
    with pytest.raises(NotInHistoryError):
        memory.window_at(1)
    assert ["u"] == [entry.message.text for entry in store.history("c")]


def test_the_owner_goes_on(api: Api, place: Place) -> None:
    """The owner is written with the first change, whatever it is, and stays through all others."""
    memory = opened(api, place.open(), "ann")
    memory.describe(title="Parcel")
    memory.add(UserMessage("u"))
    memory.describe(meta={"plan": 1})
    memory.clear()
    again = opened(api, place.open(), "ann")
    assert ("ann", "Parcel", {"plan": 1}) == (again.about().owner, again.about().title, again.about().meta)
    assert ["c"] == [info.id for info in place.open().conversations(owner="ann")]
    assert 1 == len(again.history())
    assert again.delete()


def test_a_memory_without_an_owner_is_not_asked(api: Api, store: ChatMemoryStore) -> None:
    """Tools and support staff, who give no owner, go on with any conversation; it stays the owner's."""
    opened(api, store, "ann").add(UserMessage("u"))
    memory = opened(api, store, None)
    memory.add(UserMessage("v"))
    memory.describe(title="Parcel")
    assert ("ann", ["u", "v"]) == (memory.about().owner, [message.text for message in memory.messages()])
    assert ["u", "v"] == [message.text for message in opened(api, store, "ann").messages()]


def test_looking_writes_no_owner(api: Api, store: ChatMemoryStore) -> None:
    """Who only looks at a conversation that is not there does not take it."""
    memory = opened(api, store, "bob")
    assert ([], None) == (memory.messages(), memory.about().owner)
    opened(api, store, "ann").add(UserMessage("u"))
    with pytest.raises(OwnershipError):
        memory.add(UserMessage("v"))
    with pytest.raises(OwnershipError):
        memory.messages()
    assert ["u"] == [entry.message.text for entry in store.history("c")]


def test_a_conversation_that_was_made_anew(api: Api, store: ChatMemoryStore) -> None:
    """Deleted, an id may become another's; a memory that still shows the old one does not write into the new one."""
    memory = opened(api, store, "ann")
    memory.add(UserMessage("u"))
    store.delete("c")
    opened(api, store, "bob").add(UserMessage("v"))
    for operation in (memory.refresh, lambda: memory.add(UserMessage("w"))):
        with pytest.raises(OwnershipError):
            operation()
    assert ["v"] == [entry.message.text for entry in store.history("c")]


def test_an_unknown_outcome_is_not_taken_for_the_others(api: Api, place: Place) -> None:
    """Where the first commit's outcome was unknown and another owner was first, the same add again is refused."""
    watched = WatchedStore(place.open(), conflict_timeout_seconds=0.05)
    memory = opened(api, watched, "bob")
    watched.failing["commit"] = StoreError("connection lost", outcome_unknown=True)
    with pytest.raises(StoreError):
        memory.add(UserMessage("mine"))
    watched.failing.clear()
    opened(api, watched, "ann").add(UserMessage("theirs"))
    with pytest.raises(OwnershipError):
        memory.add(UserMessage("mine"))
    assert ["theirs"] == [entry.message.text for entry in watched.history("c")]


@pytest.mark.parametrize("owner", ["", "x" * 256, "a\0b", "\ud83d", 7, True])
def test_other_owners(api: Api, owner: Any) -> None:
    """What could not be an id is no owner."""
    with pytest.raises(InvalidArgumentError, match="owner"):
        api.message_window("c", max_messages=9, owner=owner)


def _create(url: str, owner: str, start: Barrier, answers: Any) -> None:
    with SqlChatMemoryStore(url) as store:
        start.wait(timeout=60)
        for number in range(20):
            memory = Api().message_window(f"c{number}", max_messages=9, store=store, owner=owner)
            try:
                memory.add(UserMessage(f"from {owner}"))
            except OwnershipError:
                answers.put((number, owner, "refused"))
            else:
                answers.put((number, owner, "mine"))


def test_two_processes_that_create_at_once(tmp_path: Path) -> None:
    """One of two owners gets the id, the other gets the error, and nothing of the other's message is stored."""
    url, context = f"sqlite:///{tmp_path / 'chat.db'}", get_context("spawn")
    start, answers = context.Barrier(2), context.Queue()
    processes = [context.Process(target=_create, args=(url, owner, start, answers)) for owner in ("ann", "bob")]
    for process in processes:
        process.start()
    said = [answers.get(timeout=60) for _ in range(40)]
    for process in processes:
        process.join(timeout=60)
        assert 0 == process.exitcode
    with SqlChatMemoryStore(url) as store:
        for number in range(20):
            answered = {answer: owner for at, owner, answer in said if at == number}
            assert {"mine", "refused"} == set(answered)
            history = [entry.message.text for entry in store.history(f"c{number}")]
            assert [f"from {answered['mine']}"] == history
        owners = [info.about.owner for info in store.conversations()]
        assert sorted(owner for _, owner, answer in said if answer == "mine") == sorted(map(str, owners))
